/* Piles, records and packed rows in temporary files, with so little memory that piles have many
 * extents and runs of records are merged.
 * Builds: release, asan, tsan. */
#include "cli/memory/packed.h"
#include "cli/memory/piles.h"
#include "cli/memory/records.h"
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

TEST(piles_are_read_as_they_were_put) {
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

/* ---- records --------------------------------------------------------------------------------- */

enum { RECORDS = 5000, KEY_MOST = 24 };

typedef struct known_record {
    size_t bytes;
    char key[KEY_MOST];
    int64_t rest;
} known_record;

static int compare_known(const void *a, const void *b) {
    const known_record *x = a, *y = b;
    const int order = memcmp(x->key, y->key, x->bytes < y->bytes ? x->bytes : y->bytes);
    return order != 0 ? order : (x->rest > y->rest) - (x->rest < y->rest);
}

static int compare_descending(const void *a, const void *b) { return compare_known(b, a); }

/* Keys of their lengths, some bytes in common, and a number: some are there several times. */
static void make_known(known_record *all, uint64_t *seed) {
    for (int64_t i = 0; i < RECORDS; i++) {
        known_record *x = &all[i];
        x->bytes = 5 + (size_t)(next_random(seed) % (KEY_MOST - 4));
        memset(x->key, (int)(next_random(seed) % 2), sizeof x->key);
        x->key[0] = (char)x->bytes;
        for (size_t k = 0; k < 4; k++) x->key[x->bytes - 1 - k] = (char)(i % 3000 * 7919 >> 8 * k);
        x->rest = i;
    }
}

/* order: of the keys that are added: 0 any, 1 ascending, -1 descending. */
static void check_records(int64_t memory, int64_t most, int order, int threads) {
    static known_record all[RECORDS], added[RECORDS];
    uint64_t seed = (uint64_t)(memory + most);
    const char *rest;
    size_t bytes;
    records r;
    records_open(&r, memory, most, threads);
    make_known(added, &seed);
    if (order != 0)
        qsort(added, RECORDS, sizeof *added, order > 0 ? compare_known : compare_descending);
    for (int64_t i = 0; i < RECORDS; i++) added[i].rest = i;
    memcpy(all, added, sizeof all);
    qsort(all, RECORDS, sizeof *all, compare_known);
    for (int64_t i = 0; i < RECORDS; i++) {
        const known_record *x = &added[i];
        const int64_t number = x->rest;
        if (!records_want(&r, x->key, x->bytes)) continue;
        assert_int_equal(records_add(&r, x->key, x->bytes, (const char *)&number, sizeof number),
                         EXIT_DONE);
    }
    assert_int_equal(records_end(&r), EXIT_DONE);
    const int64_t want = most > 0 ? most : RECORDS;
    for (int64_t i = 0; i < want; i++) {
        assert_int_equal(records_next(&r, &rest, &bytes), EXIT_DONE);
        assert_non_null(rest);
        assert_int_equal(bytes, sizeof(int64_t));
        assert_memory_equal(rest, &all[i].rest, sizeof(int64_t));
    }
    assert_int_equal(records_next(&r, &rest, &bytes), EXIT_DONE);
    assert_true(rest == NULL || most > 0);
    records_close(&r);
}

TEST(records_come_in_order) {
    static const int64_t memories[] = {1 << 10, 1 << 14, 1 << 22}, most[] = {0, 1, 7, 600};
    for (int m = 0; m < 3; m++)
        for (int k = 0; k < 4; k++)
            for (int order = SEVERAL_THREADS ? (m + k) % 3 - 1 : -1; order <= 1;
                 order += SEVERAL_THREADS ? 3 : 1)
                for (int threads = 1 + SEVERAL_THREADS; threads <= 2; threads++)
                    check_records(memories[m], most[k], order, threads);
}

/* ---- packed rows ----------------------------------------------------------------------------- */

enum { PACKED = 3000, LENGTH_MOST = 90 };

typedef struct packed_data {
    int64_t wide[PACKED], offsets[PACKED + 1];
    uint8_t narrow[PACKED], known[PACKED], valid[PACKED / 8 + 2];
    char bytes[PACKED * LENGTH_MOST];
} packed_data;

static void make_data(packed_data *d, uint64_t *seed) {
    for (int64_t i = 0; i < PACKED; i++) {
        const int64_t n = (int64_t)(next_random(seed) % LENGTH_MOST);
        d->wide[i] = (int64_t)next_random(seed);
        d->narrow[i] = (uint8_t)next_random(seed);
        d->known[i] = next_random(seed) % 5 > 0;
        memset(d->bytes + d->offsets[i], (int)d->narrow[i], (size_t)n);
        d->offsets[i + 1] = d->offsets[i] + n;
    }
    for (size_t i = 0; i < sizeof d->valid; i++) d->valid[i] = (uint8_t)next_random(seed);
}

/* Reads the rows of a pile, which are the odd or the even ones. */
static void assert_packed(packed_rows *r, const packed_data *d, int64_t row) {
    buffer wide = {NULL, 0}, narrow = wide, offsets = wide, bytes = wide;
    bf_strings strings;
    while (packed_read(r, 700) == EXIT_DONE && r->n > 0) {
        assert_true(packed_numbers(r, 0, &wide) && packed_numbers(r, 2, &narrow));
        assert_true(packed_strings(r, 1, &offsets, &bytes, &strings));
        for (int64_t i = 0; i < r->n; i++, row += 2) {
            const int64_t *at = strings.offsets, n = d->offsets[row + 1] - d->offsets[row];
            assert_memory_equal(wide.at + i * 8, &d->wide[row], 8);
            assert_int_equal((uint8_t)narrow.at[i], d->narrow[row]);
            assert_int_equal(at[i + 1] - at[i], n);
            if (n > 0) assert_memory_equal(bytes.at + at[i], d->bytes + d->offsets[row], (size_t)n);
            assert_int_equal(packed_is_null(r, 0, i), !d->known[row]);
            assert_int_equal(packed_is_null(r, 1, i),
                             !(d->valid[(row + 3) / 8] >> (row + 3) % 8 & 1));
            assert_false(packed_is_null(r, 2, i));
        }
    }
    assert_true(row >= PACKED);
    buffer_free(&wide);
    buffer_free(&narrow);
    buffer_free(&offsets);
    buffer_free(&bytes);
}

TEST(packed_rows_are_read_as_they_were_put) {
    static packed_data d;
    static const int byte = 1;
    static uint8_t which[PACKED];
    static int64_t places[PACKED];
    uint64_t seed = 11;
    piles p;
    packed kind;
    make_data(&d, &seed);
    const packed_column columns[] = {
        {.dtype = BF_I64, .numbers = d.wide, .known = d.known},
        {.strings = true, .offsets = d.offsets, .bytes = d.bytes, .valid = d.valid, .first = 3},
        {.dtype = BF_U8, .numbers = d.narrow}};
    for (int64_t i = 0; i < PACKED; i++) {
        places[i] = i;
        which[i] = (uint8_t)(i % 2);
    }
    assert_true(packed_open(&kind, columns, 3));
    piles_open(&p, 2, 1, &byte, 1 << 10);
    for (int64_t at = 0, n; at < PACKED; at += n) {
        n = (int64_t)(next_random(&seed) % 1500);
        if (n > PACKED - at) n = PACKED - at;
        assert_int_equal(packed_add(&kind, &p, which + at, columns, places + at, n), EXIT_DONE);
    }
    assert_int_equal(piles_end(&p), EXIT_DONE);
    for (int i = 0; i < 2; i++) {
        packed_rows r = {.of = &kind, .piles = &p, .pile = i};
        assert_packed(&r, &d, i);
        packed_rows_close(&r);
    }
    packed_close(&kind);
    piles_close(&p);
}

UNIT_TESTS(spilled, NULL, NULL)
