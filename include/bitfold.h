/* bitfold: the same bits everywhere, at memory speed.
 *
 * This is the only header a program needs. The library never prints, never aborts and keeps no
 * global mutable state. These rules hold for every function:
 *
 * - Failure: a function that can fail returns a bf_status. What it was to write, to an out-pointer
 *   or an array, it writes on success only; objects are as they were. There are three exceptions: the
 *   output of bf_map and its like where an element fails (the output may be an input), arrays that
 *   a GPU was filling when it failed or ran out of memory, and those that a cancelled call (watch.h)
 *   was filling.
 * - NULL: where a pointer is needed, NULL is BF_E_ARGUMENT. Functions that destroy or free ignore
 *   it. Functions without a status give "", 0, NULL or NaN for it, or the number that says "none".
 *   Where NULL has a meaning, the function's comment says which.
 * - Size: a struct that can grow begins with its size, which the caller sets to that of its own
 *   headers; the initializers such as BF_OPTIONS(...) do so. Members beyond it have their defaults,
 *   or are not written. A struct that is larger than the library's is BF_E_ARGUMENT where the part
 *   that the library does not know is not zero; and there the library writes zeros.
 * - Threads: a context and the objects made from it belong to one thread at a time. A call on a
 *   context that another call is using returns BF_E_ARGUMENT, and leaves the context and its
 *   message alone. Functions that destroy, free or only look are not checked so: nothing else may
 *   be using what they are given.
 * - Stack: a call takes less than 48 KiB of its caller's stack, so that threads of 64 KiB will do.
 */
#ifndef BITFOLD_H
#define BITFOLD_H

#include "bitfold/array.h"
#include "bitfold/context.h"
#include "bitfold/describe.h"
#include "bitfold/device.h"
#include "bitfold/dot.h"
#include "bitfold/feed.h"
#include "bitfold/group.h"
#include "bitfold/histogram.h"
#include "bitfold/julia.h"
#include "bitfold/map.h"
#include "bitfold/memory.h"
#include "bitfold/reduce.h"
#include "bitfold/state.h"
#include "bitfold/table.h"
#include "bitfold/types.h"
#include "bitfold/value.h"
#include "bitfold/watch.h"

#endif
