/* Offsets of segments that the host reads. */
#include "api/axis/axis.h"

#include "api/runtime/array.h"
#include "base/memory.h"
#include "seam/memory.h"

static bf_status check_offsets(bf_context *context, const int64_t *offsets, int64_t segments,
                               int64_t n, int64_t *longest) {
    const bf_rows rows = {.count = n, .by = BF_ROWS_BY_OFFSETS};
    *longest = 0;
    for (int64_t s = 0; s <= segments; s++) {
        int64_t length = offsets[s] - (s > 0 ? offsets[s - 1] : 0);
        if (length < 0 || offsets[s] > n || offsets[s] < 0)
            return bf_axis_wrong_place(context, &rows, s, offsets[s]);
        if (s > 0 && length > *longest) *longest = length;
    }
    return BF_OK;
}

bf_status bf_axis_check_offsets(bf_context *context, const bf_array *offsets) {
    if (offsets == NULL) return bf_fail(context, BF_E_ARGUMENT, "no offsets");
    if (bf_array_count(offsets) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the array of the offsets is not well formed");
    if (offsets->dtype != BF_I32 && offsets->dtype != BF_I64)
        return bf_fail(context, BF_E_DTYPE, "offsets are i32 or i64, not %s",
                       bf_dtype_name(offsets->dtype));
    if (offsets->ndim != 1)
        return bf_fail(context, BF_E_SHAPE, "the offsets have %d dimensions, not one",
                       offsets->ndim);
    if (offsets->shape[0] == 0) return bf_fail(context, BF_E_SHAPE, "there are no offsets");
    return BF_OK;
}

/* Widens n i32 in place, which have room for as many i64. */
static void widen_offsets(int64_t *offsets, int64_t n) {
    const char *narrow = (const char *)offsets;
    for (int64_t i = n - 1; i >= 0; i--) {
        int32_t x;
        memcpy(&x, narrow + 4 * i, sizeof x);
        offsets[i] = x;
    }
}

static bf_status copy_offsets(bf_context *context, const bf_array *offsets, int64_t *host) {
    bf_flat flat;
    bf_status status = bf_flat_take(context, context->used, offsets->dtype, offsets, &flat);
    size_t bytes = (size_t)(flat.count * bf_dtype_bytes(offsets->dtype));
    if (status == BF_OK) status = context->used->memory->copy(context, host, flat.data, bytes);
    bf_flat_release(&flat);
    if (status == BF_OK && offsets->dtype == BF_I32) widen_offsets(host, offsets->shape[0]);
    return status;
}

bf_status bf_axis_read_offsets(bf_context *context, const bf_array *offsets, int64_t n,
                               int64_t **host, int64_t *segments, int64_t *longest) {
    *segments = offsets->shape[0] - 1;
    *host = bf_alloc((size_t)bf_bytes_of(offsets->shape[0], sizeof(int64_t)));
    if (*host == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for offsets");
    bf_status status = copy_offsets(context, offsets, *host);
    return status == BF_OK ? check_offsets(context, *host, *segments, n, longest) : status;
}
