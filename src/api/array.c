/* Arrays: checking them, and walking any shape as contiguous pieces. */
#include "array.h"

#include <stdlib.h>

int64_t bf_array_count(const bf_array *array) {
    size_t bytes = array == NULL ? 0 : bf_dtype_size(array->dtype);
    if (bytes == 0 || array->ndim < 0 || array->ndim > BF_MAX_DIMS) return -1;
    int64_t count = 1;
    bool empty = false;
    for (int d = 0; d < array->ndim; d++) {
        if (array->shape[d] < 0) return -1;
        empty |= array->shape[d] == 0;
    }
    if (empty) return 0;
    for (int d = 0; d < array->ndim; d++)
        if (__builtin_mul_overflow(count, array->shape[d], &count)) return -1;
    return array->data == NULL || count > BF_COUNT_MAX ? -1 : count;
}

/* The dimensions that arrays of one shape are walked in: extents over 1 only, and neighbours that
 * follow each other in memory (in every array) joined. */
typedef struct walk {
    int ndim;
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[2][BF_MAX_DIMS]; /* in elements */
} walk;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* Largest strides outermost: C order for memory. */
static void sort_dimensions(walk *w) {
    for (int i = 1; i < w->ndim; i++) {
        for (int k = i; k > 0; k--) {
            if (magnitude(w->strides[0][k - 1]) >= magnitude(w->strides[0][k])) break;
            int64_t shape = w->shape[k];
            w->shape[k] = w->shape[k - 1];
            w->shape[k - 1] = shape;
            for (int a = 0; a < 2; a++) {
                int64_t stride = w->strides[a][k];
                w->strides[a][k] = w->strides[a][k - 1];
                w->strides[a][k - 1] = stride;
            }
        }
    }
}

static void join_dimensions(walk *w, int arity) {
    int last = 0;
    for (int d = 1; d < w->ndim; d++) {
        bool joined = true;
        for (int a = 0; a < arity; a++)
            joined &= w->strides[a][last] == w->shape[d] * w->strides[a][d];
        if (!joined) last++;
        w->shape[last] = joined ? w->shape[last] * w->shape[d] : w->shape[d];
        for (int a = 0; a < arity; a++) w->strides[a][last] = w->strides[a][d];
    }
    if (w->ndim > 0) w->ndim = last + 1;
}

static walk walk_of(const bf_array *const arrays[], int arity, bool any_order) {
    walk w = {0};
    for (int d = 0; d < arrays[0]->ndim; d++) {
        if (arrays[0]->shape[d] == 1) continue;
        w.shape[w.ndim] = arrays[0]->shape[d];
        for (int a = 0; a < arity; a++) w.strides[a][w.ndim] = arrays[a]->strides[d];
        w.ndim++;
    }
    if (any_order) sort_dimensions(&w);
    join_dimensions(&w, arity);
    return w;
}

static bool is_contiguous(const walk *w, int arity) {
    if (w->ndim == 0) return true;
    for (int a = 0; a < arity; a++)
        if (w->strides[a][0] != 1) return false;
    return w->ndim == 1;
}

/* The element that position[] points at. */
static const char *element_at(const bf_array *array, const int64_t *strides, int ndim,
                              const int64_t *position, size_t bytes) {
    const char *p = array->data;
    for (int d = 0; d < ndim; d++) p += position[d] * strides[d] * (int64_t)bytes;
    return p;
}

static void copy_strided(char *to, const char *from, int64_t n, int64_t stride, size_t bytes) {
    int64_t step = stride * (int64_t)bytes;
    switch (bytes) {
    case 1:
        for (int64_t i = 0; i < n; i++) to[i] = from[i * step];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) memcpy(to + 2 * i, from + i * step, 2);
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(to + 4 * i, from + i * step, 4);
        break;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(to + 8 * i, from + i * step, 8);
        break;
    }
}

/* Moves position on by n elements of the innermost dimension, to the next row where it ends. */
static void advance(const walk *w, int64_t *position, int64_t n) {
    int d = w->ndim - 1;
    position[d] += n;
    for (; d > 0 && position[d] == w->shape[d]; d--) {
        position[d] = 0;
        position[d - 1]++;
    }
}

/* Copies up to `room` elements, from position on, to the scratch of each array. */
static int64_t gather(const walk *w, const bf_array *const arrays[], int arity, int64_t *position,
                      char *const to[2], int64_t room, size_t bytes) {
    int64_t done = 0;
    while (done < room) {
        int64_t left = w->shape[w->ndim - 1] - position[w->ndim - 1];
        int64_t n = left < room - done ? left : room - done;
        for (int a = 0; a < arity; a++) {
            const char *from = element_at(arrays[a], w->strides[a], w->ndim, position, bytes);
            copy_strided(to[a] + done * (int64_t)bytes, from, n, w->strides[a][w->ndim - 1], bytes);
        }
        advance(w, position, n);
        done += n;
    }
    return done;
}

char *bf_context_scratch(bf_context *context) {
    if (context->scratch == NULL) context->scratch = malloc(BF_SCRATCH_BYTES);
    return context->scratch;
}

bf_status bf_array_walk(bf_context *context, const bf_array *const arrays[], int arity,
                        int64_t count, bool any_order, bf_job *job, bf_take take, int64_t *words) {
    walk w = walk_of(arrays, arity, any_order);
    if (is_contiguous(&w, arity)) {
        job->a = arrays[0]->data;
        job->b = arity > 1 ? arrays[1]->data : NULL;
        job->count = count;
        return take(context, job, words);
    }
    char *scratch = bf_context_scratch(context);
    if (scratch == NULL) return bf_fail(context, BF_E_MEMORY, "no scratch memory");

    size_t bytes = bf_dtype_size(arrays[0]->dtype);
    char *to[2] = {scratch, scratch + BF_SCRATCH_BYTES / 2};
    int64_t room = (int64_t)(BF_SCRATCH_BYTES / 2 / bytes), position[BF_MAX_DIMS] = {0};
    job->a = to[0];
    job->b = arity > 1 ? to[1] : NULL;
    for (int64_t done = 0; done < count; done += job->count, job->index += job->count) {
        int64_t left = count - done;
        job->count = gather(&w, arrays, arity, position, to, left < room ? left : room, bytes);
        bf_status status = take(context, job, words);
        if (status != BF_OK) return status;
    }
    return BF_OK;
}
