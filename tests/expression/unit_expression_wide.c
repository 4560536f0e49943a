/* Expressions of integers of 128 bits: random programs against GMP. Results are exact, the first
 * that has more than 38 digits is the one that is refused, and what is not needed is not. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdio.h>

enum { NODES = 24, ROWS = 2100, TEXT = 4096, COLUMNS = 6, PROGRAMS = 600 / CASE_STEP };

__extension__ typedef __int128 wide;

static const char *const names[COLUMNS] = {"a", "b", "c", "u", "s", "x"};
static const bf_dtype dtypes[COLUMNS] = {BF_I128, BF_I64, BF_I128, BF_U64, BF_I16, BF_I64};
static const int scales[COLUMNS] = {0, 0, 3, 0, 0, 2};

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct data {
    uint64_t words[COLUMNS][2 * ROWS + 1]; /* not aligned: from byte 1 on */
    uint8_t bits[COLUMNS][ROWS / 8 + 1];
    bf_array arrays[COLUMNS];
    bf_column columns[COLUMNS];
    const bf_array *given_arrays[COLUMNS];
    const bf_column *given[COLUMNS];
    int64_t n;
} data;

static bool is_null(const data *d, int k, int64_t i) {
    return (d->bits[k][i / 8] >> i % 8 & 1) == 0;
}

static char *place(data *d, int k) { return (char *)d->words[k] + 1; }

/* Numbers of up to so many bits. */
static void fill_data(data *d, int64_t n, int bits, bool nulls, uint64_t *seed) {
    memset(d, 0, sizeof *d);
    d->n = n;
    for (int k = 0; k < COLUMNS; k++) {
        const size_t bytes = bf_dtype_size(dtypes[k]);
        for (int64_t i = 0; i < n; i++) {
            const int own = (int)(next_random(seed) % (unsigned)bits) % (8 * (int)bytes - 1);
            const bool negative = dtypes[k] != BF_U64 && next_random(seed) % 2;
            wide x = (wide)((unsigned __int128)next_random(seed) << 63 | next_random(seed) >> 1);
            x >>= 127 - own;
            if (negative) x = -x;
            memcpy(place(d, k) + (size_t)i * bytes, &x, bytes);
            if (!nulls || next_random(seed) % 8) d->bits[k][i / 8] |= (uint8_t)(1 << i % 8);
        }
        d->arrays[k] = bf_array_of(dtypes[k], place(d, k), n);
        d->columns[k] =
            (bf_column){.size = sizeof(bf_column), .numbers = &d->arrays[k], .valid = d->bits[k]};
        d->given_arrays[k] = &d->arrays[k];
        d->given[k] = &d->columns[k];
    }
}

static void get_integer(mpz_t x, const void *at) {
    uint64_t word[2];
    memcpy(word, at, sizeof word);
    mpz_import(x, 2, -1, 8, 0, 0, word);
    if (word[1] >> 63) {
        mpz_t all;
        mpz_init(all);
        mpz_setbit(all, 128);
        mpz_sub(x, x, all);
        mpz_clear(all);
    }
}

static void get_number(const data *d, int k, int64_t i, mpz_t x) {
    const size_t bytes = bf_dtype_size(dtypes[k]);
    char element[16];
    memcpy(element, (const char *)d->words[k] + 1 + (size_t)i * bytes, bytes);
    const bool negative = dtypes[k] != BF_U64 && element[bytes - 1] < 0;
    memset(element + bytes, negative ? -1 : 0, 16 - bytes);
    get_integer(x, element);
}

/* ---- programs -------------------------------------------------------------------------------- */

typedef enum kind { COLUMN, NUMBER, NEGATED, ABSOLUTE, BINARY, LEAST, MOST, CHOICE, POWER } kind;

typedef struct node {
    kind kind;
    char op;                         /* takes two; a choice's is its condition's */
    int column, in[4], scale, times; /* in: of a choice, what is compared, then the two values */
    const char *number;
} node;

typedef struct program {
    node nodes[NODES];
    int count, scale; /* -1: some scale is too great */
    char text[TEXT];
} program;

static const struct {
    const char *text;
    int scale;
} numbers[] = {{"7", 0},
               {"-3", 0},
               {"0.25", 2},
               {"1e19", 0},
               {"12.5", 1},
               {"20000000000000000001", 0},
               {"99999999999999999999999999999999999999", 0}};

