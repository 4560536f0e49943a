/* A picture of more than 2^31 pixels, and the last pixels of the largest one. */
#include "tests/support/huge.h"

/* The count of a pixel, by the definition. */
static uint16_t count_of(const bf_julia_params *p, int64_t x, int64_t y) {
    const float scale = (float)p->scale, escape = (float)p->escape;
    const int64_t half_width = p->width / 2, half_height = p->height / 2;
    const float c_re = (float)p->c_re, c_im = (float)p->c_im, unit = (float)half_width;
    volatile float rounded = scale * (float)(x - half_width);
    float re = rounded / unit;
    rounded = scale * (float)(y - half_height);
    float im = rounded / unit;
    for (int64_t i = 0; i < p->iterations; i++) {
        volatile float a = re * re, b = im * im, ab = im * re, ba = re * im;
        volatile float difference = a - b, sum = ab + ba;
        re = difference + c_re;
        im = sum + c_im;
        a = re * re;
        b = im * im;
        sum = a + b;
        if (sum > escape) return (uint16_t)i;
    }
    return (uint16_t)p->iterations;
}

static bf_julia_params picture_of(int64_t width, int64_t height) {
    bf_julia_params p;
    bf_julia_defaults(&p);
    p.width = width;
    p.height = height;
    p.iterations = 9;
    p.escape = 4;
    return p;
}

static void check_row(const bf_julia_params *p, const uint16_t *row, int64_t x, int64_t n,
                      int64_t y) {
    for (int64_t i = 0; i < n; i++)
        if (row[i] != count_of(p, x + i, y))
            fail_msg("pixel %lld, %lld is %d", (long long)(x + i), (long long)y, row[i]);
}

/* 4 GiB. */
TEST(a_picture_past_31_bits) {
    const int64_t width = 46341, height = 46343;
    const bf_julia_params p = picture_of(width, height);
    uint16_t *counts = room_of(width * height * 2);
    bf_array out = {counts, BF_U16, 2, {height, width}, {width, 1}};
    assert_true(width * (height - 2) > (int64_t)1 << 31);
    memset(counts + width * (height - 3), 0xff, (size_t)width * 3 * 2);
    assert_int_equal(bf_julia(context, &p, 0, 0, &out), BF_OK);
    for (int64_t y = 0; y < height; y += y < height - 10 ? 101 : 1)
        check_row(&p, counts + y * width, 0, width, y);
    munmap(counts, (size_t)(width * height * 2));
}

TEST(the_corner_of_the_largest_picture) {
    enum { SIDE = 1000 };
    static uint16_t counts[SIDE][SIDE];
    const bf_julia_params p = picture_of(BF_JULIA_SIDE_MAX, BF_JULIA_SIDE_MAX);
    const int64_t first = BF_JULIA_SIDE_MAX - SIDE;
    bf_array out = {counts, BF_U16, 2, {SIDE, SIDE}, {SIDE, 1}};
    assert_int_equal(bf_julia(context, &p, first, first, &out), BF_OK);
    for (int64_t y = 0; y < SIDE; y++) check_row(&p, counts[y], first, SIDE, first + y);
}

HUGE_TESTS
