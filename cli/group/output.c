#include "group/output.h"

#include "command.h"
#include "group/lines.h"
#include "memory/kept.h"
#include "memory/runs.h"
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

static bf_value key_at(const list *l, int64_t i) { return output_element(l->key, l->keys, i); }

static bf_value count_at(const list *l, int64_t i) {
    return (bf_value){.dtype = BF_I64, .as.i64 = l->counts[i]};
}

/* {"schema":1, ... "keys":[ of so many rows and groups. */
static void put_head(FILE *f, bf_dtype key, const group_subject *s, int64_t rows, int64_t groups) {
    fprintf(f, "{\"schema\":1,\"command\":\"%s\",\"file\":", report_command_name());
    json_string(f, s->file);
    fprintf(f, ",\"dtype\":\"%s\",\"n\":%" PRId64 ",\"groups\":%" PRId64 ",\"keys\":[",
            bf_dtype_name(key), rows, groups);
}

/* The first n keys in this order (NULL: by key), behind so many others. */
static void put_keys(FILE *f, const list *l, const int64_t *order, int64_t n, int64_t before) {
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        const bf_value key = key_at(l, order ? order[i] : i);
        if (before + i > 0) putc(',', f);
        json_value(f, &key);
    }
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
    put_head(f, l->key, s, bf_groups_rows(s->groups), l->size);
    put_keys(f, l, order, n, 0);
    fputs("],\"counts\":[", f);
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
    if (r->array) return output_element(r->dtype, r->array, i);
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

/* Writes a line for each of the first n groups. */
static int put_lines(FILE *f, const table *t, int64_t n, int threads) {
    const lines wanted = {make_line, t, (size_t)(t->n + 1) * (BF_VALUE_TEXT + 1)};
    return lines_put(f, &wanted, n, threads);
}

/* The values of a column in the first n lines, behind so many others. */
static void put_values(FILE *f, const table *t, int column, int64_t n, int64_t before) {
    for (int64_t i = 0; i < n && !ferror(f); i++) {
        const bf_value value = value_at(t, column, i);
        if (before + i > 0) putc(',', f);
        json_value(f, &value);
    }
}

/* What stands before the values of column number i. */
static void put_title(FILE *f, const group_column *column, int i) {
    fprintf(f, "%s{\"op\":\"%s\",\"of\":", i > 0 ? "," : "", column->op);
    if (column->of)
        json_string(f, column->of);
    else
        fputs("null", f);
    fputs(",\"values\":[", f);
}

static void put_object(FILE *f, const table *t, const group_subject *s) {
    put_head(f, t->list.key, s, bf_groups_rows(s->groups), t->list.size);
    put_keys(f, &t->list, NULL, t->list.size, 0);
    fputs("],\"columns\":[", f);
    for (int c = 0; c < t->n; c++) {
        put_title(f, &t->columns[c], c);
        put_values(f, t, c, t->list.size, 0);
        fputs("]}", f);
    }
    putc(']', f);
    json_end(f, bf_context_device(s->context), s->seconds);
}

/* Lists the groups and their results. The table is freed by free_table, also after a failure. */
static int make_table(table *t, const group_subject *s, const options *o,
                      const group_column *columns, int n) {
    *t = (table){.columns = columns, .n = n, .hex = o->hex};
    const int code = make_list(&t->list, s);
    t->results = calloc((size_t)n + 1, sizeof *t->results);
    return code == EXIT_DONE ? take_columns(t, s, o) : code;
}

static void free_table(table *t) {
    for (int c = 0; c < t->n && t->results; c++) {
        free(t->results[c].array);
        free(t->results[c].values);
    }
    free(t->results);
    free_list(&t->list);
}

int group_put_columns(const output *out, const options *o, group_subject *subject,
                      const group_column *columns, int n) {
    table t;
    int code = make_table(&t, subject, o, columns, n);
    subject->seconds = progress_clock() - subject->began;
    if (code == EXIT_DONE && o->layout == LAYOUT_JSON)
        put_object(out->stream, &t, subject);
    else if (code == EXIT_DONE)
        code = put_lines(out->stream, &t, t.list.size, o->threads);
    free_table(&t);
    return code;
}

