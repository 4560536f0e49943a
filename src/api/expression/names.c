/* The names of columns in a text, and what is next to them. */
#include "api/expression/text.h"

#include "api/runtime/enter.h"
#include "seam/host.h"
#include <bitfold/expression.h>

/* Five tokens, a name in the middle. */
enum { BEFORE = 2, TOKENS = 2 * BEFORE + 1 };

typedef struct window {
    bf_token token[TOKENS];
    const char *text;
} window;

static bool is_one_of(const bf_token *token, const char *const list[], int n) {
    bool is = false;
    for (int i = 0; i < n; i++) is = is || bf_token_is(token, list[i]);
    return is;
}

static bool is_comparison(const bf_token *token) {
    static const char *const all[] = {"==", "!=", "<", "<=", ">", ">="};
    return is_one_of(token, all, sizeof all / sizeof *all);
}

static bool is_arithmetic(const bf_token *token) {
    static const char *const all[] = {"+", "-", "*", "/", "%", "**", "!", ","};
    return is_one_of(token, all, sizeof all / sizeof *all);
}

static bool is_isnull(const window *w, const bf_token *token) {
    static const char name[] = "isnull";
    return token->end - token->begin == sizeof name - 1 &&
           memcmp(w->text + token->begin, name, sizeof name - 1) == 0;
}

/* Strings are only compared and asked about by isnull. */
static bf_expression_name_kind kind_of(const window *w) {
    const bf_token *a = w->token, *b = a + 1, *c = a + 3, *d = a + 4;
    bool left = is_comparison(b), right = is_comparison(c);
    if ((left && a->kind == BF_TOKEN_STRING) || (right && d->kind == BF_TOKEN_STRING))
        return BF_NAME_STRING;
    if (bf_token_is(b, "(") && bf_token_is(c, ")"))
        return a->kind == BF_TOKEN_CALL && !is_isnull(w, a) ? BF_NAME_NUMBER : BF_NAME_EITHER;
    bool number = is_arithmetic(b) || is_arithmetic(c) || (left && a->kind == BF_TOKEN_NUMBER);
    if (right)
        number =
            number || d->kind == BF_TOKEN_NUMBER || d->kind == BF_TOKEN_CALL || bf_token_is(d, "-");
    return number || (!left && !right) ? BF_NAME_NUMBER : BF_NAME_EITHER;
}

/* Moves on by a token. */
static bf_status next_token(bf_expression_builder *b, window *w, int *at) {
    memmove(w->token, w->token + 1, (TOKENS - 1) * sizeof *w->token);
    return bf_token_next(b, w->text, at, &w->token[TOKENS - 1]);
}

/* The names so far: each has a zero byte behind it. */
typedef struct list {
    char *names, *end;
    unsigned char *kinds;
    int count;
} list;

/* Adds a name, unless it is one of them. */
static void add_name(list *l, const window *w) {
    const bf_token *token = &w->token[BEFORE];
    const char *at = l->names;
    unsigned char kind = (unsigned char)kind_of(w);
    int i = 0;
    l->end[bf_token_copy(token, w->text, l->end)] = '\0';
    for (; i < l->count && strcmp(at, l->end) != 0; i++) at += strlen(at) + 1;
    if (i == l->count) {
        l->kinds[l->count++] = kind;
        l->end += strlen(l->end) + 1;
    } else if (kind > l->kinds[i]) {
        l->kinds[i] = kind;
    }
}

static bf_status add_names(bf_expression_builder *b, window *w, list *l) {
    const bf_token *token = &w->token[BEFORE];
    bf_status status = BF_OK;
    int at = 0;
    if (strlen(w->text) > BF_TOKEN_TEXT_MOST)
        return bf_expression_refuse(b, BF_E_ARGUMENT, BF_TOKEN_TEXT_MOST,
                                    "the expression is too long");
    for (int i = 0; i <= BEFORE && status == BF_OK; i++) status = next_token(b, w, &at);
    for (; status == BF_OK && token->kind != BF_TOKEN_END; status = next_token(b, w, &at)) {
        if (token->kind != BF_TOKEN_NAME) continue;
        if (l->count == BF_EXPRESSION_NAMES_MAX)
            return bf_expression_refuse(b, BF_E_ARGUMENT, token->position,
                                        "the expression has too many names");
        add_name(l, w);
    }
    return status;
}

static bf_status find_names(bf_context *context, const char *text, char *names,
                            unsigned char *kinds, int *count, int *position) {
    unsigned char aside[BF_EXPRESSION_NAMES_MAX];
    if (text == NULL || names == NULL || count == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no %s",
                       text == NULL ? "text" : "place for the names");
    bf_expression_builder *b = bf_calloc(1, sizeof *b);
    if (b == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for an expression");
    b->context = context;
    window w = {.text = text};
    list l = {names, names, kinds != NULL ? kinds : aside, 0};
    bf_status status = add_names(b, &w, &l);
    *count = status == BF_OK ? l.count : 0;
    if (status != BF_OK && position != NULL) *position = b->position;
    bf_free(b);
    return status;
}

bf_status bf_expression_names(bf_context *context, const char *text, char *names,
                              unsigned char *kinds, int *count, int *position) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, find_names(context, text, names, kinds, count, position));
}
