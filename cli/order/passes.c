#define _GNU_SOURCE /* strdup */
#include "order/passes.h"

#include "memory/hardware.h"
#include "options/context.h"
#include "runtime/ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of text may take so many times the bytes of their digits. Up to SMALL bytes of an array
 * are sooner copied than counted. */
enum { TEXT_GROWTH = 4, SMALL = 1 << 20 };

/* ---- inputs ---------------------------------------------------------------------------------- */

int passes_open(passes *x, const question *q, output *out) {
    const options *o = q->options;
    const bool median = q->kind == ORDER_MEDIAN;
    *x = (passes){.question = q, .output = out, .first = -1};
    x->search = (quantiles_search){.options = o,
                                   .context = q->context,
                                   .work = &x->work,
                                   .method = o->method,
                                   .infinities = median && o->layout == LAYOUT_JSON};
    if (!median) x->search.percents = answer_percents(o);
    spool_limit_set(&x->limit, o->memory.pipes);
    x->inputs = calloc((size_t)o->file_count, sizeof *x->inputs);
    const int code = ranks_agree(x->inputs ? EXIT_DONE : fail_memory(NULL));
    return code == EXIT_DONE ? work_open(&x->work, o, q->context) : code;
}

int passes_open_file(passes *x, const char *name, quantiles_input **in) {
    const options *o = x->question->options;
    rows_options how = context_reading(o, &x->limit, 1);
    how.slab = options_slab(o);
    how.nulls = how.times = true;
    *in = &x->inputs[x->count++];
    return quantiles_open(*in, name, &o->input, &how);
}

/* Text is parsed once, a pipe read once, and a GPU selects from its own memory, if there is room.
 * A large file that is mapped is read faster than it is copied. */