/* ---- groups that were spilled ---------------------------------------------------------------- */

/* What comes by key, part by part: lines, or (JSON) the keys and each column; in temporary files
 * until all is known to succeed. */
typedef struct parts {
    const options *options;
    group_subject *subject;
    const group_column *columns;
    int n;
    kept lines, keys, values[BF_AGGREGATES_MAX + 1];
    bf_dtype key;
    int64_t rows, groups;
} parts;

static int open_parts(parts *p) {
    if (p->options->layout != LAYOUT_JSON) return kept_open(&p->lines);
    int code = kept_open(&p->keys);
    for (int c = 0; c < p->n && code == EXIT_DONE; c++) code = kept_open(&p->values[c]);
    return code;
}

static void close_parts(parts *p) {
    kept_close(&p->lines);
    kept_close(&p->keys);
    for (int c = 0; c < p->n; c++) kept_close(&p->values[c]);
}

static int put_part(parts *p, const table *t, int64_t n) {
    if (p->lines.stream) {
        const int code = put_lines(p->lines.stream, t, n, p->options->threads);
        return code == EXIT_DONE ? kept_check(&p->lines) : code;
    }
    put_keys(p->keys.stream, &t->list, NULL, n, p->groups);
    int code = kept_check(&p->keys);
    for (int c = 0; c < p->n && code == EXIT_DONE; c++) {
        put_values(p->values[c].stream, t, c, n, p->groups);
        code = kept_check(&p->values[c]);
    }
    return code;
}

static int take_part(void *arg, bf_groups *groups, int64_t n) {
    parts *p = arg;
    table t;
    group_subject subject = *p->subject;
    subject.groups = groups;
    int code = make_table(&t, &subject, p->options, p->columns, p->n);
    if (code == EXIT_DONE) code = put_part(p, &t, n);
    for (int64_t i = 0; i < n && code == EXIT_DONE; i++) p->rows += t.list.counts[i];
    p->key = t.list.key;
    p->groups += n;
    free_table(&t);
    return code;
}

static int copy_parts(FILE *f, const parts *p) {
    if (p->lines.stream) return kept_copy(f, &p->lines);
    put_head(f, p->key, p->subject, p->rows, p->groups);
    int code = kept_copy(f, &p->keys);
    fputs("],\"columns\":[", f);
    for (int c = 0; c < p->n && code == EXIT_DONE; c++) {
        put_title(f, &p->columns[c], c);
        code = kept_copy(f, &p->values[c]);
        fputs("]}", f);
    }
    putc(']', f);
    json_end(f, bf_context_device(p->subject->context), p->subject->seconds);
    return code;
}

int group_put_spilled_columns(const output *out, const options *o, group_subject *subject, spill *s,
                              const group_column *columns, int n) {
    parts p = {.options = o, .subject = subject, .columns = columns, .n = n};
    int code = open_parts(&p);
    if (code == EXIT_DONE) code = spill_merge(s, subject->groups, take_part, &p, subject->file);
    subject->seconds = progress_clock() - subject->began;
    if (code == EXIT_DONE) code = copy_parts(out->stream, &p);
    close_parts(&p);
    return code;
}

/* ---- counts that were spilled ---------------------------------------------------------------- */

/* Records are (complement of the count, rank of the key), or by key (rank, count). */
typedef struct counts {
    const options *options;
    group_subject *subject;
    runs runs;
    bf_dtype key;
    int64_t rows, groups;
} counts;

enum { SOME = 1 << 15 /* records that are shown at a time */ };

static run_record record_of(const list *l, int64_t i, bool by_key) {
    const uint64_t rank = spill_rank(l->key, l->keys + (size_t)i * bf_dtype_size(l->key));
    return by_key ? (run_record){rank, (uint64_t)l->counts[i]}
                  : (run_record){~(uint64_t)l->counts[i], rank};
}

/* The first n groups become a run; of many, those that may be shown. */
static int add_counts(counts *x, const list *l, int64_t n) {
    const int64_t top = x->options->top;
    run_record *records = malloc(2 * (size_t)n * sizeof *records);
    if (!records) return fail_status(BF_E_MEMORY, NULL, x->subject->file);
    for (int64_t i = 0; i < n; i++) {
        records[i] = record_of(l, i, x->options->by_key);
        x->rows += l->counts[i];
    }
    if (!x->options->by_key) runs_sort(records, n, records + n);
    const int code = runs_add(&x->runs, records, top > 0 && top < n ? top : n);
    free(records);
    return code;
}

