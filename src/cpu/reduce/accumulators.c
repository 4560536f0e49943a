/* Accumulators: their memory, which follows the bits that terms need; merging; words of states. */
#include "cpu/reduce/accumulators.h"

#include "base/memory.h"
#include "cpu/reduce/front.h"

enum {
    SAMPLE = 512,    /* values that are looked at before there are slots */
    HEADROOM = 30,   /* a band has this many bits for deposits when it is placed */
    STAGES_LEFT = 8, /* so many stages may not fit a front, and one of so many more */
    BITS_OF_WORD = 64,
    BITS_OF_LIMB = 32
};

/* ---- records --------------------------------------------------------------------------------- */

/* Gives each part of the columns its place in a record. Returns the words of a record. */
static size_t lay_out(bf_accumulators *a) {
    int at = a->uncounted ? 0 : 1;
    for (int c = 0; c < a->count; c++) {
        bf_accumulator_column *column = &a->columns[c];
        for (int b = 0; column->kept >> b != 0; b++) {
            column->bands[b].at = at;
            at += column->bands[b].words;
        }
        column->least_at = at;
        if (column->parts & BF_PART_LEAST) at += bf_key_words(column->dtype);
        column->greatest_at = at;
        if (column->parts & BF_PART_GREATEST) at += bf_key_words(column->dtype);
    }
    return (size_t)at;
}

static void init_column(bf_accumulator_column *c) {
    const bf_parts p = bf_parts_of(bf_bands_kind(c->parts), c->dtype);
    for (int b = 0; b < p.count; b++) c->bands[b] = (bf_band){.layout = p.part[b].layout};
    c->kept = (1u << p.count) - 1;
    if (!bf_part_is_joint(c->parts)) c->kept &= c->parts;
    c->specials = NULL;
    c->front = NULL;
}

void bf_accumulators_init(bf_accumulators *a, bf_accumulator_column *columns, int count) {
    for (int c = 0; c < count; c++) init_column(&columns[c]);
    *a = (bf_accumulators){.count = count, .columns = columns};
    a->stride = lay_out(a);
}

void bf_accumulators_uncount(bf_accumulators *a) {
    a->uncounted = true;
    a->stride = lay_out(a);
}

void bf_accumulators_clear(bf_accumulators *a) {
    for (int c = 0; c < a->count; c++) {
        bf_free(a->columns[c].specials);
        bf_front_free(a->columns[c].front);
    }
    bf_free(a->memory);
    bf_accumulators_init(a, a->columns, a->count);
}

/* Makes so many records, all 0. The accumulators do not free those that they had. */
static bool make_records(bf_accumulators *a, size_t room) {
    size_t bytes;
    if (__builtin_mul_overflow(room, a->stride * sizeof *a->records, &bytes)) return false;
    char *memory = bytes < SIZE_MAX / 4 ? bf_zeros(bytes + BF_CPU_LINE) : NULL;
    if (memory == NULL) return false;
    bf_touch(memory, bytes + BF_CPU_LINE);
    a->memory = memory;
    a->records = (void *)(memory + (BF_CPU_LINE - (uintptr_t)memory % BF_CPU_LINE));
    return true;
}

/* The greatest key. */
static void init_key(const bf_accumulator_column *column, int64_t *key) {
    key[0] = INT64_MAX;
    if (column->dtype == BF_I128) key[1] = -1;
}

/* Sets the keys of records that are 0. */
static void init_keys(bf_accumulators *a, size_t first, size_t end) {
    for (int c = 0; c < a->count; c++) {
        const bf_accumulator_column *column = &a->columns[c];
        for (size_t i = first; i < end && (column->parts & BF_PART_LEAST); i++)
            init_key(column, bf_record(a, i) + column->least_at);
        for (size_t i = first; i < end && (column->parts & BF_PART_GREATEST); i++)
            init_key(column, bf_record(a, i) + column->greatest_at);
    }
}

static bool grow_specials(bf_accumulator_column *c, size_t before, size_t room) {
    const size_t each = BF_SPECIALS * sizeof *c->specials;
    int64_t *specials = bf_resize(c->specials, room * each);
    if (specials == NULL) return false;
    memset(specials + before * BF_SPECIALS, 0, (room - before) * each);
    c->specials = specials;
    return true;
}

