/* Histograms on the CPU. Elements become bin numbers block by block, or are counted by
 * their bits if there are at most 65536 different ones; either way small numbers are counted in
 * tables that stay in the cache. */
#ifndef BF_CPU_HISTOGRAM_HISTOGRAM_H
#define BF_CPU_HISTOGRAM_HISTOGRAM_H

#include "cpu/runtime/cast.h"
#include "cpu/runtime/context.h"
#include "seam/histogram.h"

enum {
    BF_BYTE_VALUES = 1 << 8,
    BF_WORD_VALUES = 1 << 16,
    BF_COUNTER_LANES = 8,
    BF_BIN_BLOCK = BF_CAST_BLOCK /* elements whose bin numbers are found at a time */
};

/* --- the loops of an instruction set --- */

/* bin[i] = the bin of x[i] by the guesses (rules/histogram/bin.h) in its type; as bytes, of up to
 * 253 bins. */
typedef void (*bf_bin_loop)(const bf_bins *bins, const void *x, size_t n, uint32_t *bin);
typedef void (*bf_bin_byte_loop)(const bf_bins *bins, const void *x, size_t n, uint8_t *bin);

typedef struct bf_histogram_loops {
    bf_bin_loop bin_f32, bin_f64;
    bf_bin_byte_loop bin_bytes_f32, bin_bytes_f64;
} bf_histogram_loops;

/* --- count.c: how often each byte, or each 16-bit word, occurs --- */

/* Counts of one worker; all zero at first. Those of `words` are what is below a multiple of 256:
 * the rest is in the totals. */
typedef struct bf_counter {
    int64_t *totals; /* BF_BYTE_VALUES or BF_WORD_VALUES of them */
    bool pairs;      /* bytes are counted in pairs, if they are many */
    int64_t room;    /* bytes that may be counted before `lanes` is emptied */
    uint32_t lanes[BF_COUNTER_LANES][BF_BYTE_VALUES];
    uint8_t words[BF_WORD_VALUES]; /* for bytes: their pairs */
} bf_counter;

void bf_count_bytes(bf_counter *counter, const void *data, size_t n);
/* n words of 16 bits each, of any alignment. */
void bf_count_words(bf_counter *counter, const void *data, size_t n);
/* Adds all counts to the totals. The counter is not used any more. */
void bf_count_bytes_end(bf_counter *counter);
void bf_count_words_end(bf_counter *counter);

/* --- bins.c: the bins of elements --- */

/* Sets bin[i] to the bin of element first + i, for i < n <= BF_BIN_BLOCK. */
void bf_bins_of(const bf_isa *isa, const bf_bin_job *job, int64_t first, int64_t n, uint32_t *bin);
/* As bytes, where there are up to 253 bins. */
void bf_byte_bins_of(const bf_isa *isa, const bf_bin_job *job, int64_t first, int64_t n,
                     uint8_t *bin);

/* --- weights.c --- */

/* The backend's function for jobs with weights, with at most so many workers. */
bf_status bf_weigh_bins(bf_context *context, int workers, const bf_bin_job *job, int64_t *counts,
                        int64_t *sums);

/* --- histogram.c: the backend's function --- */

bf_status bf_cpu_histogram(bf_context *context, const bf_bin_job *job, int64_t *counts,
                           int64_t *sums);

#endif
