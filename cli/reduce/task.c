#include "reduce/task.h"

#include "reduce/absorb.h"
#include "reduce/describe.h"
#include "reduce/reduce.h"
#include "runtime/context.h"
#include "runtime/progress.h"
#include "runtime/statefile.h"

#include <inttypes.h>

bool reduce_is_ordered(bf_reduction op) {
    return op == BF_ARGMIN || op == BF_ARGMAX || op == BF_PROD || op == BF_DESCRIBE;
}

int task_open(task *t, const options *o, bool names) {
    *t = (task){.options = o};
    int code = context_open(&t->context, o);
    if (code == EXIT_DONE) code = output_open(&t->output, o, names);
    if (code == EXIT_DONE && o->save) code = outfile_open(&t->save, o->save);
    return code == EXIT_DONE ? code : task_close(t, code, NULL);
}

int task_columns(const source *s) { return s->text ? s->text->layout.columns : 1; }

static void tell_input(const task *t, const source *s) {
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

static void tell_speed(const task *t, const source *s, double seconds) {
    const bool gpu = options_gpu(t->options->device);
    inform(s->name, "%" PRId64 " bytes in %.6f s: %.2f GB/s, %d %s, %s", t->bytes, seconds,
           seconds > 0 ? 1e-9 * (double)t->bytes / seconds : 0, t->threads,
           t->threads == 1 ? "thread" : "threads",
           gpu ? bf_context_device(t->context) : bf_context_isa(t->context));
}

static int64_t total_bytes(const source *a, const source *b) {
    if (a->text) return a->stream ? -1 : a->size;
    const int64_t count = a->count >= 0 ? a->count : b ? b->count : -1;
    return count < 0 ? -1 : count * (int64_t)source_element(a) * (b ? 2 : 1);
}

/* Reports a file that changed while it was read. */
static int absorb_sources(task *t, bf_reduction op, source *a, source *b, int64_t start,
                          bf_state **states) {
    const pair in = {a, b};
    int code =
        a->text ? absorb_text(t, op, a, start, states) : absorb_arrays(t, op, &in, start, states);
    if (code == EXIT_DONE) code = source_check(a);
    if (code == EXIT_DONE && b) code = source_check(b);
    for (int i = 0; code != EXIT_DONE && i < task_columns(a); i++) {
        bf_state_destroy(states[i]);
        states[i] = NULL;
    }
    return code;
}

int task_reduce(task *t, bf_reduction op, source *a, source *b, int64_t start, bf_state **states) {
    tell_input(t, a);
    if (b) tell_input(t, b);
    const double began = progress_clock();
    progress_start(a->name, total_bytes(a, b));
    const int code = absorb_sources(t, op, a, b, start, states);
    progress_stop();
    if (code == EXIT_DONE && t->options->stats) tell_speed(t, a, progress_clock() - began);
    if (code == EXIT_DONE) note_device(t->context, a->name);
    return code;
}

static int emit_description(task *t, const bf_state *state, const result *r) {
    bf_state_info info = {.size = sizeof info};
    described d = {.file = r->file, .seconds = r->seconds, .values = {.size = sizeof d.values}};
    const bf_context *context = t->context;
    const bf_status st = bf_state_description(state, &t->options->rules, &d.values);
    if (st != BF_OK) return fail_status(st, context, r->file);
    bf_state_describe(state, &info);
    d.dtype = info.dtype;
    return describe_put(&t->output, &d, 1, bf_context_device(context));
}

int task_emit(task *t, const bf_state *state, result r, int64_t base) {
    r.info.size = sizeof r.info;
    bf_state_describe(state, &r.info);
    if (r.info.op == BF_DESCRIBE) return emit_description(t, state, &r);
    const bf_status st = bf_state_result(state, &t->options->rules, &r.value);
    if (st != BF_OK) return fail_status(st, t->context, r.file);
    if (r.info.op == BF_ARGMIN || r.info.op == BF_ARGMAX) r.value.as.i64 -= base;
    r.device = bf_context_device(t->context);
    return output_result(&t->output, &r);
}

int task_close(task *t, int code, const bf_state *state) {
    if (code == EXIT_DONE && t->options->save && state) code = statefile_save(&t->save, state);
    if (code == EXIT_DONE) code = output_close(&t->output);
    if (code != EXIT_DONE) {
        outfile_abandon(&t->save);
        output_abandon(&t->output);
    }
    return code;
}

void task_free(task *t) { bf_context_destroy(t->context); }