bool passes_would_load(const passes *x, const quantiles_input *in) {
    const options *o = x->question->options;
    const source *s = &in->rows.source;
    const int64_t room =
        o->memory.limit > 0 ? o->memory.results + o->memory.pipes / 2 : hardware_memory() / 4;
    if (ranks_count() > 1 || o->checkpoint || o->total) return false;
    if (s->stream) return o->memory.limit == 0;
    if (s->text) return rows_bytes(&in->rows) <= room / TEXT_GROWTH;
    return rows_bytes(&in->rows) <= (room < SMALL || options_gpu(o->device) ? room : SMALL);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void make_answer(const passes *x, const quantiles_column *c, answer *a) {
    const int n = x->search.percents.n;
    a->info = c->info;
    a->scale = c->info.scale;
    a->nulls = c->nulls;
    a->memory = c->values;
    a->values = bf_array_of(BF_NONE, c->values, n);
    if (n == 0) a->values.ndim = 0;
    a->time = c->time;
    answer_settle(a, x->question, c->info.dtype, c->to, c->info.count);
}

static int answer_column(const passes *x, const quantiles *q, int k, answer *a) {
    quantiles_column c;
    const bf_status st = quantiles_take(q, k, &c);
    int code = st == BF_OK ? EXIT_DONE : answer_failed(x->question, st, a->file);
    if (code == EXIT_DONE) {
        make_answer(x, &c, a);
        note_device(x->question->context, a->file);
        code = answer_put(a, x->question, x->output,
                          x->question->options->file_count > 1 || x->question->options->total);
    }
    if (st != BF_OK) free(c.values);
    answer_free(a);
    return code;
}

/* names NULL: it has one column. */
static int answer_columns(const passes *x, const quantiles *q, const char *file, char **names,
                          double began) {
    int code = EXIT_DONE;
    const double seconds = progress_clock() - began;
    for (int k = 0; k < q->columns && code == EXIT_DONE; k++) {
        answer a = {.file = file, .column = names ? names[k] : NULL, .seconds = seconds};
        code = answer_column(x, q, k, &a);
    }
    return ranks_agree(code);
}

static void drop_names(char **names, int n) {
    for (int k = 0; names && k < n; k++) free(names[k]);
    free(names);
}

/* The names of columns, if there are several. */
static int take_names(const rows *r, char ***names) {
    *names = r->columns > 1 ? calloc((size_t)r->columns, sizeof **names) : NULL;
    bool good = r->columns == 1 || *names;
    for (int k = 0; *names && k < r->columns; k++)
        good = ((*names)[k] = rows_column_name(r, k)) != NULL && good;
    return good ? EXIT_DONE : fail_memory(r->source.name);
}

static void tell_speed(const passes *x, const quantiles *q, const rows *r, double began) {
    const double seconds = progress_clock() - began;
    const int64_t bytes = rows_bytes(r);
    if (!x->question->options->stats || bytes < 0) return;
    inform(r->source.name, "%" PRId64 " bytes, read %d times in %.6f s: %.2f GB/s", bytes, q->pass,
           seconds, seconds > 0 ? 1e-9 * (double)bytes * q->pass / seconds : 0);
}

/* ---- totals ---------------------------------------------------------------------------------- */

/* Takes from the first file what the others must have, too. */
static int begin_total(passes *x, const quantiles_input *in, char ***names) {
    x->forms = malloc((size_t)in->columns * sizeof *x->forms);
    if (!x->forms) return fail_memory(in->name);
    for (int k = 0; k < in->columns; k++) x->forms[k] = quantiles_form(in, k);
    x->first = (int)(in - x->inputs);
    x->names = *names;
    *names = NULL;
    return EXIT_DONE;
}

static int match_total(const passes *x, const quantiles_input *in) {
    const quantiles_input *first = &x->inputs[x->first];
    if (in->columns != first->columns)
        return fail(EXIT_DATA, in->name, "cannot make a total: this has %d columns, %s has %d",
                    in->columns, first->name, first->columns);
    for (int k = 0; k < in->columns; k++) {
        const units_form form = quantiles_form(in, k);
        if (units_join(&x->forms[k], form)) continue;
        fail(EXIT_DATA, in->name, "cannot make a total of different dtypes: this is %s, %s is %s",
             bf_dtype_name(form.dtype), first->name, bf_dtype_name(x->forms[k].dtype));
        hint("--dtype f64 reads all text as f64");
        return EXIT_DATA;
    }
    return EXIT_DONE;
}

/* ---- the work -------------------------------------------------------------------------------- */

static int check_columns(const passes *x, const quantiles_input *in) {
    return in->columns > 1 && output_is_array(x->output)
               ? fail(EXIT_USAGE, in->name, "one array holds the results of one column, not %d",
                      in->columns)
               : EXIT_DONE;
}

int passes_answer(passes *x, quantiles_input *in, double began) {
    quantiles q = {.columns = 0};
    char **names = NULL;
    const bool total = x->question->options->total;
    int code = check_columns(x, in);
    if (code == EXIT_DONE) code = take_names(&in->rows, &names);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = quantiles_find(&q, &x->search, in, 1);
    if (code == EXIT_DONE && total && x->first >= 0) code = ranks_agree(match_total(x, in));
    if (code == EXIT_DONE) {
        tell_speed(x, &q, &in->rows, began);
        code = answer_columns(x, &q, in->name, names, began);
    }
    quantiles_free(&q);
    if (code == EXIT_DONE && total && x->first < 0) code = ranks_agree(begin_total(x, in, &names));
    drop_names(names, in->columns);
    if (code == EXIT_DONE && total)
        quantiles_keep(in);
    else
        quantiles_close(in);
    return code;
}

int passes_answer_total(passes *x, double began) {
    quantiles q = {.columns = 0};
    int code = quantiles_find(&q, &x->search, x->inputs, x->count);
    if (code == EXIT_DONE) code = answer_columns(x, &q, "total", x->names, began);
    quantiles_free(&q);
    return code;
}

void passes_close(passes *x, int code) {
    for (int i = 0; i < x->count; i++) quantiles_close(&x->inputs[i]);
    drop_names(x->names, x->names ? x->inputs[x->first].columns : 0);
    free(x->forms);
    free(x->inputs);
    work_close(&x->work, code);
}
