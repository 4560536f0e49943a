/* Rows whose keys are many and mostly new become an ordered set: they are sorted, and each run of
 * equal keys is a group. Where there are values, the rows are parted into ranges of ranks that fit
 * the cache, and there the values follow the positions that are sorted with the ranks. */
#include "cpu/group/part.h"
#include "cpu/order/sorting.h"

enum {
    PIECE = 1 << 14,             /* rows whose ranks a worker makes at a time */
    BATCH = BF_GROUP_BATCH / 2,  /* rows that are absorbed at a time */
    RUNS_BATCH = 512,            /* rows whose runs are found at a time */
    SAMPLED = 1 << 14,           /* rows that are looked at before they are sorted */
    SAMPLED_RANGE = SAMPLED / 8, /* so many of the sample are in one range, at most */
    ROW_BYTES = 32 /* what a row takes while its range is sorted: a position, twice as many bytes of
                      scratch memory, a rank */
};

static bf_order_sorter sorter_of_ranks(const bf_context *context, const bf_cpu_groups *g) {
    return bf_order_sorter_of(context, g->rank_bytes == 4 ? BF_U32 : BF_U64, BF_ASCENDING);
}

/* Returns the ranks of a sample, sorted, to be freed. NULL: no memory. Rows are not equally far
 * apart: keys may have a period. */
static char *sample_ranks(const bf_order_sorter *s, const bf_group_rows *r) {
    const bf_cpu_groups *g = r->groups;
    const int64_t bytes = bf_key_bytes(g->key), step = r->n / SAMPLED;
    char *ranks = bf_alloc((size_t)(2 * SAMPLED * s->bytes));
    if (ranks == NULL) return NULL;
    for (int64_t i = 0; i < SAMPLED; i++) {
        const int64_t at = i * step + (int64_t)((uint64_t)i * 0x9e3779b97f4a7c15u >> 32) % step;
        g->loops->rank(g->key, r->keys + at * bytes, 1, ranks + i * s->bytes);
    }
    s->word->sort(&bf_order_no_code, ranks, ranks + SAMPLED * s->bytes, SAMPLED);
    return ranks;
}

/* If r rows have m groups, about r^2 / 2m meet a row of their group. */
bool bf_group_sample_has(bf_context *context, const bf_group_rows *r, int64_t groups) {
    const bf_order_sorter s = sorter_of_ranks(context, r->groups);
    char *ranks = sample_ranks(&s, r);
    if (ranks == NULL) return false;
    const int64_t met = SAMPLED - 1 - s.word->count_steps(ranks + s.bytes, SAMPLED - 1);
    bf_free(ranks);
    return met <= (int64_t)SAMPLED * SAMPLED / 2 / groups;
}

/* ---- sorted rows ----------------------------------------------------------------------------- */

/* Rows of one partition, in the order of their ranks. */
typedef struct sorted_rows {
    const bf_cpu_groups *groups;
    const bf_order_sorter *sorter;
    const char *ranks;
    const char *index; /* where the values of each are; NULL: in their order, or there are none */
    const char *values[BF_GROUP_ARRAYS];
    int64_t n;
} sorted_rows;

static const char *rank_at(const sorted_rows *r, int64_t i) {
    return r->ranks + i * r->sorter->bytes;
}

/* Makes room for the groups of a partition. */
static bool make_room(const sorted_rows *r, bf_group_partition *s) {
    const int64_t size = 1 + r->sorter->word->count_steps(rank_at(r, 1), r->n - 1);
    bf_accumulators *a = &s->accumulators;
    s->ranks = bf_alloc((size_t)(size * r->sorter->bytes));
    if (s->ranks == NULL) return false;
    for (int c = 0; c < r->groups->count; c++)
        if (!bf_accumulators_expect(a, c, r->values[r->groups->array_of[c][0]],
                                    bf_group_second(r->groups, c, r->values), r->n))
            return false;
    if (!bf_accumulators_grow(a, (size_t)size)) return false;
    s->size = s->room = (uint32_t)size;
    return true;
}

