/* bitfold: the same bits everywhere, at memory speed.
 *
 * This is the only header that a program includes. The library never prints, never aborts and keeps
 * no global mutable state. These rules hold for every function:
 *
 * - Failure: a function that can fail returns a bf_status. It writes to out-pointers and arrays on
 *   success only, and on failure leaves objects as they were. There are three exceptions: the
 *   output of bf_map and similar calls where an element fails (the output may be an input), arrays
 *   that a GPU was filling when it failed or ran out of memory, and arrays that a cancelled call
 *   (watch.h) was filling.
 * - NULL: a required pointer that is NULL gives BF_E_ARGUMENT. Functions that destroy or free
 *   ignore NULL. Functions without a status return "", 0, NULL, NaN, or their number for "none".
 *   Where NULL has a meaning, the function's comment gives it.
 * - Size: a struct that can grow begins with its size. The caller sets it to the size that its own
 *   headers give; the initializers such as BF_OPTIONS(...) do so. Members beyond that size have
 *   their defaults, or are not written. If the caller's struct is larger than the library's, the
 *   part that the library does not know must be zero, else BF_E_ARGUMENT; where the library writes,
 *   it writes zeros there.
 * - Threads: a context and the objects made from it belong to one thread at a time. A call on a
 *   context that another call is using returns BF_E_ARGUMENT and leaves the context and its message
 *   alone. Functions that destroy, free or only look are not checked: no other call may be using
 *   their arguments.
 * - Stack: a call takes less than 48 KiB of its caller's stack, so threads with stacks of 64 KiB
 *   may call it. */
#ifndef BITFOLD_H
#define BITFOLD_H

#include "bitfold/array.h"
#include "bitfold/arrow.h"
#include "bitfold/axis.h"
#include "bitfold/column.h"
#include "bitfold/comm.h"
#include "bitfold/context.h"
#include "bitfold/describe.h"
#include "bitfold/device.h"
#include "bitfold/dictionary.h"
#include "bitfold/dlpack.h"
#include "bitfold/expression.h"
#include "bitfold/feed.h"
#include "bitfold/group.h"
#include "bitfold/histogram.h"
#include "bitfold/julia.h"
#include "bitfold/map.h"
#include "bitfold/memory.h"
#include "bitfold/options.h"
#include "bitfold/order.h"
#include "bitfold/pair.h"
#include "bitfold/reduce.h"
#include "bitfold/scan.h"
#include "bitfold/state.h"
#include "bitfold/table.h"
#include "bitfold/time.h"
#include "bitfold/types.h"
#include "bitfold/value.h"
#include "bitfold/watch.h"
#include "bitfold/words.h"

#endif