bool bf_accumulator_column_hold_specials(bf_accumulator_column *column, size_t room) {
    return column->specials != NULL || grow_specials(column, 0, room);
}

bool bf_accumulators_grow(bf_accumulators *a, size_t room) {
    const bf_accumulators before = *a;
    if (room <= a->room) return true;
    for (int c = 0; c < a->count; c++)
        if (a->columns[c].specials != NULL && !grow_specials(&a->columns[c], before.room, room))
            return false;
    if (!make_records(a, room)) return false;
    if (before.room > 0)
        memcpy(a->records, before.records, before.room * a->stride * sizeof *a->records);
    bf_free(before.memory);
    a->room = room;
    init_keys(a, before.room, room);
    return true;
}

void bf_accumulators_reset(bf_accumulators *a) {
    for (int c = 0; c < a->count; c++) {
        bf_free(a->columns[c].specials);
        a->columns[c].specials = NULL;
    }
    if (a->room > 0) memset(a->records, 0, a->room * a->stride * sizeof *a->records);
    init_keys(a, 0, a->room);
    a->deposits = 0;
}

/* ---- numbers of several words ---------------------------------------------------------------- */

/* Adds a number of n words to another of `words`, from its limb `limb` on. */
static void add_number(int64_t *to, int words, int limb, const int64_t *from, int n) {
    bf_u128 carry = 0;
    uint64_t below = 0;
    const uint64_t above = from[n - 1] < 0 ? ~(uint64_t)0 : 0;
    for (int k = limb / 2, i = 0; k < words; k++, i++) {
        uint64_t word = i < n ? (uint64_t)from[i] : above, x = word;
        if (limb % 2) x = word << BITS_OF_LIMB | below >> BITS_OF_LIMB;
        below = word;
        carry += (bf_u128)(uint64_t)to[k] + x;
        to[k] = (int64_t)(uint64_t)carry;
        carry >>= BITS_OF_WORD;
    }
}

/* ---- bands ----------------------------------------------------------------------------------- */

static void add_band(const bf_band *to, int64_t *record, const bf_band *from,
                     const int64_t *other) {
    if (from->words > 0)
        add_number(record + to->at, to->words, from->first - to->first, other + from->at,
                   from->words);
}

/* Copies the parts of a record in one layout to another, which is empty. */
static void move_record(const bf_accumulators *from, const int64_t *old, const bf_accumulators *to,
                        int64_t *new) {
    if (!from->uncounted) new[0] = old[0];
    for (int c = 0; c < from->count; c++) {
        const bf_accumulator_column *x = &from->columns[c], *y = &to->columns[c];
        for (int b = 0; x->kept >> b != 0; b++) add_band(&y->bands[b], new, &x->bands[b], old);
        const size_t bytes = (size_t)bf_key_words(x->dtype) * sizeof *old;
        if (x->parts & BF_PART_LEAST) memcpy(new + y->least_at, old + x->least_at, bytes);
        if (x->parts & BF_PART_GREATEST) memcpy(new + y->greatest_at, old + x->greatest_at, bytes);
    }
}

/* Lays the records out anew, once a band of the columns has changed. before: what they were. */
static bool move_records(bf_accumulators *a, const bf_accumulators *before) {
    a->stride = lay_out(a);
    if (a->room == 0) return true;
    if (!make_records(a, a->room)) return false;
    for (size_t i = 0; i < a->room; i++)
        move_record(before, bf_record(before, i), a, bf_record(a, i));
    bf_free(before->memory);
    return true;
}

/* Replaces a band of the accumulators by another, which holds it. */
static bool replace_band(bf_accumulators *a, bf_band *band, int first, int words, int top) {
    const size_t bytes = (size_t)a->count * sizeof *a->columns;
    bf_accumulators before = *a;
    before.columns = bf_alloc(bytes);
    if (before.columns == NULL) return false;
    memcpy(before.columns, a->columns, bytes);
    band->first = first;
    band->words = words;
    band->top = top;
    const bool made = move_records(a, &before);
    if (!made) {
        memcpy(a->columns, before.columns, bytes);
        a->stride = before.stride;
    }
    bf_free(before.columns);
    return made;
}

