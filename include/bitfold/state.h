/* States: a reduction in progress. Everything merges.
 *
 *   create -> absorb(chunk), absorb(chunk), ... -> merge(other) -> result
 *
 * gives the bits of one call over all the data, whatever the chunks and the order in which states
 * merge. A state is small (at most 1.8 KiB; of a product of floats 36 KiB) and can be saved, sent
 * and loaded: threads, files, machines and yesterday's run are all states to merge.
 *
 * argmin, argmax, describe and prod of floats are ordered: a state knows the index of its next
 * element (0 at first, moved by bf_state_seek). Two such states merge only if their ranges of
 * indices do not overlap; of prod, only if one begins where the other ends. */
#ifndef BITFOLD_STATE_H
#define BITFOLD_STATE_H

#include "array.h"
#include "context.h"
#include "reduce.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_state bf_state;

/* An empty state of op over elements of dtype. It uses context whenever it absorbs, so both belong
 * to one thread at a time, and the context must outlive it.
 * Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_MEMORY. */
BF_API bf_status bf_state_create(bf_context *context, bf_reduction op, bf_dtype dtype,
                                 bf_state **state);
BF_API void bf_state_destroy(bf_state *state);

/* Makes the state empty again, with its next index 0. Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_state_clear(bf_state *state);

/* Takes in an array of the state's dtype; its elements follow those absorbed before. A state of
 * Reductions of pairs (pair.h) take two: bf_state_absorb_pair, with arrays of one shape. On failure
 * the state is as it was. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_OVERFLOW (more than
 * 2^62 elements in all), BF_E_MEMORY. */
BF_API bf_status bf_state_absorb(bf_state *state, const bf_array *chunk);
BF_API bf_status bf_state_absorb_pair(bf_state *state, const bf_array *a, const bf_array *b);

/* Takes in n arrays, the shards of one, in turn: the first element of a shard follows the last of
 * the shard before, also in its index. A shard may be in the memory of any GPU or of the host. In a
 * context of all GPUs ("cuda:all"), each GPU works on the shards in its memory, all at the same
 * time, and shards of host memory are split among them. On failure the state is as it was. Errors:
 * as bf_state_absorb. */
BF_API bf_status bf_state_absorb_shards(bf_state *state, const bf_array shards[], int n);
/* Absorbs pairs (bf_reduce_pair): a and b have one shape, and are best in the same memory. */
BF_API bf_status bf_state_absorb_pair_shards(bf_state *state, const bf_array a[],
                                             const bf_array b[], int n);

/* Sets the index of the next element that an ordered state absorbs: up to 2^62, and not below what
 * it is now; of prod, only while the state is empty (prod of integers, which has no order, takes
 * any index). Errors: BF_E_ARGUMENT (also for the other reductions, which have no indices). */
BF_API bf_status bf_state_seek(bf_state *state, int64_t index);

/* Says that integers stand for themselves times 10^-scale, as in bf_reduce_options: what the state
 * holds keeps its value, and elements to come have the new scale, which is not below the old one
 * (0 at first). Errors: BF_E_ARGUMENT (also for prod), BF_E_DTYPE (floats), and BF_E_OVERFLOW, the
 * state as it was, if the state's dtype does not hold its elements in the new unit. */
BF_API bf_status bf_state_rescale(bf_state *state, int scale);

/* Adds what `from` holds to `into`; `from` is unchanged, and may belong to another context, which
 * is not used: but no other call may be changing it. Both have one op and dtype (but a state of
 * BF_I128 takes those of all integers but bool, exactly), else BF_E_STATE; so have ordered states
 * whose places do not fit. The greater scale is that of both: BF_E_OVERFLOW as bf_state_rescale
 * says. BF_E_OVERFLOW past 2^62 elements, BF_E_MEMORY. */
BF_API bf_status bf_state_merge(bf_state *into, const bf_state *from);

