/* Julia and Mandelbrot sets: check parameters and rectangles, walk pictures, make palettes. */
#include "api/julia/julia.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "api/runtime/sized.h"
#include "base/environment.h"
#include "rules/julia/palette.h"
#include "seam/julia.h"
#include "seam/memory.h"
#include <bitfold/julia.h>

/* --- parameters --- */

bf_status bf_julia_params_fill(bf_julia_params *params) {
    static const bf_julia_params defaults = {.dtype = BF_F32,
                                             .width = 1000,
                                             .height = 1000,
                                             .iterations = 200,
                                             .c_re = -0.8,
                                             .c_im = 0.156,
                                             .scale = 1.5,
                                             .escape = 1000};
    if (params == NULL || !BF_WRITE(params, &defaults, escape)) return BF_E_ARGUMENT;
    return BF_OK;
}

/* Rounds a number to the dtype. Returns false if it is not finite there. */
static bool fit_number(bf_dtype dtype, double *x) {
    const double most = dtype == BF_F32 ? 0x1.fffffefffffffp127 : 0x1.fffffffffffffp1023;
    if (!(*x >= -most && *x <= most)) return false;
    if (dtype == BF_F32) *x = (double)(float)*x;
    return true;
}

static bool fit_view(bf_julia_view *v) {
    return fit_number(v->dtype, &v->c_re) && fit_number(v->dtype, &v->c_im) &&
           fit_number(v->dtype, &v->center_re) && fit_number(v->dtype, &v->center_im) &&
           fit_number(v->dtype, &v->scale) && fit_number(v->dtype, &v->escape);
}

static bool is_side(int64_t side) { return side >= 1 && side <= BF_JULIA_SIDE_MAX; }

static bf_status read_params(bf_context *context, const bf_julia_params *given,
                             bf_julia_params *p) {
    bf_julia_defaults(p);
    if (given != NULL && BF_READ(p, given, escape)) return BF_OK;
    return bf_fail(context, BF_E_ARGUMENT,
                   "bf_julia_params: size is not set, or from a newer version");
}

static bf_status check_params(bf_context *context, const bf_julia_params *p, bf_julia_view *v) {
    if (p->dtype != BF_F32 && p->dtype != BF_F64)
        return bf_fail(context, BF_E_DTYPE, "orbits are computed in f32 or f64");
    if (!is_side(p->width) || !is_side(p->height))
        return bf_fail(context, BF_E_ARGUMENT, "a picture has 1 to %lld pixels a side",
                       (long long)BF_JULIA_SIDE_MAX);
    if (p->iterations < 1 || p->iterations > BF_JULIA_ITERATIONS_MAX)
        return bf_fail(context, BF_E_ARGUMENT, "there are 1 to %d iterations",
                       BF_JULIA_ITERATIONS_MAX);
    *v = (bf_julia_view){.dtype = p->dtype,
                         .mandelbrot = p->mandelbrot != 0,
                         .iterations = (int)p->iterations,
                         .half_width = p->width / 2,
                         .half_height = p->height / 2,
                         .center_re = p->center_re,
                         .center_im = p->center_im,
                         .scale = p->scale,
                         .escape = p->escape};
    if (!v->mandelbrot) {
        v->c_re = p->c_re;
        v->c_im = p->c_im;
    }
    bf_environment environment = bf_environment_enter();
    bool fits = fit_view(v);
    bf_environment_leave(environment);
    return fits ? BF_OK
                : bf_fail(context, BF_E_ARGUMENT,
                          "c, centre, scale and escape are finite numbers of %s",
                          bf_dtype_name(p->dtype));
}

/* --- the rectangle --- */

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Do two elements share memory? */
static bool overlaps(const bf_array *a) {
    int64_t rows = a->shape[0], columns = a->shape[1];
    if ((rows > 1 && a->strides[0] == 0) || (columns > 1 && a->strides[1] == 0)) return true;
    if (rows <= 1 || columns <= 1) return false;
    int64_t row = magnitude(a->strides[0]), column = magnitude(a->strides[1]);
    return row < column ? (rows - 1) * row >= column : (columns - 1) * column >= row;
}

