#include "group/output.h"

#include "command.h"
#include "group/lines.h"
#include "runtime/json.h"
#include "runtime/progress.h"
#include "runtime/statefile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups, listed -------------------------------------------------------------------------- */

typedef struct list {
    bf_dtype key;
    int64_t size;
    char *keys;
    int64_t *counts;
} list;

/* The list is freed by free_list, also after a failure. */
static int make_list(list *l, const group_subject *s) {
    bf_groups_options kind = {.size = sizeof kind};
    const int64_t n = bf_groups_size(s->groups);
    bf_groups_describe(s->groups, &kind);
    *l = (list){.key = kind.key, .size = n};
    l->keys = calloc((size_t)n + 1, bf_dtype_size(l->key));
    l->counts = calloc((size_t)n + 1, sizeof *l->counts);
    if (!l->keys || !l->counts) return fail_status(BF_E_MEMORY, NULL, s->file);
    const bf_array keys = bf_array_of(l->key, l->keys, n),
                   counts = bf_array_of(BF_I64, l->counts, n);
    const bf_status st = bf_groups_list(s->groups, &keys, &counts);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, s->file);
}

static void free_list(list *l) {
    free(l->keys);
    free(l->counts);
}

/* An element of an array as a value: integers are widened. */
static bf_value element_at(bf_dtype dtype, const char *array, int64_t i) {
    const size_t bytes = bf_dtype_size(dtype);
    bf_value v = {.dtype = dtype};
    memcpy(&v.as, array + (size_t)i * bytes, bytes);
    switch (dtype) {
    case BF_I8: v.as.i64 = (int8_t)v.as.u64; break;
    case BF_I16: v.as.i64 = (int16_t)v.as.u64; break;
    case BF_I32: v.as.i64 = (int32_t)v.as.u64; break;
    default: break;
    }
    return v;
}

static bf_value key_at(const list *l, int64_t i) { return element_at(l->key, l->keys, i); }

static bf_value count_at(const list *l, int64_t i) {
    return (bf_value){.dtype = BF_I64, .as.i64 = l->counts[i]};
}

/* {"schema":1, ... "keys":[...] of the first n groups in this order (NULL: by key). */
static void put_head(FILE *f, const list *l, const group_subject *s, const int64_t *order,
                     int64_t n) {
    fprintf(f, "{\"schema\":1,\"command\":\"%s\",\"file\":", report_command_name());
    json_string(f, s->file);
    fprintf(f, ",\"dtype\":\"%s\",\"n\":%" PRId64 ",\"groups\":%" PRId64 ",\"keys\":[",
            bf_dtype_name(l->key), bf_groups_rows(s->groups), l->size);
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        const bf_value key = key_at(l, order ? order[i] : i);
        if (i > 0) putc(',', f);
        json_value(f, &key);
    }
    putc(']', f);
}

/* ---- counts ---------------------------------------------------------------------------------- */

static const int64_t *sort_counts;

/* Counts descending, then keys. */
static int compare(const void *a, const void *b) {
    const int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    if (sort_counts[i] != sort_counts[k]) return sort_counts[i] > sort_counts[k] ? -1 : 1;
    return i < k ? -1 : 1;
}

static int64_t *order_of(const list *l, bool by_key) {
    int64_t *order = malloc(((size_t)l->size + 1) * sizeof *order);
    for (int64_t i = 0; order && i < l->size; i++) order[i] = i;
    sort_counts = l->counts;
    if (order && !by_key) qsort(order, (size_t)l->size, sizeof *order, compare);
    return order;
}

/* Writes a value and `end` behind it to a line; returns where the line goes on. */
static char *put_field(char *line, bool hex, const bf_value *value, char end) {
    output_format(value, hex, line);
    line += strlen(line);
    *line = end;
    return line + 1;
}

typedef struct count_lines {
    const list *list;
    const int64_t *order;
    bool hex;
} count_lines;

