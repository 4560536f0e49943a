/* Julia and Mandelbrot sets. Each warp takes 8 x 4 pixels at a time, whose orbits have about the
 * same length.
 *
 * Orbits are tested after every STEPS steps. If escape is large beside c, as in usual pictures, the
 * magnitude then tells at which step the orbit escaped, because each step squares it: after an
 * escape k steps ago it is above low[k] and, unless the orbit began there, at most high[k + 1]. If
 * the magnitude does not tell, the rule counts the orbit again. */
#include "cuda/julia/julia.cuh"
#include "cuda/runtime/memory.cuh"
#include "cuda/runtime/pipeline.cuh"

#include "cuda/runtime/launch.cuh"

#include <math.h>

extern "C" {
#include "base/environment.h"
#include "base/where.h"
}

enum {
    STEPS = 4,
    WARPS = 4,          /* warps of a block */
    ACROSS = 8 * WARPS, /* width of a tile, in pixels */
    DOWN_MOST = 64,     /* height of a tile, at most */
    BLOCKS_BUSY = 64    /* a multiprocessor is busy with so many: with fewer, tiles are smaller */
};

/* How the step of an escape is found: read off the magnitude; by repeating the last steps with a
 * test at each; by the rule alone. */
enum way { READ, REPLAY, RULE };

/* The parameters of kernels, in constant memory. */
template <typename T> struct params {
    bf_julia_view view;
    bf_mirror mirror;
    uint16_t *counts;
    int64_t stride;
    unsigned across; /* tiles in a row of tiles */
    int down;        /* height of a tile */
    int whole;       /* iterations in rounds of 2 * STEPS */
    T c_re, c_im, escape;
    T low[STEPS + 1], high[STEPS]; /* from [1] on; nothing is above low[STEPS] */
};

/* --- one orbit --- */

static __device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
static __device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return __fma_rn(a, b, c);
}

static __device__ __forceinline__ int count_by_rule(const params<float> &p, float x, float y) {
    bf_point_f32 point = {x, y};
    return bf_escape_point_f32(&p.view, point);
}
static __device__ __forceinline__ int count_by_rule(const params<double> &p, double x, double y) {
    bf_point_f64 point = {x, y};
    return bf_escape_point_f64(&p.view, point);
}

/* z and its squares, which a step shares with the test before it. */
template <typename T> struct orbit {
    T re, im, re2, im2;

    __device__ __forceinline__ orbit(T x, T y) : re(x), im(y), re2(x * x), im2(y * y) {}
    /* Takes the rule's step, with p + p + c in one operation (rules/julia/escape.h). */
    __device__ __forceinline__ void step(T c_re, T c_im) {
        T p = im * re;
        re = (re2 - im2) + c_re;
        im = multiply_add(T(2), p, c_im);
        re2 = re * re;
        im2 = im * im;
    }
    __device__ __forceinline__ T magnitude() const { return re2 + im2; }
};

/* Returns the count of an escaped orbit whose magnitude was m STEPS steps after the first `done`;
 * -1: m does not tell. */
template <typename T>
static __device__ __forceinline__ int read_count(const params<T> &p, T m, int done) {
    int count = done + STEPS - 1;
    T next = p.low[1];
#pragma unroll
    for (int k = 1; k < STEPS; k++) {
        if (m <= p.high[k]) continue;
        count--;
        next = p.low[k + 1];
    }
    return m > next ? -1 : count;
}

/* Returns the number of steps, up to `most`, before the one at which the orbit escapes. */
template <typename T>
static __device__ __forceinline__ int steps_until(const params<T> &p, orbit<T> z, T c_re, T c_im,
                                                  int most) {
    int i = 0;
    for (; i < most; i++) {
        z.step(c_re, c_im);
        if (!(z.magnitude() <= p.escape)) break;
    }
    return i;
}

/* Takes STEPS steps. Returns whether the orbit has not escaped. */
template <typename T>
static __device__ __forceinline__ bool survives(orbit<T> *z, T c_re, T c_im, T escape, T *m) {
#pragma unroll
    for (int s = 0; s < STEPS; s++) z->step(c_re, c_im);
    *m = z->magnitude();
    return *m <= escape;
}

