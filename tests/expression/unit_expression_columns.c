/* Expressions of columns: strings are compared by their bytes, NULLs follow Kleene's logic, what is
 * beneath a NULL does not matter; the names in a text. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdio.h>

enum { ROWS = 5003, STRING_MOST = 24 };

/* A row as a person sees it. */
typedef struct row {
    bool p_null, n_null, s_null, t_null, f_null;
    double p;
    int32_t n;
    const char *s, *t;
    bool f;
} row;

typedef struct answer {
    bool null;
    double value;
} answer;

static row table[ROWS];

/* ---- the columns ----------------------------------------------------------------------------- */

static const char *const words[] = {"",
                                    "a",
                                    "b",
                                    "ab",
                                    "aba",
                                    "abb",
                                    "Lagos",
                                    "Lagot",
                                    "Mexico\xc3\xa9",
                                    "exactly8",
                                    "exactly9",
                                    "a string of 16 b",
                                    "a string of 16 c",
                                    "a string of seventeen",
                                    "a string of Seventeen"};

/* What is beneath a NULL would fail if it were looked at. */
static void fill_table(uint64_t seed) {
    for (int i = 0; i < ROWS; i++) {
        row *r = &table[i];
        const uint64_t x = next_random(&seed);
        const bool none = i / 1000 == 2; /* some tiles have no NULL */
        r->p_null = !none && x % 5 == 0;
        r->n_null = !none && x / 5 % 4 == 0;
        r->s_null = !none && x / 20 % 6 == 0;
        r->t_null = !none && x / 120 % 7 == 0;
        r->f_null = !none && x / 840 % 3 == 0;
        r->p = x / 2520 % 11 == 0 ? NAN : (double)(x / 30000 % 21) - 10;
        r->n = r->n_null ? (i % 2 ? 0 : INT32_MIN) : (int32_t)(x / 1000000 % 7) - 3;
        r->s = words[next_random(&seed) % (sizeof words / sizeof *words)];
        r->t = words[next_random(&seed) % (sizeof words / sizeof *words)];
        r->f = next_random(&seed) % 2;
    }
}

typedef struct table_columns {
    double p[ROWS];
    int32_t n[ROWS];
    uint8_t f[ROWS];
    int64_t s_offsets[ROWS + 1];
    int32_t t_offsets[ROWS + 1];
    char s_bytes[ROWS * STRING_MOST], t_bytes[ROWS * STRING_MOST];
    uint8_t bits[5][ROWS / 8 + 3];
    bf_array arrays[3];
    bf_strings strings[2];
    bf_column columns[5];
    const bf_column *given[5];
} table_columns;

static const char *const names[] = {"p", "n", "f", "s", "t"};
static const bf_dtype dtypes[] = {BF_F64, BF_I32, BF_BOOL, BF_NONE, BF_NONE};

static void set_bit(uint8_t *bits, int64_t i, bool one) {
    if (one) bits[i / 8] = (uint8_t)(bits[i / 8] | 1 << i % 8);
}

static void fill_columns(table_columns *c) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < ROWS; i++) {
        const row *r = &table[i];
        const bool nulls[] = {r->p_null, r->n_null, r->f_null, r->s_null, r->t_null};
        c->p[i] = r->p;
        c->n[i] = r->n;
        c->f[i] = r->f;
        strcpy(c->s_bytes + c->s_offsets[i], r->s);
        strcpy(c->t_bytes + c->t_offsets[i], r->t);
        c->s_offsets[i + 1] = c->s_offsets[i] + (int64_t)strlen(r->s);
        c->t_offsets[i + 1] = c->t_offsets[i] + (int32_t)strlen(r->t);
        for (int k = 0; k < 5; k++) set_bit(c->bits[k], i + 3 * k, !nulls[k]);
    }
    c->arrays[0] = bf_array_of(BF_F64, c->p, ROWS);
    c->arrays[1] = bf_array_of(BF_I32, c->n, ROWS);
    c->arrays[2] = bf_array_of(BF_BOOL, c->f, ROWS);
    c->strings[0] = (bf_strings){sizeof *c->strings, ROWS, BF_I64, c->s_offsets, c->s_bytes};
    c->strings[1] = (bf_strings){sizeof *c->strings, ROWS, BF_I32, c->t_offsets, c->t_bytes};
    for (int k = 0; k < 5; k++) {
        c->columns[k] =
            (bf_column){.size = sizeof *c->columns, .valid = c->bits[k], .first = 3 * k};
        if (k < 3)
            c->columns[k].numbers = &c->arrays[k];
        else
            c->columns[k].strings = &c->strings[k - 3];
        c->given[k] = &c->columns[k];
    }
}

