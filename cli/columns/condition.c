#define _GNU_SOURCE /* strdup */
#include "columns/condition.h"

#include "expression/formula.h"
#include "expression/names.h"
#include "memory/pick.h"
#include "options/context.h"
#include "work/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct condition {
    struct rows_condition of_rows; /* comes first: rows know this alone */
    const options *options;
    bf_context *context;
    spool_limit limit;
    char *numbers, *strings, *either; /* the columns that it names */
};

/* What leaves rows of one input out. */
struct rows_filter {
    condition *of;
    formula formula;
    rows_view *views; /* all columns */
    const bf_column **columns;
    column_memory *kept; /* what is left of each */
    buffer places;
    bool settled; /* all rows were read once: no column becomes another */
};

/* ---- the filter of one input ----------------------------------------------------------------- */

static struct rows_filter *open_filter(const struct rows_condition *c) {
    struct rows_filter *f = calloc(1, sizeof *f);
    if (f) f->of = (condition *)(uintptr_t)c;
    return f;
}

static void close_filter(struct rows_filter *f) {
    for (int k = 0; f->kept && k < f->formula.count; k++) column_memory_free(&f->kept[k]);
    for (int k = 0; f->formula.names && k < f->formula.count; k++)
        free((char *)(uintptr_t)f->formula.names[k]);
    formula_close(&f->formula);
    buffer_free(&f->places);
    free(f->views);
    free(f->columns);
    free(f->kept);
    free(f);
}

/* The condition means those of the reader's columns that it asked for. */
static char *name_of(const rows *r, int k) {
    const text_layout *l = &r->source.text->layout;
    return l->uses[r->place[k]] & TEXT_CONDITION ? rows_header_name(r, k) : strdup("");
}

static bool prepare(struct rows_filter *f, const rows *r) {
    const size_t n = (size_t)r->held;
    formula *x = &f->formula;
    *x = (formula){.context = f->of->context,
                   .options = f->of->options,
                   .file = r->source.name,
                   .option = "--where",
                   .text = f->of->options->where};
    f->views = calloc(n, sizeof *f->views);
    f->columns = calloc(n, sizeof *f->columns);
    f->kept = calloc(n, sizeof *f->kept);
    bool good = f->views && f->columns && f->kept && formula_open(x, r->held) == EXIT_DONE;
    for (int k = 0; k < r->held && good; k++) good = (x->names[k] = name_of(r, k)) != NULL;
    return good;
}

/* Once more rows were read than there are at hand, no column becomes another. */
static int settle_first(struct rows_filter *f, rows *r) {
    f->settled = true;
    const int code = rows_read_all(r);
    return code == EXIT_DONE ? ROWS_RESETTLED : code;
}

static bool may_resettle(const struct rows_filter *f, const rows *r) {
    return !f->settled && rows_may_resettle(r);
}

/* Parses the condition, unless it was parsed for what the columns are now. */
static int parse(struct rows_filter *f, rows *r) {
    formula *x = &f->formula;
    if (!f->kept && !prepare(f, r)) return fail_memory(r->source.name);
    bool same = x->parsed != NULL;
    for (int k = 0; k < r->held; k++) {
        const units_form before = {x->dtypes[k], x->scales[k], (bf_time_kind)x->times[k]},
                         now = {rows_dtype(r, k), rows_scale(r, k), rows_meets(r, k)};
        same = same && units_are_same(now, before);
        x->dtypes[k] = now.dtype;
        x->scales[k] = now.scale;
        x->times[k] = (unsigned char)now.time;
    }
    if (same) return EXIT_DONE;
    x->patient = may_resettle(f, r);
    const int code = formula_parse(x);
    if (code == ROWS_RESETTLED) return settle_first(f, r);
    return code == EXIT_DONE ? formula_check_condition(x) : code;
}

static int evaluate(struct rows_filter *f, rows *r, const rows_chunk *chunk, formula_results *met) {
    bf_status st = BF_OK;
    for (int k = 0; k < r->held; k++) {
        rows_look(r, chunk, k, &f->views[k]);
        f->columns[k] = formula_uses(&f->formula, k) ? &f->views[k].column : NULL;
    }
    const int code = formula_compute(&f->formula, f->columns, chunk->n, met, &st);
    if (code == ROWS_RESETTLED || (st == BF_E_OVERFLOW && may_resettle(f, r)))
        return settle_first(f, r);
    if (code != EXIT_DONE || st == BF_OK) return code;
    return rows_refuse_result(r, f->formula.text, st, f->of->context);
}

/* ---- the rows that are kept ------------------------------------------------------------------ */

static bool pick_strings(column_memory *to, rows_column *c, const int64_t *places, int64_t n) {
    const int64_t *from = c->strings.offsets;
    int64_t all = 0;
    for (int64_t i = 0; i < n; i++) all += from[places[i] + 1] - from[places[i]];
    int64_t *offsets = buffer_take(&to->offsets, (size_t)(n + 1) * sizeof *offsets);
    char *bytes = buffer_take(&to->bytes, (size_t)all);
    if (!offsets || !bytes) return false;
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = from[places[i]], size = from[places[i] + 1] - at;
        memcpy(bytes + offsets[i], c->strings.bytes + at, (size_t)size);
        offsets[i + 1] = offsets[i] + size;
    }
    c->strings = (bf_strings){sizeof(bf_strings), n, BF_I64, offsets, bytes};
    return true;
}

