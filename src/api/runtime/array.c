/* Arrays: checks, and walks over any shape in contiguous pieces. */
#include "api/runtime/array.h"

#include "api/runtime/place.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

#include <stdio.h>
#include <stdlib.h>

/* A watched call takes contiguous memory in pieces of SCRATCHES times the backend's scratch: 128
 * MiB on the CPU. Larger pieces would make ticks rare; smaller ones cost more, because all threads
 * wait for the end of each piece. */
enum { SCRATCHES = 128 };

/* Do the elements lie within less than 2^62 bytes? Then no sum of strides overflows, nor does a
 * stride times its extent. The stride of an extent below 2 does not count. */
static bool spans_memory(const bf_array *array, int64_t element_bytes) {
    uint64_t span = 0, reach;
    for (int d = 0; d < array->ndim; d++) {
        if (array->shape[d] <= 1) continue;
        int64_t stride = array->strides[d];
        uint64_t magnitude = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
        if (__builtin_mul_overflow((uint64_t)array->shape[d] - 1, magnitude, &reach) ||
            __builtin_add_overflow(span, reach, &span))
            return false;
    }
    return !__builtin_mul_overflow(span, (uint64_t)element_bytes, &span) && span < BF_COUNT_MAX;
}

int64_t bf_array_count(const bf_array *array) {
    return array == NULL ? -1 : bf_array_elements(array, bf_dtype_bytes(array->dtype));
}

int64_t bf_array_elements(const bf_array *array, int64_t element_bytes) {
    if (element_bytes == 0 || array->ndim < 0 || array->ndim > BF_MAX_DIMS) return -1;
    int64_t count = 1;
    bool empty = false;
    for (int d = 0; d < array->ndim; d++) {
        if (array->shape[d] < 0) return -1;
        empty |= array->shape[d] == 0;
    }
    if (empty) return 0;
    for (int d = 0; d < array->ndim; d++)
        if (__builtin_mul_overflow(count, array->shape[d], &count)) return -1;
    if (array->data == NULL || count > BF_COUNT_MAX) return -1;
    return spans_memory(array, element_bytes) ? count : -1;
}

bool bf_same_shape(const bf_array *a, const bf_array *b) {
    if (a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

bool bf_same_array(const bf_array *a, const bf_array *b) {
    if (a->data != b->data || a->dtype != b->dtype || !bf_same_shape(a, b)) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] > 1 && a->strides[d] != b->strides[d]) return false;
    return true;
}

enum { SHAPE_TEXT = BF_MAX_DIMS * 21 + 3 };

/* Writes a shape as [2, 3]. */
static const char *shape_text(const bf_array *array, char text[SHAPE_TEXT]) {
    int at = snprintf(text, SHAPE_TEXT, "[");
    for (int d = 0; d < array->ndim; d++)
        at += snprintf(text + at, (size_t)(SHAPE_TEXT - at), d == 0 ? "%lld" : ", %lld",
                       (long long)array->shape[d]);
    snprintf(text + at, (size_t)(SHAPE_TEXT - at), "]");
    return text;
}

bf_status bf_check_same_shape(bf_context *context, const bf_array *a, const bf_array *b) {
    char of_a[SHAPE_TEXT], of_b[SHAPE_TEXT];
    if (bf_same_shape(a, b)) return BF_OK;
    return bf_fail(context, BF_E_SHAPE, "the shapes %s and %s differ", shape_text(a, of_a),
                   shape_text(b, of_b));
}

bool bf_array_has_shape(const bf_array *array, int ndim, const int64_t shape[]) {
    if (array->ndim != ndim) return false;
    for (int d = 0; d < ndim; d++)
        if (array->shape[d] != shape[d]) return false;
    return true;
}

typedef struct range {
    uintptr_t begin, end;
} range;

/* The bytes from the first to the last of an array, which is well formed. */
static range range_of(const bf_array *array) {
    const int64_t bytes = bf_key_bytes(array->dtype);
    range r = {(uintptr_t)array->data, (uintptr_t)array->data};
    if (bf_array_elements(array, bytes) == 0) return r;
    r.end += (uintptr_t)bytes;
    for (int d = 0; d < array->ndim; d++) {
        int64_t reach = array->shape[d] > 1 ? (array->shape[d] - 1) * array->strides[d] * bytes : 0;
        *(reach < 0 ? &r.begin : &r.end) += (uintptr_t)reach;
    }
    return r;
}

bool bf_arrays_overlap(const bf_array *a, const bf_array *b) {
    if (a == NULL || b == NULL) return false;
    range x = range_of(a), y = range_of(b);
    return x.begin < y.end && y.begin < x.end;
}

/* As far as strides tell: each must reach beyond all smaller ones. */
bool bf_array_overlaps_itself(const bf_array *array) {
    int64_t reach = 0;
    bool done[BF_MAX_DIMS] = {false};
    if (bf_array_elements(array, bf_key_bytes(array->dtype)) == 0) return false;
    for (int i = 0; i < array->ndim; i++) {
        int least = -1;
        for (int d = 0; d < array->ndim; d++) {
            if (done[d]) continue;
            if (least < 0 || llabs(array->strides[d]) < llabs(array->strides[least])) least = d;
        }
        done[least] = true;
        if (array->shape[least] <= 1) continue;
        if (llabs(array->strides[least]) <= reach) return true;
        reach += llabs(array->strides[least]) * (array->shape[least] - 1);
    }
    return false;
}

