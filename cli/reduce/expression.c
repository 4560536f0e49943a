#include "reduce/expression.h"

#include "expression/inputs.h"
#include "input/share.h"
#include "reduce/many.h"
#include "reduce/reduce.h"
#include "reduce/task.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "work/units.h"
#include "work/wide.h"

#include <stdlib.h>

typedef struct reduction {
    task *task;
    bf_reduction op;
    expressed expressed;
    bf_state *state;
} reduction;

/* ---- the work -------------------------------------------------------------------------------- */

static int absorb_all(reduction *r) {
    expressed *x = &r->expressed;
    const int64_t most = expressed_step(x, INT64_MAX);
    int code = EXIT_DONE;
    while ((code = expressed_next(x, most)) == EXIT_DONE && x->n > 0) {
        code = expressed_absorb(x, &r->state, r->op);
        if (code != EXIT_DONE) return code;
        work_tick(&r->task->work);
    }
    return code;
}

static int make_state(reduction *r, int64_t start) {
    bf_state_destroy(r->state);
    r->state = NULL;
    bf_status st = bf_state_create(r->task->context, r->op, r->expressed.dtype, &r->state);
    if (st == BF_OK && r->expressed.scale > 0) st = bf_state_rescale(r->state, r->expressed.scale);
    if (st == BF_OK && reduce_is_ordered(r->op)) st = bf_state_seek(r->state, start);
    return st == BF_OK ? EXIT_DONE : fail_status(st, r->task->context, NULL);
}

/* An earlier run, or another rank, may have found that 64 bits do not hold the results. */
static int match_state(reduction *r, bool wide) {
    expressed *x = &r->expressed;
    bf_state_info info = {.size = sizeof info};
    bf_status st = bf_state_describe(r->state, &info);
    int code = EXIT_DONE;
    if (wide && !x->wide) code = expressed_widen(x);
    if (code == EXIT_DONE && x->dtype == BF_I128 && info.dtype != BF_I128)
        st = wide_state(r->task->context, &r->state);
    return st == BF_OK ? code : fail_status(st, r->task->context, NULL);
}

static bool is_wide(const reduction *r) {
    bf_state_info info = {.size = sizeof info};
    bf_state_describe(r->state, &info);
    return info.dtype == BF_I128;
}

static int walk_inputs(reduction *r, int64_t start) {
    work *w = &r->task->work;
    const work_thing thing = {.state = &r->state};
    int code = work_begin(w, r->expressed.input, r->expressed.file_count);
    if (code == EXIT_DONE) code = expressed_parse(&r->expressed);
    if (code == EXIT_DONE && !units_have(r->expressed.time, r->op))
        code = rows_refuse_times(r->task->options->files[0], bf_reduction_name(r->op));
    if (code == EXIT_DONE) code = make_state(r, start);
    if (code == EXIT_DONE) code = work_hold(w, &thing, 1);
    if (code == EXIT_DONE) code = match_state(r, is_wide(r) && r->expressed.dtype != BF_I128);
    return code == EXIT_DONE ? absorb_all(r) : code;
}

/* Reads all; anew if a text turns out to have another dtype than it seemed to have. */
static int make_value(reduction *r, int64_t start) {
    int code;
    while ((code = walk_inputs(r, start)) == ROWS_RESETTLED) expressed_again(&r->expressed);
    return code;
}

/* Another rank's rows may show the dtype, too. */
static int reduce_inputs(reduction *r, int64_t start) {
    work *w = &r->task->work;
    int code = work_end(w, make_value(r, start), false);
    while (code == ROWS_RESETTLED) {
        code = EXIT_DONE;
        if (!expressed_kinds_stay(&r->expressed)) {
            expressed_again(&r->expressed);
            code = make_value(r, start);
        }
        code = work_end(w, code, false);
    }
    if (code == EXIT_DONE) code = ranks_agree(match_state(r, ranks_any(is_wide(r))));
    return code == EXIT_DONE
               ? task_merge_ranks(r->task, r->op, &r->state, 1, r->expressed.inputs[0].source.name)
               : code;
}

static int find_value(reduction *r) {
    const options *o = r->task->options;
    expressed *x = &r->expressed;
    rows_options how = task_rows(r->task, r->op);
    int64_t first;
    how.digits = r->op != BF_PROD ? BF_SCALE_MOST_I128 : 0;
    how.times = true;
    int code = expressed_open(x, o, o->files, o->file_count, r->task->context, &how);
    if (code == EXIT_DONE) code = share_rows(x->input, x->file_count, &first);
    if (code == EXIT_DONE) code = ranks_agree(expressed_prepare(x));
    if (code != EXIT_DONE) return code;
    for (int i = 0; i < x->file_count; i++) task_tell_input(r->task, &x->inputs[i]);
    const double began = progress_clock();
    progress_start(o->files[0], expressed_bytes(x));
    code = reduce_inputs(r, task_start(r->task, first));
    progress_stop();
    r->task->bytes = expressed_bytes(x);
    r->task->threads = o->threads;
    if (code == EXIT_DONE && r->task->bytes >= 0)
        task_tell_speed(r->task, &x->inputs[0], progress_clock() - began);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_line(const options *o) {
    if (many_asked(o))
        return fail(EXIT_USAGE, NULL, "-e does not go with --axis, --offsets, --index or --empty");
    if (o->total || o->quantiles.n > 0)
        return fail(EXIT_USAGE, NULL, "-e does not go with --%s", o->total ? "total" : "quantiles");
    return expressed_check(o->file_count);
}

static int run_task(reduction *r, const options *o) {
    const double began = progress_clock();
    int code = task_open(r->task, o, false);
    if (code != EXIT_DONE) return code;
    code = find_value(r);
    r->task->time = r->expressed.time;
    const result value = {o->files[0], .expression = o->expression, .time = r->expressed.time,
                          .seconds = progress_clock() - began};
    if (code == EXIT_DONE) code = ranks_agree(task_emit(r->task, r->state, value, 0));
    return task_close(r->task, code, r->state);
}

int expression_run(const options *o, bf_reduction op) {
    int code = check_line(o);
    if (code != EXIT_DONE) return code;
    reduction *r = calloc(1, sizeof *r); /* too large for a small stack */
    task *t = calloc(1, sizeof *t);
    if (r && t) {
        r->task = t;
        r->op = op;
        code = run_task(r, o);
        expressed_close(&r->expressed);
        bf_state_destroy(r->state);
        task_free(t);
    } else {
        code = fail_status(BF_E_MEMORY, NULL, NULL);
    }
    free(t);
    free(r);
    return code;
}