/* Counts the rows of each group. */
static void count_rows(const sorted_rows *r, bf_group_partition *s) {
    const size_t bytes = (size_t)r->sorter->bytes;
    char words[8 * (RUNS_BATCH + BF_ORDER_SLACK)];
    int64_t begins[RUNS_BATCH + BF_ORDER_SLACK], begin = 0;
    char *to = s->ranks;
    size_t slot = 0;
    memcpy(to, r->ranks, bytes);
    for (int64_t at = 1; at < r->n; at += RUNS_BATCH) {
        const int64_t some = r->n - at < RUNS_BATCH ? r->n - at : RUNS_BATCH;
        const int64_t found =
            r->sorter->word->steps(rank_at(r, at), some, at, words, (char *)begins);
        memcpy(to + (slot + 1) * bytes, words, (size_t)found * bytes);
        for (int64_t k = 0; k < found; begin = begins[k++])
            *bf_record(&s->accumulators, slot++) = begins[k] - begin;
    }
    *bf_record(&s->accumulators, slot) = r->n - begin;
    s->accumulators.deposits = r->n;
}

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Where a walk over rows is: the rank of the last one, and its group. */
typedef struct walk {
    uint64_t rank;
    uint32_t number;
} walk;

/* Sets the groups of n rows, and writes their ranks. */
static ALWAYS_INLINE void number_as(int bytes, walk *w, const char *ranks, int64_t n, char *to,
                                    uint32_t *numbers) {
    walk at = *w;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t rank = bf_load_bits(ranks + i * bytes, bytes);
        at.number += rank != at.rank;
        at.rank = rank;
        bf_store_bits(to + (size_t)at.number * (size_t)bytes, bytes, rank);
        numbers[i] = at.number;
    }
    *w = at;
}

static void number_rows(int bytes, walk *w, const char *ranks, int64_t n, char *to,
                        uint32_t *numbers) {
    if (bytes == 4)
        number_as(4, w, ranks, n, to, numbers);
    else
        number_as(8, w, ranks, n, to, numbers);
}

/* The values of n rows from `first` on, in order. taken: room for them. */
static const char *take_values(const sorted_rows *r, int bytes, const char *values, int64_t first,
                               int64_t n, char *taken) {
    if (values == NULL || r->index == NULL) return values != NULL ? values + first * bytes : NULL;
    bf_order_take(bytes, values, r->index + 8 * first, n, taken);
    return taken;
}

/* Absorbs the values of a batch of rows from `first` on. Not inlined: its room is on the stack. */
static __attribute__((noinline)) bool absorb_values(const sorted_rows *r, bf_accumulators *a,
                                                    int64_t first, int64_t n,
                                                    const uint32_t *numbers) {
    const bf_cpu_groups *g = r->groups;
    char taken[2][16 * BATCH];
    if (!bf_accumulators_open(a, g->accumulate, numbers, n)) return false;
    for (int c = 0; c < g->count; c++) {
        const int bytes = bf_number_bytes(g->dtypes[c]);
        const char *second = bf_group_second(g, c, r->values);
        const bf_rows_batch b = {
            .slots = numbers,
            .values = take_values(r, bytes, r->values[g->array_of[c][0]], first, n, taken[0]),
            .second = take_values(r, bytes, second, first, n, taken[1]),
            .n = n};
        if (!bf_accumulators_absorb(a, g->accumulate, c, &b)) return false;
    }
    return true;
}

static bool absorb_rows(const sorted_rows *r, bf_group_partition *s) {
    uint32_t numbers[BATCH];
    walk w = {.rank = bf_load_bits(r->ranks, r->sorter->bytes)};
    for (int64_t at = 0; at < r->n; at += BATCH) {
        const int64_t some = r->n - at < BATCH ? r->n - at : BATCH;
        number_rows(r->sorter->bytes, &w, rank_at(r, at), some, s->ranks, numbers);
        if (!absorb_values(r, &s->accumulators, at, some, numbers)) return false;
    }
    return true;
}

/* ---- keys alone: all are sorted, and partitions are shares of them --------------------------- */

typedef struct key_sort {
    const bf_group_rows *rows;
    bf_order_sorter sorter;
    char *ranks, *scratch;
    bf_group_set *set;
} key_sort;

static bf_status make_ranks(void *arg, int worker, int64_t first, int64_t n) {
    const key_sort *x = arg;
    const bf_cpu_groups *g = x->rows->groups;
    (void)worker;
    g->loops->rank(g->key, x->rows->keys + first * bf_key_bytes(g->key), n,
                   x->ranks + first * g->rank_bytes);
    return BF_OK;
}

