/* Element-wise jobs on memory of any strides: in place if every row is contiguous, else on copies.
 */
#include "api/map/walk.h"

#include "api/runtime/array.h"
#include "api/runtime/place.h"
#include "seam/memory.h"

/* Returns how many elements make a row worth a job of its own: more if a piece is larger. */
static int64_t row_least(const bf_context *context) {
    return (int64_t)(context->used->memory->scratch_bytes >> 9);
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static void swap_numbers(int64_t *a, int64_t *b) {
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* Puts the output's largest strides outermost. */
static void sort_dimensions(bf_map_arrays *x) {
    for (int i = 1; i < x->ndim; i++) {
        for (int d = i; d > 0; d--) {
            if (magnitude(x->strides[0][d - 1]) >= magnitude(x->strides[0][d])) break;
            swap_numbers(&x->shape[d - 1], &x->shape[d]);
            for (int k = 0; k <= x->arity; k++)
                swap_numbers(&x->strides[k][d - 1], &x->strides[k][d]);
        }
    }
}

/* Drops extents of 1, and joins neighbouring dimensions that are contiguous in every operand. */
static void join_dimensions(bf_map_arrays *x) {
    int last = -1;
    for (int d = 0; d < x->ndim; d++) {
        if (x->shape[d] == 1) continue;
        bool joined = last >= 0;
        for (int k = 0; joined && k <= x->arity; k++)
            joined = x->strides[k][last] == x->shape[d] * x->strides[k][d];
        if (!joined) last++;
        x->shape[last] = joined ? x->shape[last] * x->shape[d] : x->shape[d];
        for (int k = 0; k <= x->arity; k++) x->strides[k][last] = x->strides[k][d];
    }
    x->ndim = last + 1;
}

/* Can jobs work on the innermost rows in place? */
static bool rows_are_direct(const bf_context *context, const bf_map_arrays *x) {
    if (x->ndim == 0) return true;
    int inner = x->ndim - 1;
    if (x->strides[0][inner] != 1) return false;
    for (int k = 1; k <= x->arity; k++)
        if (x->strides[k][inner] != 1 && x->strides[k][inner] != 0) return false;
    return x->ndim == 1 || x->shape[inner] >= row_least(context);
}

static char *element_at(const bf_map_arrays *x, int k, const int64_t *position) {
    int64_t at = 0;
    for (int d = 0; d < x->ndim; d++) at += position[d] * x->strides[k][d];
    return x->data[k] + at * x->bytes[k];
}

/* Moves on by n elements. */
static void advance_position(const bf_map_arrays *x, int64_t *position, int64_t n) {
    int d = x->ndim - 1;
    position[d] += n;
    for (; d > 0 && position[d] >= x->shape[d]; d--) {
        position[d - 1] += position[d] / x->shape[d];
        position[d] %= x->shape[d];
    }
}

static bf_status walk_rows(bf_context *context, const bf_map_arrays *x, int64_t count,
                           bf_map_job *job) {
    int64_t position[BF_MAX_DIMS] = {0};
    int inner = x->ndim - 1;
    int64_t row = x->ndim == 0 ? 1 : x->shape[inner], bytes = x->bytes[0];
    int64_t most = bf_watched_piece(context, row, bytes);
    for (int64_t done = 0; done < count; done += job->count) {
        int64_t left = row - done % row;
        job->count = left < most ? left : most;
        job->index = x->index + done;
        job->out = element_at(x, 0, position);
        for (int k = 1; k <= x->arity; k++) {
            job->in[k - 1] = element_at(x, k, position);
            job->single[k - 1] = x->ndim == 0 || x->strides[k][inner] == 0;
        }
        bf_status status = context->used->map->run(context, job);
        if (status == BF_OK) status = bf_watch_tick(context, job->count * bytes);
        if (status != BF_OK) return status;
        if (x->ndim > 0) advance_position(x, position, job->count);
    }
    return BF_OK;
}

/* The copies of one operand's pieces. */
typedef struct copies {
    bf_strided strided;
    char *piece;
} copies;

static bool prepare_copies(bf_context *context, const bf_map_arrays *x, int k, copies *c) {
    c->strided = (bf_strided){x->data[k], x->bytes[k], x->ndim, {0}, {0}};
    memcpy(c->strided.shape, x->shape, sizeof x->shape);
    memcpy(c->strided.strides, x->strides[k], sizeof x->strides[k]);
    const bf_memory_backend *memory = context->used->memory;
    char *scratch = memory->scratch(context, x->data[0]);
    if (scratch != NULL) c->piece = scratch + (size_t)k * (memory->scratch_bytes / BF_MAP_OPERANDS);
    return scratch != NULL;
}

static bf_status map_piece(bf_context *context, int arity, const copies *c, int64_t first,
                           bf_map_job *job) {
    const bf_memory_backend *memory = context->used->memory;
    bf_status status = BF_OK;
    for (int k = 1; k <= arity && status == BF_OK; k++) {
        status = memory->gather(context, &c[k].strided, first, job->count, c[k].piece);
        job->in[k - 1] = c[k].piece;
    }
    job->out = c[0].piece;
    if (status == BF_OK) status = context->used->map->run(context, job);
    if (status != BF_OK) return status;
    return memory->scatter(context, &c[0].strided, first, job->count, c[0].piece);
}

static bf_status walk_copies(bf_context *context, const bf_map_arrays *x, int64_t count,
                             bf_map_job *job) {
    copies c[BF_MAP_OPERANDS] = {{.piece = NULL}};
    int64_t room = (int64_t)(context->used->memory->scratch_bytes / BF_MAP_OPERANDS / 8);
    for (int k = 0; k <= x->arity; k++)
        if (!prepare_copies(context, x, k, &c[k])) return BF_E_MEMORY;
    if (room > count) room = count;
    bf_status status = BF_OK;
    for (int64_t done = 0; done < count && status == BF_OK; done += job->count) {
        job->index = x->index + done;
        job->count = count - done < room ? count - done : room;
        status = map_piece(context, x->arity, c, done, job);
        if (status == BF_OK) status = bf_watch_tick(context, job->count * x->bytes[0]);
    }
    return status;
}

bf_status bf_map_walk(bf_context *context, bf_map_arrays *x, bool any_order, bf_map_job *job) {
    int64_t count = 1;
    for (int d = 0; d < x->ndim; d++) count *= x->shape[d];
    if (count == 0) return BF_OK;
    if (any_order) sort_dimensions(x);
    join_dimensions(x);
    return rows_are_direct(context, x) ? walk_rows(context, x, count, job)
                                       : walk_copies(context, x, count, job);
}

/* --- overlap --- */

bool bf_map_output_overlaps(const bf_map_arrays *arrays) {
    bf_map_arrays x = *arrays;
    int64_t reach = 0; /* the reach of the inner dimensions */
    sort_dimensions(&x);
    for (int d = x.ndim - 1; d >= 0; d--) {
        if (x.shape[d] <= 1) continue;
        int64_t stride = magnitude(x.strides[0][d]);
        if (stride <= reach) return true;
        reach += stride * (x.shape[d] - 1);
    }
    return false;
}

/* Finds the addresses [begin, end) of an operand's elements. */
static void range_of(const bf_map_arrays *x, int k, uintptr_t *begin, uintptr_t *end) {
    int64_t low = 0, high = 1;
    for (int d = 0; d < x->ndim; d++) {
        int64_t reach = x->strides[k][d] * (x->shape[d] - 1);
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    *begin = (uintptr_t)x->data[k] + (uintptr_t)(low * x->bytes[k]);
    *end = (uintptr_t)x->data[k] + (uintptr_t)(high * x->bytes[k]);
}

bool bf_map_input_overlaps(const bf_map_arrays *x, int k) {
    uintptr_t begin[2], end[2];
    bool same = x->data[k] == x->data[0] && x->bytes[k] == x->bytes[0];
    for (int d = 0; same && d < x->ndim; d++)
        same = x->shape[d] <= 1 || x->strides[k][d] == x->strides[0][d];
    if (same) return false;
    range_of(x, 0, &begin[0], &end[0]);
    range_of(x, k, &begin[1], &end[1]);
    return begin[0] < end[1] && begin[1] < end[0];
}
