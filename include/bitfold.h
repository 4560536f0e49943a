/* bitfold: the same bits everywhere, at memory speed.
 *
 * This is the only header a program needs. Every function that can fail returns a bf_status and
 * gives its result through an out-pointer, which is written only on success. The library never
 * prints, never aborts and keeps no global mutable state. */
#ifndef BITFOLD_H
#define BITFOLD_H

#include "bitfold/array.h"
#include "bitfold/context.h"
#include "bitfold/describe.h"
#include "bitfold/device.h"
#include "bitfold/dot.h"
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

#endif
