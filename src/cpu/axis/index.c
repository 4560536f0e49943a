/* Reductions by index: rows are absorbed into accumulators of all slots, or sorted. */
#include "cpu/axis/places.h"
#include "cpu/axis/slots.h"

enum {
    SLOTS_MORE = 4,      /* accumulators are worth so many slots for each element */
    SLOTS_FEW = 1 << 16, /* so few slots are always worth them */
};

/* Do accumulators of all slots serve this op, and are they worth their memory? */
static bool suits_slots(const bf_operands *o, const bf_rows *rows) {
    int64_t slots;
    if (!bf_is_group_aggregate(o->op) || __builtin_mul_overflow(rows->slots, rows->width, &slots))
        return false;
    return slots <= BF_SLOTS_MAX &&
           slots / SLOTS_MORE <= rows->count * rows->width + SLOTS_FEW / SLOTS_MORE;
}

bf_status bf_cpu_reduce_index(bf_context *context, const bf_operands *o, const bf_rows *rows,
                              const bf_results *results) {
    bool skip;
    bf_accumulator_column column;
    bf_accumulators slots;
    const bool uncounted = o->kind <= BF_KIND_SQUARES && !bf_is_mean(o->op);
    const bf_slots_job job = {o->op, o->dtype, o->a, o->b, rows, uncounted};
    if (!suits_slots(o, rows)) return bf_cpu_reduce_sorted(context, o, rows, results);
    bf_status status = bf_slots_make(context, &job, &column, &slots);
    if (status == BF_E_ARGUMENT) return bf_check_places(context, rows, results, &skip);
    if (status != BF_OK) return status;
    if (results->wrong != NULL) *results->wrong = -1;
    status = bf_slots_finish(context, &slots, o->op, results);
    bf_accumulators_clear(&slots);
    return status;
}
