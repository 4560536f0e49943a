/* Rolling windows on the CPU. */
#ifndef BF_CPU_SCAN_ROLLING_H
#define BF_CPU_SCAN_ROLLING_H

#include "cpu/runtime/context.h"
#include "cpu/runtime/vector.h"
#include "seam/scan.h"

bf_status bf_cpu_roll(bf_context *context, const bf_rolling_job *job);

/* A tile is what a thread takes at a time: results [from, to) of a line, for which the elements of
 * their windows enter a state and leave it. */
typedef struct bf_rolling_tile {
    const bf_rolling_job *job;
    const char *line;  /* the first element of the line; others follow `stride` bytes apart */
    const char *other; /* the first of the other array of pairs, or NULL */
    int64_t stride;
    char *values; /* the first result of the line; others follow `pitch` bytes apart */
    int64_t pitch;
    int64_t from, to;
} bf_rolling_tile;

/* The ways to do it, some in a room of so many bytes. Errors: BF_E_NAN, which options refuse. */
size_t bf_roll_limbs_room(void);
/* The room has no sums. Tiles that follow in it go on from those of the last window, of one line.
 */
void bf_roll_limbs_open(void *room);
bf_status bf_roll_limbs(const bf_rolling_tile *t, void *room);
/* How many elements enter and leave before window k. */
int64_t bf_roll_limbs_work(const bf_rolling_tile *t, int64_t k, const void *room);
size_t bf_roll_joint_room(void);
bf_status bf_roll_joint(const bf_rolling_tile *t, void *room);
size_t bf_roll_extremes_room(const bf_rolling_job *job);
bf_status bf_roll_extremes(const bf_rolling_tile *t, void *room);
bf_status bf_roll_counts(const bf_rolling_tile *t, void *room); /* needs none */
/* Returns the first result that doubles do not hold, or t->to. The room is that for limbs, opened.
 */
int64_t bf_roll_doubles(const bf_isa *isa, const bf_rolling_tile *t, void *room);
int64_t bf_roll_quantiles_tile(const bf_rolling_job *job); /* the most results of a tile */
size_t bf_roll_quantiles_room(const bf_rolling_job *job);
bf_status bf_roll_quantiles(bf_context *context, const bf_rolling_tile *t, void *room);

/* Defines one of them by the file's roll(dtype, t, memory), which is inlined for each dtype. */
#define BF_ROLLING_CASE(id, ...)                                                                   \
    case BF_##id:                                                                                  \
        return roll(BF_##id, t, memory);
#define BF_ROLLING_OF_DTYPE(name)                                                                  \
    bf_status name(const bf_rolling_tile *t, void *memory) {                                       \
        switch (t->job->window.dtype) {                                                            \
            BF_DTYPE_LIST(BF_ROLLING_CASE)                                                         \
        default: return roll(BF_I128, t, memory);                                                  \
        }                                                                                          \
    }

/* The result of so many numbers, of which doubles sum up to the sum, and to that of the squares. */
uint64_t bf_rolling_exact(const bf_window *w, int64_t count, const double sum[2],
                          const double squares[3], void *room);

INLINE const char *bf_rolling_element(const bf_rolling_tile *t, int64_t i) {
    return t->line + i * t->stride;
}

INLINE bool bf_rolling_nan(bf_dtype dtype, const char *p) {
    return bf_dtype_is_float(dtype) &&
           bf_is_nan(bf_format_of(dtype), bf_load_bits(p, bf_dtype_bytes(dtype)));
}

INLINE bool bf_rolling_refused(const bf_window *w, const int64_t *counts) {
    return w->options.nan == BF_NAN_ERROR && counts[BF_SUM_NAN] > 0;
}

/* `to` is the job's. */
INLINE void bf_rolling_store(const bf_rolling_tile *t, bf_dtype to, int64_t k, uint64_t bits) {
    bf_store_bits(t->values + k * t->pitch, bf_dtype_bytes(to), bits);
}

/* Elements of the largest window of a line. */
INLINE int64_t bf_rolling_largest(const bf_rolling_job *job) {
    return job->size < job->length ? job->size : job->length;
}

#endif
