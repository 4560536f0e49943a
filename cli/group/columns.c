/* Columns of aggregates, by key. */
#include "command.h"
#include "group/list.h"
#include "group/results.h"
#include "memory/kept.h"
#include "runtime/json.h"
#include "runtime/output.h"
#include "runtime/progress.h"
#include "sheet/sheet.h"
#include "work/statefile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table {
    list list;
    const group_column *columns;
    int n;
    results *results; /* of each column */
} table;

static int take_results(const group_subject *s, const options *o, const group_column *column,
                        results *r) {
    const bf_status st = results_take(s->groups, o, column->which, column->scale, r);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, s->file);
}

static int take_columns(table *t, const group_subject *s, const options *o) {
    int code = t->results ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, s->file);
    for (int i = 0; i < t->n && code == EXIT_DONE; i++) {
        const group_column *column = &t->columns[i];
        if (column->results)
            t->results[i] = (results){.dtype = column->results->dtype,
                                      .scale = column->scale,
                                      .array = column->results->data};
        else if (column->which >= 0)
            code = take_results(s, o, column, &t->results[i]);
    }
    return code;
}

static bf_value value_at(const table *t, int column, int64_t i) {
    const results *r = &t->results[column];
    if (r->array) return output_element(r->dtype, r->scale, r->array, i);
    return r->values ? r->values[i] : list_count(&t->list, i);
}

/* ---- sheets ---------------------------------------------------------------------------------- */

/* The columns of a table, and their names, in memory of their own. */
typedef struct shown {
    sheet sheet;
    sheet_column *columns;
    char **names;
    sheet_subject subject;
} shown;

/* "sum(price)", "quantile(95:price)", "count"; to be freed. */
static char *name_column(const group_column *column) {
    char percent[BF_VALUE_TEXT + 1] = "";
    const bf_value p = {.dtype = BF_F64, .as.f64 = column->percent ? *column->percent : 0};
    if (column->percent) output_put_field(percent, false, &p, ':')[0] = '\0';
    if (!column->of) return strdup(column->op);
    const size_t room = strlen(column->op) + strlen(percent) + strlen(column->of) + 3;
    char *name = malloc(room);
    if (name) snprintf(name, room, "%s(%s%s)", column->op, percent, column->of);
    return name;
}

static sheet_column column_of(const table *t, int c) {
    const results *r = &t->results[c];
    if (r->array) return (sheet_column){.dtype = r->dtype, .scale = r->scale, .array = r->array};
    if (r->values) return (sheet_column){.values = r->values};
    return (sheet_column){.dtype = BF_I64, .array = t->list.counts};
}

/* Shows the first n groups. */
static int make_shown(shown *x, const table *t, const group_subject *s, int64_t n) {
    *x = (shown){.columns = calloc((size_t)t->n + 1, sizeof *x->columns),
                 .names = calloc((size_t)t->n + 1, sizeof *x->names)};
    bool good = x->columns && x->names;
    if (good) x->columns[0] = list_key_column(&t->list, s);
    for (int c = 0; c < t->n && good; c++) {
        x->columns[c + 1] = column_of(t, c);
        x->columns[c + 1].name = x->names[c] = name_column(&t->columns[c]);
        good = x->names[c] != NULL;
    }
    x->sheet = (sheet){.columns = x->columns, .count = t->n + 1, .rows = n};
    x->subject = list_sheet_subject(s);
    return good ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, s->file);
}

static void free_shown(shown *x, int n) {
    for (int c = 0; c < n && x->names; c++) free(x->names[c]);
    free(x->names);
    free(x->columns);
}

static int put_sheet(FILE *f, const table *t, const group_subject *s, const options *o) {
    shown x;
    int code = make_shown(&x, t, s, t->list.size);
    if (code == EXIT_DONE) code = sheet_put(f, &x.sheet, &x.subject, o);
    free_shown(&x, t->n);
    return code;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

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
    if (column->percent) {
        const bf_value percent = {.dtype = BF_F64, .as.f64 = *column->percent};
        fputs(",\"percent\":", f);
        json_value(f, &percent);
    }
    fputs(",\"values\":[", f);
}

