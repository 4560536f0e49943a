/* For the tests in C: contexts that write what memory does not hold to a file. */
#ifndef BITFOLD_TESTS_SUPPORT_SPILLING_H
#define BITFOLD_TESTS_SUPPORT_SPILLING_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/oracle.h"

#define OK(call) assert_int_equal(call, BF_OK)

/* A context with a limit of memory (0: none), that writes the rest to a directory (NULL: it fails).
 */
static inline bf_context *limited(int64_t bytes, const char *directory, int threads) {
    bf_context *context;
    OK(bf_context_create(
        &BF_OPTIONS(.device = "cpu", .threads = threads, .memory = bytes, .spill = directory),
        &context));
    return context;
}

/* The bytes of an element, also of keys alone. */
static inline int64_t bytes_of(bf_dtype dtype) {
    return dtype == BF_PAIR || dtype == BF_I128 ? 16 : (int64_t)bf_dtype_size(dtype);
}

/* Makes words below `different` that fill the width of the dtype; of floats one in so many is a NaN
 * of any payload, one an infinity, and one a zero of either sign. */
static inline void make_elements(bf_dtype dtype, char *to, int64_t n, uint64_t different,
                                 uint64_t seed, uint64_t in) {
    const int64_t bytes = bytes_of(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = next_random(&seed) % different;
        if (bytes >= 8) word *= 0x9e3779b97f4a7c15u;
        const uint64_t chance = next_random(&seed) % in;
        if (is_float(dtype) && chance == 0) word |= infinity_bits(dtype);
        if (is_float(dtype) && chance == 1) word = infinity_bits(dtype);
        if (is_float(dtype) && chance == 2) word &= sign_bit(dtype);
        if (bytes == 16) store_bits(to + i * bytes + 8, 8, word % 5 - 2);
        store_bits(to + i * bytes, bytes == 16 ? 8 : (size_t)bytes, word);
    }
}

/* A directory for what is written, for a file of tests: it is made before them and removed behind.
 */
static char directory[] = "/tmp/bitfold_spilled_XXXXXX";

static inline int make_directory(void **unused) {
    (void)unused;
    return mkdtemp(directory) == NULL ? -1 : 0;
}

static inline int remove_directory(void **unused) {
    (void)unused;
    return rmdir(directory);
}

/* The files in the directory. */
static inline int count_files(void) {
    DIR *d = opendir(directory);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

#endif