/* Returns the count of the pixel at (x, y). */
template <typename T, bool MANDELBROT, way WAY>
static __device__ __forceinline__ int count_steps(const params<T> &p, T x, T y) {
    if (WAY == RULE) return count_by_rule(p, x, y);
    const T c_re = bf_cuda_forget(MANDELBROT ? x : p.c_re),
            c_im = bf_cuda_forget(MANDELBROT ? y : p.c_im);
    orbit<T> z(MANDELBROT ? T(0) : x, MANDELBROT ? T(0) : y), before = z;
    int i = 0;
    T m = 0;
    for (; i < p.whole; i += 2 * STEPS) {
        before = z;
        if (!survives(&z, c_re, c_im, p.escape, &m)) break;
        if (WAY == REPLAY) before = z;
        if (!survives(&z, c_re, c_im, p.escape, &m)) {
            i += STEPS;
            break;
        }
    }
    if (i == p.whole) return i + steps_until(p, z, c_re, c_im, p.view.iterations - p.whole);
    if (WAY == REPLAY) return i + steps_until(p, before, c_re, c_im, STEPS - 1);
    const int count = read_count(p, m, i);
    return count < 0 ? count_by_rule(p, x, y) : count;
}

/* --- the kernel --- */

static __device__ __forceinline__ float coordinate_of(const params<float> &p, int64_t offset,
                                                      double center) {
    return bf_escape_coordinate_f32(&p.view, offset, center);
}
static __device__ __forceinline__ double coordinate_of(const params<double> &p, int64_t offset,
                                                       double center) {
    return bf_escape_coordinate_f64(&p.view, offset, center);
}

/* The destinations of a tile's pixels: the row itself and the one that mirrors it (NULL: none), and
 * the column in each (negative: none). */
struct row {
    uint16_t *own, *other;
};
struct column {
    int own, other;
};

template <typename T> struct tile {
    T x[ACROSS], y[DOWN_MOST];
    column columns[ACROSS];
    row rows[DOWN_MOST];
    int width, height;
};

static __device__ __forceinline__ int column_in(const bf_rectangle &r, int64_t x) {
    return x >= r.x && x < r.x + r.columns ? static_cast<int>(x - r.x) : -1;
}

template <typename T>
static __device__ __forceinline__ void set_column(const params<T> &p, tile<T> *t, int i,
                                                  int64_t x) {
    t->x[i] = coordinate_of(p, x - p.view.half_width, p.view.center_re);
    t->columns[i].own = column_in(p.mirror.whole, x);
    t->columns[i].other = column_in(p.mirror.whole, bf_mirrored_column(&p.mirror, x));
}

template <typename T>
static __device__ __forceinline__ void set_row(const params<T> &p, tile<T> *t, int i, int64_t y) {
    const int64_t other = bf_mirrored_row(&p.mirror, y), top = p.mirror.whole.y;
    t->y[i] = coordinate_of(p, y - p.view.half_height, p.view.center_im);
    t->rows[i].own = p.counts + (y - top) * p.stride;
    t->rows[i].other = other < 0 ? NULL : p.counts + (other - top) * p.stride;
}

/* Sets the tile up. The last rows come first: if rows mirror others, they are the middle of the
 * picture, which takes longest. */
template <typename T>
static __device__ __forceinline__ void begin_tile(const params<T> &p, tile<T> *t) {
    const bf_mirror &m = p.mirror;
    const unsigned number = gridDim.x - 1 - blockIdx.x;
    const int64_t x = static_cast<int64_t>(number % p.across) * ACROSS;
    const int64_t y = static_cast<int64_t>(number / p.across) * p.down;
    const int width = static_cast<int>(min(m.columns - x, static_cast<int64_t>(ACROSS)));
    const int height = static_cast<int>(min(m.rows - y, static_cast<int64_t>(p.down)));
    for (int i = threadIdx.x; i < width; i += 32 * WARPS) set_column(p, t, i, m.x + x + i);
    for (int i = threadIdx.x; i < height; i += 32 * WARPS)
        set_row(p, t, i, bf_mirror_row(&m, y + i));
    if (threadIdx.x > 0) return;
    t->width = width;
    t->height = height;
}

