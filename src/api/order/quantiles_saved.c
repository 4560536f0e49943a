/* Saved quantiles: a header, then numbers of 8 bytes, a checksum; all little-endian.
 *
 *   0  "bfquant" and a newline       12  dtype, scale (u8 each), method (u16)
 *   8  version (u32), 1 or 2         16  numbers:
 *
 *      NaN policy; whether there is a value for nothing, its bits; m, q[0..m) (f64)
 *      pass, done; elements and NaNs of the first pass; elements of this one
 *      ranges, whether places are collected; of each range its first place and its width
 *      ranks; of each its range, its number there and its place
 *      if this pass has elements: words; of each range its least and its most place; the words
 *
 *      then CRC-64/XZ of all before (u64)
 *
 * Version 2 has a scale, which is 0 in version 1. Of BF_I128 a place, a width and the bits of the
 * value for nothing are two numbers, the low one first.
 */
#include "api/order/quantiles.h"
#include "api/runtime/enter.h"
#include "api/runtime/saved.h"
#include "base/environment.h"
#include "rules/reduce/result.h"

enum { HEADER_BYTES = 16, VERSION = 1, SCALED = 2, PASSES_MOST = 64 };
static const char magic[8] = {'b', 'f', 'q', 'u', 'a', 'n', 't', '\n'};

/* ---- saving ---------------------------------------------------------------------------------- */

/* Numbers go behind one another; out NULL: they are only counted. */
typedef struct writer {
    uint8_t *out;
    size_t bytes;
} writer;

static void put(writer *w, uint64_t number) {
    if (w->out != NULL) bf_saved_put(w->out + w->bytes, number, 8);
    w->bytes += 8;
}

/* A number of the width of places. */
static void put_place(writer *w, const bf_quantiles *q, bf_u128 place) {
    put(w, (uint64_t)place);
    if (bf_ranges_are_wide(q->dtype)) put(w, (uint64_t)(place >> 64));
}

static bf_u128 empty_bits(const bf_quantiles *q) {
    if (!q->has_empty) return 0;
    return (bf_u128)q->empty.as.i192[1] << 64 | q->empty.as.i192[0];
}

static void put_search(writer *w, const bf_quantiles *q) {
    put(w, (uint64_t)q->nan);
    put(w, q->has_empty);
    put_place(w, q, empty_bits(q));
    put(w, (uint64_t)q->m);
    for (int i = 0; i < q->m; i++) put(w, bf_load_bits(&q->q[i], 8));
}

static void put_pass(writer *w, const bf_quantiles *q) {
    const bf_ranges *r = &q->ranges;
    put(w, (uint64_t)q->pass);
    put(w, q->done);
    put(w, (uint64_t)q->all);
    put(w, (uint64_t)q->nans);
    put(w, (uint64_t)q->tally.n);
    put(w, (uint64_t)r->count);
    put(w, r->collect);
    for (int i = 0; i < r->count; i++) {
        put_place(w, q, r->lo[i]);
        put_place(w, q, r->width[i]);
    }
    put(w, (uint64_t)q->wants.ranks);
    for (int k = 0; k < q->wants.ranks; k++) {
        put(w, (uint64_t)(int64_t)q->wants.range[k]);
        put(w, (uint64_t)q->wants.rank[k]);
        put_place(w, q, q->wants.place[k]);
    }
}

static void put_tally(writer *w, const bf_quantiles *q) {
    const bf_tally *t = &q->tally;
    if (t->n == 0) return;
    put(w, (uint64_t)t->used);
    for (int i = 0; i < q->ranges.count; i++) {
        put_place(w, q, t->least[i]);
        put_place(w, q, t->most[i]);
    }
    for (int64_t i = 0; i < t->used; i++) put(w, t->words[i]);
}

static size_t write_quantiles(const bf_quantiles *q, uint8_t *out) {
    writer w = {out, HEADER_BYTES};
    put_search(&w, q);
    put_pass(&w, q);
    put_tally(&w, q);
    return w.bytes + BF_SAVED_CRC_BYTES;
}

size_t bf_quantiles_save_size(const bf_quantiles *quantiles) {
    return quantiles != NULL ? write_quantiles(quantiles, NULL) : 0;
}

bf_status bf_quantiles_save(const bf_quantiles *quantiles, void *buffer) {
    if (quantiles == NULL || buffer == NULL) return BF_E_ARGUMENT;
    uint8_t *out = buffer;
    bf_quantiles_order(quantiles);
    bf_saved_begin(out, magic, quantiles->scale > 0 ? SCALED : VERSION);
    bf_saved_put(out + 12, (uint64_t)quantiles->dtype, 1);
    bf_saved_put(out + 13, (uint64_t)quantiles->scale, 1);
    bf_saved_put(out + 14, (uint64_t)quantiles->method, 2);
    bf_saved_end(out, write_quantiles(quantiles, out));
    return BF_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *in;
    size_t left; /* bytes */
    bool failed; /* there were not so many, or one was out of its range */
} reader;

