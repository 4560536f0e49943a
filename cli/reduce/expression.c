#include "reduce/expression.h"

#include "expression/inputs.h"
#include "reduce/expressions.h"
#include "reduce/many.h"
#include "reduce/task.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"

#include <stdlib.h>

static int check_line(const options *o) {
    if (many_asked(o))
        return fail(EXIT_USAGE, NULL, "-e does not go with --axis, --offsets, --index or --empty");
    if (o->total || o->quantiles.n > 0)
        return fail(EXIT_USAGE, NULL, "-e does not go with --%s", o->total ? "total" : "quantiles");
    return expressed_check(o->file_count);
}

static int run_task(task *t, const options *o, bf_reduction op, bf_state **state) {
    const double began = progress_clock();
    int64_t seen;
    int code = task_open(t, o, false);
    if (code != EXIT_DONE) return code;
    code = expressions_absorb(t, op, &o->expression, 1, state, &seen);
    const result value = {o->files[0], .expression = o->expression, .time = t->time,
                          .seconds = progress_clock() - began};
    if (code == EXIT_DONE) code = ranks_agree(task_emit(t, *state, value, 0));
    return task_close(t, code, *state);
}

int expression_run(const options *o, bf_reduction op) {
    bf_state *state = NULL;
    int code = check_line(o);
    if (code != EXIT_DONE) return code;
    task *t = calloc(1, sizeof *t);
    if (!t) return fail_memory(NULL);
    code = run_task(t, o, op, &state);
    bf_state_destroy(state);
    task_free(t);
    free(t);
    return code;
}