/* ---- what the answers should be -------------------------------------------------------------- */

static const answer null = {true, 0};

static answer of(double x) { return (answer){false, x}; }

static answer test(bool is_null, bool x) { return is_null ? null : of(x); }

static answer both(answer a, answer b) {
    const bool no = (!a.null && a.value == 0) || (!b.null && b.value == 0);
    return no ? of(0) : a.null || b.null ? null : of(1);
}

static answer either(answer a, answer b) {
    const bool yes = (!a.null && a.value != 0) || (!b.null && b.value != 0);
    return yes ? of(1) : a.null || b.null ? null : of(0);
}

static bool met(answer a) { return !a.null && a.value != 0; }

static answer sum_of(const row *r) { return r->p_null || r->n_null ? null : of(r->p + r->n); }
static answer in_lagos(const row *r) { return test(r->s_null, strcmp(r->s, "Lagos") == 0); }
static answer not_empty(const row *r) { return test(r->t_null, strcmp(r->t, "") != 0); }
static answer is_16(const row *r) { return test(r->s_null, !strcmp(r->s, words[11])); }
static answer is_long(const row *r) { return test(r->t_null, !strcmp(r->t, words[13])); }
static answer is_letter(const row *r) { return test(r->s_null, !strcmp(r->s, "b")); }
static answer is_two(const row *r) { return test(r->t_null, !strcmp("ab", r->t)); }
static answer is_three(const row *r) { return test(r->t_null, !strcmp("abb", r->t)); }
static answer is_eight(const row *r) { return test(r->s_null, !strcmp("exactly8", r->s)); }
static answer order(const row *r) { return test(r->s_null || r->t_null, strcmp(r->s, r->t) < 0); }
static answer at_least(const row *r) { return test(r->s_null, strcmp(r->s, "ab") >= 0); }
static answer differ(const row *r) { return test(r->s_null || r->t_null, strcmp(r->s, r->t)); }
static answer positive(const row *r) { return test(r->p_null, r->p > 0); }
static answer flag(const row *r) { return test(r->f_null, r->f); }
static answer filter(const row *r) { return both(positive(r), in_lagos(r)); }
static answer any(const row *r) { return either(positive(r), flag(r)); }
static answer not_any(const row *r) {
    const answer x = any(r);
    return x.null ? null : of(x.value == 0);
}
static answer flag_null(const row *r) { return of(r->f_null); }
static answer sum_null(const row *r) { return of(r->n_null || r->p_null); }
static answer string_null(const row *r) { return of(r->s_null && !r->t_null); }
static answer choice(const row *r) {
    if (met(flag(r))) return r->p_null ? null : of(r->p);
    return r->n_null ? null : of(r->n);
}
static answer divide(const row *r) {
    if (r->n_null) return null; /* the condition is not met */
    return r->n != 0 ? of(100 / r->n * r->n + 100 % r->n) : of(-1);
}
static answer default_of(const row *r) { return r->n_null ? of(7) : of(r->n); }
static answer right_needed(const row *r) {
    if (!r->n_null && r->n == 0) return of(0);
    return r->n_null ? null : of((((100 % r->n) + r->n) % r->n) == 0);
}
static answer nan_of(const row *r) { return test(r->p_null, isnan(r->p)); }
static answer nan_of_whole(const row *r) { return test(r->n_null, false); }
static answer nan_of_either(const row *r) {
    return either(test(r->f_null, false), both(nan_of_whole(r), flag(r)));
}
static answer flag_zeroth(const row *r) { return test(r->f_null, true); }
static answer zeroth(const row *r) { return test(r->p_null, true); }
static answer zeroth_of_two(const row *r) { return test(r->n_null || r->p_null, true); }
static answer zeroth_null(const row *r) { return of(r->n_null); }
static answer unless_positive(const row *r) { return met(positive(r)) ? of(0) : default_of(r); }
static answer constant(const row *r) {
    (void)r;
    return of(1);
}

