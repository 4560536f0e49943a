/* Rows by index, sorted by slot: those of a slot stay in their order. */
#ifndef BF_CPU_AXIS_SORTED_H
#define BF_CPU_AXIS_SORTED_H

#include "cpu/axis/axis.h"

typedef struct bf_sorted_rows {
    const bf_rows *rows;
    int64_t *slots; /* the slot of each row, sorted */
    int64_t *order; /* each row's number */
    int64_t *begin; /* where each slot begins, in order; then where the last ends */
} bf_sorted_rows;

/* Sorts rows whose index has been checked. Close them in either case. Errors: BF_E_MEMORY. */
bf_status bf_sorted_rows_open(bf_context *context, const bf_rows *rows, bf_sorted_rows *sorted);
void bf_sorted_rows_close(bf_sorted_rows *sorted);

/* The columns from `first` on of a slot. */
bf_lines bf_sorted_rows_lines(const bf_sorted_rows *sorted, const bf_operands *operands,
                              int64_t slot, int64_t first);
/* Makes positions among a slot's rows, in the words of an extreme, the numbers of these rows. */
void bf_sorted_rows_number(int64_t *words, const int64_t *order);

#endif
