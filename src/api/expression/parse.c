/* The parser: operators wait on a stack for their operands, so that nesting takes no stack of the
 * caller's. Each is built when its operands are complete. */
#include "api/expression/expression.h"
#include "api/expression/function.h"
#include "api/expression/text.h"
#include "base/memory.h"

/* From what binds least to what binds most. '**' takes a literal and never waits. */
typedef enum level {
    LEVEL_BRACKET,
    LEVEL_CHOICE,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_COMPARISON,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_SIGN
} level;

/* An operation that waits. */
typedef struct waiting {
    level level;
    int op; /* a bracket's: the function that it belongs to, or 0; a choice's: see below */
    int arity;
    bool more; /* a function takes more arguments, too: those so far become one */
    int taken; /* arguments of a function that are complete */
    int position;
} waiting;

/* A choice waits for what '?' or ':' is followed by. */
enum { CHOICE_FIRST = -1, CHOICE_SECOND = -2 };

typedef struct parser {
    bf_expression_builder build;
    const bf_expression_source *source;
    int *numbers;
    int at; /* in the text */
    bf_token token;
    waiting stack[BF_EXPRESSION_NESTED];
    int waits;
    bf_expression_value values[3 * BF_EXPRESSION_NESTED + 3];
    int value_count;
} parser;

static const struct {
    char text[3];
    level level;
    int op;
} binary_operators[] = {
    {"+", LEVEL_SUM, BF_MAP_ADD},
    {"-", LEVEL_SUM, BF_MAP_SUB},
    {"*", LEVEL_PRODUCT, BF_MAP_MUL},
    {"/", LEVEL_PRODUCT, BF_MAP_DIV},
    {"%", LEVEL_PRODUCT, BF_EXPRESSION_MOD},
    {"==", LEVEL_COMPARISON, BF_MAP_EQ},
    {"!=", LEVEL_COMPARISON, BF_MAP_NE},
    {"<", LEVEL_COMPARISON, BF_MAP_LT},
    {"<=", LEVEL_COMPARISON, BF_MAP_LE},
    {">", LEVEL_COMPARISON, BF_MAP_GT},
    {">=", LEVEL_COMPARISON, BF_MAP_GE},
    {"=~", LEVEL_COMPARISON, BF_EXPRESSION_MATCH},
    {"&&", LEVEL_AND, BF_EXPRESSION_AND},
    {"||", LEVEL_OR, BF_EXPRESSION_OR},
};

enum {
    BINARY_OPERATORS = sizeof binary_operators / sizeof *binary_operators,
    EXPONENT_MOST = 64,
    SHOWN = 40 /* bytes of a name in a message */
};

static bf_status refuse_token(parser *p, const char *what) {
    return bf_expression_refuse(&p->build, BF_E_ARGUMENT, p->token.position, "%s", what);
}

static bf_status next_token(parser *p) {
    return bf_token_next(&p->build, p->source->text, &p->at, &p->token);
}

/* ---- operands -------------------------------------------------------------------------------- */

static void push_value(parser *p, bf_expression_value x) { p->values[p->value_count++] = x; }

static bf_expression_value *last_value(parser *p) { return &p->values[p->value_count - 1]; }

/* Is this the name of the token, which may double its quotes? */
static bool is_named(const parser *p, const char *name) {
    const bf_token *t = &p->token;
    const char *text = p->source->text;
    int i = t->begin;
    for (; *name != '\0' && i < t->end && *name == text[i]; name++, i++)
        if (t->quote != 0 && text[i] == t->quote) i++;
    return *name == '\0' && i == t->end;
}

static bf_status refuse_name(parser *p, const char *what, const char *why) {
    const bf_token *t = &p->token;
    int length = t->end - t->begin < SHOWN ? t->end - t->begin : SHOWN;
    return bf_expression_refuse(&p->build, BF_E_ARGUMENT, t->position, "%s '%.*s'%s", what, length,
                                p->source->text + t->begin, why);
}

