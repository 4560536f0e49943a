/* An instruction set: the loops that differ between machines, one table of them for each primitive,
 * and nothing else.
 *
 * Every loop is exact and reads memory of any alignment. A NULL loop means that the rules are
 * applied element by element instead. One file for each instruction set, which exports its table
 * and nothing else. */
#ifndef BF_CPU_RUNTIME_ISA_H
#define BF_CPU_RUNTIME_ISA_H

#include <bitfold/types.h>

#include <stdbool.h>

enum { BF_DTYPES = 16 }; /* tables are indexed by bf_dtype */

struct bf_accumulate_loops;
struct bf_axis_loops;
struct bf_cast_loops;
struct bf_comm_loops;
struct bf_expression_loops;
struct bf_group_loops;
struct bf_histogram_loops;
struct bf_julia_loops;
struct bf_map_loops;
struct bf_order_loops;
struct bf_reduce_loops;
struct bf_rolling_loops;
struct bf_scan_loops;
struct bf_select_loops;
struct bf_sort_loops;
struct bf_table_loops;

/* The loops for keys (ranks) and values that are that wide, in bytes. NULL: there are no such
 * widths.
 */
typedef const struct bf_sort_loops *(*bf_sort_loops_of)(int key_bytes, int value_bytes);
typedef const struct bf_table_loops *(*bf_table_loops_of)(int key_bytes, int value_bytes);
typedef const struct bf_group_loops *(*bf_group_loops_of)(int rank_bytes);

const struct bf_sort_loops *bf_sort_loops_generic(int key_bytes, int value_bytes);
const struct bf_sort_loops *bf_sort_loops_avx2(int key_bytes, int value_bytes);
const struct bf_table_loops *bf_table_loops_generic(int key_bytes, int value_bytes);
const struct bf_table_loops *bf_table_loops_avx2(int key_bytes, int value_bytes);
const struct bf_group_loops *bf_group_loops_generic(int rank_bytes);
const struct bf_group_loops *bf_group_loops_avx2(int rank_bytes);
const struct bf_group_loops *bf_group_loops_avx512(int rank_bytes);
extern const struct bf_order_loops bf_order_loops_generic, bf_order_loops_avx2,
    bf_order_loops_avx512;
extern const struct bf_rolling_loops bf_rolling_loops_generic, bf_rolling_loops_avx2,
    bf_rolling_loops_avx512;
extern const struct bf_scan_loops bf_scan_loops_avx2, bf_scan_loops_avx512, bf_scan_loops_vector;
extern const struct bf_select_loops bf_select_loops_generic;
extern const struct bf_select_loops bf_select_loops_avx2;
extern const struct bf_select_loops bf_select_loops_avx512;

typedef struct bf_isa {
    const char *name;
    bool (*available)(void);                                  /* can this machine run it? */
    void (*widen_f16)(const char *from, float *to, size_t n); /* from: of any alignment */
    const struct bf_cast_loops *cast;
    const struct bf_reduce_loops *reduce;
    const struct bf_map_loops *map;
    const struct bf_histogram_loops *histogram;
    const struct bf_julia_loops *julia;
    const struct bf_comm_loops *comm;             /* NULL: the rules alone */
    const struct bf_axis_loops *axis;             /* NULL: the rules alone */
    const struct bf_expression_loops *expression; /* NULL: the rules alone */
    const struct bf_order_loops *order;           /* sorting */
    const struct bf_rolling_loops *rolling;
    const struct bf_scan_loops *scan;     /* NULL: the rules alone */
    const struct bf_select_loops *select; /* quantiles, the first k */
    bf_sort_loops_of sort_loops;
    bf_table_loops_of table_loops;
    bf_group_loops_of group_loops;
    const struct bf_accumulate_loops *accumulate;
} bf_isa;

extern const bf_isa bf_isa_generic;
extern const bf_isa bf_isa_vector;
extern const bf_isa bf_isa_avx2;
extern const bf_isa bf_isa_avx512;

#endif
