/* For the tests of many results at once: what each of them is, from the elements that it takes, by
 * MPFR and plain comparisons; arrays of any strides; random problems. */
#ifndef BITFOLD_TESTS_AXIS_MANY_H
#define BITFOLD_TESTS_AXIS_MANY_H

#include "tests/support/oracle.h"

/* ---- one result ------------------------------------------------------------------------------ */

/* The elements that a result takes, in their order. */
typedef struct elements {
    bf_dtype dtype;
    char *a, *b;     /* b: the other factors of a dot product */
    int64_t *number; /* the index of each */
    int64_t n;
} elements;

typedef struct answer {
    bf_status status; /* BF_OK, BF_E_NAN, BF_E_EMPTY */
    uint64_t bits;
    bool fits;
} answer;

static inline uint64_t element_bits(const elements *e, const char *from, int64_t i) {
    size_t bytes = bf_dtype_size(e->dtype);
    return load_bits(from + (size_t)i * bytes, bytes);
}

static inline double element_float(const elements *e, const char *from, int64_t i) {
    return wide_float(e->dtype, element_bits(e, from, i));
}

static inline bool element_is_nan(const elements *e, int64_t i) {
    if (!is_float(e->dtype)) return false;
    bool nan = isnan(element_float(e, e->a, i));
    return nan || (e->b != NULL && isnan(element_float(e, e->b, i)));
}

static inline int64_t count_nans(const elements *e) {
    int64_t nans = 0;
    for (int64_t i = 0; i < e->n; i++) nans += element_is_nan(e, i);
    return nans;
}

static inline void drop_nans(elements *e) {
    size_t bytes = bf_dtype_size(e->dtype);
    int64_t kept = 0;
    for (int64_t i = 0; i < e->n; i++) {
        if (element_is_nan(e, i)) continue;
        memmove(e->a + (size_t)kept * bytes, e->a + (size_t)i * bytes, bytes);
        if (e->b != NULL) memmove(e->b + (size_t)kept * bytes, e->b + (size_t)i * bytes, bytes);
        e->number[kept++] = e->number[i];
    }
    e->n = kept;
}

static inline uint64_t float_bits(bf_dtype dtype, double x) {
    uint64_t bits = 0;
    float narrow = (float)x;
    if (isnan(x)) return dtype == BF_F64 ? 0x7ff8000000000000u : 0x7fc00000u;
    if (dtype == BF_F64)
        memcpy(&bits, &x, 8);
    else
        memcpy(&bits, &narrow, 4);
    return bits;
}

/* Is a before b in the order of minima? -0 is before +0. */
static inline bool is_before(bf_dtype dtype, uint64_t a, uint64_t b) {
    int unused = 64 - 8 * (int)bf_dtype_size(dtype);
    if (dtype == BF_BOOL) return (a != 0) < (b != 0);
    if (is_float(dtype)) {
        double x = wide_float(dtype, a), y = wide_float(dtype, b);
        return x != y ? x < y : signbit(x) && !signbit(y);
    }
    if (is_signed(dtype)) return (int64_t)(a << unused) < (int64_t)(b << unused);
    return a < b;
}

static inline answer find_extreme(const elements *e, bf_reduction op) {
    bool greatest = op == BF_MAX || op == BF_ARGMAX, number = op == BF_ARGMIN || op == BF_ARGMAX;
    int64_t at = 0;
    if (e->n == 0) return (answer){BF_E_EMPTY, 0, true};
    for (int64_t i = 0; i < e->n; i++) {
        uint64_t x = element_bits(e, e->a, i), y = element_bits(e, e->a, at);
        if (element_is_nan(e, at)) break;
        if (element_is_nan(e, i) ||
            (greatest ? is_before(e->dtype, y, x) : is_before(e->dtype, x, y)))
            at = i;
    }
    uint64_t bits = element_bits(e, e->a, at);
    if (element_is_nan(e, at))
        bits = infinity_bits(e->dtype) | 1ull << (fraction_bits(e->dtype) - 1);
    if (e->dtype == BF_BOOL) bits = bits != 0;
    return (answer){BF_OK, number ? (uint64_t)e->number[at] : bits, true};
}

