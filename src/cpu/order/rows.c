/* Sorting rows by their keys. */
#include "cpu/order/sorting.h"

/* Keys and payloads are taken through scratch memory, whose elements are of at most 16 bytes. */
static bf_status move_rows(bf_context *context, const bf_order_lines *keys, int payloads,
                           void *const payload[], const int bytes[], char *index, char *scratch) {
    const int64_t n = keys->length;
    bf_status status = BF_OK;
    for (int p = 0; p < payloads && status == BF_OK; p++)
        status = bf_order_take_long(context, bytes[p], payload[p], index, n, payload[p], scratch,
                                    n * bytes[p]);
    return status;
}

bf_status bf_cpu_sort_rows(bf_context *context, const bf_order_lines *keys, int payloads,
                           void *const payload[], const int bytes[]) {
    const bf_sorter s = bf_sorter_of(context, keys->dtype, keys->order);
    const int64_t n = keys->length;
    char *values = (char *)(uintptr_t)keys->values;
    char *scratch = bf_order_alloc(bf_order_index_bytes(n) + 8 * (size_t)n);
    if (scratch == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    char *index = scratch + bf_order_index_bytes(n);
    bf_status status = BF_OK;
    if (n > BF_ORDER_LONG)
        status = bf_order_long_index(context, &s, values, n, values, index, scratch);
    else
        bf_order_index(&s, values, n, values, index, scratch);
    if (status == BF_OK)
        status = move_rows(context, keys, payloads, payload, bytes, index, scratch);
    bf_free(scratch);
    return status;
}
