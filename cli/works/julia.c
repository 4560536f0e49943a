/* Pictures: Julia and Mandelbrot sets. */
#include "works/keys.h"
#include "works/works.h"

#include <string.h>

static bf_array counts_array(uint16_t *counts, const bf_julia_params *p, int64_t height,
                             int64_t columns) {
    return (bf_array){counts, BF_U16, 2, {height, columns}, {p->width, 1}};
}

static bf_status open(task *t) {
    const bf_julia_params *p = t->room;
    return work_room(t, BF_U16, p->width * p->height, t->moved, &t->out);
}

/* Draws so many rectangles in each direction. */
static bf_status draw(task *t, int parts) {
    const bf_julia_params *p = t->room;
    const int64_t w = p->width, h = p->height;
    bf_status st = BF_OK;
    for (int i = 0; i < parts * parts && st == BF_OK; i++) {
        const int column = i % parts, line = i / parts;
        const int64_t left = work_cut(w, column, parts), top = work_cut(h, line, parts);
        const bf_array part =
            counts_array((uint16_t *)t->out.at.data + top * w + left, p,
                         work_cut(h, line + 1, parts) - top, work_cut(w, column + 1, parts) - left);
        st = bf_julia(t->context, p, left, top, &part);
    }
    return st == BF_OK ? work_tell(t, &t->out) : st;
}

static bf_status whole(task *t) { return draw(t, 1); }
static bf_status parts(task *t) { return draw(t, WORK_PARTS); }

/* Pictures with even and odd sides, with and without symmetry about 0, and one of a single row. */
static bool row(task *t, int i) {
    static const char *const names[] = {"centred", "shifted", "one row", "mandelbrot"};
    enum { PICTURES = sizeof names / sizeof *names };
    const int number = i % PICTURES;
    bf_julia_params *p = t->room;
    bf_julia_defaults(p);
    t->op = "julia";
    t->data = names[number];
    t->a.dtype = p->dtype = i < PICTURES ? BF_F32 : BF_F64;
    p->width = number == 1 ? 251 : 250;
    p->height = number == 2 ? 1 : 190;
    if (number == 1) p->center_re = 0.1;
    if (number == 3) p->center_re = -0.5;
    p->mandelbrot = number == 3;
    return i < 2 * PICTURES;
}

/* ---- bench: square views of the tutorial's set ------------------------------------------------
 */

static const char *const points[][2] = {
    {"f32", "shifted"}, {"f32", "centred"}, {"f64", "shifted"}, {NULL, NULL}};

static void vectors(const bench_point *p, point_vector v[POINT_VECTORS]) {
    v[0] = (point_vector){BF_U16, p->count, NULL};
}

static size_t count_bytes(const char *dtype) {
    (void)dtype;
    return sizeof(uint16_t);
}

static size_t fit_square(size_t n) {
    const size_t side = bench_side_of(n);
    return side * side;
}

static bf_julia_params params_of(const bench_point *p) {
    bf_julia_params params;
    bf_julia_defaults(&params);
    params.dtype = bf_dtype_from_name(p->dtype);
    params.width = params.height = (int64_t)bench_side_of(p->count);
    if (strcmp(p->data, "shifted") == 0) {
        params.center_re = BENCH_SHIFT_RE;
        params.center_im = BENCH_SHIFT_IM;
    }
    return params;
}

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    const bf_julia_params params = params_of(p);
    const bf_array counts = counts_array(v->data, &params, params.height, params.width);
    (void)o;
    return bf_julia_async(p->context, &params, 0, 0, &counts);
}

const work work_julia = {
    .row = row,
    .room = sizeof(bf_julia_params),
    .open = open,
    .whole = whole,
    .parts = parts,
    .measure =
        &(const measure){
            .work = "julia",
            .item = "pixels",
            .stream = true,
            .points = {points, points},
            .counts = {{{1000000}, {1000000}},
                       {{1000000, 16000000, 256000000}, {1000000, 16000000}}},
            .item_bytes = count_bytes,
            .fit = fit_square,
            .vectors = vectors,
            .pass = pass,
        },
};
