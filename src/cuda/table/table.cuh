/* A table in a GPU's memory.
 *
 * Open addressing in buckets that two lanes read at once, in regions of 32 KiB that a block builds
 * in its shared memory. A full bucket's entries go on to its sibling, in the same 64 bytes (or
 * 128), then to the next pair of buckets, around the region; no bucket before an entry's own, back
 * to its key's, has room. Rows to be entered or taken out are partitioned by region first, in
 * order, so that whose value stays is decided by place alone. A region that has no row to come is
 * not touched. */
#ifndef BF_CUDA_TABLE_TABLE_CUH
#define BF_CUDA_TABLE_TABLE_CUH

#include "cuda/runtime/mailbox.cuh"
#include "cuda/table/word.cuh"

extern "C" {
#include "seam/table.h"
}

extern const bf_table_backend bf_cuda_table_backend;

/* Most rows of a call, and entries of a table, which numbers of 32 bits count. */
enum {
    BF_CUDA_ROWS_MOST = 0xfffff000u,
    BF_CUDA_BITMAP = 1 << 22 /* bits, by which keys are counted */
};

/* Rows to come: arrays, or entries with ranks for keys. */
typedef struct bf_cuda_rows {
    const void *keys, *values; /* values NULL: none */
    const void *entries;       /* NULL: arrays */
    uint32_t n;
} bf_cuda_rows;

/* Rows by region, in order. */
typedef struct bf_cuda_lists {
    void *memory, *entries;
    uint32_t *start, *count; /* of each region's */
} bf_cuda_lists;

/* What kernels tell the host, in the notes of the mailbox. */
typedef struct bf_cuda_report {
    uint32_t tight; /* a region's limit might be passed */
    uint32_t full;  /* it is passed */
    uint32_t far;   /* a key is far from its bucket */
    uint32_t spill; /* a list was longer than its memory */
    uint32_t hot;   /* a list was so long that its rows are to be combined first */
    unsigned long long keys, total;
} bf_cuda_report;

static_assert(sizeof(bf_cuda_report) <= BF_CUDA_NOTES * sizeof(uint64_t), "notes have room");

typedef struct bf_cuda_table_loops bf_cuda_table_loops;
struct bf_cuda_multimap;

/* The regions of a table. Where it is empty their memory is as it happens to be. */
typedef struct bf_cuda_slots {
    void *entries;
    uint32_t *used; /* of each region */
    uint32_t regions;
    bf_hash_seed seed;
} bf_cuda_slots;

typedef struct bf_cuda_table {
    bf_table_kind kind;
    bf_cuda_format format;
    const bf_cuda_table_loops *loops;
    bf_cuda_slots slots;
    int64_t keys;
    int64_t reseed_at;             /* keys, below which another seed is not tried again */
    struct bf_cuda_multimap *many; /* of a multimap, else NULL */
} bf_cuda_table;

/* What becomes of the values of one key. */
typedef enum bf_cuda_combine {
    BF_CUDA_FIRST,
    BF_CUDA_LAST,
    BF_CUDA_LEAST,
    BF_CUDA_ADD
} bf_cuda_combine;

/* What is done about keys that very many rows have: nothing; there are no lists then, but
 * report->hot and tight; equal keys that are near each other are combined first. */
typedef enum bf_cuda_hot { BF_CUDA_AS_THEY_ARE, BF_CUDA_UNLESS_HOT, BF_CUDA_COMBINED } bf_cuda_hot;

/* What is found, for each of n keys: any may be NULL. */
typedef struct bf_cuda_answers {
    void *values;
    uint8_t *found;
    int64_t *counts;   /* 0 or 1 */
    uint32_t *numbers; /* the value itself, as a number; ~0 where there is none */
} bf_cuda_answers;

/* Launchers for one width of words: instances of launchers.cuh. Entries are those of the width.
 */
struct bf_cuda_table_loops {
    int word;
    uint32_t slots, limit; /* of a region: there are, and it uses */
    /* There are fewer regions than have twice so many bits. */
    int (*digit_bits)(const bf_cuda *cuda);
    /* Makes the lists of rows; their memory is to be given back. */
    bf_status (*partition)(bf_context *context, const bf_cuda_table *table,
                           const bf_cuda_slots *slots, const bf_cuda_rows *rows, bf_cuda_hot hot,
                           bf_cuda_combine combine, bf_cuda_lists *lists);
    /* report->tight: are there regions whose entries and rows are more than the limit together? */
    void (*check)(const bf_cuda *cuda, const bf_cuda_slots *slots, const bf_cuda_lists *lists,
                  bool empty, bf_cuda_report *report);
    /* Enters the rows and adds new keys to report->keys, unless report->tight (`sure`: whatever it
     * says). `count`: only looks whether a region would be full, how many keys would be new. */
    cudaError_t (*insert)(const bf_cuda *cuda, const bf_cuda_slots *slots,
                          const bf_cuda_lists *lists, bf_cuda_combine combine, bool empty,
                          bool count, bool sure, bf_cuda_report *report);
    /* Takes keys out, and adds their number to report->keys. */
    cudaError_t (*erase)(const bf_cuda *cuda, const bf_cuda_slots *slots,
                         const bf_cuda_lists *lists, bf_cuda_report *report);
    /* Copies all entries, with ranks for keys. offsets: memory for a number for each region and one
     * more. */
    cudaError_t (*collect)(const bf_cuda *cuda, const bf_cuda_slots *slots, uint32_t *offsets,
                           void *entries);
    /* Looks n keys up; adds those that are there to report->total. */
    cudaError_t (*find)(const bf_cuda *cuda, const bf_cuda_table *table, const void *keys,
                        int64_t n, const bf_cuda_answers *answers, bf_cuda_report *report);
    /* Entries as arrays (values may be NULL), and arrays as entries with ranks. */
    cudaError_t (*show)(const bf_cuda *cuda, const bf_cuda_format *format, const void *entries,
                        uint32_t n, void *keys, void *values);
    cudaError_t (*enter)(const bf_cuda *cuda, const bf_cuda_format *format, const void *keys,
                         const void *values, uint32_t n, void *entries);
    /* Marks the hashes of one row in 2^rate in a bitmap; of a table's entries, and of rows. */
    cudaError_t (*mark_slots)(const bf_cuda *cuda, const bf_cuda_slots *slots, int rate,
                              uint32_t *bits);
    cudaError_t (*mark_rows)(const bf_cuda *cuda, const bf_cuda_table *table,
                             const bf_cuda_rows *rows, int rate, uint32_t *bits);
    const struct bf_cuda_run_loops *runs;
};

