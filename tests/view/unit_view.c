/* The window: what zooming, moving and keys come to, in what order a picture is computed, and what
 * is said. */
#include "view/control.h"
#include "view/font.h"
#include "view/schedule.h"
#include "view/words.h"

#include "tests/support/unit.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

static julia_request usual(int64_t width, int64_t height) {
    julia_request r = {.palette = BF_PALETTE_CLASSIC};
    bf_julia_defaults(&r.params);
    r.params.width = width;
    r.params.height = height;
    return r;
}

static view view_of(int64_t width, int64_t height) {
    const julia_request r = usual(width, height);
    view v;
    view_start(&v, &r, false);
    return v;
}

static double pixel(const view *v) {
    return v->seen.params.scale / (double)(v->seen.params.width / 2);
}

/* Centres are rounded to hundredths of a pixel. */
static void assert_near(double found, double expected, double pixel_size) {
    if (!(fabs(found - expected) <= 0.011 * fabs(pixel_size) + 1e-15 * fabs(expected)))
        fail_msg("%.17g, not %.17g (a pixel is %g)", found, expected, pixel_size);
}

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static double random_in(uint64_t *seed, double most) {
    return (double)next_random(seed) / 0x1p31 * most;
}

/* --- moving --- */

TEST(a_point_is_where_the_library_says) {
    view v = view_of(301, 200);
    double at[2];
    v.seen.params.center_re = 0.25;
    v.seen.params.center_im = -1;
    view_point(&v, 0, 199, at);
    assert_true(fabs(at[0] - (1.5 * (0 - 150) / 150 + 0.25)) < 1e-15);
    assert_true(fabs(at[1] - (1.5 * (199 - 100) / 150 - 1)) < 1e-15);
}

TEST(zoom_keeps_the_point_under_the_pointer) {
    uint64_t seed = 1;
    view v = view_of(800, 600);
    for (int i = 0; i < 150; i++) {
        const double x = random_in(&seed, 800), y = random_in(&seed, 600);
        const double factor = i % 3 == 2 ? 1.25 : 0.8, scale = v.seen.params.scale;
        double before[2], after[2];
        view_point(&v, x, y, before);
        view_zoom(&v, x, y, factor);
        view_point(&v, x, y, after);
        assert_true(fabs(v.seen.params.scale / (factor * scale) - 1) < 1e-5);
        assert_near(after[0], before[0], pixel(&v));
        assert_near(after[1], before[1], pixel(&v));
    }
    assert_true(v.seen.params.scale < 1e-3);
}

TEST(zoom_ends_where_pixels_cannot_be_told_apart) {
    view v = view_of(800, 600);
    double at[2], other[2], scale = 0;
    view_pan(&v, 123, -77);
    for (int i = 0; i < 400; i++) view_zoom(&v, 400, 300, 0.8);
    view_point(&v, 10, 10, at);
    view_point(&v, 11, 11, other);
    assert_true(at[0] != other[0] && at[1] != other[1]);
    assert_true(v.seen.params.scale < 1e-10);
    for (int i = 0; i < 400; i++) {
        scale = v.seen.params.scale;
        view_zoom(&v, 0, 0, 1.25);
    }
    assert_true(v.seen.params.scale == scale && scale > 10 && scale <= 100);
}

TEST(f64_is_used_where_f32_is_too_coarse) {
    view v = view_of(800, 600);
    assert_int_equal(v.seen.params.dtype, BF_F32);
    view_pan(&v, 100, 50);
    for (int i = 0; i < 60; i++) {
        const bf_julia_params *p = &v.seen.params;
        const float re = (float)p->center_re, next = (float)(p->center_re + pixel(&v));
        if (p->dtype == BF_F32) assert_true(next > nextafterf(re, 9)); /* two ulps or more */
        view_zoom(&v, 400, 300, 0.8);
    }
    assert_int_equal(v.seen.params.dtype, BF_F64);
    for (int i = 0; i < 60; i++) view_zoom(&v, 400, 300, 1.25);
    assert_int_equal(v.seen.params.dtype, BF_F32);
    const julia_request r = usual(800, 600);
    view_start(&v, &r, true);
    assert_int_equal(v.seen.params.dtype, BF_F64);
}

