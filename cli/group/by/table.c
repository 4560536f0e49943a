#include "group/by/table.h"

#include "container/member.h"
#include "runtime/output.h"
#include "work/ranks.h"
#include "work/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int no_memory(const table *t) {
    return fail_status(BF_E_MEMORY, NULL, t->input->source.name);
}

/* ---- opening --------------------------------------------------------------------------------- */

int table_make(table *t, const options *o) {
    *t = (table){.files = o->file_count};
    t->inputs = calloc((size_t)t->files, sizeof *t->inputs);
    for (int i = 0; t->inputs && i < t->files; i++) t->inputs[i].source.fd = -1;
    t->input = t->inputs;
    return t->inputs ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, NULL);
}

/* The column of the reader that holds a field, as a key or as a value. */
static int column_of(const table *t, int field, bool value) {
    const text_layout *l = &t->input->source.text->layout;
    int k = 0;
    while (l->fields[k] != field) k++;
    return value && text_layout_repeats(l, k + 1) ? k + 1 : k;
}

static int note_columns(table *t) {
    const asked *a = t->asked;
    const text_layout *l = &t->input->source.text->layout;
    t->count = t->input->columns;
    t->typed = l->typed == TEXT_TYPED;
    t->columns = calloc((size_t)t->count, sizeof *t->columns);
    if (!t->columns) return no_memory(t);
    for (int k = 0; k < t->count; k++) {
        table_column *c = &t->columns[k];
        *c = (table_column){.name = rows_header_name(t->input, k),
                            .at = k,
                            .repeats = k > 0 && text_layout_repeats(l, k),
                            .kind = rows_kind_of(t->input, k)};
        if (!c->name) return no_memory(t);
    }
    for (int i = 0; i < a->keys; i++) t->key_columns[i] = column_of(t, a->key_fields[i], false);
    for (int i = 0; i < a->values; i++)
        t->values[i].column = a->value[i].field < 0 ? -1 : column_of(t, a->value[i].field, true);
    return EXIT_DONE;
}

/* With a condition, rows whose values are NULL may be left out: so the reader may not refuse them.
 */
static int open_rows(table *t) {
    const options *o = t->asked->options;
    const rows_options how = {.threads = o->threads,
                              .settled = true,
                              .digits = BF_SCALE_MOST_I128,
                              .keep = &t->limit,
                              .memory = o->memory.input,
                              .nulls = true};
    input in = o->input;
    in.text.chooser = &t->asked->chooser;
    const int code = rows_open(t->input, o->files[t->input - t->inputs], &in, &how);
    rows *const inputs[] = {t->input};
    return code == EXIT_DONE ? share_rows(inputs, 1, NULL) : code;
}

int table_open(table *t, asked *a, bf_context *context) {
    t->asked = a;
    t->context = context;
    spool_limit_set(&t->limit, a->options->memory.pipes);
    const int code = open_rows(t);
    return code == EXIT_DONE ? note_columns(t) : code;
}

int table_take(table *t, asked *a, bf_context *context) {
    t->asked = a;
    t->context = context;
    return note_columns(t);
}

void table_close(table *t) {
    for (int k = 0; t->columns && k < t->count; k++) {
        table_column *c = &t->columns[k];
        free(c->name);
        free(c->numbers.at);
        free(c->offsets.at);
        free(c->bytes.at);
        free(c->valid.at);
    }
    free(t->columns);
    for (int i = 0; i < OPTIONS_AGGREGATES; i++) {
        formula_close(&t->values[i].formula);
        free(t->values[i].numbers.at);
        free(t->values[i].bytes.at);
    }
    formula_close(&t->where);
    free(t->places.at);
    for (int i = 0; t->inputs && i < t->files; i++) rows_close(&t->inputs[i]);
    free(t->inputs);
}

/* ---- several files --------------------------------------------------------------------------- */

