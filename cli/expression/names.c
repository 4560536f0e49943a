#define _GNU_SOURCE /* asprintf */
#include "expression/names.h"

#include "runtime/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bf_status names_find(expression_names *n, bf_context *context, const char *text, int *position) {
    *n = (expression_names){.text = malloc(strlen(text) + 1)};
    if (!n->text) return BF_E_MEMORY;
    const bf_status st = bf_expression_names(context, text, n->text, n->kinds, &n->count, position);
    if (st != BF_OK) n->count = 0;
    return st;
}

/* A key asks of a name that it only chooses what is_null does: nothing. */
bf_status names_find_key(expression_names *n, bf_context *context, const char *text) {
    char *whole = NULL;
    *n = (expression_names){.text = NULL};
    if (asprintf(&whole, "is_null(%s)", text) < 0) return BF_E_MEMORY;
    const bf_status st = names_find(n, context, whole, NULL);
    free(whole);
    return st;
}

static int open_names(bf_status st, bf_context *context, const char *option, const char *text,
                      int position) {
    if (st == BF_E_MEMORY) return fail_status(st, NULL, NULL);
    return st == BF_OK ? EXIT_DONE : fail_text(st, context, NULL, option, text, position);
}

int names_open(expression_names *n, bf_context *context, const char *option, const char *text) {
    int position = -1;
    const bf_status st = names_find(n, context, text, &position);
    return open_names(st, context, option, text, position);
}

int names_open_key(expression_names *n, bf_context *context, const char *option, const char *text) {
    const int code = names_open(n, context, option, text);
    if (code != EXIT_DONE) return code;
    names_close(n);
    return open_names(names_find_key(n, context, text), context, option, text, -1);
}

void names_close(expression_names *n) {
    free(n->text);
    n->text = NULL;
}

static bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

/* The bytes at p that no separator is in: what is quoted, a comparison, or one. */
static size_t piece_length(const char *p) {
    const bool pair = (strchr("=<>!", *p) && p[1] == '=') || (*p == '=' && p[1] == '~');
    const char *const end = is_quote(*p) ? strchr(p + 1, *p) : p + pair;
    return end ? (size_t)(end - p) + 1 : strlen(p);
}

const char *names_end(const char *text, const char *separators) {
    const char *p = text;
    for (int brackets = 0; *p;) {
        const size_t length = piece_length(p);
        if (length == 1 && brackets <= 0 && strchr(separators, *p)) break;
        brackets += (*p == '(') - (*p == ')');
        p += length;
    }
    return p;
}

bool names_is_letter(const char *name) { return *name >= 'a' && *name <= 'z' && name[1] == '\0'; }

/* Writes a name between backquotes, two for one in it. Returns the number of bytes. */
static size_t put_quoted(char *to, const char *name) {
    size_t used = 0;
    to[used++] = '`';
    for (; *name; name++) {
        to[used++] = *name;
        if (*name == '`') to[used++] = '`';
    }
    to[used++] = '`';
    return used;
}

/* Adds the names of one kind to a list, those that are letters or those that are not. */
static void put_names(const expression_names *n, int kind, bool letters, char *list) {
    const char *name = n->text;
    size_t used = strlen(list);
    for (int k = 0; k < n->count; k++, name += strlen(name) + 1) {
        if (n->kinds[k] != kind || names_is_letter(name) != letters) continue;
        if (used > 0) list[used++] = ',';
        used += put_quoted(list + used, name);
    }
}

char *names_list(const expression_names *n, bf_expression_name_kind kind) {
    size_t size = 1;
    const char *name = n->text;
    for (int k = 0; k < n->count; k++, name += strlen(name) + 1) size += 2 * strlen(name) + 3;
    char *list = calloc(1, size);
    if (list) put_names(n, (int)kind, false, list);
    if (list) put_names(n, (int)kind, true, list);
    return list;
}
