#include "reduce/task.h"

#include "input/step.h"
#include "options/context.h"
#include "reduce/absorb.h"
#include "reduce/described.h"
#include "reduce/paired.h"
#include "reduce/reduce.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "work/statefile.h"
#include "work/wide.h"

#include <inttypes.h>
#include <stdlib.h>

bool reduce_is_ordered(bf_reduction op) {
    return op == BF_PROD || bf_reduction_result(op) >= BF_RESULT_INDEX;
}

static bool is_integer(bf_dtype dtype) {
    return dtype == BF_I128 || (dtype >= BF_I8 && dtype <= BF_U64);
}

bool task_joins(const bf_state *a, const bf_state *b) {
    const bf_state_info x = state_info(a), y = state_info(b);
    const bool integers = is_integer(x.dtype) && is_integer(y.dtype) && x.op != BF_PROD;
    return x.dtype == y.dtype || integers;
}

bf_status task_widen(bf_context *context, bf_state **state, const bf_state *other) {
    const bf_state_info info = state_info(*state), added = state_info(other);
    const bool same = info.dtype == added.dtype && info.scale == added.scale;
    return same || info.dtype == BF_I128 ? BF_OK : wide_state(context, state);
}

int task_open(task *t, const options *o, bool names) {
    *t = (task){.options = o};
    int code = context_open(&t->context, o);
    if (code == EXIT_DONE) code = output_open(&t->output, o, names);
    if (code == EXIT_DONE && o->save) code = outfile_open(&t->save, o->save);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = work_open(&t->work, o, t->context);
    return code == EXIT_DONE ? code : task_close(t, code, NULL);
}

int task_check_condition(const options *o, bf_reduction op) {
    if (!o->where || op != BF_PROD || ranks_count() == 1) return EXIT_DONE;
    return fail(EXIT_USAGE, NULL,
                "--where does not go with ranks: prod numbers the rows that meet it");
}

int64_t task_start(const task *t, int64_t first) {
    return t->options->where && ranks_rank() > 0 ? 0 : first;
}

/* The rows of the ranks before this one that meet the condition, where it has `own` itself. */
static int64_t rows_before(int64_t own) {
    int64_t *all = ranks_allocate((size_t)ranks_count() * sizeof *all), before = 0;
    ranks_gather(&own, all, sizeof own);
    for (int i = 0; i < ranks_rank(); i++) before += all[i];
    free(all);
    return before;
}

static bf_status move_behind(bf_context *context, int64_t before, bf_state **state) {
    const bf_state_info info = state_info(*state);
    bf_state *moved = NULL;
    bf_status st = bf_state_create(context, info.op, info.dtype, &moved);
    if (st == BF_OK) st = bf_state_seek(moved, before);
    if (st == BF_OK) st = bf_state_append(moved, *state);
    bf_state_destroy(st == BF_OK ? *state : moved);
    if (st == BF_OK) *state = moved;
    return st;
}

int task_merge_ranks(const task *t, bf_reduction op, bf_state *states[], int n, const char *file) {
    bf_status st = BF_OK;
    if (t->options->where && reduce_is_ordered(op) && ranks_count() > 1) {
        int64_t own = 0;
        for (int k = 0; k < n; k++)
            if (states[k]) own = state_info(states[k]).next;
        const int64_t before = rows_before(own);
        for (int k = 0; k < n && st == BF_OK && ranks_rank() > 0; k++)
            if (states[k]) st = move_behind(t->context, before, &states[k]);
    }
    const int code = ranks_agree(st == BF_OK ? EXIT_DONE : fail_status(st, t->context, file));
    return code == EXIT_DONE ? ranks_merge_states(t->context, states, n, file) : code;
}

rows_options task_rows(const task *t, bf_reduction op) {
    const options *o = t->options;
    return (rows_options){.threads = o->threads,
                          .ordered = reduce_is_ordered(op) && !o->where,
                          .memory = o->memory.input,
                          .slab = options_slab(o)};
}

void task_tell_input(const task *t, const rows *r) {
    const source *s = &r->source;
    note(s->name, "%s, %s%s, %s; instruction set %s, up to %d threads",
         s->text ? "numbers" : bf_dtype_name(s->layout.dtype),
         s->text  ? "text"
         : s->raw ? "raw"
                  : ".npy",
         s->layout.fortran ? " in Fortran order" : "",
         s->stream  ? "a stream"
         : s->whole ? "read whole"
         : s->text  ? "a file"
                    : "mapped",
         bf_context_isa(t->context), options_gpu(t->options->device) ? 1 : t->options->threads);
}

