/* These say which elements are reduced together: those along the axes of --axis, of each segment of
 * --offsets, or of each slot of --index. Functions that return an exit code have reported the
 * failure. */
#ifndef BITFOLD_CLI_WORK_PLACES_H
#define BITFOLD_CLI_WORK_PLACES_H

#include "input/matrix.h"
#include "options/options.h"

enum places_kind { BY_AXES, BY_SEGMENTS, BY_INDEX };

typedef struct places {
    enum places_kind kind;
    const struct wanted_axes *wanted;
    int axes[BF_MAX_DIMS], axis_count; /* the present array's, none negative */
    unsigned reduced;                  /* bit d: axis d is */
    rows rows;                         /* the file of offsets or indices */
    spool_limit limit;
    void *widened;     /* its elements, if they had to be widened */
    bf_array elements; /* all its elements */
    int64_t *clipped;  /* for segments: the offsets within a slab */
    int64_t slots;     /* results along the first axis, but for axes */
} places;

/* Refuses options that do not go with each other, or with results of many. */
int places_check_line(const options *o);

/* Takes --empty, if it is given, as a result of this dtype, and of an integer of this scale. */
int places_read_empty(const options *o, bf_dtype dtype, int scale, bf_value *empty);

/* Reads the offsets or the index. Close it in either case. */
int places_open(places *p, const options *o, bf_context *context);
void places_close(places *p);

/* Takes the axes of an array. */
int places_fit(places *p, const matrix *m);

/* The shape of the results of this many indices of the first axis. */
int places_shape(const places *p, const matrix *m, int64_t n, int64_t shape[BF_MAX_DIMS]);

/* Whether each index of the first axis has results of its own. */
bool places_keep_first(const places *p);

/* Reduces an array; of pairs, with b. */
bf_status places_reduce(const places *p, bf_context *context, bf_reduction op, const bf_array *a,
                        const bf_array *b, const bf_reduce_options *rules, const bf_array *values);

/* Where fibres are runs of elements in C order: makes segments of all elements of them, in flat,
 * and an array of one dimension of m. Few long fibres can so be taken in parts. */
bool places_are_runs(const places *p, const matrix *m);
int places_flatten(places *flat, matrix *m, const places *p);

/* Before slabs are absorbed, and again when it is known that the first axis has n indices (before:
 * -1): refuses offsets and indices that are wrong. */
int places_check(places *p, int64_t n);

/* Whether there are offsets or indices for n indices of the first axis. */
bool places_reach(const places *p, int64_t n);

/* Sets the indices of states of all results, which are ordered: the first slab to come begins at
 * index `first` along the first axis. */
bf_status places_seek(const places *p, bf_states *states, const matrix *m, int64_t first);

/* Returns where those rows end, from `row` on and before `end`, which go to the same slot, and
 * *slot, which is -1 if they go to none. The rows have been checked. Along axes, each row that has
 * results of its own is alone, and the slot is 0. */
int64_t places_run(const places *p, int64_t row, int64_t end, int64_t *slot);

/* Absorbs a slab, whose first index along the first axis is `first`, into states of all results;
 * of pairs, with b. */
bf_status places_absorb(const places *p, bf_states *states, const bf_array *slab, const bf_array *b,
                        int64_t first);

#endif
