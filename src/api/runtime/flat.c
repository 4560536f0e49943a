/* Arrays as contiguous elements: checks, and copies of strided ones. */
#include "api/runtime/flat.h"

#include "api/runtime/array.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

bf_memory bf_flat_memory(const bf_array *array) {
    if (array == NULL) return (bf_memory){NULL, 0};
    int64_t bytes = bf_key_bytes(array->dtype), count = bf_array_elements(array, bytes);
    return (bf_memory){array->data, count > 0 ? bf_bytes_of(count, bytes) : 0};
}

/* The CPU reads and writes the host's memory alone. */
static bf_status check_reach(bf_context *context, const bf_backend *on, const bf_flat *flat) {
    if (flat->count == 0 || on != &bf_backend_cpu ||
        bf_where_is(flat->array->data, NULL) != BF_WHERE_DEVICE)
        return BF_OK;
    return bf_fail(context, BF_E_DEVICE,
                   "the CPU does this, and an array is in a GPU's memory: copy it, or make the "
                   "context with the device cuda");
}

static bf_status check_array(bf_context *context, bf_dtype dtype, const bf_array *array,
                             int64_t *count) {
    *count = bf_array_elements(array, bf_key_bytes(array->dtype));
    if (*count < 0) return bf_fail(context, BF_E_ARGUMENT, "an array is not well formed");
    if (array->dtype != dtype)
        return bf_fail(context, BF_E_DTYPE, "an array of %s where %s is wanted",
                       bf_dtype_name(array->dtype), bf_dtype_name(dtype));
    return BF_OK;
}

/* The words that an element is copied in. */
static int words_of(bf_dtype dtype) { return bf_key_bytes(dtype) == 16 ? 2 : 1; }

/* Describes the array as strided memory. Two words are a dimension. */
static bf_status describe_array(bf_context *context, const bf_array *a, bf_strided *s) {
    int words = words_of(a->dtype);
    *s = (bf_strided){a->data, bf_key_bytes(a->dtype) / words, a->ndim, {0}, {0}};
    for (int d = 0; d < a->ndim; d++) {
        s->shape[d] = a->shape[d];
        s->strides[d] = a->shape[d] > 1 ? a->strides[d] * words : 0;
    }
    if (words == 1) return BF_OK;
    if (a->ndim == BF_MAX_DIMS)
        return bf_fail(context, BF_E_SHAPE, "%s with strides have at most 7 dimensions",
                       a->dtype == BF_PAIR ? "pairs" : bf_dtype_name(a->dtype));
    s->shape[s->ndim] = words;
    s->strides[s->ndim++] = 1;
    return BF_OK;
}

static int64_t elements_of(const bf_flat *o) { return words_of(o->array->dtype) * o->count; }

/* Copies the array's elements, in pieces if the call is watched. */
static bf_status gather_elements(bf_context *context, const bf_flat *flat, const bf_strided *from) {
    int64_t count = elements_of(flat), room = bf_watched_piece(context, count, from->bytes);
    bf_status status = BF_OK;
    for (int64_t at = 0; at < count && status == BF_OK; at += room) {
        int64_t n = count - at < room ? count - at : room;
        status = flat->by->memory->gather(context, from, at, n, flat->data + at * from->bytes);
        if (status == BF_OK) status = bf_watch_tick(context, 0);
    }
    return status;
}

static bf_status make_copy(bf_flat *flat, const bf_backend *by) {
    int64_t bytes = bf_bytes_of(flat->count, bf_key_bytes(flat->array->dtype));
    flat->by = by;
    flat->copy = by->memory->allocate(flat->context, (size_t)bytes);
    flat->data = flat->copy;
    return flat->copy != NULL ? BF_OK : BF_E_MEMORY;
}

bf_status bf_flat_take(bf_context *context, const bf_backend *on, bf_dtype dtype,
                       const bf_array *array, bf_flat *flat) {
    *flat = (bf_flat){.context = context, .array = array};
    bf_strided from;
    if (array == NULL) return BF_OK;
    bf_status status = check_array(context, dtype, array, &flat->count);
    if (status == BF_OK) status = check_reach(context, on, flat);
    if (status != BF_OK || flat->count == 0) return status;
    flat->data = array->data;
    if (bf_array_is_contiguous(array)) return BF_OK;
    status = describe_array(context, array, &from);
    if (status != BF_OK) return status;
    status = make_copy(flat, on);
    return status == BF_OK ? gather_elements(context, flat, &from) : status;
}

