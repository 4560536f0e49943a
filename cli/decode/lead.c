#include "decode/lead.h"

#include "text/field.h"

#include <stdlib.h>
#include <string.h>

const char *lead_row_end(const text_options *options, const char *at, const char *end) {
    const char escape = options->dialect.escape, given = options->delimiter;
    bool inside = false, opens = true; /* a quote here does */
    for (const char *p = at; p < end; p++) {
        const bool before = inside;
        if (escape && *p == escape && p + 1 < end) {
            p++;
            opens = false;
            continue;
        }
        if (*p == '"' && (inside || opens)) inside = !inside;
        if (!inside && (*p == '\n' || *p == '\r')) return p;
        opens = before || (given ? *p == given : strchr("\t;,|", *p) != NULL) || *p == ' ';
    }
    return end;
}

/* Finds the end of an object of JSON lines, where a CR may stand between its parts. */
static const char *object_end(const char *at, const char *end) {
    for (const char *p = at; p < end; p++) {
        if (*p == '\n') return p;
        if (*p != '\r') continue;
        const char *before = p, *behind = p;
        while (before > at && strchr(" \t\r", before[-1])) before--;
        while (behind < end && strchr(" \t\r", *behind)) behind++;
        if (behind == end) return end;
        if ((before == at || before[-1] == '}') && (*behind == '{' || *behind == '\n')) return p;
    }
    return end;
}

char lead_newline(const text_options *options, const char *at, const char *end, bool ended,
                  bool quotes) {
    const char *p = at;
    if (options->json)
        p = object_end(at, end);
    else if (quotes)
        p = lead_row_end(options, at, end);
    else
        while (p < end && *p != '\n' && *p != '\r') p++;
    while (p < end && *p == '\r') p++;
    if (p == end) return ended && p > at && p[-1] == '\r' ? '\r' : '\0';
    return *p == '\n' ? '\n' : '\r';
}

char lead_separator(const char *at, const char *end) {
    if (end - at < 5 || memcmp(at, "sep=", 4) != 0) return '\0';
    const bool whole = end - at == 5 || at[5] == '\n' || at[5] == '\r';
    return whole && text_may_part_fields(at[4]) ? at[4] : '\0';
}

char lead_delimiter(const text_options *options, const char *at, const char *end) {
    const char escape = options->dialect.escape;
    const size_t n = (size_t)(end - at);
    char *const row = malloc(n + 1);
    if (!row) return '\0';
    memcpy(row, at, n);
    row[n] = '\n';
    for (size_t i = 0; escape && i + 1 < n; i++)
        if (row[i] == escape) row[i] = row[i + 1] = 'x', i++;
    const char found =
        text_find_delimiter(row, row + n + 1, &options->style, text_asks_for_table(options));
    free(row);
    return found;
}
