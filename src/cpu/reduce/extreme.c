/* Minima, maxima and their indices on one thread. The loops find the least key of a block; the
 * rules decide the rare rest: NaNs, zeros of both signs, and the index of the least element. */
#include "cpu/reduce/reduce.h"

#include "rules/key/order.h"

enum { BLOCK = 4096 };

/* A block of a job: n elements, the first of which has this index. */
typedef struct block {
    const bf_job *job;
    const char *data;
    size_t n;
    int64_t index;
    int64_t *words;
} block;

static uint64_t load_element(const block *b, size_t i) {
    int bytes = bf_dtype_bytes(b->job->dtype);
    return bf_load_bits(b->data + i * (size_t)bytes, bytes);
}

static bool is_nan(const block *b, uint64_t bits) {
    return bf_dtype_is_float(b->job->dtype) && bf_is_nan(bf_format_of(b->job->dtype), bits);
}

/* Returns the key as words hold it: complemented for a maximum, so that the least is sought. */
static int64_t key_of(const block *b, uint64_t bits) {
    int64_t key = bf_order_rank(b->job->dtype, bits);
    return bf_is_greatest(b->job->op) ? ~key : key;
}

static int64_t index_of(const block *b, size_t i) {
    return bf_is_indexed(b->job->op) ? b->index + (int64_t)i : 0;
}

static void absorb_by_rules(const block *b) {
    for (size_t i = 0; i < b->n; i++) {
        uint64_t bits = load_element(b, i);
        if (is_nan(b, bits))
            bf_extreme_take_nan(b->words, 1, index_of(b, i));
        else
            bf_extreme_take(b->words, key_of(b, bits), index_of(b, i));
    }
}

/* Elements that are compared together, which compiles to vectors. */
enum { GROUP = 64 };

static inline __attribute__((always_inline)) size_t find_bits(const char *data, size_t n,
                                                              uint64_t bits, int bytes) {
    size_t i = 0;
    for (; i + GROUP <= n; i += GROUP) {
        int found = 0;
        for (size_t k = 0; k < GROUP; k++)
            found |= bf_load_bits(data + (i + k) * (size_t)bytes, bytes) == bits;
        if (found) break;
    }
    while (i < n && bf_load_bits(data + i * (size_t)bytes, bytes) != bits) i++;
    return i;
}

/* Returns the index in the block of the first element with these bits, or b->n. */
static size_t find_first(const block *b, uint64_t bits) {
    switch (bf_dtype_bytes(b->job->dtype)) {
    case 1: return find_bits(b->data, b->n, bits, 1);
    case 2: return find_bits(b->data, b->n, bits, 2);
    case 4: return find_bits(b->data, b->n, bits, 4);
    default: return find_bits(b->data, b->n, bits, 8);
    }
}

/* Returns the bits of elements with this key. */
static uint64_t bits_of(const block *b, int64_t key) {
    return bf_order_bits(b->job->dtype, bf_is_greatest(b->job->op) ? ~key : key);
}

/* Absorbs a block whose least key this is. */
static void absorb_least(const block *b, int64_t key) {
    size_t i = 0;
    if (b->words[BF_EXTREME_INDEX] >= 0 && key >= b->words[BF_EXTREME_RANK]) return;
    if (!bf_is_indexed(b->job->op))
        i = 0;
    else if (b->job->dtype != BF_BOOL)
        i = find_first(b, bits_of(b, key));
    else
        while (i < b->n && key_of(b, load_element(b, i)) != key) i++; /* any byte but 0 is true */
    bf_extreme_take(b->words, key, index_of(b, i));
}

/* The loop does not tell zeros apart. Returns the key of the lesser zero if the block has it and it
 * matters. */
static int64_t exact_zero(const block *b, int64_t key) {
    uint64_t sign = bf_format_sign(bf_format_of(b->job->dtype));
    if ((bits_of(b, key) & ~sign) != 0) return key;
    uint64_t sought = bf_is_greatest(b->job->op) ? 0 : sign;
    int64_t least = key_of(b, sought);
    bool useless = b->words[BF_EXTREME_INDEX] >= 0 && b->words[BF_EXTREME_RANK] <= least;
    return useless || find_first(b, sought) < b->n ? least : key_of(b, sought ^ sign);
}

