#include "container/crc.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0xedb88320u

/* table[k][b]: what byte b does to the CRC when k bytes follow it. */
enum { STEP = 8 };
static uint32_t table[STEP][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][b] = crc;
    }
    for (int k = 1; k < STEP; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

static uint32_t add_bytes(uint32_t crc, const unsigned char *at, size_t n) {
    for (; n > 0; n--) crc = crc >> 8 ^ table[0][(crc ^ *at++) & 255];
    return crc;
}

/* Eight bytes at a time. */
static uint32_t add_words(uint32_t crc, const unsigned char *at, size_t n) {
    for (; n >= STEP; n -= STEP, at += STEP) {
        const uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                                    (uint32_t)at[3] << 24);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
              table[0][at[7]];
    }
    return add_bytes(crc, at, n);
}

#if defined __x86_64__
#include <immintrin.h>

/* By products of polynomials (Gopal and others, "Fast CRC computation for generic polynomials using
 * PCLMULQDQ instruction", Intel, 2009): x^n mod P for the n by which four blocks, and then one, are
 * moved. */
#define FOLDED __attribute__((target("pclmul,sse4.1")))
enum { BLOCK = 16, FOUR = 4 * BLOCK };

FOLDED static inline __m128i fold(__m128i x, __m128i by, __m128i next) {
    const __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static inline __m128i load(const unsigned char *at) {
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* What is left, of 128 bits, is a message of 16 bytes with the same CRC. */
FOLDED static uint32_t add_folded(uint32_t crc, const unsigned char *at, size_t n) {
    const __m128i by_four = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_one = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i x[4];
    unsigned char rest[BLOCK];
    for (int k = 0; k < 4; k++) x[k] = load(at + k * BLOCK);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)crc));
    for (at += FOUR, n -= FOUR; n >= FOUR; at += FOUR, n -= FOUR)
        for (int k = 0; k < 4; k++) x[k] = fold(x[k], by_four, load(at + k * BLOCK));
    for (int k = 1; k < 4; k++) x[0] = fold(x[0], by_one, x[k]);
    for (; n >= BLOCK; at += BLOCK, n -= BLOCK) x[0] = fold(x[0], by_one, load(at));
    memcpy(rest, &x[0], sizeof rest);
    return add_bytes(add_words(0, rest, sizeof rest), at, n);
}

static uint32_t add(uint32_t crc, const unsigned char *at, size_t n) {
    const bool folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    return n >= FOUR && folds ? add_folded(crc, at, n) : add_words(crc, at, n);
}
#else
static uint32_t add(uint32_t crc, const unsigned char *at, size_t n) {
    return add_words(crc, at, n);
}
#endif

uint32_t crc_add(uint32_t crc, const void *bytes, size_t n) {
    pthread_once(&once, fill_table);
    return ~add(~crc, bytes, n);
}
