/* Julia and Mandelbrot sets: the counts of a plain loop, whatever the instruction set, the threads,
 * the rectangle and the strides; what is refused; palettes.
 * Builds: release, asan (full), tsan. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "api/julia/julia.h"
#include "api/runtime/place.h"
#include "tests/julia/problems.h"
#include "tests/support/unit.h"

static bf_context *context_of(const char *isa, int threads) {
    bf_context *context;
    const bf_options options = BF_OPTIONS(.device = "cpu", .isa = isa, .threads = threads);
    return bf_context_create(&options, &context) == BF_OK ? context : NULL;
}

static uint16_t expected[MOST_PIXELS], found[MOST_PIXELS];

static void assert_same(const bf_julia_params *p, const char *isa) {
    for (int64_t i = 0; i < p->width * p->height; i++)
        if (found[i] != expected[i])
            fail_msg("%s: pixel %lld of %lld x %lld: %d, not %d (%s, iterations %lld, escape %g, "
                     "c %g %g, centre %g %g, scale %g)",
                     isa, (long long)i, (long long)p->width, (long long)p->height, found[i],
                     expected[i], p->mandelbrot ? "mandelbrot" : "julia", (long long)p->iterations,
                     p->escape, p->c_re, p->c_im, p->center_re, p->center_im, p->scale);
}

/* Contexts of every instruction set that this machine has. */
enum { CONTEXTS_MAX = 16 };
static bf_context *contexts[CONTEXTS_MAX];
static int context_count;

static int open_contexts(void **unused) {
    (void)unused;
    for (int i = 0; bf_isa_name(i) != NULL; i++) {
        for (int threads = SEVERAL_THREADS ? 3 : 1; threads <= 3; threads += 2) {
            bf_context *context = context_of(bf_isa_name(i), threads);
            if (context && context_count < CONTEXTS_MAX) contexts[context_count++] = context;
        }
    }
    return context_count == 0;
}

static int close_contexts(void **unused) {
    (void)unused;
    while (context_count > 0) bf_context_destroy(contexts[--context_count]);
    return 0;
}

/* Calls `make` for the picture with every context: it makes rectangles of at most so many columns
 * and rows, which must be those of the plain loop. */
static void check_picture(const bf_julia_params *p, int64_t columns, int64_t rows,
                          bf_status (*make)(bf_context *, const bf_julia_params *, int64_t, int64_t,
                                            const bf_array *)) {
    if (COMPARED) plain_picture(p, expected);
    for (int i = 0; i < context_count; i++) {
        memset(found, 0xa5, sizeof found);
        for (int64_t y = 0; y < p->height; y += rows) {
            for (int64_t x = 0; x < p->width; x += columns) {
                const int64_t h = p->height - y < rows ? p->height - y : rows;
                const int64_t w = p->width - x < columns ? p->width - x : columns;
                bf_array part = counts_array(found + y * p->width + x, h, w);
                part.strides[0] = p->width;
                assert_int_equal(make(contexts[i], p, x, y, &part), BF_OK);
            }
        }
        if (COMPARED) assert_same(p, bf_context_isa(contexts[i]));
    }
}

TEST(counts_are_those_of_the_plain_loop) {
    uint64_t seed = 1;
    for (int number = 0; number < 10 * PICTURES; number++) {
        const bf_julia_params p = some_picture(number, &seed);
        check_picture(&p, p.width, p.height, bf_julia);
    }
}

/* A picture is put together from rectangles. */
TEST(a_picture_can_be_made_in_parts) {
    uint64_t seed = 2;
    for (int number = 0; number < PICTURES; number++) {
        bf_julia_params p = some_picture(number, &seed);
        p.width += 90;
        p.height += 90;
        const int64_t columns = 1 + (int64_t)(next_random(&seed) % (uint64_t)p.width);
        const int64_t rows = 1 + (int64_t)(next_random(&seed) % (uint64_t)p.height);
        check_picture(&p, columns, rows, bf_julia_async);
    }
}

/* Every other pixel of columns and rows, backwards; and a misaligned array. */
TEST(any_strides_are_right) {
    enum { W = 57, H = 43 };
    static uint16_t spread[4 * W * H + 1], moved[W * H + 1];
    OWN(bf_context) *context = context_of("auto", 2);
    bf_julia_params p = picture_of(BF_F32, W, H);
    bf_array a = counts_array(spread + 4 * W * H, H, W);
    plain_picture(&p, expected);
    a.strides[0] = -4 * W;
    a.strides[1] = -2;
    assert_int_equal(bf_julia(context, &p, 0, 0, &a), BF_OK);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            assert_int_equal(spread[4 * W * H - 4 * W * y - 2 * x], expected[y * W + x]);
    a = counts_array((uint16_t *)(void *)((char *)moved + 1), H, W);
    assert_int_equal(bf_julia(context, &p, 0, 0, &a), BF_OK);
    assert_memory_equal((char *)moved + 1, expected, 2 * W * H);
}