/* The first row of a partition: where the first run begins in its share of the rows. */
static int64_t partition_begin(const key_sort *x, int64_t partition) {
    const size_t bytes = (size_t)x->sorter.bytes;
    int64_t low = x->rows->n / BF_PARTITIONS * partition, high = x->rows->n;
    if (partition == 0) return 0;
    if (partition == BF_PARTITIONS) return high;
    const char *before = x->ranks + (size_t)(low - 1) * bytes;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (memcmp(x->ranks + (size_t)middle * bytes, before, bytes) == 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bf_status count_partitions(void *arg, int worker, int64_t first, int64_t n) {
    const key_sort *x = arg;
    (void)worker;
    for (int64_t p = first; p < first + n; p++) {
        const int64_t begin = partition_begin(x, p), end = partition_begin(x, p + 1);
        const sorted_rows r = {.groups = x->rows->groups,
                               .sorter = &x->sorter,
                               .ranks = x->ranks + begin * x->sorter.bytes,
                               .n = end - begin};
        if (begin == end) continue;
        if (!make_room(&r, &x->set->partitions[p])) return BF_E_MEMORY;
        count_rows(&r, &x->set->partitions[p]);
    }
    return BF_OK;
}

static bf_status sort_keys(bf_context *context, key_sort *x, int64_t bytes) {
    const int64_t n = x->rows->n;
    const int workers = bf_workers(context, n, BF_ROWS_LEAST);
    x->ranks = bf_order_alloc((size_t)(n * x->sorter.bytes));
    x->scratch = bf_order_alloc(bf_order_divide_bytes(context, &x->sorter, n));
    if (x->ranks == NULL || x->scratch == NULL) return BF_E_MEMORY;
    bf_status status = bf_parallel_watched(context, workers, n, PIECE, bytes / 4, make_ranks, x);
    if (status == BF_OK)
        status = bf_order_divide(context, &x->sorter, bytes / 2, x->ranks, n, x->ranks, x->scratch);
    if (status != BF_OK) return status;
    return bf_parallel_watched(context, workers, BF_PARTITIONS, 1, bytes / 4, count_partitions, x);
}

static bf_status make_counts(bf_context *context, const bf_group_rows *rows, int64_t bytes,
                             bf_group_set *set) {
    key_sort x = {.rows = rows, .sorter = sorter_of_ranks(context, rows->groups), .set = set};
    bf_status status = sort_keys(context, &x, bytes);
    bf_free(x.ranks);
    bf_free(x.scratch);
    return status;
}

/* ---- rows with values: partitions are ranges of ranks, each of which is sorted --------------- */

typedef struct range_sort {
    bf_parting parting;
    bf_order_sorter sorter; /* sorts ranks */
    char *rooms;            /* for the rows of a range, of each worker */
    int64_t room;           /* rows */
    bf_group_set *set;
} range_sort;

/* Sorts the ranks of a range, and sets their positions. A word holds the high bits of a rank above
 * its position. Where these agree, the ranks are most likely equal. */
static void sort_range(sorted_rows *r, char *room) {
    const bf_order_element_loops *element = r->sorter->element;
    const bf_order_code *code = &r->sorter->code;
    char *words = room, *scratch = room + 8 * r->n, *sorted = room + 24 * r->n;
    const bf_order_range range = element->range(code, r->ranks, r->n);
    if (range.differing == 0) return;
    const int bits = bf_bit_length((uint64_t)(r->n - 1));
    const int width = bf_bit_length(range.most - range.least);
    const int shift = width + bits > 64 ? width + bits - 64 : 0;
    element->pack(code, r->ranks, r->n, range.least, shift, bits, 0, words);
    r->sorter->word8->sort(&bf_order_no_code, words, scratch, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const uint64_t word = bf_load_bits(words + 8 * i, 8);
        bf_store_bits(words + 8 * i, 8, word & (((uint64_t)1 << bits) - 1));
    }
    bf_order_take(r->sorter->bytes, r->ranks, words, r->n, sorted);
    if (!element->ordered(code, sorted, r->n))
        bf_order_index(r->sorter, r->ranks, r->n, sorted, words, scratch);
    r->ranks = sorted;
    r->index = words;
}

static bf_status sort_ranges(void *arg, int worker, int64_t first, int64_t n) {
    const range_sort *x = arg;
    const bf_parting *parting = &x->parting;
    const bf_cpu_groups *g = parting->rows->groups;
    for (int64_t p = first; p < first + n; p++) {
        const int64_t begin = parting->begin[p];
        sorted_rows r = {.groups = g,
                         .sorter = &x->sorter,
                         .ranks = parting->ranks + begin * x->sorter.bytes,
                         .n = parting->begin[p + 1] - begin};
        if (r.n == 0) continue;
        for (int c = 0; c < g->arrays; c++)
            r.values[c] = parting->values[c] + begin * bf_number_bytes(g->array_dtypes[c]);
        sort_range(&r, x->rooms + worker * x->room * ROW_BYTES);
        bf_group_partition *s = &x->set->partitions[p];
        if (!make_room(&r, s) || !absorb_rows(&r, s)) return BF_E_MEMORY;
    }
    return BF_OK;
}

static bool make_rooms(range_sort *x, int workers) {
    const int64_t *begin = x->parting.begin;
    for (int p = 0; p < BF_PARTITIONS; p++)
        if (begin[p + 1] - begin[p] > x->room) x->room = begin[p + 1] - begin[p];
    x->rooms = bf_order_alloc((size_t)(workers * x->room * ROW_BYTES));
    return x->rooms != NULL;
}

static uint64_t step_of(const bf_group_ranges *ranges, uint64_t rank) {
    return rank < ranges->least ? 0 : (rank - ranges->least) >> ranges->shift;
}

/* Chooses ranges of about as many rows each, by a sorted sample. false: too many rows are near each
 * other. */
static bool choose_ranges(const bf_order_sorter *s, const char *sample, bf_group_ranges *ranges) {
    const int bytes = s->bytes;
    const uint64_t least = bf_load_bits(sample + SAMPLED / BF_PARTITIONS * bytes, bytes);
    const uint64_t most = bf_load_bits(sample + (SAMPLED - SAMPLED / BF_PARTITIONS) * bytes, bytes);
    const int width = bf_bit_length(most - least), steps = bf_bit_length(BF_RANGE_STEPS - 1);
    int64_t i = 0, begin = 0;
    *ranges = (bf_group_ranges){.least = least, .shift = width > steps ? width - steps : 0};
    for (uint64_t k = 0; k < BF_RANGE_STEPS; k++) {
        ranges->of[k] = (uint8_t)((i < SAMPLED ? i : SAMPLED - 1) * BF_PARTITIONS / SAMPLED);
        if (k > 0 && ranges->of[k] != ranges->of[k - 1]) begin = i;
        while (i < SAMPLED && (k == BF_RANGE_STEPS - 1 ||
                               step_of(ranges, bf_load_bits(sample + i * bytes, bytes)) <= k))
            i++;
        if (i - begin > SAMPLED_RANGE) return false;
    }
    return true;
}

static bf_status run_ranges(bf_context *context, range_sort *x, int64_t bytes) {
    bf_group_ranges ranges;
    bf_parting *parting = &x->parting;
    const int workers = bf_workers(context, parting->n, BF_ROWS_LEAST);
    char *sample = sample_ranks(&x->sorter, parting->rows);
    const bool chosen = sample != NULL && choose_ranges(&x->sorter, sample, &ranges);
    bf_free(sample);
    parting->pieces = 4 * workers;
    parting->ranges = &ranges;
    if (!chosen || !bf_parting_open(parting, parting->n)) return BF_E_MEMORY;
    bf_status status = bf_parting_run(context, workers, parting, bytes / 2);
    if (status != BF_OK) return status;
    if (!make_rooms(x, workers)) return BF_E_MEMORY;
    return bf_parallel_watched(context, workers, BF_PARTITIONS, 1, bytes / 2, sort_ranges, x);
}

static bf_status make_sums(bf_context *context, const bf_group_rows *rows, int64_t bytes,
                           bf_group_set *set) {
    range_sort x = {.parting = {.rows = rows, .n = rows->n},
                    .sorter = sorter_of_ranks(context, rows->groups),
                    .set = set};
    bf_status status = run_ranges(context, &x, bytes);
    bf_parting_close(&x.parting);
    bf_free(x.rooms);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

bf_status bf_group_set_sort(bf_context *context, const bf_group_rows *rows, int64_t bytes,
                            bf_group_set *set) {
    const bf_cpu_groups *g = rows->groups;
    if (!bf_group_set_create(g, BF_PARTITION_BITS, set)) return BF_E_MEMORY;
    set->ordered = true;
    bf_status status = g->count == 0 ? make_counts(context, rows, bytes, set)
                                     : make_sums(context, rows, bytes, set);
    if (status != BF_OK) bf_group_set_destroy(g, set);
    return status;
}
