#include "runtime/json.h"

#include "runtime/utf8.h"
#include "runtime/value.h"

#include <inttypes.h>
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

/* An f32 is written as the double that it equals: its own shortest text is another double. */
static bf_value widened(const bf_value *value) {
    if (bf_dtype_kind(value->dtype) != 'f') return *value;
    return (bf_value){.dtype = BF_F64, .as.f64 = bf_value_f64(value)};
}

/* Puts a number that is finite; "-0" is an integer to most readers. */
static char *put_digits(char *text, const bf_value *value) {
    const bool real = value->dtype == BF_F64;
    value_format(value, text);
    if (real && value->as.f64 == 0 && signbit(value->as.f64)) strcpy(text, "-0.0");
    return text + strlen(text);
}

/* Whether it is a number that a reader of doubles reads back exactly. */
static bool is_plain(const bf_value *value) {
    static const int64_t most = (int64_t)1 << 53;
    int64_t integer = 0;
    if (value->dtype == BF_F64) return isfinite(value->as.f64);
    if (value_time(value)) return false;
    return value->scale > 0 ||
           (bf_value_i64(value, &integer) == BF_OK && integer >= -most && integer <= most);
}

char *json_put_value(char *text, const bf_value *value) {
    const bf_value v = widened(value);
    if (is_plain(&v)) return put_digits(text, &v);
    *text = '"';
    char *const end = put_digits(text + 1, &v);
    *end = '"';
    return end + 1;
}

char *json_put_number(char *text, const bf_value *value) {
    const bf_value v = widened(value);
    const double x = v.dtype == BF_F64 ? v.as.f64 : 0;
    if (value_time(&v)) return json_put_value(text, &v);
    if (isfinite(x)) return put_digits(text, &v);
    return text + sprintf(text, "%s", isnan(x) ? "NaN" : x < 0 ? "-Infinity" : "Infinity");
}

void json_value(FILE *f, const bf_value *value) {
    char text[JSON_VALUE_TEXT];
    if (value->dtype == BF_NONE)
        fputs("null", f);
    else
        fwrite(text, 1, (size_t)(json_put_value(text, value) - text), f);
}

void json_begin(FILE *f, const char *command, const char *file) {
    fputs("{\"schema\":1", f);
    json_text(f, "command", command);
    json_text(f, "file", file);
}

void json_text(FILE *f, const char *key, const char *text) {
    if (!text) return;
    fprintf(f, ",\"%s\":", key);
    json_string(f, text);
}

void json_integer(FILE *f, const char *key, int64_t integer) {
    fprintf(f, ",\"%s\":%" PRId64, key, integer);
}

void json_integers(FILE *f, const char *key, const int64_t *list, int64_t n) {
    fprintf(f, ",\"%s\":[", key);
    for (int64_t i = 0; i < n && !ferror(f); i++)
        fprintf(f, "%s%" PRId64, i > 0 ? "," : "", list[i]);
    putc(']', f);
}

void json_real(FILE *f, const char *key, int digits, double real) {
    fprintf(f, ",\"%s\":%.*g", key, digits, real);
}

void json_truth(FILE *f, const char *key, bool truth) {
    fprintf(f, ",\"%s\":%s", key, truth ? "true" : "false");
}

void json_end(FILE *f, const char *device, double seconds) {
    fprintf(f, ",\"device\":\"%s\",\"seconds\":%.6f}\n", device, seconds);
}
