#include "runtime/json.h"

#include "runtime/utf8.h"

#include <math.h>
#include <string.h>

void json_string(FILE *f, const char *text) {
    putc('"', f);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int length = utf8_length(s);
        if (length == 0)
            fprintf(f, "\\udc%02x", *s);
        else if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(f, "\\u%04x", *s);
        else
            fwrite(s, 1, (size_t)length, f);
        s += length ? length : 1;
    }
    putc('"', f);
}

/* Puts a character that a string does not hold as it is. */
static char *put_escaped(char *text, unsigned char c) {
    static const char digits[] = "0123456789abcdef";
    const char special[] = {'"', '\\', '\n', '\t', '\r'}, letters[] = {'"', '\\', 'n', 't', 'r'};
    const char *found = memchr(special, c, sizeof special);
    *text++ = '\\';
    if (found) *text++ = letters[found - special];
    if (found) return text;
    memcpy(text, "u00", 3);
    text[3] = digits[c >> 4];
    text[4] = digits[c & 15];
    return text + 5;
}

char *json_put_string(char *text, const char *bytes, size_t n) {
    const char *end = bytes + n;
    *text++ = '"';
    while (bytes < end) {
        const unsigned char c = (unsigned char)*bytes;
        const int length = utf8_length_before(bytes, end);
        if (length == 0)
            text = (char *)memcpy(text, "\xef\xbf\xbd", 3) + 3;
        else if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
            text = put_escaped(text, c);
        else
            text = (char *)memcpy(text, bytes, (size_t)length) + length;
        bytes += length ? length : 1;
    }
    *text++ = '"';
    return text;
}

bool json_is_float(bf_dtype dtype) {
    return dtype == BF_F16 || dtype == BF_BF16 || dtype == BF_F32 || dtype == BF_F64;
}

/* An f32 is written as the double that it equals: its own shortest text is another double. */
char *json_put_value(char *text, const bf_value *value) {
    static const int64_t most = (int64_t)1 << 53;
    char *at = text + 1;
    int64_t integer = 0;
    bool number;
    if (json_is_float(value->dtype)) {
        const double x = bf_value_f64(value);
        const bf_value as_f64 = {.dtype = BF_F64, .as = {.f64 = x}};
        bf_value_format(&as_f64, at);
        if (x == 0 && signbit(x)) strcpy(at, "-0.0"); /* "-0" is an integer to most readers */
        number = isfinite(x);
    } else {
        bf_value_format(value, at);
        const bool small =
            bf_value_i64(value, &integer) == BF_OK && integer >= -most && integer <= most;
        number = small || value->scale > 0;
    }
    const size_t n = strlen(at);
    if (number) memmove(text, at, n);
    if (number) return text + n;
    text[0] = at[n] = '"';
    return at + n + 1;
}

void json_value(FILE *f, const bf_value *value) {
    char text[JSON_VALUE_TEXT];
    fwrite(text, 1, (size_t)(json_put_value(text, value) - text), f);
}

void json_end(FILE *f, const char *device, double seconds) {
    fprintf(f, ",\"device\":\"%s\",\"seconds\":%.6f}\n", device, seconds);
}
