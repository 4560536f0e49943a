/* The instruction set of any machine: the rules apply as they stand. */
#include "cpu/histogram/histogram.h"
#include "cpu/julia/julia.h"
#include "cpu/map/map.h"
#include "cpu/order/select/select.h"
#include "cpu/reduce/reduce.h"
#include "cpu/runtime/cast.h"

static const bf_cast_loops cast_loops;
static const bf_reduce_loops reduce_loops;
static const bf_map_loops map_loops;
static const bf_histogram_loops histogram_loops;
static const bf_julia_loops julia_loops;

static bool available(void) { return true; }

const bf_isa bf_isa_generic = {
    .name = "generic",
    .available = available,
    .cast = &cast_loops,
    .reduce = &reduce_loops,
    .map = &map_loops,
    .histogram = &histogram_loops,
    .julia = &julia_loops,
    .order = &bf_order_loops_generic,
    .rolling = &bf_rolling_loops_generic,
    .select = &bf_select_loops_generic,
    .sort_loops = bf_sort_loops_generic,
    .table_loops = bf_table_loops_generic,
    .group_loops = bf_group_loops_generic,
    .accumulate = &bf_accumulate_loops_generic,
};
