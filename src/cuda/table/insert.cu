/* Insertion that leaves the table as it was if it fails. Rows are inserted into the table itself
 * only if every region is sure to have room; if need be, new keys are counted first. Otherwise the
 * table's entries and the rows are inserted into new buckets, which replace the old ones at the
 * end. */
#include "cuda/table/table.cuh"

#include "cuda/runtime/memory.cuh"

#include <math.h>
#include <stdlib.h>

enum {
    REGIONS_LEAST = 2, /* so that each region has a word of another */
    REGIONS_MOST = (1 << 22) - 1,
    TRIES = 16 /* so many sizes and seeds are tried, in case keys are chosen against them */
};

/* --- memory --- */

bf_status bf_cuda_buckets_create(bf_context *context, const bf_cuda_table_launchers *loops,
                                 uint64_t regions, bf_hash_seed seed, bf_cuda_buckets *slots) {
    uint64_t most = (uint64_t)1 << 2 * loops->digit_bits(context->cuda);
    if (regions >= most || regions > REGIONS_MOST)
        return bf_fail(context, BF_E_MEMORY, "no memory for a table of %llu entries",
                       (unsigned long long)(regions * loops->slots));
    bf_cuda_buckets s = {NULL, NULL, (uint32_t)regions, seed};
    size_t bytes = regions * loops->slots * 2 * (size_t)loops->word;
    s.entries = bf_cuda_alloc(context, bytes + regions * sizeof *s.used);
    if (s.entries == NULL) return BF_E_MEMORY;
    s.used = (uint32_t *)((char *)s.entries + bytes);
    *slots = s;
    return BF_OK;
}

void bf_cuda_buckets_destroy(bf_context *context, bf_cuda_buckets *slots) {
    bf_cuda_free(context, slots->entries);
}

uint64_t bf_cuda_regions_for(const bf_cuda_table_launchers *loops, uint64_t entries) {
    uint64_t slots = entries + entries / 4, regions = slots / loops->slots;
    regions += regions * loops->slots < slots;
    return regions < REGIONS_LEAST ? REGIONS_LEAST : regions;
}

/* Returns how many random entries the table has room for. */
static int64_t room_of(const bf_cuda_table *t) {
    return (int64_t)((uint64_t)t->buckets.regions * t->launchers->slots / 8 * 7);
}

/* --- rows into regions --- */

static bf_cuda_combine combine_of(bf_duplicates duplicates) {
    switch (duplicates) {
    case BF_DUPLICATES_LAST: return BF_CUDA_LAST;
    case BF_DUPLICATES_LEAST:
    case BF_DUPLICATES_GREATEST: return BF_CUDA_LEAST;
    case BF_DUPLICATES_ADD: return BF_CUDA_ADD;
    default: return BF_CUDA_FIRST;
    }
}

/* Inserts partitioned rows. *full: a region has no room. Then, and if notes->hot, the table is as
 * it was. */
static bf_status insert_partitions(bf_context *context, bf_cuda_table *t,
                                   const bf_cuda_partitions *partitions, bool *full,
                                   bf_cuda_table_notes *notes) {
    const bf_cuda_table_launchers *l = t->launchers;
    const bf_cuda *cuda = context->cuda;
    bf_cuda_combine combine = combine_of(t->kind.duplicates);
    bool empty = t->keys == 0;
    bf_cuda_table_notes *to = bf_cuda_table_notes_of(context);
    l->check(cuda, &t->buckets, partitions, empty, to);
    cudaError_t error = l->insert(cuda, &t->buckets, partitions, combine, empty, false, false, to);
    bf_status status = bf_cuda_table_fetch_notes(context, error, notes);
    if (status != BF_OK || !notes->tight || notes->hot) return status;
    to = bf_cuda_table_notes_of(context);
    error = l->insert(cuda, &t->buckets, partitions, combine, empty, true, true, to);
    status = bf_cuda_table_fetch_notes(context, error, notes);
    *full = notes->full != 0;
    if (status != BF_OK || *full) return status;
    to = bf_cuda_table_notes_of(context);
    error = l->insert(cuda, &t->buckets, partitions, combine, empty, false, true, to);
    return bf_cuda_table_fetch_notes(context, error, notes);
}

static bf_status partition_and_insert(bf_context *context, bf_cuda_table *t,
                                      const bf_cuda_rows *rows, bf_cuda_hot hot, bool *full,
                                      bf_cuda_table_notes *notes) {
    bf_cuda_partitions partitions;
    bf_status status = bf_cuda_table_clear_notes(context);
    if (status == BF_OK)
        status = t->launchers->partition(context, t, &t->buckets, rows, hot,
                                         combine_of(t->kind.duplicates), &partitions);
    if (status != BF_OK) return status;
    status = insert_partitions(context, t, &partitions, full, notes);
    bf_cuda_free(context, partitions.memory);
    return status;
}

