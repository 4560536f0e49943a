/* Rows by region, in order: one partition into parts of some regions each, then a block for each
 * part makes the lists. Where some keys have very many rows, these are combined first. */
#ifndef BF_CUDA_TABLE_PARTITIONS_CUH
#define BF_CUDA_TABLE_PARTITIONS_CUH

#include "cuda/runtime/memory.cuh"
#include "cuda/table/combine.cuh"
#include "cuda/table/refine.cuh"

namespace bf_cuda_lists_of {

enum {
    DIRECT_BITS = 10, /* of regions that one pass tells apart */
    FIRST_BITS = 8,
    MOST_BITS = 11,
    HOT_ROWS = 16384, /* that a block may have whatever others have */
    HOT_LISTS = 64    /* or parts, at least: fewer are too little work for a GPU */
};

/* How a partition by region goes. */
struct course {
    plan parts;
    uint32_t regions, digits, room; /* room 0: lists are exact */
    uint32_t each;                  /* regions of a part of the first pass; 1: it is the only one */
    size_t list_entries;
};

/* Bits of a digit, for which there is shared memory. */
template <class W> static int most_bits(const bf_cuda *cuda) {
    int bits = MOST_BITS;
    while (shared_bytes<W>(1 << bits) + (sizeof(uint32_t) << bits) > (size_t)cuda->shared) bits--;
    return bits;
}

/* The regions of a part: as many parts as blocks are at work at once, so that all take their parts
 * at the same time, but no more than 8 bits tell apart, where that makes little difference. */
static uint32_t regions_each(uint32_t blocks, uint32_t regions, int most) {
    uint32_t parts = blocks, limit = 1u << FIRST_BITS;
    if (parts > limit && parts < limit + limit / 8) parts = limit;
    uint32_t each = (regions - 1) / parts + 1;
    return each < 1u << most ? each : 1u << most;
}

template <class W> static course course_of(const bf_cuda *cuda, uint32_t regions, uint32_t n) {
    int bits = bf_bit_length(regions - 1), most = most_bits<W>(cuda);
    uint32_t blocks = BLOCKS * (uint32_t)cuda->multiprocessors;
    course c = {plan_of<W>(cuda, n), regions, 0, 0, 1, n};
    if (bits > DIRECT_BITS || bits > most) c.each = regions_each(blocks, regions, most);
    c.digits = (regions - 1) / c.each + 1;
    /* Eight standard deviations more than there are on the average. */
    uint64_t mean = n / regions, deviation = 1;
    while (deviation * deviation < mean) deviation++;
    uint64_t room = mean + 8 * deviation + 16, all = room * regions + tile<W>;
    if (c.each == 1 || mean < 32 || all > ~(uint32_t)0) return c;
    c.room = (uint32_t)room;
    c.list_entries = all;
    return c;
}

/* Rows of one of so many lists, or parts, that take a block longer than all others together. */
static uint32_t most_rows(uint32_t n, uint32_t lists) {
    uint64_t most = (uint64_t)n / (lists > HOT_LISTS ? lists : HOT_LISTS) * 4 + HOT_ROWS;
    return most < ~(uint32_t)0 ? (uint32_t)most : ~(uint32_t)0;
}

template <class W>
static cudaError_t refine(const bf_cuda *cuda, const course &c, const limits &most,
                          const bf_cuda_entry<W> *from, const uint32_t *bases,
                          const bf_cuda_lists *lists, bf_cuda_report *report) {
    lists_to<W> to = {c.regions,    c.each,      c.room, (bf_cuda_entry<W> *)lists->entries,
                      lists->start, lists->count};
    if (c.each > 1) return refine_parts(cuda, c.digits, from, bases, to, most, report);
    direct_kernel<<<(c.regions - 1) / SUM_THREADS + 1, SUM_THREADS, 0, cuda->stream>>>(
        bases, c.regions, most.list, lists->start, lists->count, report);
    return cudaGetLastError();
}

/* --- the first pass --- */

template <class W> static bool is_plain(const bf_cuda_format &f) {
    bool is_unsigned = f.key == BF_U32 || f.key == BF_U64;
    return is_unsigned && f.values == BF_CUDA_VALUES_PLAIN && f.key_bytes == (int)sizeof(W) &&
           f.value_bytes == (int)sizeof(W);
}

template <class W>
static arrays<W> arrays_of(const bf_cuda_table *t, const bf_hash_seed seed,
                           const bf_cuda_rows *rows) {
    arrays<W> source = {t->format, seed, rows->keys, rows->values};
    if (rows->values == NULL) source.format.value_bytes = 0;
    if (rows->values == NULL) source.format.values = BF_CUDA_VALUES_PLAIN;
    return source;
}

template <class W> static part_digit<W> digit_of(const course &c) {
    part_digit<W> digit = {c.regions, ((1u << 31) - 1) / c.each + 1};
    return digit;
}

/* A partition of rows from a source into the parts. */
template <class W, class Source>
static cudaError_t into_parts(const bf_cuda *cuda, const course &c, const Source &source,
                              uint32_t n, const uint32_t *so_many, uint32_t *counts,
                              bf_cuda_entry<W> *out) {
    return run<W>(cuda, c.parts, source, digit_of<W>(c), (int)c.digits, n, so_many, counts, out);
}

template <class W>
static cudaError_t first_pass(const bf_cuda *cuda, const bf_cuda_table *t, const bf_hash_seed seed,
                              const course &c, const bf_cuda_rows *rows, uint32_t *counts,
                              bf_cuda_entry<W> *out) {
    if (rows->entries != NULL) {
        ranked<W> source = {seed, (const bf_cuda_entry<W> *)rows->entries};
        return into_parts<W>(cuda, c, source, rows->n, NULL, counts, out);
    }
    if (is_plain<W>(t->format) && rows->values != NULL) {
        plain_arrays<W> source = {seed, (const W *)rows->keys, (const W *)rows->values};
        return into_parts<W>(cuda, c, source, rows->n, NULL, counts, out);
    }
    return into_parts<W>(cuda, c, arrays_of<W>(t, seed, rows), rows->n, NULL, counts, out);
}

/* The same where equal keys are combined first; `combined` is memory for as many rows, and a number
 * for each part. */
template <class W>
static cudaError_t
first_combined(const bf_cuda *cuda, const bf_cuda_table *t, const bf_hash_seed seed,
               const course &c, const bf_cuda_rows *rows, bf_cuda_combine how,
               bf_cuda_entry<W> *combined, uint32_t *counts, bf_cuda_entry<W> *out) {
    using namespace bf_cuda_combined;
    uint32_t n = rows->n, *so_many = (uint32_t *)(combined + n);
    ranked<W> held = {seed, (const bf_cuda_entry<W> *)rows->entries};
    cudaError_t error =
        rows->entries != NULL
            ? combine<W>(cuda, c.parts, held, n, how, combined, so_many)
            : combine<W>(cuda, c.parts, arrays_of<W>(t, seed, rows), n, how, combined, so_many);
    entries<W> source = {combined};
    if (error != cudaSuccess) return error;
    return into_parts<W>(cuda, c, source, n, so_many, counts, out);
}

/* --- both --- */

/* Memory for the way to the lists: what the first pass leaves, its counts, and combined rows. */
template <class W> struct scratch {
    char *parts, *combined;
    uint32_t *counts;
};

template <class W>
static bf_status take_scratch(bf_context *context, const course &c, uint32_t n, bool combined,
                              scratch<W> *s) {
    size_t entry = sizeof(bf_cuda_entry<W>), rows = c.each > 1 ? n * entry : 0;
    size_t counts = counts_needed(c.parts, (int)c.digits) * sizeof(uint32_t);
    s->combined = NULL;
    s->parts = (char *)bf_cuda_alloc(context, rows + counts);
    if (s->parts == NULL) return BF_E_MEMORY;
    s->counts = (uint32_t *)(s->parts + rows);
    if (!combined) return BF_OK;
    s->combined = (char *)bf_cuda_alloc(context, n * entry + c.parts.parts * sizeof(uint32_t));
    return s->combined == NULL ? BF_E_MEMORY : BF_OK;
}

template <class W>
static bf_status partition(bf_context *context, const bf_cuda_table *table,
                           const bf_cuda_slots *slots, const bf_cuda_rows *rows, bf_cuda_hot hot,
                           bf_cuda_combine how, bf_cuda_lists *lists) {
    const bf_cuda *cuda = context->cuda;
    course c = course_of<W>(cuda, slots->regions, rows->n);
    limits most = {~(uint32_t)0, ~(uint32_t)0};
    if (hot == BF_CUDA_UNLESS_HOT)
        most = {most_rows(rows->n, c.digits), most_rows(rows->n, c.regions)};
    size_t bytes = c.list_entries * sizeof(bf_cuda_entry<W>);
    char *memory = (char *)bf_cuda_alloc(context, bytes + (size_t)c.regions * 8);
    if (memory == NULL) return BF_E_MEMORY;
    lists->memory = lists->entries = memory;
    lists->start = (uint32_t *)(memory + bytes);
    lists->count = lists->start + c.regions;
    scratch<W> s;
    bf_status status = take_scratch<W>(context, c, rows->n, hot == BF_CUDA_COMBINED, &s);
    if (status == BF_OK) {
        bf_cuda_entry<W> *to = (bf_cuda_entry<W> *)(c.each > 1 ? s.parts : memory);
        bf_cuda_entry<W> *combined = (bf_cuda_entry<W> *)s.combined;
        cudaError_t error =
            hot == BF_CUDA_COMBINED
                ? first_combined<W>(cuda, table, slots->seed, c, rows, how, combined, s.counts, to)
                : first_pass<W>(cuda, table, slots->seed, c, rows, s.counts, to);
        const uint32_t *bases = s.counts + (size_t)c.digits * c.parts.parts;
        if (error == cudaSuccess)
            error = refine<W>(cuda, c, most, to, bases, lists, bf_cuda_report_of(context));
        if (error != cudaSuccess) status = bf_cuda_fail(context, error, "sorting rows by region");
    }
    if (status != BF_OK) bf_cuda_free(context, memory);
    bf_cuda_free(context, s.combined);
    bf_cuda_free(context, s.parts);
    return status;
}

} // namespace bf_cuda_lists_of

#endif
