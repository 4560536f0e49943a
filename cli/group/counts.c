/* The counts of keys, by frequency or by key. */
#include "group/list.h"
#include "input/bytes.h"
#include "memory/kept.h"
#include "memory/key.h"
#include "memory/runs.h"
#include "memory/temporary.h"
#include "runtime/json.h"
#include "runtime/progress.h"
#include "sheet/sheet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* Sets *order to the first n groups by count, descending, and then by key; to NULL if that is their
 * order already. */
static int order_groups(const list *l, const group_subject *s, bool by_key, int64_t n,
                        int64_t **order) {
    static const bf_order_options most_first = {.size = sizeof most_first, .descending = true};
    *order = NULL;
    if (by_key || n == 0) return EXIT_DONE;
    *order = malloc((size_t)n * sizeof **order);
    if (!*order) return fail_status(BF_E_MEMORY, NULL, s->file);
    const bf_array counts = bf_array_of(BF_I64, l->counts, l->size),
                   index = bf_array_of(BF_I64, *order, n);
    const bf_status st = n < l->size ? bf_top(s->context, &counts, 0, n, &most_first, NULL, &index)
                                     : bf_sort(s->context, &counts, 0, &most_first, NULL, &index);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, s->file);
}

/* The first n counts as a sheet. */
typedef struct shown {
    sheet_column columns[2];
    sheet sheet;
    sheet_subject subject;
} shown;

static void make_shown(shown *x, const list *l, const group_subject *s, const int64_t *order,
                       int64_t n) {
    x->columns[0] = list_key_column(l, s);
    x->columns[1] = (sheet_column){.name = "count", .dtype = BF_I64, .array = l->counts};
    x->sheet = (sheet){.columns = x->columns, .count = 2, .rows = n, .order = order};
    x->subject = list_sheet_subject(s);
}

static int put_count_sheet(FILE *f, const list *l, const group_subject *s, const int64_t *order,
                           int64_t n, const options *o) {
    shown x;
    make_shown(&x, l, s, order, n);
    return sheet_put(f, &x.sheet, &x.subject, o);
}

static void put_count_object(FILE *f, const list *l, const group_subject *s, const int64_t *order,
                             int64_t n) {
    list_put_head(f, l->key, s, bf_groups_rows(s->groups), l->size);
    list_put_keys(f, l, order, n, 0);
    fputs("],\"counts\":[", f);
    for (int64_t i = 0; i < n && !ferror(f); i++)
        fprintf(f, "%s%" PRId64, i > 0 ? "," : "", l->counts[order ? order[i] : i]);
    putc(']', f);
    json_end(f, bf_context_device(s->context), s->seconds);
}

int group_put_counts(const output *out, const options *o, group_subject *subject) {
    list l;
    int code = list_make(&l, subject);
    int64_t *order = NULL;
    const int64_t n = o->top > 0 && o->top < l.size ? o->top : l.size;
    if (code == EXIT_DONE) code = order_groups(&l, subject, o->by_key, n, &order);
    subject->seconds = progress_clock() - subject->began;
    if (code == EXIT_DONE && o->layout == LAYOUT_JSON)
        put_count_object(out->stream, &l, subject, order, n);
    else if (code == EXIT_DONE)
        code = put_count_sheet(out->stream, &l, subject, order, n, o);
    free(order);
    list_free(&l);
    return code;
}

/* ---- counts that were spilled ---------------------------------------------------------------- */

/* Records are (complement of the count, rank of the key), or by key (rank, count). The rank of a
 * key of 128 bits is its place among all, by which it is found in a temporary file. */
typedef struct counts {
    const options *options;
    group_subject *subject;
    sheet_writer writer;
    runs runs;
    bf_dtype key;
    int64_t rows, groups;
    int keys; /* the file; -1: none */
} counts;

enum { SOME = 1 << 15 /* records that are shown at a time */ };

static run_record record_of(const counts *x, const list *l, int64_t i) {
    uint64_t rank = (uint64_t)(x->groups + i);
    if (l->key != BF_I128) key_ranks(l->key, l->keys + (size_t)i * bf_dtype_size(l->key), 1, &rank);
    return x->options->by_key ? (run_record){rank, (uint64_t)l->counts[i]}
                              : (run_record){~(uint64_t)l->counts[i], rank};
}

/* Keys come in their order. */
static int write_keys(counts *x, const list *l, int64_t n) {
    if (l->key != BF_I128) return EXIT_DONE;
    if (x->keys < 0) x->keys = temporary_open();
    const bool good =
        x->keys >= 0 && temporary_write(x->keys, l->keys, (size_t)n * bf_dtype_size(l->key));
    return good ? EXIT_DONE : temporary_failed(errno);
}