static const struct {
    const char *text;
    answer (*value)(const row *);
} samples[] = {
    {"p + n", sum_of},
    {"s == 'Lagos'", in_lagos},
    {"t != \"\"", not_empty},
    {"s == 'a string of 16 b'", is_16},
    {"'a string of seventeen' == t", is_long},
    {"s == 'b'", is_letter},
    {"t == 'ab'", is_two},
    {"t == 'abb'", is_three},
    {"s == 'exactly8'", is_eight},
    {"s < t", order},
    {"t > s", order},
    {"s >= 'ab'", at_least},
    {"'ab' <= s", at_least},
    {"s != t", differ},
    {"p > 0 && s == \"Lagos\"", filter},
    {"s == \"Lagos\" && p > 0", filter},
    {"f || p > 0", any},
    {"!(p > 0 || f)", not_any},
    {"isnull(f)", flag_null},
    {"isnull(n*1.0 + p)", sum_null},
    {"isnull(s) && !isnull(t)", string_null},
    {"f ? p : n", choice},
    {"n != 0 ? 100 - 100 % n + 100 % n : (isnull(n) ? n : -1)", divide},
    {"isnull(n) ? 7 : n", default_of},
    {"n != 0 && 100 % n == 0", right_needed},
    {"!(n == 0 || 100 % n != 0)", right_needed},
    {"isnan(p)", nan_of},
    {"isnan(n)", nan_of_whole},
    {"isnan(f) || isnan(n) && f", nan_of_either},
    {"p**0", zeroth},
    {"p**0 == 1", zeroth},
    {"(n*1.0 + p)**0", zeroth_of_two},
    {"1.0 * f**0", flag_zeroth},
    {"isnull(n**0)", zeroth_null},
    {"p > 0 ? 0 : p > 0 ? 1/0 + 1%0 : p <= 0 || 1 ? (isnull(n) ? 7 : n) : 9223372036854775807*3",
     unless_positive},
    {"'a' < 'ab' && \"it's\" == 'it''s' && 'a\"b' != \"a\"\"c\"", constant},
};

static double value_at(bf_dtype dtype, const char *x, int64_t i) {
    double d;
    int32_t n;
    if (dtype == BF_BOOL) return x[i];
    if (dtype == BF_I32) return memcpy(&n, x + 4 * i, 4), n;
    return memcpy(&d, x + 8 * i, 8), d;
}

static void check_samples(bf_context *context, void *data) {
    const table_columns *c = data;
    static double results[ROWS];
    static uint8_t valid[ROWS];
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        OWN(bf_expression) *e = NULL;
        const char *text = samples[s].text;
        if (bf_expression_parse(context, text, names, dtypes, 5, NULL, NULL, &e) != BF_OK)
            fail_msg("%s: %s", text, bf_context_message(context));
        const bf_dtype dtype = bf_expression_dtype(e);
        const bf_array out = bf_array_of(dtype, results, ROWS);
        int64_t first_null = -1;
        if (bf_expression_eval_columns(e, c->given, &out, valid) != BF_OK)
            fail_msg("%s: %s", text, bf_context_message(context));
        for (int64_t i = 0; i < ROWS; i++) {
            const answer wanted = samples[s].value(&table[i]);
            const double x = value_at(dtype, (const char *)results, i);
            const bool same = x == wanted.value || (isnan(x) && isnan(wanted.value));
            if (valid[i] != !wanted.null || !same)
                fail_msg("%s at %d: %g, %d, not %g, %d", text, (int)i, x, valid[i], wanted.value,
                         !wanted.null);
            if (wanted.null && first_null < 0) first_null = i;
        }
        const bf_status status = bf_expression_eval_columns(e, c->given, &out, NULL);
        assert_int_equal(status, first_null < 0 ? BF_OK : BF_E_ARGUMENT);
        if (status != BF_OK) {
            char message[80];
            snprintf(message, sizeof message, "the result at index %d is NULL", (int)first_null);
            assert_string_equal(bf_context_message(context), message);
        }
    }
}

