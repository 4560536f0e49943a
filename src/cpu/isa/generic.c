/* The instruction set of any machine: the rules apply as they stand. */
#include "cpu/runtime/isa.h"

static bool available(void) { return true; }

const bf_isa bf_isa_generic = {
    .name = "generic",
    .available = available,
    .table_loops = bf_table_loops_generic,
    .group_loops = bf_group_loops_generic,
};
