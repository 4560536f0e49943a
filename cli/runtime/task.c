#include "runtime/task.h"

#include "reduce/describe.h"
#include "runtime/statefile.h"

#include <inttypes.h>

int task_open(task *t, const options *o, bool names) {
    *t = (task){.options = o};
    int code = engine_open(&t->engine, o->device, o->isa, o->threads);
    if (code == EXIT_DONE) code = output_open(&t->output, o, names);
    if (code == EXIT_DONE && o->save) code = outfile_open(&t->save, o->save);
    return code == EXIT_DONE ? code : task_close(t, code, NULL);
}

static void tell_input(const engine *e, const source *s) {
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
         bf_context_isa(engine_context(e)), e->threads);
}

static void tell_speed(const engine *e, const source *s, double seconds) {
    inform(s->name, "%" PRId64 " bytes in %.6f s: %.2f GB/s, %d %s, %s", e->bytes, seconds,
           seconds > 0 ? 1e-9 * (double)e->bytes / seconds : 0, e->used,
           e->used == 1 ? "thread" : "threads",
           e->gpu ? bf_context_device(engine_context(e)) : bf_context_isa(engine_context(e)));
}

static int64_t total_bytes(const source *a, const source *b) {
    if (a->text) return a->stream ? -1 : a->size;
    const int64_t count = a->count >= 0 ? a->count : b ? b->count : -1;
    return count < 0 ? -1 : count * (int64_t)source_element(a) * (b ? 2 : 1);
}

int task_reduce(task *t, bf_reduction op, source *a, source *b, int64_t start, bf_state **state) {
    tell_input(&t->engine, a);
    if (b) tell_input(&t->engine, b);
    const double began = progress_clock();
    progress_start(a->name, total_bytes(a, b));
    const int code = engine_reduce(&t->engine, op, a, b, start, state);
    progress_stop();
    if (code == EXIT_DONE && t->options->stats) tell_speed(&t->engine, a, progress_clock() - began);
    if (code == EXIT_DONE) note_device(engine_context(&t->engine), a->name);
    return code;
}

static int emit_description(task *t, const bf_state *state, const result *r) {
    bf_state_info info = {.size = sizeof info};
    described d = {.file = r->file, .seconds = r->seconds, .values = {.size = sizeof d.values}};
    const bf_context *context = engine_context(&t->engine);
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
    if (st != BF_OK) return fail_status(st, engine_context(&t->engine), r.file);
    if (r.info.op == BF_ARGMIN || r.info.op == BF_ARGMAX) r.value.as.i64 -= base;
    r.device = bf_context_device(engine_context(&t->engine));
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
