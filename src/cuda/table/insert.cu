/* Entering rows so that a failure leaves the table as it was. Rows go into the table itself only
 * where every region is sure to have room, be it that the keys had to be counted; else the table's
 * entries and the rows go into a new one, which takes its place when all are there. */
#include "cuda/table/table.cuh"

#include "cuda/runtime/memory.cuh"

#include <math.h>
#include <stdlib.h>

enum {
    REGIONS_LEAST = 2, /* so that a region has a word that is another's */
    REGIONS_MOST = (1 << 22) - 1,
    TRIES = 16 /* of sizes and seeds, for keys that are chosen against them */
};

/* --- memory --- */

bf_status bf_cuda_slots_create(bf_context *context, const bf_cuda_table_loops *loops,
                               uint64_t regions, bf_hash_seed seed, bf_cuda_slots *slots) {
    uint64_t most = (uint64_t)1 << 2 * loops->digit_bits(context->cuda);
    if (regions >= most || regions > REGIONS_MOST)
        return bf_fail(context, BF_E_MEMORY, "no memory for a table of %llu entries",
                       (unsigned long long)(regions * loops->slots));
    bf_cuda_slots s = {NULL, NULL, (uint32_t)regions, seed};
    size_t bytes = regions * loops->slots * 2 * (size_t)loops->word;
    s.entries = bf_cuda_alloc(context, bytes + regions * sizeof *s.used);
    if (s.entries == NULL) return BF_E_MEMORY;
    s.used = (uint32_t *)((char *)s.entries + bytes);
    *slots = s;
    return BF_OK;
}

void bf_cuda_slots_destroy(bf_context *context, bf_cuda_slots *slots) {
    bf_cuda_free(context, slots->entries);
}

/* Those of a table that is four fifths full. */
uint64_t bf_cuda_regions_for(const bf_cuda_table_loops *loops, uint64_t entries) {
    uint64_t slots = entries + entries / 4, regions = slots / loops->slots;
    regions += regions * loops->slots < slots;
    return regions < REGIONS_LEAST ? REGIONS_LEAST : regions;
}

/* Entries that a table takes if they spread as random ones do. */
static int64_t room_of(const bf_cuda_table *t) {
    return (int64_t)((uint64_t)t->slots.regions * t->loops->slots / 8 * 7);
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

/* *full: a region has no room, and the table is as it was; so it is if report->hot. */
static bf_status insert_lists(bf_context *context, bf_cuda_table *t, const bf_cuda_lists *lists,
                              bool *full, bf_cuda_report *report) {
    const bf_cuda_table_loops *l = t->loops;
    const bf_cuda *cuda = context->cuda;
    bf_cuda_combine combine = combine_of(t->kind.duplicates);
    bool empty = t->keys == 0;
    bf_cuda_report *to = bf_cuda_report_of(context);
    l->check(cuda, &t->slots, lists, empty, to);
    cudaError_t error = l->insert(cuda, &t->slots, lists, combine, empty, false, false, to);
    bf_status status = bf_cuda_report_fetch(context, error, report);
    if (status != BF_OK || !report->tight || report->hot) return status;
    to = bf_cuda_report_of(context);
    error = l->insert(cuda, &t->slots, lists, combine, empty, true, true, to);
    status = bf_cuda_report_fetch(context, error, report);
    *full = report->full != 0;
    if (status != BF_OK || *full) return status;
    to = bf_cuda_report_of(context);
    error = l->insert(cuda, &t->slots, lists, combine, empty, false, true, to);
    return bf_cuda_report_fetch(context, error, report);
}

static bf_status insert_as(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                           bf_cuda_hot hot, bool *full, bf_cuda_report *report) {
    bf_cuda_lists lists;
    bf_status status = bf_cuda_report_open(context);
    if (status == BF_OK)
        status = t->loops->partition(context, t, &t->slots, rows, hot,
                                     combine_of(t->kind.duplicates), &lists);
    if (status != BF_OK) return status;
    status = insert_lists(context, t, &lists, full, report);
    bf_cuda_free(context, lists.memory);
    return status;
}

static bf_status insert_rows(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                             bool *full, bool *far) {
    bf_cuda_report report = {};
    bf_status status = insert_as(context, t, rows, BF_CUDA_UNLESS_HOT, full, &report);
    if (status == BF_OK && report.hot)
        status = insert_as(context, t, rows, BF_CUDA_COMBINED, full, &report);
    if (status == BF_OK && !*full) t->keys += (int64_t)report.keys;
    *far = report.far != 0;
    return status;
}

/* --- growth --- */

/* Enters the table's entries into another, which has none. */
static bf_status move(bf_context *context, const bf_cuda_table *t, bf_cuda_table *to, bool *full) {
    bool far;
    size_t bytes = (size_t)t->keys * 2 * (size_t)t->loops->word;
    if (t->keys == 0) return BF_OK;
    uint32_t *offsets =
        (uint32_t *)bf_cuda_alloc(context, ((size_t)t->slots.regions + 1) * sizeof *offsets);
    void *entries = offsets != NULL ? bf_cuda_alloc(context, bytes) : NULL;
    bf_status status = entries == NULL ? BF_E_MEMORY : BF_OK;
    if (status == BF_OK) {
        cudaError_t error = t->loops->collect(context->cuda, &t->slots, offsets, entries);
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "a table's entries");
    }
    bf_cuda_rows rows = {NULL, NULL, entries, (uint32_t)t->keys};
    if (status == BF_OK) status = insert_rows(context, to, &rows, full, &far);
    bf_cuda_free(context, offsets);
    bf_cuda_free(context, entries);
    return status;
}

