/* The data of bench and its peers. Value i depends on i alone. */
#define _GNU_SOURCE
#include "works/measured.h"
#include "runtime/random.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 1 << 21 };

/* Rounds up to huge pages, so that both the start and the end of a vector lie on one. */
static size_t whole_pages(size_t bytes) {
    return (bytes + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

void *bench_alloc(size_t bytes) {
    size_t size = whole_pages(bytes);
    char *raw =
        mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    size_t before = -(uintptr_t)raw & (HUGE_PAGE - 1);
    char *memory = raw + before;
    if (before) munmap(raw, before);
    munmap(memory + size, HUGE_PAGE - before);
    madvise(memory, size, MADV_HUGEPAGE);
    memset(memory, 0, size);
    return memory;
}

void bench_free(void *memory, size_t bytes) {
    if (memory) munmap(memory, whole_pages(bytes));
}

/* The bits of element i; those of element 0 are 0. */
static uint64_t bits_of(uint64_t i) { return random_output(0, i - 1); }

static double uniform(uint64_t i) { return (double)(bits_of(i) >> 11) * 0x1p-53; }

/* The sum of four uniform values is close to normal, and costs no logarithm. */
static double normal(uint64_t i) {
    double sum = uniform(4 * i) + uniform(4 * i + 1) + uniform(4 * i + 2) + uniform(4 * i + 3);
    return (sum - 2) * 1.7320508075688772;
}

static double wide(uint64_t i) {
    uint64_t bits = bits_of(i);
    double magnitude = ldexp(1 + uniform(~i), (int)(bits % 201) - 100);
    return bits >> 63 ? -magnitude : magnitude;
}

/* Spreads evenly over the exponents of normal numbers, except the last, so that no number rounds to
 * infinity. */
static double full(uint64_t i) {
    uint64_t bits = bits_of(i);
    double magnitude = ldexp(1 + uniform(~i), (int)(bits % 2045) - 1022);
    return bits >> 63 ? -magnitude : magnitude;
}

static double (*find(const char *data))(uint64_t) {
    if (strcmp(data, "uniform") == 0) return uniform;
    if (strcmp(data, "normal") == 0) return normal;
    if (strcmp(data, "full") == 0) return full;
    return strcmp(data, "wide") == 0 ? wide : NULL;
}

static void fill_bytes(uint8_t *x, size_t count) {
    for (size_t i = 0; i < count; i++) x[i] = (uint8_t)(bits_of(i) >> 56);
}

/* Divides PLACES among the values in proportion to their chances: value k has the places from
 * ends[k - 1] up to ends[k]. A random place chooses the value. */
static void fill_zipf(uint8_t *x, size_t count) {
    enum { VALUES = 256, BITS = 16, PLACES = 1 << BITS };
    uint32_t ends[VALUES];
    double all = 0, sum = 0;
    uint32_t end = 0;
    for (int k = 0; k < VALUES; k++) all += 1.0 / (k + 1);
    for (int k = 0; k < VALUES; k++) {
        sum += 1.0 / (k + 1);
        while (end < PLACES && end < PLACES * sum / all) end++;
        ends[k] = end;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t place = bits_of(i) >> (64 - BITS);
        int value = 0;
        for (int step = VALUES / 2; step > 0; step /= 2)
            if (ends[value + step - 1] <= place) value += step;
        x[i] = (uint8_t)value;
    }
}

static bool fill_u8(const char *data, uint8_t *x, size_t count) {
    if (strcmp(data, "uniform") == 0)
        fill_bytes(x, count);
    else if (strcmp(data, "zipf") == 0)
        fill_zipf(x, count);
    else if (strcmp(data, "constant") == 0)
        memset(x, 7, count);
    else
        return false;
    return true;
}

static void fill_i32(int32_t *x, size_t count) {
    for (size_t i = 0; i < count; i++) x[i] = (int32_t)(bits_of(i) >> 32);
}

static void fill_i64(int64_t *x, size_t count) {
    for (size_t i = 0; i < count; i++) x[i] = (int64_t)bits_of(i) / 65536;
}

static void fill_f32(float *x, size_t count, double (*value)(uint64_t)) {
    for (size_t i = 0; i < count; i++) x[i] = (float)value(i);
}

static void fill_f64(double *x, size_t count, double (*value)(uint64_t)) {
    for (size_t i = 0; i < count; i++) x[i] = value(i);
}

bool bench_fill(const char *dtype, const char *data, void *x, size_t count) {
    double (*value)(uint64_t) = find(data);
    if (strcmp(dtype, "u8") == 0) return fill_u8(data, x, count);
    if (value && value != full && strcmp(dtype, "f32") == 0)
        fill_f32(x, count, value);
    else if (value && strcmp(dtype, "f64") == 0)
        fill_f64(x, count, value);
    else if (value == uniform && strcmp(dtype, "i32") == 0)
        fill_i32(x, count);
    else if (value == uniform && strcmp(dtype, "i64") == 0)
        fill_i64(x, count);
    else
        return false;
    return true;
}