static int read_key(const counts *x, uint64_t rank, char *key) {
    const size_t bytes = bf_dtype_size(x->key);
    errno = EIO;
    if (x->key != BF_I128)
        key_of_rank(x->key, rank, key);
    else if (bytes_pread(x->keys, key, bytes, (int64_t)(rank * bytes)) != (int64_t)bytes)
        return temporary_failed(errno);
    return EXIT_DONE;
}

/* The first n groups become a run; of many, those that may be shown. */
static int add_counts(counts *x, const list *l, int64_t n) {
    const int64_t top = x->options->top;
    run_record *records = malloc(2 * (size_t)n * sizeof *records);
    if (!records) return fail_status(BF_E_MEMORY, NULL, x->subject->file);
    for (int64_t i = 0; i < n; i++) {
        records[i] = record_of(x, l, i);
        x->rows += l->counts[i];
    }
    if (!x->options->by_key) runs_sort(records, n, records + n);
    const int code = runs_add(&x->runs, records, top > 0 && top < n ? top : n);
    free(records);
    return code == EXIT_DONE ? write_keys(x, l, n) : code;
}

static int take_counts(void *arg, bf_groups *groups, int64_t n) {
    counts *x = arg;
    list l;
    group_subject subject = *x->subject;
    subject.groups = groups;
    int code = list_make(&l, &subject);
    if (code == EXIT_DONE) code = add_counts(x, &l, n);
    x->key = l.key;
    x->groups += n;
    list_free(&l);
    return code;
}

/* Records as a list: the keys and counts of n groups. */
static int list_records(const counts *x, const run_record *records, int64_t n, list *l) {
    const size_t bytes = bf_dtype_size(x->key);
    int code = EXIT_DONE;
    for (int64_t i = 0; i < n && code == EXIT_DONE; i++) {
        const bool by_key = x->options->by_key;
        const uint64_t rank = by_key ? records[i].first : records[i].second;
        code = read_key(x, rank, l->keys + (size_t)i * bytes);
        l->counts[i] = (int64_t)(by_key ? records[i].second : ~records[i].first);
    }
    l->size = n;
    return code;
}

static int put_lines(counts *x, const output *out, const list *l) {
    shown s;
    int code = EXIT_DONE;
    make_shown(&s, l, x->subject, NULL, l->size);
    if (!x->writer.stream)
        code = sheet_begin(&x->writer, out->stream, sheet_form_of(x->options), &s.sheet, &s.subject,
                           x->options);
    return code == EXIT_DONE ? sheet_rows(&x->writer, &s.sheet) : code;
}

/* Shows what is listed, behind `before` others: lines, or keys to f and counts to `behind`. */
static int put_listed(counts *x, const output *out, const list *l, int64_t before,
                      const kept *behind) {
    if (!behind) return put_lines(x, out, l);
    list_put_keys(out->stream, l, NULL, l->size, before);
    for (int64_t i = 0; i < l->size; i++)
        fprintf(behind->stream, "%s%" PRId64, before + i > 0 ? "," : "", l->counts[i]);
    return kept_check(behind);
}

static int put_records(counts *x, const output *out, list *l, run_record *records,
                       const kept *behind) {
    const int64_t all = x->options->top > 0 ? x->options->top : INT64_MAX;
    int code = runs_merge(&x->runs);
    for (int64_t done = 0, n = 1; code == EXIT_DONE && n > 0; done += n) {
        const int64_t most = all - done < SOME ? all - done : SOME;
        code = runs_next(&x->runs, records, most, &n);
        if (code != EXIT_DONE || n == 0) break;
        code = list_records(x, records, n, l);
        if (code == EXIT_DONE) code = put_listed(x, out, l, done, behind);
    }
    return code;
}

static int put_merged(counts *x, const output *out, const kept *behind) {
    list l = {.key = x->key, .scale = x->subject->scale};
    l.keys = malloc(SOME * bf_dtype_size(x->key));
    l.counts = malloc(SOME * sizeof *l.counts);
    run_record *records = malloc(SOME * sizeof *records);
    const int code = l.keys && l.counts && records
                         ? put_records(x, out, &l, records, behind)
                         : fail_status(BF_E_MEMORY, NULL, x->subject->file);
    free(records);
    list_free(&l);
    return code;
}

static int put_merged_object(counts *x, const output *out) {
    FILE *f = out->stream;
    kept behind;
    int code = kept_open(&behind);
    if (code != EXIT_DONE) return code;
    list_put_head(f, x->key, x->subject, x->rows, x->groups);
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
    counts x = {.options = o, .subject = subject, .keys = -1};
    runs_open(&x.runs, o->memory.results / 2);
    int code = spill_merge(s, subject->groups, take_counts, &x, subject->file);
    subject->seconds = progress_clock() - subject->began;
    if (code == EXIT_DONE)
        code = o->layout == LAYOUT_JSON ? put_merged_object(&x, out) : put_merged(&x, out, NULL);
    sheet_end(&x.writer);
    runs_close(&x.runs);
    if (x.keys >= 0) close(x.keys);
    return code;
}