static uint64_t get(reader *r) {
    if (r->left < 8) {
        r->failed = true;
        return 0;
    }
    r->left -= 8;
    r->in += 8;
    return bf_saved_get(r->in - 8, 8);
}

static bf_u128 get_place(reader *r, const bf_quantiles *q) {
    const uint64_t low = get(r);
    return bf_ranges_are_wide(q->dtype) ? (bf_u128)get(r) << 64 | low : low;
}

/* A number from 0 to most. */
static int64_t get_to(reader *r, int64_t most) {
    const uint64_t number = get(r);
    if (number <= (uint64_t)most) return (int64_t)number;
    r->failed = true;
    return 0;
}

static void get_search(reader *r, bf_quantiles *q) {
    q->nan = (bf_nan_policy)get_to(r, BF_NAN_ERROR);
    q->has_empty = get_to(r, 1) != 0;
    const bf_u128 empty = get_place(r, q);
    q->m = (int)get_to(r, BF_QUANTILES_MAX);
    for (int i = 0; i < q->m; i++) {
        bf_store_bits(&q->q[i], 8, get(r));
        if (!(q->q[i] >= 0 && q->q[i] <= 1)) r->failed = true;
    }
    q->to = q->m > 0 ? bf_quantile_to(q->dtype, q->method) : bf_median_to(q->dtype);
    if (q->has_empty)
        q->empty = q->to == BF_I128 ? bf_value_from_i128((bf_i128)empty)
                                    : bf_value_from_bits(q->to, (uint64_t)empty);
    if (empty_bits(q) != empty) r->failed = true;
}

/* Ranges are ascending and apart. */
static void get_ranges(reader *r, bf_quantiles *q) {
    const bf_u128 last = bf_ranges_last(q->dtype);
    bf_ranges *ranges = &q->ranges;
    ranges->dtype = q->dtype;
    ranges->count = (int)get_to(r, BF_RANGES_MOST);
    const bool collect = get_to(r, 1) != 0;
    for (int i = 0; i < ranges->count; i++) {
        const bf_u128 lo = get_place(r, q), width = get_place(r, q);
        if (lo > last || width > last - lo) r->failed = true;
        if (i > 0 && lo - ranges->lo[i - 1] <= ranges->width[i - 1]) r->failed = true;
        if (i > 0 && lo <= ranges->lo[i - 1]) r->failed = true;
        ranges->lo[i] = lo;
        ranges->width[i] = width;
    }
    bf_ranges first;
    bf_ranges_begin(&first, q->dtype);
    if (q->pass > 1 || q->done) {
        bf_ranges_divide(ranges, collect ? 0 : INT64_MAX);
        if (ranges->collect != collect) r->failed = true; /* wide places never are */
        return;
    }
    if (collect || ranges->count != 1 || ranges->lo[0] != 0 || ranges->width[0] != first.width[0])
        r->failed = true;
    *ranges = first;
}

/* Ranks that are not found ascend, and so do their ranges: the next pass's are made of them. */
static void get_wants(reader *r, bf_quantiles *q) {
    const bf_u128 last = bf_ranges_last(q->dtype);
    bf_wants *w = &q->wants;
    int64_t range_before = -1, rank_before = -1;
    w->ranks = (int)get_to(r, BF_RANGES_MOST);
    for (int k = 0; k < w->ranks; k++) {
        const int64_t range = (int64_t)get(r);
        if (range < -1 || range >= q->ranges.count) r->failed = true;
        w->range[k] = (int)range;
        w->rank[k] = get_to(r, BF_COUNT_MAX);
        w->place[k] = get_place(r, q);
        if (w->place[k] > last) r->failed = true;
        if (range < 0) continue;
        if (range < range_before || (range == range_before && w->rank[k] <= rank_before))
            r->failed = true;
        range_before = range;
        rank_before = w->rank[k];
    }
}

static void get_pass(reader *r, bf_quantiles *q) {
    q->pass = (int)get_to(r, PASSES_MOST);
    q->done = get_to(r, 1) != 0;
    q->all = get_to(r, BF_COUNT_MAX);
    q->nans = get_to(r, q->all);
    q->tally.n = get_to(r, q->pass > 1 ? q->all : BF_COUNT_MAX);
    get_ranges(r, q);
    get_wants(r, q);
}

/* Does what is wanted belong to what is looked for? */
static bool wants_valid(const bf_quantiles *q) {
    int64_t rank[BF_RANGES_MOST];
    const bool begun = q->pass > 1 || q->done;
    if (q->pass < 1 || (q->nans > 0 && !bf_dtype_is_float(q->dtype))) return false;
    if (!begun) return q->wants.ranks == 0 && q->all == 0;
    if (q->wants.ranks != bf_quantiles_ranks(q, rank)) return false;
    if ((q->ranges.count == 0) != q->done || (q->done && q->tally.n > 0)) return false;
    for (int k = 0; k < q->wants.ranks; k++)
        if (q->done && q->wants.range[k] >= 0) return false;
    return true;
}