static bf_status check_counts(bf_context *context, const bf_julia_params *p, int64_t x, int64_t y,
                              const bf_array *counts) {
    if (counts == NULL || bf_array_count(counts) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the counts are not well formed");
    if (counts->dtype != BF_U16) return bf_fail(context, BF_E_DTYPE, "counts are u16");
    if (counts->ndim != 2) return bf_fail(context, BF_E_SHAPE, "counts are rows and columns");
    if (x < 0 || y < 0 || counts->shape[0] > p->height - y || counts->shape[1] > p->width - x)
        return bf_fail(context, BF_E_SHAPE, "the rectangle is not inside the picture");
    if (bf_array_count(counts) > 0 && overlaps(counts))
        return bf_fail(context, BF_E_ARGUMENT, "the counts overlap each other");
    return BF_OK;
}

/* A picture is written, not read: its counts cross the bus once, and each costs many steps. */
int bf_julia_share(int iterations) {
    return iterations < 8 ? 50 : iterations < 400 ? 400 / iterations : 1;
}

static bf_status place_picture(bf_context *context, const bf_julia_view *view,
                               const bf_array *counts) {
    const bf_memory memory = {counts->data, bf_bytes_of(bf_array_count(counts), sizeof(uint16_t))};
    const bf_demand demand = {.share = bf_julia_share(view->iterations), .n = 1, .memory = &memory};
    return bf_place(context, &demand);
}

/* Checks everything. *empty: there are no pixels. */
static bf_status prepare_job(bf_context *context, const bf_julia_params *params, int64_t x,
                             int64_t y, const bf_array *counts, bf_julia_job *job, bool *empty) {
    bf_julia_params p;
    bf_status status = read_params(context, params, &p);
    if (status == BF_OK) status = check_params(context, &p, &job->view);
    if (status == BF_OK) status = check_counts(context, &p, x, y, counts);
    if (status != BF_OK) return status;
    *empty = bf_array_count(counts) == 0;
    job->at = (bf_rectangle){x, y, counts->shape[1], counts->shape[0]};
    job->counts = counts->data;
    job->stride = counts->shape[0] > 1 ? counts->strides[0] : 0;
    return *empty ? BF_OK : place_picture(context, &job->view, counts);
}

static bool rows_are_direct(const bf_array *counts) {
    bool aligned = (uintptr_t)counts->data % sizeof(uint16_t) == 0;
    return aligned && (counts->strides[1] == 1 || counts->shape[1] == 1);
}

/* --- the calls --- */

static int64_t bytes_of(const bf_rectangle *at) {
    return at->rows * at->columns * (int64_t)sizeof(uint16_t);
}

/* Counts a part that fits the scratch, and copies it to its place. */
static bf_status copy_part(bf_context *context, bf_julia_job part, const bf_strided *to,
                           int64_t first) {
    const bf_memory_backend *memory = context->used->memory;
    part.counts = memory->scratch(context, to->data);
    if (part.counts == NULL) return BF_E_MEMORY;
    part.stride = part.at.columns;
    bf_status status = context->used->julia->count(context, &part);
    if (status != BF_OK) return status;
    return memory->scatter(context, to, first, part.at.rows * part.at.columns, part.counts);
}

/* Counts in parts, for memory of any strides: a part is whole rows, or part of one row. */
static bf_status walk_parts(bf_context *context, const bf_julia_job *job, const bf_array *counts) {
    const bf_rectangle *all = &job->at;
    int64_t room = (int64_t)(context->used->memory->scratch_bytes / sizeof(uint16_t));
    int64_t columns = least(all->columns, room);
    int64_t rows = columns < all->columns ? 1 : room / columns;
    bf_strided to = {.data = counts->data, .bytes = sizeof(uint16_t), .ndim = 2};
    bf_status status = BF_OK;
    for (int d = 0; d < 2; d++) {
        to.shape[d] = counts->shape[d];
        to.strides[d] = counts->shape[d] > 1 ? counts->strides[d] : 0;
    }
    for (int64_t y = 0; y < all->rows && status == BF_OK; y += rows) {
        for (int64_t x = 0; x < all->columns && status == BF_OK; x += columns) {
            bf_julia_job part = *job;
            part.at = (bf_rectangle){all->x + x, all->y + y, least(columns, all->columns - x),
                                     least(rows, all->rows - y)};
            status = copy_part(context, part, &to, y * all->columns + x);
            if (status == BF_OK) status = bf_watch_tick(context, bytes_of(&part.at));
        }
    }
    return status;
}

static bf_status count_picture(bf_context *context, const bf_julia_params *params, int64_t x,
                               int64_t y, const bf_array *counts) {
    bf_julia_job job = {0};
    bool empty = false;
    bf_status status = prepare_job(context, params, x, y, counts, &job, &empty);
    if (status != BF_OK || empty) return status;
    if (!rows_are_direct(counts)) return walk_parts(context, &job, counts);
    status = context->used->julia->count(context, &job);
    return status == BF_OK ? bf_watch_tick(context, bytes_of(&job.at)) : status;
}

bf_status bf_julia(bf_context *context, const bf_julia_params *params, int64_t x, int64_t y,
                   const bf_array *counts) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, count_picture(context, params, x, y, counts));
}

