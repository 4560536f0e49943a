#include "api/expression/text.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_hex_digit(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Bytes beyond ASCII belong to names. */
static bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 128;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* ---- numbers --------------------------------------------------------------------------------- */

static const char *skip_digits(const char *at, bool hex) {
    while (hex ? is_hex_digit(*at) : is_digit(*at)) at++;
    return at;
}

/* Returns the end of a number; at itself: it is none. *whole: it has no point and no exponent. */
static const char *number_end(const char *at, bool *whole) {
    bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    const char *digits = hex ? at + 2 : at, *end = skip_digits(digits, hex);
    int64_t count = end - digits;
    *whole = true;
    if (*end == '.') {
        const char *point = end;
        end = skip_digits(end + 1, hex);
        count += end - point - 1;
        *whole = false;
    }
    if (count == 0) return at;
    if (hex ? *end == 'p' || *end == 'P' : *end == 'e' || *end == 'E') {
        const char *exponent = end + 1;
        if (*exponent == '+' || *exponent == '-') exponent++;
        end = skip_digits(exponent, false);
        *whole = false;
        if (end == exponent) return at;
    }
    return end;
}

static int digit_of(char c) { return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10; }

/* False: it is too long. */
static bool read_integer(const bf_expression_builder *b, const char *at, const char *end,
                         bf_expression_value *number) {
    bool hex = at[0] == '0' && (at[1] | 32) == 'x';
    bf_i128 x = 0;
    for (at += hex ? 2 : 0; at < end; at++)
        if (__builtin_mul_overflow(x, hex ? 16 : 10, &x) ||
            __builtin_add_overflow(x, digit_of(*at), &x))
            return false;
    *number = bf_expression_integer(x);
    return bf_expression_holds(b, x);
}

static bf_status read_number(bf_expression_builder *b, const char *text, int *position,
                             bf_token *token) {
    bool whole;
    const char *at = text + *position, *end = number_end(at, &whole);
    token->kind = BF_TOKEN_NUMBER;
    if (end == at || begins_name(*end) || is_digit(*end) || *end == '.')
        return bf_expression_refuse(b, BF_E_ARGUMENT, *position, "this is not a number");
    if (whole && !read_integer(b, at, end, &token->number))
        return bf_expression_refuse_long(b, BF_E_ARGUMENT, *position);
    bf_expression_value *number = &token->number;
    if (!whole) *number = bf_expression_number(BF_F64, bf_token_float(at, end));
    number->decimal =
        !whole && b->decimals && bf_token_decimal(at, end, &number->units, &number->scale);
    *position = (int)(end - text);
    return BF_OK;
}

/* ---- names and operators --------------------------------------------------------------------- */

/* A dot may stand between two parts of a name. */
static void read_name(const char *text, int *position, bf_token *token) {
    int at = *position;
    while (begins_name(text[at]) || is_digit(text[at]) ||
           (text[at] == '.' && begins_name(text[at + 1])))
        at++;
    token->kind = BF_TOKEN_NAME;
    token->begin = *position;
    token->end = at;
    *position = at;
    while (is_space(text[at])) at++;
    if (text[at] == '(')
        token->kind = BF_TOKEN_CALL;
    else if (token->end - token->begin == 4 && memcmp(text + token->begin, "null", 4) == 0)
        token->kind = BF_TOKEN_NULL;
}

/* `any name`, "a string" or 'a string' */
static bf_status read_quoted(bf_expression_builder *b, const char *text, int *position,
                             bf_token *token) {
    char quote = text[*position];
    const char *begin = text + *position + 1, *end = strchr(begin, quote);
    while (end != NULL && end[1] == quote) end = strchr(end + 2, quote);
    if (end == NULL)
        return bf_expression_refuse(b, BF_E_ARGUMENT, *position, "the %s has no closing %c",
                                    quote == '`' ? "name" : "string", quote);
    token->kind = quote == '`' ? BF_TOKEN_NAME : BF_TOKEN_STRING;
    token->quote = quote;
    token->begin = (int)(begin - text);
    token->end = (int)(end - text);
    *position = token->end + 1;
    return BF_OK;
}

int64_t bf_token_copy(const bf_token *token, const char *text, char *to) {
    int64_t size = 0;
    for (int i = token->begin; i < token->end; i++) {
        to[size++] = text[i];
        if (token->quote != 0 && text[i] == token->quote) i++;
    }
    return size;
}

/* Longer ones first. */
static const char operators[][3] = {"**", "==", "!=", "<=", ">=", "=~", "&&", "||", "+", "-", "*",
                                    "/",  "%",  "<",  ">",  "!",  "?",  ":",  "(",  ")", ","};

static bf_status read_operator(bf_expression_builder *b, const char *text, int *position,
                               bf_token *token) {
    const char *at = text + *position;
    token->kind = BF_TOKEN_OPERATOR;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strncmp(at, operators[i], strlen(operators[i])) != 0) continue;
        memcpy(token->text, operators[i], sizeof token->text);
        *position += (int)strlen(operators[i]);
        return BF_OK;
    }
    if (*at == '=' || *at == '&' || *at == '|')
        return bf_expression_refuse(b, BF_E_ARGUMENT, *position, "'%c' is no operator: '%c%c' is",
                                    *at, *at, *at);
    if (*at == '^')
        return bf_expression_refuse(b, BF_E_ARGUMENT, *position, "'^' is no operator: '**' is");
    return *at > ' ' && *at < 127
               ? bf_expression_refuse(b, BF_E_ARGUMENT, *position, "'%c' is no operator", *at)
               : bf_expression_refuse(b, BF_E_ARGUMENT, *position, "byte %d is no operator",
                                      (int)(unsigned char)*at);
}

bf_status bf_token_next(bf_expression_builder *b, const char *text, int *position,
                        bf_token *token) {
    while (is_space(text[*position])) ++*position;
    const char *at = text + *position;
    *token = (bf_token){.kind = BF_TOKEN_END, .position = *position};
    if (*at == '\0') return BF_OK;
    if (*at == '.' && !is_digit(at[1]))
        return bf_expression_refuse(b, BF_E_ARGUMENT, *position,
                                    "'.' is no operator: it stands between two parts of a name");
    if (is_digit(*at) || *at == '.') return read_number(b, text, position, token);
    if (*at == '`' || *at == '"' || *at == '\'') return read_quoted(b, text, position, token);
    if (!begins_name(*at)) return read_operator(b, text, position, token);
    read_name(text, position, token);
    return BF_OK;
}