/* Merges a state of data that follow: index i of `from` becomes the next index of `into` plus i. So
 * states that all begin at 0, such as those of whole files, become the state of all in turn.
 * Reductions without indices merge as ever. A product of floats depends on the index of each
 * element, which cannot change later: BF_E_STATE, unless one of the states is empty. BF_E_OVERFLOW
 * also past index 2^62. */
BF_API bf_status bf_state_append(bf_state *into, const bf_state *from);

/* Takes out of `into` what it has absorbed or merged and `from` holds: afterwards `into` is the
 * state of what remains, and is saved to the same bytes. For reductions whose words add (words.h);
 * BF_E_ARGUMENT for the others, of which nothing can be taken out. BF_E_STATE, and `into` as it
 * was: the op or dtype differ; `from` holds more than `into` (a count would be negative, or the sum
 * is none of so few elements); or a part was saved by version 1 (bf_state_save) and what remains
 * sums to zero, which may be 0 or -0. */
BF_API bf_status bf_state_retract(bf_state *into, const bf_state *from);

/* The value so far; the state can go on. options and errors: as bf_reduce. */
BF_API bf_status bf_state_result(const bf_state *state, const bf_reduce_options *options,
                                 bf_value *value);

/* Writes another result of what the state holds: of a reduction that keeps the same sums
 * (BF_REDUCTION_LIST), as the mean and the sum do, or the slope and the correlation. Errors: as
 * bf_state_result; BF_E_ARGUMENT for one that keeps others. */
BF_API bf_status bf_state_result_of(const bf_state *state, bf_reduction op,
                                    const bf_reduce_options *options, bf_value *value);

typedef struct bf_state_info {
    size_t size; /* sizeof(bf_state_info): set before the call, see bitfold.h */
    bf_reduction op;
    bf_dtype dtype;
    int64_t count; /* elements absorbed, NaNs among them; or pairs */
    int64_t nan;   /* NaNs among them; or pairs with a NaN */
    int64_t inf;   /* infinities; pairs with an infinite product for BF_DOT; -1 where this op does
                      not count them (min, max, argmin, argmax, prod of integers) */
    int64_t next;  /* ordered states: the index of the next element; otherwise count */
    int scale;     /* bf_state_rescale */
} bf_state_info;

/* Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_state_describe(const bf_state *state, bf_state_info *info);

/* Saved form: portable (little-endian), versioned, checksummed; equal states save to equal bytes.
 * All objects have one, of the same kind:
 *
 *      0  "bitfold" and a newline      16  bytes of the form (u64)
 *      8  version (u64), 1             24  sections; CRC-64/XZ of all before (u64)
 *
 * A section has a name (12 bytes, the last ones zeros), a dtype (u32) and a number of elements
 * (u64), then the elements, and zeros up to a multiple of 8 bytes. The name of the first section is
 * that of the kind of object: "state", "states", "histogram", "groups", "quantiles", "table" or
 * "trailer".
 *
 * bf_state_save writes bf_state_save_size(state) bytes to buffer. bf_state_load reads them back and
 * trusts nothing: BF_E_STATE unless every byte is as bf_state_save could have written it. */
BF_API size_t bf_state_save_size(const bf_state *state);
BF_API bf_status bf_state_save(const bf_state *state, void *buffer);
BF_API bf_status bf_state_load(bf_context *context, const void *buffer, size_t size,
                               bf_state **state);

/* A trailer behind a saved form of any kind holds what its owner wants, as the options of the
 * result that the command was asked for. Functions that load pass over a trailer that is whole.
 *
 * bf_trailer_save writes one of n bytes of content, which may lie in the buffer, to
 * bf_trailer_save_size(n) bytes, which belong directly behind the saved form or stand alone. */
BF_API size_t bf_trailer_save_size(size_t n);
BF_API bf_status bf_trailer_save(const void *content, size_t n, void *buffer);

/* Returns the content, of *n bytes, of the trailer in a buffer; NULL: it has none. */
BF_API const void *bf_trailer_find(const void *buffer, size_t size, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
