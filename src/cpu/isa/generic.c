/* The instruction set of any machine: no loops of its own, so that the rules apply as they stand.
 */
#include "isa.h"

static bool available(void) { return true; }

const bf_isa bf_isa_generic = {.name = "generic", .available = available};
