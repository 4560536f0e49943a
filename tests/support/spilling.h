/* For the tests in C: contexts that write what memory does not hold to a file. */
#ifndef BITFOLD_TESTS_SUPPORT_SPILLING_H
#define BITFOLD_TESTS_SUPPORT_SPILLING_H

#include <dirent.h>

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

/* The files in a directory. */
static inline int count_files(const char *directory) {
    DIR *d = opendir(directory);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

#endif
