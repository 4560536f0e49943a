/* The pictures of bench: the tutorial's Julia set, centred and shifted. A pass draws a picture. */
#include "bench/bench.h"

#include "bench/keys.h"

#include <stdlib.h>
#include <string.h>

typedef struct picture {
    bf_julia_params params;
    bf_array counts;
    char *memory;
} picture;

static const char *const cpu_points[][2] = {
    {"f32", "shifted"}, {"f32", "centred"}, {"f64", "shifted"}, {NULL, NULL}};
static const char *const gpu_points[][2] = {
    {"f32", "shifted"}, {"f32", "centred"}, {"f64", "shifted"}, {NULL, NULL}};

/* Returns the bytes of a count. */
static size_t item_bytes(const char *dtype) {
    (void)dtype;
    return sizeof(uint16_t);
}

static size_t fit_picture(size_t n) {
    const size_t side = bench_side_of(n);
    return side * side;
}

static bf_julia_params params_of(const bench_point *point) {
    bf_julia_params params;
    bf_julia_defaults(&params);
    params.dtype = bf_dtype_from_name(point->dtype);
    params.width = params.height = (int64_t)bench_side_of(point->count);
    if (strcmp(point->data, "shifted") == 0) {
        params.center_re = BENCH_SHIFT_RE;
        params.center_im = BENCH_SHIFT_IM;
    }
    return params;
}

static bf_status begin_picture(const bench_point *point, void **state) {
    picture *p = calloc(1, sizeof *p);
    if (!p) return BF_E_MEMORY;
    *state = p;
    p->params = params_of(point);
    const bf_status st = bench_items_allocate(point, point->bytes, &p->memory);
    p->counts = bf_array_of(BF_U16, p->memory, p->params.height);
    p->counts.ndim = 2;
    p->counts.shape[1] = p->counts.strides[0] = p->params.width;
    p->counts.strides[1] = 1;
    return st;
}

static bf_status run_picture(const bench_point *point, void *state, int passes, double *seconds) {
    const picture *p = state;
    const double start = bench_now();
    bf_status st = BF_OK;
    for (int i = 0; i < passes && st == BF_OK; i++)
        st = bf_julia_async(point->context, &p->params, 0, 0, &p->counts);
    if (st == BF_OK && point->stream) st = bf_context_synchronize(point->context);
    *seconds += bench_now() - start;
    return st;
}

static void finish_picture(const bench_point *point, void *state) {
    picture *p = state;
    bench_items_free(point, p->memory, point->bytes);
    free(p);
}

const bench_items bench_julia = {
    .work = "julia",
    .item = "pixels",
    .stream = true,
    .points = {cpu_points, gpu_points},
    .counts = {{{1000000}, {1000000}}, {{1000000, 16000000, 256000000}, {1000000, 16000000}}},
    .item_bytes = item_bytes,
    .fit = fit_picture,
    .open = begin_picture,
    .run = run_picture,
    .close = finish_picture,
};
