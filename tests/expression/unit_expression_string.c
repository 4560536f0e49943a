/* Strings in expressions: functions of rows as text, results in memory of the expression, patterns,
 * what is refused.
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdio.h>

enum { ROWS = 4, COLUMNS = 5 };

/* s and n have NULLs. */
static const char *const names[COLUMNS] = {"s", "t", "n", "k", "u"};
static const bf_dtype dtypes[COLUMNS] = {BF_NONE, BF_NONE, BF_I64, BF_I16, BF_U64};
static const char *const s[ROWS] = {"Z\xc3\xbcrich", NULL, " a b\t", "a\xff\xe2\x82z"};
static const char *const t[ROWS] = {"rich", "", "B", "a"};
static const int64_t n[ROWS] = {2, 1, -1, 3};
static const int16_t k[ROWS] = {3, 1, 300, 0};
static const uint64_t u[ROWS] = {1, 2, UINT64_MAX, 4};
static const uint8_t s_valid = 13, n_valid = 11;

typedef struct strings {
    char bytes[100];
    int64_t offsets[ROWS + 1];
    bf_strings all;
} strings;

static void fill_strings(strings *x, const char *const *from) {
    for (int i = 0; i < ROWS; i++) {
        const size_t size = from[i] != NULL ? strlen(from[i]) : 0;
        memcpy(x->bytes + x->offsets[i], from[i] != NULL ? from[i] : "", size);
        x->offsets[i + 1] = x->offsets[i] + (int64_t)size;
    }
    x->all = (bf_strings){sizeof x->all, ROWS, BF_I64, x->offsets, x->bytes};
}

static const bf_column *const *table_columns(void) {
    static strings texts[2];
    static const void *const data[COLUMNS] = {NULL, NULL, n, k, u};
    static bf_array arrays[COLUMNS];
    static bf_column columns[COLUMNS];
    static const bf_column *all[COLUMNS];
    fill_strings(&texts[0], s);
    fill_strings(&texts[1], t);
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = (bf_column){.size = sizeof *columns};
        if (i >= 2) arrays[i] = bf_array_of(dtypes[i], data[i], ROWS);
        if (i >= 2) columns[i].numbers = &arrays[i];
        if (i < 2) columns[i].strings = &texts[i].all;
        all[i] = &columns[i];
    }
    columns[0].valid = &s_valid;
    columns[2].valid = &n_valid;
    return all;
}

static bf_expression *parse(bf_context *context, const char *text, int wide) {
    bf_expression *e = NULL;
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.wide = wide);
    if (bf_expression_parse(context, text, names, dtypes, COLUMNS, &options, NULL, &e) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    return e;
}

/* Writes one result, strings between brackets. */
static char *put_result(const bf_expression *e, const bf_strings *made, const char *room, int i,
                        char *to) {
    const int64_t *offsets = made->offsets;
    const bf_dtype dtype = bf_expression_dtype(e);
    if (bf_expression_is_string(e))
        return to +
               sprintf(to, "[%.*s]", (int)(offsets[i + 1] - offsets[i]), made->bytes + offsets[i]);
    bf_value value = {.dtype = dtype == BF_I128 ? BF_I64 : dtype};
    memcpy(&value.as, room + (size_t)i * bf_dtype_size(dtype), bf_dtype_size(value.dtype));
    bf_value_format(&value, to);
    return to + strlen(to);
}

