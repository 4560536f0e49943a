/* verify: pictures, compared by a checksum of their counts. */
#include "verify/verify.h"

#include <stdlib.h>

enum { CUTS = 4 };

static bf_array counts_array(uint16_t *counts, const bf_julia_params *p, int64_t height,
                             int64_t columns) {
    bf_array a = bf_array_of(BF_U16, counts, height);
    a.ndim = 2;
    a.shape[1] = columns;
    a.strides[0] = p->width;
    a.strides[1] = 1;
    return a;
}

/* Draws into the memory of the device. */
static bf_status draw_whole(bf_context *context, const bf_julia_params *p, uint16_t *counts) {
    const bf_array all = bf_array_of(BF_U16, counts, p->width * p->height);
    bf_array moved = all;
    bf_status st = verify_move(context, &all, &moved);
    const bf_array picture = counts_array(moved.data, p, p->height, p->width);
    if (st == BF_OK) st = bf_julia(context, p, 0, 0, &picture);
    if (st == BF_OK) st = verify_return(context, &all, &moved);
    verify_unmove(context, &all, &moved);
    return st;
}

/* Draws nine rectangles into the host's memory. */
static bf_status draw_parts(bf_context *context, const bf_julia_params *p, uint16_t *counts) {
    const int64_t w = p->width, h = p->height;
    const int64_t x[CUTS] = {0, w / 7, w - w / 3, w}, y[CUTS] = {0, h / 7, h - h / 3, h};
    bf_status st = BF_OK;
    for (int i = 0; i < (CUTS - 1) * (CUTS - 1) && st == BF_OK; i++) {
        const int64_t left = x[i % 3], top = y[i / 3];
        const bf_array part =
            counts_array(counts + top * w + left, p, y[i / 3 + 1] - top, x[i % 3 + 1] - left);
        st = bf_julia(context, p, left, top, &part);
    }
    return st;
}

typedef bf_status draw_fn(bf_context *context, const bf_julia_params *p, uint16_t *counts);

static outcome draw_picture(bf_context *context, const subject *s, draw_fn *fn) {
    const bf_julia_params *p = s->about;
    const size_t n = (size_t)(p->width * p->height);
    outcome r = {.value.dtype = BF_U64};
    uint16_t *counts = calloc(n, sizeof *counts);
    if (!counts) return (outcome){.status = BF_E_MEMORY};
    r.status = fn(context, p, counts);
    r.value.as.u64 = verify_checksum(0, counts, n * sizeof *counts);
    free(counts);
    return r;
}

static outcome in_one_pass(bf_context *context, const subject *s) {
    return draw_picture(context, s, draw_whole);
}

static outcome in_parts(bf_context *context, const subject *s) {
    return draw_picture(context, s, draw_parts);
}

/* Pictures with even and odd sides, with and without symmetry about 0, and one of a single row. */
static bf_julia_params picture(int number, const char **name) {
    static const char *const names[] = {"centred", "shifted", "one row", "mandelbrot"};
    bf_julia_params p;
    bf_julia_defaults(&p);
    *name = names[number];
    p.width = number == 1 ? 251 : 250;
    p.height = number == 2 ? 1 : 190;
    if (number == 1) p.center_re = 0.1;
    if (number == 3) p.center_re = -0.5;
    p.mandelbrot = number == 3;
    return p;
}
enum { PICTURES = 4 };

int verify_pictures(const machine *m, verdict *v) {
    subject s = {.op = "julia", .whole = in_one_pass, .parts = in_parts};
    int code = EXIT_DONE;
    for (int i = 0; i < 2 * PICTURES && code == EXIT_DONE; i++) {
        bf_julia_params p = picture(i % PICTURES, &s.data);
        p.dtype = i < PICTURES ? BF_F32 : BF_F64;
        s.a.dtype = p.dtype;
        s.about = &p;
        code = verify_row(m, &s, v);
    }
    return code;
}
