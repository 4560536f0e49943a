/* Saved histograms: a header, edges, counts, sums, a checksum; all little-endian.
 *
 *   0  "bfhisto" and a newline                16  dtype of the edges (u16), then zeros to
 *   8  version (u32), 1 or 2                  24  number of bins (i64)
 *  12  dtype, dtype of weights (u16 each)     32  bins + 1 edges (i64 or u64 each, if that is their
 *                                                 dtype, else f64)
 *
 *      then the counts of the bins, below, above and NaN (i64 each)
 *      then for each bin the words of its sum of weights, if there are weights (i64 each)
 *      then CRC-64/XZ of all before (u64)
 *
 * Version 1 has a flag in place of a sum's count of -0 (rules/reduce/sum.h). A histogram that
 * merged a part of version 1, whose -0 were not counted, is saved in version 1.
 */
#include "api/runtime/saved.h"
#include "api/histogram/bins.h"
#include "api/histogram/histogram.h"
#include "api/runtime/enter.h"
#include "base/environment.h"
#include "base/memory.h"
#include "rules/histogram/step.h"
#include "rules/reduce/state.h"

enum { HEADER_BYTES = 32, VERSION = 2 };
static const char magic[8] = {'b', 'f', 'h', 'i', 's', 't', 'o', '\n'};

size_t bf_histogram_save_size(const bf_histogram *histogram) {
    if (histogram == NULL) return 0;
    size_t bins = (size_t)histogram->bins.count, sums = bins * (size_t)histogram->sum_words;
    return HEADER_BYTES + 8 * (2 * bins + 1 + BF_BIN_OTHERS + sums) + BF_SAVED_CRC_BYTES;
}

static uint8_t *put_words(uint8_t *out, const void *words, int64_t count) {
    for (int64_t i = 0; i < count; i++, out += 8)
        bf_saved_put(out, bf_load_bits((const char *)words + 8 * i, 8), 8);
    return out;
}

static const uint8_t *get_words(const uint8_t *in, void *words, int64_t count) {
    for (int64_t i = 0; i < count; i++, in += 8)
        bf_store_bits((char *)words + 8 * i, 8, bf_saved_get(in, 8));
    return in;
}

/* Writes the flags of version 1 over the counts of -0 in `out`. */
static void put_flags(uint8_t *out, const bf_histogram *h) {
    out += 8 * BF_SUM_NEG_ZERO;
    for (int64_t i = 0; i < h->bins.count; i++, out += 8 * h->sum_words)
        bf_saved_put(out, (uint64_t)bf_sum_flag(h->sums + i * h->sum_words), 8);
}