/* The special value that terms (products, if there are two factors) sum to; 0 if all are finite. */
static inline double special_sum(const elements *e, bool squares) {
    bool nan = false, positive = false, negative = false;
    for (int64_t i = 0; i < e->n && is_float(e->dtype); i++) {
        double x = element_float(e, e->a, i), y = e->b ? element_float(e, e->b, i) : 1;
        if (isfinite(x) && isfinite(y)) continue;
        double product = squares ? x * x : x * y;
        nan |= isnan(product);
        positive |= product > 0;
        negative |= product < 0;
    }
    if (nan || (positive && negative)) return (double)NAN;
    return positive ? (double)INFINITY : negative ? -(double)INFINITY : 0;
}

/* Is every term -0? */
static inline bool all_negative_zero(const elements *e) {
    for (int64_t i = 0; i < e->n; i++) {
        double x = element_float(e, e->a, i), y = e->b ? element_float(e, e->b, i) : 1;
        if (!(x == 0 || y == 0) || signbit(x) == signbit(y)) return false;
    }
    return e->n > 0 && is_float(e->dtype);
}

/* An exact integer as 64 bits, modulo 2^64. */
static inline answer of_integer(mpfr_srcptr x, bool is_signed_result) {
    answer found = {BF_OK, 0, true};
    mpz_t z;
    mpz_init(z);
    mpfr_get_z(z, x, MPFR_RNDN);
    found.fits =
        is_signed_result ? mpfr_fits_intmax_p(x, MPFR_RNDN) : mpfr_fits_uintmax_p(x, MPFR_RNDN);
    mpz_fdiv_r_2exp(z, z, 64);
    found.bits = mpz_get_ui(z);
    mpz_clear(z);
    return found;
}

static inline answer find_sum(const elements *e, bf_reduction op, bf_dtype to, int ddof) {
    bool squares = op == BF_SUMSQ || op == BF_NORM, spread = op == BF_VAR || op == BF_STD;
    double special = special_sum(e, squares || spread);
    answer found = {BF_OK, 0, true};
    if (special != 0) return (answer){BF_OK, float_bits(to, spread ? (double)NAN : special), true};
    exact_sums s;
    exact_init(&s);
    exact_add(&s, e->dtype, e->a, e->b, e->n);
    mpfr_srcptr x = squares ? s.xx : op == BF_DOT ? s.xy : s.x;
    if (!is_float(to)) {
        found = of_integer(x, to == BF_I64);
    } else {
        double result = exact_float(&s, op, ddof, to);
        bool signs = op == BF_SUM || op == BF_MEAN || op == BF_DOT;
        bool zero = signs ? mpfr_zero_p(x) : result == 0;
        if (zero && result == 0) result = signs && all_negative_zero(e) ? -0.0 : 0.0;
        found.bits = float_bits(to, result);
    }
    exact_clear(&s);
    return found;
}

/* Products: of integers by MPFR; of floats, which follow a tree, as bf_reduce gives them. */
static inline answer find_product(bf_context *context, const elements *e, bf_dtype to,
                                  const bf_reduce_options *options) {
    answer found = {BF_OK, 0, true};
    if (is_float(e->dtype)) {
        bf_array array = bf_array_of(e->dtype, e->a, e->n);
        bf_value v;
        found.status = bf_reduce(context, BF_PROD, &array, options, &v);
        if (found.status == BF_OK) memcpy(&found.bits, &v.as, bf_dtype_size(to));
        return found;
    }
    mpfr_t product, x;
    mpfr_init2(product, 64 * (e->n + 1));
    mpfr_init2(x, 64);
    mpfr_set_ui(product, 1, MPFR_RNDN);
    for (int64_t i = 0; i < e->n; i++) {
        get_element(x, e->dtype, e->a, i);
        mpfr_mul(product, product, x, MPFR_RNDN);
    }
    if (is_float(to))
        found.bits = float_bits(to, round_once(product, to));
    else
        found = of_integer(product, to == BF_I64);
    mpfr_clears(product, x, (mpfr_ptr)NULL);
    return found;
}

