/* A table in a GPU's memory.
 *
 * The table is open addressing in buckets that two lanes read at once, in regions of 32 KiB that a
 * block loads into its shared memory. The entries of a full bucket continue in its sibling, in the
 * same 64 bytes (or 128), and then in the next pair of buckets, around the region: all buckets from
 * a key's home to the one that holds its entry are full. Rows to insert or erase are partitioned by
 * region first, stably, so the order of the rows alone decides whose value stays. A region without
 * rows is not touched. */
#ifndef BF_CUDA_TABLE_TABLE_CUH
#define BF_CUDA_TABLE_TABLE_CUH

#include "cuda/runtime/mailbox.cuh"
#include "cuda/table/word.cuh"

extern "C" {
#include "seam/table.h"
}

extern const bf_table_backend bf_cuda_table_backend;

enum {
    BF_CUDA_ROWS_MOST = 0xfffff000u, /* the most rows of a call, and entries of a table: 32 bits
                                        count them */
    BF_CUDA_BITMAP = 1 << 22         /* bits, for the estimate of the number of keys */
};

/* Rows of a call: arrays, or entries with ranks for keys. */
typedef struct bf_cuda_rows {
    const void *keys, *values; /* values NULL: none */
    const void *entries;       /* NULL: arrays */
    uint32_t n;
} bf_cuda_rows;

/* Rows partitioned by region, stably. */
typedef struct bf_cuda_partitions {
    void *memory, *entries;
    uint32_t *start, *count; /* where each region's rows start, and how many there are */
} bf_cuda_partitions;

/* The notes (mailbox.cuh) of a table's kernels. */
typedef struct bf_cuda_table_notes {
    uint32_t tight; /* a region might exceed its limit */
    uint32_t full;  /* a region exceeds its limit */
    uint32_t far;   /* a key is far from its home */
    uint32_t spill; /* a partition is longer than its memory */
    uint32_t hot;   /* a partition is so long that its rows must be combined first */
    unsigned long long keys, total;
} bf_cuda_table_notes;

static_assert(sizeof(bf_cuda_table_notes) <= BF_CUDA_NOTES * sizeof(uint64_t), "notes have room");

typedef struct bf_cuda_table_launchers bf_cuda_table_launchers;
struct bf_cuda_multimap;

/* The buckets of a table, in regions. In an empty table their content is undefined. */
typedef struct bf_cuda_buckets {
    void *entries;
    uint32_t *used; /* entries of each region */
    uint32_t regions;
    bf_hash_seed seed;
} bf_cuda_buckets;

typedef struct bf_cuda_table {
    bf_table_kind kind;
    bf_cuda_format format;
    const bf_cuda_table_launchers *launchers;
    bf_cuda_buckets buckets;
    int64_t keys;
    int64_t reseed_at;                 /* keys below which no other seed is tried */
    struct bf_cuda_multimap *multimap; /* NULL: it is none */
} bf_cuda_table;

/* Says which value a key keeps. */
typedef enum bf_cuda_combine {
    BF_CUDA_FIRST,
    BF_CUDA_LAST,
    BF_CUDA_LEAST,
    BF_CUDA_ADD
} bf_cuda_combine;

/* The treatment of hot keys, which very many rows have: none; to set notes->hot and notes->tight
 * instead of partitioning the rows; to combine equal keys of a tile first. */
typedef enum bf_cuda_hot {
    BF_CUDA_HOT_IGNORE,
    BF_CUDA_HOT_REFUSE,
    BF_CUDA_HOT_COMBINE
} bf_cuda_hot;

/* The answers for each of n keys: any may be NULL. */
typedef struct bf_cuda_answers {
    void *values;
    uint8_t *found;
    int64_t *counts;   /* 0 or 1 */
    uint32_t *numbers; /* the value as a number; ~0: the key is absent */
} bf_cuda_answers;

