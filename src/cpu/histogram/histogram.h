/* Histograms on the CPU, their parts. Elements become bin numbers block by block, or are counted by
 * their bits if there are at most 65536 different ones; either way small numbers are counted in
 * tables that stay in the cache. */
#ifndef BF_CPU_HISTOGRAM_HISTOGRAM_H
#define BF_CPU_HISTOGRAM_HISTOGRAM_H

#include "cpu/map/map.h"

enum {
    BF_BYTE_VALUES = 1 << 8,
    BF_WORD_VALUES = 1 << 16,
    BF_COUNTER_LANES = 8,
    BF_BIN_BLOCK = BF_MAP_BLOCK /* elements whose bin numbers are found at a time */
};

/* --- count.c: how often each byte, or each 16-bit word, occurs --- */

/* Counts of one thread; all zero at first. Those of `words` are what is below a multiple of 256:
 * the rest is in the totals. */
typedef struct bf_counter {
    int64_t *totals; /* BF_BYTE_VALUES or BF_WORD_VALUES of them */
    bool pairs;      /* are there so many bytes that counting pairs of them is worth it? */
    int64_t room;    /* bytes that may be counted before `lanes` is emptied */
    uint32_t lanes[BF_COUNTER_LANES][BF_BYTE_VALUES];
    uint8_t words[BF_WORD_VALUES]; /* for bytes: their pairs */
} bf_counter;

void bf_count_bytes(bf_counter *counter, const void *data, size_t n);
/* n words of 16 bits each, of any alignment. */
void bf_count_words(bf_counter *counter, const void *data, size_t n);
/* Brings what was counted to the totals, where each value's count then is; no more is counted. */
void bf_count_bytes_end(bf_counter *counter);
void bf_count_words_end(bf_counter *counter);

/* --- bins.c: the bins of elements --- */

/* bin[i] = the bin of element first + i, for n of them, at most BF_BIN_BLOCK. */
void bf_bins_of(const bf_isa *isa, const bf_bin_job *job, int64_t first, int64_t n, uint32_t *bin);
/* The same of up to 253 bins, as bytes. */
void bf_byte_bins_of(const bf_isa *isa, const bf_bin_job *job, int64_t first, int64_t n,
                     uint8_t *bin);
/* The bin of the element with these bits. */
int64_t bf_bin_of_bits(const bf_bins *bins, bf_dtype dtype, uint64_t bits);

/* --- weights.c --- */

/* The backend's function for jobs with weights, on at most so many threads. */
bf_status bf_weigh_bins(bf_context *context, int threads, const bf_bin_job *job, int64_t *counts,
                        int64_t *sums);

#endif