/* The result of elements, which it may change. */
static inline answer find_answer(bf_context *context, elements *e, bf_reduction op, bf_dtype to,
                                 const bf_reduce_options *options) {
    int64_t nans = count_nans(e);
    answer found;
    if (nans > 0 && options->nan == BF_NAN_ERROR) return (answer){BF_E_NAN, 0, true};
    if (op == BF_PROD) return find_product(context, e, to, options);
    if (options->nan == BF_NAN_SKIP) drop_nans(e);
    if (op == BF_MIN || op == BF_MAX || op == BF_ARGMIN || op == BF_ARGMAX)
        found = find_extreme(e, op);
    else
        found = find_sum(e, op, to, options->ddof);
    if (found.status == BF_E_EMPTY && options->empty != NULL) {
        found.status = BF_OK;
        memcpy(&found.bits, &options->empty->as, bf_dtype_size(to));
    }
    return found;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static inline int64_t pick(uint64_t *seed, int64_t n) {
    return (int64_t)(next_random(seed) % (uint64_t)n);
}

/* An array of this shape, of any strides, in memory of its own: *block, to be freed. zeros: strides
 * may be 0. */
static inline bf_array any_array(bf_dtype dtype, int ndim, const int64_t *shape, bool zeros,
                                 uint64_t *seed, char **block) {
    bf_array a = {.dtype = dtype, .ndim = ndim};
    int order[BF_MAX_DIMS];
    int64_t reach = 1, first = 0;
    bool plain = pick(seed, 2) == 0;
    for (int d = 0; d < ndim; d++) order[d] = ndim - 1 - d;
    for (int d = 0; d < ndim && !plain; d++) {
        int other = (int)pick(seed, ndim), t = order[d];
        order[d] = order[other];
        order[other] = t;
    }
    for (int i = 0; i < ndim; i++) {
        int d = order[i];
        a.shape[d] = shape[d];
        a.strides[d] = plain ? reach : reach + pick(seed, 2) * pick(seed, 3);
        if (zeros && !plain && pick(seed, 8) == 0) {
            a.strides[d] = 0;
            continue;
        }
        if (shape[d] > 0) reach = a.strides[d] * (shape[d] - 1) + reach;
        if (!plain && pick(seed, 4) == 0) {
            if (shape[d] > 0) first += a.strides[d] * (shape[d] - 1);
            a.strides[d] = -a.strides[d];
        }
    }
    size_t bytes = bf_dtype_size(dtype), odd = (size_t)pick(seed, 2);
    *block = malloc((size_t)reach * bytes + 1);
    assert_non_null(*block);
    a.data = *block + odd * (bytes > 1) + (size_t)first * bytes;
    return a;
}

static inline char *element_of(const bf_array *a, const int64_t *at) {
    int64_t place = 0;
    for (int d = 0; d < a->ndim; d++) place += at[d] * a->strides[d];
    return (char *)a->data + place * (int64_t)bf_dtype_size(a->dtype);
}

/* Moves on to the next index of the dimensions of `these`, in C order; false: that was the last. */
static inline bool next_index(const bf_array *a, const bool *these, int64_t *at) {
    for (int d = a->ndim - 1; d >= 0; d--) {
        if (!these[d]) continue;
        if (++at[d] < a->shape[d]) return true;
        at[d] = 0;
    }
    return false;
}

static inline uint64_t special_bits(bf_dtype dtype, uint64_t *seed) {
    uint64_t inf = infinity_bits(dtype), sign = sign_bit(dtype);
    switch (pick(seed, 4)) {
    case 0: return inf | 1 | (next_random(seed) & sign);
    case 1: return inf | sign;
    case 2: return inf;
    default: return sign;
    }
}

/* Fills an array; specials: with some NaN, infinities and -0. */
static inline void fill_array(const bf_array *a, uint64_t *seed) {
    static const bool every[BF_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    int64_t at[BF_MAX_DIMS] = {0}, i = 0;
    uint64_t bits = 0;
    data_kind kind = (data_kind)pick(seed, KIND_COUNT);
    bool specials = is_float(a->dtype) && pick(seed, 4) == 0, zeros = pick(seed, 16) == 0;
    if (bf_array_count(a) == 0) return;
    do {
        bits = random_element(a->dtype, kind, i++, bits, seed);
        if (zeros) bits = is_float(a->dtype) ? sign_bit(a->dtype) : 0;
        if (specials && pick(seed, 20) == 0) bits = special_bits(a->dtype, seed);
        store_bits(element_of(a, at), bf_dtype_size(a->dtype), bits);
    } while (next_index(a, every, at));
}

/* ---- problems -------------------------------------------------------------------------------- */

static inline elements make_elements(bf_dtype dtype, int64_t room, bool pairs) {
    size_t bytes = ((size_t)room + 1) * bf_dtype_size(dtype);
    elements e = {.dtype = dtype, .a = malloc(bytes), .b = pairs ? malloc(bytes) : NULL};
    e.number = malloc(((size_t)room + 1) * sizeof *e.number);
    return e;
}

static inline void add_element(elements *e, const char *a, const char *b, int64_t number) {
    size_t bytes = bf_dtype_size(e->dtype), at = (size_t)e->n * bytes;
    memcpy(e->a + at, a, bytes);
    if (e->b != NULL && b != NULL) memcpy(e->b + at, b, bytes);
    e->number[e->n++] = number;
}

static inline void free_elements(elements *e) {
    free(e->a);
    free(e->b);
    free(e->number);
}

static inline bf_reduction any_op(uint64_t *seed) {
    static const bf_reduction ops[] = {BF_SUM,   BF_SUM,  BF_MEAN, BF_VAR,    BF_STD,
                                       BF_SUMSQ, BF_NORM, BF_MIN,  BF_ARGMIN, BF_ARGMAX,
                                       BF_MAX,   BF_DOT,  BF_PROD};
    return ops[pick(seed, sizeof ops / sizeof *ops)];
}

static inline bf_reduce_options any_options(bf_reduction op, bf_dtype dtype, const bf_value *empty,
                                            uint64_t *seed) {
    bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)pick(seed, 3));
    bool extreme = op >= BF_MIN && op <= BF_ARGMAX;
    o.ddof = (int)pick(seed, 2);
    if (!extreme && pick(seed, 3) == 0 && !(op == BF_PROD && !is_float(dtype)))
        o.out_dtype = pick(seed, 2) ? BF_F32 : BF_F64;
    if (pick(seed, 4) == 0) o.overflow = BF_OVERFLOW_WRAP;
    if (extreme && pick(seed, 2)) o.empty = empty;
    return o;
}