/* The column of the present file that column k of the first one is; -1: there is none. */
static int find_column(const table *t, int k) {
    const text_layout *l = &t->input->source.text->layout;
    for (int i = 0; i < t->input->columns; i++) {
        char *name = rows_header_name(t->input, i);
        const bool same = name && strcmp(name, t->columns[k].name) == 0 &&
                          (i > 0 && text_layout_repeats(l, i)) == t->columns[k].repeats;
        free(name);
        if (same) return i;
    }
    return -1;
}

static int match_columns(table *t) {
    if ((t->input->source.text->layout.typed == TEXT_TYPED) != t->typed)
        return fail(EXIT_DATA, t->input->source.name, "JSON lines and other text are no one table");
    for (int k = 0; k < t->count; k++)
        if ((t->columns[k].at = find_column(t, k)) < 0)
            return fail(EXIT_DATA, t->input->source.name, "it has no column %s as %s has",
                        t->columns[k].name, t->inputs->source.name);
    return EXIT_DONE;
}

/* Rules out what the columns cannot be in the files so far. *changed: a column of those that were
 * read is another than it was taken for. */
static int settle_columns(table *t, bool *changed) {
    for (int k = 0; k < t->count; k++) {
        table_column *c = &t->columns[k];
        const rows_kind here = rows_kind_of(t->input, c->at);
        c->kind.can &= here.can;
        if (here.scale > c->kind.scale) c->kind.scale = here.scale;
        if (c->kind.can == 0)
            return fail(EXIT_DATA, t->input->source.name,
                        "column %s: no dtype holds what it and files before it have", c->name);
        rows_set_kind(t->input, c->at, c->kind);
        *changed |=
            c->dtype != rows_dtype(t->input, c->at) || c->scale != rows_scale(t->input, c->at);
    }
    return EXIT_DONE;
}

/* The first file stays open, for its name and columns, and what cannot be read twice. */
static void leave_file(const table *t) {
    if (t->input > t->inputs && !t->input->source.stream) rows_close(t->input);
}

/* Goes to file number i, and to its first row. */
static int enter_file(table *t, int i, bool *changed) {
    int code = settle_columns(t, changed);
    leave_file(t);
    t->input = &t->inputs[i];
    if (code == EXIT_DONE && t->input->columns > 0)
        rows_again(t->input);
    else if (code == EXIT_DONE)
        code = open_rows(t);
    if (code == EXIT_DONE) code = match_columns(t);
    return code == EXIT_DONE ? settle_columns(t, changed) : code;
}

/* ROWS_RESETTLED: what was taken of files before does not count. */
static int next_file(table *t) {
    bool changed = false;
    const int code = enter_file(t, (int)(t->input - t->inputs) + 1, &changed);
    return code == EXIT_DONE && changed ? ROWS_RESETTLED : code;
}

int64_t table_bytes(const table *t) {
    struct stat st;
    int64_t bytes = 0;
    if (t->files == 1) return rows_bytes(t->inputs);
    for (int i = 0; i < t->files && bytes >= 0; i++) {
        const char *name = t->asked->options->files[i];
        const bool known = member_stat(name, &st) && S_ISREG(st.st_mode);
        bytes = known ? bytes + (int64_t)st.st_size : -1;
    }
    return bytes;
}

int table_again(table *t) {
    bool changed = false;
    t->behind = 0;
    return enter_file(t, 0, &changed);
}

