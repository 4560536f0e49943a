#include "rows/whole.h"

#include "columns/condition.h"
#include "columns/table.h"
#include "memory/records.h"
#include "options/context.h"
#include "rows/encode.h"
#include "rows/written.h"
#include "runtime/bytes.h"
#include "runtime/progress.h"
#include "runtime/random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Without --memory, rows take so much; what is more goes to a temporary file. */
#define USUAL_MEMORY ((int64_t)128 << 20)

/* A drawn key is a random number and the row's own number. */
enum { WORD = sizeof(uint64_t) };

typedef struct whole {
    options options; /* with a key for sample and shuffle, too */
    whole_kind kind;
    bf_context *context;
    condition *condition;
    output output;
    asked asked;
    table table;
    const rows *matched; /* the columns of the inputs up to this one are the same */
    records records;
    written written;
    buffer key;
    int64_t n; /* rows that were taken */
} whole;

/* ---- the options ----------------------------------------------------------------------------- */

static int refuse(const char *option, const char *advice) {
    fail(EXIT_USAGE, NULL, "%s does not go with whole rows", option);
    if (advice) hint("%s", advice);
    return EXIT_USAGE;
}

static int check_line(const options *o, whole_kind kind) {
    static const char text[] = "they are those of a table of text";
    if (o->descending) return refuse("--descending", "--by -COL has the greatest first");
    if (o->axes.n > 0) return refuse("--axis", NULL);
    if (o->offsets) return refuse("--offsets", NULL);
    if (o->expression) return refuse("-e", NULL);
    if (o->total) return refuse("--total", NULL);
    if (o->rules.nan != BF_NAN_PROPAGATE) return refuse("--nan", "NaN is the greatest number");
    if (o->input.text.columns) return refuse("--column", "--take shows some columns");
    if (o->input.format == FORMAT_NPY) return refuse("--format npy", text);
    if (o->input.format == FORMAT_RAW) return refuse("--format raw", text);
    if (o->input.first > 0) return refuse("--offset", NULL);
    if (o->input.count >= 0) return refuse("--count", NULL);
    if (o->form == FORM_NPY) return refuse("-o FILE.npy", NULL);
    if (o->checkpoint) return refuse("--checkpoint", NULL);
    if ((kind == WHOLE_TOP && o->first == 0) || (kind == WHOLE_SAMPLE && o->top == 0))
        return fail(EXIT_USAGE, NULL, "-n K is needed: how many are shown");
    return EXIT_DONE;
}

int whole_check_absent(const options *o) {
    const char *const option = o->take              ? "--take"
                               : o->input.text.text ? "--text"
                               : o->top > 0         ? "-n"
                                                    : NULL;
    if (!option) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "%s needs --by", option);
    hint("--by names the columns that whole rows are in the order of, as in --by city,-price");
    return EXIT_USAGE;
}

static bool is_drawn(const whole *x) { return x->kind == WHOLE_SAMPLE || x->kind == WHOLE_SHUFFLE; }

/* Rows that are drawn have the first column as a key, as text, which is not used. */
static void settle_options(whole *x, const options *o) {
    x->options = *o;
    if (x->kind == WHOLE_TOP) x->options.top = o->first;
    if (is_drawn(x)) x->options.by = x->options.input.text.text = "1";
}

