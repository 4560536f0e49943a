#define _GNU_SOURCE /* strndup */
#include "scan/tabled.h"

#include "columns/table.h"
#include "options/context.h"
#include "rows/written.h"
#include "runtime/progress.h"
#include "scan/batch.h"
#include "scan/keyed.h"
#include "scan/output.h"
#include "scan/span.h"
#include "scan/waiting.h"
#include "text/item.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct tabled {
    running *of;
    options options; /* for the table: --column is its value, and there is always a key */
    char *first;     /* the first column of pairs; else NULL */
    asked asked;
    table table;
    keyed keyed;
    line line; /* without --by */
    batch batch;
    int64_t count; /* rows so far */
    /* With --append these are used, else `results`. */
    output output;
    written written;
    waiting waiting;
    scan_output results;
} tabled;

/* ---- the options ----------------------------------------------------------------------------- */

static int refuse(const char *option, const char *with) {
    return fail(EXIT_USAGE, NULL, "%s does not go with %s", option, with);
}

/* The second of two columns of a list; NULL: it has not so many. */
static const char *second_of(const char *list) {
    if (text_take_item(&list, ",").behind == '\0') return NULL;
    const char *const second = list;
    return *list && text_take_item(&list, ",").behind == '\0' ? second : NULL;
}

int tabled_check(const running *x) {
    const options *o = &x->options;
    const char *const with = x->own.on ? "--on" : o->append ? "--append" : "--by";
    if (o->file_count > 1)
        return fail(EXIT_USAGE, NULL, "%s needs one FILE, a table, not %d", with, o->file_count);
    if (!o->input.text.columns) {
        fail(EXIT_USAGE, NULL, "%s needs --column", with);
        hint("--column names the column of numbers");
        return EXIT_USAGE;
    }
    if (running_arrays(x) == 2 && !second_of(o->input.text.columns))
        return fail(EXIT_USAGE, NULL, "%s of a table is of two columns: --column A,B", x->name);
    if (o->input.format == FORMAT_NPY || o->input.format == FORMAT_RAW)
        return fail(EXIT_USAGE, NULL, "%s takes a table of text", with);
    if (o->input.first > 0) return refuse("--offset", with);
    if (o->input.count >= 0) return refuse("--count", with);
    return x->own.step > 1 ? refuse("--step", with) : EXIT_DONE;
}

int tabled_check_absent(const options *o) {
    const bool array = o->output && strcmp(o->output, "-") != 0;
    if (o->layout == LAYOUT_PLAIN || (o->layout == LAYOUT_JSON && array)) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "--%s needs --append", options_layout(o->layout));
    hint("--append NAME shows the table with one more column");
    return EXIT_USAGE;
}

/* Without --by, the key is a column that is there, as text, and is not used. False: there is no
 * memory. */