static bf_status insert_rows(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                             bool *full, bool *far) {
    bf_cuda_table_notes notes = {};
    bf_status status = partition_and_insert(context, t, rows, BF_CUDA_HOT_REFUSE, full, &notes);
    if (status == BF_OK && notes.hot)
        status = partition_and_insert(context, t, rows, BF_CUDA_HOT_COMBINE, full, &notes);
    if (status == BF_OK && !*full) t->keys += (int64_t)notes.keys;
    *far = notes.far != 0;
    return status;
}

/* --- growth --- */

/* Inserts the table's entries into another table, which is empty. */
static bf_status move_entries(bf_context *context, const bf_cuda_table *t, bf_cuda_table *to,
                              bool *full) {
    bool far;
    size_t bytes = (size_t)t->keys * 2 * (size_t)t->launchers->word;
    if (t->keys == 0) return BF_OK;
    uint32_t *offsets =
        (uint32_t *)bf_cuda_alloc(context, ((size_t)t->buckets.regions + 1) * sizeof *offsets);
    void *entries = offsets != NULL ? bf_cuda_alloc(context, bytes) : NULL;
    bf_status status = entries == NULL ? BF_E_MEMORY : BF_OK;
    if (status == BF_OK) {
        cudaError_t error = t->launchers->collect(context->cuda, &t->buckets, offsets, entries);
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "a table's entries");
    }
    bf_cuda_rows rows = {NULL, NULL, entries, (uint32_t)t->keys};
    if (status == BF_OK) status = insert_rows(context, to, &rows, full, &far);
    bf_cuda_free(context, offsets);
    bf_cuda_free(context, entries);
    return status;
}

/* Moves the table's entries and the rows (NULL: none) to new buckets. *full: these have no room,
 * and the table is as it was. */
static bf_status rebuild_table(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                               uint64_t regions, bf_hash_seed seed, bool *full) {
    bf_cuda_table made = *t;
    bool far;
    made.keys = 0;
    *full = false;
    bf_status status = bf_cuda_buckets_create(context, t->launchers, regions, seed, &made.buckets);
    if (status != BF_OK) return status;
    status = move_entries(context, t, &made, full);
    if (status == BF_OK && !*full && rows != NULL)
        status = insert_rows(context, &made, rows, full, &far);
    bool failed = status != BF_OK || *full;
    bf_cuda_buckets_destroy(context, failed ? &made.buckets : &t->buckets);
    if (!failed) *t = made;
    return status;
}

static bool may_reseed(bf_cuda_table *t) {
    if (t->keys < t->reseed_at) return false;
    t->reseed_at = 2 * t->keys;
    return true;
}

/* Rebuilds with more regions. If one region gets nearly all keys, tries other seeds, and then still
 * more regions. */
static bf_status resize_table(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                              uint64_t regions) {
    bf_hash_seed seed = t->buckets.seed;
    bf_status status = BF_OK;
    bool full = true;
    for (int i = 0; i < TRIES && full && status == BF_OK; i++) {
        if (i % 4 == 3)
            regions *= 2;
        else if (i > 0)
            seed = bf_hash_next_seed(seed);
        status = rebuild_table(context, t, rows, regions, seed, &full);
    }
    if (status == BF_OK && full) return bf_fail(context, BF_E_MEMORY, "no seed spreads these keys");
    return status;
}

bf_status bf_cuda_table_reserve(bf_context *context, bf_cuda_table *t, int64_t entries) {
    uint64_t regions = bf_cuda_regions_for(t->launchers, (uint64_t)entries);
    if (regions <= t->buckets.regions) return BF_OK;
    return resize_table(context, t, NULL, regions);
}

/* --- an estimate of the number of keys --- */

/* Estimates the number of random hashes that set these bits (Whang et al., linear counting). */
static int64_t keys_of_bitmap(const uint32_t *bits, int rate) {
    int64_t set = 0;
    for (uint32_t i = 0; i < BF_CUDA_BITMAP / 32; i++) set += __builtin_popcount(bits[i]);
    double all = BF_CUDA_BITMAP, free = set < BF_CUDA_BITMAP ? all - (double)set : 1;
    return (int64_t)(-all * log(free / all) * (double)((int64_t)1 << rate));
}