TEST(moving_moves_by_pixels) {
    view v = view_of(640, 480);
    double before[2], after[2];
    view_zoom(&v, 100, 100, 0.01);
    view_point(&v, 30, 40, before);
    view_pan(&v, 17, -5);
    view_point(&v, 47, 35, after);
    assert_near(after[0], before[0], pixel(&v));
    assert_near(after[1], before[1], pixel(&v));
}

TEST(another_size_shows_the_same_place) {
    view v = view_of(640, 480);
    view_pan(&v, 17, -5);
    const view old = v;
    view_resize(&v, 1001, 77);
    assert_true(v.seen.params.width == 1001 && v.seen.params.height == 77);
    assert_true(v.seen.params.center_re == old.seen.params.center_re);
    assert_true(v.seen.params.scale == old.seen.params.scale);
    view_resize(&v, 0, 0);
    assert_true(v.seen.params.width == 1 && v.seen.params.height == 1);
}

/* --- keys and the mouse --- */

static control control_of(int64_t width, int64_t height) {
    const julia_request r = usual(width, height);
    control c;
    control_start(&c, &r, false);
    return c;
}

static unsigned press(control *c, int key) {
    return control_take(c, &(gesture){.kind = GESTURE_KEY, .key = key});
}

static unsigned point(control *c, enum gesture_kind kind, double x, double y) {
    return control_take(c, &(gesture){.kind = kind, .x = x, .y = y});
}

TEST(the_wheel_zooms_at_the_pointer) {
    control c = control_of(800, 600);
    double before[2], after[2];
    assert_int_equal(point(&c, GESTURE_POINT, 700, 100), 0);
    view_point(&c.view, 700, 100, before);
    assert_int_equal(point(&c, GESTURE_WHEEL, 0, 2), DO_RENDER);
    view_point(&c.view, 700, 100, after);
    assert_near(after[0], before[0], pixel(&c.view));
    assert_near(after[1], before[1], pixel(&c.view));
    assert_true(fabs(c.view.seen.params.scale - 1.5 * 0.64) < 1e-6);
}

TEST(dragging_takes_the_picture_along) {
    control c = control_of(800, 600);
    double before[2], after[2];
    point(&c, GESTURE_POINT, 10, 20);
    view_point(&c.view, 10, 20, before);
    assert_int_equal(point(&c, GESTURE_DRAG, 300, 200), DO_RENDER);
    point(&c, GESTURE_DRAG, 310, 180);
    view_point(&c.view, 310, 180, after);
    assert_near(after[0], before[0], 2 * pixel(&c.view)); /* rounded twice */
    assert_near(after[1], before[1], 2 * pixel(&c.view));
    point(&c, GESTURE_SIZE, 400, 500);
    assert_true(c.view.seen.params.width == 400 && c.view.seen.params.height == 500);
}

TEST(arrows_move_by_an_eighth) {
    static const struct {
        int key, x, y;
    } arrows[] = {{KEY_LEFT, -1, 0}, {KEY_RIGHT, 1, 0}, {KEY_UP, 0, -1}, {KEY_DOWN, 0, 1}};
    for (int i = 0; i < 4; i++) {
        control c = control_of(800, 600);
        assert_int_equal(press(&c, arrows[i].key), DO_RENDER);
        const double unit = pixel(&c.view);
        assert_near(c.view.seen.params.center_re, arrows[i].x * 100 * unit, unit);
        assert_near(c.view.seen.params.center_im, arrows[i].y * 75 * unit, unit);
    }
}

