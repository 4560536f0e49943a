/* Sums of floats: a block by the loops, in a window that holds the sum so far and the block; where
 * none does, element by element into the words. */
#include "cpu/scan/block.h"

#include "base/double.h"

#include "cpu/runtime/cast.h"
#include "cpu/scan/words.h"

#include <math.h>

enum { BEYOND = 1 << 20 /* any exponent */ };

/* A block as f32 or f64. */
typedef struct floats {
    bf_dtype dtype;
    int bytes;
    bf_format format;
    const char *elements;
    int64_t n;
    char *values; /* elements of the prefix's `to` */
} floats;

static uint64_t load_element(const floats *f, int64_t i) {
    return bf_load_bits(f->elements + i * f->bytes, f->bytes);
}

static floats rest_of(const bf_scanner *s, const floats *f, int64_t at) {
    floats rest = *f;
    rest.elements += at * f->bytes;
    rest.values += at * bf_dtype_bytes(s->prefix->to);
    rest.n -= at;
    return rest;
}

static void store_result(const bf_scanner *s, const floats *f, int64_t i, uint64_t bits) {
    const int bytes = bf_dtype_bytes(s->prefix->to);
    bf_store_bits(f->values + i * bytes, bytes, bits);
}

/* ---- the words ------------------------------------------------------------------------------- */

static bf_finite decode(double x) { return bf_decode(bf_format_f64(), bf_bits_of_double(x)); }

/* Limbs += x, or -= x. */
static void add_double(const bf_scanner *s, int64_t *words, double x, bool subtract) {
    const bf_layout layout = bf_layout_sum(s->prefix->dtype);
    const bf_finite d = decode(x);
    if (d.magnitude == 0) return;
    const int zeros = __builtin_ctzll(d.magnitude);
    const int position = d.position + bf_format_least(bf_format_f64()) + zeros - layout.exponent;
    bf_limbs_add(words + BF_SUM_LIMBS, position, d.magnitude >> zeros, d.negative != subtract);
    bf_sum_carry(BF_KIND_SUM, s->prefix->dtype, words);
}

static double round_to_unit(double x, int exponent) {
    return ldexp(rint(ldexp(x, -exponent)), exponent);
}

/* The sum moves from the window to the words, which have what is left of it. */
static void leave_window(bf_scanner *s) {
    if (!s->windowed) return;
    add_double(s, s->words, s->window.high, false);
    add_double(s, s->words, s->window.low, false);
    s->windowed = false;
}

/* The sum of the words, rounded to f64; infinite if it is too large. */
static double nearest(bf_scanner *s, const int64_t *words) {
    const bf_layout layout = bf_layout_sum(s->prefix->dtype);
    bf_wide *x = &s->buffers->work.x;
    bool negative = bf_wide_from_limbs(x, words + BF_SUM_LIMBS, layout.limbs, layout.exponent);
    if (x->length == 0) return 0;
    return bf_double_of_bits(bf_leading_round(bf_format_f64(), negative, bf_wide_leading(x)));
}

/* Takes a part of the sum that is a double, a multiple of 2^exponent, from the words: 0 once no
 * more of them is. */
static double take_part(bf_scanner *s, int exponent) {
    const double part = round_to_unit(nearest(s, s->words), exponent);
    add_double(s, s->words, part, true);
    return part;
}

/* The sum of the words, rounded to odd. */
static double rest_of_words(bf_scanner *s) {
    int64_t words[BF_SUM_WORDS_MAX];
    const double x = nearest(s, s->words);
    uint64_t bits = bf_bits_of_double(x);
    if (x == 0) return 0;
    memcpy(words, s->words, sizeof words);
    add_double(s, words, x, true);
    const double error = nearest(s, words);
    if (error != 0 && bits % 2 == 0) bits += (error > 0) == (x > 0) ? 1 : -(uint64_t)1;
    return bf_double_of_bits(bits);
}

/* Inlined for formats of elements and results. */
static inline __attribute__((always_inline)) void take_each(const floats *f, bf_scan_words *x,
                                                            bf_format from, bf_format to) {
    const int bytes = bf_format_bits(from) / 8, to_bytes = bf_format_bits(to) / 8;
    const int least = bf_sum_position(from, x->layout, 0, 1);
    const char *p = f->elements, *end = p + f->n * bytes;
    for (char *q = f->values; p < end; p += bytes, q += to_bytes) {
        const bf_finite d = bf_decode(from, bf_load_bits(p, bytes));
        bf_scan_words_add(x, least + d.position, d.magnitude, d.negative);
        bf_store_bits(q, to_bytes, bf_scan_words_round(x, to));
    }
}