/* The table's entries and the rows (NULL: none) in other slots. *full: these have no room, and the
 * table stays as it is. */
static bf_status rebuild(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                         uint64_t regions, bf_hash_seed seed, bool *full) {
    bf_cuda_table made = *t;
    bool far;
    made.keys = 0;
    *full = false;
    bf_status status = bf_cuda_slots_create(context, t->loops, regions, seed, &made.slots);
    if (status != BF_OK) return status;
    status = move(context, t, &made, full);
    if (status == BF_OK && !*full && rows != NULL)
        status = insert_rows(context, &made, rows, full, &far);
    bool failed = status != BF_OK || *full;
    bf_cuda_slots_destroy(context, failed ? &made.slots : &t->slots);
    if (!failed) *t = made;
    return status;
}

static bool may_reseed(bf_cuda_table *t) {
    if (t->keys < t->reseed_at) return false;
    t->reseed_at = 2 * t->keys;
    return true;
}

/* Where one region has nearly all keys, a few seeds are tried, then more room. */
static bf_status resize(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                        uint64_t regions) {
    bf_hash_seed seed = t->slots.seed;
    bf_status status = BF_OK;
    bool full = true;
    for (int i = 0; i < TRIES && full && status == BF_OK; i++) {
        if (i % 4 == 3)
            regions *= 2;
        else if (i > 0)
            seed = bf_hash_next_seed(seed);
        status = rebuild(context, t, rows, regions, seed, &full);
    }
    if (status == BF_OK && full) return bf_fail(context, BF_E_MEMORY, "no seed spreads these keys");
    return status;
}

bf_status bf_cuda_table_reserve(bf_context *context, bf_cuda_table *t, int64_t entries) {
    uint64_t regions = bf_cuda_regions_for(t->loops, (uint64_t)entries);
    if (regions <= t->slots.regions) return BF_OK;
    return resize(context, t, NULL, regions);
}

/* --- how many keys there will be --- */

/* From the bits that hashes have set, if they are random (Whang et al., linear counting). */
static int64_t keys_of_bitmap(const uint32_t *bits, int rate) {
    int64_t set = 0;
    for (uint32_t i = 0; i < BF_CUDA_BITMAP / 32; i++) set += __builtin_popcount(bits[i]);
    double all = BF_CUDA_BITMAP, free = set < BF_CUDA_BITMAP ? all - (double)set : 1;
    return (int64_t)(-all * log(free / all) * (double)((int64_t)1 << rate));
}

