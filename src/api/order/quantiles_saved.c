/* Saved quantiles: what is looked for, and how far a pass is. A place of an element (i128, without
 * its sign) is what the ranges of rules/order/ranges.h are made of. The sections:
 *
 *   "quantiles"           dtype, scale, method, NaN policy, whether there is a value for nothing,
 *                         pass, whether it is done (1) and whether results are whole (2),
 *                         whether places are collected
 *   "empty", "q"          the bits of the value for nothing; the quantiles (f64)
 *   "elements"            those of the first pass, NaNs among them, those of this pass (i64)
 *   "begin", "width"      of each range, its first place and its width
 *   "range", "rank"       of each rank that is wanted, its range (i32) and its number there (i64)
 *   "place"               and its place
 *   "least", "most"       of each range, its least and its most place, if this pass has elements
 *   "words"               and the words of the tally (u64)
 */
#include "api/order/quantiles.h"
#include "api/runtime/enter.h"
#include "api/runtime/saved.h"
#include "base/environment.h"
#include "rules/reduce/result.h"

enum { NUMBERS = 8, PASSES_MOST = 64, WHOLE = 2 /* beside 1, that all is found */ };

/* Whether results have the dtype of integers that others would not have. */
static bool is_whole(const bf_quantiles *q) { return q->to != bf_quantiles_to(q, false); }

static bf_u128 empty_bits(const bf_quantiles *q) {
    if (!q->has_empty) return 0;
    return (bf_u128)q->empty.as.i192[1] << 64 | q->empty.as.i192[0];
}

/* ---- saving ---------------------------------------------------------------------------------- */

static size_t write_quantiles(const bf_quantiles *q, void *out) {
    const int numbers[NUMBERS] = {(int)q->dtype,
                                  q->scale,
                                  (int)q->method,
                                  (int)q->nan,
                                  q->has_empty,
                                  q->pass,
                                  q->done | is_whole(q) * WHOLE,
                                  q->ranges.collect};
    const int64_t elements[] = {q->all, q->nans, q->tally.n};
    const bf_u128 empty = empty_bits(q);
    const int ranks = q->wants.ranks, ranges = q->ranges.count, met = q->tally.n > 0 ? ranges : 0;
    bf_saving s = bf_saving_begin(out, "quantiles", numbers, NUMBERS);
    bf_saving_put(&s, "empty", BF_I128, &empty, 1);
    bf_saving_put(&s, "q", BF_F64, q->q, q->m);
    bf_saving_put(&s, "elements", BF_I64, elements, 3);
    bf_saving_put(&s, "begin", BF_I128, q->ranges.lo, ranges);
    bf_saving_put(&s, "width", BF_I128, q->ranges.width, ranges);
    bf_saving_put(&s, "range", BF_I32, q->wants.range, ranks);
    bf_saving_put(&s, "rank", BF_I64, q->wants.rank, ranks);
    bf_saving_put(&s, "place", BF_I128, q->wants.place, ranks);
    bf_saving_put(&s, "least", BF_I128, q->tally.least, met);
    bf_saving_put(&s, "most", BF_I128, q->tally.most, met);
    bf_saving_put(&s, "words", BF_U64, q->tally.words, q->tally.n > 0 ? q->tally.used : 0);
    return bf_saving_end(&s);
}

size_t bf_quantiles_save_size(const bf_quantiles *quantiles) {
    return quantiles != NULL ? write_quantiles(quantiles, NULL) : 0;
}

