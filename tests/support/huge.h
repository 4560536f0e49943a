/* For tests of more elements than 31 or 32 bits count, on the CPU: periodic arrays that take little
 * memory, because one block is mapped again and again. */
#ifndef BITFOLD_TESTS_SUPPORT_HUGE_H
#define BITFOLD_TESTS_SUPPORT_HUGE_H

#include "tests/support/leave_out.h"
#include "tests/support/oracle.h"
#include "tests/support/periods.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* memfd_create() is not in POSIX: <sys/mman.h> has it for _GNU_SOURCE alone. */
extern int memfd_create(const char *name, unsigned flags);

/* The elements of float arrays are number / 2^FRACTION. */
enum { FRACTION = 4 };

/* ---- elements -------------------------------------------------------------------------------- */

/* A random number that the dtype has exactly, and that is no extreme of it. */
static inline int64_t some_number(bf_dtype dtype, int64_t i) {
    const uint64_t r = scramble((uint64_t)i);
    const int64_t sign = r >> 63 ? -1 : 1;
    switch (dtype) {
    case BF_BOOL: return 1;
    case BF_I8: return sign * (int64_t)(r % 101);
    case BF_U8: return 1 + (int64_t)(r % 250);
    case BF_I16: return sign * (int64_t)(r % 30001);
    case BF_U16: return 1 + (int64_t)(r % 60000);
    case BF_I32: return sign * (int64_t)(r % 2000000001);
    case BF_U32: return 1 + (int64_t)(r % 4000000000);
    case BF_I64: return sign * (int64_t)(r % (1ull << 40));
    case BF_U64: return 1 + (int64_t)(r % (1ull << 40));
    case BF_F16: return sign * (int64_t)((r % 64) << (r >> 32) % 6);
    case BF_BF16: return sign * (int64_t)((r % 64) << (r >> 32) % 10);
    case BF_F32: return sign * (int64_t)((r % 4096) << (r >> 32) % 12);
    default: return sign * (int64_t)((r % (1 << 30)) << (r >> 32) % 11);
    }
}

/* Less than some_number() ever is, and more. */
static inline int64_t low_number(bf_dtype dtype) {
    switch (dtype) {
    case BF_I8: return INT8_MIN;
    case BF_I16: return INT16_MIN;
    case BF_I32: return INT32_MIN;
    case BF_I64: return -((int64_t)1 << 60);
    case BF_F16: return -(1 << 12);
    case BF_BF16: return -(1 << 17);
    case BF_F32: return -(1 << 26);
    case BF_F64: return -((int64_t)1 << 45);
    default: return 0;
    }
}
static inline int64_t high_number(bf_dtype dtype) {
    switch (dtype) {
    case BF_BOOL: return 1;
    case BF_I8: return INT8_MAX;
    case BF_U8: return UINT8_MAX;
    case BF_I16: return INT16_MAX;
    case BF_U16: return UINT16_MAX;
    case BF_I32: return INT32_MAX;
    case BF_U32: return UINT32_MAX;
    case BF_I64:
    case BF_U64: return (int64_t)1 << 60;
    default: return -low_number(dtype);
    }
}

/* Returns the bits of a number that the dtype has exactly, and that is no subnormal. */
static inline uint64_t bits_of(bf_dtype dtype, int64_t number) {
    int exponent;
    const double x = ldexp((double)number, -FRACTION), part = frexp(fabs(x), &exponent);
    const float single = (float)x;
    uint64_t bits = 0;
    if (!is_float(dtype)) return (uint64_t)number;
    if (dtype == BF_F64) memcpy(&bits, &x, 8);
    if (dtype == BF_F32 || dtype == BF_BF16) memcpy(&bits, &single, 4);
    if (dtype == BF_BF16) bits >>= 16;
    if (dtype == BF_F16 && x != 0)
        bits = (uint64_t)(exponent + 14) << 10 | ((uint64_t)ldexp(part, 11) & 1023);
    return dtype == BF_F16 && number < 0 ? bits | 0x8000 : bits;
}

