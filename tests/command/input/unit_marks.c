/* Marks of texts, by all vectors there are, against a look at each byte; and short numbers against
 * a division.
 * Builds: release, asan, tsan. */
#include "cli/text/marks.c"
#include "cli/text/store.h"
#include "tests/support/data.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdlib.h>

enum { MOST = 700, CASES = 20000 };

typedef struct found {
    text_marks marks;
    uint32_t at[MOST + TEXT_MARKS_SLACK], ends[MOST + TEXT_MARKS_SLACK];
} found;

static void begin(found *f) { f->marks = (text_marks){.at = f->at, .ends = f->ends}; }

/* Bytes of fields and what parts them; `quotes`: some are quotes. */
static uint32_t random_text(char text[MOST + TEXT_MARKS_SLACK], bool quotes) {
    static const char bytes[] = "x1 \r,,;\n\"\"\"\"";
    const int kinds = (int)sizeof bytes - (quotes ? 1 : 5);
    const uint32_t n = (uint32_t)rand() % MOST;
    const int plain = rand() % 8; /* one byte of so many is another */
    for (uint32_t i = 0; i < MOST + TEXT_MARKS_SLACK; i++)
        text[i] = rand() % (plain + 1) ? 'x' : bytes[rand() % kinds];
    return n;
}

/* What the marks are, byte by byte. */
static void look(const char *text, uint32_t n, bool quotes, found *f) {
    int state = TEXT_ROW;
    begin(f);
    for (uint32_t i = 0; i < n; i++) {
        if (quotes) state = text_step(state, text[i], ',');
        if (state == TEXT_QUOTED || (text[i] != ',' && text[i] != '\n')) continue;
        f->at[f->marks.n++] = i;
        if (text[i] == '\n') f->ends[f->marks.rows++] = i;
    }
}

static void check_same(const found *a, const found *b) {
    assert_int_equal(a->marks.n, b->marks.n);
    assert_int_equal(a->marks.rows, b->marks.rows);
    assert_memory_equal(a->at, b->at, a->marks.n * sizeof *a->at);
    assert_memory_equal(a->ends, b->ends, a->marks.rows * sizeof *a->ends);
}

typedef void finder(const char *, uint32_t, char, text_marks *);

static void check_finder(finder *find, bool quotes) {
    static char text[MOST + TEXT_MARKS_SLACK];
    static found want, got;
    for (int i = 0; i < CASES; i++) {
        const uint32_t n = random_text(text, quotes);
        look(text, n, quotes, &want);
        begin(&got);
        find(text, n, ',', &got.marks);
        check_same(&want, &got);
    }
}

static void marks_are_found(void **state) {
    (void)state;
    check_finder(find_plain, false);
    check_finder(outside_plain, true);
    check_finder(text_marks_find, false);
    check_finder(text_marks_outside, true);
}

static void surveys_and_rows_are_the_same(void **state) {
    static char text[MOST + TEXT_MARKS_SLACK];
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const uint32_t n = random_text(text, i % 2);
        if (i % 3 == 0) text[rand() % MOST] = '\0';
        const char *const end = text + n, *const from = text + rand() % (MOST + 1);
        const text_survey a = survey_plain(text, end), b = text_survey_of(text, end);
        assert_int_equal(a.lines, text_count_lines(text, end));
        assert_true(a.lines == b.lines && a.nul == b.nul && a.quotes == b.quotes);
        assert_int_equal(a.nul, memchr(text, '\0', n) != NULL);
        assert_int_equal(a.quotes, memchr(text, '"', n) != NULL);
        const text_bounds x = rows_plain(text, end, ',', TEXT_ROW, from),
                          y = text_rows_find(text, end, ',', TEXT_ROW, from);
        assert_true(x.first == y.first && x.last == y.last && x.inside == y.inside);
    }
}

static void short_numbers_are_quotients(void **state) {
    double power = 1;
    (void)state;
    for (int decimals = 0; decimals < 8; decimals++, power *= 10)
        for (uint64_t digits = (uint64_t)decimals; digits < 10000000; digits += 7) {
            const text_short n = {digits, decimals, decimals > 0};
            const double got = text_short_double(&n), want = (double)digits / power;
            assert_memory_equal(&got, &want, sizeof got);
        }
}

UNIT_TESTS(marks) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_found),
        cmocka_unit_test(surveys_and_rows_are_the_same),
        cmocka_unit_test(short_numbers_are_quotients),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