/* Counts the pixels of a tile: a warp takes 8 columns, 4 rows at a time. */
template <typename T, bool MANDELBROT, way WAY>
static __global__ void __launch_bounds__(32 * WARPS)
    count_tiles(__grid_constant__ const params<T> p) {
    __shared__ tile<T> t;
    begin_tile(p, &t);
    __syncthreads();
    const int lane = threadIdx.x % 32, x = threadIdx.x / 32 * 8 + lane % 8, height = t.height;
    if (x >= t.width) return;
    const column to = t.columns[x];
    const T re = t.x[x];
    for (int y = lane / 8; y < height; y += 4) {
        const uint16_t count =
            static_cast<uint16_t>(count_steps<T, MANDELBROT, WAY>(p, re, t.y[y]));
        const row rows = t.rows[y];
        if (to.own >= 0) rows.own[to.own] = count;
        if (to.other >= 0 && rows.other != NULL) rows.other[to.other] = count;
    }
}

/* --- launches --- */

/* Sets the bounds on the magnitude k steps after an escape: m becomes (m +- |c|)^2, less or more by
 * its roundings. Returns false if they are of no use, because values overflow. */
template <typename T> static bool find_bounds(params<T> *p) {
    const double margin = 1e-5, most = sizeof(T) == 4 ? 1e37 : 1e300;
    double c = bf_julia_abs(p->view.c_re) + bf_julia_abs(p->view.c_im);
    if (p->view.mandelbrot) c = 2 * bf_julia_reach(&p->view);
    double low = p->view.escape, high = low;
    for (int k = 1; k < STEPS; k++) {
        double least = low * (1 - margin) - c, greatest = high * (1 + margin) + c;
        low = least > 0 ? least * least * (1 - margin) : 0;
        high = greatest * greatest * (1 + margin);
        if (low < 4 * p->view.escape || high > most) return false;
        p->low[k] = static_cast<T>(low);
        p->high[k] = static_cast<T>(high);
    }
    return true;
}

template <typename T> static const void *kernel_of(const params<T> &p, way how) {
    const bool all = p.view.mandelbrot;
    switch (how) {
    case READ:
        return all ? (const void *)count_tiles<T, true, READ>
                   : (const void *)count_tiles<T, false, READ>;
    case REPLAY:
        return all ? (const void *)count_tiles<T, true, REPLAY>
                   : (const void *)count_tiles<T, false, REPLAY>;
    default: return (const void *)count_tiles<T, false, RULE>;
    }
}

static int64_t tiles_of(const bf_mirror &m, int down) {
    return (m.columns + ACROSS - 1) / ACROSS * ((m.rows + down - 1) / down);
}

template <typename T>
static cudaError_t launch_count(const bf_cuda *cuda, const bf_julia_job *job) {
    params<T> p = {};
    p.view = job->view;
    p.mirror = bf_mirror_of(&job->view, job->at);
    p.counts = job->counts;
    p.stride = job->stride;
    p.c_re = static_cast<T>(job->view.c_re);
    p.c_im = static_cast<T>(job->view.c_im);
    p.escape = static_cast<T>(job->view.escape);
    const bool quick = bf_julia_is_tame(&p.view) && bf_julia_is_sticky(&p.view);
    const way how = !quick ? RULE : find_bounds(&p) ? READ : REPLAY;
    p.across = static_cast<unsigned>((p.mirror.columns + ACROSS - 1) / ACROSS);
    p.whole = p.view.iterations - p.view.iterations % (2 * STEPS);
    p.low[STEPS] = static_cast<T>(INFINITY);
    p.down = DOWN_MOST;
    while (p.down > 4 && tiles_of(p.mirror, p.down) < cuda->multiprocessors * (int64_t)BLOCKS_BUSY)
        p.down /= 2;
    void *arguments[] = {&p};
    bf_cuda_shape shape = {.blocks = tiles_of(p.mirror, p.down), .threads = 32 * WARPS};
    return bf_cuda_launch(cuda, kernel_of(p, how), shape, arguments);
}