void task_tell_speed(const task *t, const rows *r, double seconds) {
    if (!t->options->stats) return;
    const bool gpu = options_gpu(t->options->device);
    inform(r->source.name, "%" PRId64 " bytes in %.6f s: %.2f GB/s, %d %s, %s", t->bytes, seconds,
           seconds > 0 ? 1e-9 * (double)t->bytes / seconds : 0, t->threads,
           t->threads == 1 ? "thread" : "threads",
           gpu ? bf_context_device(t->context) : bf_context_isa(t->context));
}

int task_reduce(task *t, bf_reduction op, rows *const inputs[], int n, int64_t start,
                bf_state **states) {
    const rows *first = inputs[0];
    for (int i = 0; i < n; i++) task_tell_input(t, inputs[i]);
    const double began = progress_clock();
    progress_start(first->source.name, step_bytes(inputs, n));
    const int code = absorb_rows(t, op, inputs, n, start, states);
    progress_stop();
    if (code == EXIT_DONE) task_tell_speed(t, first, progress_clock() - began);
    if (code == EXIT_DONE) note_device(t->context, first->source.name);
    return code;
}

static int emit_description(task *t, const bf_state *state, const result *r) {
    described d = {.file = r->file,
                   .time = r->time,
                   .seconds = r->seconds,
                   .values = {.size = sizeof d.values}};
    const bf_context *context = t->context;
    const bf_status st = bf_state_description(state, &t->options->rules, &d.values);
    if (st != BF_OK) return fail_status(st, context, r->file);
    d.dtype = output_type((units_form){r->info.dtype, r->info.scale, d.time});
    return described_put(&t->output, &d, 1, bf_context_device(context));
}

int task_emit_texts(task *t, texts *of, const result *r) {
    described d = {.file = r->file,
                   .dtype = "string",
                   .texts = of,
                   .nulls = of->rows - of->n,
                   .tells_nulls = true,
                   .tells_texts = true,
                   .seconds = r->seconds};
    const bf_status st = texts_mode(of, &d.mode, &d.mode_bytes, &d.times);
    const int code = st == BF_OK ? described_put(&t->output, &d, 1, bf_context_device(t->context))
                                 : fail_status(st, t->context, r->file);
    free(d.mode);
    return code;
}

int task_save_texts(task *t, const texts *of) {
    statefile saved = {.trailer = trailer_of(t->options)};
    const bf_status st = texts_save(of, &saved);
    const int code = st == BF_OK ? statefile_save(&t->save, &saved, t->context)
                                 : fail_status(st, t->context, t->options->save);
    statefile_free(&saved);
    return code;
}

/* Writes a line that fits pairs. */
static int emit_line(task *t, const bf_state *state, result *r) {
    bf_value line[PAIRED_LINE];
    const bf_status st = paired_take_line(state, &t->options->rules, line);
    if (st != BF_OK) return fail_status(st, t->context, r->file);
    r->device = bf_context_device(t->context);
    return paired_put_line(&t->output, r, line);
}

int task_emit(task *t, const bf_state *state, result r, int64_t base) {
    r.info = state_info(state);
    if (r.info.op == BF_DESCRIBE) return emit_description(t, state, &r);
    if (r.info.op == BF_SLOPE) return emit_line(t, state, &r);
    const bf_status st = bf_state_result(state, &t->options->rules, &r.value);
    if (st != BF_OK) return fail_status(st, t->context, r.file);
    if (bf_reduction_result(r.info.op) == BF_RESULT_INDEX) r.value.as.i64 -= base;
    if (bf_reduction_result(r.info.op) == BF_RESULT_ELEMENT)
        r.value = value_of_time(r.value, r.time);
    r.device = bf_context_device(t->context);
    return output_result(&t->output, &r);
}

/* Whether a state's places are those of all rows, though it did not take each: describe leaves
 * NULLs out, whatever was asked for. */
static bool is_whole(const options *o, const bf_state *state) {
    if (!state || o->input.first != 0 || o->input.count >= 0) return false;
    const bf_state_info info = state_info(state);
    return reduce_is_ordered(info.op) && (o->input.text.skip_nulls || info.op == BF_DESCRIBE) &&
           info.next != info.count;
}

int task_close(task *t, int code, bf_state *state) {
    statefile saved = {.state = state, .trailer = trailer_of(t->options)};
    saved.trailer.times[0] = (unsigned char)t->time;
    saved.trailer.whole = t->whole || is_whole(t->options, state);
    if (code == EXIT_DONE && t->options->save && state)
        code = statefile_save(&t->save, &saved, t->context);
    if (code == EXIT_DONE) code = output_close(&t->output);
    work_close(&t->work, code);
    if (code != EXIT_DONE) {
        outfile_abandon(&t->save);
        output_abandon(&t->output);
    }
    return code;
}

void task_free(task *t) { bf_context_destroy(t->context); }