static bool settle_options(tabled *x) {
    options *const o = &x->options;
    struct wanted_aggregate *const w = o->aggregates;
    *o = x->of->options;
    w[0] = (struct wanted_aggregate){
        .option = "column", .op = x->of->op, .values = o->input.text.columns};
    if (running_arrays(x->of) == 2) {
        w->second = second_of(w->values);
        w->values = x->first = strndup(w->values, (size_t)(w->second - w->values) - 1);
        w->pairs = true;
    }
    w[1] = (struct wanted_aggregate){.option = "on", .op = BF_MIN, .values = x->of->own.on};
    o->aggregate_count = x->of->own.on ? 2 : 1;
    o->input.text.columns = NULL;
    if (!o->by) o->by = o->input.text.text = "1";
    return w->values != NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *file_of(const tabled *x) { return x->table.input->source.name; }

/* Takes all rows once, so that numbers and keys are from the first row on what they will be. */
static int settle_rows(table *t) {
    bool end = false;
    int code = table_begin(t);
    if (code == EXIT_DONE && !table_may_resettle(t) && t->derived == 0) {
        rows_forget(t->input);
        return EXIT_DONE;
    }
    while (!end && (code == EXIT_DONE || code == ROWS_RESETTLED)) {
        if (code == EXIT_DONE) code = table_next(t, &end);
        if (code != ROWS_RESETTLED && !end) continue;
        code = table_again(t);
        if (code == EXIT_DONE) code = table_begin(t);
    }
    return code;
}

static int open_table(tabled *x) {
    const options *o = &x->options;
    int code = table_make(&x->table, o);
    if (code == EXIT_DONE) code = context_open(&x->of->context, o);
    asked_open(&x->asked, o, x->of->context);
    if (!x->of->options.by) x->asked.chooser.option = o->append ? "--append" : "--on";
    x->asked.stands = x->asked.closed = o->append != NULL;
    if (code == EXIT_DONE && o->append) code = output_open(&x->output, o, false);
    if (code == EXIT_DONE) code = table_open(&x->table, &x->asked, x->of->context);
    if (code != EXIT_DONE) return code;
    for (int i = 0; i < x->asked.results; i++)
        for (int k = 0; k < asked_arrays(&x->asked.result[i]); k++)
            if (x->asked.results != o->aggregate_count ||
                x->asked.value[x->asked.result[i].value + k].field < 0)
                return fail(EXIT_USAGE, file_of(x), "--%s: '%s' is not one column",
                            o->aggregates[i].option,
                            k == 0 ? o->aggregates[i].values : o->aggregates[i].second);
    x->batch = (batch){.of = x->of,
                       .table = &x->table,
                       .on = o->aggregate_count > 1 ? x->asked.result[1].value : -1};
    return EXIT_DONE;
}

/* Rows are written as their first ones say, of which none was taken yet. */
static int open_written(tabled *x) {
    const source *s = &x->table.input->source;
    x->waiting.to = &x->written;
    x->waiting.limit = running_limit(x->of);
    x->options.input.text.header |= s->text->layout.names != NULL;
    return written_open(&x->written, &x->output, &x->options, s);
}

static int open_tabled(tabled *x) {
    running *const r = x->of;
    const table_value *const v = &x->table.values[0];
    const bool rows_too = x->options.append != NULL;
    int code = open_table(x);
    if (code == EXIT_DONE && rows_too) code = open_written(x);
    if (code == EXIT_DONE) code = settle_rows(&x->table);
    if (code == EXIT_DONE && v->form.time) code = rows_refuse_times(file_of(x), r->name);
    if (code == EXIT_DONE) code = running_settle(r, v->form.dtype, v->form.scale, file_of(x));
    if (code != EXIT_DONE) return code;
    if (r->own.on) code = span_settle(r, &x->table.values[x->batch.on], file_of(x));
    if (code != EXIT_DONE) return code;
    r->prompt = r->options.by || r->own.on;
    const bf_status st =
        r->options.by ? keyed_open(&x->keyed, r, &x->table) : line_open(&x->line, r);
    if (st != BF_OK) return running_failed(r, st, &x->table.input->source);
    return rows_too ? EXIT_DONE : scan_output_open(&x->results, r, 1, &(int64_t){0}, -1);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int add_waiting(tabled *x) {
    int code = EXIT_DONE;
    for (int64_t i = 0; i < x->table.n && code == EXIT_DONE; i++) {
        const text_row row = table_row(&x->table, i);
        code = waiting_add(&x->waiting, row.at, (size_t)(row.end - row.at) - 1,
                           batch_has(&x->batch, i));
    }
    return code;
}

static int put_results(tabled *x, const bf_array *results) {
    return x->options.append ? waiting_release(&x->waiting, results, x->of->scale)
                             : scan_output_put(&x->results, results);
}

/* Takes the rows of the batch that are ready; last: there are no more. */
static int take_ready(tabled *x, bool last) {
    const batch *b = &x->batch;
    const bf_array numbers = bf_array_of(x->of->dtype, b->numbers.at, b->ready);
    const void *const on = b->on < 0 ? NULL : b->keys.at;
    const int64_t *const lines = (const int64_t *)b->lines.at;
    bf_array results;
    int code = EXIT_DONE;
    x->of->reached = batch_last_key(b);
    if (x->of->options.by) {
        code = keyed_take(&x->keyed, &numbers, on, lines, last, &results);
    } else {
        const bf_status st = line_take(&x->line, numbers.data, on, b->ready, last, &results);
        if (st != BF_OK) code = running_failed(x->of, st, &x->table.input->source);
    }
    batch_forget(&x->batch);
    return code == EXIT_DONE ? put_results(x, &results) : code;
}

static int take_rows(tabled *x) {
    const bool by = x->of->options.by;
    int code = x->options.append ? add_waiting(x) : EXIT_DONE;
    if (code == EXIT_DONE && by) code = keyed_number(&x->keyed);
    if (code == EXIT_DONE)
        code = batch_add(&x->batch, by ? (const int64_t *)x->keyed.numbers.at : NULL);
    x->count += x->table.n;
    return code == EXIT_DONE ? take_ready(x, false) : code;
}

static int take_all(tabled *x) {
    bool end = false;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && !end && !ferror(stdout)) {
        code = table_next(&x->table, &end);
        if (code == EXIT_DONE && !end) code = take_rows(x);
    }
    batch_end(&x->batch);
    if (code == EXIT_DONE) code = take_ready(x, true);
    if (code == EXIT_DONE) code = source_check(&x->table.input->source);
    return code == EXIT_DONE && x->options.append ? written_end(&x->written) : code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int run(tabled *x) {
    int code = open_tabled(x);
    if (code != EXIT_DONE) return code;
    progress_start(file_of(x), table_bytes(&x->table));
    code = take_all(x);
    progress_stop();
    if (code == EXIT_DONE) note_device(x->of->context, file_of(x));
    if (code == EXIT_DONE && x->options.stats)
        inform(file_of(x), "%" PRId64 " rows in %.6f s", x->count, progress_clock() - x->of->began);
    return code;
}

int tabled_run(running *of) {
    tabled *const x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return fail_memory(NULL);
    x->of = of;
    int code = settle_options(x) ? run(x) : fail_memory(NULL);
    code = scan_output_close(&x->results, code, x->results.count);
    if (x->output.stream && code == EXIT_DONE) code = output_close(&x->output);
    if (x->output.stream && code != EXIT_DONE) output_abandon(&x->output);
    written_close(&x->written);
    waiting_close(&x->waiting);
    keyed_close(&x->keyed);
    line_close(&x->line);
    table_close(&x->table);
    asked_close(&x->asked);
    free(x->first);
    batch_close(&x->batch);
    free(x);
    return code;
}