TEST(many_iterations) {
    OWN(bf_context) *context = context_of("auto", 2);
    bf_julia_params p = picture_of(BF_F64, 33, 21);
    p.mandelbrot = 1;
    p.center_re = -0.75;
    p.iterations = BF_JULIA_ITERATIONS_MAX;
    bf_array counts = counts_array(found, 21, 33);
    plain_picture(&p, expected);
    assert_int_equal(bf_julia(context, &p, 0, 0, &counts), BF_OK);
    assert_same(&p, "auto");
}

/* The rounding mode and the flags of the caller do not show, and stay. */
TEST(the_callers_environment_does_not_show) {
#ifdef __x86_64__
    bf_context *context = context_of("auto", 1);
    bf_julia_params p = picture_of(BF_F32, 65, 31);
    p.c_re = -0.123456789;
    bf_array counts = counts_array(found, 31, 65);
    plain_picture(&p, expected);
    unsigned upward = 0x1f80 | 0x4000 | 0x8040, before, after;
    __asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(before) : "m"(upward));
    bf_status status = bf_julia(context, &p, 0, 0, &counts);
    __asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(after) : "m"(before));
    assert_int_equal(status, BF_OK);
    assert_int_equal(after, upward);
    assert_same(&p, "auto");
    bf_context_destroy(context);
#endif
}

/* --- what is refused --- */

static bf_context *context;
static void refuse(bf_julia_params p, bf_status status) {
    bf_array counts = counts_array(found, 1, 1);
    assert_int_equal(bf_julia(context, &p, 0, 0, &counts), status);
    assert_int_equal(bf_julia_async(context, &p, 0, 0, &counts), status);
    assert_true(*bf_context_message(context) != '\0');
}

TEST(bad_parameters_are_refused) {
    context = context_of("auto", 1);
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        for (int member = 0; member < 6; member++) {
            bf_julia_params p = picture_of(i % 2 ? BF_F32 : BF_F64, 4, 4);
            double *members[] = {&p.c_re, &p.c_im, &p.center_re, &p.center_im, &p.scale, &p.escape};
            *members[member] = bad[i];
            refuse(p, BF_E_ARGUMENT);
            p.dtype = BF_F32;
            *members[member] = 1e39; /* no f32 */
            refuse(p, BF_E_ARGUMENT);
        }
    }
    const int64_t sides[] = {0, -1, BF_JULIA_SIDE_MAX + 1, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        bf_julia_params p = picture_of(BF_F32, 4, 4);
        p.width = sides[i];
        refuse(p, BF_E_ARGUMENT);
        p = picture_of(BF_F32, 4, sides[i]);
        refuse(p, BF_E_ARGUMENT);
        p = picture_of(BF_F32, 4, 4);
        p.iterations = i == 2 ? 65536 : sides[i];
        refuse(p, BF_E_ARGUMENT);
    }
    bf_julia_params p = picture_of(BF_I32, 4, 4);
    refuse(p, BF_E_DTYPE);
    p = picture_of(BF_F32, 4, 4);
    p.size = 1;
    refuse(p, BF_E_ARGUMENT);
    bf_context_destroy(context);
}