static bool is_in_range(const bf_ranges *r, int i, bf_u128 place) {
    return place - r->lo[i] <= r->width[i];
}

/* Reads the steps of range i; adds their elements to *elements. */
static void get_steps(reader *r, bf_quantiles *q, int i, int64_t *elements) {
    const int64_t steps = (int64_t)1 << q->ranges.bits, before = *elements;
    uint64_t *words = q->tally.words + ((int64_t)i << q->ranges.bits);
    for (int64_t s = 0; s < steps && !r->failed; s++) {
        words[s] = (uint64_t)get_to(r, q->tally.n - *elements);
        *elements += (int64_t)words[s];
    }
    if (*elements == before) return;
    const bf_u128 least = q->tally.least[i], most = q->tally.most[i];
    if (!is_in_range(&q->ranges, i, least) || !is_in_range(&q->ranges, i, most) || least > most)
        r->failed = true;
}

/* Reads collected places: sorted ones, each in a range. */
static void get_places(reader *r, bf_quantiles *q) {
    int i = 0;
    for (int64_t k = 0; k < q->tally.used && !r->failed; k++) {
        const uint64_t place = get(r);
        while (i + 1 < q->ranges.count && place >= q->ranges.lo[i + 1]) i++;
        if (!is_in_range(&q->ranges, i, place)) r->failed = true;
        if (k > 0 && place < q->tally.words[k - 1]) r->failed = true;
        q->tally.words[k] = place;
    }
}

static void get_tally(reader *r, bf_quantiles *q) {
    bf_tally *t = &q->tally;
    const int64_t n = t->n;
    bf_tally_begin(&q->ranges, t);
    t->n = n;
    if (n == 0) return;
    const int64_t used = get_to(r, BF_TALLY_WORDS);
    if (q->ranges.collect ? used > n : used != t->used) r->failed = true;
    t->used = q->ranges.collect ? used : t->used;
    for (int i = 0; i < q->ranges.count; i++) {
        t->least[i] = get_place(r, q);
        t->most[i] = get_place(r, q);
    }
    int64_t elements = 0;
    if (q->ranges.collect)
        get_places(r, q);
    else
        for (int i = 0; i < q->ranges.count; i++) get_steps(r, q, i, &elements);
    if (q->pass == 1 && elements != n) r->failed = true;
}

/* Reads all numbers. q has its words. */
static bool read_quantiles(bf_quantiles *q, const uint8_t *in, size_t size) {
    reader r = {in + HEADER_BYTES, size - HEADER_BYTES - BF_SAVED_CRC_BYTES, false};
    get_search(&r, q);
    if (!r.failed) get_pass(&r, q);
    if (!r.failed && wants_valid(q))
        get_tally(&r, q);
    else
        return false;
    return !r.failed && r.left == 0;
}

static bf_status load_quantiles(bf_context *context, const void *buffer, size_t size,
                                bf_quantiles **quantiles) {
    const uint8_t *in = buffer;
    bf_quantiles header = {.m = 0}, *q;
    if (in == NULL || quantiles == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    bf_status status = bf_saved_check(context, in, &size, HEADER_BYTES, magic, SCALED);
    if (status != BF_OK) return status;
    header.dtype = (bf_dtype)bf_saved_get(in + 12, 1);
    header.scale = (int)bf_saved_get(in + 13, 1);
    header.method = (bf_quantile_method)bf_saved_get(in + 14, 2);
    if (bf_number_bytes(header.dtype) == 0)
        return bf_saved_refuse(context, "a dtype that this version does not know");
    if (strcmp(bf_quantile_method_name(header.method), "?") == 0)
        return bf_saved_refuse(context, "a method that this version does not know");
    if ((bf_saved_version(in) == SCALED) != (header.scale > 0) ||
        !bf_scale_valid(header.dtype, header.scale))
        return bf_saved_refuse(context, "impossible scale");
    status = bf_quantiles_allocate(context, &header, &q);
    if (status != BF_OK) return status;
    bf_environment environment = bf_environment_enter();
    const bool valid = read_quantiles(q, in, size);
    bf_environment_leave(environment);
    if (!valid) {
        bf_quantiles_destroy(q);
        return bf_saved_refuse(context, "impossible contents");
    }
    *quantiles = q;
    return BF_OK;
}

bf_status bf_quantiles_load(bf_context *context, const void *buffer, size_t size,
                            bf_quantiles **quantiles) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, load_quantiles(context, buffer, size, quantiles));
}