/* Launchers for one width of words: instances of launchers.cuh. Entries have that width. */
struct bf_cuda_table_launchers {
    int word;
    uint32_t slots, limit; /* how many a region has; of these, how many it uses at most */
    /* Returns the bits of a digit; a partition tells 2^(2 * bits) - 1 regions apart. */
    int (*digit_bits)(const bf_cuda *cuda);
    /* Partitions rows by region. The caller frees partitions->memory. Errors: BF_E_MEMORY. */
    bf_status (*partition)(bf_context *context, const bf_cuda_table *table,
                           const bf_cuda_buckets *buckets, const bf_cuda_rows *rows,
                           bf_cuda_hot hot, bf_cuda_combine combine,
                           bf_cuda_partitions *partitions);
    /* Sets notes->tight if a region's entries and rows together exceed its limit. */
    void (*check)(const bf_cuda *cuda, const bf_cuda_buckets *buckets,
                  const bf_cuda_partitions *partitions, bool empty, bf_cuda_table_notes *notes);
    /* Inserts the rows and adds the number of new keys to notes->keys, unless notes->tight (sure:
     * in any case). count: changes no entry, but counts new keys and sets notes->full. */
    cudaError_t (*insert)(const bf_cuda *cuda, const bf_cuda_buckets *buckets,
                          const bf_cuda_partitions *partitions, bf_cuda_combine combine, bool empty,
                          bool count, bool sure, bf_cuda_table_notes *notes);
    /* Erases keys, and adds their number to notes->keys. */
    cudaError_t (*erase)(const bf_cuda *cuda, const bf_cuda_buckets *buckets,
                         const bf_cuda_partitions *partitions, bf_cuda_table_notes *notes);
    /* Copies all entries, with ranks for keys. offsets: scratch for regions + 1 numbers. */
    cudaError_t (*collect)(const bf_cuda *cuda, const bf_cuda_buckets *buckets, uint32_t *offsets,
                           void *entries);
    /* Looks n keys up, and adds the number of those found to notes->total (notes may be NULL). */
    cudaError_t (*find)(const bf_cuda *cuda, const bf_cuda_table *table, const void *keys,
                        int64_t n, const bf_cuda_answers *answers, bf_cuda_table_notes *notes);
    /* Writes entries as arrays; keys and values may be NULL. */
    cudaError_t (*write_arrays)(const bf_cuda *cuda, const bf_cuda_format *format,
                                const void *entries, uint32_t n, void *keys, void *values);
    /* Makes entries, with ranks for keys, from arrays; values may be NULL. */
    cudaError_t (*make_entries)(const bf_cuda *cuda, const bf_cuda_format *format, const void *keys,
                                const void *values, uint32_t n, void *entries);
    /* Set a bit of a bitmap for the hash of about one key in 2^rate: keys of the table; of rows. */
    cudaError_t (*mark_slots)(const bf_cuda *cuda, const bf_cuda_buckets *buckets, int rate,
                              uint32_t *bits);
    cudaError_t (*mark_rows)(const bf_cuda *cuda, const bf_cuda_table *table,
                             const bf_cuda_rows *rows, int rate, uint32_t *bits);
    const struct bf_cuda_run_launchers *runs;
};

extern const bf_cuda_table_launchers bf_cuda_table_launchers_4, bf_cuda_table_launchers_8,
    bf_cuda_table_launchers_16;

/* --- table.cu: notes --- */

/* Clears the notes for the kernels that follow. Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_table_clear_notes(bf_context *context);
/* Returns the notes, for a kernel that changes them. */
bf_cuda_table_notes *bf_cuda_table_notes_of(const bf_context *context);
/* Waits for the notes, copies them to *to, and clears them on the device. */
bf_status bf_cuda_table_fetch_notes(bf_context *context, cudaError_t error,
                                    bf_cuda_table_notes *to);

/* --- insert.cu --- */

/* Allocates buckets. Errors: BF_E_MEMORY. */
bf_status bf_cuda_buckets_create(bf_context *context, const bf_cuda_table_launchers *launchers,
                                 uint64_t regions, bf_hash_seed seed, bf_cuda_buckets *buckets);
