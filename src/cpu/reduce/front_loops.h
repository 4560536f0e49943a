/* The loop of fronts for AVX-512, and for AVX2 with vectors of two halves. Included by
 * accumulate.c.
 */

#ifdef __AVX512F__
typedef __m512d eight;
static ALWAYS_INLINE eight eight_of(double x) { return _mm512_set1_pd(x); }
static ALWAYS_INLINE eight load_eight(const double *p) { return _mm512_loadu_pd(p); }
static ALWAYS_INLINE void store_eight(double *p, eight x) { _mm512_storeu_pd(p, x); }
static ALWAYS_INLINE eight add_eight(eight x, eight y) { return _mm512_add_pd(x, y); }
static ALWAYS_INLINE eight sub_eight(eight x, eight y) { return _mm512_sub_pd(x, y); }
static ALWAYS_INLINE eight mul_eight(eight x, eight y) { return _mm512_mul_pd(x, y); }
static ALWAYS_INLINE eight round_off(eight x, eight y, eight product) {
    return _mm512_fmsub_pd(x, y, product);
}
#define BLEND(mask, x, y) _mm512_mask_blend_pd(mask, x, y)
#else
typedef struct eight {
    __m256d low, high;
} eight;
static ALWAYS_INLINE eight eight_of(double x) {
    return (eight){_mm256_set1_pd(x), _mm256_set1_pd(x)};
}
static ALWAYS_INLINE eight load_eight(const double *p) {
    return (eight){_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)};
}
static ALWAYS_INLINE void store_eight(double *p, eight x) {
    _mm256_storeu_pd(p, x.low);
    _mm256_storeu_pd(p + 4, x.high);
}
static ALWAYS_INLINE eight add_eight(eight x, eight y) {
    return (eight){_mm256_add_pd(x.low, y.low), _mm256_add_pd(x.high, y.high)};
}
static ALWAYS_INLINE eight sub_eight(eight x, eight y) {
    return (eight){_mm256_sub_pd(x.low, y.low), _mm256_sub_pd(x.high, y.high)};
}
static ALWAYS_INLINE eight mul_eight(eight x, eight y) {
    return (eight){_mm256_mul_pd(x.low, y.low), _mm256_mul_pd(x.high, y.high)};
}
static ALWAYS_INLINE eight round_off(eight x, eight y, eight product) {
    return (eight){_mm256_fmsub_pd(x.low, y.low, product.low),
                   _mm256_fmsub_pd(x.high, y.high, product.high)};
}
#define BLEND(mask, x, y)                                                                          \
    ((eight){_mm256_blend_pd((x).low, (y).low, (mask)&15),                                         \
             _mm256_blend_pd((x).high, (y).high, (mask) >> 4)})
#endif

/* The elements of a stage as doubles. */
typedef struct front_stage {
    double a[BF_FRONT_STAGE], b[BF_FRONT_STAGE];
} front_stage;

/* Sets n elements as doubles. Returns whether each is 0 or within 2^(top - BF_FRONT_RANGE) to
 * 2^top, and none is -0 where the zeros of sums have signs. */
static ALWAYS_INLINE bool take_elements(bf_dtype dtype, bool signs, const char *from, int64_t n,
                                        int top, double *restrict to) {
    const uint64_t most = (uint64_t)(top + 1023) << 52;
    const uint64_t least = (uint64_t)(top - BF_FRONT_RANGE + 1023) << 52;
    uint64_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        double x;
        float narrow;
        uint64_t bits;
        memcpy(&narrow, from + i * 4, dtype == BF_F32 ? 4 : 0);
        memcpy(&x, from + i * 8, dtype == BF_F32 ? 0 : 8);
        if (dtype == BF_F32) x = narrow;
        memcpy(&bits, &x, 8);
        bad |= mask_of(signs && bits == (uint64_t)1 << 63);
        bits &= INT64_MAX;
        bad |= mask_of(bits != 0) & mask_of(bits - least >= most - least);
        to[i] = x;
    }
    return bad == 0;
}

static ALWAYS_INLINE bool take_stage_of(bf_dtype dtype, const bf_front *front,
                                        const bf_rows_batch *b, int64_t i, int64_t n,
                                        front_stage *s) {
    const int64_t at = i * bf_dtype_bytes(dtype);
    if (b->second != NULL)
        return take_elements(dtype, false, b->values + at, n, front->top[0], s->a) &&
               take_elements(dtype, false, b->second + at, n, front->top[1], s->b);
    if (!take_elements(dtype, true, b->values + at, n, front->top[0], s->a)) return false;
    memcpy(s->b, s->a, (size_t)n * sizeof *s->a);
    return true;
}

static bool take_stage(const bf_front *front, bf_dtype dtype, const bf_rows_batch *b, int64_t i,
                       int64_t n, front_stage *s) {
    uint32_t slots = 0;
    for (int64_t k = i; k < i + n; k++) slots |= b->slots[k];
    if (slots >= BF_FRONT_SLOTS) return false;
    return dtype == BF_F64 ? take_stage_of(BF_F64, front, b, i, n, s)
                           : take_stage_of(BF_F32, front, b, i, n, s);
}

/* Adds n rows. */
static ALWAYS_INLINE void add_front(const bf_accumulators *a, const bf_accumulator_column *c,
                                    const uint32_t *slots, const front_stage *s, int64_t n) {
    const bf_front *const front = c->front;
    const eight ones = eight_of(1);
    const eight shift0 = load_eight(front->shift[0]), shift1 = load_eight(front->shift[1]);
    double *const sums = front->sums;
    uint16_t *const rows = front->rows;
    for (int64_t i = 0; i < n; i++) {
        const eight x = eight_of(s->a[i]), y = eight_of(s->b[i]);
        const eight left = BLEND(0x92, x, y), some = BLEND(0xd8, x, y);
        const eight right = BLEND(0x03, some, ones); /* a b a a b a a b by 1 1 a b b a b b */
        const eight product = mul_eight(left, right);
        const eight term = BLEND(0xe0, product, round_off(left, right, product));
        double *const sum = sums + slots[i] * (size_t)(BF_FRONT_LEVELS * BF_FRONT_LANES);
        const eight first = sub_eight(add_eight(term, shift0), shift0);
        const eight rest = sub_eight(term, first);
        const eight second = sub_eight(add_eight(rest, shift1), shift1);
        store_eight(sum, add_eight(load_eight(sum), first));
        store_eight(sum + 8, add_eight(load_eight(sum + 8), second));
        store_eight(sum + 16, add_eight(load_eight(sum + 16), sub_eight(rest, second)));
        if (__builtin_expect(++rows[slots[i]] == BF_FRONT_ROWS, 0)) bf_front_add(a, c, slots[i]);
    }
}

/* Adds rows from i on, stage after stage. Returns the first of the stage that does not fit, or n.
 */
static int64_t absorb_front(const bf_accumulators *a, const bf_accumulator_column *c,
                            const bf_rows_batch *b, int64_t i) {
    front_stage s;
    while (i < b->n) {
        const int64_t n = b->n - i < BF_FRONT_STAGE ? b->n - i : BF_FRONT_STAGE;
        if (!take_stage(c->front, c->dtype, b, i, n, &s)) return i;
        add_front(a, c, b->slots + i, &s, n);
        c->front->taken++;
        i += n;
    }
    return i;
}