extern const bf_cuda_table_loops bf_cuda_table_loops_4, bf_cuda_table_loops_8,
    bf_cuda_table_loops_16;

/* --- table.cu: reports --- */

/* Makes a report for the kernels to come: all 0. Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_report_open(bf_context *context);
/* The open report, for a kernel that changes it. */
bf_cuda_report *bf_cuda_report_of(const bf_context *context);
/* Fetches the report; on the device it is all 0 again. */
bf_status bf_cuda_report_fetch(bf_context *context, cudaError_t error, bf_cuda_report *to);

/* --- insert.cu: entries to come --- */

bf_status bf_cuda_slots_create(bf_context *context, const bf_cuda_table_loops *loops,
                               uint64_t regions, bf_hash_seed seed, bf_cuda_slots *slots);
void bf_cuda_slots_destroy(bf_context *context, bf_cuda_slots *slots);
uint64_t bf_cuda_regions_for(const bf_cuda_table_loops *loops, uint64_t entries);

/* Room for so many keys in all. Errors: BF_E_MEMORY; the table is as it was. */
bf_status bf_cuda_table_reserve(bf_context *context, bf_cuda_table *table, int64_t entries);

/* Enters rows that kernels reach, growing as it must; on failure the table is as it was. */
bf_status bf_cuda_table_absorb(bf_context *context, bf_cuda_table *table, const bf_cuda_rows *rows);

/* All entries, with ranks for keys, in new memory of twice their size (the second half is scratch).
 */
bf_status bf_cuda_table_collect(bf_context *context, const bf_cuda_table *table, void **entries);

/* --- multimap.cu: multimaps --- */

/* Launchers for sorted entries, of which those of one key are a run. */
typedef struct bf_cuda_run_loops {
    /* heads[i]: 1 where a run begins, else 0. */
    cudaError_t (*mark)(const bf_cuda *cuda, const void *entries, uint32_t n, uint64_t *heads);
    /* From the sums of heads: where runs begin and, as entries, their keys and numbers. */
    cudaError_t (*list)(const bf_cuda *cuda, const void *entries, uint32_t n,
                        const uint64_t *before, uint64_t *starts, void *keys);
    /* values[i]: that of the first entry of run numbers[i] (~0: none). */
    cudaError_t (*first)(const bf_cuda *cuda, const bf_cuda_format *format, const void *entries,
                         const uint64_t *starts, const uint32_t *numbers, int64_t n, void *values);
    /* All values of runs, of which the i-th has its first as number before[i], of before[n]. */
    cudaError_t (*all)(const bf_cuda *cuda, const bf_cuda_format *format, const void *entries,
                       const uint64_t *starts, const uint32_t *numbers, const uint64_t *before,
                       int64_t n, int64_t total, void *values);
    /* stays[i]: 0 for entries of runs that are gone, else 1. */
    cudaError_t (*stay)(const bf_cuda *cuda, const uint64_t *starts, uint32_t runs,
                        const uint8_t *gone, uint32_t n, uint64_t *stays);
    /* Copies those that stay, from the sums of stays. */
    cudaError_t (*keep)(const bf_cuda *cuda, const void *entries, uint32_t n,
                        const uint64_t *before, void *to);
} bf_cuda_run_loops;

bf_status bf_cuda_many_create(bf_context *context, bf_cuda_table *table);
void bf_cuda_many_destroy(bf_context *context, bf_cuda_table *table);
void bf_cuda_many_clear(bf_cuda_table *table);
bf_status bf_cuda_many_reserve(bf_context *context, bf_cuda_table *table, int64_t entries);
int64_t bf_cuda_many_size(const bf_cuda_table *table);
bf_status bf_cuda_many_insert(bf_context *context, bf_cuda_table *table, const bf_cuda_rows *rows);
bf_status bf_cuda_many_find(bf_context *context, bf_cuda_table *table, const void *keys, int64_t n,
                            void *values, uint8_t *found);
bf_status bf_cuda_many_count(bf_context *context, bf_cuda_table *table, const void *keys, int64_t n,
                             int64_t *counts, int64_t *total);
bf_status bf_cuda_many_find_all(bf_context *context, bf_cuda_table *table, const void *keys,
                                int64_t n, void *values);
bf_status bf_cuda_many_erase(bf_context *context, bf_cuda_table *table, const void *keys, int64_t n,
                             int64_t *erased);
bf_status bf_cuda_many_list(bf_context *context, bf_cuda_table *table, void *keys, void *values);

#endif
