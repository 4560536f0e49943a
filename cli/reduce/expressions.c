#define _GNU_SOURCE /* strndup */
#include "reduce/expressions.h"

#include "expression/inputs.h"
#include "expression/names.h"
#include "input/share.h"
#include "memory/buffer.h"
#include "reduce/together.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "work/units.h"
#include "work/wide.h"

#include <stdlib.h>
#include <string.h>

typedef struct expressions {
    task *task;
    bf_reduction op;
    int count;
    expressed *all;
    formula_results *results; /* the rows at hand have these */
    buffer *brought;          /* numbers of each in the form of all */
    bf_array *numbers;        /* show them, or the results */
    buffer pair[2];           /* numbers of two, where both have one */
    units_form form;          /* what holds the numbers of all */
    int64_t start;            /* the index of the first row */
    bf_state **states;
} expressions;

/* ---- the list -------------------------------------------------------------------------------- */

int expressions_count(const char *list) {
    int n = 1;
    for (const char *at = names_end(list, ","); *at; at = names_end(at + 1, ",")) n++;
    return n;
}

bool expressions_split(const char *list, char *texts[]) {
    for (int i = 0;; i++) {
        const char *const end = names_end(list, ",");
        list += strspn(list, " ");
        texts[i] = strndup(list, (size_t)(end - list));
        if (!texts[i] || *end == '\0') return texts[i] != NULL;
        list = end + 1;
    }
}

/* ---- one form -------------------------------------------------------------------------------- */

/* Integers of text have the greatest scale of all; what else differs becomes f64. */
static units_form find_form(const expressions *x) {
    units_form form = {x->all[0].form.dtype, x->all[0].form.scale, BF_TIME_NONE};
    for (int i = 1; i < x->count; i++) {
        const units_form other = {x->all[i].form.dtype, x->all[i].form.scale, BF_TIME_NONE};
        if (!units_are_same(form, other) && !units_join(&form, other))
            return (units_form){BF_F64, 0, BF_TIME_NONE};
    }
    return form;
}

