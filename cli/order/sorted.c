#include "order/sorted.h"

#include "input/share.h"
#include "memory/background.h"
#include "order/top.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "work/united.h"
#include "work/work.h"

#include <stdlib.h>

bool sorted_wanted(const question *q) {
    const bool wanted = q->options->memory.limit > 0 || ranks_count() > 1;
    if (!wanted || q->places || q->options->expression) return false;
    return q->kind == ORDER_SORT || q->kind == ORDER_ARGSORT || q->kind == ORDER_UNIQUE ||
           (q->kind == ORDER_TOP && !top_wanted(q));
}

/* Half of the memory of results is for what is shown, and the other for copies of it. */
int sorted_open(bf_context **context, const options *o) {
    return context_open_spilling(context, o, o->memory.library + o->memory.results / 2);
}

static int end_call(const sorted *x, bf_status st, const char *file) {
    return st == BF_OK ? EXIT_DONE : context_failed(x->question->context, st, file);
}

/* ---- sorters --------------------------------------------------------------------------------- */

/* Whether a number goes with each: its index, or how often it occurs. */
static bool has_beside(const question *q) {
    return q->kind == ORDER_ARGSORT || q->kind == ORDER_TOP || q->options->times;
}

/* Opens the sorter of one of so many columns. */
static int open_column(const sorted *x, sorted_column *c, units_form form, int among,
                       const char *file) {
    const question *q = x->question;
    const bf_order_options rules = answer_rules(q);
    const int64_t memory = q->options->memory.library / among;
    const bf_sorter_options wanted =
        BF_SORTER_OPTIONS(.dtype = form.dtype, .different = q->kind == ORDER_UNIQUE,
                          .beside = has_beside(q), .descending = rules.descending, .nan = rules.nan,
                          .memory = q->options->total ? memory / 2 : memory);
    *c = (sorted_column){.form = form};
    return end_call(x, bf_sorter_create(q->context, &wanted, &c->sorter), file);
}

static int open_columns(const sorted *x, sorted_column **of, const columns *c, const char *file) {
    *of = calloc((size_t)c->count, sizeof **of);
    int code = *of ? EXIT_DONE : fail_memory(file);
    for (int k = 0; k < c->count && code == EXIT_DONE; k++)
        code = open_column(x, &(*of)[k], c->of[k].form, c->count, file);
    return code;
}

static void close_columns(sorted_column **of, int n) {
    for (int k = 0; *of && k < n; k++) bf_sorter_destroy((*of)[k].sorter);
    free(*of);
    *of = NULL;
}

static int end_columns(const sorted *x, sorted_column *of, int n, const char *file) {
    bf_status st = BF_OK;
    for (int k = 0; k < n && st == BF_OK; k++) st = bf_sorter_end(of[k].sorter, &of[k].count);
    return end_call(x, st, file);
}

/* ---- parts ----------------------------------------------------------------------------------- */

enum { PART_BYTES = 1 << 22, UNITED_BYTES = 1 << 26, PARTS = 2 };

/* The numbers that a part has room for. Ranks wait for each other at each, and need as much beside
 * them. */
static int64_t room_of(const question *q) {
    const bool several = ranks_count() > 1;
    const int64_t share = q->options->memory.results / ((several ? 4 : 2) * PARTS);
    const int64_t most = several ? UNITED_BYTES : PART_BYTES;
    return (share > 0 && share < most ? share : most) / 24;
}

static int open_part(const question *q, united_part *p, const char *file) {
    return united_part_open(p, room_of(q), has_beside(q)) ? EXIT_DONE : fail_memory(file);
}

/* Reads on. */
static int next_part(const sorted *x, const sorted_column *c, united_part *p, const char *file) {
    return end_call(x, united_part_read(p, c->sorter, c->form.dtype), file);
}