bf_status bf_array_read_axes(bf_context *context, const bf_array *array, const int axes[], int n,
                             bool named[BF_MAX_DIMS]) {
    int ndim = array->ndim;
    for (int d = 0; d < BF_MAX_DIMS; d++) named[d] = false;
    if (n < 0 || n > ndim)
        return bf_fail(context, BF_E_ARGUMENT, "%d axes of an array of %d dimensions", n, ndim);
    if (n > 0 && axes == NULL) return bf_fail(context, BF_E_ARGUMENT, "no axes");
    for (int i = 0; i < n; i++) {
        if (axes[i] < -ndim || axes[i] >= ndim)
            return bf_fail(context, BF_E_ARGUMENT, "axis %d of an array of %d dimensions", axes[i],
                           ndim);
        int axis = axes[i] < 0 ? axes[i] + ndim : axes[i];
        if (named[axis]) return bf_fail(context, BF_E_ARGUMENT, "axis %d is given twice", axis);
        named[axis] = true;
    }
    return BF_OK;
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* The dimensions of a walk over arrays of one shape. Extents of 1 are dropped. Neighbouring
 * dimensions are joined if they are contiguous in every array. */
typedef struct walk {
    int ndim;
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[2][BF_MAX_DIMS]; /* in elements */
} walk;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* Puts the largest strides outermost: C order in memory. */
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

bool bf_array_is_contiguous(const bf_array *array) {
    int64_t step = 1;
    for (int d = array->ndim - 1; d >= 0; d--) {
        if (array->shape[d] == 1) continue;
        if (array->strides[d] != step) return false;
        step *= array->shape[d];
    }
    return true;
}

/* The copies of one array's pieces. */
typedef struct copies {
    bf_strided from;
    char *to;
} copies;

static bool prepare_copies(bf_context *context, const walk *w, const bf_array *array, int a,
                           copies *c) {
    c->from = (bf_strided){array->data, bf_number_bytes(array->dtype), w->ndim, {0}, {0}};
    memcpy(c->from.shape, w->shape, sizeof w->shape);
    memcpy(c->from.strides, w->strides[a], sizeof w->strides[a]);
    const bf_memory_backend *memory = context->used->memory;
    char *scratch = memory->scratch(context, array->data);
    if (scratch != NULL) c->to = scratch + (size_t)a * (memory->scratch_bytes / 2);
    return scratch != NULL;
}

/* Walks copies of pieces that fit the backend's scratch. */
static bf_status walk_copies(bf_context *context, const walk *w, const bf_array *const arrays[],
                             int arity, int64_t count, bf_take_piece take, void *arg) {
    const bf_memory_backend *memory = context->used->memory;
    copies c[2] = {{.to = NULL}};
    int64_t room = count, bytes = 0;
    for (int a = 0; a < arity; a++) {
        if (!prepare_copies(context, w, arrays[a], a, &c[a])) return BF_E_MEMORY;
        int64_t fits = (int64_t)(memory->scratch_bytes / 2) / c[a].from.bytes;
        if (fits < room) room = fits;
        bytes += c[a].from.bytes;
    }
    const void *const data[2] = {c[0].to, c[1].to};
    bf_status status = BF_OK;
    for (int64_t done = 0; done < count && status == BF_OK; done += room) {
        int64_t n = count - done < room ? count - done : room;
        for (int a = 0; a < arity && status == BF_OK; a++)
            status = memory->gather(context, &c[a].from, done, n, c[a].to);
        if (status == BF_OK) status = take(context, arg, data, n);
        if (status == BF_OK) status = bf_watch_tick(context, n * bytes);
    }
    return status;
}

int64_t bf_watched_piece(const bf_context *context, int64_t count, int64_t bytes) {
    if (!bf_is_watched(context)) return count;
    int64_t piece =
        (int64_t)context->used->memory->scratch_bytes * SCRATCHES / bytes & ~(int64_t)4095;
    return piece < count ? piece : count;
}

/* Walks the memory itself: in one piece, unless the call is watched. */
static bf_status walk_memory(bf_context *context, const bf_array *const arrays[], int arity,
                             int64_t count, bf_take_piece take, void *arg) {
    int64_t bytes[2] = {bf_number_bytes(arrays[0]->dtype)};
    if (arity > 1) bytes[1] = bf_number_bytes(arrays[1]->dtype);
    int64_t room = bf_watched_piece(context, count, bytes[0] + bytes[1]);
    bf_status status = BF_OK;
    for (int64_t done = 0; done < count && status == BF_OK; done += room) {
        int64_t n = count - done < room ? count - done : room;
        const void *data[2] = {(const char *)arrays[0]->data + done * bytes[0], NULL};
        if (arity > 1) data[1] = (const char *)arrays[1]->data + done * bytes[1];
        status = take(context, arg, data, n);
        if (status == BF_OK) status = bf_watch_tick(context, n * (bytes[0] + bytes[1]));
    }
    return status;
}

bf_status bf_array_walk(bf_context *context, const bf_array *const arrays[], int arity,
                        int64_t count, bool any_order, bf_take_piece take, void *arg) {
    bool plain = true;
    for (int a = 0; a < arity; a++) plain = plain && bf_array_is_contiguous(arrays[a]);
    if (plain) return walk_memory(context, arrays, arity, count, take, arg);
    const walk w = walk_of(arrays, arity, any_order);
    return is_contiguous(&w, arity) ? walk_memory(context, arrays, arity, count, take, arg)
                                    : walk_copies(context, &w, arrays, arity, count, take, arg);
}