static int most(int a, int b) { return a > b ? a : b; }
static int least(int a, int b) { return a < b ? a : b; }
static int64_t least64(int64_t a, int64_t b) { return a < b ? a : b; }

/* Makes a band hold `deposits` numbers of bits [begin, end) of the layout. What is to spare goes
 * below: the more values, the closer to zero the least of them. */
static bool widen_band(bf_accumulators *a, bf_band *band, int begin, int end, int64_t deposits) {
    const int bits = bf_bit_length((uint64_t)deposits), from = BITS_OF_LIMB * band->first;
    if (band->words > 0) {
        end = most(end, from + band->top);
        if (begin >= from && end - from + bits < BITS_OF_WORD * band->words) {
            band->top = end - from;
            return true;
        }
        begin = least(begin, from);
    }
    begin = begin / BITS_OF_LIMB * BITS_OF_LIMB;
    const int need = end - begin + most(bits, HEADROOM) + 1;
    const int words = (need + BITS_OF_WORD - 1) / BITS_OF_WORD;
    const int spare = (BITS_OF_WORD * words - need) / BITS_OF_LIMB * BITS_OF_LIMB;
    begin = most(0, begin - spare);
    return replace_band(a, band, begin / BITS_OF_LIMB, words, end - begin);
}

/* Makes every band that is in use hold so many deposits. */
static bool widen_bands(bf_accumulators *a, int64_t deposits) {
    for (int c = 0; c < BF_PARTS_MOST * a->count; c++) {
        const bf_accumulator_column *column = &a->columns[c / BF_PARTS_MOST];
        bf_band *band = &a->columns[c / BF_PARTS_MOST].bands[c % BF_PARTS_MOST];
        const int from = BITS_OF_LIMB * band->first;
        if ((column->kept >> c % BF_PARTS_MOST & 1) && band->words > 0 &&
            !widen_band(a, band, from, from + band->top, deposits))
            return false;
    }
    return true;
}