/* Finite elements, after something other than -0. */
static void take_exactly(bf_scanner *s, const floats *f) {
    const bf_prefix *p = s->prefix;
    const bf_format f64 = bf_format_f64(), f32 = bf_format_f32(), to = bf_format_of(p->to);
    bf_scan_words x;
    leave_window(s);
    bf_scan_words_open(&x, bf_layout_sum(p->dtype), s->words + BF_SUM_LIMBS);
    if (f->dtype == BF_F64 && p->to == BF_F64)
        take_each(f, &x, f64, f64);
    else if (f->dtype == BF_F32 && p->to == BF_F32)
        take_each(f, &x, f32, f32);
    else
        take_each(f, &x, f->format, to);
    bf_scan_words_close(&x, s->words + BF_SUM_LIMBS);
    s->words[BF_SUM_COUNT] += f->n;
    s->wide = true;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* What a window must hold: |x| < 2^top, multiples of 2^least. */
typedef struct extent {
    int top, least;
} extent;

static void widen(extent *e, bf_finite x, int at, int more) {
    if (x.magnitude == 0) return;
    const int top = at + bf_bit_length(x.magnitude) + more;
    const int least = at + __builtin_ctzll(x.magnitude);
    if (top > e->top) e->top = top;
    if (least < e->least) e->least = least;
}

/* What spans so many bits fits no window. */
enum { WINDOW_BITS = BF_SCAN_GAP + 52 };

/* Measures a block, or as much of it as tells that no window holds it. */
static extent measure(const floats *f) {
    extent e = {-BEYOND, BEYOND};
    for (int64_t i = 0; i < f->n && e.top - e.least < WINDOW_BITS; i++) {
        const bf_finite x = bf_decode(f->format, load_element(f, i));
        widen(&e, x, x.position + bf_format_least(f->format), 10); /* BF_SCAN_BLOCK of them */
    }
    return e;
}

/* The sum so far moves into the window that has this exponent. False: it is too large for it. */
static bool enter_window(bf_scanner *s, int exponent) {
    const int unit = exponent + BF_SCAN_GAP;
    leave_window(s);
    if (!(fabs(nearest(s, s->words)) < ldexp(1, unit + 53))) return false;
    const double high = take_part(s, unit), low = take_part(s, exponent);
    s->window = (bf_scan_window){exponent, high, low, rest_of_words(s)};
    s->windowed = true;
    s->wide = false;
    return true;
}

/* Enters a window that holds the sum so far and the block, about the middle of what it holds. */
static bool find_window(bf_scanner *s, const floats *f) {
    extent e = measure(f);
    leave_window(s);
    const double sum = nearest(s, s->words);
    if (isinf(sum)) return false;
    const int top = sum == 0 ? -BEYOND : ilogb(sum) + 2;
    if (e.top < e.least) e = (extent){0, 0};
    if (e.top < top) e.top = top;
    const int lowest = e.top + 1 - WINDOW_BITS;
    if (lowest > e.least || lowest > BF_SCAN_MOST) return false;
    int exponent = lowest + (e.least - lowest) / 2;
    if (exponent < BF_SCAN_LEAST) exponent = BF_SCAN_LEAST;
    if (exponent > BF_SCAN_MOST) exponent = BF_SCAN_MOST;
    return enter_window(s, exponent);
}

/* Is the sum so far in a window, or can it enter the one that was left last? */
static bool has_window(bf_scanner *s) {
    return s->windowed || (!s->wide && enter_window(s, s->window.exponent));
}

/* Sums the block in the window, which holds the sum so far. */
static bool sum_in_window(bf_scanner *s, const floats *f) {
    const bf_dtype to = s->prefix->to;
    const bf_scan_loops *loops = s->isa->scan;
    const bf_scan_sum_loop loop = f->dtype == BF_F64 ? loops->sum_f64 : loops->sum_f32;
    const bool apart = to != BF_F64 || f->values == f->elements;
    void *results = apart ? (void *)s->buffers->results : f->values;
    if (!loop(f->elements, f->n, &s->window, to != BF_F64, results)) return false;
    if (apart) bf_cast_block(s->isa, BF_F64, to, results, f->values, f->n);
    s->words[BF_SUM_COUNT] += f->n;
    return true;
}

/* ---- all paths ------------------------------------------------------------------------------- */

static bool try_window(bf_scanner *s, const floats *f) {
    return s->isa->scan != NULL && has_window(s) && sum_in_window(s, f);
}

/* Finite elements, after something other than -0, that the window does not hold. */
static void sum_others(bf_scanner *s, const floats *f) {
    if (s->isa->scan == NULL || !find_window(s, f) || !sum_in_window(s, f)) take_exactly(s, f);
}

/* The sum of what came is an infinity or NaN, which more elements do not make finite. */
static bool is_special(const bf_scanner *s, uint64_t *bits) {
    return bf_finish_special(s->words, s->prefix->options.nan == BF_NAN_SKIP,
                             bf_format_of(s->prefix->to), bits);
}

/* Sets s->buffers->specials to the counters of special elements, 0 for others. */
static bool find_specials(bf_scanner *s, const floats *f) {
    int any = 0;
    for (int64_t i = 0; i < f->n; i++) {
        s->buffers->specials[i] = (uint8_t)bf_sum_special(f->format, load_element(f, i));
        any |= s->buffers->specials[i];
    }
    return any != 0;
}

/* Counts the special elements of a block whose others are summed, and writes what they make. */
static void write_specials(bf_scanner *s, const floats *f) {
    uint64_t bits = 0;
    bool special = is_special(s, &bits);
    for (int64_t i = 0; i < f->n; i++) {
        if (s->buffers->specials[i]) {
            s->words[s->buffers->specials[i]]++;
            special = is_special(s, &bits);
        }
        if (special) store_result(s, f, i, bits);
    }
}

/* Sums a copy of the block in which special elements are +0. */
static void sum_cleaned(bf_scanner *s, const floats *f) {
    floats cleaned = *f;
    cleaned.elements = (const char *)s->buffers->cleaned;
    memcpy(s->buffers->cleaned, f->elements, (size_t)(f->n * f->bytes));
    for (int64_t i = 0; i < f->n; i++)
        if (s->buffers->specials[i])
            memset((char *)s->buffers->cleaned + i * f->bytes, 0, (size_t)f->bytes);
    if (!try_window(s, &cleaned)) sum_others(s, &cleaned);
}

/* Was there nothing but -0, and is this element another, or none? */
static bool stays_negative(const bf_scanner *s, const floats *f, int64_t i) {
    const uint64_t x = load_element(f, i);
    return bf_finish_count(s->words) == s->words[BF_SUM_NEG_ZERO] &&
           (bf_sum_neg_zero(f->format, x) || bf_sum_special(f->format, x));
}

static void take_negative(bf_scanner *s, const floats *f, int64_t i) {
    const bf_prefix *p = s->prefix;
    const int special = bf_sum_special(f->format, load_element(f, i));
    s->words[BF_SUM_COUNT]++;
    s->words[special ? special : BF_SUM_NEG_ZERO]++;
    store_result(s, f, i,
                 bf_finish_sum(p->dtype, s->words, p->options.nan == BF_NAN_SKIP,
                               bf_format_of(p->to), &s->buffers->work));
}

static void sum_block(bf_scanner *s, const floats *f) {
    uint64_t bits;
    int64_t at = 0;
    for (; at < f->n && !is_special(s, &bits) && stays_negative(s, f, at); at++)
        take_negative(s, f, at);
    const floats rest = rest_of(s, f, at);
    if (rest.n == 0) return;
    if (is_special(s, &bits)) {
        s->words[BF_SUM_COUNT] += rest.n;
        find_specials(s, &rest);
        write_specials(s, &rest);
    } else if (try_window(s, &rest)) {
        return;
    } else if (find_specials(s, &rest)) {
        sum_cleaned(s, &rest);
        write_specials(s, &rest);
    } else {
        sum_others(s, &rest);
    }
}

void bf_scan_sums(bf_scanner *s, const char *elements, char *values, int64_t n) {
    const bf_dtype dtype = s->prefix->dtype;
    floats f = {.dtype = dtype, .elements = elements, .n = n, .values = values};
    if (bf_dtype_is_half(dtype)) {
        bf_widen_halves(s->isa, dtype, elements, s->buffers->widened, (size_t)n);
        f.dtype = BF_F32;
        f.elements = (const char *)s->buffers->widened;
    }
    f.bytes = bf_dtype_bytes(f.dtype);
    f.format = bf_format_of(f.dtype);
    sum_block(s, &f);
}
