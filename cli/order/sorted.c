#include "order/sorted.h"

#include "order/top.h"
#include "runtime/progress.h"

#include <stdlib.h>

bool sorted_wanted(const question *q) {
    if (q->options->memory.limit == 0 || q->places || q->options->expression) return false;
    return q->kind == ORDER_SORT || q->kind == ORDER_ARGSORT || q->kind == ORDER_UNIQUE ||
           (q->kind == ORDER_TOP && !top_wanted(q));
}

/* ---- reading --------------------------------------------------------------------------------- */

static sorter_plan plan_of(const question *q, const columns *c, int k, const char *file) {
    const memory_plan *memory = &q->options->memory;
    return (sorter_plan){.context = q->context,
                         .file = file,
                         .dtype = c->of[k].dtype,
                         .scale = c->of[k].scale,
                         .rules = answer_rules(q),
                         .distinct = q->kind == ORDER_UNIQUE,
                         .beside =
                             q->kind == ORDER_ARGSORT || q->kind == ORDER_TOP || q->options->times,
                         .memory = (memory->results + memory->pipes / 2) / c->count,
                         .library = memory->library};
}

static sorter *open_sorters(const question *q, const columns *c, const char *file) {
    sorter *of = calloc((size_t)c->count, sizeof *of);
    for (int k = 0; of && k < c->count; k++) {
        const sorter_plan plan = plan_of(q, c, k, file);
        sorter_open(&of[k], &plan);
    }
    return of;
}

static void close_sorters(sorter **of, int n) {
    for (int k = 0; *of && k < n; k++) sorter_close(&(*of)[k]);
    free(*of);
    *of = NULL;
}

/* Adds the numbers of column k. Those left out would have no place, where places are shown. */
static int add_numbers(sorted *x, rows *r, const rows_chunk *chunk, int k) {
    rows_numbers present;
    if (!rows_present(r, chunk, k, __builtin_ctz(r->can[k]), NULL, &present))
        return fail_status(BF_E_MEMORY, NULL, r->source.name);
    const int64_t n = present.numbers.shape[0];
    if (n < chunk->n && x->question->kind == ORDER_TOP)
        return fail(EXIT_DATA, r->source.name,
                    "--memory is too small for so many numbers and --null-policy skip");
    x->columns.of[k].nulls += chunk->n - n;
    return sorter_add(&x->sorters[k], present.numbers.data, n);
}

/* ROWS_RESETTLED: some column has another dtype. */
static int sort_rows(sorted *x, rows *r) {
    rows_chunk chunk = {.n = 1};
    int code = rows_prepare(r);
    if (code == EXIT_DONE) code = columns_settle(&x->columns, r);
    if (code != EXIT_DONE) return code;
    for (int k = 0; k < r->columns; k++) x->columns.of[k].nulls = 0;
    x->n = 0;
    x->sorters = open_sorters(x->question, &x->columns, r->source.name);
    if (!x->sorters) return fail_status(BF_E_MEMORY, NULL, r->source.name);
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, 0, &chunk);
        for (int k = 0; k < r->columns && code == EXIT_DONE && chunk.n > 0; k++)
            code = add_numbers(x, r, &chunk, k);
        x->n += chunk.n;
    }
    return code;
}

static void forget_file(sorted *x) {
    close_sorters(&x->sorters, x->columns.count);
    columns_close(&x->columns);
}

int sorted_read(sorted *x, rows *r) {
    forget_file(x);
    int code = columns_begin(&x->columns, r);
    if (code != EXIT_DONE) return code;
    while ((code = sort_rows(x, r)) == ROWS_RESETTLED) {
        close_sorters(&x->sorters, r->columns);
        rows_again(r);
    }
    for (int k = 0; k < r->columns && code == EXIT_DONE; k++) code = sorter_end(&x->sorters[k]);
    return code;
}

/* ---- showing --------------------------------------------------------------------------------- */

static int64_t shown_of(const question *q, const sorter *s) {
    return q->kind == ORDER_TOP && q->options->first < s->count ? q->options->first : s->count;
}

/* The part as an answer: indices that are asked for are its values. */
static answer answer_of(const question *q, const sorter *s, const sorter_part *p) {
    const bool index = q->kind == ORDER_ARGSORT;
    return (answer){.scale = index ? 0 : s->plan.scale,
                    .values = index ? bf_array_of(BF_I64, p->beside, p->n)
                                    : bf_array_of(s->plan.dtype, p->values, p->n),
                    .beside = index ? NULL : p->beside};
}

/* Adds a part to the total, behind so many numbers. */
static int add_to_total(sorted *x, int k, sorter_part *p) {
    if (!x->totals) return EXIT_DONE;
    for (int64_t i = 0; i < p->n && p->beside && !x->totals[k].plan.distinct; i++)
        p->beside[i] += x->all;
    const units_form from = columns_form(&x->columns, k), to = columns_form(&x->total, k);
    sorter_part part = *p;
    part.values = malloc((size_t)p->n * bf_dtype_size(to.dtype) + 1);
    int code = part.values ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, x->sorters[k].plan.file);
    if (code == EXIT_DONE && !units_bring(from, p->values, p->n, to, part.values))
        code = rows_refuse_scale(x->sorters[k].plan.file);
    if (code == EXIT_DONE) code = sorter_append(&x->totals[k], &part);
    free(part.values);
    return code;
}

