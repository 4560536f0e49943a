/* Fronts: opened by a sample, and added to the records. */
#include "cpu/reduce/front.h"

#include "base/double.h"
#include "base/memory.h"

enum { SAMPLE = 512, SPARE = 2 /* powers of two above the sample */ };

/* Does a column have a front's lanes? */
static bool has_front(const bf_accumulator_column *c) {
    const bool moments = c->parts == (BF_PART_SUM | BF_PART_PRODUCTS);
    return (moments || bf_bands_kind(c->parts) == BF_KIND_COMOMENTS) &&
           (c->dtype == BF_F64 || c->dtype == BF_F32);
}

/* Sets *top to a power of two above the sample. False: there is no such sample. */
static bool find_top(bf_dtype dtype, const char *values, int64_t n, int *top) {
    const bf_format f = bf_format_of(dtype);
    const int bytes = bf_dtype_bytes(dtype);
    int most = INT32_MIN;
    for (int64_t i = 0; i < n; i += n / SAMPLE + 1) {
        const uint64_t bits = bf_load_bits(values + i * bytes, bytes) & ~bf_format_sign(f);
        if (bits >= bf_format_inf(f)) return false;
        const bf_finite d = bf_decode(f, bits);
        const int at = d.position + bf_format_least(f) + bf_bit_length(d.magnitude);
        if (d.magnitude != 0 && at > most) most = at;
    }
    *top = most + SPARE;
    return most > INT32_MIN;
}

/* Are units and sums within the range of doubles and of the limbs? */
static bool are_held(const bf_front *front, bf_dtype dtype) {
    for (int lane = 0; lane < BF_FRONT_LANES; lane++) {
        const int least = bf_layout_of(dtype, lane < 2 ? 1 : 2).exponent;
        const int unit = bf_front_unit(front, BF_FRONT_LEVELS - 1, lane);
        if (unit < least || unit < -1000 || bf_front_unit(front, 0, lane) > 900) return false;
    }
    return true;
}

static bf_front *make_front(const bf_accumulators *a, const bf_accumulator_column *c,
                            const char *values, const char *second, int64_t n) {
    const size_t doubles = (size_t)BF_FRONT_SLOTS * BF_FRONT_LEVELS * BF_FRONT_LANES;
    bf_front *front = bf_calloc(1, sizeof *front);
    if (front == NULL) return NULL;
    if (find_top(c->dtype, values, n, &front->top[0]) &&
        find_top(c->dtype, second, n, &front->top[1]) && are_held(front, c->dtype)) {
        front->memory = bf_zeros(doubles * sizeof(double) + BF_CPU_LINE);
        front->rows = bf_calloc(BF_FRONT_SLOTS, sizeof *front->rows);
    }
    if (front->memory == NULL || front->rows == NULL) {
        bf_front_free(front);
        return NULL;
    }
    const uintptr_t past = (uintptr_t)front->memory % BF_CPU_LINE;
    front->sums = (void *)((char *)front->memory + (BF_CPU_LINE - past));
    front->counted = c == a->columns;
    for (int level = 0; level < BF_FRONT_LEVELS - 1; level++)
        for (int lane = 0; lane < BF_FRONT_LANES; lane++)
            front->shift[level][lane] =
                1.5 * bf_power_of_two(bf_front_unit(front, level, lane) + 52);
    return front;
}

void bf_front_open(bf_accumulators *a, const bf_accumulate_loops *loops, int column,
                   const char *values, const char *second, int64_t n) {
    bf_accumulator_column *c = &a->columns[column];
    if (loops->front == NULL || !has_front(c) || n == 0) return;
    bf_front *front = make_front(a, c, values, second != NULL ? second : values, n);
    if (front != NULL && !bf_accumulators_hold_front(a, c, front)) {
        bf_front_free(front);
        front = NULL;
    }
    c->front = front;
}

void bf_front_add(const bf_accumulators *a, const bf_accumulator_column *c, size_t slot) {
    bf_front *front = c->front;
    int64_t *record = bf_record(a, slot);
    double *sum = front->sums + slot * BF_FRONT_LEVELS * BF_FRONT_LANES;
    for (int level = 0; level < BF_FRONT_LEVELS; level++) {
        for (int lane = 0; lane < BF_FRONT_LANES; lane++, sum++) {
            if (bf_front_band(c, lane) < 0) continue;
            const bf_band *band = &c->bands[bf_front_band(c, lane)];
            const int unit = bf_front_unit(front, level, lane);
            const int64_t whole = (int64_t)(*sum * bf_power_of_two(-unit));
            bf_band_add(band, record, unit - band->layout.exponent, whole);
            *sum = 0;
        }
    }
    if (front->counted) record[0] += front->rows[slot];
    front->rows[slot] = 0;
}

void bf_fronts_close(bf_accumulators *a) {
    for (int k = 0; k < a->count; k++) {
        bf_accumulator_column *c = &a->columns[k];
        for (size_t i = 0; c->front != NULL && i < BF_FRONT_SLOTS; i++)
            if (c->front->rows[i] > 0) bf_front_add(a, c, i);
        bf_front_free(c->front);
        c->front = NULL;
    }
}

void bf_front_free(bf_front *front) {
    if (front == NULL) return;
    bf_free(front->rows);
    bf_free(front->memory);
    bf_free(front);
}
