/* Piles in temporary files, with so little memory that they have many extents.
 * Builds: release, asan, tsan. */
#include "cli/memory/piles.h"
#include "cli/memory/temporary.h"
#include "cli/runtime/report.h"
#include "tests/support/data.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

/* ---- piles ----------------------------------------------------------------------------------- */

enum { PILES = 3, ROWS = 20000, COLUMNS = 2 };

typedef struct kept_rows {
    uint8_t bytes[ROWS];
    uint32_t words[ROWS];
    int64_t n;
} kept_rows;

static void assert_read(const piles *p, int i, const kept_rows *want, uint64_t *seed) {
    static uint8_t bytes[ROWS];
    static uint32_t words[ROWS];
    for (int64_t at = 0, n; at < want->n; at += n) {
        n = 1 + (int64_t)(next_random(seed) % 700);
        if (n > want->n - at) n = want->n - at;
        void *const columns[COLUMNS] = {bytes, words};
        assert_int_equal(piles_read(p, i, at, n, columns), EXIT_DONE);
        assert_memory_equal(bytes, want->bytes + at, (size_t)n);
        assert_memory_equal(words, want->words + at, (size_t)n * sizeof *words);
    }
}

/* Puts random rows on all piles. */
static void fill_piles(piles *p, kept_rows *rows, uint64_t *seed) {
    uint8_t which[64], bytes[64];
    uint32_t words[64];
    const void *const columns[COLUMNS] = {bytes, words};
    for (int i = 0; i < ROWS; i += 64) {
        const int n = ROWS - i < 64 ? ROWS - i : 64;
        for (int k = 0; k < n; k++) {
            kept_rows *to = &rows[which[k] = (uint8_t)(next_random(seed) % 9 / 4)];
            to->bytes[to->n] = bytes[k] = (uint8_t)next_random(seed);
            to->words[to->n++] = words[k] = (uint32_t)next_random(seed);
        }
        assert_int_equal(piles_add(p, which, columns, n), EXIT_DONE);
    }
}

static void piles_are_read_as_they_were_put(void **state) {
    (void)state;
    static const int bytes[COLUMNS] = {1, 4};
    static kept_rows rows[PILES];
    uint64_t seed = 7;
    piles p;
    piles_open(&p, PILES, COLUMNS, bytes, 1); /* blocks of 64 rows */
    for (int again = 0; again < 2; again++) {
        memset(rows, 0, sizeof rows);
        fill_piles(&p, rows, &seed);
        for (int i = 0; i < PILES; i++) assert_read(&p, i, &rows[i], &seed);
        if (again) assert_int_equal(piles_end(&p), EXIT_DONE);
        for (int i = 0; i < PILES; i++) assert_read(&p, i, &rows[i], &seed);
        for (int i = 0; i < PILES; i++) {
            piles_empty(&p, i);
            assert_int_equal(p.all[i].rows, 0);
        }
    }
    piles_close(&p);
}

UNIT_TESTS(spilled) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(piles_are_read_as_they_were_put),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