int table_settle_ranks(table *t, bool *changed) {
    *changed = false;
    const int code = settle_columns(t, changed);
    rows_kind *kinds = ranks_allocate((size_t)t->count * sizeof *kinds);
    for (int k = 0; k < t->count; k++) kinds[k] = t->columns[k].kind;
    work_settle_kinds(kinds, t->count);
    for (int k = 0; k < t->count; k++) t->columns[k].kind = kinds[k];
    free(kinds);
    return ranks_agree(code == EXIT_DONE ? settle_columns(t, changed) : code);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

void table_put_place(checkpoint_writer *to, const table *t) {
    checkpoint_put_number(to, t->input - t->inputs);
    checkpoint_put_number(to, t->settled);
    for (int k = 0; k < t->count; k++) {
        checkpoint_put_number(to, t->columns[k].kind.can);
        checkpoint_put_number(to, t->columns[k].kind.scale);
    }
    work_put_place(to, t->input);
}

bool table_take_place(checkpoint_reader *from, table *t) {
    bool changed;
    const int file = (int)checkpoint_number(from, 0, t->files - 1);
    t->settled = checkpoint_number(from, 0, 1);
    for (int k = 0; k < t->count; k++) {
        t->columns[k].kind.can = (unsigned)checkpoint_number(from, 1, 255);
        t->columns[k].kind.scale = (unsigned char)checkpoint_number(from, 0, BF_SCALE_MOST_I128);
    }
    return !from->bad && enter_file(t, file, &changed) == EXIT_DONE &&
           work_take_place(from, t->input);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool may_resettle(const table *t) { return !t->settled && rows_may_resettle(t->input); }

/* Columns may still turn out to be others, of which an expression holds. */
static int settle_first(table *t) {
    bool changed = false;
    t->settled = true;
    int code = rows_read_all(t->input);
    while (code == EXIT_DONE && t->input < t->inputs + t->files - 1) {
        code = enter_file(t, (int)(t->input - t->inputs) + 1, &changed);
        if (code == EXIT_DONE) code = rows_read_all(t->input);
    }
    return code == EXIT_DONE ? ROWS_RESETTLED : code;
}

/* Hides the name of one of two columns of a field: the one that the text does not mean. That is the
 * column of strings, unless it is compared with some. A text that is wrong is left to its parser.
 */
static int hide_names(const table *t, formula *x) {
    unsigned char kinds[BF_EXPRESSION_NAMES_MAX];
    int count = 0;
    char *const names = malloc(strlen(x->text) + 1);
    if (!names) return no_memory(t);
    if (bf_expression_names(t->context, x->text, names, kinds, &count, NULL) != BF_OK) count = 0;
    for (int k = 1; k < t->count; k++) {
        if (!t->columns[k].repeats) continue;
        const char *name = names;
        int i = 0;
        for (; i < count && strcmp(name, t->columns[k].name) != 0; i++) name += strlen(name) + 1;
        x->names[i < count && kinds[i] == BF_NAME_STRING ? k : k - 1] = "";
    }
    free(names);
    return EXIT_DONE;
}

static int parse(table *t, formula *x, const char *option, const char *text) {
    int code = EXIT_DONE;
    x->context = t->context;
    x->options = t->asked->options;
    x->file = t->input->source.name;
    x->option = option;
    x->text = text;
    if (!x->names) code = formula_open(x, t->count);
    for (int k = 0; k < t->count && code == EXIT_DONE; k++) {
        x->names[k] = t->columns[k].name;
        x->dtypes[k] = t->columns[k].dtype;
        x->scales[k] = t->columns[k].scale;
    }
    if (code == EXIT_DONE) code = hide_names(t, x);
    x->patient = may_resettle(t);
    if (code == EXIT_DONE) code = formula_parse(x);
    return code == ROWS_RESETTLED ? settle_first(t) : code;
}

/* Keeps the option that asks for value i. */
static const char *option_of(table *t, int i) {
    const asked *a = t->asked;
    char *const option = t->values[i].option;
    int r = 0;
    while (a->result[r].value != i) r++;
    snprintf(option, sizeof t->values[i].option, "--%s", a->result[r].aggregate->option);
    return option;
}

static int parse_value(table *t, int i) {
    table_value *v = &t->values[i];
    const int code = parse(t, &v->formula, option_of(t, i), t->asked->value[i].text);
    if (code != EXIT_DONE) return code;
    v->array.dtype = bf_expression_dtype(v->formula.parsed);
    v->scale = bf_expression_scale(v->formula.parsed);
    return EXIT_DONE;
}

/* Whether keys or values need a column. */
static bool passes(const table *t, int column) {
    const asked *a = t->asked;
    bool does = false;
    for (int i = 0; i < a->keys; i++) does |= t->key_columns[i] == column;
    for (int i = 0; i < a->values; i++) {
        const table_value *v = &t->values[i];
        does |= v->column == column || (v->column < 0 && formula_uses(&v->formula, column));
    }
    return does;
}

int table_begin(table *t) {
    const asked *a = t->asked;
    int code = EXIT_DONE;
    for (int k = 0; k < t->count; k++) {
        t->columns[k].dtype = rows_dtype(t->input, t->columns[k].at);
        t->columns[k].scale = rows_scale(t->input, t->columns[k].at);
    }
    if (a->options->where) {
        code = parse(t, &t->where, "--where", a->options->where);
        if (code == EXIT_DONE) code = formula_check_condition(&t->where);
    }
    for (int i = 0; i < a->values && code == EXIT_DONE; i++) {
        table_value *v = &t->values[i];
        if (v->column < 0) {
            code = parse_value(t, i);
        } else {
            v->array.dtype = t->columns[v->column].dtype;
            v->scale = t->columns[v->column].scale;
        }
    }
    for (int k = 0; k < t->count && code == EXIT_DONE; k++) t->columns[k].passes = passes(t, k);
    return code;
}

/* Computes an expression of the rows. */
static int evaluate(table *t, formula *x, bf_array *out, const uint8_t **valid) {
    const bf_column **list = malloc((size_t)t->count * sizeof *list);
    bf_status st = BF_OK;
    if (!list) return no_memory(t);
    for (int k = 0; k < t->count; k++)
        list[k] = formula_uses(x, k) ? &t->columns[k].view.column : NULL;
    int code = formula_compute(x, list, t->n, out, valid, &st);
    free(list);
    if (code == ROWS_RESETTLED || (st == BF_E_OVERFLOW && may_resettle(t))) return settle_first(t);
    if (code != EXIT_DONE || st == BF_OK) return code;
    code = source_check(&t->input->source);
    if (code != EXIT_DONE) return code;
    if (st != BF_E_ARGUMENT && st != BF_E_OVERFLOW)
        return fail_status(st, t->context, t->input->source.name);
    return rows_refuse_result(t->input, t->picked, x->text, st, bf_context_message(t->context));
}

/* ---- the condition --------------------------------------------------------------------------- */

void table_pick(void *to, const void *from, size_t bytes, const int64_t *places, int64_t n) {
    switch (bytes) {
    case 1:
        for (int64_t i = 0; i < n; i++) ((uint8_t *)to)[i] = ((const uint8_t *)from)[places[i]];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) ((uint16_t *)to)[i] = ((const uint16_t *)from)[places[i]];
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) ((uint32_t *)to)[i] = ((const uint32_t *)from)[places[i]];
        break;
    case 8:
        for (int64_t i = 0; i < n; i++) ((uint64_t *)to)[i] = ((const uint64_t *)from)[places[i]];
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)to + (size_t)i * bytes, (const char *)from + (size_t)places[i] * bytes,
                   bytes);
    }
}

