/* Lines of more elements than memory holds are sorted by a sorter. Outputs are written when all
 * elements have been read. */
#include "api/order/sorter.h"
#include "base/spill/file.h"
#include "rules/key/rank.h"

enum { LONG = 1 << 15 /* elements of lines that may need memory one by one */ };

bool bf_order_spills(const bf_context *context) {
    return context->used == &bf_backend_cpu && bf_may_spill(context);
}

static bf_status spill_line(bf_context *context, const bf_order_lines *line, char *sorted,
                            char *index) {
    bf_sorter s;
    int64_t n;
    const bf_order_plan plan = {
        .context = context, .dtype = line->dtype, .order = line->order, .beside = index != NULL};
    bf_sorter_open(&s, &plan, BF_NAN_PROPAGATE, 0);
    bf_status status = bf_sorter_take(&s, line->values, NULL, line->length);
    if (status == BF_OK) status = bf_sorter_finish(&s);
    if (status == BF_OK) status = bf_sorter_give(&s, sorted, index, line->length, &n);
    bf_sorter_close(&s);
    return status;
}

static bf_status sort_line(bf_context *context, const bf_order_lines *line, char *sorted,
                           char *index) {
    if (line->length == 0) return BF_OK;
    const bf_status status = context->used->order->sort(context, line, sorted, index);
    return status == BF_E_MEMORY ? spill_line(context, line, sorted, index) : status;
}

/* Long lines that might have no memory are sorted one by one: when that fails, nothing of the line
 * is written. */
bf_status bf_order_sort_lines(bf_context *context, const bf_order_lines *lines, char *sorted,
                              char *index) {
    const int bytes = bf_key_bytes(lines->dtype);
    bf_status status = BF_E_MEMORY;
    if (!bf_order_spills(context) || lines->length <= LONG)
        status = context->used->order->sort(context, lines, sorted, index);
    if (status != BF_E_MEMORY || !bf_order_spills(context)) return status;
    status = BF_OK;
    for (int64_t l = 0; l < lines->count && status == BF_OK; l++) {
        const int64_t begin = lines->offsets != NULL ? lines->offsets[l] : l * lines->length;
        bf_order_lines line = *lines;
        line.values = (const char *)lines->values + begin * bytes;
        line.count = 1;
        line.offsets = NULL;
        if (lines->offsets != NULL) line.length = lines->offsets[l + 1] - begin;
        status = sort_line(context, &line, sorted == NULL ? NULL : sorted + begin * bytes,
                           index == NULL ? NULL : index + begin * 8);
    }
    return status;
}