static void put_object(FILE *f, const table *t, const group_subject *s) {
    list_put_head(f, t->list.key, s, bf_groups_rows(s->groups), t->list.size);
    list_put_keys(f, &t->list, NULL, t->list.size, 0);
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
    *t = (table){.columns = columns, .n = n};
    const int code = list_make(&t->list, s);
    t->results = calloc((size_t)n + 1, sizeof *t->results);
    return code == EXIT_DONE ? take_columns(t, s, o) : code;
}

static void free_table(table *t) {
    for (int c = 0; c < t->n && t->results; c++) results_free(&t->results[c]);
    free(t->results);
    list_free(&t->list);
}

int group_put_columns(const output *out, const options *o, group_subject *subject,
                      const group_column *columns, int n) {
    table t;
    int code = make_table(&t, subject, o, columns, n);
    subject->seconds = progress_clock() - subject->began;
    if (code == EXIT_DONE && o->layout == LAYOUT_JSON)
        put_object(out->stream, &t, subject);
    else if (code == EXIT_DONE)
        code = put_sheet(out->stream, &t, subject, o);
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
    sheet_writer writer; /* of lines */
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
    sheet_end(&p->writer);
    kept_close(&p->lines);
    kept_close(&p->keys);
    for (int c = 0; c < p->n; c++) kept_close(&p->values[c]);
}

static int put_part_lines(parts *p, const table *t, int64_t n) {
    shown x;
    int code = make_shown(&x, t, p->subject, n);
    if (code == EXIT_DONE && !p->writer.stream)
        code = sheet_begin(&p->writer, p->lines.stream, sheet_form_of(p->options), &x.sheet,
                           &x.subject, p->options);
    if (code == EXIT_DONE) code = sheet_rows(&p->writer, &x.sheet);
    free_shown(&x, t->n);
    return code == EXIT_DONE ? kept_check(&p->lines) : code;
}

static int put_part(parts *p, const table *t, int64_t n) {
    if (p->lines.stream) return put_part_lines(p, t, n);
    list_put_keys(p->keys.stream, &t->list, NULL, n, p->groups);
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
    list_put_head(f, p->key, p->subject, p->rows, p->groups);
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

/* ---- saved groups ---------------------------------------------------------------------------- */

/* Aggregate number `which`, or the number of rows (-1). Names of values are not saved. */
static group_column saved_column(const bf_groups_options *kind, const unsigned char scales[],
                                 int which) {
    const bool rows = which < 0;
    return (group_column){.op = rows ? "count" : bf_reduction_name(kind->aggregates[which].op),
                          .which = rows ? -1 : which,
                          .scale = rows ? 0 : scales[which]};
}

/* Shows what was asked for. Where that was not saved, all aggregates and the number of rows. */
static int put_saved_columns(const saved_showing *x, group_subject *subject) {
    const trailer *asked = &x->saved->trailer;
    bf_groups_options kind = {.size = sizeof kind};
    group_column columns[BF_AGGREGATES_MAX + 1];
    bf_groups_describe(subject->groups, &kind);
    const int n = asked->columns > 0 ? asked->columns : kind.count + 1;
    for (int i = 0; i < n; i++)
        columns[i] = saved_column(&kind, asked->scales,
                                  asked->columns > 0 ? asked->which[i]
                                  : i < kind.count   ? i
                                                     : -1);
    return group_put_columns(x->out, x->options, subject, columns, n);
}

int group_show_saved(const saved_showing *x) {
    group_subject subject = {.context = x->context,
                             .groups = x->saved->groups,
                             .file = x->file,
                             .scale = x->saved->trailer.key_scale,
                             .began = x->began};
    return statefile_is_counts(x->saved) ? group_put_counts(x->out, x->options, &subject)
                                         : put_saved_columns(x, &subject);
}
