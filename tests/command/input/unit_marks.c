/* Marks of texts and digits of fields, by all vectors there are, against a look at each byte; and
 * short numbers against a division. */
#include "cli/text/digits.c"
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

TEST(marks_are_found) {
    check_finder(find_plain, false);
    check_finder(outside_plain, true);
    check_finder(text_marks_find, false);
    check_finder(text_marks_outside, true);
}

TEST(surveys_and_rows_are_the_same) {
    static char text[MOST + TEXT_MARKS_SLACK];
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

/* ---- digits ---------------------------------------------------------------------------------- */

enum { FIELDS = 31 };

/* Fields of two columns, most of which are numbers of up to `longest` bytes. */
static text_fields random_fields(char *text, uint32_t marks[2 * FIELDS], int longest) {
    static const char bytes[] = "0123456789.-+ e";
    uint32_t n = 0;
    for (int i = 0; i < 2 * FIELDS; i++) {
        const int length = rand() % (longest + 1), kinds = rand() % 16 ? 10 : (int)sizeof bytes - 1;
        const int point = rand() % 2 ? rand() % (longest + 1) : longest;
        if (rand() % 4 == 0) text[n++] = '-';
        for (int k = 0; k < length; k++) text[n++] = k == point ? '.' : bytes[rand() % kinds];
        marks[i] = n;
        text[n++] = i % 2 ? '\n' : ',';
    }
    return (text_fields){text, marks[0] + 1, marks + 1, 2};
}

/* Whether a field is a number of up to `most` bytes behind its sign, as number 0. */
static bool look_at_field(const char *p, const char *end, int most, text_plain *out) {
    uint64_t digits = 0;
    int behind = -1;
    out->negative[0] = *p == '-';
    out->code[0] = text_is_code(p);
    p += *p == '-';
    const char *const first = p;
    for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && behind < 0)); p++) {
        if (*p != '.') digits = 10 * digits + (uint64_t)(*p - '0');
        behind += *p == '.' || behind >= 0;
    }
    out->digits[0] = digits;
    out->point[0] = (uint8_t)(behind >= 0 ? TEXT_POINT + behind : 0);
    return p == end && p - first <= most && p - first > (behind >= 0);
}

static void check_digits(const text_fields *f, const text_plain *got, int64_t n, int most) {
    text_plain want;
    for (int64_t i = 0; i < n; i++) {
        const bool good = look_at_field(text_field_begin(f, i), text_field_end(f, i), most, &want);
        assert_true(good && got->digits[i] == want.digits[0] && got->point[i] == want.point[0]);
        assert_true(got->negative[i] == want.negative[0] && got->code[i] == want.code[0]);
    }
    if (n == FIELDS) return;
    assert_false(look_at_field(text_field_begin(f, n), text_field_end(f, n), most, &want));
}

TEST(digits_are_read) {
    static const int longest[] = {3, 7, 8, 16, 18};
    char text[2 * FIELDS * 20 + TEXT_MARKS_SLACK];
    uint32_t marks[2 * FIELDS];
    text_plain got;
    for (int i = 0; i < CASES; i++) {
        const text_fields f = random_fields(text, marks, longest[i % 5]);
        check_digits(&f, &got, read_plain(&f, 0, FIELDS, &got), 8);
#ifdef HAS_WIDE_DIGITS
        if (has_wide_digits()) check_digits(&f, &got, text_digits_read(&f, 0, FIELDS, &got), 16);
#endif
    }
}

TEST(short_numbers_are_quotients) {
    double power = 1;
    for (int decimals = 0; decimals < 8; decimals++, power *= 10)
        for (uint64_t digits = (uint64_t)decimals; digits < 10000000; digits += 7) {
            const text_short n = {digits, decimals, decimals > 0};
            const double got = text_short_double(&n), want = (double)digits / power;
            assert_memory_equal(&got, &want, sizeof got);
        }
}

UNIT_TESTS(marks, NULL, NULL)