bf_status bf_flat_check(bf_context *context, const bf_array *array, bf_dtype dtype,
                        const char *name) {
    if (bf_array_elements(array, bf_key_bytes(array->dtype)) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the array of the %s is not well formed", name);
    if (array->dtype != dtype)
        return bf_fail(context, BF_E_DTYPE, "the %s are %s, their array %s", name,
                       bf_dtype_name(dtype), bf_dtype_name(array->dtype));
    if (bf_array_overlaps_itself(array))
        return bf_fail(context, BF_E_ARGUMENT, "%s share memory with each other", name);
    return BF_OK;
}

bf_status bf_flat_check_queued(bf_context *context, const bf_array *array, const char *name) {
    if (array == NULL) return BF_OK;
    if (!bf_array_is_contiguous(array))
        return bf_fail(context, BF_E_ARGUMENT, "on a stream the %s are contiguous", name);
    if (context->used != &bf_backend_cpu && bf_where_is(array->data, NULL) == BF_WHERE_HOST)
        return bf_fail(context, BF_E_ARGUMENT,
                       "on a stream all arrays are in memory that the GPU reaches");
    return BF_OK;
}

bf_status bf_flat_prepare(bf_context *context, const bf_backend *on, const bf_array *array,
                          bool apart, bf_flat *flat) {
    *flat = (bf_flat){.context = context, .array = array};
    if (array == NULL) return BF_OK;
    flat->count = bf_array_elements(array, bf_key_bytes(array->dtype));
    flat->data = array->data;
    bf_status status = check_reach(context, on, flat);
    if (status != BF_OK || flat->count == 0) return status;
    bool reached = on == &bf_backend_cpu || bf_where_is(flat->data, NULL) != BF_WHERE_HOST;
    if (!apart && reached && bf_array_is_contiguous(array)) return BF_OK;
    return make_copy(flat, on);
}

bf_status bf_flat_return(bf_context *context, const bf_flat *flat) {
    bf_strided to;
    if (flat->copy == NULL) return BF_OK;
    if (bf_array_is_contiguous(flat->array)) {
        int64_t bytes = flat->count * bf_key_bytes(flat->array->dtype);
        return flat->by->memory->copy(context, flat->array->data, flat->copy, (size_t)bytes);
    }
    bf_status status = describe_array(context, flat->array, &to);
    if (status != BF_OK) return status;
    return flat->by->memory->scatter(context, &to, 0, elements_of(flat), flat->copy);
}

void bf_flat_release(bf_flat *flat) {
    if (flat->copy != NULL) flat->by->memory->release(flat->context, flat->copy);
}

/* ---- elements in their order ----------------------------------------------------------------- */

enum { TURNED = 1 << 14 }; /* elements that are turned at a time */

/* Elements of BF_I128 that become pairs, or pairs that become such elements again. */
typedef struct turning {
    const char *from;
    char *to; /* maybe `from` */
    bool pairs;
} turning;

static bf_status turn_piece(void *arg, int worker, int64_t first, int64_t n) {
    const turning *t = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        bf_i128 x;
        uint64_t pair[2];
        memcpy(&x, t->from + 16 * i, sizeof x);
        memcpy(pair, t->from + 16 * i, sizeof pair);
        if (t->pairs)
            bf_pair_of_i128(x, pair);
        else
            x = bf_i128_of_pair(pair);
        memcpy(t->to + 16 * i, t->pairs ? (const void *)pair : (const void *)&x, sizeof x);
    }
    return BF_OK;
}

/* Turns copies in memory that the host need not reach. */
static bf_status turn_copies(bf_context *context, const bf_backend *by, const turning *t,
                             int64_t count) {
    char *some = bf_alloc(16 * TURNED);
    const turning here = {some, some, t->pairs};
    bf_status status = some != NULL ? BF_OK : bf_fail(context, BF_E_MEMORY, "no memory to copy");
    for (int64_t at = 0, n; at < count && status == BF_OK; at += n) {
        n = count - at < TURNED ? count - at : TURNED;
        status = by->memory->copy(context, some, t->from + 16 * at, (size_t)(16 * n));
        if (status == BF_OK) status = turn_piece((void *)(uintptr_t)&here, 0, 0, n);
        if (status == BF_OK)
            status = by->memory->copy(context, t->to + 16 * at, some, (size_t)(16 * n));
    }
    bf_free(some);
    return status;
}

static bf_status turn(const bf_flat *flat, const char *from, bool pairs) {
    bf_context *context = flat->context;
    turning t = {from, flat->data, pairs};
    if (flat->by != &bf_backend_cpu) return turn_copies(context, flat->by, &t, flat->count);
    return bf_parallel(context, bf_workers(context, flat->count, TURNED), flat->count, TURNED,
                       turn_piece, &t);
}

static bool is_turned(const bf_array *array) { return array != NULL && array->dtype == BF_I128; }

bf_status bf_flat_take_ordered(bf_context *context, const bf_backend *on, const bf_array *array,
                               bf_flat *flat) {
    bf_status status = bf_flat_take(context, on, array->dtype, array, flat);
    const char *from = flat->data;
    if (status != BF_OK || !is_turned(array) || flat->count == 0) return status;
    if (flat->copy == NULL) status = make_copy(flat, on);
    return status == BF_OK ? turn(flat, from, true) : status;
}

bf_status bf_flat_prepare_ordered(bf_context *context, const bf_backend *on, const bf_array *array,
                                  bool apart, bf_flat *flat) {
    return bf_flat_prepare(context, on, array, apart || is_turned(array), flat);
}

bf_status bf_flat_return_ordered(bf_context *context, const bf_flat *flat) {
    bf_status status = BF_OK;
    if (flat->copy != NULL && is_turned(flat->array)) status = turn(flat, flat->data, false);
    return status == BF_OK ? bf_flat_return(context, flat) : status;
}
