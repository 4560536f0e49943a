#include "table/computed.h"

#include "runtime/report.h"
#include "sheet/output.h"
#include "table/loading.h"
#include "text/typed.h"
#include "work/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns --------------------------------------------------------------------------------- */

/* The dtype that holds what both sides have. */
static bf_dtype common_dtype(bf_dtype a, bf_dtype b, bool same_scale) {
    if (a == b && same_scale) return a;
    if (a == BF_NONE || b == BF_NONE) return BF_NONE;
    return units_are_integers(a) && units_are_integers(b) ? BF_I128 : BF_F64;
}

/* False: times of one side are none on the other. */
static bool find_dtype(const join_tables *t, computed_column *c, bf_expression_name_kind kind) {
    bool some = false, alike = true;
    for (int s = 0; s < SIDES; s++) {
        if (c->shown->fields[s] < 0) continue;
        const rows *r = &t->sides[s];
        const int column = join_tables_column(t, s, c->shown->fields[s], kind == BF_NAME_NUMBER);
        c->columns[s] = column;
        const bf_dtype dtype = kind == BF_NAME_STRING ? BF_NONE : rows_dtype(r, column);
        c->scales[s] = rows_scale(r, column);
        if (!some) c->form.time = rows_meets(r, column);
        alike = units_join_times(&c->form.time, rows_meets(r, column));
        c->form.dtype =
            some ? common_dtype(c->form.dtype, dtype, c->form.scale == c->scales[s]) : dtype;
        if (c->scales[s] > c->form.scale) c->form.scale = c->scales[s];
        some = true;
    }
    if (!units_are_integers(c->form.dtype)) c->form.scale = 0;
    return alike;
}

int join_computed_open(join_computed *x, const struct join_tables *t, const char *option,
                       const join_expression *e) {
    formula *const f = &x->formula;
    x->tables = t;
    f->context = t->context;
    f->options = t->options;
    f->option = option;
    f->text = e->text;
    x->columns = calloc((size_t)e->count + 1, sizeof *x->columns);
    if (!x->columns) return fail_memory(NULL);
    x->count = e->count;
    int code = formula_open(f, x->count);
    for (int k = 0; k < x->count && code == EXIT_DONE; k++) {
        computed_column *c = &x->columns[k];
        c->shown = &e->columns[k];
        if (!find_dtype(t, c, e->kinds[k]))
            return fail(EXIT_DATA, NULL, "%s: '%s' is a time on one side, and not on the other",
                        option, c->shown->name);
        f->names[k] = c->shown->name;
        f->dtypes[k] = c->form.dtype;
        f->scales[k] = c->form.scale;
        f->times[k] = (unsigned char)c->form.time;
    }
    return code == EXIT_DONE ? formula_parse(f) : code;
}