TEST(nulls_and_strings) {
    table_columns *c = malloc(sizeof *c);
    assert_non_null(c);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        fill_table(seed);
        fill_columns(c);
        on_every_context(check_samples, c);
    }
    free(c);
}

/* ---- failures -------------------------------------------------------------------------------- */

static bf_status eval_one(bf_context *context, const char *text, const table_columns *c,
                          int64_t n) {
    static uint64_t results[ROWS];
    static uint8_t valid[ROWS];
    bf_expression *e = NULL;
    bf_status status = bf_expression_parse(context, text, names, dtypes, 5, NULL, NULL, &e);
    if (status == BF_OK) {
        const bf_array out = bf_array_of(bf_expression_dtype(e), results, n);
        status = bf_expression_eval_columns(e, c->given, &out, valid);
    }
    bf_expression_destroy(e);
    return status;
}

static void refuse(bf_context *context, const char *text, const table_columns *c, int64_t n,
                   bf_status status, const char *why) {
    const bf_status found = eval_one(context, text, c, n);
    if (found != status || !strstr(bf_context_message(context), why))
        fail_msg("%s: %d, %s", text, found, bf_context_message(context));
}

TEST(what_is_needed_fails_where_others_are_null) {
    table_columns *c = malloc(sizeof *c);
    assert_non_null(c);
    OWN(bf_context) *context = make_context(NULL, 1);
    fill_table(9);
    for (int i = 0; i < ROWS; i++) {
        table[i].f_null = true;
        table[i].n_null = false;
        table[i].n = i == 4000 ? 0 : 1;
    }
    fill_columns(c);
    /* NULL && x is false where x is, so x is needed; NULL ? x : y is y. */
    refuse(context, "f && 5 % n == 0", c, ROWS, BF_E_ARGUMENT,
           "character 8: integer division by zero at index 4000");
    refuse(context, "f || 5 % n == 0", c, ROWS, BF_E_ARGUMENT, "at index 4000");
    refuse(context, "f ? 1 : 5 % n", c, ROWS, BF_E_ARGUMENT, "at index 4000");
    assert_int_equal(eval_one(context, "f ? 5 % n : 1", c, ROWS), BF_OK);
    free(c);
}