static int most(int a, int b) { return a > b ? a : b; }

static int make_node(program *p, int depth, uint64_t *seed);

/* An operand on the right may be a number. */
static int make_right(program *p, int depth, uint64_t *seed) {
    if (next_random(seed) % 4 || p->count == NODES) return make_node(p, depth, seed);
    const size_t i = next_random(seed) % (sizeof numbers / sizeof *numbers);
    p->nodes[p->count] =
        (node){.kind = NUMBER, .number = numbers[i].text, .scale = numbers[i].scale};
    return p->count++;
}

/* A number that has too many digits in the scale of others is refused at once. */
static void check_number(program *p, int i, int scale) {
    const node *n = &p->nodes[i];
    const bool late = n->kind == NUMBER && strpbrk(n->number, ".e") == NULL && scale > n->scale;
    if (late && (int)strlen(n->number) + scale - n->scale > 38) p->scale = -1;
}

static int make_node(program *p, int depth, uint64_t *seed) {
    node n = {.kind = COLUMN, .column = (int)(next_random(seed) % COLUMNS)};
    n.scale = scales[n.column];
    if (depth > 0) n.kind = (kind)(NEGATED + next_random(seed) % (POWER - NEGATED + 1));
    if (n.kind == NEGATED || n.kind == ABSOLUTE || n.kind == POWER) {
        n.in[0] = make_node(p, depth - 1, seed);
        n.times = n.kind == POWER ? 2 + (int)(next_random(seed) % 2) : 1;
        n.scale = p->nodes[n.in[0]].scale * n.times;
    } else if (n.kind == CHOICE) {
        n.op = "<>=!"[next_random(seed) % 4];
        n.in[0] = make_node(p, 0, seed);
        n.in[1] = make_right(p, 0, seed);
        n.in[2] = make_node(p, depth - 1, seed);
        n.in[3] = make_right(p, depth - 1, seed);
        n.scale = most(p->nodes[n.in[2]].scale, p->nodes[n.in[3]].scale);
        check_number(p, n.in[3], n.scale);
    } else if (n.kind != COLUMN) {
        n.op = "+-*%"[next_random(seed) % 4];
        n.in[0] = make_node(p, depth - 1, seed);
        n.in[1] = make_right(p, depth - 1, seed);
        const int x = p->nodes[n.in[0]].scale, y = p->nodes[n.in[1]].scale;
        const bool product = n.kind == BINARY && n.op == '*';
        n.scale = product ? x + y : most(x, y);
        if (!product) check_number(p, n.in[1], n.scale);
    }
    if (n.scale > 38) p->scale = -1;
    p->nodes[p->count] = n;
    return p->count++;
}

static void write_node(program *p, int i) {
    const node *n = &p->nodes[i];
    char *const text = p->text;
#define PUT(...) snprintf(text + strlen(text), TEXT - strlen(text), __VA_ARGS__)
    switch (n->kind) {
    case COLUMN: PUT("%s", names[n->column]); return;
    case NUMBER: PUT("(%s)", n->number); return;
    case NEGATED: PUT("-("); break;
    case ABSOLUTE: PUT("abs("); break;
    case POWER: PUT("("); break;
    case LEAST: PUT("min("); break;
    case MOST: PUT("max("); break;
    default: PUT("(");
    }
    write_node(p, n->in[0]);
    if (n->kind == POWER) PUT(")**%d", n->times);
    if (n->kind == NEGATED || n->kind == ABSOLUTE) PUT(")");
    if (n->kind == NEGATED || n->kind == ABSOLUTE || n->kind == POWER) return;
    if (n->kind == LEAST || n->kind == MOST)
        PUT(", ");
    else
        PUT(" %c%s ", n->op, n->op == '=' || n->op == '!' ? "=" : "");
    write_node(p, n->in[1]);
    if (n->kind == CHOICE) {
        PUT(" ? ");
        write_node(p, n->in[2]);
        PUT(" : ");
        write_node(p, n->in[3]);
    }
    PUT(")");
#undef PUT
}

/* ---- the oracle ------------------------------------------------------------------------------ */

typedef enum outcome { VALUE, NONE, BEYOND, BY_ZERO } outcome;

static outcome judge(const mpz_t x) {
    mpz_t end;
    mpz_init(end);
    mpz_ui_pow_ui(end, 10, 38);
    const outcome o = mpz_cmpabs(x, end) < 0 ? VALUE : BEYOND;
    mpz_clear(end);
    return o;
}

