/* The loop of accumulators over rows of a joint kind: the factors of some rows are decoded, and
 * then each row is added to the sums of all parts, or to none. Included by accumulate.c. */

enum { FACTORS = 128 };

/* Elements as factors. odd: an infinity or NaN. */
typedef struct factors {
    uint64_t magnitude[FACTORS];
    int32_t position[FACTORS];
    bool negative[FACTORS], odd[FACTORS];
} factors;

/* Compiled with each dtype as a constant. */
static ALWAYS_INLINE void make_factors(bf_dtype dtype, const char *restrict values, int64_t n,
                                       factors *restrict x) {
    const bool is_float = bf_dtype_is_float(dtype);
    const int bytes = bf_dtype_bytes(dtype);
    const bf_format f = bf_format_of(dtype);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = bf_load_bits(values + i * bytes, bytes);
        const bf_finite d = is_float ? bf_decode(f, bits) : bf_decode_integer(dtype, bits);
        x->magnitude[i] = d.magnitude;
        x->position[i] = d.position;
        x->negative[i] = d.negative;
        x->odd[i] = is_float && (bits & ~bf_format_sign(f)) >= bf_format_inf(f);
    }
}

/* The bands of a column, and its rows from one on. */
typedef struct joint_rows {
    const bf_accumulator_column *column;
    unsigned counts;
    place places[BF_PARTS_MOST];
    const uint32_t *slots;
    const char *values, *second; /* second: NULL but of pairs */
    int64_t n;
} joint_rows;

/* Adds a number of n words, without a sign, times 2^position. What is above its words changes only
 * as long as there is a carry, or of a negative number none. */
static ALWAYS_INLINE void add_long(const place *p, size_t slot, const uint64_t *m, int n,
                                   bool negative, uint64_t position) {
    const unsigned shift = position % 64;
    const uint64_t sign = mask_of(negative);
    int64_t *sum = p->sums + slot * p->stride;
    uint64_t carry = negative, below = 0;
    int k = (int)(position / 64);
    for (int i = 0; i <= n && k < p->words; i++, k++) {
        const uint64_t word = i < n ? m[i] : 0;
        const uint64_t x = word << shift | below >> 1 >> (63 - shift);
        const bf_u128 total = (bf_u128)(uint64_t)sum[k] + (x ^ sign) + carry;
        below = word;
        sum[k] = (int64_t)(uint64_t)total;
        carry = (uint64_t)(total >> 64);
    }
    for (; k < p->words && carry != negative; k++) {
        const bf_u128 total = (bf_u128)(uint64_t)sum[k] + sign + carry;
        sum[k] = (int64_t)(uint64_t)total;
        carry = (uint64_t)(total >> 64);
    }
}

/* The parts of a kind are constants where it is one: loops over them are unrolled. */
static ALWAYS_INLINE bf_part part_of(bf_kind kind, int k) {
    const int powers = bf_kind_part(kind, k);
    return (bf_part){.a = powers >> 4, .b = powers & 15};
}

static ALWAYS_INLINE uint64_t power_position(bf_part part, int a, int b) {
    return (uint64_t)(int64_t)(part.a * a + part.b * b);
}

static ALWAYS_INLINE bool is_nothing(bf_part part, uint64_t a, uint64_t b) {
    return (part.a > 0 && a == 0) || (part.b > 0 && b == 0);
}

/* Adds a^i * b^j to its sum. */
static ALWAYS_INLINE void add_power(const place *p, size_t slot, bf_part part, const factors *a,
                                    const factors *b, int64_t i) {
    uint64_t term[BF_FACTORS_MOST] = {0};
    const int length = part.a + part.b;
    term[0] = part.a > 0 ? a->magnitude[i] : b->magnitude[i];
    for (int k = 1; k < length; k++) {
        const uint64_t by = k < part.a ? a->magnitude[i] : b->magnitude[i];
        uint64_t carry = 0;
        for (int w = 0; w <= k; w++) {
            const bf_u128 product = (bf_u128)term[w] * by + carry;
            term[w] = (uint64_t)product;
            carry = (uint64_t)(product >> 64);
        }
    }
    const bool negative =
        (part.a % 2 != 0 && a->negative[i]) != (part.b % 2 != 0 && b->negative[i]);
    add_long(p, slot, term, length, negative,
             power_position(part, a->position[i], b->position[i]) - p->first);
}