static bf_status take_column(parser *p) {
    const bf_expression_source *s = p->source;
    bf_expression_program *program = p->build.program;
    int found = -1;
    for (int i = 0; i < s->count; i++) {
        if (!is_named(p, s->names[i])) continue;
        if (found >= 0) return refuse_name(p, "two columns have the name", "");
        found = i;
    }
    if (found < 0) return refuse_name(p, "no column has the name", "");
    if (p->numbers[found] < 0) {
        if (program->columns == BF_EXPRESSION_COLUMNS)
            return refuse_token(p, "the expression has too many columns");
        p->numbers[found] = program->columns;
        program->column[program->columns++] = s->dtypes[found];
        if (s->dtypes[found] == BF_NONE) program->own = "takes strings";
    }
    push_value(p, (bf_expression_value){.at = {BF_EXPRESSION_COLUMN, p->numbers[found]},
                                        .dtype = s->dtypes[found],
                                        .scale = s->scales != NULL ? s->scales[found] : 0,
                                        .time = s->times != NULL ? s->times[found] : BF_TIME_NONE});
    return BF_OK;
}

static bf_status take_string(parser *p) {
    bf_expression_program *program = p->build.program;
    bf_expression_string *s = &program->string[program->strings];
    if (program->strings == BF_EXPRESSION_STRINGS)
        return refuse_token(p, "the expression has too many strings");
    if (program->bytes == NULL) program->bytes = bf_alloc(strlen(p->source->text));
    if (program->bytes == NULL)
        return bf_fail(p->build.context, BF_E_MEMORY, "no memory for an expression");
    s->begin = program->strings > 0 ? s[-1].begin + s[-1].size + 1 : 0;
    s->size = bf_token_copy(&p->token, p->source->text, program->bytes + s->begin);
    program->bytes[s->begin + s->size] = '\0'; /* it takes less than the quotes */
    program->own = "takes strings";
    push_value(p, (bf_expression_value){.at = {BF_EXPRESSION_STRING, program->strings++},
                                        .dtype = BF_NONE,
                                        .position = p->token.position});
    return BF_OK;
}

/* ---- what waits ------------------------------------------------------------------------------ */

static bf_status push_waiting(parser *p, level of, int op, int arity) {
    if (p->waits == BF_EXPRESSION_NESTED)
        return refuse_token(p, "the expression is nested too deeply");
    p->stack[p->waits++] =
        (waiting){.level = of, .op = op, .arity = arity, .position = p->token.position};
    return BF_OK;
}

static waiting *top_of(parser *p) { return p->waits > 0 ? &p->stack[p->waits - 1] : NULL; }

/* Builds an operation whose operands are complete. */
static bf_status build_waiting(parser *p, waiting w) {
    const bool missing = w.op == BF_EXPRESSION_COALESCE;
    const bool choice = w.level == LEVEL_CHOICE || w.op == BF_EXPRESSION_IF || missing;
    const bool logic = w.level == LEVEL_AND || w.level == LEVEL_OR;
    const int count = missing ? 3 : w.arity;
    bf_expression_value *const in = p->values + p->value_count - count, out = {.bits = 0};
    const bf_expression_value first = in[0];
    if (choice || logic) bf_expression_guard_end(&p->build);
    if (missing) in[0] = in[1], in[1] = in[2], in[2] = first;
    p->value_count -= count;
    p->build.position = w.position;
    bf_status status =
        p->build.make->operation(&p->build, choice ? BF_EXPRESSION_SELECT : w.op, in, count, &out);
    push_value(p, out);
    return status;
}

/* Builds what is on top. */
static bf_status build_top(parser *p) { return build_waiting(p, p->stack[--p->waits]); }

/* Builds what binds at least as much as `least`, down to a bracket. '?' without ':' is one. */
static bf_status build_down_to(parser *p, level least) {
    bf_status status = BF_OK;
    for (const waiting *w = top_of(p); w != NULL && status == BF_OK; w = top_of(p)) {
        if (w->level < least || w->level == LEVEL_BRACKET || w->op == CHOICE_FIRST) break;
        status = build_top(p);
    }
    return status;
}

static bf_status take_operator(parser *p, int i) {
    level of = binary_operators[i].level;
    bool comparison = of == LEVEL_COMPARISON, logic = of == LEVEL_AND || of == LEVEL_OR;
    bf_status status = build_down_to(p, comparison ? LEVEL_SUM : of);
    const waiting *w = top_of(p);
    if (status == BF_OK && comparison && w != NULL && w->level == LEVEL_COMPARISON)
        return refuse_token(p, "comparisons do not follow each other: join them by &&");
    p->build.position = p->token.position;
    if (status == BF_OK && logic) status = p->build.make->condition(&p->build, last_value(p));
    if (status == BF_OK) status = push_waiting(p, of, binary_operators[i].op, 2);
    if (status == BF_OK && logic)
        bf_expression_guard_begin(&p->build, *last_value(p),
                                  of == LEVEL_OR ? BF_EXPRESSION_UNMET : BF_EXPRESSION_MAYBE);
    return status;
}