/* A call's outputs, with what they must become. */
typedef struct outputs {
    bf_array values, fits;
    char *values_block, *fits_block;
    answer *answers; /* in C order */
    int64_t count;
    bf_status status; /* what the call returned, given fits or not */
} outputs;

static inline outputs make_outputs(bf_dtype to, int ndim, const int64_t *shape, uint64_t *seed) {
    outputs o = {.status = BF_OK};
    o.values = any_array(to, ndim, shape, false, seed, &o.values_block);
    o.fits = any_array(BF_BOOL, ndim, shape, false, seed, &o.fits_block);
    o.count = bf_array_count(&o.values);
    o.answers = malloc(((size_t)o.count + 1) * sizeof *o.answers);
    return o;
}

static inline void free_outputs(outputs *o) {
    free(o->values_block);
    free(o->fits_block);
    free(o->answers);
}

/* The status of a call with these answers. */
static inline bf_status expected_status(const outputs *o, bool has_fits, bool wraps) {
    for (int64_t i = 0; i < o->count; i++) {
        if (o->answers[i].status != BF_OK) return o->answers[i].status;
        if (!o->answers[i].fits && !has_fits && !wraps) return BF_E_OVERFLOW;
    }
    return BF_OK;
}

/* Overwrites the outputs, so that what a call writes is seen. */
static inline void soil_outputs(const outputs *o) {
    static const bool every[BF_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    int64_t at[BF_MAX_DIMS] = {0};
    for (int64_t i = 0; i < o->count; i++) {
        store_bits(element_of(&o->values, at), bf_dtype_size(o->values.dtype), 0x5a5a5a5a5a5a5a5au);
        *element_of(&o->fits, at) = 0x5a;
        (void)next_index(&o->values, every, at);
    }
}

/* Checks what a call wrote: all, or nothing. */
static inline void check_outputs(const outputs *o, bf_status status, bool has_fits) {
    static const bool every[BF_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    int64_t at[BF_MAX_DIMS] = {0};
    size_t bytes = bf_dtype_size(o->values.dtype);
    for (int64_t i = 0; i < o->count; i++) {
        uint64_t found = load_bits(element_of(&o->values, at), bytes), soil = 0x5a5a5a5a5a5a5a5au;
        uint64_t expected = status == BF_OK ? o->answers[i].bits : soil >> (64 - 8 * bytes);
        if (found != expected)
            fail_msg("result %lld is %llx, not %llx", (long long)i, (unsigned long long)found,
                     (unsigned long long)expected);
        uint8_t fits = status == BF_OK && has_fits ? o->answers[i].fits : 0x5a;
        assert_int_equal((uint8_t)*element_of(&o->fits, at), fits);
        (void)next_index(&o->values, every, at);
    }
}

#endif