/* Brings the results of one to the form of all. */
static int bring(expressions *x, int i) {
    const char *file = x->task->options->files[0];
    const bf_array *from = &x->results[i].numbers;
    const units_form own = {from->dtype, x->all[i].form.scale, BF_TIME_NONE};
    const int64_t n = from->shape[0];
    x->numbers[i] = *from;
    if (units_are_same(own, x->form)) return EXIT_DONE;
    void *const to = buffer_take(&x->brought[i], (size_t)n * bf_dtype_size(x->form.dtype));
    if (!to) return fail_memory(file);
    x->numbers[i] = bf_array_of(x->form.dtype, to, n);
    if (x->form.dtype != BF_F64)
        return units_bring(own, from->data, n, x->form, to) ? EXIT_DONE : rows_refuse_scale(file);
    for (int64_t k = 0; k < n; k++)
        ((double *)to)[k] = units_double(own.dtype, own.scale, from->data, k);
    return EXIT_DONE;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Copies the numbers of rows in which both have one. */
static bool copy_present(const bf_array *from, const uint8_t *valid, const uint8_t *beside,
                         buffer *room, bf_array *to) {
    const size_t size = bf_dtype_size(from->dtype);
    const int64_t n = from->shape[0];
    char *const out = buffer_take(room, (size_t)n * size);
    int64_t there = 0;
    for (int64_t i = 0; i < n && out; i++) {
        if ((valid && !valid[i]) || (beside && !beside[i])) continue;
        memcpy(out + (size_t)there++ * size, (const char *)from->data + (size_t)i * size, size);
    }
    *to = bf_array_of(from->dtype, out, there);
    return out != NULL;
}

static bf_status absorb_pair(expressions *x, int i, int j, bf_state *state) {
    const uint8_t *const valid[] = {x->results[i].valid, x->results[j].valid};
    const bf_array *a = &x->numbers[i], *b = &x->numbers[j];
    bf_array of_a, of_b;
    if (!valid[0] && !valid[1]) return bf_state_absorb_pair(state, a, b);
    const bool copied = copy_present(a, valid[0], valid[1], &x->pair[0], &of_a) &&
                        copy_present(b, valid[1], valid[0], &x->pair[1], &of_b);
    return copied ? bf_state_absorb_pair(state, &of_a, &of_b) : BF_E_MEMORY;
}

static int absorb_rows_at_hand(expressions *x) {
    bf_status st = BF_OK;
    int code = EXIT_DONE;
    for (int i = 0; i < x->count && code == EXIT_DONE; i++) {
        if (i > 0) expressed_follow(&x->all[i], &x->all[0]);
        code = expressed_compute(&x->all[i], &x->results[i]);
    }
    if (code == EXIT_DONE && !units_are_same(x->form, find_form(x))) return ROWS_RESETTLED;
    for (int i = 0; i < x->count && code == EXIT_DONE; i++) code = bring(x, i);
    if (code != EXIT_DONE) return code;
    if (x->count == 2) st = absorb_pair(x, 0, 1, x->states[0]);
    for (int i = 0; i < x->count && x->count > 2; i++)
        for (int j = 0; j <= i && st == BF_OK; j++)
            st = absorb_pair(x, i, j, x->states[together_state(i, j)]);
    return st == BF_OK ? EXIT_DONE : fail_status(st, x->task->context, x->task->options->files[0]);
}

/* ---- one value ------------------------------------------------------------------------------- */

static bool is_wide(const expressions *x) { return state_info(x->states[0]).dtype == BF_I128; }

/* An earlier run, or another rank, may have found that 64 bits do not hold the results. */
static int match_state(expressions *x, bool wide) {
    expressed *one = &x->all[0];
    bf_status st = BF_OK;
    const int code = wide && !one->formula.wide ? expressed_widen(one) : EXIT_DONE;
    if (code == EXIT_DONE && one->form.dtype == BF_I128 && !is_wide(x))
        st = wide_state(x->task->context, &x->states[0]);
    return st == BF_OK ? code : fail_status(st, x->task->context, NULL);
}

/* ---- the work -------------------------------------------------------------------------------- */

static int parse_all(expressions *x) {
    const char *file = x->task->options->files[0];
    int code = EXIT_DONE;
    for (int i = 0; i < x->count && code == EXIT_DONE; i++) {
        code = expressed_parse(&x->all[i]);
        if (code == EXIT_DONE && !units_have(x->all[i].form.time, x->op))
            code = rows_refuse_times(file, bf_reduction_name(x->op));
    }
    x->form = find_form(x);
    return code;
}

static int walk_inputs(expressions *x) {
    expressed *one = &x->all[0];
    work *w = &x->task->work;
    const work_thing thing = {.state = &x->states[0]};
    const int64_t most = expressed_step(one, INT64_MAX);
    int code = work_begin(w, one->input, one->file_count);
    if (code == EXIT_DONE) code = parse_all(x);
    if (code == EXIT_DONE)
        code = together_make_states(x->task, x->op, x->form, x->start, x->states, x->count);
    if (code == EXIT_DONE) code = work_hold(w, &thing, 1);
    if (code == EXIT_DONE && x->count == 1)
        code = match_state(x, is_wide(x) && one->form.dtype != BF_I128);
    while (code == EXIT_DONE && (code = expressed_next(one, most)) == EXIT_DONE && one->n > 0) {
        code = x->count > 1 ? absorb_rows_at_hand(x) : expressed_absorb(one, x->states, x->op);
        if (code == EXIT_DONE) work_tick(w);
    }
    return code;
}

/* Reads all; anew if a text turns out to have another dtype than it seemed to have. */
static int walk_all(expressions *x) {
    int code;
    while ((code = walk_inputs(x)) == ROWS_RESETTLED) expressed_again(&x->all[0]);
    return code;
}

/* Another rank's rows may show the dtype, too. */
static int reduce_inputs(expressions *x) {
    expressed *one = &x->all[0];
    work *w = &x->task->work;
    int code = work_end(w, walk_all(x), false);
    while (code == ROWS_RESETTLED) {
        code = EXIT_DONE;
        if (!expressed_kinds_stay(one)) {
            expressed_again(one);
            code = walk_all(x);
        }
        code = work_end(w, code, false);
    }
    if (code != EXIT_DONE || x->count > 1) return code;
    x->task->time = one->form.time;
    code = ranks_agree(match_state(x, ranks_any(is_wide(x))));
    return code == EXIT_DONE
               ? task_merge_ranks(x->task, x->op, x->states, 1, one->inputs[0].source.name)
               : code;
}

static int read_files(expressions *x, const char *const texts[]) {
    task *t = x->task;
    expressed *one = &x->all[0];
    const options *o = t->options;
    rows_options how = task_rows(t, x->op);
    int64_t first;
    how.digits = x->op != BF_PROD ? BF_SCALE_MOST_I128 : 0;
    how.times = true;
    int code =
        expressed_open_list(x->all, texts, x->count, o, o->files, o->file_count, t->context, &how);
    if (code == EXIT_DONE) code = share_rows(one->input, one->file_count, &first);
    if (code == EXIT_DONE) code = ranks_agree(expressed_prepare(one));
    if (code != EXIT_DONE) return code;
    for (int i = 0; i < o->file_count; i++) task_tell_input(t, one->input[i]);
    const double began = progress_clock();
    progress_start(o->files[0], expressed_bytes(one));
    x->start = task_start(t, first);
    code = reduce_inputs(x);
    progress_stop();
    t->bytes = expressed_bytes(one);
    t->threads = o->threads;
    if (code == EXIT_DONE && t->bytes >= 0)
        task_tell_speed(t, one->input[0], progress_clock() - began);
    return code;
}

int expressions_absorb(task *t, bf_reduction op, const char *const texts[], int n,
                       bf_state **states, int64_t *seen) {
    const size_t count = (size_t)n;
    expressions x = {.task = t,
                     .op = op,
                     .count = n,
                     .all = calloc(count, sizeof *x.all),
                     .results = calloc(count, sizeof *x.results),
                     .brought = calloc(count, sizeof *x.brought),
                     .numbers = calloc(count, sizeof *x.numbers),
                     .states = states};
    const bool room = x.all && x.results && x.brought && x.numbers;
    const int code = room ? read_files(&x, texts) : fail_memory(t->options->files[0]);
    *seen = room ? x.all[0].at : 0;
    for (int i = n - 1; room && i >= 0; i--) {
        expressed_close(&x.all[i]);
        buffer_free(&x.brought[i]);
    }
    buffer_free(&x.pair[0]);
    buffer_free(&x.pair[1]);
    free(x.all);
    free(x.results);
    free(x.brought);
    free(x.numbers);
    return code;
}