static bf_status mark_hashes(bf_context *context, const bf_cuda_table *t, const bf_cuda_rows *rows,
                             int rate, uint32_t *marks, uint32_t *bits) {
    const bf_cuda *cuda = context->cuda;
    cudaError_t error = cudaMemsetAsync(marks, 0, BF_CUDA_BITMAP / 8, cuda->stream);
    if (error == cudaSuccess && t->keys > 0)
        error = t->launchers->mark_slots(cuda, &t->buckets, rate, marks);
    if (error == cudaSuccess) error = t->launchers->mark_rows(cuda, t, rows, rate, marks);
    if (error == cudaSuccess)
        error =
            cudaMemcpyAsync(bits, marks, BF_CUDA_BITMAP / 8, cudaMemcpyDeviceToHost, cuda->stream);
    return bf_cuda_wait(context, error, "counting keys");
}

/* Estimates how many keys the table will have. The estimate is rarely too low. */
static bf_status estimate_keys(bf_context *context, const bf_cuda_table *t,
                               const bf_cuda_rows *rows, int64_t *keys) {
    int64_t most = t->keys + rows->n;
    int rate = 0;
    while (most >> rate > BF_CUDA_BITMAP) rate++;
    uint32_t *marks = (uint32_t *)bf_cuda_alloc(context, BF_CUDA_BITMAP / 8);
    uint32_t *bits = (uint32_t *)malloc(BF_CUDA_BITMAP / 8);
    bf_status status = marks == NULL ? BF_E_MEMORY : BF_OK;
    if (marks != NULL && bits == NULL)
        status = bf_fail(context, BF_E_MEMORY, "no memory to count keys");
    if (status == BF_OK) status = mark_hashes(context, t, rows, rate, marks, bits);
    if (status == BF_OK) {
        int64_t about = keys_of_bitmap(bits, rate);
        about += about / 32;
        *keys = about < most ? about : most;
    }
    free(bits);
    bf_cuda_free(context, marks);
    return status;
}

/* --- inserting --- */

/* Returns the regions of a table that will be half full. */
static uint64_t choose_regions(const bf_cuda_table *t, int64_t keys) {
    return bf_cuda_regions_for(t->launchers, (uint64_t)keys / 5 * 8 + 1);
}

/* Rebuilds by another seed, if keys seem to be chosen against this one and there is memory. */
static void heal_table(bf_context *context, bf_cuda_table *t) {
    bool full;
    if (may_reseed(t))
        (void)rebuild_table(context, t, NULL, t->buckets.regions,
                            bf_hash_next_seed(t->buckets.seed), &full);
}

static bf_status grow_table(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                            int64_t keys) {
    bool full, sparse = keys < room_of(t) / 4;
    uint64_t regions = choose_regions(t, keys > t->keys ? keys : t->keys + 1);
    if (sparse && may_reseed(t)) {
        bf_status status = rebuild_table(context, t, rows, t->buckets.regions,
                                         bf_hash_next_seed(t->buckets.seed), &full);
        if (status != BF_OK || !full) return status;
    }
    if (regions <= t->buckets.regions) regions = 2 * (uint64_t)t->buckets.regions;
    return resize_table(context, t, rows, regions);
}

bf_status bf_cuda_table_insert(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows) {
    int64_t keys = t->keys + rows->n;
    bool full = false, far = false;
    bf_status status = BF_OK;
    if (keys > room_of(t)) {
        status = estimate_keys(context, t, rows, &keys);
        if (status == BF_OK && keys > room_of(t)) return grow_table(context, t, rows, keys);
    }
    if (status == BF_OK) status = insert_rows(context, t, rows, &full, &far);
    if (status != BF_OK) return status;
    if (full) return grow_table(context, t, rows, keys);
    if (far) heal_table(context, t);
    return BF_OK;
}

bf_status bf_cuda_table_collect(bf_context *context, const bf_cuda_table *t, void **entries) {
    size_t bytes = (size_t)t->keys * 2 * (size_t)t->launchers->word;
    uint32_t *offsets =
        (uint32_t *)bf_cuda_alloc(context, ((size_t)t->buckets.regions + 1) * sizeof *offsets);
    void *memory = offsets != NULL ? bf_cuda_alloc(context, 2 * bytes) : NULL;
    bf_status status = memory == NULL ? BF_E_MEMORY : BF_OK;
    if (status == BF_OK) {
        cudaError_t error = t->launchers->collect(context->cuda, &t->buckets, offsets, memory);
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "a table's entries");
    }
    bf_cuda_free(context, offsets);
    if (status == BF_OK)
        *entries = memory;
    else
        bf_cuda_free(context, memory);
    return status;
}