TEST(wrong_columns_and_texts_are_refused) {
    static const char strings[] = "strings are compared with strings, chosen, and taken by "
                                  "functions of strings; there is nothing else";
    table_columns *c = malloc(sizeof *c);
    assert_non_null(c);
    OWN(bf_context) *context = make_context(NULL, 1);
    fill_table(2);
    fill_columns(c);
    refuse(context, "s + t", c, ROWS, BF_E_DTYPE, "character 3: strings are");
    refuse(context, "p == s", c, ROWS, BF_E_DTYPE, "character 3: strings are");
    refuse(context, "f && s", c, ROWS, BF_E_DTYPE, "character 3: strings are");
    refuse(context, "s ? 1 : 2", c, ROWS, BF_E_DTYPE, strings);
    refuse(context, "f ? s : t", c, ROWS, BF_E_DTYPE, "the results are strings");
    refuse(context, "!s", c, ROWS, BF_E_DTYPE, strings);
    refuse(context, "s**2", c, ROWS, BF_E_DTYPE, "character 2: strings are");
    refuse(context, "isnan(s)", c, ROWS, BF_E_DTYPE, strings);
    refuse(context, "s", c, ROWS, BF_E_DTYPE, "the results are strings, and no array holds them");
    refuse(context, "'a'", c, ROWS, BF_E_DTYPE, "the results are strings");
    refuse(context, "s == 'a", c, ROWS, BF_E_ARGUMENT, "character 6: the string has no closing '");
    refuse(context, "s == \"a\"\"", c, ROWS, BF_E_ARGUMENT, "the string has no closing \"");
    refuse(context, "s == 'a' 'b'", c, ROWS, BF_E_ARGUMENT, "character 10: an operator expected");
    refuse(context, "s == 'a'", c, ROWS - 1, BF_E_SHAPE, "column 3 has another length");
    refuse(context, "p == 1", c, ROWS - 1, BF_E_SHAPE, "column 0 has another shape");
    c->s_offsets[4500] = c->s_offsets[4499] - 1;
    refuse(context, "s == 'a'", c, ROWS, BF_E_ARGUMENT, "offset 4500 of the strings is ");
    c->t_offsets[0] = -1;
    refuse(context, "t == 'a'", c, ROWS, BF_E_ARGUMENT, "less than 0");
    assert_int_equal(eval_one(context, "p + 1", c, ROWS), BF_OK);
    free(c);
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(names_of_a_text) {
    static const struct {
        const char *text, *names; /* with | between */
        const char *kinds;        /* a letter each */
    } cases[] = {
        {"a + b*a", "a|b", "nn"},
        {"sqrt (x)+ sqrt", "x|sqrt", "nn"},
        {"`unit price`*`1,2` - `a``b` - ``", "unit price|1,2|a`b|", "nnnn"},
        {"1.e5*e5 + 0x1.fp3*fp3", "e5|fp3", "nn"},
        {"city == \"a b\" && town == 'it''s'", "city|town", "ss"},
        {"'a' < s && t >= 3 && -2 != u && v < -x", "s|t|u|v|x", "snnnn"},
        {"isnull(a) || b == c || isnan(d) ? e : max(f, g)", "a|b|c|d|e|f|g", "eeennnn"},
        {"a == b || b == '1'", "a|b", "ss"},
        {"3 < 4", "", ""},
        {"(((z)))", "z", "n"},
        {"(s) == t", "s|t", "ee"},
        {"max(s == t, 0) + (isnull(u))", "s|t|u", "eee"},
        {"(u) == \"7\" || 'x' < ((`u v`))", "u|u v", "ss"},
        {"s == t && (t) != u && u == 'x' && v == w && w < -2", "s|t|u|v|w", "sssnn"},
        {"(a == b) == (c != d) ? e : f == g", "a|b|c|d|e|f|g", "eeeenee"},
        {"a**2 == b && (c) != (d) * 1", "a|b|c|d", "nnnn"},
    };
    OWN(bf_context) *context = make_context(NULL, 1);
    char found[80], wanted[100];
    unsigned char kinds[BF_EXPRESSION_NAMES_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int count = -1;
        memset(found, 'x', sizeof found);
        assert_int_equal(bf_expression_names(context, cases[i].text, found, kinds, &count, NULL),
                         BF_OK);
        const char *at = found;
        wanted[0] = '\0';
        for (int k = 0; k < count; k++, at += strlen(at) + 1)
            sprintf(wanted + strlen(wanted), "%s%s", k > 0 ? "|" : "", at);
        assert_string_equal(wanted, cases[i].names);
        assert_true(at - found <= (int64_t)strlen(cases[i].text) + 1);
        for (int k = 0; k < count; k++)
            if ("ens"[kinds[k]] != cases[i].kinds[k]) fail_msg("%s: name %d", cases[i].text, k);
    }
    int count, position = -1;
    assert_int_equal(bf_expression_names(context, "ab + 'c", found, NULL, &count, &position),
                     BF_E_ARGUMENT);
    assert_int_equal(position, 5);
    enum { MANY = 100000 };
    char *text = malloc(8 * MANY), *list = malloc(8 * MANY), *end = text;
    assert_true(text && list);
    for (int i = 0; i < MANY; i++) end += sprintf(end, "+a%d", i);
    assert_int_equal(bf_expression_names(context, text, list, kinds, &count, &position),
                     BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(context), "the expression has too many names"));
    free(text);
    free(list);
}

UNIT_TESTS(expression_columns, NULL, NULL)