static bf_status mark_all(bf_context *context, const bf_cuda_table *t, const bf_cuda_rows *rows,
                          int rate, uint32_t *marks, uint32_t *bits) {
    const bf_cuda *cuda = context->cuda;
    cudaError_t error = cudaMemsetAsync(marks, 0, BF_CUDA_BITMAP / 8, cuda->stream);
    if (error == cudaSuccess && t->keys > 0)
        error = t->loops->mark_slots(cuda, &t->slots, rate, marks);
    if (error == cudaSuccess) error = t->loops->mark_rows(cuda, t, rows, rate, marks);
    if (error == cudaSuccess)
        error =
            cudaMemcpyAsync(bits, marks, BF_CUDA_BITMAP / 8, cudaMemcpyDeviceToHost, cuda->stream);
    return bf_cuda_wait(context, error, "counting keys");
}

/* About how many keys the table has with the rows entered: no less, but for bad luck. */
static bf_status estimate(bf_context *context, const bf_cuda_table *t, const bf_cuda_rows *rows,
                          int64_t *keys) {
    int64_t most = t->keys + rows->n;
    int rate = 0;
    while (most >> rate > BF_CUDA_BITMAP) rate++;
    uint32_t *marks = (uint32_t *)bf_cuda_alloc(context, BF_CUDA_BITMAP / 8);
    uint32_t *bits = (uint32_t *)malloc(BF_CUDA_BITMAP / 8);
    bf_status status = marks == NULL ? BF_E_MEMORY : BF_OK;
    if (marks != NULL && bits == NULL)
        status = bf_fail(context, BF_E_MEMORY, "no memory to count keys");
    if (status == BF_OK) status = mark_all(context, t, rows, rate, marks, bits);
    if (status == BF_OK) {
        int64_t about = keys_of_bitmap(bits, rate);
        about += about / 32;
        *keys = about < most ? about : most;
    }
    free(bits);
    bf_cuda_free(context, marks);
    return status;
}

/* --- entering --- */

/* The regions of a table that is to be half full. */
static uint64_t roomy(const bf_cuda_table *t, int64_t keys) {
    return bf_cuda_regions_for(t->loops, (uint64_t)keys / 5 * 8 + 1);
}

/* Another seed where keys seem to be chosen against this one, if there is memory for it. */
static void heal(bf_context *context, bf_cuda_table *t) {
    bool full;
    if (may_reseed(t))
        (void)rebuild(context, t, NULL, t->slots.regions, bf_hash_next_seed(t->slots.seed), &full);
}

static bf_status grow(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows,
                      int64_t keys) {
    bool full, sparse = keys < room_of(t) / 4;
    uint64_t regions = roomy(t, keys > t->keys ? keys : t->keys + 1);
    if (sparse && may_reseed(t)) {
        bf_status status =
            rebuild(context, t, rows, t->slots.regions, bf_hash_next_seed(t->slots.seed), &full);
        if (status != BF_OK || !full) return status;
    }
    if (regions <= t->slots.regions) regions = 2 * (uint64_t)t->slots.regions;
    return resize(context, t, rows, regions);
}

bf_status bf_cuda_table_absorb(bf_context *context, bf_cuda_table *t, const bf_cuda_rows *rows) {
    int64_t keys = t->keys + rows->n;
    bool full = false, far = false;
    bf_status status = BF_OK;
    if (keys > room_of(t)) {
        status = estimate(context, t, rows, &keys);
        if (status == BF_OK && keys > room_of(t)) return grow(context, t, rows, keys);
    }
    if (status == BF_OK) status = insert_rows(context, t, rows, &full, &far);
    if (status != BF_OK) return status;
    if (full) return grow(context, t, rows, keys);
    if (far) heal(context, t);
    return BF_OK;
}

bf_status bf_cuda_table_collect(bf_context *context, const bf_cuda_table *t, void **entries) {
    size_t bytes = (size_t)t->keys * 2 * (size_t)t->loops->word;
    uint32_t *offsets =
        (uint32_t *)bf_cuda_alloc(context, ((size_t)t->slots.regions + 1) * sizeof *offsets);
    void *memory = offsets != NULL ? bf_cuda_alloc(context, 2 * bytes) : NULL;
    bf_status status = memory == NULL ? BF_E_MEMORY : BF_OK;
    if (status == BF_OK) {
        cudaError_t error = t->loops->collect(context->cuda, &t->slots, offsets, memory);
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "a table's entries");
    }
    bf_cuda_free(context, offsets);
    if (status == BF_OK)
        *entries = memory;
    else
        bf_cuda_free(context, memory);
    return status;
}
