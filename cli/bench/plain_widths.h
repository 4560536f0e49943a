/* The plain loops for one vector width: a template.
 *
 * Parameters: LANES, TARGET and STREAM(p,v), as plain_loops.h says
 *             WIDTH(f)    the name of f for this width */
#define T float
#define NAME(f) WIDTH(f##_f32)
#include "bench/plain_loops.h"
#define T double
#define NAME(f) WIDTH(f##_f64)
#include "bench/plain_loops.h"
#define T uint64_t
#define NAME(f) WIDTH(f##_u64)
#include "bench/plain_loops.h"

static const plain_set WIDTH(set) = {WIDTH(sum_f32), WIDTH(sum_f64), WIDTH(dot_f32), WIDTH(dot_f64),
                                     WIDTH(add_f32), WIDTH(add_f64), WIDTH(sum_u64)};

#undef LANES
#undef TARGET
#undef STREAM
#undef WIDTH
