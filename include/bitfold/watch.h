/* A watch on a context: how far its calls are, and whether they are to stop.
 *
 * A long call asks the watch between the pieces of its work:
 *
 *   reductions, states, feeds, histograms, bf_map   at most 128 MiB on the CPU, 8 GiB on a GPU
 *   bf_julia                                        on the CPU, a tile of the picture
 *   calls on tables and groups, joins               on the CPU, a block of rows or a part of the
 *                                                   table; on a GPU, before the call begins
 *   host memory that is copied to or from a GPU     some MiB
 *
 * It asks as long as it can put its objects back. Entries that are erased cannot be, so
 * bf_table_erase asks only before it erases the first one. bf_table_insert into a table that has
 * room for all rows asks while it sorts these. bf_groups_absorb and bf_groups_merge ask until the
 * new groups are added to those that are there. Calls with one key ask only if the table must grow.
 *
 * Calls that enqueue work (_async) do not ask. They return at once; what they have enqueued runs
 * when no call is there to ask, and cannot be taken back from the stream. */
#ifndef BITFOLD_WATCH_H
#define BITFOLD_WATCH_H

#include "context.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_watch {
    size_t size;      /* sizeof(bf_watch): see bitfold.h */
    int64_t every_ns; /* the least time between two ticks; 0: a tick after every piece */
    /* Runs on the thread that made the call. bytes: what the context's calls have worked through
     * since the watch was set, of the arrays that they read (of tables, groups and joins: keys, and
     * values that are inserted or absorbed), or else of the output (bf_map, bf_julia, lists and
     * aggregates). Calls that copy, merge, save or load tables and groups add none. Returns 0 to go
     * on; any other number cancels the call. The context is in use: calls on it return
     * BF_E_ARGUMENT. */
    int (*tick)(void *arg, int64_t bytes);
    void *arg;
} bf_watch;

/* BF_WATCH(.every_ns = 100000000, .tick = show). */
#define BF_WATCH(...) BF_OPTIONS_OF(bf_watch, __VA_ARGS__)

/* Sets the context's watch, which is copied, in place of the one before; NULL: none. A call that is
 * cancelled returns BF_E_CANCELLED, makes no object, and leaves states, histograms, tables and
 * groups as they were. Its output arrays may have been written to. A watched call of a histogram
 * counts into memory of its own first, as much again as the counts take. Errors: BF_E_ARGUMENT (no
 * tick, every_ns below 0). */
BF_API bf_status bf_context_watch(bf_context *context, const bf_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
