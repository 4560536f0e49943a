/* The loops of groups for every width of ranks, and the ranks of keys. Compiled for the baseline,
 * and by isa/avx2_groups.c for AVX2. */
#include "cpu/group/group.h"

#include "cpu/runtime/match.h"

#ifndef LOOPS_OF
#define LOOPS_OF bf_group_loops_generic
#endif

enum {
    AHEAD = 24,         /* rows by which buckets are fetched ahead */
    GUESSES_WRONG = 32, /* so many of a batch take as long as the others save */
    GUESSES_NEW = 16    /* guesses begin when one rank in so many is new, at most */
};

#define NO_ROOM UINT32_MAX

/* ---- ranks: every dtype by a constant, so that its rules compile to a few instructions ------- */

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void rank_all(bf_dtype dtype, const char *keys, int64_t n, void *ranks) {
    int bytes = bf_dtype_bytes(dtype);
    uint32_t *ranks4 = ranks;
    uint64_t *ranks8 = ranks;
    for (int64_t i = 0; i < n; i++) {
        uint64_t rank = bf_group_rank(dtype, bf_load_bits(keys + i * bytes, bytes));
        if (bf_rank_bytes(dtype) == 4)
            ranks4[i] = (uint32_t)rank;
        else
            ranks8[i] = rank;
    }
}

static ALWAYS_INLINE void unrank_all(bf_dtype dtype, const void *ranks, int64_t n, char *keys) {
    int bytes = bf_dtype_bytes(dtype), from = bf_rank_bytes(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t rank = bf_load_bits((const char *)ranks + i * from, from);
        bf_store_bits(keys + i * bytes, bytes, bf_group_of_rank(dtype, rank));
    }
}

static void loop4_rank(bf_dtype key, const char *keys, int64_t n, void *ranks) {
    switch (key) {
    case BF_BOOL: rank_all(BF_BOOL, keys, n, ranks); break;
    case BF_I8: rank_all(BF_I8, keys, n, ranks); break;
    case BF_I16: rank_all(BF_I16, keys, n, ranks); break;
    case BF_I32: rank_all(BF_I32, keys, n, ranks); break;
    case BF_U8: rank_all(BF_U8, keys, n, ranks); break;
    case BF_U16: rank_all(BF_U16, keys, n, ranks); break;
    case BF_F16: rank_all(BF_F16, keys, n, ranks); break;
    case BF_BF16: rank_all(BF_BF16, keys, n, ranks); break;
    case BF_F32: rank_all(BF_F32, keys, n, ranks); break;
    default: memcpy(ranks, keys, (size_t)n * 4); break;
    }
}

static void loop4_unrank(bf_dtype key, const void *ranks, int64_t n, char *keys) {
    unrank_all(key, ranks, n, keys);
}

static void loop8_rank(bf_dtype key, const char *keys, int64_t n, void *ranks) {
    switch (key) {
    case BF_I64: rank_all(BF_I64, keys, n, ranks); break;
    case BF_F64: rank_all(BF_F64, keys, n, ranks); break;
    default: memcpy(ranks, keys, (size_t)n * 8); break;
    }
}

static void loop8_unrank(bf_dtype key, const void *ranks, int64_t n, char *keys) {
    unrank_all(key, ranks, n, keys);
}

/* Pairs are their own ranks: they are ordered by their words. */
static void loop16_rank(bf_dtype key, const char *keys, int64_t n, void *ranks) {
    uint64_t *pairs = ranks;
    if (key == BF_PAIR) memcpy(ranks, keys, (size_t)n * 16);
    for (int64_t i = 0; i < n && key == BF_I128; i++)
        bf_pair_of_i128(bf_load_i128(keys + i * 16), pairs + 2 * i);
}

static void loop16_unrank(bf_dtype key, const void *ranks, int64_t n, char *keys) {
    if (key == BF_PAIR) memcpy(keys, ranks, (size_t)n * 16);
    for (int64_t i = 0; i < n && key == BF_I128; i++) {
        uint64_t pair[2];
        memcpy(pair, (const char *)ranks + i * 16, sizeof pair);
        bf_store_i128(keys + i * 16, bf_i128_of_pair(pair));
    }
}

/* ---- instances ------------------------------------------------------------------------------- */

#define BYTES 4
#define RANK uint32_t
#define SLOTS 8
#define MATCH bf_match_4
#define LOOP(x) loop4_##x
#include "cpu/group/loops.h"
#undef BYTES
#undef RANK
#undef LOOP
#undef SLOTS
#undef MATCH

#define BYTES 8
#define RANK uint64_t
#define SLOTS 5
#define MATCH bf_match_8
#define LOOP(x) loop8_##x
#include "cpu/group/loops.h"
#undef BYTES
#undef RANK
#undef LOOP
#undef SLOTS
#undef MATCH

#define BYTES 16
#define RANK bf_u128
#define SLOTS 6
#define MATCH bf_match_16
#define LOOP(x) loop16_##x
#include "cpu/group/loops.h"
#undef BYTES
#undef RANK
#undef LOOP
#undef SLOTS
#undef MATCH

const bf_group_loops *LOOPS_OF(int rank_bytes) {
    switch (rank_bytes) {
    case 4: return &loop4_loops;
    case 8: return &loop8_loops;
    case 16: return &loop16_loops;
    default: return NULL;
    }
}
