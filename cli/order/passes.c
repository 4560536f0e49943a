#include "order/passes.h"

#include "memory/hardware.h"
#include "options/context.h"
#include "runtime/ranks.h"

#include <inttypes.h>
#include <stdlib.h>

/* Numbers of text may take so many times the bytes of their digits. Up to SMALL bytes of an array
 * are sooner copied than counted. */
enum { TEXT_GROWTH = 4, SMALL = 1 << 20 };

/* ---- inputs ---------------------------------------------------------------------------------- */

int passes_open(passes *x, const question *q, output *out) {
    const options *o = q->options;
    const bool median = q->kind == ORDER_MEDIAN;
    *x = (passes){.question = q, .output = out};
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

static int answer_columns(const passes *x, const quantiles *q, const char *file, const columns *c,
                          double began) {
    int code = EXIT_DONE;
    const double seconds = progress_clock() - began;
    for (int k = 0; k < q->columns && code == EXIT_DONE; k++) {
        answer a = {
            .file = file, .column = c->count > 1 ? c->of[k].name : NULL, .seconds = seconds};
        code = answer_column(x, q, k, &a);
    }
    return ranks_agree(code);
}

static void tell_speed(const passes *x, const quantiles *q, const rows *r, double began) {
    const double seconds = progress_clock() - began;
    const int64_t bytes = rows_bytes(r);
    if (!x->question->options->stats || bytes < 0) return;
    inform(r->source.name, "%" PRId64 " bytes, read %d times in %.6f s: %.2f GB/s", bytes, q->pass,
           seconds, seconds > 0 ? 1e-9 * (double)bytes * q->pass / seconds : 0);
}

/* ---- the work -------------------------------------------------------------------------------- */

static int check_columns(const passes *x, const quantiles_input *in) {
    return in->columns > 1 && output_is_array(x->output)
               ? fail(EXIT_USAGE, in->name, "one array holds the results of one column, not %d",
                      in->columns)
               : EXIT_DONE;
}

/* Its columns have their forms when all is read. */
static int add_to_total(passes *x, const quantiles_input *in, columns *c) {
    for (int k = 0; k < c->count; k++) c->of[k].form = quantiles_form(in, k);
    return columns_append(&x->total, c, in->name, x->question->options->files[0]);
}

int passes_answer(passes *x, quantiles_input *in, double began) {
    quantiles q = {.columns = 0};
    columns c = {.count = 0};
    const bool total = x->question->options->total;
    int code = check_columns(x, in);
    if (code == EXIT_DONE) code = columns_begin(&c, &in->rows);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = quantiles_find(&q, &x->search, in, 1);
    if (code == EXIT_DONE && total) code = ranks_agree(add_to_total(x, in, &c));
    if (code == EXIT_DONE) {
        tell_speed(x, &q, &in->rows, began);
        code = answer_columns(x, &q, in->name, &c, began);
    }
    quantiles_free(&q);
    columns_close(&c);
    if (code == EXIT_DONE && total)
        quantiles_keep(in);
    else
        quantiles_close(in);
    return code;
}

int passes_answer_total(passes *x, double began) {
    quantiles q = {.columns = 0};
    int code = quantiles_find(&q, &x->search, x->inputs, x->count);
    if (code == EXIT_DONE) code = answer_columns(x, &q, "total", &x->total, began);
    quantiles_free(&q);
    return code;
}

void passes_close(passes *x, int code) {
    for (int i = 0; i < x->count; i++) quantiles_close(&x->inputs[i]);
    columns_close(&x->total);
    free(x->inputs);
    work_close(&x->work, code);
}
