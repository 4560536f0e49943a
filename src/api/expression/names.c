/* The names of columns in a text, and what the operations on them tell about their kinds. */
#include "api/expression/expression.h"
#include "api/expression/function.h"
#include "api/expression/text.h"

#include "api/runtime/enter.h"
#include "base/memory.h"
#include "rules/map/map.h"

/* ---- kinds ----------------------------------------------------------------------------------- */

/* What is known of columns, by their numbers in the program. Those that are compared with each
 * other are of one kind, which the first of them has. */
struct bf_expression_kinds {
    unsigned char kind[BF_EXPRESSION_COLUMNS];
    int like[BF_EXPRESSION_COLUMNS]; /* a column before it, or itself */
};

static int first_like(const struct bf_expression_kinds *k, int column) {
    while (k->like[column] != column) column = k->like[column];
    return column;
}

static bool is_column(const bf_expression_value *x) { return x->at.kind == BF_EXPRESSION_COLUMN; }

static void learn_kind(struct bf_expression_kinds *k, const bf_expression_value *x, int kind) {
    if (!is_column(x)) return;
    unsigned char *known = &k->kind[first_like(k, x->at.number)];
    if (kind > *known) *known = (unsigned char)kind;
}

/* Makes two columns of one kind. */
static void join_columns(struct bf_expression_kinds *k, int x, int y) {
    const int a = first_like(k, x), b = first_like(k, y), first = a < b ? a : b;
    if (k->kind[a] < k->kind[b]) k->kind[a] = k->kind[b];
    k->kind[first] = k->kind[a];
    k->like[a] = k->like[b] = first;
}

/* What is compared with this. A string that is a time is a time or a string. */
static int kind_like(const bf_expression_builder *b, const bf_expression_value *x) {
    int64_t size;
    bf_time time;
    if (x->at.kind != BF_EXPRESSION_STRING)
        return x->dtype == BF_NONE ? BF_NAME_STRING : BF_NAME_NUMBER;
    const char *bytes = bf_expression_string_of(b, x, &size);
    return bf_time_parse(bytes, (size_t)size, &time) ? BF_NAME_EITHER : BF_NAME_STRING;
}

/* What stands for values that are alike: a column, if one of them is. */
static bf_expression_value join_values(bf_expression_builder *b, bf_expression_value x,
                                       const bf_expression_value *y) {
    if (x.at.kind == BF_EXPRESSION_NULL) return *y;
    if (y->at.kind == BF_EXPRESSION_NULL) return x;
    if (is_column(&x) && is_column(y)) join_columns(b->kinds, x.at.number, y->at.number);
    if (is_column(&x)) {
        if (!is_column(y)) learn_kind(b->kinds, &x, kind_like(b, y));
        return x;
    }
    learn_kind(b->kinds, y, kind_like(b, &x));
    return *y;
}

static bf_status judge_operation(bf_expression_builder *b, int op, const bf_expression_value *in,
                                 int count, bf_expression_value *out) {
    const char *takes = bf_expression_takes(op);
    int alike = -1;
    bf_expression_value joined = bf_expression_number(BF_BOOL, 0);
    for (int i = 0; i < count; i++) {
        if (takes[i] == 'n') learn_kind(b->kinds, &in[i], BF_NAME_NUMBER);
        if (takes[i] == 's') learn_kind(b->kinds, &in[i], BF_NAME_STRING);
        if (takes[i] != 'l') continue;
        joined = alike < 0 ? in[i] : join_values(b, joined, &in[i]);
        alike = i;
    }
    *out = op == BF_EXPRESSION_SELECT ? joined : bf_expression_number(BF_BOOL, 0);
    if (bf_expression_gives_text(op))
        *out = (bf_expression_value){.at = {BF_EXPRESSION_REGISTER, 0}, .dtype = BF_NONE};
    return BF_OK;
}

static bf_status judge_power(bf_expression_builder *b, bf_expression_value x, int exponent,
                             bf_expression_value *out) {
    (void)exponent;
    return judge_operation(b, BF_MAP_MUL, &x, 1, out);
}

