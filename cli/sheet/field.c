#include "sheet/field.h"

#include "runtime/json.h"
#include "runtime/utf8.h"
#include "sheet/output.h"
#include "text/typed.h"

#include <ctype.h>
#include <string.h>

/* ---- strings --------------------------------------------------------------------------------- */

static char *put_text(char *text, const char *from) {
    const size_t n = strlen(from);
    return (char *)memcpy(text, from, n) + n;
}

/* No text holds a NUL, so a string's is written as JSON has it. */
static const char nul_escape[] = "\\u0000";

static char *put_quoted(char *text, const char *at, const char *end) {
    *text++ = '"';
    for (; at < end; at++) {
        if (*at == '"') *text++ = '"';
        if (*at == '\0')
            text = put_text(text, nul_escape);
        else
            *text++ = *at;
    }
    *text++ = '"';
    return text;
}

/* Bytes that begin a text and are no part of it. */
static bool has_byte_order_mark(const char *at, const char *end) {
    return end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0;
}

/* What parts fields, or is in quotes for another reason: of the only field in its row also what a
 * reader may find there in the place of a tab. */
static bool is_special(char c, enum sheet_form form) {
    switch (c) {
    case '"':
    case '\n':
    case '\r':
    case '\t':
    case '\0': return true;
    case ',': return form == SHEET_CSV || form == SHEET_LONE;
    case ' ':
    case ';':
    case '|':
    case '=': return form == SHEET_LONE;
    default: return false;
    }
}

/* RFC 4180, with tabs as with commas. A string of nothing, or of blanks alone, is quoted: without
 * quotes it may be read as NULL. */
static char *put_separated(char *text, enum sheet_form form, const char *at, const char *end) {
    const char *c = at;
    while (c < end && *c == ' ') c++;
    bool quoted = c == end || has_byte_order_mark(at, end);
    for (c = at; c < end && !quoted; c++) quoted = is_special(*c, form);
    if (quoted) return put_quoted(text, at, end);
    return (char *)memcpy(text, at, (size_t)(end - at)) + (end - at);
}

/* '?' stands for what would upset a terminal: control characters, and bytes that are no UTF-8. */
static char *put_visible(char *text, const char *at, const char *end) {
    while (at < end) {
        const int length = utf8_length_before(at, end);
        const bool shown = length > 0 && !utf8_is_control((const unsigned char *)at);
        if (!shown) *text++ = '?';
        for (int i = 0; i < length && shown; i++) *text++ = at[i];
        at += length ? length : 1;
    }
    return text;
}

static bool is_letter(char c) { return isalnum((unsigned char)c) != 0; }

/* What Markdown would take for its own is escaped, but for '_' within a word; a new line is a tag.
 */
static char *put_markdown(char *text, const char *at, const char *end) {
    const char *const begin = at;
    while (at < end) {
        const int length = utf8_length_before(at, end);
        if (*at == '\r' && at + 1 < end && at[1] == '\n') at++;
        if (*at == '\n' || *at == '\r')
            text = put_text(text, "<br>");
        else if (*at == '&' || *at == '<')
            text = put_text(text, *at == '&' ? "&amp;" : "&lt;");
        else if (*at == '_' && at > begin && at + 1 < end && is_letter(at[-1]) && is_letter(at[1]))
            *text++ = '_';
        else if (length == 1 && *at && strchr("\\|`*_[~", *at)) {
            *text++ = '\\';
            *text++ = *at;
        } else
            text = put_visible(text, at, at + (length ? length : 1));
        at += length ? length : 1;
    }
    return text;
}

char *field_put_string(char *text, enum sheet_form form, const char *bytes, size_t n) {
    switch (form) {
    case SHEET_PLAIN:
    case SHEET_TSV:
    case SHEET_LONE:
    case SHEET_CSV: return put_separated(text, form, bytes, bytes + n);
    case SHEET_JSON: return json_put_string(text, bytes, n);
    case SHEET_MARKDOWN: return put_markdown(text, bytes, bytes + n);
    default: return put_visible(text, bytes, bytes + n);
    }
}

static bool is_separated(enum sheet_form form) {
    return form == SHEET_PLAIN || form == SHEET_TSV || form == SHEET_CSV || form == SHEET_LONE;
}

/* What could part fields in the place of the form's own separator is quoted: readers find that by
 * the first line. They take blanks around a name off, unless it is quoted. */