bf_status bf_quantiles_save(const bf_quantiles *quantiles, void *buffer) {
    if (quantiles == NULL || buffer == NULL) return BF_E_ARGUMENT;
    bf_quantiles_order(quantiles);
    write_quantiles(quantiles, buffer);
    return BF_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Reads all sections behind the first into q, whose tally has its words. Returns false if there are
 * others, or more elements than there can be. */
static bool get_sections(bf_loading *l, bf_quantiles *q, bf_u128 *empty) {
    int64_t elements[3] = {0};
    bf_ranges *r = &q->ranges;
    bf_wants *w = &q->wants;
    bf_loading_get(l, "empty", BF_I128, empty, 1);
    q->m = (int)bf_loading_take(l, "q", BF_F64, q->q, BF_QUANTILES_MAX);
    bf_loading_get(l, "elements", BF_I64, elements, 3);
    q->all = elements[0];
    q->nans = elements[1];
    q->tally.n = elements[2];
    r->count = (int)bf_loading_take(l, "begin", BF_I128, r->lo, BF_RANGES_MOST);
    bf_loading_get(l, "width", BF_I128, r->width, r->count);
    w->ranks = (int)bf_loading_take(l, "range", BF_I32, w->range, BF_RANGES_MOST);
    bf_loading_get(l, "rank", BF_I64, w->rank, w->ranks);
    bf_loading_get(l, "place", BF_I128, w->place, w->ranks);
    const int met = q->tally.n > 0 ? r->count : 0;
    bf_loading_get(l, "least", BF_I128, q->tally.least, met);
    bf_loading_get(l, "most", BF_I128, q->tally.most, met);
    q->tally.used = bf_loading_take(l, "words", BF_U64, q->tally.words, BF_TALLY_WORDS);
    return bf_loading_end(l);
}

/* Completes what is looked for. Returns false if nobody looks for that. */
static bool set_search(bf_quantiles *q, bf_u128 empty) {
    for (int i = 0; i < q->m; i++)
        if (!(q->q[i] >= 0 && q->q[i] <= 1)) return false;
    const bool whole = q->to == q->dtype;
    q->to = bf_quantiles_to(q, whole);
    if (is_whole(q) != whole) return false; /* results are so without being asked for */
    if (q->has_empty)
        q->empty = q->to == BF_I128 ? bf_value_from_i128((bf_i128)empty)
                                    : bf_value_from_bits(q->to, (uint64_t)empty);
    return (unsigned)q->nan <= BF_NAN_ERROR && empty_bits(q) == empty;
}

static bool begun(const bf_quantiles *q) { return q->pass > 1 || q->done; }

static bool counts_valid(const bf_quantiles *q) {
    const int64_t most = begun(q) ? q->all : BF_COUNT_MAX;
    return q->pass >= 1 && q->pass <= PASSES_MOST && q->all >= 0 && q->all <= BF_COUNT_MAX &&
           q->nans >= 0 && q->nans <= q->all && q->tally.n >= 0 && q->tally.n <= most &&
           (q->nans == 0 || bf_dtype_is_float(q->dtype));
}

/* Completes the ranges. Returns false if they are not ascending and apart, or none of such a pass.
 */
static bool set_ranges(bf_quantiles *q) {
    const bf_u128 last = bf_ranges_last(q->dtype);
    bf_ranges *r = &q->ranges, first;
    const bool collect = r->collect;
    for (int i = 0; i < r->count; i++) {
        if (r->lo[i] > last || r->width[i] > last - r->lo[i]) return false;
        if (i == 0) continue;
        if (r->lo[i] <= r->lo[i - 1] || r->lo[i] - r->lo[i - 1] <= r->width[i - 1]) return false;
    }
    r->dtype = q->dtype;
    bf_ranges_begin(&first, q->dtype);
    if (begun(q)) {
        if (r->count > 0 && first.shift[0] == 0) return false; /* the first pass finds all */
        bf_ranges_divide(r, collect ? 0 : INT64_MAX);
        return r->collect == collect; /* wide places are never collected */
    }
    const bool same = r->count == 1 && r->lo[0] == 0 && r->width[0] == first.width[0];
    *r = first;
    return same && !collect;
}

/* Ranks that are not found ascend, and so do their ranges: the next pass's are made of them. */
static bool wants_ascend(const bf_quantiles *q) {
    const bf_u128 last = bf_ranges_last(q->dtype);
    const bf_wants *w = &q->wants;
    int range_before = -1;
    int64_t rank_before = -1;
    for (int k = 0; k < w->ranks; k++) {
        const int range = w->range[k];
        if (range < -1 || range >= q->ranges.count || w->place[k] > last) return false;
        if (w->rank[k] < 0 || w->rank[k] > BF_COUNT_MAX) return false;
        if (range < 0) continue;
        if (range < range_before || (range == range_before && w->rank[k] <= rank_before))
            return false;
        range_before = range;
        rank_before = w->rank[k];
    }
    return true;
}

/* Does what is wanted belong to what is looked for? */
static bool wants_valid(const bf_quantiles *q) {
    int64_t rank[BF_RANGES_MOST];
    if (!begun(q)) return q->wants.ranks == 0 && q->all == 0;
    if (q->wants.ranks != bf_quantiles_ranks(q, rank)) return false;
    if ((q->ranges.count == 0) != q->done || (q->done && q->tally.n > 0)) return false;
    for (int k = 0; k < q->wants.ranks; k++)
        if (q->done && q->wants.range[k] >= 0) return false;
    return true;
}

static bool is_in_range(const bf_ranges *r, int i, bf_u128 place) {
    return place - r->lo[i] <= r->width[i];
}

/* Adds the elements of the steps of range i to *elements. Returns false if these are too many, or
 * others than its least and its most. */
static bool add_steps(const bf_quantiles *q, int i, int64_t *elements) {
    const int64_t steps = (int64_t)1 << q->ranges.bits, before = *elements;
    const uint64_t *words = q->tally.words + ((int64_t)i << q->ranges.bits);
    for (int64_t s = 0; s < steps; s++) {
        if (words[s] > (uint64_t)(q->tally.n - *elements)) return false;
        *elements += (int64_t)words[s];
    }
    const bf_u128 least = q->tally.least[i], most = q->tally.most[i];
    return *elements == before ||
           (is_in_range(&q->ranges, i, least) && is_in_range(&q->ranges, i, most) && least <= most);
}

/* Are the collected places sorted, and each in a range? */
static bool places_valid(const bf_quantiles *q) {
    const uint64_t *places = q->tally.words;
    int i = 0;
    for (int64_t k = 0; k < q->tally.used; k++) {
        while (i + 1 < q->ranges.count && places[k] >= q->ranges.lo[i + 1]) i++;
        if (!is_in_range(&q->ranges, i, places[k])) return false;
        if (k > 0 && places[k] < places[k - 1]) return false;
    }
    return true;
}

/* Completes the tally. Returns false if no pass has such a one. */
static bool set_tally(bf_quantiles *q) {
    const bf_ranges *r = &q->ranges;
    bf_tally *t = &q->tally, none;
    int64_t elements = 0;
    bf_tally_begin(r, &none);
    const int met = t->n > 0 ? r->count : 0;
    for (int i = met; i < BF_RANGES_MOST; i++) {
        t->least[i] = none.least[i];
        t->most[i] = none.most[i];
    }
    if (t->n == 0) {
        const bool empty = t->used == 0;
        t->used = none.used;
        return empty;
    }
    if (r->collect) return t->used <= t->n && places_valid(q) && q->pass > 1;
    if (t->used != none.used) return false;
    for (int i = 0; i < r->count; i++)
        if (!add_steps(q, i, &elements)) return false;
    return q->pass > 1 || elements == t->n;
}

static bool load_contents(bf_loading *l, bf_quantiles *q) {
    bf_u128 empty = 0;
    return get_sections(l, q, &empty) && set_search(q, empty) && counts_valid(q) && set_ranges(q) &&
           wants_ascend(q) && wants_valid(q) && set_tally(q);
}

/* Sets the numbers of the first section. Errors: BF_E_STATE. */
static bf_status set_numbers(bf_context *context, const int numbers[], bf_quantiles *q) {
    *q = (bf_quantiles){.dtype = (bf_dtype)numbers[0],
                        .scale = numbers[1],
                        .method = (bf_quantile_method)numbers[2],
                        .nan = (bf_nan_policy)numbers[3],
                        .has_empty = numbers[4] != 0,
                        .pass = numbers[5],
                        .done = (numbers[6] & 1) != 0,
                        .ranges.collect = numbers[7] != 0};
    q->to = numbers[6] & WHOLE ? q->dtype : BF_NONE;
    if (bf_number_bytes(q->dtype) == 0)
        return bf_saved_refuse(context, "a dtype that this version does not know");
    if (strcmp(bf_quantile_method_name(q->method), "?") == 0)
        return bf_saved_refuse(context, "a method that this version does not know");
    if (!bf_scale_valid(q->dtype, q->scale)) return bf_saved_refuse(context, "impossible scale");
    const bool flags = (numbers[4] | (numbers[6] & ~WHOLE) | numbers[7] | 1) == 1,
               whole = !(numbers[6] & WHOLE) || bf_scale_valid(q->dtype, 1);
    return flags && whole ? BF_OK : bf_saved_refuse_contents(context);
}

static bf_status load_quantiles(bf_context *context, const void *buffer, size_t size,
                                bf_quantiles **quantiles) {
    int numbers[NUMBERS];
    bf_loading l;
    bf_quantiles header, *q;
    if (quantiles == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the quantiles");
    bf_status status = bf_loading_begin(&l, context, buffer, size, "quantiles", numbers, NUMBERS);
    if (status == BF_OK) status = set_numbers(context, numbers, &header);
    if (status == BF_OK) status = bf_quantiles_allocate(context, &header, &q);
    if (status != BF_OK) return status;
    bf_environment environment = bf_environment_enter();
    const bool valid = load_contents(&l, q);
    bf_environment_leave(environment);
    if (!valid) {
        bf_quantiles_destroy(q);
        return bf_saved_refuse_contents(context);
    }
    *quantiles = q;
    return BF_OK;
}

bf_status bf_quantiles_load(bf_context *context, const void *buffer, size_t size,
                            bf_quantiles **quantiles) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, load_quantiles(context, buffer, size, quantiles));
}