static char *make_count_line(const void *arg, int64_t i, char *line) {
    const count_lines *x = arg;
    const bf_value key = key_at(x->list, x->order[i]), count = count_at(x->list, x->order[i]);
    return put_field(put_field(line, x->hex, &key, '\t'), false, &count, '\n');
}

static int put_count_lines(const output *out, const list *l, const int64_t *order, int64_t n,
                           int threads) {
    const count_lines x = {l, order, out->hex};
    const lines wanted = {make_count_line, &x, 2 * (BF_VALUE_TEXT + 1)};
    return lines_put(out->stream, &wanted, n, threads);
}

static void put_count_object(FILE *f, const list *l, const group_subject *s, const int64_t *order,
                             int64_t n) {
    put_head(f, l, s, order, n);
    fputs(",\"counts\":[", f);
    for (int64_t i = 0; i < n && !ferror(f); i++)
        fprintf(f, "%s%" PRId64, i > 0 ? "," : "", l->counts[order[i]]);
    putc(']', f);
    json_end(f, bf_context_device(s->context), s->seconds);
}

int group_put_counts(const output *out, const options *o, group_subject *subject) {
    list l;
    int code = make_list(&l, subject);
    int64_t *order = code == EXIT_DONE ? order_of(&l, o->by_key) : NULL;
    if (code == EXIT_DONE && !order) code = fail_status(BF_E_MEMORY, NULL, subject->file);
    const int64_t n = o->top > 0 && o->top < l.size ? o->top : l.size;
    subject->seconds = progress_clock() - subject->began;
    if (code == EXIT_DONE && o->layout == LAYOUT_JSON)
        put_count_object(out->stream, &l, subject, order, n);
    else if (code == EXIT_DONE)
        code = put_count_lines(out, &l, order, n, o->threads);
    free(order);
    free_list(&l);
    return code;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The values of a column: an array, or, where they may need more than 64 bits or be none at all,
 * values one by one. Neither: the groups' counts. */
typedef struct results {
    bf_dtype dtype;
    char *array;
    bf_value *values;
} results;

typedef struct table {
    list list;
    const group_column *columns;
    int n;
    results *results; /* of each column */
    bool hex;
} table;

/* Takes an aggregate as an array. It stays without one if that cannot hold every value. */
static bf_status take_array(const group_subject *s, const bf_reduce_options *rules, int which,
                            results *r) {
    const size_t n = (size_t)bf_groups_size(s->groups);
    r->dtype = bf_groups_aggregate_dtype(s->groups, which, rules);
    r->array = malloc(n * bf_dtype_size(r->dtype) + 1);
    if (!r->array) return BF_E_MEMORY;
    const bf_array all = bf_array_of(r->dtype, r->array, (int64_t)n);
    const bf_status st = bf_groups_aggregate(s->groups, which, rules, &all, NULL);
    if (st != BF_E_OVERFLOW) return st;
    free(r->array);
    r->array = NULL;
    return BF_OK;
}

static bf_status take_values(const group_subject *s, const bf_reduce_options *rules, int which,
                             results *r) {
    r->values = malloc(((size_t)bf_groups_size(s->groups) + 1) * sizeof *r->values);
    return r->values ? bf_groups_result(s->groups, which, rules, r->values) : BF_E_MEMORY;
}

/* One value for each group. The extreme of NaNs that are all skipped is no element. */
static int take_results(const group_subject *s, const options *o, int which, results *r) {
    bf_groups_options kind = {.size = sizeof kind};
    bf_reduce_options rules = o->rules;
    bf_groups_describe(s->groups, &kind);
    const bf_reduction op = kind.aggregates[which].op;
    const bool extreme = op == BF_MIN || op == BF_MAX;
    if (extreme) rules.out_dtype = BF_NONE;
    bf_status st = BF_OK;
    if (!extreme || rules.nan != BF_NAN_SKIP) st = take_array(s, &rules, which, r);
    if (st == BF_OK && !r->array) st = take_values(s, &rules, which, r);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, s->file);
}