char *field_put_name(char *text, enum sheet_form form, const char *name, bool alone) {
    const bool separated = is_separated(form);
    const char *const marks = alone ? ",;| " : form == SHEET_CSV ? ";" : "";
    const size_t n = strlen(name);
    const bool blanks = n > 0 && (*name == ' ' || name[n - 1] == ' ');
    if (separated && (blanks || strpbrk(name, marks))) return put_quoted(text, name, name + n);
    return field_put_string(text, form, name, n);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int64_t offset_of(const bf_strings *s, int64_t i) {
    return s->offset == BF_I32 ? ((const int32_t *)s->offsets)[i]
                               : ((const int64_t *)s->offsets)[i];
}

bool field_is_number(const sheet_column *c) { return !c->strings && !c->texts && !c->title; }

/* The title or text of a row; NULL: it is something else. */
static const char *text_of(const sheet_column *c, int64_t row) {
    return c->texts ? c->texts[row] : c->title;
}

static bool is_null(const sheet_column *c, int64_t row) {
    return (c->valid && !c->valid[row]) || (c->values && c->values[row].dtype == BF_NONE) ||
           (c->texts && !c->texts[row]);
}

static size_t room_of(size_t bytes, enum sheet_form form) {
    static const size_t most[] = {1, 2, 2, 2, 6, 5, 2};
    return most[form] * bytes + FIELD_TEXT(0);
}

/* What the NULs of a string take in TSV and CSV beside the bytes that room_of counts. */
static size_t room_of_nuls(const char *at, size_t n, enum sheet_form form) {
    size_t nuls = 0;
    const char *const end = at + n;
    if (!is_separated(form)) return 0;
    for (; at < end && (at = memchr(at, '\0', (size_t)(end - at))); at++) nuls++;
    return nuls * sizeof nul_escape;
}

size_t field_room(const sheet_column *c, int64_t row, enum sheet_form form) {
    if (is_null(c, row)) return FIELD_TEXT(0);
    const char *text = text_of(c, row);
    if (text) return room_of(strlen(text), form);
    if (!c->strings) return FIELD_TEXT(0);
    const int64_t first = offset_of(c->strings, row);
    const size_t n = (size_t)(offset_of(c->strings, row + 1) - first);
    return room_of(n, form) + room_of_nuls(c->strings->bytes + first, n, form);
}

static char *put_value(char *text, enum sheet_form form, const bf_value *value, bool hex) {
    if (form == SHEET_JSON) return json_put_number(text, value);
    output_format(value, hex, text);
    return text + strlen(text);
}

static char *put_number(char *text, enum sheet_form form, const typed_value *v, bool hex) {
    if (v->number.dtype != BF_NONE) return put_value(text, form, &v->number, hex);
    return typed_write_digits(text, v);
}

static char *put_string(char *text, enum sheet_form form, const sheet_column *c, int64_t row,
                        bool hex) {
    const int64_t first = offset_of(c->strings, row);
    const char *const at = c->strings->bytes + first;
    const size_t n = (size_t)(offset_of(c->strings, row + 1) - first);
    if (!c->typed) return field_put_string(text, form, at, n);
    const typed_value v = typed_take(at, n);
    switch (v.kind) {
    case TYPED_BOOL: return put_text(text, v.truth ? "true" : "false");
    case TYPED_NUMBER: return put_number(text, form, &v, hex);
    default: return field_put_string(text, form, v.at, v.length);
    }
}

char *field_put(char *text, enum sheet_form form, const sheet_column *c, int64_t row, bool hex) {
    if (is_null(c, row)) return form == SHEET_JSON ? put_text(text, "null") : text;
    if (c->title && form == SHEET_PLAIN) return output_copy_name(text, c->title);
    const char *const whole = text_of(c, row);
    if (whole) return field_put_string(text, form, whole, strlen(whole));
    if (c->strings) return put_string(text, form, c, row, hex);
    const bf_value value = sheet_value(c, row);
    return put_value(text, form, &value, hex && !c->decimal);
}

int field_width(const char *text, const char *end) {
    int64_t width = 0;
    for (int length; text < end; text += length) {
        length = utf8_length_before(text, end);
        width += utf8_width((const unsigned char *)text, length);
    }
    return width < INT32_MAX ? (int)width : INT32_MAX;
}
