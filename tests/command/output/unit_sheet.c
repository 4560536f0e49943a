/* Fields of sheets: how wide characters are, what may reach a terminal, what each form makes of a
 * string. */
#include "cli/runtime/utf8.h"
#include "cli/sheet/field.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "cli/sheet/output.h"

#include <string.h>

static int width_of(const char *text) { return field_width(text, text + strlen(text)); }

TEST(widths_are_those_of_a_terminal) {
    static const struct {
        const char *text;
        int width;
    } cases[] = {{"", 0},
                 {"abc", 3},
                 {"\u00e9t\u00e9", 3},
                 {"e\u0301", 1},
                 {"\u0411\u0433", 2},
                 {"\u6771\u4eac", 4},
                 {"\uc11c\uc6b8", 4},
                 {"\uff21", 2},
                 {"\U0001f600", 2},
                 {"\U00020000", 2},
                 {"\u200b", 0},
                 {"\u20ac", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(width_of(cases[i].text), cases[i].width);
}

TEST(sequences_that_are_cut_off_are_none) {
    static const char text[] = "\U0001f600";
    assert_int_equal(utf8_length_before(text, text + 4), 4);
    for (int n = 1; n < 4; n++) assert_int_equal(utf8_length_before(text, text + n), 0);
}

static void check(enum sheet_form form, const char *bytes, size_t n, const char *want) {
    char text[FIELD_TEXT(64)];
    *field_put_string(text, form, bytes, n) = '\0';
    assert_string_equal(text, want);
}

TEST(strings_in_each_form) {
    static const char odd[] = "a\t\x1b\xff|\"\r\n\xc2\x9b\u00e9";
    const size_t n = sizeof odd - 1;
    check(SHEET_ALIGNED, odd, n, "a???|\"???\u00e9");
    check(SHEET_TSV, odd, n, "\"a\t\x1b\xff|\"\"\r\n\xc2\x9b\u00e9\"");
    check(SHEET_CSV, "a,b", 3, "\"a,b\"");
    check(SHEET_TSV, "a,b", 3, "a,b");
    check(SHEET_JSON, odd, n, "\"a\\t\\u001b\ufffd|\\\"\\r\\n\xc2\x9b\u00e9\"");
    check(SHEET_MARKDOWN, odd, n, "a???\\|\"<br>?\u00e9");
    check(SHEET_MARKDOWN, "_a_b*", 5, "\\_a_b\\*");
    for (enum sheet_form form = SHEET_PLAIN; form <= SHEET_JSON; form++) check(form, "", 0, "\"\"");
}

TEST(null_is_no_string) {
    static const char *const texts[] = {"a", NULL, ""};
    static const char *const csv[] = {"a", "", "\"\""}, *const json[] = {"\"a\"", "null", "\"\""};
    const sheet_column column = {.name = "x", .texts = texts};
    char text[FIELD_TEXT(64)];
    for (int i = 0; i < 3; i++) {
        assert_in_range(field_room(&column, i, SHEET_JSON), 3, sizeof text);
        *field_put(text, SHEET_CSV, &column, i, false) = '\0';
        assert_string_equal(text, csv[i]);
        *field_put(text, SHEET_JSON, &column, i, false) = '\0';
        assert_string_equal(text, json[i]);
    }
}

/* Integers in units of 10^-scale are decimals in every form; floats beside them are not. */
TEST(decimals_have_every_digit) {
    static const int64_t units[] = {-1250, 3, 0, INT64_MAX};
    static const char *const want[] = {"-1.25", "0.003", "0", "9223372036854775.807"};
    static const double half = 0.5;
    const sheet_column column = {
        .name = "x", .form.dtype = BF_I64, .form.scale = 3, .array = units};
    const uint64_t tagged[] = {25, BF_I64, 0x3fe0000000000000, BF_F64};
    char text[FIELD_TEXT(64)];
    for (enum sheet_form form = SHEET_ALIGNED; form <= SHEET_MARKDOWN; form++) {
        for (int i = 0; i < 4; i++) {
            *field_put(text, form, &column, i, true) = '\0';
            assert_string_equal(text, want[i]);
        }
    }
    const bf_value element = output_element(BF_PAIR, 1, tagged, 0),
                   between = output_element(BF_PAIR, 1, tagged, 1),
                   other = output_element(BF_F64, 1, &half, 0);
    assert_int_equal(element.scale, 1);
    assert_int_equal(between.scale, 0);
    assert_int_equal(other.scale, 0);
}

UNIT_TESTS(sheet, NULL, NULL)
