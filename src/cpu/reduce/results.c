/* The results of slots, finished straight from their words. */
#include "cpu/reduce/accumulators.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

static bf_layout band_layout(const bf_band *band) {
    return bf_layout_make(band->words, band->layout.exponent + 32 * band->first);
}

static ALWAYS_INLINE bf_band_sums sums_of(const bf_accumulators *a, const bf_accumulator_column *c,
                                          bf_kind kind, size_t slot) {
    const int64_t *record = bf_record(a, slot);
    const bf_band *sum = &c->bands[BF_BAND_SUM], *products = &c->bands[BF_BAND_PRODUCTS];
    bf_band_sums g = {.sum = record + sum->at,
                      .products = record + products->at,
                      .sum_layout = band_layout(sum),
                      .products_layout = band_layout(products),
                      .words = true};
    bf_accumulator_column_counts(c, slot, kind, bf_rows_of(a, slot), g.counts);
    return g;
}

static ALWAYS_INLINE void finish_floats(const bf_slot_results *r, bf_reduction op, bf_dtype to,
                                        size_t first, size_t n) {
    const bf_accumulator_column *c = &r->from->columns[r->column];
    const bf_kind kind = bf_kind_of(op, c->dtype);
    const int bytes = bf_dtype_bytes(to);
    bf_work work;
    for (size_t i = 0; i < n; i++) {
        const bf_band_sums g = sums_of(r->from, c, kind, first + i);
        const uint64_t bits = bf_band_bits(op, &g, r->options, bf_format_of(to), &work);
        bf_store_bits(r->values + i * (size_t)bytes, bytes, bits);
    }
}

/* The sums of a joint kind as the bands hold them: of fewer limbs than those of a state. */
static bf_parts parts_of_bands(const bf_accumulator_column *c, bf_kind kind) {
    bf_parts p = bf_parts_of(kind, c->dtype);
    p.words = BF_SUM_LIMBS;
    for (int i = 0; i < p.count; i++) {
        const bf_band *band = &c->bands[i];
        p.part[i].layout = band_layout(band);
        p.part[i].layout.limbs = band->words > 0 ? 2 * band->words : 1;
        p.part[i].at = p.words;
        p.words += p.part[i].layout.limbs;
    }
    return p;
}

static void finish_joint(const bf_slot_results *r, size_t first, size_t n) {
    const bf_accumulator_column *c = &r->from->columns[r->column];
    const bf_kind kind = bf_kind_of(r->op, c->dtype);
    const int bytes = bf_dtype_bytes(r->to);
    const bf_parts parts = parts_of_bands(c, kind);
    int64_t words[BF_PARTS_WORDS_MAX + 2 * BF_PARTS_MOST];
    const bf_joint_sums sums = {c->dtype, &parts, words};
    for (size_t i = first; i < first + n; i++) {
        bf_accumulator_column_counts(c, i, kind, bf_rows_of(r->from, i), words);
        for (int k = 0; k < parts.count; k++)
            bf_band_limbs(&c->bands[k], bf_record(r->from, i), 0, parts.part[k].layout.limbs,
                          words + parts.part[k].at);
        bf_store_bits(r->values + (i - first) * (size_t)bytes, bytes,
                      bf_joint_finish(kind, r->op, &sums, r->options, bf_format_of(r->to)));
    }
}

static void finish_integers(const bf_slot_results *r, size_t first, size_t n) {
    const bf_accumulator_column *c = &r->from->columns[r->column];
    const size_t bytes = r->to == BF_I192 ? 24 : (size_t)bf_number_bytes(r->to);
    uint64_t integer[3];
    for (size_t i = 0; i < n; i++) {
        const bf_band_sums g = sums_of(r->from, c, bf_kind_of(r->op, c->dtype), first + i);
        bf_band_integer(r->op, &g, integer);
        memcpy(r->values + i * bytes, integer, bytes);
        if (r->fits != NULL)
            r->fits[i] =
                bf_integer_fits(r->to, integer) && bf_band_integer_fits(r->op, &g, integer);
    }
}

static int64_t nans_of(const bf_accumulator_column *c, size_t slot) {
    return c->specials == NULL ? 0 : c->specials[slot * BF_SPECIALS + BF_SPECIAL_NAN];
}

/* There is no NaN among integers. */
static void finish_wide_extremes(const bf_slot_results *r, size_t first, size_t n) {
    const bf_accumulator_column *c = &r->from->columns[r->column];
    const bool greatest = bf_is_greatest(r->op);
    for (size_t i = 0; i < n; i++) {
        const int64_t *record = bf_record(r->from, first + i);
        const bf_i128 key = bf_wide_key(record + (greatest ? c->greatest_at : c->least_at));
        const bf_i128 x = greatest ? ~key : key;
        memcpy(r->values + i * sizeof x, &x, sizeof x);
    }
}

static void finish_extremes(const bf_slot_results *r, size_t first, size_t n) {
    const bf_accumulator_column *c = &r->from->columns[r->column];
    const bool skip = r->options->nan == BF_NAN_SKIP;
    const int at = bf_is_greatest(r->op) ? c->greatest_at : c->least_at;
    const int bytes = bf_dtype_bytes(r->to);
    for (size_t i = 0; i < n; i++) {
        const int64_t *record = bf_record(r->from, first + i);
        const uint64_t bits =
            bf_extreme_bits(r->op, r->to, record[0], nans_of(c, first + i), record[at], skip);
        bf_store_bits(r->values + i * (size_t)bytes, bytes, bits);
    }
}

static bool any_nan(const bf_accumulator_column *c, size_t first, size_t n) {
    for (size_t i = first; i < first + n && c->specials != NULL; i++)
        if (nans_of(c, i) > 0) return true;
    return false;
}

bool bf_accumulators_finish(const bf_slot_results *r, size_t first, size_t n) {
    const bf_accumulator_column *c = &r->from->columns[r->column];
    if (r->options->nan == BF_NAN_ERROR && any_nan(c, first, n)) return false;
    if (bf_kind_of(r->op, c->dtype) == BF_KIND_EXTREME)
        (c->dtype == BF_I128 ? finish_wide_extremes : finish_extremes)(r, first, n);
    else if (bf_kind_is_joint(bf_kind_of(r->op, c->dtype)))
        finish_joint(r, first, n);
    else if (r->result == BF_I192)
        finish_integers(r, first, n);
    else if (r->op == BF_SUM && r->to == BF_F64) /* by constants: the usual ones */
        finish_floats(r, BF_SUM, BF_F64, first, n);
    else if (r->op == BF_MEAN && r->to == BF_F64)
        finish_floats(r, BF_MEAN, BF_F64, first, n);
    else
        finish_floats(r, r->op, r->to, first, n);
    return true;
}
