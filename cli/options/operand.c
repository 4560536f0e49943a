#include "options/operand.h"

#include "memory/hardware.h"
#include "runtime/guess.h"
#include "text/style.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool operand_bad(const char *name, const char *text, const char *expected) {
    fail(EXIT_USAGE, NULL, "bad operand of --%s: '%s' is not %s", name, text, expected);
    return false;
}

bool read_flag(const option_spec *spec, const char *text, void *to) {
    (void)spec;
    (void)text;
    *(bool *)to = true;
    return true;
}

bool read_setting(const option_spec *spec, const char *text, void *to) {
    (void)text;
    *(int *)to = spec->value;
    return true;
}

bool read_text(const option_spec *spec, const char *text, void *to) {
    (void)spec;
    *(const char **)to = text;
    return true;
}

bool read_choice(const option_spec *spec, const char *text, void *to) {
    const size_t length = strlen(text);
    int i = 0;
    for (const char *at = spec->operand; *at; i++) {
        const size_t n = strcspn(at, "|");
        if (n == length && memcmp(at, text, n) == 0) {
            *(int *)to = i;
            return true;
        }
        at += n + (at[n] == '|');
    }
    return operand_bad(spec->name, text, spec->operand);
}

bool read_dtype_choice(const option_spec *spec, const char *text, void *to) {
    int choice;
    if (!read_choice(spec, text, &choice)) return false;
    *(bf_dtype *)to = bf_dtype_from_name(text);
    return true;
}

bool read_number(const option_spec *spec, const char *text, void *to) {
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    const bool digit = *text >= '0' && *text <= '9';
    char expected[80];
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)spec->least,
             (long long)spec->most);
    if (!digit || *end || errno || value < spec->least || value > spec->most)
        return operand_bad(spec->name, text, expected);
    *(int64_t *)to = value;
    return true;
}

bool read_dtype(const option_spec *spec, const char *text, void *to) {
    bf_dtype *dtype = to;
    *dtype = bf_dtype_from_name(text);
    return *dtype != BF_NONE || operand_bad(spec->name, text, "a dtype (such as f32 or i64)");
}

/* The list lives until the next command line is read. */
bool read_columns(const option_spec *spec, const char *text, void *to) {
    static char *joined;
    const char **list = to;
    if (*text == '\0') return operand_bad(spec->name, text, "a number or a name");
    if (!*list) {
        *list = text;
        return true;
    }
    const size_t size = strlen(*list) + strlen(text) + 2;
    char *longer = malloc(size);
    if (!longer) return fail_memory(NULL) == EXIT_DONE;
    snprintf(longer, size, "%s,%s", *list, text);
    free(joined);
    *list = joined = longer;
    return true;
}

static bool has_axis(const struct wanted_axes *axes, long axis) {
    for (int i = 0; i < axes->n; i++)
        if (axes->at[i] == axis) return true;
    return false;
}

bool read_axes(const option_spec *spec, const char *text, void *to) {
    struct wanted_axes *axes = to;
    const char *at = text;
    for (bool more = true; more;) {
        char *end;
        const bool digit = isdigit((unsigned char)at[*at == '-']);
        const long axis = digit ? strtol(at, &end, 10) : BF_MAX_DIMS;
        const bool fits = axis >= -BF_MAX_DIMS && axis < BF_MAX_DIMS && axes->n < BF_MAX_DIMS;
        if (!fits || (*end != ',' && *end != '\0'))
            return operand_bad(spec->name, text, "axes, such as 0 or 0,-1");
        if (has_axis(axes, axis)) {
            fail(EXIT_USAGE, NULL, "axis %ld is given twice", axis);
            return false;
        }
        axes->at[axes->n++] = (int)axis;
        more = *end == ',';
        at = end + 1;
    }
    return true;
}

double parse_percent(const char *text, const char **end) {
    char *behind;
    const double percent = strtod(text, &behind);
    const bool good = isdigit((unsigned char)*text) || *text == '.';
    *end = behind;
    return good && percent >= 0 && percent <= 100 ? percent : -1;
}

bool read_percents(const option_spec *spec, const char *text, void *to) {
    static double *list; /* lives until the next command line is read */
    struct wanted_percents *percents = to;
    int n = 1;
    for (const char *c = text; *c; c++) n += *c == ',';
    free(list);
    list = malloc((size_t)n * sizeof *list);
    if (!list) return fail_memory(NULL) == EXIT_DONE;
    const char *at = text;
    for (int i = 0; i < n; i++) {
        const char *end;
        list[i] = parse_percent(at, &end);
        if (!(list[i] >= 0) || (*end != ',' && *end))
            return operand_bad(spec->name, text, "percents from 0 to 100, such as 5,50,99.9");
        at = end + 1;
    }
    *percents = (struct wanted_percents){n, list};
    return true;
}