void bf_cuda_buckets_destroy(bf_context *context, bf_cuda_buckets *buckets);

/* Returns the number of regions that so many entries fill to four fifths. */
uint64_t bf_cuda_regions_for(const bf_cuda_table_launchers *launchers, uint64_t entries);

/* Makes room for so many keys in all. Errors: BF_E_MEMORY; the table is as it was. */
bf_status bf_cuda_table_reserve(bf_context *context, bf_cuda_table *table, int64_t entries);

/* Inserts rows that kernels reach, and grows if it must. On failure the table is as it was. */
bf_status bf_cuda_table_insert(bf_context *context, bf_cuda_table *table, const bf_cuda_rows *rows);

/* Copies all entries, with ranks for keys, to new memory of twice their size; its second half is
 * scratch. The caller frees it. Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_table_collect(bf_context *context, const bf_cuda_table *table, void **entries);

/* --- multimap.cu --- */

/* Launchers for entries sorted by key, in which the entries of one key are a run. */
typedef struct bf_cuda_run_launchers {
    /* Sets heads[i] to 1 where a run begins, else to 0. */
    cudaError_t (*mark_heads)(const bf_cuda *cuda, const void *entries, uint32_t n,
                              uint64_t *heads);
    /* Sets, from the prefix sums of heads, the starts of runs, and entries of their keys and
     * numbers. */
    cudaError_t (*list_runs)(const bf_cuda *cuda, const void *entries, uint32_t n,
                             const uint64_t *before, uint64_t *starts, void *keys);
    /* Sets values[i] to that of the first entry of run numbers[i] (~0: none). */
    cudaError_t (*copy_first)(const bf_cuda *cuda, const bf_cuda_format *format,
                              const void *entries, const uint64_t *starts, const uint32_t *numbers,
                              int64_t n, void *values);
    /* Copies all values of runs numbers[i], i < n, to values[before[i]] and on. */
    cudaError_t (*copy_all)(const bf_cuda *cuda, const bf_cuda_format *format, const void *entries,
                            const uint64_t *starts, const uint32_t *numbers, const uint64_t *before,
                            int64_t n, int64_t total, void *values);
    /* Sets kept[i] to 0 for entries of runs that are gone, else to 1. */
    cudaError_t (*mark_kept)(const bf_cuda *cuda, const uint64_t *starts, uint32_t runs,
                             const uint8_t *gone, uint32_t n, uint64_t *kept);
    /* Copies the entries that are kept, by the prefix sums of kept. */
    cudaError_t (*copy_kept)(const bf_cuda *cuda, const void *entries, uint32_t n,
                             const uint64_t *before, void *to);
} bf_cuda_run_launchers;

bf_status bf_cuda_multimap_create(bf_context *context, bf_cuda_table *table);
void bf_cuda_multimap_destroy(bf_context *context, bf_cuda_table *table);
void bf_cuda_multimap_clear(bf_cuda_table *table);
bf_status bf_cuda_multimap_reserve(bf_context *context, bf_cuda_table *table, int64_t entries);
int64_t bf_cuda_multimap_size(const bf_cuda_table *table);
bf_status bf_cuda_multimap_insert(bf_context *context, bf_cuda_table *table,
                                  const bf_cuda_rows *rows);
bf_status bf_cuda_multimap_find(bf_context *context, bf_cuda_table *table, const void *keys,
                                int64_t n, void *values, uint8_t *found);
bf_status bf_cuda_multimap_count(bf_context *context, bf_cuda_table *table, const void *keys,
                                 int64_t n, int64_t *counts, int64_t *total);
bf_status bf_cuda_multimap_find_all(bf_context *context, bf_cuda_table *table, const void *keys,
                                    int64_t n, void *values);
bf_status bf_cuda_multimap_erase(bf_context *context, bf_cuda_table *table, const void *keys,
                                 int64_t n, int64_t *erased);
bf_status bf_cuda_multimap_list(bf_context *context, bf_cuda_table *table, void *keys,
                                void *values);

#endif