/* The counter of row i, which has an infinity or NaN. */
static int odd_word(const joint_rows *r, bf_kind kind, int64_t i) {
    const int bytes = bf_dtype_bytes(r->column->dtype);
    const uint64_t a = bf_load_bits(r->values + i * bytes, bytes);
    const uint64_t b = r->second != NULL ? bf_load_bits(r->second + i * bytes, bytes) : 0;
    return bf_sum_special_joint(kind, bf_format_of(r->column->dtype), a, b);
}

/* Counts row i by its counter. false: there is no memory for it. */
static bool count_odd(const joint_rows *r, bf_kind kind, int word, int64_t i) {
    int special = BF_SPECIAL_NAN;
    while (bf_special_word(kind, special) != word) special++;
    return count_special(r->column, r->slots[i], special);
}

/* Adds n rows, whose factors are a and b. Returns the first that does not fit, or n. Compiled with
 * each kind as a constant. */
static ALWAYS_INLINE int64_t add_joint(const joint_rows *r, bf_kind kind, const factors *a,
                                       const factors *b, int64_t n) {
    const bool counted = (r->counts & BF_COUNT_ROWS) != 0;
    for (int64_t i = 0; i < n; i++) {
        const int word = a->odd[i] || b->odd[i] ? odd_word(r, kind, i) : 0;
        const uint64_t x = word != 0 ? 0 : a->magnitude[i], y = b->magnitude[i];
        bool fits = true;
        if (word != 0 && !bf_sum_keeps_weight(kind, word)) {
            if (!count_odd(r, kind, word, i)) return i;
            if (counted) count_row(&r->places[0], r->slots[i]);
            continue;
        }
#pragma GCC unroll 5
        for (int k = 0; k < BF_PARTS_MOST; k++) {
            const bf_part part = part_of(kind, k);
            const uint64_t position = power_position(part, a->position[i], b->position[i]);
            fits &= is_nothing(part, x, y) || part.a + part.b == 0 ||
                    position - r->places[k].first < r->places[k].end;
        }
        if (!fits || (word != 0 && !count_odd(r, kind, word, i))) return i;
        if (counted) count_row(&r->places[0], r->slots[i]);
#pragma GCC unroll 5
        for (int k = 0; k < BF_PARTS_MOST; k++) {
            const bf_part part = part_of(kind, k);
            if (part.a + part.b > 0 && !is_nothing(part, x, y))
                add_power(&r->places[k], r->slots[i], part, a, b, i);
        }
    }
    return n;
}

static int64_t add_joint_rows(const joint_rows *r, bf_kind kind, const factors *a, const factors *b,
                              int64_t n) {
    switch (kind) {
    case BF_KIND_POWERS: return add_joint(r, BF_KIND_POWERS, a, a, n);
    case BF_KIND_COMOMENTS: return add_joint(r, BF_KIND_COMOMENTS, a, b, n);
    default: return add_joint(r, BF_KIND_WEIGHTED, a, b, n);
    }
}

/* Sets the factors of integers of 128 bits. Returns whether their magnitudes have 64. */
static bool make_factors_narrow(const char *restrict values, int64_t n, factors *restrict x) {
    uint64_t above = 0;
    for (int64_t i = 0; i < n; i++) {
        const bf_i128 value = bf_load_i128(values + 16 * i);
        const bf_u128 magnitude = value < 0 ? 0 - (bf_u128)value : (bf_u128)value;
        above |= (uint64_t)(magnitude >> 64);
        x->magnitude[i] = (uint64_t)magnitude;
        x->position[i] = 0;
        x->negative[i] = value < 0;
        x->odd[i] = false;
    }
    return above == 0;
}

/* Integers of 128 bits that have all of these, by the rules. */
static void add_joint_wide(const joint_rows *r, bf_kind kind) {
    const bf_parts parts = bf_parts_of(kind, BF_I128);
    for (int64_t i = 0; i < r->n; i++) {
        const bf_factor a = bf_factor_of(BF_I128, bf_load_i128(r->values + 16 * i));
        const bf_factor b =
            bf_factor_of(BF_I128, r->second != NULL ? bf_load_i128(r->second + 16 * i) : 0);
        if (r->counts & BF_COUNT_ROWS) count_row(&r->places[0], r->slots[i]);
        for (int k = 0; k < parts.count; k++) {
            const bf_term t = bf_part_term(&parts.part[k], a, b);
            add_long(&r->places[k], r->slots[i], t.word, t.length, t.negative, 0);
        }
    }
}