/* Adds a part to a column that holds its numbers in another form. */
static int add_part(const sorted *x, const sorted_column *c, const united_part *p, units_form from,
                    const char *file) {
    char *brought = malloc((size_t)p->n * bf_dtype_size(c->form.dtype) + 1);
    int code = brought ? EXIT_DONE : fail_memory(file);
    if (code == EXIT_DONE && !units_bring(from, p->values, p->n, c->form, brought))
        code = rows_refuse_scale(file);
    const bf_array values = bf_array_of(c->form.dtype, brought, p->n),
                   beside = bf_array_of(BF_I64, p->beside, p->n);
    if (code == EXIT_DONE)
        code = end_call(x, bf_sorter_add(c->sorter, &values, p->beside ? &beside : NULL), file);
    free(brought);
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Prepares to bring the numbers of all ranks to rank 0. */
static int open_united(const sorted *x, united *g, const sorted_column *c, const char *file) {
    const question *q = x->question;
    *g = (united){.context = q->context,
                  .rules = answer_rules(q),
                  .file = file,
                  .sorter = c->sorter,
                  .dtype = c->form.dtype,
                  .first = q->kind == ORDER_UNIQUE ? 0 : x->first};
    return ranks_agree(united_open(g, room_of(q), has_beside(q)) ? EXIT_DONE : fail_memory(file));
}

/* Rank 0 gets all different numbers, for others have some of them, too. */
static int move_column(const sorted *x, sorted_column *c, const char *file) {
    united g;
    int code = open_united(x, &g, c, file);
    if (code == EXIT_DONE) code = united_move(&g);
    united_close(&g);
    return code;
}

/* Ends the columns of a file, and counts what all ranks have. */
static int end_shared(const sorted *x, int n, const char *file) {
    const bool moves = x->question->kind == ORDER_UNIQUE && ranks_count() > 1;
    int code = EXIT_DONE;
    for (int k = 0; k < n && moves && code == EXIT_DONE; k++)
        code = move_column(x, &x->of[k], file);
    if (code == EXIT_DONE) code = ranks_agree(end_columns(x, x->of, n, file));
    for (int k = 0; k < n && code == EXIT_DONE; k++)
        x->of[k].count = ranks_sum(moves && ranks_rank() > 0 ? 0 : x->of[k].count);
    return code;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Adds the numbers of column k. Those left out would have no place, where places are shown. */
static int add_numbers(sorted *x, rows *r, const rows_chunk *chunk, int k) {
    rows_numbers present;
    if (!rows_present(r, chunk, k, __builtin_ctz(rows_can(r, k)), NULL, &present))
        return fail_memory(r->source.name);
    const int64_t n = present.numbers.shape[0];
    if (n < chunk->n && x->question->kind == ORDER_TOP)
        return fail(EXIT_DATA, r->source.name,
                    "--memory is too small for so many numbers and --null-policy skip");
    x->columns.of[k].nulls += chunk->n - n;
    return end_call(x, bf_sorter_add(x->of[k].sorter, &present.numbers, NULL), r->source.name);
}

/* ROWS_RESETTLED: some column has another dtype. */
static int sort_rows(sorted *x, rows *r) {
    rows_chunk chunk = {.n = 1};
    int code = rows_prepare(r);
    if (code == EXIT_DONE) code = columns_settle(&x->columns, r);
    if (code != EXIT_DONE) return code;
    for (int k = 0; k < r->columns; k++) x->columns.of[k].nulls = 0;
    x->n = 0;
    code = open_columns(x, &x->of, &x->columns, r->source.name);
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, 0, &chunk);
        for (int k = 0; k < r->columns && code == EXIT_DONE && chunk.n > 0; k++)
            code = add_numbers(x, r, &chunk, k);
        x->n += chunk.n;
    }
    return code;
}

static void forget_file(sorted *x) {
    close_columns(&x->of, x->columns.count);
    columns_close(&x->columns);
}

/* Sorts this rank's rows, anew until the dtypes are right. */
static int sort_settled(sorted *x, rows *r) {
    int code;
    while ((code = sort_rows(x, r)) == ROWS_RESETTLED) {
        close_columns(&x->of, r->columns);
        rows_again(r);
    }
    return code;
}

/* Another rank's rows may show that they are not. */
static int sort_shared(sorted *x, rows *r) {
    bool changed = false;
    int code = ranks_agree(sort_settled(x, r));
    while (code == EXIT_DONE && ranks_any(changed = work_settle_input(r))) {
        if (changed) close_columns(&x->of, r->columns);
        if (changed) rows_again(r);
        code = ranks_agree(changed ? sort_settled(x, r) : EXIT_DONE);
    }
    return code;
}