void join_computed_close(join_computed *x) {
    for (int k = 0; k < x->count; k++) column_memory_free(&x->columns[k].memory);
    free(x->columns);
    formula_close(&x->formula);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The columns of both sides that one of the condition has, and the rows. */
typedef struct gathering {
    computed_column *column;
    bool typed;                    /* strings are those of text/typed.h */
    const char *option;            /* the one that has the expression */
    const rows_view *views[SIDES]; /* NULL: nothing of that side */
    int64_t *const *of;
    int64_t n;
} gathering;

/* The side that has the value of pair i, and its row; NULL: it is NULL. */
static const rows_view *find_value(const gathering *g, int64_t i, int *side, int64_t *row) {
    for (int k = 0; k < SIDES; k++) {
        const int s = k == 0 ? g->column->shown->first : !g->column->shown->first;
        *row = g->of[s] ? g->of[s][i] : -1;
        *side = s;
        if (!g->views[s] || *row < 0) continue;
        const bf_column *c = &g->views[s]->column;
        return !c->valid || text_has_bit(c->valid, c->first + *row) ? g->views[s] : NULL;
    }
    return NULL;
}

/* Writes a number in the dtype and the scale of the condition's column. False: it has too many
 * digits for them. */
static bool put_number(const computed_column *c, int side, const bf_array *a, int64_t row,
                       char *to) {
    const size_t bytes = bf_dtype_size(c->form.dtype);
    if (a->dtype == c->form.dtype && c->form.scale == c->scales[side]) {
        memcpy(to, (const char *)a->data + (size_t)row * bytes, bytes);
    } else if (c->form.dtype == BF_F64) {
        const bf_value v = output_element(a->dtype, c->scales[side], a->data, row);
        const double x = bf_value_f64(&v);
        memcpy(to, &x, sizeof x);
    } else {
        const text_i128 power = text_power_of_ten(c->form.scale - c->scales[side]);
        text_i128 x = units_at(a->dtype, a->data, row);
        if (__builtin_mul_overflow(x, power, &x)) return false;
        memcpy(to, &x, sizeof x);
    }
    return true;
}

static int gather_numbers(const gathering *g) {
    computed_column *c = g->column;
    const size_t bytes = bf_dtype_size(c->form.dtype);
    char *const to = buffer_take(&c->memory.numbers, (size_t)g->n * bytes);
    if (!to) return fail_memory(NULL);
    memset(to, 0, (size_t)g->n * bytes);
    for (int64_t i = 0; i < g->n; i++) {
        int64_t row;
        int side;
        const rows_view *v = find_value(g, i, &side, &row);
        if (!v) text_clear_bit((uint8_t *)c->memory.valid.at, i);
        if (!v || put_number(c, side, &v->numbers, row, to + (size_t)i * bytes)) continue;
        fail(EXIT_DATA, NULL, "%s: 38 digits do not hold all of '%s' with %d behind the point",
             g->option, c->shown->name, c->form.scale);
        hint("%s", rows_as_doubles);
        return EXIT_DATA;
    }
    c->view.numbers = bf_array_of(c->form.dtype, to, g->n);
    c->view.column.numbers = &c->view.numbers;
    return EXIT_DONE;
}

/* The text of a value; of one that is no string, as it is shown, in `room`. */
static const char *string_at(const gathering *g, const bf_strings *s, int64_t row,
                             char room[BF_VALUE_TEXT], int64_t *length) {
    const int64_t *const offsets = (const int64_t *)s->offsets + row;
    const char *const at = s->bytes + offsets[0];
    *length = offsets[1] - offsets[0];
    if (!g->typed) return at;
    const typed_value v = typed_take(at, (size_t)*length);
    if (v.kind == TYPED_NUMBER)
        bf_value_format(&v.number, room);
    else
        strcpy(room, v.truth ? "true" : "false");
    *length = v.kind == TYPED_STRING ? (int64_t)v.length : (int64_t)strlen(room);
    return v.kind == TYPED_STRING ? v.at : room;
}

static int gather_strings(const gathering *g) {
    computed_column *c = g->column;
    int64_t *offsets = buffer_take(&c->memory.offsets, (size_t)(g->n + 1) * sizeof *offsets), row;
    char room[BF_VALUE_TEXT];
    int side;
    if (!offsets) return fail_memory(NULL);
    offsets[0] = 0;
    for (int64_t i = 0; i < g->n; i++) {
        const rows_view *v = find_value(g, i, &side, &row);
        int64_t length = 0;
        if (v) string_at(g, &v->strings, row, room, &length);
        if (!v) text_clear_bit((uint8_t *)c->memory.valid.at, i);
        offsets[i + 1] = offsets[i] + length;
    }
    char *const to = buffer_take(&c->memory.bytes, (size_t)offsets[g->n]);
    if (!to) return fail_memory(NULL);
    for (int64_t i = 0; i < g->n; i++) {
        int64_t length;
        if (offsets[i] == offsets[i + 1]) continue;
        const rows_view *v = find_value(g, i, &side, &row);
        const char *from = string_at(g, &v->strings, row, room, &length);
        memcpy(to + offsets[i], from, (size_t)length);
    }
    c->view.strings = (bf_strings){sizeof(bf_strings), g->n, BF_I64, offsets, to};
    c->view.column.strings = &c->view.strings;
    return EXIT_DONE;
}

static int gather(const join_computed *x, computed_column *c, const computed_from *from,
                  int64_t *const of[SIDES], int64_t n) {
    gathering g = {.column = c,
                   .option = x->formula.option,
                   .typed = join_tables_typed(x->tables),
                   .of = of,
                   .n = n};
    uint8_t *const valid = buffer_take(&c->memory.valid, (size_t)n / 8 + 1);
    if (!valid) return fail_memory(NULL);
    memset(valid, 0xff, (size_t)n / 8 + 1);
    for (int s = 0; s < SIDES; s++)
        if (c->shown->fields[s] >= 0) g.views[s] = from->look(from->arg, s, c->columns[s]);
    c->view.column = (bf_column){.size = sizeof(bf_column), .valid = valid};
    return (c->form.dtype == BF_NONE ? gather_strings : gather_numbers)(&g);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Names the row of A, or if there is none, that of B. */
static int refuse_pair(const formula *x, const computed_from *from, int64_t *const of[SIDES],
                       bf_status st) {
    const char *const message = bf_context_message(x->context), *behind;
    int64_t i;
    const char *const at = find_index(message, &i, &behind);
    if (!at || (st != BF_E_ARGUMENT && st != BF_E_OVERFLOW))
        return fail_status(st, x->context, NULL);
    const int side = of[SIDE_A] && of[SIDE_A][i] >= 0 ? SIDE_A : SIDE_B;
    const int64_t row = of[side][i], *const numbers = from->numbers[side];
    fail(EXIT_DATA, x->options->files[side], "%s: %.100s: %.*s in row %" PRId64 "%s", x->option,
         x->text, (int)(at - message), message, (numbers ? numbers[row] : row) + 1, behind);
    if (st == BF_E_OVERFLOW) hint("%s", rows_as_doubles);
    return EXIT_DATA;
}

int join_computed_results(join_computed *x, const computed_from *from, int64_t *const of[SIDES],
                          int64_t n, formula_results *out) {
    const bf_column *columns[BF_EXPRESSION_NAMES_MAX] = {NULL};
    bf_status st = BF_OK;
    int code = EXIT_DONE;
    for (int k = 0; k < x->count && code == EXIT_DONE; k++) {
        code = gather(x, &x->columns[k], from, of, n);
        columns[k] = &x->columns[k].view.column;
    }
    if (code == EXIT_DONE) code = formula_compute(&x->formula, columns, n, out, &st);
    return code == EXIT_DONE && st != BF_OK ? refuse_pair(&x->formula, from, of, st) : code;
}
