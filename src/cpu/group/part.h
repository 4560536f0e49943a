/* Rows parted by their keys: by hash, or into ranges of ranks. */
#ifndef BF_CPU_GROUP_PART_H
#define BF_CPU_GROUP_PART_H

#include "cpu/group/group.h"

/* The rows of a call. */
typedef struct bf_group_rows {
    const bf_cpu_groups *groups;
    const char *keys;
    const char *values[BF_GROUP_ARRAYS]; /* as g->array_of numbers them */
    int64_t n;
} bf_group_rows;

int64_t bf_group_row_bytes(const bf_group_rows *rows);

/* A block of rows: their ranks and values, partition after partition. */
typedef struct bf_parting {
    const bf_group_rows *rows;
    const bf_group_ranges *ranges; /* NULL: by hash */
    int64_t first, n;              /* the block's */
    int pieces;                    /* workers part them, one by one */
    uint8_t *partitions;           /* one for each row */
    char *ranks;
    char *values[BF_GROUP_ARRAYS];
    int64_t (*at)[BF_PARTITIONS]; /* where each piece's rows go */
    int64_t begin[BF_PARTITIONS + 1];
} bf_parting;

/* Makes memory for blocks of up to n rows, whose rows and pieces are set. false: there is none. It
 * is closed in any case. */
bool bf_parting_open(bf_parting *parting, int64_t n);
void bf_parting_close(bf_parting *parting);
/* Parts the block. Rows of one partition stay in their order. Tells the watch `bytes`. Errors:
 * BF_E_CANCELLED. */
bf_status bf_parting_run(bf_context *context, int workers, bf_parting *parting, int64_t bytes);

/* --- sorted.c --- */

/* Does a sample of the rows look like one of so many groups or more, if all have equally many rows?
 * Ranks have 4 or 8 bytes. */
bool bf_group_sample_has(bf_context *context, const bf_group_rows *rows, int64_t groups);

/* Makes an ordered set of the rows, whose ranks have 4 or 8 bytes, by sorting them. Tells the watch
 * `bytes`. Errors: BF_E_MEMORY (or too many rows are near each other), BF_E_CANCELLED. */
bf_status bf_group_set_sort(bf_context *context, const bf_group_rows *rows, int64_t bytes,
                            bf_group_set *set);

#endif