int sorted_read(sorted *x, rows *r) {
    rows *const inputs[] = {r};
    const int64_t offset = r->source.first;
    forget_file(x);
    int code = ranks_agree(columns_begin(&x->columns, r));
    if (code == EXIT_DONE) code = share_rows(inputs, 1, &x->first);
    x->first -= offset;
    if (code == EXIT_DONE) code = sort_shared(x, r);
    if (code == EXIT_DONE) code = end_shared(x, r->columns, r->source.name);
    if (code != EXIT_DONE) return code;
    x->n = ranks_sum(x->n);
    for (int k = 0; k < r->columns; k++) x->columns.of[k].nulls = ranks_sum(x->columns.of[k].nulls);
    return EXIT_DONE;
}

/* ---- showing --------------------------------------------------------------------------------- */

static int64_t shown_of(const question *q, const sorted_column *c) {
    return q->kind == ORDER_TOP && q->options->first < c->count ? q->options->first : c->count;
}

/* The part as an answer: indices that are asked for are its values. */
static answer answer_of(const question *q, const sorted_column *c, const united_part *p) {
    const bool index = q->kind == ORDER_ARGSORT;
    return (answer){.scale = index ? 0 : c->form.scale,
                    .time = c->form.time,
                    .values = index ? bf_array_of(BF_I64, p->beside, p->n)
                                    : bf_array_of(c->form.dtype, p->values, p->n),
                    .beside = index ? NULL : p->beside};
}

/* Adds a part to the total, behind so many numbers. */
static int add_to_total(const sorted *x, int k, united_part *p, const char *file) {
    const int64_t before = p->beside && x->question->kind != ORDER_UNIQUE ? x->all : 0;
    for (int64_t i = 0; i < p->n && before > 0; i++) p->beside[i] += before;
    const int code = add_part(x, &x->totals[k], p, x->of[k].form, file);
    for (int64_t i = 0; i < p->n && before > 0; i++) p->beside[i] -= before;
    return code;
}

/* How a column is shown. */
typedef struct putting {
    sorted *x;
    const answer *all;
    int k;
    const sorted_column *column;
    united united;      /* over ranks */
    bool total;         /* it is added to that */
    const kept *behind; /* for what is beside the numbers; NULL: nothing is */
    united_part parts[PARTS];
    const united_part *part; /* behind so many others */
    int64_t before;
    bool failed; /* the output did */
} putting;

static int put_part(void *arg) {
    putting *p = arg;
    const question *q = p->x->question;
    if (ranks_rank() > 0) return EXIT_DONE; /* rank 0 has the numbers */
    answer some = answer_of(q, p->column, p->part);
    some.file = p->all->file;
    some.column = p->all->column;
    const bool many = q->options->file_count > 1 || q->options->total;
    const int code = answer_part(&some, q, p->x->output, many, p->before, p->behind);
    p->failed = ferror(p->x->output->stream);
    return code;
}

/* Reads the next part that is shown. */
static int take_part(putting *p, united_part *next, int64_t left) {
    int code = ranks_count() > 1 ? united_next(&p->united, next)
                                 : next_part(p->x, p->column, next, p->all->file);
    if (next->n > left) next->n = left;
    if (code == EXIT_DONE && p->total && ranks_rank() == 0)
        code = add_to_total(p->x, p->k, next, p->all->file);
    progress_add(next->n * (int64_t)bf_dtype_size(p->column->form.dtype));
    progress_tick();
    return code;
}

/* Shows the parts of a column, each in the background while the next is read. */
static int put_parts(putting *p) {
    const int64_t shown = p->all->values.shape[0];
    background showing = {.code = EXIT_DONE};
    int code = EXIT_DONE, i = 0;
    for (int64_t done = 0; done < shown && code == EXIT_DONE; i = 1 - i) {
        code = take_part(p, &p->parts[i], shown - done);
        const int before = background_end(&showing);
        code = ranks_agree(code == EXIT_DONE ? before : code);
        if (code != EXIT_DONE || ranks_any(p->failed)) break;
        p->part = &p->parts[i];
        p->before = done;
        background_start(&showing, put_part, p);
        done += p->parts[i].n;
    }
    const int last = background_end(&showing);
    return code == EXIT_DONE ? last : code;
}

