/* Arrays as contiguous elements: checks, and copies of strided ones. */
#include "api/runtime/flat.h"

#include "api/runtime/array.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

bf_memory bf_flat_memory(const bf_array *array) {
    if (array == NULL) return (bf_memory){NULL, 0};
    int64_t bytes = bf_key_bytes(array->dtype), count = bf_array_elements(array, bytes);
    return (bf_memory){array->data, count > 0 ? bf_bytes_of(count, bytes) : 0};
}

static bf_status check_array(bf_context *context, const bf_backend *on, bf_dtype dtype,
                             const bf_array *array, int64_t *count) {
    *count = bf_array_elements(array, bf_key_bytes(array->dtype));
    if (*count < 0) return bf_fail(context, BF_E_ARGUMENT, "an array is not well formed");
    if (array->dtype != dtype)
        return bf_fail(context, BF_E_DTYPE, "an array of %s where %s is wanted",
                       bf_dtype_name(array->dtype), bf_dtype_name(dtype));
    if (*count > 0 && on == &bf_backend_cpu && bf_where_is(array->data, NULL) == BF_WHERE_DEVICE)
        return bf_fail(context, BF_E_DEVICE,
                       "memory of a GPU, and this is in host memory: ask for the device cuda");
    return BF_OK;
}

/* Describes the array as strided memory. A pair is a dimension of two words. */
static bf_status describe_array(bf_context *context, const bf_array *a, bf_strided *s) {
    int words = a->dtype == BF_PAIR ? 2 : 1;
    *s = (bf_strided){a->data, bf_key_bytes(a->dtype) / words, a->ndim, {0}, {0}};
    for (int d = 0; d < a->ndim; d++) {
        s->shape[d] = a->shape[d];
        s->strides[d] = a->shape[d] > 1 ? a->strides[d] * words : 0;
    }
    if (words == 1) return BF_OK;
    if (a->ndim == BF_MAX_DIMS)
        return bf_fail(context, BF_E_SHAPE, "pairs with strides have at most 7 dimensions");
    s->shape[s->ndim] = words;
    s->strides[s->ndim++] = 1;
    return BF_OK;
}

static int64_t elements_of(const bf_flat *o) {
    return o->array->dtype == BF_PAIR ? 2 * o->count : o->count;
}

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

bf_status bf_flat_take(bf_context *context, const bf_backend *on, bf_dtype dtype,
                       const bf_array *array, bf_flat *flat) {
    *flat = (bf_flat){.context = context, .array = array};
    bf_strided from;
    if (array == NULL) return BF_OK;
    bf_status status = check_array(context, on, dtype, array, &flat->count);
    if (status != BF_OK || flat->count == 0) return status;
    flat->data = array->data;
    if (bf_array_is_contiguous(array)) return BF_OK;
    status = describe_array(context, array, &from);
    if (status != BF_OK) return status;
    flat->by = on;
    flat->copy =
        flat->by->memory->allocate(context, (size_t)bf_bytes_of(flat->count, bf_key_bytes(dtype)));
    if (flat->copy == NULL) return BF_E_MEMORY;
    flat->data = flat->copy;
    return gather_elements(context, flat, &from);
}

bf_status bf_flat_return(bf_context *context, const bf_flat *flat) {
    bf_strided to;
    if (flat->copy == NULL) return BF_OK;
    bf_status status = describe_array(context, flat->array, &to);
    if (status != BF_OK) return status;
    return flat->by->memory->scatter(context, &to, 0, elements_of(flat), flat->copy);
}

void bf_flat_release(bf_flat *flat) {
    if (flat->copy != NULL) flat->by->memory->release(flat->context, flat->copy);
}