static outcome scale_by(mpz_t x, int digits) {
    mpz_t power;
    mpz_init(power);
    mpz_ui_pow_ui(power, 10, (unsigned long)digits);
    mpz_mul(x, x, power);
    mpz_clear(power);
    return digits > 0 ? judge(x) : VALUE;
}

static outcome run_node(const program *p, const data *d, int i, int64_t row, mpz_t out);

/* Both operands, in the greater scale. A comparison cannot fail. */
static outcome run_pair(const program *p, const data *d, const int in[2], int64_t row, mpz_t x,
                        mpz_t y, bool align, bool compared) {
    const node *a = &p->nodes[in[0]], *b = &p->nodes[in[1]];
    const int scale = most(a->scale, b->scale);
    const outcome first = run_node(p, d, in[0], row, x);
    if (first == BEYOND || first == BY_ZERO) return first;
    const outcome second = run_node(p, d, in[1], row, y);
    if (second == BEYOND || second == BY_ZERO) return second;
    if (first == NONE || second == NONE) return NONE;
    if (!align) return VALUE;
    const outcome of_x = scale_by(x, scale - a->scale), of_y = scale_by(y, scale - b->scale);
    return compared ? VALUE : of_x != VALUE ? of_x : of_y;
}

static bool holds(char op, int order) {
    return op == '<' ? order < 0 : op == '>' ? order > 0 : op == '=' ? order == 0 : order != 0;
}

static outcome run_choice(const program *p, const data *d, const node *n, int64_t row, mpz_t x,
                          mpz_t y) {
    const outcome o = run_pair(p, d, n->in, row, x, y, true, true);
    if (o == BEYOND || o == BY_ZERO) return o;
    const int chosen = n->in[o == VALUE && holds(n->op, mpz_cmp(x, y)) ? 2 : 3];
    const outcome made = run_node(p, d, chosen, row, x);
    return made == VALUE ? scale_by(x, n->scale - p->nodes[chosen].scale) : made;
}

static outcome run_binary(const program *p, const data *d, const node *n, int64_t row, mpz_t x,
                          mpz_t y) {
    const bool product = n->kind == BINARY && n->op == '*';
    const outcome o = run_pair(p, d, n->in, row, x, y, !product, false);
    if (o != VALUE) return o;
    if (n->kind == LEAST || n->kind == MOST) {
        if ((mpz_cmp(y, x) < 0) == (n->kind == LEAST)) mpz_set(x, y);
        return VALUE;
    }
    switch (n->op) {
    case '+': mpz_add(x, x, y); break;
    case '-': mpz_sub(x, x, y); break;
    case '*': mpz_mul(x, x, y); break;
    default:
        if (mpz_sgn(y) == 0) return BY_ZERO;
        mpz_fdiv_r(x, x, y);
        return VALUE;
    }
    return judge(x);
}