/* What follows is needed where the condition, the last value, is met. */
static bf_status begin_first(parser *p) {
    bf_status status = p->build.make->condition(&p->build, last_value(p));
    if (status == BF_OK) bf_expression_guard_begin(&p->build, *last_value(p), BF_EXPRESSION_MET);
    return status;
}

/* What follows is needed where the condition, the last value but one, is not met. */
static void begin_second(parser *p) {
    bf_expression_guard_end(&p->build);
    bf_expression_guard_begin(&p->build, p->values[p->value_count - 2], BF_EXPRESSION_UNMET);
}

/* a ? b : c waits from '?' to ':' as one with CHOICE_FIRST, then to its end. */
static bf_status take_question(parser *p) {
    bf_status status = build_down_to(p, LEVEL_OR);
    p->build.position = p->token.position;
    if (status == BF_OK) status = push_waiting(p, LEVEL_CHOICE, CHOICE_FIRST, 3);
    return status == BF_OK ? begin_first(p) : status;
}

static bf_status take_colon(parser *p) {
    bf_status status = build_down_to(p, LEVEL_CHOICE);
    waiting *w = top_of(p);
    if (status != BF_OK) return status;
    if (w == NULL || w->op != CHOICE_FIRST) return refuse_token(p, "there is no '?' for this ':'");
    w->op = CHOICE_SECOND;
    begin_second(p);
    return BF_OK;
}

/* Builds all down to the bracket that is open, which there must be. */
static bf_status build_to_bracket(parser *p, const char *without) {
    bf_status status = build_down_to(p, LEVEL_CHOICE);
    const waiting *w = top_of(p);
    if (status != BF_OK) return status;
    if (w != NULL && w->op == CHOICE_FIRST) return refuse_token(p, "':' expected");
    return w == NULL ? refuse_token(p, without) : BF_OK;
}

static bf_status refuse_arguments(parser *p, const waiting *w) {
    return bf_expression_refuse(&p->build, BF_E_ARGUMENT, p->token.position,
                                "the function takes %s%d argument%s", w->more ? "at least " : "",
                                w->arity, w->arity == 1 ? "" : "s");
}

/* coalesce(a, b) is isnull(a) ? b : a. */
static bf_status begin_missing(parser *p) {
    bf_expression_value missing;
    bf_status status =
        p->build.make->operation(&p->build, BF_EXPRESSION_MISSING, last_value(p), 1, &missing);
    push_value(p, missing);
    return status == BF_OK ? begin_first(p) : status;
}

/* Begins an argument behind others, of which some may be needed no more. */
static bf_status begin_argument(parser *p, const waiting *w) {
    p->build.position = p->token.position;
    if (w->op == BF_EXPRESSION_COALESCE) return begin_missing(p);
    if (w->op == BF_EXPRESSION_IF && w->taken == 1) return begin_first(p);
    if (w->op == BF_EXPRESSION_IF) begin_second(p);
    return BF_OK;
}

static bf_status take_comma(parser *p) {
    bf_status status = build_to_bracket(p, "',' is only between arguments");
    waiting *w = top_of(p);
    if (status != BF_OK) return status;
    if (w->op == 0) return refuse_token(p, "')' expected");
    if (++w->taken >= w->arity && !w->more) return refuse_arguments(p, w);
    if (w->taken >= w->arity) status = build_waiting(p, *w);
    return status == BF_OK ? begin_argument(p, w) : status;
}

static bf_status take_closing(parser *p) {
    bf_status status = build_to_bracket(p, "there is no '(' for this ')'");
    const waiting *w = top_of(p);
    if (status != BF_OK) return status;
    if (w->op != 0 && w->taken + 1 < w->arity) return refuse_arguments(p, w);
    if (w->op != 0) return build_top(p);
    p->waits--;
    return BF_OK;
}

static bf_status take_power(parser *p) {
    int position = p->token.position;
    bf_status status = next_token(p);
    if (status != BF_OK) return status;
    const bf_expression_value *n = &p->token.number;
    bool whole = p->token.kind == BF_TOKEN_NUMBER && n->dtype == BF_I64;
    if (!whole || n->bits > EXPONENT_MOST)
        return refuse_token(p, "an exponent is a whole number from 0 to 64");
    p->build.position = position;
    return p->build.make->power(&p->build, *last_value(p), (int)n->bits, last_value(p));
}