/* Enqueues a job. The bounds are computed in the library's floating-point environment. */
static bf_status enqueue_count(bf_context *context, const bf_julia_job *job) {
    bf_environment environment = bf_environment_enter();
    cudaError_t error = job->view.dtype == BF_F32 ? launch_count<float>(context->cuda, job)
                                                  : launch_count<double>(context->cuda, job);
    bf_environment_leave(environment);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "a picture");
}

/* --- entries --- */

/* Copies the rows of a piece, which are contiguous on the GPU, to the caller's memory. */
static bf_status copy_piece(bf_context *context, const bf_julia_job *piece, const void *from) {
    const bf_rectangle &at = piece->at;
    const size_t width = (size_t)at.columns * sizeof *piece->counts;
    bf_status status = BF_OK;
    if (at.rows == 1 || piece->stride == at.columns)
        return bf_cuda_copy(context, piece->counts, from, width * (size_t)at.rows);
    if (bf_where_is(piece->counts, NULL) == BF_WHERE_HOST) {
        const bf_strided rows = {(char *)piece->counts,
                                 sizeof *piece->counts,
                                 2,
                                 {at.rows, at.columns},
                                 {piece->stride, 1}};
        return bf_cuda_scatter_host(context, &rows, 0, at.rows * at.columns, from);
    }
    for (int64_t y = 0; y < at.rows && status == BF_OK; y++)
        status = bf_cuda_copy(context, piece->counts + y * piece->stride,
                              (const char *)from + (size_t)y * width, width);
    return status;
}

static bf_status run_piece(bf_context *context, const bf_julia_job *piece, void *scratch) {
    bf_julia_job job = *piece;
    job.counts = (uint16_t *)scratch;
    job.stride = piece->at.columns;
    bf_status status = enqueue_count(context, &job);
    return status == BF_OK ? copy_piece(context, piece, scratch) : status;
}

/* Makes a picture that kernels cannot write in place: in pieces as large as the scratch. The halves
 * of a piece that mirror each other cost no more than one. */
static bf_status run_pieces(bf_context *context, const bf_julia_job *job) {
    void *scratch = bf_cuda_copy_scratch(context, NULL);
    const bf_rectangle &all = job->at;
    const int64_t room = BF_CUDA_COPY_SCRATCH / sizeof *job->counts;
    const int64_t columns = all.columns < room ? all.columns : room, rows = room / columns;
    bf_status status = scratch != NULL ? BF_OK : BF_E_MEMORY;
    for (int64_t y = 0; y < all.rows; y += rows) {
        for (int64_t x = 0; x < all.columns && status == BF_OK; x += columns) {
            bf_julia_job piece = *job;
            piece.at.x += x;
            piece.at.y += y;
            piece.at.columns = all.columns - x < columns ? all.columns - x : columns;
            piece.at.rows = all.rows - y < rows ? all.rows - y : rows;
            piece.counts += y * job->stride + x;
            status = run_piece(context, &piece, scratch);
        }
    }
    return status;
}

static bf_status run_julia(bf_context *context, const bf_julia_job *job) {
    bf_status status = bf_cuda_in_place(context, job->counts, sizeof *job->counts)
                           ? enqueue_count(context, job)
                           : run_pieces(context, job);
    cudaError_t error = cudaStreamSynchronize(context->cuda->stream);
    if (status != BF_OK || error == cudaSuccess) return status;
    return bf_cuda_fail(context, error, "a picture");
}

static bf_status count_pixels(bf_context *context, const bf_julia_job *job) {
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = run_julia(context, job);
    bf_cuda_leave(previous);
    return status;
}

static bf_status count_pixels_async(bf_context *context, const bf_julia_job *job) {
    if (!bf_cuda_in_place(context, job->counts, sizeof *job->counts))
        return bf_fail(context, BF_E_ARGUMENT, "the GPU cannot reach the memory where it is");
    int previous = bf_cuda_enter(context);
    bf_status status = enqueue_count(context, job);
    bf_cuda_leave(previous);
    return status;
}

extern const bf_julia_backend bf_cuda_julia_backend = {.count = count_pixels,
                                                       .enqueue = count_pixels_async};