bool read_quantiles(const option_spec *spec, const char *text, void *to) {
    static double quartiles[] = {25, 50, 75};
    if (text) return read_percents(spec, text, to);
    *(struct wanted_percents *)to =
        (struct wanted_percents){sizeof quartiles / sizeof *quartiles, quartiles};
    return true;
}

bool read_method(const option_spec *spec, const char *text, void *to) {
    const int method = bf_quantile_method_from_name(text);
    (void)spec;
    if (method >= 0) *(bf_quantile_method *)to = (bf_quantile_method)method;
    if (method >= 0) return true;
    fail(EXIT_USAGE, NULL, "unknown method: %s", text);
    guess g = guess_begin(text);
    for (int i = 0; strcmp(bf_quantile_method_name((bf_quantile_method)i), "?") != 0; i++)
        guess_consider(&g, bf_quantile_method_name((bf_quantile_method)i));
    guess_hint(&g, "", "'bitfold help quantile' lists the methods");
    return false;
}

bool read_delimiter(const option_spec *spec, const char *text, void *to) {
    const char c = strcmp(text, "\\t") == 0 ? '\t' : text[0];
    const bool one = text[0] != '\0' && (text[1] == '\0' || strcmp(text, "\\t") == 0);
    *(char *)to = c;
    return (one && text_may_part_fields(c)) ||
           operand_bad(spec->name, text, "one character that is no part of a number");
}

bool read_mark(const option_spec *spec, const char *text, void *to) {
    const bool fit = strlen(text) == 1 && isprint((unsigned char)*text) &&
                     !isalnum((unsigned char)*text) && !strchr("\"+-()$", *text);
    *(char *)to = *text;
    return fit || operand_bad(spec->name, text, "one character, such as ',' or '.'");
}

/* Bytes of the character that a text begins with; 0: it is not UTF-8. */
static size_t character_bytes(const char *text) {
    const unsigned char *u = (const unsigned char *)text;
    const size_t n = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80) return 0;
    return u[0] > 0xf4 ? 0 : n;
}

bool read_character(const option_spec *spec, const char *text, void *to) {
    char mark;
    const size_t n = strlen(text);
    if (n < 2) return read_mark(spec, text, &mark) && (*(const char **)to = text);
    const bool fit = character_bytes(text) == n && !text_currency_sign(text, text + n) &&
                     !text_minus_sign(text, text + n);
    *(const char **)to = text;
    return fit || operand_bad(spec->name, text, "one character, such as ',' or '.'");
}

bool read_sign(const option_spec *spec, const char *text, void *to) {
    const bool fit = strlen(text) == 1 && isgraph((unsigned char)*text) &&
                     !isalnum((unsigned char)*text) && *text != '"';
    *(char *)to = *text;
    return fit || operand_bad(spec->name, text, "one character that is no letter, digit or quote");
}

bool read_letter(const option_spec *spec, const char *text, void *to) {
    const char c = (char)tolower((unsigned char)text[0]);
    const bool fit = isalpha((unsigned char)c) && text[1] == '\0' && !strchr("inpx", c);
    *(char *)to = c;
    return fit || operand_bad(spec->name, text, "a letter, such as D");
}

/* A percentage is one of hardware_memory(). */
bool read_memory(const option_spec *spec, const char *text, void *to) {
    static const char units[] = "KMGT";
    const size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits, *at = *unit ? strchr(units, *unit) : NULL;
    const int64_t n = digits > 0 && digits < 16 ? strtoll(text, NULL, 10) : 0;
    const int shift = at ? 10 * (int)(at - units + 1) : 0;
    const bool percent = strcmp(unit, "%") == 0;
    bool fit = *unit == '\0' || percent || (at && (!unit[1] || strcmp(unit + 1, "iB") == 0));
    fit = fit && n > 0 && n <= (percent ? 100 : (int64_t)1 << 50 >> shift);
    if (fit) *(int64_t *)to = percent ? hardware_memory() / 100 * n : n << shift;
    return fit || operand_bad(spec->name, text, "a size or a percentage (such as 500M, 4G or 20%)");
}

bool read_seconds(const option_spec *spec, const char *text, void *to) {
    char *end;
    const double seconds = strtod(text, &end);
    const bool digits = *text == '.' || isdigit((unsigned char)*text);
    *(double *)to = seconds;
    return (digits && *end == '\0' && seconds > 0 && seconds <= 1e9) ||
           operand_bad(spec->name, text, "a number of seconds (such as 0.5 or 60)");
}

bool read_threads(const option_spec *spec, const char *text, void *to) {
    int64_t n;
    option_spec range = *spec;
    range.least = 1;
    range.most = 1024;
    if (!read_number(&range, text, &n)) return false;
    *(int *)to = (int)n;
    return true;
}