/* How a column is shown. */
typedef struct putting {
    sorted *x;
    const answer *all;
    int k;
    sorter *sorter;
    bool total;         /* it is added to that */
    const kept *behind; /* for what is beside the numbers; NULL: nothing is */
    sorter_part part;   /* behind so many others */
    int64_t before;
    bool failed; /* the output did */
} putting;

static int put_part(void *arg) {
    putting *p = arg;
    const question *q = p->x->question;
    answer part = answer_of(q, p->sorter, &p->part);
    part.file = p->all->file;
    part.column = p->all->column;
    const bool many = q->options->file_count > 1 || q->options->total;
    const int code = answer_part(&part, q, p->x->output, many, p->before, p->behind);
    p->failed = ferror(p->x->output->stream);
    return code == EXIT_DONE && p->total ? add_to_total(p->x, p->k, &p->part) : code;
}

/* Shows the parts of a column, each in the background while the next is merged. */
static int put_parts(putting *p) {
    const int64_t shown = p->all->values.shape[0];
    background showing = {.code = EXIT_DONE};
    int code = EXIT_DONE;
    for (int64_t done = 0; done < shown && code == EXIT_DONE;) {
        sorter_part part;
        code = sorter_next(p->sorter, &part);
        const int before = background_end(&showing);
        if (code == EXIT_DONE) code = before;
        if (code != EXIT_DONE || p->failed) break;
        if (part.n > shown - done) part.n = shown - done;
        p->part = part;
        p->before = done;
        background_start(&showing, put_part, p);
        done += part.n;
        progress_add(part.n * (int64_t)bf_dtype_size(p->sorter->plan.dtype));
        progress_tick();
    }
    const int last = background_end(&showing);
    return code == EXIT_DONE ? last : code;
}

/* Shows n numbers of a column, in their order. What is beside them comes last in JSON. */
static int put_column(sorted *x, answer *all, int k, sorter *s, bool total) {
    const question *q = x->question;
    const bool object = x->output->layout == LAYOUT_JSON && !output_is_array(x->output);
    const bool behind = object && s->plan.beside && q->kind != ORDER_ARGSORT;
    kept beside;
    int code = behind ? kept_open(&beside) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    answer_begin(all, q, x->output);
    putting p = {x, all, k, s, total, behind ? &beside : NULL, {.n = 0}, 0, false};
    code = put_parts(&p);
    if (code == EXIT_DONE) code = answer_end(all, q, x->output, behind ? &beside : NULL);
    if (behind) kept_close(&beside);
    return code;
}

static int put_columns(sorted *x, const columns *c, sorter *of, const char *file, int64_t n,
                       double began, bool total) {
    const question *q = x->question;
    int code = EXIT_DONE;
    for (int k = 0; k < c->count && code == EXIT_DONE; k++) {
        const sorter_part none = {.n = shown_of(q, &of[k])};
        answer all = answer_of(q, &of[k], &none);
        all.file = file;
        all.column = c->count > 1 ? c->of[k].name : NULL;
        all.info.dtype = c->of[k].dtype;
        all.info.scale = c->of[k].scale;
        all.nulls = c->of[k].nulls;
        all.info.count = n - all.nulls;
        all.seconds = progress_clock() - began;
        progress_start(file, none.n * (int64_t)bf_dtype_size(of[k].plan.dtype));
        code = put_column(x, &all, k, &of[k], total);
        progress_stop();
    }
    return code;
}

static int open_total(sorted *x, const char *file) {
    const options *o = x->question->options;
    int code = columns_append(&x->total, &x->columns, file, o->files[0]);
    for (int k = 0; x->totals && k < x->total.count && code == EXIT_DONE; k++)
        code = sorter_bring(&x->totals[k], columns_form(&x->total, k));
    if (code != EXIT_DONE || x->totals) return code;
    x->totals = open_sorters(x->question, &x->total, "total");
    return x->totals ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, file);
}

int sorted_put(sorted *x, const char *file, double began) {
    const bool total = x->question->options->total;
    int code = total ? open_total(x, file) : EXIT_DONE;
    note_device(x->question->context, file);
    if (code == EXIT_DONE) code = put_columns(x, &x->columns, x->sorters, file, x->n, began, total);
    for (int k = 0; x->totals && k < x->total.count; k++) sorter_cut(&x->totals[k]);
    x->all += x->n;
    forget_file(x);
    return code;
}

int sorted_put_total(sorted *x, double began) {
    int code = EXIT_DONE;
    for (int k = 0; k < x->total.count && code == EXIT_DONE; k++) code = sorter_end(&x->totals[k]);
    if (code != EXIT_DONE) return code;
    return put_columns(x, &x->total, x->totals, "total", x->all, began, false);
}

void sorted_close(sorted *x) {
    forget_file(x);
    close_sorters(&x->totals, x->total.count);
    columns_close(&x->total);
}