TEST(each_key_does_what_the_help_says) {
    control c = control_of(800, 600);
    assert_int_equal(press(&c, '+'), DO_RENDER);
    assert_true(c.view.seen.params.iterations == 400);
    for (int i = 0; i < 20; i++) press(&c, '+');
    assert_true(c.view.seen.params.iterations == BF_JULIA_ITERATIONS_MAX);
    for (int i = 0; i < 20; i++) assert_int_equal(press(&c, '-'), DO_RENDER);
    assert_true(c.view.seen.params.iterations == 1);
    unsigned seen = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(press(&c, 'p'), DO_RECOLOR);
        seen |= 1u << c.view.seen.palette;
    }
    assert_int_equal(seen, 62); /* all five of them */
    assert_true(c.view.seen.palette == BF_PALETTE_CLASSIC);
    assert_true(press(&c, 'i') == DO_REDRAW && c.information);
    assert_true(press(&c, 'i') == DO_REDRAW && !c.information);
    assert_true(press(&c, 'h') == DO_REDRAW && c.help);
    assert_int_equal(press(&c, 's'), DO_SAVE);
    assert_int_equal(press(&c, 'q'), DO_QUIT);
    assert_int_equal(press(&c, KEY_ESCAPE), DO_QUIT);
    assert_int_equal(press(&c, 'x'), 0);
    assert_int_equal(press(&c, 0), 0);
}

TEST(mandelbrot_and_julia_know_of_each_other) {
    control c = control_of(800, 600);
    const bf_julia_params *p = &c.view.seen.params;
    double at[2];
    assert_true(press(&c, 'm') == DO_RENDER && p->mandelbrot == 1);
    press(&c, KEY_LEFT);
    point(&c, GESTURE_WHEEL, 0, 3);
    const bf_julia_params left = *p;
    point(&c, GESTURE_POINT, 321, 123);
    view_point(&c.view, 321, 123, at);
    assert_true(press(&c, 'j') == DO_RENDER && p->mandelbrot == 0);
    assert_near(p->c_re, at[0], left.scale / 400);
    assert_near(p->c_im, at[1], left.scale / 400);
    assert_true(p->center_re == 0 && p->center_im == 0 && p->scale == 1.5);
    press(&c, 'm');
    assert_true(p->center_re == left.center_re && p->scale == left.scale);
    press(&c, 'm');
    assert_true(p->mandelbrot == 1 && p->scale == 1.5);
}

/* --- the order of computing --- */

static double coordinate(const bf_julia_params *p, int64_t x, int64_t side) {
    const int64_t unit = p->width / 2 > 0 ? p->width / 2 : 1;
    return p->scale * (double)(x - side / 2) / (double)unit;
}

/* Counts that tell which of the large picture's pixels a grid's pixel is. */
static int64_t whole_place(const part *p, const bf_julia_params *whole, int64_t side, int64_t i,
                           int64_t whole_side) {
    const double unit = coordinate(whole, whole_side / 2 + 1, whole_side);
    const double at = coordinate(&p->grid, i, side) / unit + (double)(whole_side / 2);
    const int64_t nearest = llround(at);
    assert_true(fabs(at - (double)nearest) < 1e-6);
    return nearest;
}

static void check_part(const part *p, const bf_julia_params *whole, uint16_t *counts) {
    uint16_t grid[4096];
    int64_t first, end;
    for (int64_t y = 0; y < p->rows; y++) {
        const int64_t row = whole_place(p, whole, p->grid.height, p->row + y, whole->height);
        for (int64_t x = 0; x < p->grid.width; x++) {
            const int64_t column = whole_place(p, whole, p->grid.width, x, whole->width);
            assert_true(row > -p->step && row < whole->height && column < whole->width);
            grid[y * p->grid.width + x] = (uint16_t)(1 + (row + 16) * 100 + column + 16);
        }
    }
    part_spread(p, grid, whole, counts, &first, &end);
    assert_true(first >= 0 && first < end && end <= whole->height);
}

/* After the parts of a grid each pixel has the count of one that is less than a step before it. */
static void check_counts(const bf_julia_params *whole, const uint16_t *counts, int step) {
    for (int64_t y = 0; y < whole->height; y++) {
        for (int64_t x = 0; x < whole->width; x++) {
            const int64_t count = counts[y * whole->width + x] - 1;
            const int64_t dy = y - (count / 100 - 16), dx = x - (count % 100 - 16);
            assert_true(dy >= 0 && dy < step && dx >= 0 && dx < step);
        }
    }
}