static outcome run_node(const program *p, const data *d, int i, int64_t row, mpz_t out) {
    const node *n = &p->nodes[i];
    mpz_t y;
    outcome o = VALUE;
    if (n->kind == COLUMN) {
        get_number(d, n->column, row, out);
        return is_null(d, n->column, row) ? NONE : VALUE;
    }
    if (n->kind == NUMBER) {
        mpf_t x;
        mpf_init2(x, 300);
        mpf_set_str(x, n->number, 10);
        for (int k = 0; k < n->scale; k++) mpf_mul_ui(x, x, 10);
        mpz_set_f(out, x);
        mpf_clear(x);
        return VALUE;
    }
    mpz_init(y);
    if (n->kind == CHOICE) o = run_choice(p, d, n, row, out, y);
    if (n->kind == BINARY || n->kind == LEAST || n->kind == MOST)
        o = run_binary(p, d, n, row, out, y);
    if (n->kind == NEGATED || n->kind == ABSOLUTE || n->kind == POWER) {
        o = run_node(p, d, n->in[0], row, out);
        if (n->kind == NEGATED) mpz_neg(out, out);
        if (n->kind == ABSOLUTE) mpz_abs(out, out);
        if (n->kind == POWER && o == VALUE) mpz_pow_ui(out, out, (unsigned long)n->times);
        if (o == VALUE) o = judge(out);
    }
    mpz_clear(y);
    return o;
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* What the oracle says of all rows up to the first that fails. */
typedef struct answers {
    outcome of[ROWS];
    wide value[ROWS];
    int64_t failed;
} answers;

static void ask_oracle(const program *p, const data *d, answers *a) {
    mpz_t x;
    mpz_init(x);
    a->failed = -1;
    for (int64_t i = 0; i < d->n && a->failed < 0; i++) {
        uint64_t word[2] = {0, 0};
        a->of[i] = run_node(p, d, p->count - 1, i, x);
        if (a->of[i] == BEYOND || a->of[i] == BY_ZERO) a->failed = i;
        if (a->of[i] == VALUE) mpz_export(word, NULL, -1, 8, 0, 0, x);
        a->value[i] = (wide)((unsigned __int128)word[1] << 64 | word[0]);
        if (mpz_sgn(x) < 0) a->value[i] = -a->value[i];
    }
    mpz_clear(x);
}

typedef struct question {
    const program *p;
    const data *d;
    const answers *a;
    bool nulls;
} question;

static bf_expression *parse_wide(bf_context *context, const char *text) {
    bf_expression *e = NULL;
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.scales = scales, .wide = 1);
    if (bf_expression_parse(context, text, names, dtypes, COLUMNS, &options, NULL, &e) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    return e;
}

static void check_status(bf_context *context, const question *q, bf_status status) {
    const answers *a = q->a;
    char index[48];
    if (a->failed < 0 && status == BF_OK) return;
    snprintf(index, sizeof index, "at index %lld", (long long)a->failed);
    const char *at = status != BF_OK ? strstr(bf_context_message(context), index) : NULL;
    const bool same =
        a->failed >= 0 && at != NULL && (at[strlen(index)] == ' ' || !at[strlen(index)]);
    if (!same || (status == BF_E_ARGUMENT) != (a->of[a->failed] == BY_ZERO))
        fail_msg("%s: %s, and index %lld fails", q->p->text,
                 status != BF_OK ? bf_context_message(context) : "done", (long long)a->failed);
}

static wide result_at(bf_dtype dtype, const void *results, int64_t i) {
    wide x;
    if (dtype != BF_I128) return (wide)((const int64_t *)results)[i];
    memcpy(&x, (const char *)results + 16 * i, 16);
    return x;
}

static void compare_results(bf_context *context, void *given) {
    const question *q = given;
    const data *d = q->d;
    static char results[16 * ROWS];
    static uint8_t valid[ROWS];
    OWN(bf_expression) *e = parse_wide(context, q->p->text);
    const bf_array out = bf_array_of(bf_expression_dtype(e), results, d->n);
    assert_int_equal(bf_expression_scale(e), q->p->nodes[q->p->count - 1].scale);
    const bf_status status = q->nulls ? bf_expression_eval_columns(e, d->given, &out, valid)
                                      : bf_expression_eval(e, d->given_arrays, &out);
    check_status(context, q, status);
    for (int64_t i = 0; i < d->n && status == BF_OK; i++) {
        const bool there = q->a->of[i] == VALUE;
        if ((q->nulls && valid[i] != there) ||
            result_at(out.dtype, results, i) != (there ? q->a->value[i] : 0))
            fail_msg("%s: row %lld", q->p->text, (long long)i);
    }
}

TEST(random_programs) {
    static data d;
    static answers a;
    uint64_t seed = 11;
    int failed = 0, done = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        static program p;
        memset(&p, 0, sizeof p);
        make_node(&p, 1 + i % 3, &seed);
        if (p.scale < 0 || p.nodes[p.count - 1].kind == COLUMN) continue;
        write_node(&p, p.count - 1);
        const bool nulls = i % 2 != 0;
        fill_data(&d, i % 5 ? ROWS : 40, i % 4 == 0 ? 126 : i % 4 == 1 ? 62 : 12, nulls, &seed);
        ask_oracle(&p, &d, &a);
        failed += a.failed >= 0;
        done += a.failed < 0;
        question q = {&p, &d, &a, nulls};
        on_every_context(compare_results, &q);
    }
    assert_true(failed > PROGRAMS / 8 && done > PROGRAMS / 8);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static const struct {
    char op;
    bool equal;
    const char *text;
} comparisons[] = {{'=', true, "a == c"}, {'!', false, "a != c"}, {'<', false, "a < c"},
                   {'<', true, "a <= c"}, {'>', false, "a > c"},  {'>', true, "a >= c"}};

/* Brings c of some rows next to a, as far as its scale and 38 digits allow. */
static void bring_near(data *d, const int own[COLUMNS]) {
    mpz_t x, power;
    mpz_inits(x, power, NULL);
    for (int64_t i = 0; i < d->n; i += 2) {
        const int finer = own[2] - own[0];
        uint64_t word[2] = {0, 0};
        get_number(d, 0, i, x);
        mpz_ui_pow_ui(power, 10, (unsigned long)abs(finer));
        if (finer < 0)
            mpz_fdiv_q(x, x, power);
        else
            mpz_mul(x, x, power);
        if (i % 8 == 2) mpz_add_ui(x, x, 1);
        if (i % 8 == 4) mpz_sub_ui(x, x, 1);
        if (judge(x) != VALUE) continue;
        mpz_export(word, NULL, -1, 8, 0, 0, x);
        wide near = (wide)((unsigned __int128)word[1] << 64 | word[0]);
        if (mpz_sgn(x) < 0) near = -near;
        memcpy(place(d, 2) + 16 * i, &near, sizeof near);
    }
    mpz_clears(x, power, NULL);
}

static void find_orders(const data *d, const int own[COLUMNS], int *orders) {
    mpz_t x, y;
    mpz_inits(x, y, NULL);
    for (int64_t i = 0; i < d->n; i++) {
        get_number(d, 0, i, x);
        get_number(d, 2, i, y);
        scale_by(x, own[2]);
        scale_by(y, own[0]);
        orders[i] = mpz_cmp(x, y);
    }
    mpz_clears(x, y, NULL);
}

static void compare_scales(bf_context *context, const data *d, const int own[COLUMNS], int k,
                           bf_overflow_policy overflow, const int *orders) {
    const bf_expression_options options =
        BF_EXPRESSION_OPTIONS(.overflow = overflow, .scales = own);
    uint8_t found[ROWS];
    const bf_array out = bf_array_of(BF_BOOL, found, d->n);
    OWN(bf_expression) *e = NULL;
    assert_int_equal(bf_expression_parse(context, comparisons[k].text, names, dtypes, COLUMNS,
                                         &options, NULL, &e),
                     BF_OK);
    if (bf_expression_eval(e, d->given_arrays, &out) != BF_OK)
        fail_msg("%s, scales %d and %d: %s", comparisons[k].text, own[0], own[2],
                 bf_context_message(context));
    for (int64_t i = 0; i < d->n; i++) {
        const bool same = comparisons[k].equal && orders[i] == 0;
        const bool holding = same || holds(comparisons[k].op, orders[i]);
        if (found[i] != holding)
            fail_msg("%s, scales %d and %d: row %lld", comparisons[k].text, own[0], own[2],
                     (long long)i);
    }
}

/* Columns of all scales have an order, whatever is done where a result does not fit. */
TEST(comparisons_never_fail) {
    static data d;
    static int orders[ROWS];
    uint64_t seed = 3;
    OWN(bf_context) *context = make_context(NULL, 1);
    for (int first = 0; first <= BF_SCALE_MOST_I128; first++)
        for (int second = first % CASE_STEP; second <= BF_SCALE_MOST_I128; second += CASE_STEP) {
            const int own[COLUMNS] = {[0] = first, [2] = second};
            fill_data(&d, 40, 126, false, &seed);
            bring_near(&d, own);
            find_orders(&d, own, orders);
            for (int k = 0; k < 6; k++)
                for (int policy = BF_OVERFLOW_ERROR; policy <= BF_OVERFLOW_SATURATE; policy++)
                    compare_scales(context, &d, own, k, (bf_overflow_policy)policy, orders);
        }
}

/* ---- rounding, reductions -------------------------------------------------------------------- */

static double divided(const void *at, int scale) {
    mpz_t whole, power;
    mpq_t x;
    mpfr_t f;
    mpz_inits(whole, power, NULL);
    mpq_init(x);
    mpfr_init2(f, 53);
    get_integer(whole, at);
    mpz_ui_pow_ui(power, 10, (unsigned long)scale);
    mpq_set_z(x, whole);
    mpz_set(mpq_denref(x), power);
    mpq_canonicalize(x);
    mpfr_set_q(f, x, MPFR_RNDN);
    const double found = mpfr_get_d(f, MPFR_RNDN);
    mpz_clears(whole, power, NULL);
    mpq_clear(x);
    mpfr_clear(f);
    return found;
}

static void round_once_of(bf_context *context, void *given) {
    const data *d = given;
    static double found[ROWS];
    for (int scale = 0; scale <= BF_SCALE_MOST_I128; scale++) {
        const int own[COLUMNS] = {scale};
        const bf_expression_options options = BF_EXPRESSION_OPTIONS(.scales = own);
        OWN(bf_expression) *e = NULL;
        assert_int_equal(
            bf_expression_parse(context, "a / 1", names, dtypes, COLUMNS, &options, NULL, &e),
            BF_OK);
        const bf_array out = bf_array_of(BF_F64, found, d->n);
        assert_int_equal(bf_expression_eval(e, d->given_arrays, &out), BF_OK);
        for (int64_t i = 0; i < d->n; i++)
            if (found[i] != divided((const char *)d->words[0] + 1 + 16 * i, scale))
                fail_msg("row %lld, scale %d: %a", (long long)i, scale, found[i]);
    }
}

TEST(every_number_is_rounded_once) {
    static data d;
    uint64_t seed = 5;
    fill_data(&d, 300, 126, false, &seed);
    OWN(bf_context) *context = make_context(NULL, 2);
    round_once_of(context, &d);
}

static void sum_results(bf_context *context, void *given) {
    const data *d = given;
    OWN(bf_expression) *e = parse_wide(context, "s % 7 * a - x");
    OWN(bf_state) *s = NULL;
    bf_value v;
    char found[BF_VALUE_TEXT];
    assert_int_equal(bf_expression_dtype(e), BF_I128);
    assert_int_equal(bf_state_create(context, BF_SUM, BF_I128, &s), BF_OK);
    assert_int_equal(bf_state_rescale(s, 2), BF_OK);
    for (int pass = 0; pass < 2; pass++)
        assert_int_equal(bf_state_absorb_expression(s, e, d->given_arrays), BF_OK);
    assert_int_equal(bf_state_result(s, NULL, &v), BF_OK);
    bf_value_format(&v, found);
    mpz_t sum, a, b;
    mpz_inits(sum, a, b, NULL);
    for (int64_t i = 0; i < d->n; i++) {
        get_number(d, 4, i, b);
        get_number(d, 0, i, a);
        mpz_fdiv_r_ui(b, b, 7);
        mpz_mul(a, a, b);
        mpz_mul_ui(a, a, 100);
        get_number(d, 5, i, b);
        mpz_sub(a, a, b);
        mpz_addmul_ui(sum, a, 2);
    }
    char expected[120];
    mpz_t rest;
    mpz_init(rest);
    mpz_tdiv_qr_ui(sum, rest, sum, 100);
    gmp_snprintf(expected, sizeof expected, "%s%Zd.%02ld",
                 mpz_sgn(sum) == 0 && mpz_sgn(rest) < 0 ? "-" : "", sum, labs(mpz_get_si(rest)));
    mpz_clears(sum, a, b, rest, NULL);
    for (char *end = expected + strlen(expected); end[-1] == '0'; end--) end[-1] = '\0';
    assert_string_equal(found, expected);
}

TEST(results_are_reduced) {
    static data d;
    uint64_t seed = 9;
    fill_data(&d, ROWS, 110, false, &seed);
    on_every_context(sum_results, &d);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static const char *status_of(bf_context *context, const char *text,
                             const bf_expression_options *options) {
    static const wide a[] = {5}, c[] = {7000};
    static const int64_t b[] = {3}, x[] = {250};
    static const uint64_t u[] = {UINT64_MAX};
    static const int16_t s[] = {-1};
    const void *const all[COLUMNS] = {a, b, c, u, s, x};
    bf_array arrays[COLUMNS];
    const bf_array *given[COLUMNS];
    wide room = 0;
    bf_expression *e = NULL;
    for (int k = 0; k < COLUMNS; k++) {
        arrays[k] = bf_array_of(dtypes[k], all[k], 1);
        given[k] = &arrays[k];
    }
    bf_status st = bf_expression_parse(context, text, names, dtypes, COLUMNS, options, NULL, &e);
    const bf_array out = bf_array_of(bf_expression_dtype(e), &room, 1);
    if (st == BF_OK) st = bf_expression_eval(e, given, &out);
    bf_expression_destroy(e);
    return st == BF_OK ? "done" : bf_context_message(context);
}

TEST(limits) {
    const bf_expression_options options[] = {
        BF_EXPRESSION_OPTIONS(.scales = scales, .wide = 1),
        BF_EXPRESSION_OPTIONS(.scales = scales),
        BF_EXPRESSION_OPTIONS(.overflow = BF_OVERFLOW_ERROR),
    };
    static const struct {
        int options;
        const char *text, *message;
    } cases[] = {
        {0, "b + 99999999999999999999999999999999999999",
         "character 3: the result at index 0 is beyond 38 digits"},
        {0, "b + 100000000000000000000000000000000000000",
         "character 5: the number is beyond 38 digits"},
        {0, "x**20", "character 2: the result has 40 digits behind the point, more than 38"},
        {0, "b < 9 ? b : 10**64", "done"},
        {0, "b > 9 ? b : 10**64", "character 15: the number is beyond 38 digits at index 0"},
        {0, "b % (s + 1)", "character 3: integer division by zero at index 0"},
        {0, "b > 9 ? b % (s + 1) : u - b", "done"},
        {0, "1e-20", "done"},
        {1, "u + b", "done"},
        {1, "b + 20000000000000000001",
         "character 3: the number 20000000000000000001 does not fit i64"},
        {1, "b < 20000000000000000001.0", "done"},
        {1, "a == 20000000000000000001", "done"},
        {1, "20000000000000000001", "character 1: the result is beyond 64 bits"},
        {2, "u + b", "character 3: i64 and u64 have no common dtype: cast one of them"},
        {2, "a * 1e38 / 2", "done"}, /* floats */
        {2, "a + u * 2", "character 7: the result at index 0 does not fit u64"},
        {2, "a || c ? !a : isnull(a)", "done"},
    };
    OWN(bf_context) *context = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = status_of(context, cases[i].text, &options[cases[i].options]);
        if (strcmp(found, cases[i].message) != 0) fail_msg("%s: %s", cases[i].text, found);
    }
}

/* The other policies: modulo 2^128, and the nearest of 38 digits. */
TEST(policies) {
    const wide nines = (wide)10000000000000000000u * 10000000000000000000u - 1;
    wide a[] = {nines, -nines, 3}, results[3];
    const bf_array x = bf_array_of(BF_I128, a, 3), out = bf_array_of(BF_I128, results, 3);
    const bf_array *const given[] = {&x};
    OWN(bf_context) *context = make_context(NULL, 1);
    for (int k = 0; k < 2; k++) {
        const bf_expression_options options =
            BF_EXPRESSION_OPTIONS(.overflow = k ? BF_OVERFLOW_SATURATE : BF_OVERFLOW_WRAP);
        OWN(bf_expression) *e = NULL;
        assert_int_equal(
            bf_expression_parse(context, "a * a * a", names, dtypes, 1, &options, NULL, &e), BF_OK);
        assert_int_equal(bf_expression_eval(e, given, &out), BF_OK);
        for (int i = 0; i < 3; i++) {
            const unsigned __int128 y = (unsigned __int128)a[i];
            assert_true(results[i] == (i == 2 ? 27 : k ? a[i] : (wide)(y * y * y)));
        }
    }
}

/* Strides, and an output that is an input. */
TEST(in_place) {
    wide a[4] = {1, 2, 3, 4}, reversed[4];
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_expression) *e = parse_wide(context, "a * 10000000000000000000 + a");
    bf_array x = bf_array_of(BF_I128, a + 3, 4), out = bf_array_of(BF_I128, reversed, 4);
    const bf_array *given[COLUMNS] = {&x};
    x.strides[0] = -1;
    assert_int_equal(bf_expression_eval(e, given, &out), BF_OK);
    x = bf_array_of(BF_I128, a, 4);
    assert_int_equal(bf_expression_eval(e, given, &x), BF_OK);
    for (int i = 0; i < 4; i++) {
        const wide expected = (wide)(i + 1) * 10000000000000000000u + i + 1;
        assert_true(a[i] == expected && reversed[3 - i] == expected);
    }
    const bf_array late = bf_array_of(BF_I128, a + 1, 3), early = bf_array_of(BF_I128, a, 3);
    given[0] = &early;
    assert_int_equal(bf_expression_eval(e, given, &late), BF_E_ARGUMENT);
}

UNIT_TESTS(expression_wide, NULL, NULL)