/* Half of the memory, where the rows of a sample are put in order. */
static int64_t share_of(const whole *x) {
    const memory_plan *p = &x->options.memory;
    const int64_t all = p->limit > 0 ? p->results + p->library / 2 : USUAL_MEMORY;
    return x->kind == WHOLE_SAMPLE ? all / 2 : all;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int no_memory(const whole *x) { return fail_memory(x->table.input->source.name); }

/* The number of a row depends on the seed and the row's number alone. */
static const char *draw_key(whole *x, size_t *bytes) {
    char *const to = buffer_take(&x->key, *bytes = 2 * WORD);
    const uint64_t row = (uint64_t)x->n, seed = random_output((uint64_t)x->options.seed, 0);
    if (to) bytes_put_word(bytes_put_word(to, random_output(seed, row)), row);
    return to;
}

static int add_row(whole *x, int64_t i) {
    const text_row row = table_row(&x->table, i);
    size_t bytes;
    const char *const key =
        is_drawn(x) ? draw_key(x, &bytes) : encode_keys(&x->table, i, &x->key, &bytes);
    if (!key) return no_memory(x);
    x->n++;
    if (!records_want(&x->records, key, bytes)) return EXIT_DONE;
    return records_add(&x->records, key, bytes, row.at, (size_t)(row.end - row.at) - 1);
}

/* All inputs before have been matched. */
static int match_input(whole *x) {
    const table *t = &x->table;
    if (t->input == x->matched) return EXIT_DONE;
    x->matched = t->input;
    return written_match(&t->input->source, &t->inputs->source);
}

static int add_rows(whole *x) {
    bool end = false;
    int code = table_begin(&x->table);
    if (code == EXIT_DONE && !table_may_resettle(&x->table)) rows_forget(x->table.input);
    x->n = 0;
    x->matched = x->table.input;
    records_close(&x->records);
    records_open(&x->records, share_of(x), x->options.top, x->options.threads);
    while (code == EXIT_DONE) {
        code = table_next(&x->table, &end);
        if (code == EXIT_DONE) code = match_input(x);
        if (code != EXIT_DONE || end) break;
        for (int64_t i = 0; i < x->table.n && code == EXIT_DONE; i++) code = add_row(x, i);
    }
    return code;
}

static int read_rows(whole *x) {
    int code;
    progress_start(x->asked.file, table_bytes(&x->table));
    while ((code = add_rows(x)) == ROWS_RESETTLED) {
        code = table_again(&x->table);
        if (code != EXIT_DONE) break;
    }
    progress_stop();
    return code == EXIT_DONE ? records_end(&x->records) : code;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Puts the rows that were drawn in the order of their numbers, which end their keys. */
static int restore_order(whole *x) {
    records drawn = x->records;
    const char *row;
    size_t bytes;
    int code = EXIT_DONE;
    records_open(&x->records, share_of(x), 0, x->options.threads);
    for (int64_t i = 0; code == EXIT_DONE && i < x->options.top; i++) {
        code = records_next(&drawn, &row, &bytes);
        if (code != EXIT_DONE || !row) break;
        code = records_add(&x->records, row - WORD, WORD, row, bytes);
    }
    records_close(&drawn);
    return code == EXIT_DONE ? records_end(&x->records) : code;
}

static int write_rows(whole *x) {
    const int64_t most = x->options.top;
    const char *row;
    size_t bytes;
    int code = x->kind == WHOLE_SAMPLE ? restore_order(x) : EXIT_DONE;
    for (int64_t i = 0; code == EXIT_DONE && !ferror(x->output.stream); i++) {
        if (most > 0 && i == most) break;
        code = records_next(&x->records, &row, &bytes);
        if (code != EXIT_DONE || !row) break;
        code = written_add(&x->written, row, bytes);
    }
    return code == EXIT_DONE ? written_end(&x->written) : code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run(whole *x) {
    const options *o = &x->options;
    int code = table_make(&x->table, o);
    if (code == EXIT_DONE) code = context_open(&x->context, o);
    if (code == EXIT_DONE) code = condition_open(&x->condition, &x->options);
    asked_open(&x->asked, o, x->context);
    x->asked.whole = true;
    x->asked.closed = !o->take && !written_stays(o, true, '\0');
    if (is_drawn(x)) x->asked.chooser.option = report_command_name();
    x->asked.turned = x->kind == WHOLE_TOP && !o->least;
    if (code == EXIT_DONE) code = output_open(&x->output, o, false);
    if (code == EXIT_DONE) code = table_open(&x->table, &x->asked, x->context);
    if (code != EXIT_DONE) return code;
    x->options.input.text.header |= x->table.inputs->source.text->layout.names != NULL;
    code = written_open(&x->written, &x->output, o, &x->table.inputs->source);
    if (code == EXIT_DONE) code = read_rows(x);
    if (code == EXIT_DONE) code = write_rows(x);
    return code == EXIT_DONE ? output_close(&x->output) : code;
}

int whole_run(const options *o, whole_kind kind) {
    int code = check_line(o, kind);
    if (code != EXIT_DONE) return code;
    whole *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return fail_memory(NULL);
    x->kind = kind;
    settle_options(x, o);
    code = run(x);
    if (code != EXIT_DONE) output_abandon(&x->output);
    written_close(&x->written);
    records_close(&x->records);
    buffer_free(&x->key);
    table_close(&x->table);
    asked_close(&x->asked);
    condition_close(x->condition);
    bf_context_destroy(x->context);
    free(x);
    return code;
}