static void absorb_floats(const block *b, bf_extreme_loop loop) {
    bool nan = false;
    int64_t key = loop(b->data, b->n, &nan);
    if (nan) {
        absorb_by_rules(b);
        return;
    }
    absorb_least(b, exact_zero(b, bf_is_greatest(b->job->op) ? ~key : key));
}

static void absorb_integers(const block *b, bf_extreme_loop loop) {
    bool nan = false;
    int64_t key = loop(b->data, b->n, &nan);
    absorb_least(b, bf_is_greatest(b->job->op) ? ~key : key);
}

/* Absorbs 16-bit floats by their keys, which are 16-bit integers. */
static void absorb_halves(const block *b, bf_extreme_loop loop) {
    int16_t keys[BLOCK];
    const uint16_t inf = (uint16_t)bf_format_inf(bf_format_of(b->job->dtype));
    uint16_t nans = 0;
    memcpy(keys, b->data, b->n * sizeof *keys);
    for (size_t i = 0; i < b->n; i++) {
        nans |= (uint16_t)((keys[i] & 0x7fff) > inf);
        keys[i] = (int16_t)(keys[i] ^ ((keys[i] >> 15) & 0x7fff)); /* bf_order_flip */
    }
    if (nans) {
        absorb_by_rules(b);
        return;
    }
    bool nan = false;
    int64_t key = loop(keys, b->n, &nan);
    absorb_least(b, bf_is_greatest(b->job->op) ? ~key : key);
}

/* Absorbs bools as 0 and 1. */
static void absorb_bools(const block *b, bf_extreme_loop loop) {
    uint8_t truth[BLOCK];
    bool nan = false;
    for (size_t i = 0; i < b->n; i++) truth[i] = b->data[i] != 0;
    int64_t key = loop(truth, b->n, &nan);
    absorb_least(b, bf_is_greatest(b->job->op) ? ~key : key);
}

static void absorb_i128(const block *b) {
    const bf_i128 flip = bf_is_greatest(b->job->op) ? -1 : 0;
    bf_i128 least = bf_load_i128(b->data) ^ flip;
    size_t at = 0;
    for (size_t i = 1; i < b->n; i++) {
        const bf_i128 rank = bf_load_i128(b->data + 16 * i) ^ flip;
        at = rank < least ? i : at;
        least = rank < least ? rank : least;
    }
    bf_extreme_take_i128(b->words, least, index_of(b, at));
}

/* Returns the dtype whose loop serves this one. */
static bf_dtype loop_dtype(bf_dtype dtype) {
    if (dtype == BF_BOOL) return BF_U8;
    return bf_dtype_is_half(dtype) ? BF_I16 : dtype;
}

static void absorb_block(const bf_isa *isa, const block *b) {
    bf_dtype dtype = b->job->dtype, by = loop_dtype(dtype);
    if (dtype == BF_I128) {
        absorb_i128(b);
        return;
    }
    bf_extreme_loop loop =
        bf_is_greatest(b->job->op) ? isa->reduce->greatest[by] : isa->reduce->least[by];
    if (loop == NULL)
        absorb_by_rules(b);
    else if (dtype == BF_BOOL)
        absorb_bools(b, loop);
    else if (bf_dtype_is_half(dtype))
        absorb_halves(b, loop);
    else if (bf_dtype_is_float(dtype))
        absorb_floats(b, loop);
    else
        absorb_integers(b, loop);
}

void bf_extreme_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                       int64_t *words) {
    size_t bytes = (size_t)bf_number_bytes(job->dtype);
    bool indexed = bf_is_indexed(job->op);
    int64_t begin = indexed ? job->index + first : 0, end = indexed ? begin + n : 0;
    block b = {.job = job, .words = words, .index = begin};
    b.data = (const char *)job->a + (size_t)first * bytes;
    for (int64_t left = n; left > 0; left -= (int64_t)b.n) {
        b.n = left < BLOCK ? (size_t)left : BLOCK;
        absorb_block(reducer->isa, &b);
        b.data += b.n * bytes;
        b.index += (int64_t)b.n;
    }
    bf_extreme_cover(words, n, begin, end);
}