static int open_parts(putting *p) {
    const question *q = p->x->question;
    int code = EXIT_DONE;
    for (int i = 0; i < PARTS && code == EXIT_DONE; i++)
        code = open_part(q, &p->parts[i], p->all->file);
    code = ranks_agree(code);
    if (code == EXIT_DONE && ranks_count() > 1)
        code = open_united(p->x, &p->united, p->column, p->all->file);
    return code;
}

static void close_parts(putting *p) {
    for (int i = 0; i < PARTS; i++) united_part_close(&p->parts[i]);
    united_close(&p->united);
}

/* Shows the numbers of a column, in their order. What is beside them comes last in JSON. */
static int put_column(sorted *x, answer *all, int k, const sorted_column *c, bool total) {
    const question *q = x->question;
    const bool object = x->output->layout == LAYOUT_JSON && !output_is_array(x->output);
    const bool behind = object && has_beside(q) && q->kind != ORDER_ARGSORT;
    kept beside;
    int code = ranks_agree(behind ? kept_open(&beside) : EXIT_DONE);
    if (code != EXIT_DONE) return code;
    answer_begin(all, q, x->output);
    putting p = {x, all, k, c, .total = total, .behind = behind ? &beside : NULL};
    code = open_parts(&p);
    if (code == EXIT_DONE) code = put_parts(&p);
    close_parts(&p);
    if (code == EXIT_DONE) code = answer_end(all, q, x->output, behind ? &beside : NULL);
    if (behind) kept_close(&beside);
    return ranks_agree(code);
}

static int put_columns(sorted *x, const columns *c, const sorted_column *of, const char *file,
                       int64_t n, double began, bool total) {
    const question *q = x->question;
    int code = EXIT_DONE;
    for (int k = 0; k < c->count && code == EXIT_DONE; k++) {
        const united_part none = {.n = shown_of(q, &of[k])};
        answer all = answer_of(q, &of[k], &none);
        all.file = file;
        all.column = c->count > 1 ? c->of[k].name : NULL;
        all.info.dtype = c->of[k].form.dtype;
        all.info.scale = c->of[k].form.scale;
        all.nulls = c->of[k].nulls;
        all.info.count = n - all.nulls;
        all.seconds = progress_clock() - began;
        progress_start(file, none.n * (int64_t)bf_dtype_size(of[k].form.dtype));
        code = put_column(x, &all, k, &of[k], total);
        progress_stop();
    }
    return code;
}

/* Brings the numbers of a column to another form, which holds them all. */
static int bring_column(sorted *x, sorted_column *c, units_form form, const char *file) {
    sorted_column to;
    united_part p;
    if (units_are_same(c->form, form)) return EXIT_DONE;
    int code = open_column(x, &to, form, x->total.count, file);
    const int opened = open_part(x->question, &p, file);
    if (code == EXIT_DONE) code = opened;
    for (p.n = 1; code == EXIT_DONE && p.n > 0;) {
        code = next_part(x, c, &p, file);
        if (code == EXIT_DONE) code = add_part(x, &to, &p, c->form, file);
    }
    united_part_close(&p);
    bf_sorter_destroy(code == EXIT_DONE ? c->sorter : to.sorter);
    if (code == EXIT_DONE) *c = to;
    return code;
}

static int open_total(sorted *x, const char *file) {
    const options *o = x->question->options;
    int code = columns_append(&x->total, &x->columns, file, o->files[0]);
    for (int k = 0; x->totals && k < x->total.count && code == EXIT_DONE; k++)
        code = bring_column(x, &x->totals[k], x->total.of[k].form, file);
    if (code != EXIT_DONE || x->totals) return code;
    return open_columns(x, &x->totals, &x->total, "total");
}

int sorted_put(sorted *x, const char *file, double began) {
    const bool total = x->question->options->total;
    int code = ranks_agree(total ? open_total(x, file) : EXIT_DONE);
    note_device(x->question->context, file);
    if (code == EXIT_DONE) code = put_columns(x, &x->columns, x->of, file, x->n, began, total);
    x->all += x->n;
    forget_file(x);
    return code;
}

int sorted_put_total(sorted *x, double began) {
    const int code = end_columns(x, x->totals, x->total.count, "total");
    if (code != EXIT_DONE) return code;
    return put_columns(x, &x->total, x->totals, "total", x->all, began, false);
}

void sorted_close(sorted *x) {
    forget_file(x);
    close_columns(&x->totals, x->total.count);
    columns_close(&x->total);
}
