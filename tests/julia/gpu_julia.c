/* Julia and Mandelbrot sets on a GPU: the counts of the CPU's rules, wherever they are put. */
#include "tests/support/both.h"

#include <string.h>

#include "tests/julia/problems.h"

static bf_context *fast; /* the CPU with all it has, for large pictures */

static int set_up_fast(void **state) {
    if (bf_context_create(&BF_OPTIONS(.device = "cpu"), &fast) != BF_OK) return -1;
    return set_up(state);
}

static int tear_down_fast(void **state) {
    bf_context_destroy(fast);
    return tear_down(state);
}

static void assert_same(const char *how, const bf_julia_params *p, const uint16_t *found,
                        const uint16_t *expected) {
    for (int64_t i = 0; i < p->width * p->height; i++)
        if (found[i] != expected[i])
            fail_msg("%s: pixel %lld of %lld x %lld: %d, not %d (%s, %s, iterations %lld, escape "
                     "%g, c %g %g, centre %g %g, scale %g)",
                     how, (long long)i, (long long)p->width, (long long)p->height, found[i],
                     expected[i], bf_dtype_name(p->dtype), p->mandelbrot ? "mandelbrot" : "julia",
                     (long long)p->iterations, p->escape, p->c_re, p->c_im, p->center_re,
                     p->center_im, p->scale);
}

/* Into the GPU's memory, enqueued, and into the host's. */
static void check(const bf_julia_params *p, bf_context *by) {
    int64_t pixels = p->width * p->height;
    size_t bytes = (size_t)pixels * sizeof(uint16_t);
    uint16_t *expected = malloc(bytes), *found = malloc(bytes);
    assert_true(expected != NULL && found != NULL);
    bf_array at = counts_array(expected, p->height, p->width);
    assert_int_equal(bf_julia(by, p, 0, 0, &at), BF_OK);
    at.data = on_device;
    memset(found, 0xa5, bytes);
    assert_int_equal(bf_memory_copy(gpu, on_device, found, bytes), BF_OK);
    assert_int_equal(bf_julia_async(gpu, p, 0, 0, &at), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, found, on_device, bytes), BF_OK);
    assert_same("device", p, found, expected);
    memset(found, 0xa5, bytes);
    at.data = found;
    assert_int_equal(bf_julia(gpu, p, 0, 0, &at), BF_OK);
    assert_same("host", p, found, expected);
    free(expected);
    free(found);
}

static void counts_are_those_of_the_cpu(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    for (int number = 0; number < (is_small() ? 1 : 10) * PICTURES; number++) {
        bf_julia_params p = some_picture(number, &seed);
        check(&p, cpu);
    }
}

/* Tries pictures of nearly a million pixels each. */
static void large_pictures(void **unused) {
    (void)unused;
    uint64_t seed = 3;
    for (int number = 0; number < (is_small() ? 1 : 60); number++) {
        bf_julia_params p = some_picture(number, &seed);
        p.width = 900 + (int64_t)(next_random(&seed) % 200);
        p.height = 900 + (int64_t)(next_random(&seed) % 200);
        check(&p, fast);
    }
}

/* The tutorial's picture and the Mandelbrot set; views whose magnitudes tell little. */
static void usual_views(void **unused) {
    (void)unused;
    static const double escapes[] = {4, 9, 16, 30, 100, 1000, 3e4, 1e6};
    leave_out_if_small();
    for (int i = 0; i < 8; i++) {
        for (int kind = 0; kind < 4; kind++) {
            bf_julia_params p = picture_of(kind % 2 ? BF_F64 : BF_F32, 1500, 1201);
            p.escape = escapes[i];
            p.mandelbrot = kind / 2;
            p.center_re = kind / 2 ? -0.5 : 0;
            check(&p, fast);
        }
    }
}

/* Rectangles, with room between their rows, in either memory. */
static void parts(void **unused) {
    (void)unused;
    uint64_t seed = 2;
    static uint16_t expected[MOST_PIXELS], found[MOST_PIXELS];
    for (int number = 0; number < PICTURES; number++) {
        bf_julia_params p = some_picture(number, &seed);
        p.width += 90;
        p.height += 90;
        size_t bytes = (size_t)(p.width * p.height) * sizeof *found;
        int64_t columns = 1 + (int64_t)(next_random(&seed) % (uint64_t)p.width);
        int64_t rows = 1 + (int64_t)(next_random(&seed) % (uint64_t)p.height);
        plain_picture(&p, expected);
        uint16_t *to = number % 2 ? found : (uint16_t *)(void *)on_device;
        for (int64_t y = 0; y < p.height; y += rows) {
            for (int64_t x = 0; x < p.width; x += columns) {
                int64_t h = p.height - y < rows ? p.height - y : rows;
                int64_t w = p.width - x < columns ? p.width - x : columns;
                bf_array part = counts_array(to + y * p.width + x, h, w);
                part.strides[0] = p.width;
                assert_int_equal(bf_julia(gpu, &p, x, y, &part), BF_OK);
            }
        }
        if (to != found) assert_int_equal(bf_memory_copy(gpu, found, to, bytes), BF_OK);
        assert_same("parts", &p, found, expected);
    }
}

/* Columns apart, backwards, in the GPU's memory. */
static void any_strides_are_right(void **unused) {
    (void)unused;
    enum { W = 57, H = 43, ALL = 4 * W * H };
    static uint16_t spread[ALL], expected[W * H];
    bf_julia_params p = picture_of(BF_F32, W, H);
    bf_array a = counts_array((uint16_t *)(void *)on_device + ALL - 1, H, W);
    plain_picture(&p, expected);
    a.strides[0] = -4 * W;
    a.strides[1] = -2;
    assert_int_equal(bf_julia(gpu, &p, 0, 0, &a), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, spread, on_device, sizeof spread), BF_OK);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            assert_int_equal(spread[ALL - 1 - 4 * W * y - 2 * x], expected[y * W + x]);
}

/* Larger than what is staged at a time. */
static void a_picture_in_several_pieces(void **unused) {
    (void)unused;
    bf_julia_params p = picture_of(BF_F32, 7001, 6007);
    leave_out_if_small();
    check(&p, fast);
}

static void async_calls_need_reachable_memory(void **unused) {
    (void)unused;
    static uint16_t counts[16];
    bf_julia_params p = picture_of(BF_F32, 4, 4);
    bf_array a = counts_array(counts, 4, 4);
    assert_int_equal(bf_julia_async(gpu, &p, 0, 0, &a), BF_E_ARGUMENT);
    a.data = on_device;
    a.strides[1] = 2;
    a.strides[0] = 8;
    assert_int_equal(bf_julia_async(gpu, &p, 0, 0, &a), BF_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_cpu),
        cmocka_unit_test(large_pictures),
        cmocka_unit_test(usual_views),
        cmocka_unit_test(parts),
        cmocka_unit_test(any_strides_are_right),
        cmocka_unit_test(a_picture_in_several_pieces),
        cmocka_unit_test(async_calls_need_reachable_memory),
    };
    return RUN_ON_GPU_WITH(tests, set_up_fast, tear_down_fast);
}