/* A settled column is held in one form. */
static bool pick_numbers(column_memory *to, rows_column *c, bf_dtype dtype, const int64_t *places,
                         int64_t n) {
    const int i = __builtin_ctz(c->can);
    void *numbers = buffer_take(&to->numbers, (size_t)n * bf_dtype_size(dtype));
    if (!numbers) return false;
    pick_elements(numbers, c->as[i], bf_dtype_size(dtype), places, n);
    memset(c->as, 0, sizeof c->as);
    c->as[i] = numbers;
    return true;
}

static bool pick_valid(column_memory *to, rows_column *c, const int64_t *places, int64_t n) {
    uint8_t *bits = buffer_take(&to->valid, (size_t)n / 8 + 1);
    if (!bits) return false;
    memset(bits, 0xff, (size_t)n / 8 + 1);
    bool some = false;
    for (int64_t i = 0; i < n; i++) {
        if (text_has_bit(c->valid, c->first + places[i])) continue;
        text_clear_bit(bits, i);
        some = true;
    }
    c->valid = some ? bits : NULL;
    c->first = 0;
    return true;
}

static bool pick_column(struct rows_filter *f, rows *r, int k, int64_t n) {
    rows_column *c = &r->shown[k];
    column_memory *to = &f->kept[k];
    const bf_dtype dtype = rows_dtype(r, k);
    const int64_t *places = (const int64_t *)f->places.at;
    if (dtype != BF_NONE && !pick_numbers(to, c, dtype, places, n)) return false;
    if (c->strings.offsets && !pick_strings(to, c, places, n)) return false;
    return !c->valid || pick_valid(to, c, places, n);
}

/* The rows for which a condition is met; -1: there is no memory. */
static int64_t find_places(struct rows_filter *f, const bf_array *met) {
    const int64_t all = met->shape[0];
    const uint8_t *is = met->data;
    int64_t n = 0, *places = buffer_take(&f->places, (size_t)all * sizeof *places);
    for (int64_t i = 0; places && i < all; i++) {
        places[n] = i;
        n += is[i];
    }
    return places ? n : -1;
}

static int refuse_null(rows *r, int column, int64_t row) {
    char which[80], what[120];
    text_which(which, &r->source.text->layout, r->place[column]);
    snprintf(what, sizeof what, "%sno number: it is NULL", which);
    return rows_refuse(r, row, what, "--null-policy skip leaves such fields out of a value");
}

/* The reader leaves it to the condition to refuse NULLs of rows that meet it. */
static int check_nulls(rows *r, int64_t n) {
    const text_layout *l = &r->source.text->layout;
    for (int k = 0; k < r->columns && !l->judged; k++) {
        const rows_column *c = &r->shown[k];
        const bool numbers = l->kinds[r->place[k]] & TEXT_NUMBERS;
        const bool nulls = numbers && c->valid && text_has_null(c->valid, c->first, n);
        for (int64_t i = 0; nulls && i < n; i++)
            if (!text_has_bit(c->valid, c->first + i)) return refuse_null(r, k, i);
    }
    return EXIT_DONE;
}

static int keep_rows(struct rows_filter *f, rows *r, rows_chunk *chunk) {
    formula_results met;
    int code = parse(f, r);
    if (code == EXIT_DONE) code = evaluate(f, r, chunk, &met);
    if (code != EXIT_DONE) return code;
    const int64_t n = find_places(f, &met.numbers);
    bool good = n >= 0;
    for (int k = 0; k < r->columns && good && n < chunk->n; k++) good = pick_column(f, r, k, n);
    if (!good) return fail_memory(r->source.name);
    r->picked = n < chunk->n ? (const int64_t *)f->places.at : NULL;
    chunk->n = n;
    return check_nulls(r, n);
}

/* ---- the condition of a command -------------------------------------------------------------- */

static char *list_of(const expression_names *n, bf_expression_name_kind kind, const char **list) {
    char *const names = names_list(n, kind);
    *list = names && *names ? names : NULL;
    return names;
}

static int find_columns(condition *c) {
    expression_names n;
    text_condition *const columns = &c->of_rows.columns;
    int code = names_open(&n, c->context, "--where", c->options->where);
    if (code == EXIT_DONE && n.count == 0) {
        code = fail(EXIT_USAGE, NULL, "--where: '%s' names no column", c->options->where);
    } else if (code == EXIT_DONE) {
        c->numbers = list_of(&n, BF_NAME_NUMBER, &columns->numbers);
        c->strings = list_of(&n, BF_NAME_STRING, &columns->strings);
        c->either = list_of(&n, BF_NAME_EITHER, &columns->either);
        if (!c->numbers || !c->strings || !c->either) code = fail_memory(NULL);
    }
    names_close(&n);
    return code;
}

int condition_open(condition **made, options *o) {
    *made = NULL;
    if (!o->where) return EXIT_DONE;
    condition *c = *made = calloc(1, sizeof *c);
    if (!c) return fail_memory(NULL);
    c->options = o;
    c->of_rows = (struct rows_condition){
        .keep = &c->limit, .open = open_filter, .keep_rows = keep_rows, .close = close_filter};
    spool_limit_set(&c->limit, o->memory.pipes);
    int code = context_open(&c->context, o);
    if (code == EXIT_DONE) code = find_columns(c);
    o->input.condition = &c->of_rows;
    return code;
}

void condition_close(condition *c) {
    if (!c) return;
    bf_context_destroy(c->context);
    free(c->numbers);
    free(c->strings);
    free(c->either);
    free(c);
}
