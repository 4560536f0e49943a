/* For the tests of groups on two backends: what they save is the same, to the byte. */
#ifndef BITFOLD_TESTS_SUPPORT_GROUPS_H
#define BITFOLD_TESTS_SUPPORT_GROUPS_H

#include <stdlib.h>

#include "tests/support/run.h"

/* The caller frees what it returns. */
static inline unsigned char *save_groups(bf_groups *g, size_t *size) {
    assert_int_equal(bf_groups_save_size(g, size), BF_OK);
    unsigned char *saved = malloc(*size);
    assert_non_null(saved);
    assert_int_equal(bf_groups_save(g, saved), BF_OK);
    return saved;
}

/* A failure tells `what`, and of how many rows by keys of which dtype. */
static inline void assert_same_groups(const char *what, bf_dtype key, bf_dtype values, int64_t rows,
                                      bf_groups *found, bf_groups *expected) {
    size_t size[2], at = 0;
    unsigned char *a = save_groups(found, &size[0]), *b = save_groups(expected, &size[1]);
    while (at < size[0] && at < size[1] && a[at] == b[at]) at++;
    if (size[0] != size[1] || at < size[0])
        fail_msg("%s: keys %s, values %s, %lld rows: %lld groups, not %lld; byte %zu of %zu (%zu)",
                 what, key == BF_PAIR ? "pair" : bf_dtype_name(key),
                 values == BF_NONE ? "none" : bf_dtype_name(values), (long long)rows,
                 (long long)bf_groups_size(found), (long long)bf_groups_size(expected), at, size[0],
                 size[1]);
    assert_int_equal(bf_groups_rows(found), bf_groups_rows(expected));
    free(a);
    free(b);
}

#endif