static bool pick_strings(table_column *c, const int64_t *places, int64_t n) {
    const int64_t *from = c->view.strings.offsets;
    int64_t all = 0;
    for (int64_t i = 0; i < n; i++) all += from[places[i] + 1] - from[places[i]];
    int64_t *offsets = buffer_take(&c->offsets, (size_t)(n + 1) * sizeof *offsets);
    char *bytes = buffer_take(&c->bytes, (size_t)all);
    if (!offsets || !bytes) return false;
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = from[places[i]], size = from[places[i] + 1] - at;
        memcpy(bytes + offsets[i], c->view.strings.bytes + at, (size_t)size);
        offsets[i + 1] = offsets[i] + size;
    }
    c->view.strings = (bf_strings){sizeof(bf_strings), n, BF_I64, offsets, bytes};
    return true;
}

static bool pick_numbers(table_column *c, const int64_t *places, int64_t n) {
    const size_t bytes = bf_dtype_size(c->dtype);
    void *to = buffer_take(&c->numbers, (size_t)n * bytes);
    if (!to) return false;
    table_pick(to, c->view.numbers.data, bytes, places, n);
    c->view.numbers = bf_array_of(c->dtype, to, n);
    return true;
}

static bool pick_valid(table_column *c, const int64_t *places, int64_t n) {
    uint8_t *to = buffer_take(&c->valid, (size_t)n / 8 + 1);
    if (!to) return false;
    memset(to, 0xff, (size_t)n / 8 + 1);
    bool some = false;
    for (int64_t i = 0; i < n; i++) {
        if (text_has_bit(c->view.column.valid, c->view.column.first + places[i])) continue;
        text_clear_bit(to, i);
        some = true;
    }
    c->view.column.valid = some ? to : NULL;
    c->view.column.first = 0;
    return true;
}