/* ---- the two states -------------------------------------------------------------------------- */

static bf_status take_call(parser *p) {
    const bf_expression_function *f = bf_expression_functions;
    while (f->name != NULL && !is_named(p, f->name)) f++;
    if (f->name == NULL) return refuse_name(p, "no function has the name", "");
    bf_status status = push_waiting(p, LEVEL_BRACKET, f->op, (int)strcspn(f->takes, "+"));
    if (status != BF_OK) return status;
    top_of(p)->more = strchr(f->takes, '+') != NULL;
    return next_token(p); /* '(' */
}

/* Takes the token where an operand begins. *operand: another is to come. */
static bf_status take_operand(parser *p, bool *operand) {
    const bf_token *t = &p->token;
    *operand = true;
    if (t->kind == BF_TOKEN_CALL) return take_call(p);
    if (bf_token_is(t, "(")) return push_waiting(p, LEVEL_BRACKET, 0, 0);
    if (bf_token_is(t, "-")) return push_waiting(p, LEVEL_SIGN, BF_MAP_NEG, 1);
    if (bf_token_is(t, "!")) return push_waiting(p, LEVEL_SIGN, BF_EXPRESSION_NOT, 1);
    *operand = false;
    if (t->kind == BF_TOKEN_NAME) return take_column(p);
    if (t->kind == BF_TOKEN_STRING) return take_string(p);
    if (t->kind != BF_TOKEN_NUMBER && t->kind != BF_TOKEN_NULL)
        return refuse_token(p, "a column, a number or '(' expected");
    push_value(p, t->kind == BF_TOKEN_NULL ? bf_expression_null() : t->number);
    return BF_OK;
}

/* Takes the token behind an operand. */
static bf_status take_behind(parser *p, bool *operand) {
    const bf_token *t = &p->token;
    *operand = false;
    if (t->kind != BF_TOKEN_OPERATOR) return refuse_token(p, "an operator expected");
    if (bf_token_is(t, ")")) return take_closing(p);
    if (bf_token_is(t, "**")) return take_power(p);
    *operand = true;
    if (bf_token_is(t, ",")) return take_comma(p);
    if (bf_token_is(t, "?")) return take_question(p);
    if (bf_token_is(t, ":")) return take_colon(p);
    for (int i = 0; i < BINARY_OPERATORS; i++)
        if (bf_token_is(t, binary_operators[i].text)) return take_operator(p, i);
    return refuse_token(p, "an operator expected");
}

static bf_status take_end(parser *p) {
    bf_status status = build_down_to(p, LEVEL_CHOICE);
    const waiting *w = top_of(p);
    if (status != BF_OK) return status;
    if (w != NULL) return refuse_token(p, w->op == CHOICE_FIRST ? "':' expected" : "')' expected");
    return p->build.make->result(&p->build, *last_value(p));
}

static bf_status parse_text(parser *p) {
    bool operand = true;
    if (strlen(p->source->text) > BF_TOKEN_TEXT_MOST)
        return bf_expression_refuse(&p->build, BF_E_ARGUMENT, BF_TOKEN_TEXT_MOST,
                                    "the expression is too long");
    bf_status status = next_token(p);
    while (status == BF_OK && (operand || p->token.kind != BF_TOKEN_END)) {
        status = operand ? take_operand(p, &operand) : take_behind(p, &operand);
        if (status == BF_OK) status = next_token(p);
    }
    return status == BF_OK ? take_end(p) : status;
}

bf_status bf_expression_compile(bf_context *context, const bf_expression_source *source,
                                const bf_expression_maker *make, struct bf_expression_kinds *kinds,
                                bf_expression_program *program, int *numbers, int *position) {
    parser *p = bf_calloc(1, sizeof *p);
    if (p == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for an expression");
    p->build.make = make;
    p->build.context = context;
    p->build.program = program;
    p->build.kinds = kinds;
    p->build.decimals = source->scales != NULL || source->times != NULL;
    p->build.rounded = source->rounded;
    p->build.wide = source->wide;
    p->build.digits = source->wide || p->build.decimals;
    for (int i = 0; i < source->count; i++) p->build.digits |= source->dtypes[i] == BF_I128;
    p->source = source;
    p->numbers = numbers;
    for (int i = 0; i < source->count; i++) numbers[i] = -1;
    bf_status status = parse_text(p);
    if (status != BF_OK) *position = p->build.position;
    bf_free(p);
    return status;
}
