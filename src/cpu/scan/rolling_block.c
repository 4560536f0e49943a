/* The loops for windows of any machine. */
#define LOOPS bf_rolling_loops_generic
#include "cpu/scan/rolling_loops.h"