static inline void put_number(bf_dtype dtype, void *data, int64_t i, int64_t number) {
    const size_t size = bf_dtype_size(dtype);
    store_bits((char *)data + (size_t)i * size, size, bits_of(dtype, number));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static inline int block_file(size_t bytes) {
    const int file = memfd_create("block", 0);
    assert_true(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
    return file;
}

/* A file of `block` bytes mapped again and again over `bytes`. */
static inline char *map_again(int file, size_t block, size_t bytes, int sharing) {
    char *data = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(data != MAP_FAILED);
    for (size_t at = 0; at < bytes; at += block) {
        const size_t part = bytes - at < block ? bytes - at : block;
        assert_true(mmap(data + at, part, PROT_READ | PROT_WRITE,
                         sharing | MAP_FIXED | MAP_NORESERVE, file, 0) == data + at);
    }
    return data;
}

static inline size_t huge_bytes(const periodic *h) {
    return (size_t)h->n * bf_dtype_size(h->dtype);
}

/* Makes an array without marks. A mark costs a page, which is copied when it is written to. */
static inline periodic huge_of(bf_dtype dtype, int64_t n, number_rule *rule) {
    const size_t block = PERIOD * bf_dtype_size(dtype);
    periodic h = {.dtype = dtype, .n = n, .rule = rule};
    const int file = block_file(block);
    char *first = map_again(file, block, block, MAP_SHARED);
    for (int64_t i = 0; i < PERIOD; i++) put_number(dtype, first, i, rule(dtype, i));
    munmap(first, block);
    h.data = map_again(file, block, huge_bytes(&h), MAP_PRIVATE);
    close(file);
    return h;
}

static inline void set_mark(periodic *h, int64_t at, int64_t number) {
    assert_true(h->marks < MARKS_MOST && at < h->n);
    put_number(h->dtype, h->data, at, number);
    h->mark[h->marks].at = at;
    h->mark[h->marks++].number = number;
}

/* Two equal low marks and two equal high ones, of which the last is the last element. */
static inline periodic marked_huge(bf_dtype dtype, int64_t n, number_rule *rule) {
    periodic h = huge_of(dtype, n, rule);
    set_mark(&h, far_index(n) + 5, low_number(dtype));
    set_mark(&h, far_index(n) + 1000, low_number(dtype));
    set_mark(&h, n - 3, high_number(dtype));
    set_mark(&h, n - 1, high_number(dtype));
    return h;
}

static inline void huge_free(periodic *h) { munmap(h->data, huge_bytes(h)); }

/* ---- what is to be expected ------------------------------------------------------------------ */

static inline void set_integer(mpfr_t out, __int128 x, int scale) {
    mpfr_t low;
    mpfr_init2(low, 64);
    mpfr_set_sj_2exp(out, (int64_t)(x >> 64), 64, MPFR_RNDN);
    mpfr_set_uj(low, (uint64_t)x, MPFR_RNDN);
    mpfr_add(out, out, low, MPFR_RNDN);
    mpfr_mul_2si(out, out, scale, MPFR_RNDN);
    mpfr_clear(low);
}

static inline int scale_of(bf_dtype dtype) { return is_float(dtype) ? -FRACTION : 0; }

static inline double double_of(bf_dtype dtype, int64_t number) {
    return ldexp((double)number, scale_of(dtype));
}

static inline exact_sums expected_sums(const periodic *h) {
    const integer_sums s = add_numbers(h);
    exact_sums e;
    exact_init(&e);
    set_integer(e.x, s.x, scale_of(h->dtype));
    set_integer(e.xx, s.xx, 2 * scale_of(h->dtype));
    e.n = h->n;
    return e;
}

/* The first index of the least or the greatest number. */
static inline int64_t expected_index(const periodic *h, bool greatest) {
    int64_t best = 0;
    for (int64_t i = 0; i < PERIOD + h->marks; i++) {
        const int64_t at = i < PERIOD ? i : h->mark[i - PERIOD].at;
        const int64_t x = number_at(h, at), y = number_at(h, best);
        if (x != y ? (x > y) == greatest : at < best) best = at;
    }
    return best;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Leaves out what takes more memory than BITFOLD_GIB allows (12 GiB). */
static inline void need_memory(int gib) {
    const char *allowed = getenv("BITFOLD_GIB");
    char why[80];
    if (gib <= (allowed ? atoi(allowed) : 12)) return;
    snprintf(why, sizeof why, "takes %d GiB of memory: see BITFOLD_GIB", gib);
    leave_out(why);
}

/* n bytes to write to. */
static inline void *room_of(int64_t n) {
    void *room = mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) leave_out("too little memory");
    return room;
}

static bf_context *context; /* all threads of this process */

static int open_context(void **unused) {
    (void)unused;
    return bf_context_create(&BF_OPTIONS(.device = "cpu"), &context) == BF_OK ? 0 : -1;
}

static int close_context(void **unused) {
    (void)unused;
    bf_context_destroy(context);
    return 0;
}

/* Ends a program: its cases are run. */
#define HUGE_TESTS                                                                                 \
    int main(void) { return run_cases(own_cases, own_case_count, open_context, close_context); }

#endif
