#include "runtime/operand.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool operand_bad(const char *name, const char *text, const char *expected) {
    fail(EXIT_USAGE, NULL, "bad operand of --%s: '%s' is not %s", name, text, expected);
    return false;
}

bool operand_choice(const option_spec *spec, const char *text, int *choice) {
    const size_t length = strlen(text);
    int i = 0;
    for (const char *at = spec->operand; *at; i++) {
        const size_t n = strcspn(at, "|");
        if (n == length && memcmp(at, text, n) == 0) {
            *choice = i;
            return true;
        }
        at += n + (at[n] == '|');
    }
    return operand_bad(spec->name, text, spec->operand);
}

bool operand_number(const option_spec *spec, const char *text, int64_t least, int64_t most,
                    int64_t *out) {
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    const bool digit = *text >= '0' && *text <= '9';
    char expected[80];
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)least,
             (long long)most);
    if (!digit || *end || errno || value < least || value > most)
        return operand_bad(spec->name, text, expected);
    *out = value;
    return true;
}

bool operand_dtype(const option_spec *spec, const char *text, bf_dtype *out) {
    *out = bf_dtype_from_name(text);
    return *out != BF_NONE || operand_bad(spec->name, text, "a dtype (such as f32 or i64)");
}

bool operand_columns(const option_spec *spec, const char *text, const char **out) {
    *out = text;
    return *text != '\0' || operand_bad(spec->name, text, "a number or a name");
}

bool operand_delimiter(const option_spec *spec, const char *text, char *out) {
    *out = strcmp(text, "\\t") == 0 ? '\t' : text[0];
    const bool one = text[0] != '\0' && (text[1] == '\0' || strcmp(text, "\\t") == 0);
    const bool fit = one && !isalnum((unsigned char)*out) && !strchr("\n\r\".+-", *out);
    return fit || operand_bad(spec->name, text, "one character that is no part of a number");
}

bool operand_size(const option_spec *spec, const char *text, int64_t *out) {
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    const size_t digits = strspn(text, "0123456789");
    int unit = 4;
    while (unit >= 0 && strcmp(text + digits, units[unit]) != 0) unit--;
    const int64_t n = unit >= 0 && digits > 0 ? strtoll(text, NULL, 10) : 0;
    const bool fit = n > 0 && n <= (int64_t)1 << 50 >> 10 * unit;
    *out = fit ? n << 10 * unit : 0;
    return fit || operand_bad(spec->name, text, "a size (such as 500MiB or 4GiB)");
}

bool operand_threads(const option_spec *spec, const char *text, int *threads) {
    int64_t n;
    if (!operand_number(spec, text, 1, 1024, &n)) return false;
    *threads = (int)n;
    return true;
}