static bf_status judge_condition(bf_expression_builder *b, bf_expression_value *x) {
    learn_kind(b->kinds, x, BF_NAME_NUMBER);
    return BF_OK;
}

static bf_status judge_result(bf_expression_builder *b, bf_expression_value x) {
    return judge_condition(b, &x);
}

const bf_expression_maker bf_expression_judge = {judge_operation, judge_power, judge_condition,
                                                 judge_result};

/* ---- names ----------------------------------------------------------------------------------- */

/* The names so far: each has a zero byte behind it. */
typedef struct list {
    const char *text;
    char *end;
    const char *name[BF_EXPRESSION_NAMES_MAX];
    int count;
} list;

/* Adds a name, unless it is one of them. */
static void add_name(list *l, const bf_token *token) {
    l->end[bf_token_copy(token, l->text, l->end)] = '\0';
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->name[i], l->end) == 0) return;
    l->name[l->count++] = l->end;
    l->end += strlen(l->end) + 1;
}

static bf_status add_names(bf_expression_builder *b, list *l) {
    bf_token token;
    int at = 0;
    if (strlen(l->text) > BF_TOKEN_TEXT_MOST)
        return bf_expression_refuse(b, BF_E_ARGUMENT, BF_TOKEN_TEXT_MOST,
                                    "the expression is too long");
    while (true) {
        bf_status status = bf_token_next(b, l->text, &at, &token);
        if (status != BF_OK || token.kind == BF_TOKEN_END) return status;
        if (token.kind != BF_TOKEN_NAME) continue;
        if (l->count == BF_EXPRESSION_NAMES_MAX)
            return bf_expression_refuse(b, BF_E_ARGUMENT, token.position,
                                        "the expression has too many names");
        add_name(l, &token);
    }
}

static bf_status list_names(bf_context *context, list *l, int *position) {
    bf_expression_builder *b = bf_calloc(1, sizeof *b);
    if (b == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for an expression");
    b->context = context;
    b->digits = true;
    bf_status status = add_names(b, l);
    *position = b->position;
    bf_free(b);
    return status;
}

/* Parses the text for columns of these names. */
static bf_status judge_names(bf_context *context, const list *l, unsigned char *kinds,
                             int *position) {
    struct bf_expression_kinds of = {.kind = {BF_NAME_EITHER}};
    bf_dtype dtypes[BF_EXPRESSION_NAMES_MAX];
    int numbers[BF_EXPRESSION_NAMES_MAX];
    for (int i = 0; i < BF_EXPRESSION_COLUMNS; i++) of.like[i] = i;
    for (int i = 0; i < l->count; i++) dtypes[i] = BF_F64;
    const bf_expression_source source = {
        .text = l->text, .names = l->name, .dtypes = dtypes, .count = l->count, .wide = true};
    bf_expression_program *program = bf_calloc(1, sizeof *program);
    if (program == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for an expression");
    bf_status status = bf_expression_compile(context, &source, &bf_expression_judge, &of, program,
                                             numbers, position);
    for (int i = 0; i < l->count && status == BF_OK; i++)
        kinds[i] = of.kind[first_like(&of, numbers[i])];
    bf_free(program->bytes);
    bf_free(program);
    return status;
}

static bf_status find_names(bf_context *context, const char *text, char *names,
                            unsigned char *kinds, int *count, int *position) {
    unsigned char aside[BF_EXPRESSION_NAMES_MAX];
    int place = 0;
    if (text == NULL || names == NULL || count == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no %s",
                       text == NULL ? "text" : "place for the names");
    list l = {.text = text, .end = names};
    bf_status status = list_names(context, &l, &place);
    if (status == BF_OK) status = judge_names(context, &l, kinds != NULL ? kinds : aside, &place);
    *count = status == BF_OK ? l.count : 0;
    if (status != BF_OK && position != NULL) *position = place;
    return status;
}

bf_status bf_expression_names(bf_context *context, const char *text, char *names,
                              unsigned char *kinds, int *count, int *position) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, find_names(context, text, names, kinds, count, position));
}
