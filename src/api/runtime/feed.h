/* Feeds: checked, and handed to an absorbing function piece by piece. */
#ifndef BF_API_RUNTIME_FEED_H
#define BF_API_RUNTIME_FEED_H

#include "seam/backend.h"
#include <bitfold/feed.h>

/* Reads a caller's feed, which must have so many arrays of these dtypes. Errors: BF_E_ARGUMENT,
 * BF_E_DTYPE. */
bf_status bf_feed_check(bf_context *context, const bf_feed *given, int arrays,
                        const bf_dtype dtype[2], bf_feed *feed);

/* Absorbs arrays[0 .. arrays) of one dimension into an object. */
typedef bf_status bf_absorb_arrays(void *into, const bf_array arrays[2]);

/* Calls absorb(into) with contiguous pieces of a checked feed, in order. A feed in memory is one
 * piece. Otherwise a piece is read while the one before is absorbed. Stops at the first failure.
 * Errors: those of absorb; BF_E_CANCELLED, BF_E_SHAPE, BF_E_MEMORY. */
bf_status bf_feed_run(bf_context *context, const bf_feed *feed, bf_absorb_arrays *absorb,
                      void *into);

#endif
