#include "sheet/sheet.h"

#include "runtime/output.h"

#include <string.h>

static bool needs_quotes(const char *at, const char *end) {
    for (; at < end; at++)
        if (*at == '\t' || *at == '\n' || *at == '\r' || *at == '"') return true;
    return false;
}

/* The empty string is quoted, for the empty field is NULL. */
static void put_string(FILE *f, const char *at, const char *end) {
    const bool quoted = at == end || needs_quotes(at, end);
    if (quoted) putc('"', f);
    for (; at < end; at++) {
        if (*at == '"') putc('"', f);
        putc(*at, f);
    }
    if (quoted) putc('"', f);
}

static void put_field(FILE *f, const sheet_column *c, int64_t i, bool hex) {
    char text[BF_VALUE_TEXT];
    if (c->valid && !c->valid[i]) return;
    if (c->strings) {
        const int64_t *offsets = c->strings->offsets;
        put_string(f, c->strings->bytes + offsets[i], c->strings->bytes + offsets[i + 1]);
        return;
    }
    const bf_value value = c->array ? output_element(c->dtype, c->array, i) : c->values[i];
    output_format(&value, hex, text);
    fputs(text, f);
}

int sheet_put(FILE *f, const sheet *s, const sheet_subject *subject, const options *o) {
    (void)subject;
    for (int64_t i = 0; i < s->rows && !ferror(f); i++)
        for (int c = 0; c < s->count; c++) {
            put_field(f, &s->columns[c], s->order ? s->order[i] : i, o->hex);
            putc(c + 1 < s->count ? '\t' : '\n', f);
        }
    return EXIT_DONE;
}