static bool hold_deposits(bf_accumulators *a, int64_t more) {
    if (!widen_bands(a, a->deposits + more)) return false;
    a->deposits += more;
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool bf_accumulators_open(bf_accumulators *a, const bf_accumulate_loops *loops,
                          const uint32_t *slots, int64_t n) {
    if (!hold_deposits(a, n)) return false;
    loops->fetch(a, slots, n);
    if (a->count == 0) loops->count(a, slots, n);
    return true;
}

/* An element as a factor: whether it is zero, infinite or NaN, and else where its last bit is. */
static bool find_bit(bf_dtype dtype, const char *x, int *position) {
    *position = 0;
    if (!bf_dtype_is_float(dtype)) return true;
    const bf_format f = bf_format_of(dtype);
    const uint64_t bits = bf_load_bits(x, bf_dtype_bytes(dtype));
    const uint64_t magnitude = bits & ~bf_format_sign(f);
    if (magnitude == 0 || magnitude >= bf_format_inf(f)) return false;
    *position = bf_decode(f, bits).position;
    return true;
}

/* The bits that the terms of values [i, n) take in band number k; false: they take none, for the
 * caller has changed them meanwhile. A pair with an infinity or NaN takes none. */
static bool measure(const bf_accumulator_column *c, int k, const bf_rows_batch *b, int64_t i,
                    int *begin, int *end) {
    const int bytes = bf_number_bytes(c->dtype);
    const bf_part part = bf_band_part(c->parts, k);
    const int factors = part.a + part.b;
    const bf_format f = bf_format_of(c->dtype);
    const bool is_float = bf_dtype_is_float(c->dtype);
    const int bits = factors * (is_float ? f.fraction + 1 : 8 * bytes);
    *begin = INT32_MAX;
    *end = 0;
    for (; i < b->n; i++) {
        int x = 0, y = 0, at = 0;
        if (part.a > 0 && !find_bit(c->dtype, b->values + i * bytes, &x)) continue;
        if (part.b > 0 && !find_bit(c->dtype, b->second + i * bytes, &y)) continue;
        if (is_float) at = bf_sum_position(f, c->bands[k].layout, part.a * x + part.b * y, factors);
        *begin = least(*begin, at);
        *end = most(*end, at + bits);
    }
    return *begin < *end;
}

/* Makes the bands of a column, in a mask, hold the terms of values [i, n). */
static bool widen_for(bf_accumulators *a, bf_accumulator_column *c, unsigned bands,
                      const bf_rows_batch *b, int64_t i, int64_t deposits) {
    int begin, end;
    for (int k = 0; bands >> k != 0; k++)
        if ((bands >> k & 1) && measure(c, k, b, i, &begin, &end) &&
            !widen_band(a, &c->bands[k], begin, end, deposits))
            return false;
    return true;
}

/* Does a column count this value, or pair, apart? second: NULL but of pairs. */
static bool is_special(const bf_accumulator_column *c, const char *value, const char *second) {
    if (!bf_dtype_is_float(c->dtype)) return false;
    const int bytes = bf_dtype_bytes(c->dtype);
    const bf_format f = bf_format_of(c->dtype);
    const uint64_t x = bf_load_bits(value, bytes);
    if (bf_part_is_joint(c->parts))
        return bf_sum_special_joint(bf_bands_kind(c->parts), f, x,
                                    second != NULL ? bf_load_bits(second, bytes) : 0) != 0;
    return bf_is_nan(f, x) || (c->kept != 0 && (x == bf_format_sign(f) || bf_is_inf(f, x)));
}

static bool is_special_row(const bf_accumulator_column *c, const bf_rows_batch *b, int64_t i) {
    const int64_t at = i * bf_number_bytes(c->dtype);
    return is_special(c, b->values + at, b->second != NULL ? b->second + at : NULL);
}

/* The bands that a part has. */
static unsigned bands_of(const bf_accumulator_column *c, unsigned part) {
    return bf_part_is_joint(part) ? c->kept : part & c->kept;
}

/* Makes the memory that value i needs, at which a loop has stopped. */
static bool make_room(bf_accumulators *a, bf_accumulator_column *c, unsigned part,
                      const bf_rows_batch *b, int64_t i) {
    if (c->specials == NULL && is_special_row(c, b, i))
        return !a->uncounted && bf_accumulator_column_hold_specials(c, a->room);
    return widen_for(a, c, bands_of(c, part), b, i, a->deposits);
}

bool bf_accumulators_hold_front(bf_accumulators *a, bf_accumulator_column *c,
                                const bf_front *front) {
    for (int lane = 0; lane < BF_FRONT_LANES; lane++) {
        const int band = bf_front_band(c, lane);
        if (band < 0) continue;
        const int least = c->bands[band].layout.exponent;
        const int begin = bf_front_unit(front, BF_FRONT_LEVELS - 1, lane) - least;
        const int end = bf_front_unit(front, 0, lane) + BF_FRONT_STEP + 1 - least;
        if (!widen_band(a, &c->bands[band], begin, end, a->deposits)) return false;
    }
    return true;
}

void bf_band_add(const bf_band *band, int64_t *record, int position, int64_t x) {
    const bf_i128 shifted = (bf_i128)((bf_u128)(bf_i128)x << position % BITS_OF_LIMB);
    const int64_t words[] = {(int64_t)shifted, (int64_t)(shifted >> BITS_OF_WORD)};
    add_number(record + band->at, band->words, position / BITS_OF_LIMB - band->first, words, 2);
}

/* Absorbs values [i, n) into a part. */
static bool absorb_part(bf_accumulators *a, const bf_accumulate_loops *loops,
                        bf_accumulator_column *c, unsigned part, unsigned counts,
                        const bf_rows_batch *b, int64_t i) {
    while ((i = loops->absorb(a, c, part, counts, b, i)) < b->n)
        if (!make_room(a, c, part, b, i)) return false;
    return true;
}

/* Absorbs values [i, n) into all parts, the first of which counts. */
static bool absorb_parts(bf_accumulators *a, const bf_accumulate_loops *loops,
                         bf_accumulator_column *c, unsigned counts, const bf_rows_batch *b,
                         int64_t i) {
    for (unsigned part = 1; part <= c->parts; part *= 2) {
        if (!(c->parts & part)) continue;
        if (part >= BF_PART_LEAST && (c->parts & BF_PART_SUM)) break; /* went with the sum */
        if (!absorb_part(a, loops, c, part, counts, b, i)) return false;
        counts = 0;
    }
    return true;
}

/* Absorbs rows into the front, and stages that do not fit it into the records. A front that leaves
 * too many takes no more. */
static bool absorb_with_front(bf_accumulators *a, const bf_accumulate_loops *loops,
                              bf_accumulator_column *c, unsigned counts, const bf_rows_batch *b) {
    int64_t i = 0;
    while (c->front->left <= STAGES_LEFT + c->front->taken / STAGES_LEFT &&
           (i = loops->front(a, c, b, i)) < b->n) {
        bf_rows_batch some = *b;
        some.n = least64(b->n, i + BF_FRONT_STAGE);
        if (!absorb_parts(a, loops, c, counts, &some, i)) return false;
        c->front->left++;
        i = some.n;
    }
    return absorb_parts(a, loops, c, counts, b, i);
}

bool bf_accumulators_absorb(bf_accumulators *a, const bf_accumulate_loops *loops, int column,
                            const bf_rows_batch *b) {
    bf_accumulator_column *c = &a->columns[column];
    unsigned counts = BF_COUNT_SPECIALS;
    if (column == 0 && !a->uncounted) counts |= BF_COUNT_ROWS;
    return c->front != NULL ? absorb_with_front(a, loops, c, counts, b)
                            : absorb_parts(a, loops, c, counts, b, 0);
}

bool bf_accumulator_column_expects_specials(const bf_accumulator_column *c, const char *values,
                                            int64_t n) {
    const int bytes = bf_number_bytes(c->dtype);
    for (int64_t i = 0; i < n; i += n / SAMPLE + 1)
        if (is_special(c, values + i * bytes, NULL)) return true;
    return false;
}

bool bf_accumulators_ready(bf_accumulators *a, int column, const char *values, int64_t n) {
    bf_accumulator_column *c = &a->columns[column];
    const bf_rows_batch b = {.values = values, .n = n};
    bool special = false;
    for (int64_t i = 0; i < n && !special; i++) special = is_special_row(c, &b, i);
    if (special && !bf_accumulator_column_hold_specials(c, a->room)) return false;
    return widen_for(a, c, c->kept, &b, 0, a->deposits + n) && widen_bands(a, a->deposits + n);
}

bool bf_accumulators_expect(bf_accumulators *a, int column, const char *values, const char *second,
                            int64_t n) {
    char sample[2][SAMPLE * 16];
    bf_accumulator_column *c = &a->columns[column];
    const size_t bytes = (size_t)bf_number_bytes(c->dtype);
    bf_rows_batch b = {.values = sample[0], .second = sample[1]};
    for (int64_t i = 0; i < n; i += n / SAMPLE + 1, b.n++) {
        memcpy(sample[0] + (size_t)b.n * bytes, values + (size_t)i * bytes, bytes);
        if (second != NULL)
            memcpy(sample[1] + (size_t)b.n * bytes, second + (size_t)i * bytes, bytes);
    }
    return widen_for(a, c, c->kept, &b, 0, a->deposits);
}

/* ---- merging --------------------------------------------------------------------------------- */

static const bf_accumulator_column *column_of(const bf_accumulators *from, const int map[], int c) {
    return &from->columns[map != NULL ? map[c] : c];
}

static bool widen_for_band(bf_accumulators *into, bf_band *band, const bf_band *from) {
    const int begin = BITS_OF_LIMB * from->first;
    return from->words == 0 || widen_band(into, band, begin, begin + from->top, into->deposits);
}

bool bf_accumulators_prepare(bf_accumulators *into, const bf_accumulators *from, const int map[]) {
    if (!hold_deposits(into, from->deposits)) return false;
    for (int c = 0; c < into->count; c++) {
        bf_accumulator_column *to = &into->columns[c];
        const bf_accumulator_column *x = column_of(from, map, c);
        if (x->specials != NULL && !bf_accumulator_column_hold_specials(to, into->room))
            return false;
        for (int b = 0; to->kept >> b != 0; b++)
            if ((to->kept >> b & 1) && !widen_for_band(into, &to->bands[b], &x->bands[b]))
                return false;
    }
    return true;
}

static void take_least(bf_dtype dtype, int64_t *key, const int64_t *other) {
    if (dtype == BF_I128)
        bf_take_least_wide(key, bf_wide_key(other));
    else if (*other < *key)
        *key = *other;
}

void bf_accumulators_merge(const bf_accumulators *into, size_t i, const bf_accumulators *from,
                           size_t f, const int map[]) {
    int64_t *record = bf_record(into, i);
    const int64_t *other = bf_record(from, f);
    if (!into->uncounted) record[0] += other[0];
    for (int c = 0; c < into->count; c++) {
        const bf_accumulator_column *to = &into->columns[c], *x = column_of(from, map, c);
        for (int b = 0; to->kept >> b != 0; b++)
            if (to->kept >> b & 1) add_band(&to->bands[b], record, &x->bands[b], other);
        if (to->parts & BF_PART_LEAST)
            take_least(to->dtype, record + to->least_at, other + x->least_at);
        if (to->parts & BF_PART_GREATEST)
            take_least(to->dtype, record + to->greatest_at, other + x->greatest_at);
        for (size_t k = 0; k < BF_SPECIALS && x->specials != NULL; k++)
            to->specials[i * BF_SPECIALS + k] += x->specials[f * BF_SPECIALS + k];
    }
}

/* ---- words of states ------------------------------------------------------------------------- */

/* Sets specials to those that words of a state count. */
static void specials_of(bf_kind kind, const int64_t *words, int64_t specials[BF_SPECIALS]) {
    const bool sum = kind != BF_KIND_EXTREME;
    for (int k = 0; k < BF_SPECIALS; k++) specials[k] = sum ? words[bf_special_word(kind, k)] : 0;
    if (!sum) specials[BF_SPECIAL_NAN] = words[BF_EXTREME_NAN];
}

/* The band of part number i of a kind. */
static bf_band *band_of(bf_accumulator_column *c, const bf_part *part, int i) {
    return &c->bands[bf_part_is_joint(c->parts) ? i : part->a - 1];
}

/* Widens a band for the limbs of n states, which stand at `limbs` in each. */
static bool widen_for_limbs(bf_accumulators *a, bf_band *band, const int64_t *limbs, size_t n,
                            size_t each) {
    int first = band->layout.limbs, end = 0, begins, ends;
    for (size_t i = 0; i < n; i++) {
        bf_limbs_span(limbs + i * each, band->layout.limbs, &begins, &ends);
        if (ends > begins) first = least(first, begins);
        end = most(end, ends);
    }
    return end == 0 || widen_band(a, band, BITS_OF_LIMB * first, BITS_OF_LIMB * end, a->deposits);
}

/* Makes all memory that the words of n states need. */
static bool prepare_words(bf_accumulators *a, int column, bf_kind kind, const int64_t *words,
                          size_t n) {
    static const int64_t none[BF_SPECIALS];
    bf_accumulator_column *c = &a->columns[column];
    const size_t each = (size_t)bf_state_words(kind, c->dtype, NULL);
    bool special = false;
    for (size_t i = 0; i < n && !special; i++) {
        int64_t specials[BF_SPECIALS];
        specials_of(kind, words + i * each, specials);
        special = memcmp(specials, none, sizeof none) != 0;
    }
    if (special && !bf_accumulator_column_hold_specials(c, a->room)) return false;
    if (!hold_deposits(a, 1)) return false;
    if (kind == BF_KIND_EXTREME) return true;
    const bf_parts p = bf_parts_of(kind, c->dtype);
    for (int i = 0; i < p.count; i++)
        if (!widen_for_limbs(a, band_of(c, &p.part[i], i), words + p.part[i].at, n, each))
            return false;
    return true;
}

/* Adds carried limbs to a band that holds them. */
static void add_limbs(const bf_band *band, int64_t *record, const int64_t *limbs) {
    int64_t words[BF_LIMBS_MOST / 2 + 1];
    if (band->words == 0) return;
    for (int k = 0; k < band->words; k++) {
        uint64_t word = 0;
        for (int half = 1; half >= 0; half--) {
            const int i = band->first + 2 * k + half, last = band->layout.limbs - 1;
            const uint32_t limb = i <= last ? (uint32_t)limbs[i] : (uint32_t)(limbs[last] >> 31);
            word = word << BITS_OF_LIMB | limb;
        }
        words[k] = (int64_t)word;
    }
    add_number(record + band->at, band->words, 0, words, band->words);
}

static void add_state(const bf_accumulators *a, int column, bf_reduction op, size_t slot,
                      const int64_t *words) {
    bf_accumulator_column *c = &a->columns[column];
    const bf_kind kind = bf_kind_of(op, c->dtype);
    int64_t *record = bf_record(a, slot), specials[BF_SPECIALS];
    specials_of(kind, words, specials);
    for (size_t k = 0; k < BF_SPECIALS && c->specials != NULL; k++)
        c->specials[slot * BF_SPECIALS + k] += specials[k];
    if (kind == BF_KIND_EXTREME) {
        const int64_t key[2] = {words[BF_EXTREME_RANK],
                                c->dtype == BF_I128 ? words[BF_EXTREME_LOW] : 0};
        take_least(c->dtype, record + (bf_is_greatest(op) ? c->greatest_at : c->least_at), key);
        return;
    }
    const bf_parts p = bf_parts_of(kind, c->dtype);
    for (int i = 0; i < p.count; i++)
        add_limbs(band_of(c, &p.part[i], i), record, words + p.part[i].at);
}

bool bf_accumulators_add_words(bf_accumulators *a, int column, bf_reduction op, size_t first,
                               const int64_t *words, size_t n) {
    const bf_dtype dtype = a->columns[column].dtype;
    const bf_kind kind = bf_kind_of(op, dtype);
    const size_t each = (size_t)bf_state_words(kind, dtype, NULL);
    if (!prepare_words(a, column, kind, words, n)) return false;
    for (size_t i = 0; i < n; i++) add_state(a, column, op, first + i, words + i * each);
    return true;
}

void bf_band_limbs(const bf_band *band, const int64_t *record, int first, int n, int64_t *limbs) {
    for (int i = 0; i < n; i++)
        limbs[i] = bf_band_limb(record + band->at, band->words, true, first + i);
    limbs[n - 1] = (int32_t)limbs[n - 1];
}

void bf_accumulators_words(const bf_accumulators *a, int column, bf_reduction op, size_t slot,
                           int64_t *words) {
    bf_accumulator_column *c = &a->columns[column];
    const bf_kind kind = bf_kind_of(op, c->dtype);
    const int64_t *record = bf_record(a, slot);
    if (kind == BF_KIND_EXTREME) {
        const int64_t nan =
            c->specials != NULL ? c->specials[slot * BF_SPECIALS + BF_SPECIAL_NAN] : 0;
        const int64_t *key = record + (bf_is_greatest(op) ? c->greatest_at : c->least_at);
        bf_extreme_init_of(c->dtype, words);
        if (nan > 0) bf_extreme_take_nan(words, nan, 0);
        if (record[0] > nan && c->dtype == BF_I128)
            bf_extreme_take_i128(words, bf_wide_key(key), 0);
        else if (record[0] > nan)
            bf_extreme_take(words, *key, 0);
        words[BF_EXTREME_COUNT] = record[0];
        return;
    }
    const bf_parts p = bf_parts_of(kind, c->dtype);
    bf_accumulator_column_counts(c, slot, kind, bf_rows_of(a, slot), words);
    for (int i = 0; i < p.count; i++) {
        const bf_band *band = band_of(c, &p.part[i], i);
        bf_band_limbs(band, record, -band->first, band->layout.limbs, words + p.part[i].at);
    }
}