static int take_columns(table *t, const group_subject *s, const options *o) {
    int code = t->results ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, s->file);
    for (int i = 0; i < t->n && code == EXIT_DONE; i++)
        if (t->columns[i].which >= 0)
            code = take_results(s, o, t->columns[i].which, &t->results[i]);
    return code;
}

static bf_value value_at(const table *t, int column, int64_t i) {
    const results *r = &t->results[column];
    if (r->array) return element_at(r->dtype, r->array, i);
    return r->values ? r->values[i] : count_at(&t->list, i);
}

static char *make_line(const void *arg, int64_t i, char *line) {
    const table *t = arg;
    const bf_value key = key_at(&t->list, i);
    line = put_field(line, t->hex, &key, t->n > 0 ? '\t' : '\n');
    for (int c = 0; c < t->n; c++) {
        const bf_value value = value_at(t, c, i);
        line = put_field(line, t->hex, &value, c + 1 < t->n ? '\t' : '\n');
    }
    return line;
}

/* Writes a line for each group. */
static int put_lines(const output *out, const table *t, int threads) {
    const lines wanted = {make_line, t, (size_t)(t->n + 1) * (BF_VALUE_TEXT + 1)};
    return lines_put(out->stream, &wanted, t->list.size, threads);
}

static void put_column(FILE *f, const table *t, int column) {
    fprintf(f, "%s{\"op\":\"%s\",\"of\":", column > 0 ? "," : "", t->columns[column].op);
    if (t->columns[column].of)
        json_string(f, t->columns[column].of);
    else
        fputs("null", f);
    fputs(",\"values\":[", f);
    for (int64_t i = 0; i < t->list.size && !ferror(f); i++) {
        const bf_value value = value_at(t, column, i);
        if (i > 0) putc(',', f);
        json_value(f, &value);
    }
    fputs("]}", f);
}

static void put_object(FILE *f, const table *t, const group_subject *s) {
    put_head(f, &t->list, s, NULL, t->list.size);
    fputs(",\"columns\":[", f);
    for (int c = 0; c < t->n; c++) put_column(f, t, c);
    putc(']', f);
    json_end(f, bf_context_device(s->context), s->seconds);
}

int group_put_columns(const output *out, const options *o, group_subject *subject,
                      const group_column *columns, int n) {
    table t = {.columns = columns, .n = n, .hex = out->hex};
    int code = make_list(&t.list, subject);
    t.results = calloc((size_t)n + 1, sizeof *t.results);
    if (code == EXIT_DONE) code = take_columns(&t, subject, o);
    subject->seconds = progress_clock() - subject->began;
    if (code == EXIT_DONE && o->layout == LAYOUT_JSON)
        put_object(out->stream, &t, subject);
    else if (code == EXIT_DONE)
        code = put_lines(out, &t, o->threads);
    for (int c = 0; c < n && t.results; c++) {
        free(t.results[c].array);
        free(t.results[c].values);
    }
    free(t.results);
    free_list(&t.list);
    return code;
}

/* ---- saved groups ---------------------------------------------------------------------------- */

/* Shows their aggregates, whose names are not saved, and the number of rows. */
static int put_saved_columns(const saved_showing *x, group_subject *subject) {
    bf_groups_options kind = {.size = sizeof kind};
    group_column columns[BF_AGGREGATES_MAX + 1];
    bf_groups_describe(subject->groups, &kind);
    for (int i = 0; i < kind.count; i++)
        columns[i] = (group_column){bf_reduction_name(kind.aggregates[i].op), NULL, i};
    columns[kind.count] = (group_column){"count", NULL, -1};
    return group_put_columns(x->out, x->options, subject, columns, kind.count + 1);
}

int group_show_saved(const saved_showing *x) {
    const options *o = x->options;
    bf_groups_options kind = {.size = sizeof kind};
    group_subject subject = {x->context, x->saved->groups, x->file, x->began, 0};
    bf_groups_describe(subject.groups, &kind);
    return kind.count > 0 ? put_saved_columns(x, &subject) : group_put_counts(x->out, o, &subject);
}