bf_status bf_histogram_save(const bf_histogram *histogram, void *buffer) {
    if (histogram == NULL || buffer == NULL) return BF_E_ARGUMENT;
    const bf_histogram *h = histogram;
    uint8_t *out = buffer;
    int64_t bins = h->bins.count;
    bf_saved_begin(out, magic, h->uncounted ? 1 : VERSION);
    bf_saved_put(out + 12, (uint64_t)h->dtype, 2);
    bf_saved_put(out + 14, (uint64_t)h->weights, 2);
    bf_saved_put(out + 16, (uint64_t)h->edges_dtype, 8);
    bf_saved_put(out + 24, (uint64_t)bins, 8);
    const void *edges = h->integers != NULL ? (const void *)h->integers : h->edges;
    out = put_words(out + HEADER_BYTES, edges, bins + 1);
    out = put_words(out, h->counts, bins + BF_BIN_OTHERS);
    put_words(out, h->sums, bins * h->sum_words);
    if (h->uncounted) put_flags(out, h);
    bf_saved_end(buffer, bf_histogram_save_size(h));
    return BF_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Reads edges that are integers. Sets *valid to whether a histogram has such. */
static bf_status read_integers(bf_histogram *h, const uint8_t *in, bool *valid) {
    const bf_dtype dtype = h->edges_dtype;
    uint64_t *edges = bf_alloc(((size_t)h->bins.count + 1) * sizeof *edges);
    if (edges == NULL) return bf_fail(h->context, BF_E_MEMORY, "no memory for edges");
    get_words(in, edges, h->bins.count + 1);
    *valid = bf_integers_increase(dtype, edges, h->bins.count);
    bf_status status = *valid ? bf_histogram_set_integers(h, dtype, edges) : BF_OK;
    bf_free(edges);
    *valid = *valid && h->integers != NULL && h->edges_dtype == dtype;
    return status;
}

static bool edges_valid(const bf_histogram *h) {
    bool given = h->edges_dtype == BF_F64;
    if (!given && h->edges_dtype != bf_edges_dtype(h->dtype)) return false;
    for (int64_t i = 0; !given && i <= h->bins.count; i++)
        if (h->edges[i] != bf_round_to(h->edges_dtype, h->edges[i])) return false;
    return bf_edges_increase(h->edges, h->bins.count);
}

/* Adds the counts to h->total. Returns false if no histogram has such counts. */
static bool counts_valid(bf_histogram *h) {
    int64_t n = h->bins.count;
    for (int64_t i = 0; i < n + BF_BIN_OTHERS; i++) {
        if (h->counts[i] < 0 || h->counts[i] > BF_COUNT_MAX - h->total) return false;
        h->total += h->counts[i];
    }
    return bf_dtype_is_float(h->dtype) || h->counts[n + BF_BIN_NAN] == 0;
}

static bool sums_valid(bf_histogram *h, int version) {
    for (int64_t i = 0; h->sum_words > 0 && i < h->bins.count; i++) {
        int64_t *words = h->sums + i * h->sum_words;
        bool counted = true;
        if (version == 1 && !bf_sum_read_flag(BF_KIND_SUM, h->weights, words, &counted))
            return false;
        h->uncounted |= !counted;
        if (words[BF_SUM_COUNT] != h->counts[i]) return false;
        if (!bf_sum_valid(BF_KIND_SUM, h->weights, words)) return false;
    }
    return true;
}

static bf_status read_edges(bf_histogram *h, const uint8_t *in, bool *valid) {
    if (h->edges_dtype == BF_I64 || h->edges_dtype == BF_U64) return read_integers(h, in, valid);
    get_words(in, h->edges, h->bins.count + 1);
    *valid = edges_valid(h);
    return BF_OK;
}

static bf_status read_contents(bf_histogram *h, const uint8_t *in, int version) {
    bool valid = false;
    bf_environment environment = bf_environment_enter();
    bf_status status = read_edges(h, in, &valid);
    in = get_words(in + 8 * (h->bins.count + 1), h->counts, h->bins.count + BF_BIN_OTHERS);
    get_words(in, h->sums, h->bins.count * h->sum_words);
    valid = valid && counts_valid(h) && sums_valid(h, version);
    bf_environment_leave(environment);
    if (status != BF_OK || valid) return status;
    return bf_saved_refuse(h->context, "impossible contents");
}

/* Reads the header into an empty histogram. */
static bf_status read_header(bf_context *context, const uint8_t *in, size_t size,
                             bf_histogram *header) {
    uint64_t bins = bf_saved_get(in + 24, 8);
    header->dtype = (bf_dtype)bf_saved_get(in + 12, 2);
    header->weights = (bf_dtype)bf_saved_get(in + 14, 2);
    if (bf_dtype_bytes(header->dtype) == 0 ||
        (header->weights != BF_NONE && bf_dtype_bytes(header->weights) == 0))
        return bf_saved_refuse(context, "a dtype that this version does not know");
    uint64_t edges_dtype = bf_saved_get(in + 16, 8);
    if (edges_dtype > BF_F64 || bins < 1 || bins > BF_BINS_MAX)
        return bf_saved_refuse(context, "impossible contents");
    header->edges_dtype = (bf_dtype)edges_dtype;
    header->bins.count = (int64_t)bins;
    if (header->weights != BF_NONE)
        header->sum_words = bf_sum_shape_of(BF_KIND_SUM, header->weights).words;
    return bf_histogram_save_size(header) == size
               ? BF_OK
               : bf_saved_refuse(context, "not the size that its header says");
}

static bf_status load_histogram(bf_context *context, const uint8_t *in, size_t size,
                                bf_histogram **histogram) {
    bf_histogram header = {0}, *h;
    if (in == NULL || histogram == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    bf_status status = bf_saved_check(context, in, &size, HEADER_BYTES, magic, VERSION);
    if (status == BF_OK) status = read_header(context, in, size, &header);
    if (status != BF_OK) return status;
    status = bf_histogram_allocate(context, header.dtype, header.weights, header.bins.count, &h);
    if (status != BF_OK) return status;
    h->edges_dtype = header.edges_dtype;
    status = read_contents(h, in + HEADER_BYTES, bf_saved_version(in));
    if (status != BF_OK) {
        bf_histogram_destroy(h);
        return status;
    }
    bf_histogram_set_bins(h);
    *histogram = h;
    return BF_OK;
}

bf_status bf_histogram_load(bf_context *context, const void *buffer, size_t size,
                            bf_histogram **histogram) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, load_histogram(context, buffer, size, histogram));
}