TEST(bad_arrays_are_refused) {
    context = context_of("auto", 1);
    bf_julia_params p = picture_of(BF_F32, 8, 8);
    bf_array a = counts_array(found, 8, 9);
    assert_int_equal(bf_julia(context, &p, 0, 0, &a), BF_E_SHAPE);
    a = counts_array(found, 4, 4);
    assert_int_equal(bf_julia(context, &p, 5, 0, &a), BF_E_SHAPE);
    assert_int_equal(bf_julia(context, &p, 0, -1, &a), BF_E_SHAPE);
    assert_int_equal(bf_julia(context, &p, 0, INT64_MAX, &a), BF_E_SHAPE);
    a.strides[0] = 3;
    assert_int_equal(bf_julia(context, &p, 0, 0, &a), BF_E_ARGUMENT);
    a = counts_array(found, 4, 4);
    a.dtype = BF_I32;
    assert_int_equal(bf_julia(context, &p, 0, 0, &a), BF_E_DTYPE);
    a = counts_array(NULL, 4, 4);
    assert_int_equal(bf_julia(context, &p, 0, 0, &a), BF_E_ARGUMENT);
    a = bf_array_of(BF_U16, found, 4);
    assert_int_equal(bf_julia(context, &p, 0, 0, &a), BF_E_SHAPE);
    a = counts_array(NULL, 0, 4);
    assert_int_equal(bf_julia(context, &p, 0, 8, &a), BF_OK); /* no pixels */
    assert_int_equal(bf_julia(context, &p, 0, 0, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_julia(NULL, &p, 0, 0, &a), BF_E_ARGUMENT);
    bf_context_destroy(context);
}

/* --- where --- */

static bool goes_to_gpu(int iterations, int64_t pixels, bf_where where, bool open) {
    bf_machine machine = bf_usual_machine(2, true);
    bf_operand counts = {where, 2 * pixels};
    machine.gpu = true;
    machine.open = open;
    const bf_demand demand = {.share = bf_julia_share(iterations)};
    return bf_choose(&machine, &demand, &counts, 1).gpu;
}

TEST(large_pictures_pay_for_a_gpu) {
    const int64_t small = 256 * 256, large = (int64_t)1 << 30;
    assert_false(goes_to_gpu(200, small, BF_WHERE_HOST, false));
    assert_true(goes_to_gpu(200, large, BF_WHERE_HOST, false));
    assert_true(goes_to_gpu(200, large, BF_WHERE_HOST, true));
    assert_true(goes_to_gpu(200, small, BF_WHERE_DEVICE, false));
    assert_true(goes_to_gpu(20000, small, BF_WHERE_HOST, true));
    assert_false(goes_to_gpu(20000, small, BF_WHERE_HOST, false));
}

/* --- palettes --- */

TEST(palettes_have_names) {
    assert_int_equal(bf_palette_from_name("classic"), BF_PALETTE_CLASSIC);
    assert_int_equal(bf_palette_from_name("no such"), 0);
    assert_string_equal(bf_palette_name((bf_palette)99), "?");
#define BF_X(id, number, name) assert_string_equal(bf_palette_name(BF_PALETTE_##id), #name);
    BF_PALETTE_LIST(BF_X)
#undef BF_X
}

TEST(inside_is_red_or_black) {
    const uint16_t counts[] = {200, 0, 199, 65535};
    const uint8_t classic[] = {255, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 0, 0, 255};
    uint8_t rgba[16];
    assert_int_equal(bf_palette_colors(BF_PALETTE_CLASSIC, 200, counts, 4, rgba), BF_OK);
    assert_memory_equal(rgba, classic, 16);
    for (int palette = BF_PALETTE_GRAY; palette <= BF_PALETTE_RAINBOW; palette++) {
        assert_int_equal(bf_palette_colors((bf_palette)palette, 200, counts, 4, rgba), BF_OK);
        for (int k = 0; k < 3; k++) assert_int_equal(rgba[k] | rgba[12 + k], 0);
        assert_int_equal(rgba[3], 255);
    }
    assert_int_equal(bf_palette_colors((bf_palette)0, 200, counts, 4, rgba), BF_E_ARGUMENT);
    assert_int_equal(bf_palette_colors(BF_PALETTE_GRAY, 0, counts, 4, rgba), BF_E_ARGUMENT);
    assert_int_equal(bf_palette_colors(BF_PALETTE_GRAY, 200, NULL, 4, rgba), BF_E_ARGUMENT);
}

/* Many counts at once, whose colours are kept, are those of each count alone. */
TEST(colors_do_not_depend_on_the_number_of_counts) {
    enum { N = 65536 };
    static uint16_t counts[N];
    static uint8_t rgba[4 * N];
    for (int i = 0; i < N; i++) counts[i] = (uint16_t)i;
    for (int palette = BF_PALETTE_CLASSIC; palette <= BF_PALETTE_RAINBOW; palette++) {
        const int64_t iterations = palette % 2 ? 65535 : 300;
        bf_palette_colors((bf_palette)palette, iterations, counts, N, rgba);
        for (int i = 0; i < N; i += 7) {
            uint8_t one[4];
            bf_palette_colors((bf_palette)palette, iterations, counts + i, 1, one);
            assert_memory_equal(rgba + 4 * i, one, 4);
        }
    }
}

UNIT_TESTS(julia, open_contexts, close_contexts)