static void evaluate(bf_context *context, const char *text, int wide, char *found) {
    char room[16 * ROWS];
    uint8_t valid[ROWS];
    bf_strings made = {.size = 0};
    OWN(bf_expression) *e = parse(context, text, wide);
    const bf_array out = bf_array_of(bf_expression_dtype(e), room, ROWS);
    const bf_status status =
        bf_expression_is_string(e)
            ? bf_expression_eval_strings(e, table_columns(), ROWS, &made, valid)
            : bf_expression_eval_columns(e, table_columns(), &out, valid);
    if (status != BF_OK) fail_msg("%s: %s", text, bf_context_message(context));
    for (int i = 0; i < ROWS; i++) {
        if (i > 0) *found++ = ' ';
        found = valid[i] ? put_result(e, &made, room, i, found) : found + sprintf(found, "NULL");
        if (!valid[i] && made.offsets != NULL)
            assert_int_equal(((const int64_t *)made.offsets)[i],
                             ((const int64_t *)made.offsets)[i + 1]);
    }
}

static const char *const results[][2] = {
    {"s", "[Z\xc3\xbcrich] NULL [ a b\t] [a\xff\xe2\x82z]"},
    {"'it''s'", "[it's] [it's] [it's] [it's]"},
    {"length(s)", "6 NULL 5 5"},
    {"length('\xf0\x9f\x98\x80\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80')", "10 10 10 10"},
    {"lower(s)", "[z\xc3\xbcrich] NULL [ a b\t] [a\xff\xe2\x82z]"},
    {"upper(concat(t, 'x'))", "[RICHX] [X] [BX] [AX]"},
    {"trim(s)", "[Z\xc3\xbcrich] NULL [a b] [a\xff\xe2\x82z]"},
    {"trim(' \t ')", "[] [] [] []"},
    {"substr(s, 2, 2)", "[\xc3\xbcr] NULL [a ] [\xff\xe2]"},
    {"substr(s, n, 1)", "[\xc3\xbc] NULL NULL [\xe2]"},
    {"substr(s, 0, k)", "[Z\xc3\xbc] NULL [ a b\t] []"},
    {"substr(s, length(s) - 1, 2)", "[ch] NULL [b\t] [\x82z]"},
    {"substr(t, -5, 7)", "[r] [] [B] [a]"},
    {"substr(t, 2, -1)", "[] [] [] []"},
    {"substr(t, u, u)", "[r] [] [] []"},
    {"substr(t, 2, 9223372036854775807)", "[ich] [] [] []"},
    {"concat(s, '-', t)", "[Z\xc3\xbcrich-rich] NULL [ a b\t-B] [a\xff\xe2\x82z-a]"},
    {"concat(t, t, t, t)", "[richrichrichrich] [] [BBBB] [aaaa]"},
    {"contains(s, t)", "1 NULL 0 1"},
    {"contains(t, '')", "1 1 1 1"},
    {"starts(s, t)", "0 NULL 0 1"},
    {"starts(t, 'ri')", "1 0 0 0"},
    {"ends(s, t)", "1 NULL 0 0"},
    {"ends('xrich', t)", "1 1 0 0"},
    {"s =~ '^.{7}$'", "1 NULL 0 0"},
    {"t =~ \"^(a|B)?$\"", "0 1 1 1"},
    {"s =~ 'ri' || t =~ '^a'", "1 NULL 0 1"},
    {"!(t =~ 'i') && t =~ '[[:alpha:]]'", "0 0 1 1"},
    {"lower(t) == upper(t)", "0 1 0 0"},
    {"lower(t) > 'b'", "1 0 0 0"},
    {"'b' == lower(t)", "0 0 1 0"},
    {"t != substr(s, 3, 9)", "0 NULL 1 1"},
    {"coalesce(s, t, 'x')", "[Z\xc3\xbcrich] [] [ a b\t] [a\xff\xe2\x82z]"},
    {"coalesce(lower(s), upper(t)) == ''", "0 1 0 0"},
    {"if(n > 1, s, t)", "[Z\xc3\xbcrich] [] [B] [a\xff\xe2\x82z]"},
    {"k > 1 ? 'many' : k == 1 ? 'one' : null", "[many] [one] [many] NULL"},
    {"isnull(lower(s))", "0 1 0 0"},
    {"is_null(s) ? 0 : length(s)", "6 0 5 5"},
    {"coalesce(null, t)", "[rich] [] [B] [a]"},
};