TEST(parts_make_the_picture) {
    uint64_t seed = 5;
    for (int i = 0; i < 500; i++) {
        const julia_request r =
            usual(1 + (int64_t)next_random(&seed) % 60, 1 + (int64_t)next_random(&seed) % 60);
        uint16_t counts[4096] = {0};
        const double speed = pow(10, 3 + random_in(&seed, 5));
        schedule s = {.rate = speed, .speed = speed};
        part p = {.step = 0};
        int parts = 0, last = 16;
        schedule_start(&s, &r.params);
        while (schedule_next(&s, &p)) {
            check_part(&p, &r.params, counts);
            assert_true(p.step <= last);
            last = p.step;
            if (p.row + p.rows == p.grid.height) check_counts(&r.params, counts, p.step);
            parts++;
        }
        assert_true(p.step == 1 && p.row + p.rows == r.params.height && parts > 0);
    }
}

TEST(parts_take_the_time_they_may) {
    const julia_request r = usual(1000, 1000);
    schedule s = {0};
    part p;
    schedule_start(&s, &r.params);
    assert_true(schedule_next(&s, &p) && p.step > 1); /* nothing is known yet */
    s.rate = s.speed = 1e11;
    schedule_start(&s, &r.params);
    assert_true(schedule_next(&s, &p) && p.step == 1 && p.rows == 1000);
    assert_false(schedule_next(&s, &p));
    schedule_took(&s, &p, 1e8, 1.0);
    schedule_start(&s, &r.params);
    assert_true(schedule_next(&s, &p) && p.step == 16); /* it was slow, and may not be waited for */
    assert_true((double)(p.rows * p.grid.width * 200) <= 2e8 * 0.04);
}

/* --- words --- */

TEST(names_are_options) {
    char name[NAME_MAX + 1];
    julia_request r = usual(20, 10);
    words_name(&r, name);
    assert_string_equal(name, "julia_c_-0.8,0.156_center_0,0_scale_1.5_iter_200_dtype_f32_"
                              "palette_classic_size_20x10.png");
    r.params.mandelbrot = 1;
    r.params.escape = 4;
    r.params.dtype = BF_F64;
    r.params.center_re = 0.1;
    words_name(&r, name);
    assert_string_equal(name, "mandelbrot_center_0.1,0_scale_1.5_iter_200_escape_4_dtype_f64_"
                              "palette_classic_size_20x10.png");
}

TEST(names_are_short_enough_for_a_file) {
    view v = view_of(12345, 12345);
    char name[NAME_MAX + 1];
    uint64_t seed = 8;
    v.seen.params.mandelbrot = 1;
    for (int i = 0; i < 200; i++) {
        view_zoom(&v, random_in(&seed, 12345), random_in(&seed, 12345), 0.8);
        view julia = v;
        view_julia(&julia, 77, 99);
        for (int k = 0; k < 200; k++) view_zoom(&julia, 10, 20, 0.8);
        words_name(&julia.seen, name);
        assert_true(strlen(name) < 240); /* a file is written under a longer name first */
    }
}

TEST(long_lines_go_on_in_the_next) {
    words w = {0};
    char text[2 * WORDS_COLUMNS + 4];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    words_add(&w, "%s", text);
    assert_int_equal(w.count, 3);
    assert_int_equal(strlen(w.lines[0]), WORDS_COLUMNS);
    assert_int_equal(strlen(w.lines[2]), 3);
    for (int i = 0; i < 100; i++) words_add(&w, "%d", i);
    assert_int_equal(w.count, WORDS_LINES);
}

TEST(letters_differ) {
    uint64_t shapes[128] = {0};
    for (int c = ' '; c < 127; c++) {
        for (int i = 0; i < FONT_WIDTH * FONT_HEIGHT; i++)
            shapes[c] = 2 * shapes[c] + font_dot((char)c, i % FONT_WIDTH, i / FONT_WIDTH);
        assert_true((shapes[c] == 0) == (c == ' '));
        for (int other = ' '; other < c; other++) assert_true(shapes[c] != shapes[other]);
    }
    assert_true(font_dot('\xe4', 2, 0) == font_dot('?', 2, 0));
}

UNIT_TESTS(view, NULL, NULL)