static bf_status enqueue_picture(bf_context *context, const bf_julia_params *params, int64_t x,
                                 int64_t y, const bf_array *counts) {
    bf_julia_job job = {0};
    bool empty = false;
    bf_status status = prepare_job(context, params, x, y, counts, &job, &empty);
    if (status != BF_OK || empty) return status;
    if (!rows_are_direct(counts))
        return bf_fail(context, BF_E_ARGUMENT, "a row's pixels are not neighbours");
    return context->used->julia->enqueue != NULL ? context->used->julia->enqueue(context, &job)
                                                 : context->used->julia->count(context, &job);
}

bf_status bf_julia_async(bf_context *context, const bf_julia_params *params, int64_t x, int64_t y,
                         const bf_array *counts) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, enqueue_picture(context, params, x, y, counts));
}

/* --- palettes --- */

#define PALETTE_NAME(id, number, name) [number] = #name,
static const char *const names[] = {BF_PALETTE_LIST(PALETTE_NAME)};
enum { PALETTES = sizeof names / sizeof *names };

static bool is_palette(bf_palette palette) { return palette > 0 && (unsigned)palette < PALETTES; }

const char *bf_palette_name(bf_palette palette) {
    return is_palette(palette) ? names[palette] : "?";
}

bf_palette bf_palette_from_name(const char *name) {
    for (int i = 1; name != NULL && i < PALETTES; i++)
        if (strcmp(name, names[i]) == 0) return (bf_palette)i;
    return (bf_palette)0;
}

static void put_color(bf_palette palette, int count, int iterations, uint8_t *rgba) {
    uint32_t color = bf_palette_color(palette, count, iterations);
    rgba[0] = (uint8_t)(color >> 16);
    rgba[1] = (uint8_t)(color >> 8);
    rgba[2] = (uint8_t)color;
    rgba[3] = 255;
}

/* Most counts occur many times, so the colours of small ones are kept. */
bf_status bf_palette_colors(bf_palette palette, int64_t iterations, const uint16_t *counts,
                            int64_t n, uint8_t *rgba) {
    enum { KEPT = 1024 };
    uint8_t kept[KEPT][4];
    if (!is_palette(palette) || iterations < 1 || iterations > BF_JULIA_ITERATIONS_MAX || n < 0 ||
        (n > 0 && (counts == NULL || rgba == NULL)))
        return BF_E_ARGUMENT;
    int known = n < KEPT ? 0 : KEPT;
    for (int i = 0; i < known; i++) put_color(palette, i, (int)iterations, kept[i]);
    for (int64_t i = 0; i < n; i++) {
        if (counts[i] < known)
            memcpy(rgba + 4 * i, kept[counts[i]], 4);
        else
            put_color(palette, counts[i], (int)iterations, rgba + 4 * i);
    }
    return BF_OK;
}