TEST_ON_EVERY_CONTEXT(strings_of_rows) {
    char found[400];
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        for (int wide = 0; wide < 2; wide++) {
            evaluate(context, results[i][0], wide, found);
            if (strcmp(found, results[i][1]) != 0)
                fail_msg("%s: %s, not %s", results[i][0], found, results[i][1]);
        }
}

/* ---- many rows ------------------------------------------------------------------------------- */

enum { MANY = (2 << 16) + 1 /* two threads have a piece of them */ };

/* Writes a number as text, some after a letter, and returns its size. Some end with a zero byte: as
 * far as the next one a sanitizer looks at what a pattern is sought in. */
static int put_row(char *to, const char *letter, int i) {
    return sprintf(to, "%s%d", i % 3 ? "" : letter, i) + (i % 100 == 0);
}

/* What becomes of such a row. */
static int put_wanted(char *to, int i) {
    int size = 0;
    if (i % 10 == 7) size = put_row(to, "V", i);
    if (i % 10 == 7) to[size++] = '-';
    return size + put_row(to + size, "v", i);
}

/* Numbers as text, and what becomes of them. */
TEST_ON_EVERY_CONTEXT(many_rows) {
    static char bytes[MANY * 8];
    static int32_t offsets[MANY + 1];
    static const char *const name = "x";
    static const bf_dtype dtype = BF_NONE;
    for (int i = 0; i < MANY; i++)
        offsets[i + 1] = offsets[i] + put_row(bytes + offsets[i], "v", i);
    const bf_strings x = {sizeof x, MANY, BF_I32, offsets, bytes};
    OWN(bf_expression) *e = NULL;
    assert_int_equal(bf_expression_parse(context, "x =~ '7$' ? concat(upper(x), '-', x) : trim(x)",
                                         &name, &dtype, 1, NULL, NULL, &e),
                     BF_OK);
    for (int count = 0; count <= MANY; count += count == 0 ? 1 : MANY - 1) {
        bf_strings part = x, made;
        const bf_column of = {.size = sizeof of, .strings = &part}, *const all = &of;
        part.count = count;
        assert_int_equal(bf_expression_eval_strings(e, &all, count, &made, NULL), BF_OK);
        assert_int_equal(made.count, count);
        const int64_t *at = made.offsets;
        assert_int_equal(at[0], 0);
        for (int i = 0; i < count; i++) {
            char wanted[40];
            const int size = put_wanted(wanted, i);
            if (at[i + 1] - at[i] != size || memcmp(made.bytes + at[i], wanted, (size_t)size) != 0)
                fail_msg("row %d: %.*s, not %s", i, (int)(at[i + 1] - at[i]), made.bytes + at[i],
                         wanted);
        }
    }
}

