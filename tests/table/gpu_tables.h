/* For the tests of tables on a GPU: are two tables the same, to the byte? */
#ifndef BITFOLD_TESTS_TABLE_GPU_TABLES_H
#define BITFOLD_TESTS_TABLE_GPU_TABLES_H

#include "tests/support/both.h"

static inline unsigned char *saved_by(bf_table *table, size_t *size) {
    *size = bf_table_save_size(table);
    unsigned char *saved = malloc(*size);
    assert_non_null(saved);
    assert_int_equal(bf_table_save(table, saved), BF_OK);
    return saved;
}

static inline void assert_same_tables(bf_table *a, bf_table *b) {
    size_t size[2];
    unsigned char *saved[2] = {saved_by(a, &size[0]), saved_by(b, &size[1])};
    assert_int_equal(size[1], size[0]);
    assert_memory_equal(saved[1], saved[0], size[0]);
    free(saved[0]);
    free(saved[1]);
}

#endif