/* Takes the rows at the places out of every column that is needed further on. */
static int pick_rows(table *t, int64_t n) {
    for (int k = 0; k < t->count; k++) {
        table_column *c = &t->columns[k];
        if (!c->passes) continue;
        const bool good = (c->dtype == BF_NONE ? pick_strings : pick_numbers)(c, t->picked, n) &&
                          (!c->view.column.valid || pick_valid(c, t->picked, n));
        if (!good) return no_memory(t);
    }
    t->n = n;
    return EXIT_DONE;
}

/* Leaves out the rows that do not meet the condition. */
static int filter_rows(table *t) {
    bf_array met;
    const uint8_t *valid;
    int code = evaluate(t, &t->where, &met, &valid);
    int64_t *places =
        code == EXIT_DONE ? buffer_take(&t->places, (size_t)t->n * sizeof *places) : NULL;
    int64_t n = 0;
    const uint8_t *is = met.data;
    for (int64_t i = 0; places && i < t->n; i++) {
        places[n] = i;
        n += is[i];
    }
    if (code == EXIT_DONE && !places) code = no_memory(t);
    t->picked = n < t->n ? places : NULL;
    return code == EXIT_DONE && t->picked ? pick_rows(t, n) : code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Whether some of n bits from `first` on is 0. */
static bool has_null(const uint8_t *bits, int64_t first, int64_t n) {
    int64_t i = first;
    const int64_t end = first + n;
    for (; i < end && i % 8 != 0; i++)
        if (!text_has_bit(bits, i)) return true;
    for (; i + 64 <= end; i += 64) {
        uint64_t word;
        memcpy(&word, bits + i / 8, sizeof word);
        if (word != UINT64_MAX) return true;
    }
    for (; i < end; i++)
        if (!text_has_bit(bits, i)) return true;
    return false;
}

static void look_at_columns(table *t, const rows_chunk *chunk) {
    t->n = chunk->n;
    for (int k = 0; k < t->count; k++) {
        bf_column *c = &t->columns[k].view.column;
        rows_look(t->input, chunk, t->columns[k].at, &t->columns[k].view);
        if (c->valid && !has_null(c->valid, c->first, t->n)) c->valid = NULL;
    }
}

/* Which values of a column are NULL, in bytes. */
static int spread_valid(table *t, table_value *v, const bf_column *c) {
    v->valid = NULL;
    if (!c->valid) return EXIT_DONE;
    uint8_t *to = buffer_take(&v->bytes, (size_t)t->n);
    if (!to) return no_memory(t);
    for (int64_t i = 0; i < t->n; i++) to[i] = text_has_bit(c->valid, c->first + i);
    v->valid = to;
    return EXIT_DONE;
}

static int refuse_null(const table *t, int i) {
    char what[200];
    const uint8_t *none = memchr(t->values[i].valid, 0, (size_t)t->n);
    const int64_t row = none - t->values[i].valid;
    snprintf(what, sizeof what, "no value of %.100s: it is NULL", t->asked->value[i].text);
    return rows_refuse(t->input, t->picked ? t->picked[row] : row, what,
                       "--null-policy skip leaves such rows out of its aggregates");
}

/* Where 64 bits hold the results no longer, the groups begin anew, with those of 128. */
static int compute_values(table *t, int i) {
    table_value *v = &t->values[i];
    const bf_dtype dtype = v->array.dtype;
    const int code = evaluate(t, &v->formula, &v->array, &v->valid);
    return code == EXIT_DONE && v->array.dtype != dtype ? ROWS_RESETTLED : code;
}

static int find_values(table *t, int i) {
    table_value *v = &t->values[i];
    int code;
    if (v->column < 0) {
        code = compute_values(t, i);
    } else {
        v->array = t->columns[v->column].view.numbers;
        code = spread_valid(t, v, &t->columns[v->column].view.column);
    }
    const bool skip = t->asked->options->input.text.skip_nulls;
    return code == EXIT_DONE && v->valid && !skip ? refuse_null(t, i) : code;
}

/* ---- some rows at once ----------------------------------------------------------------------- */

/* The column of key number i; NULL: an earlier key has the same. */
static table_column *different_key(const table *t, int i) {
    for (int k = 0; k < i; k++)
        if (t->key_columns[k] == t->key_columns[i]) return NULL;
    return &t->columns[t->key_columns[i]];
}

/* Leaves the first rows of keys out, and all behind the n that follow. */
static void show_keys(const table *t, int64_t left_out, int64_t n) {
    for (int i = 0; i < t->asked->keys; i++) {
        table_column *c = different_key(t, i);
        if (!c) continue;
        rows_view *v = &c->view;
        if (c->dtype == BF_NONE)
            v->strings.offsets = (const int64_t *)v->strings.offsets + left_out;
        else
            v->numbers.data = (char *)v->numbers.data + (size_t)left_out * bf_dtype_size(c->dtype);
        v->column.first += left_out;
        v->numbers.shape[0] = v->strings.count = n;
    }
}

static void show_values(table *t, int64_t left_out, int64_t n) {
    for (int i = 0; i < t->asked->values; i++) {
        table_value *v = &t->values[i];
        v->array.data = (char *)v->array.data + (size_t)left_out * bf_dtype_size(v->array.dtype);
        v->array.shape[0] = n;
        if (v->valid) v->valid += left_out;
    }
}

static void show_rows(table *t, int64_t left_out, int64_t all) {
    t->n = t->most > 0 && all > t->most ? t->most : all;
    t->behind = all - t->n;
    if (t->behind == 0 && left_out == 0) return;
    show_keys(t, left_out, t->n);
    show_values(t, left_out, t->n);
}

void table_hand_out(table *t) { show_rows(t, 0, t->n); }

bool table_more(table *t) {
    if (t->behind == 0) return false;
    show_rows(t, t->n, t->behind);
    return true;
}

int table_next(table *t, bool *end) {
    rows_chunk chunk;
    *end = false;
    if (table_more(t)) return EXIT_DONE;
    int code;
    while ((code = rows_next(t->input, 0, &chunk)) == EXIT_DONE && chunk.n == 0) {
        *end = t->input == t->inputs + t->files - 1;
        if (!*end) code = next_file(t);
        if (code != EXIT_DONE || *end) break;
    }
    if (code != EXIT_DONE || *end) return code;
    look_at_columns(t, &chunk);
    t->picked = NULL;
    if (t->where.parsed) code = filter_rows(t);
    for (int i = 0; i < t->asked->values && code == EXIT_DONE && t->n > 0; i++)
        code = find_values(t, i);
    if (code == EXIT_DONE) table_hand_out(t);
    return code;
}