/* A zero byte is a byte as others are, but for the dot of a pattern. */
TEST(zero_bytes) {
    static const struct {
        const char *text;
        int64_t wanted;
    } texts[] = {{"x =~ 'b'", 1},         {"x =~ '^a'", 1},     {"x =~ 'a$'", 0},
                 {"x =~ '^a.b$'", 0},     {"x =~ 'a[^x]b'", 1}, {"length(x)", 3},
                 {"contains(x, 'b')", 1}, {"ends(x, 'b')", 1},  {"x == 'a'", 0},
                 {"lower(x) > 'a'", 1}};
    static const char *const name = "x";
    static const bf_dtype dtype = BF_NONE;
    static const int64_t offsets[] = {0, 3};
    const bf_strings x = {sizeof x, 1, BF_I64, offsets, "a\0b"};
    const bf_column column = {.size = sizeof column, .strings = &x}, *const columns = &column;
    OWN(bf_context) *context = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t room = 0;
        OWN(bf_expression) *e = NULL;
        assert_int_equal(
            bf_expression_parse(context, texts[i].text, &name, &dtype, 1, NULL, NULL, &e), BF_OK);
        const bf_array out = bf_array_of(bf_expression_dtype(e), &room, 1);
        assert_int_equal(bf_expression_eval_columns(e, &columns, &out, NULL), BF_OK);
        if (room != texts[i].wanted) fail_msg("%s: %lld", texts[i].text, (long long)room);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static const char *const refused[][2] = {
    {"length(n)", "character 1: this takes strings, and numbers are none"},
    {"concat(s, 1)", "character 1: this takes strings, and numbers are none"},
    {"substr(s, t, 1)", "character 1: the numbers of characters are integers"},
    {"substr(s, 0.5, 1)", "character 1: the numbers of characters are integers"},
    {"substr(s, 1)", "character 12: the function takes 3 arguments"},
    {"substr(s, 9223372036854775808, 1)",
     "character 1: the number 9223372036854775808 does not fit i64"},
    {"concat(s)", "character 9: the function takes at least 2 arguments"},
    {"s =~ t", "character 3: a pattern is a string in quotes"},
    {"s =~ '('", "character 6: this is no pattern: Unmatched ( or \\("},
    {"n =~ 'a'", "character 3: this takes strings, and numbers are none"},
    {"s + t", "character 3: strings are compared with strings, chosen, and taken by functions of "
              "strings; there is nothing else"},
    {"n ? s : 1", "character 3: strings are compared with strings, chosen, and taken by functions "
                  "of strings; there is nothing else"},
    {"s =~ 'a' =~ 'b'", "character 10: comparisons do not follow each other: join them by &&"},
};

TEST(what_is_refused) {
    OWN(bf_context) *context = make_context(NULL, 1);
    bf_expression *e = NULL;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (bf_expression_parse(context, refused[i][0], names, dtypes, COLUMNS, NULL, NULL, &e) ==
            BF_OK)
            fail_msg("%s is not refused", refused[i][0]);
        if (strcmp(bf_context_message(context), refused[i][1]) != 0)
            fail_msg("%s: %s", refused[i][0], bf_context_message(context));
    }
    bf_strings made;
    uint8_t valid[ROWS];
    e = parse(context, "n", 0);
    assert_int_equal(bf_expression_eval_strings(e, table_columns(), ROWS, &made, valid),
                     BF_E_DTYPE);
    assert_string_equal(bf_context_message(context), "the results are i64, and no strings");
    bf_expression_destroy(e);
    e = parse(context, "s", 0);
    assert_int_equal(bf_expression_eval_strings(e, table_columns(), ROWS, &made, NULL),
                     BF_E_ARGUMENT);
    assert_string_equal(bf_context_message(context), "the result at index 1 is NULL");
    assert_int_equal(bf_expression_eval_strings(e, table_columns(), ROWS - 1, &made, valid),
                     BF_E_SHAPE);
    assert_int_equal(bf_expression_is_string(NULL), 0);
    assert_int_equal(bf_expression_eval_strings(NULL, NULL, 0, &made, NULL), BF_E_ARGUMENT);
    bf_expression_destroy(e);
}

TEST(names_of_strings) {
    static const char *const texts[] = {"length(x)",
                                        "x =~ 'a'",
                                        "lower(x) == 'a'",
                                        "concat('a', x) < 'b'",
                                        "lower('a') == x",
                                        "coalesce(x, 'Oslo') == 'a'",
                                        "if(1, x, lower('a')) == 'b'",
                                        "contains('abc', x)"};
    OWN(bf_context) *context = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char found[40];
        unsigned char kinds[BF_EXPRESSION_NAMES_MAX];
        int count;
        assert_int_equal(bf_expression_names(context, texts[i], found, kinds, &count, NULL), BF_OK);
        if (count != 1 || kinds[0] != BF_NAME_STRING) fail_msg("%s: %d", texts[i], kinds[0]);
    }
}

UNIT_TESTS(expression_string, NULL, NULL)