static int take_counts(void *arg, bf_groups *groups, int64_t n) {
    counts *x = arg;
    list l;
    group_subject subject = *x->subject;
    subject.groups = groups;
    int code = make_list(&l, &subject);
    if (code == EXIT_DONE) code = add_counts(x, &l, n);
    x->key = l.key;
    x->groups += n;
    free_list(&l);
    return code;
}

/* Records as a list: the keys and counts of n groups. */
static void list_records(const counts *x, const run_record *records, int64_t n, list *l) {
    const size_t bytes = bf_dtype_size(x->key);
    for (int64_t i = 0; i < n; i++) {
        const bool by_key = x->options->by_key;
        const uint64_t rank = by_key ? records[i].first : records[i].second;
        spill_key(x->key, rank, l->keys + (size_t)i * bytes);
        l->counts[i] = (int64_t)(by_key ? records[i].second : ~records[i].first);
    }
    l->size = n;
}

/* Shows what is listed, behind `before` others: lines, or keys to f and counts to `behind`. */
static int put_listed(const counts *x, const output *out, const list *l, const int64_t *order,
                      int64_t before, const kept *behind) {
    if (!behind) return put_count_lines(out, l, order, l->size, x->options->threads);
    put_keys(out->stream, l, NULL, l->size, before);
    for (int64_t i = 0; i < l->size; i++)
        fprintf(behind->stream, "%s%" PRId64, before + i > 0 ? "," : "", l->counts[i]);
    return kept_check(behind);
}

static int put_records(counts *x, const output *out, list *l, int64_t *order, run_record *records,
                       const kept *behind) {
    const int64_t all = x->options->top > 0 ? x->options->top : INT64_MAX;
    int code = runs_merge(&x->runs);
    for (int64_t i = 0; i < SOME; i++) order[i] = i;
    for (int64_t done = 0, n = 1; code == EXIT_DONE && n > 0; done += n) {
        const int64_t most = all - done < SOME ? all - done : SOME;
        code = runs_next(&x->runs, records, most, &n);
        if (code != EXIT_DONE || n == 0) break;
        list_records(x, records, n, l);
        code = put_listed(x, out, l, order, done, behind);
    }
    return code;
}

static int put_merged(counts *x, const output *out, const kept *behind) {
    list l = {.key = x->key};
    l.keys = malloc(SOME * bf_dtype_size(x->key));
    l.counts = malloc(SOME * sizeof *l.counts);
    int64_t *order = malloc(SOME * sizeof *order);
    run_record *records = malloc(SOME * sizeof *records);
    const int code = l.keys && l.counts && order && records
                         ? put_records(x, out, &l, order, records, behind)
                         : fail_status(BF_E_MEMORY, NULL, x->subject->file);
    free(records);
    free(order);
    free_list(&l);
    return code;
}

static int put_merged_object(counts *x, const output *out) {
    FILE *f = out->stream;
    kept behind;
    int code = kept_open(&behind);
    if (code != EXIT_DONE) return code;
    put_head(f, x->key, x->subject, x->rows, x->groups);
    code = put_merged(x, out, &behind);
    fputs("],\"counts\":[", f);
    if (code == EXIT_DONE) code = kept_copy(f, &behind);
    kept_close(&behind);
    putc(']', f);
    json_end(f, bf_context_device(x->subject->context), x->subject->seconds);
    return code;
}

int group_put_spilled_counts(const output *out, const options *o, group_subject *subject,
                             spill *s) {
    counts x = {.options = o, .subject = subject};
    runs_open(&x.runs, o->memory.results / 2);
    int code = spill_merge(s, subject->groups, take_counts, &x, subject->file);
    subject->seconds = progress_clock() - subject->began;
    if (code == EXIT_DONE)
        code = o->layout == LAYOUT_JSON ? put_merged_object(&x, out) : put_merged(&x, out, NULL);
    runs_close(&x.runs);
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
