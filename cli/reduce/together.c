#include "reduce/together.h"

#include "input/step.h"
#include "memory/buffer.h"
#include "reduce/reduce.h"
#include "runtime/info.h"
#include "runtime/ranks.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

/* What a state costs beside what it saves. */
enum { STATE_BYTES = 128 };

/* A column: of which input, and of which of its columns. */
typedef struct paired_column {
    rows *of;
    rows_chunk *chunk; /* the input's, at hand */
    int at;
} paired_column;

typedef struct together {
    task *task;
    bf_reduction op;
    rows *const *inputs;
    int input_count, count; /* inputs, and their columns */
    rows_chunk *chunks;     /* each input's */
    paired_column *members; /* the columns */
    bf_state **states;
    int state_count;
    work_thing *things; /* show the states */
    buffer numbers;     /* keep one column while the other of its input is looked at */
} together;

/* ---- rows ------------------------------------------------------------------------------------ */

/* The numbers of a column, in rows where it and the other column have one. */
static bool look(const paired_column *m, const paired_column *beside, rows_numbers *out) {
    const int candidate = __builtin_ctz(rows_can(m->of, m->at));
    return rows_present(m->of, m->chunk, m->at, candidate, &beside->chunk->columns[beside->at],
                        out);
}

/* Keeps numbers that the next look at their input would overwrite. */
static bool keep(together *x, rows_numbers *numbers) {
    const size_t bytes = (size_t)numbers->numbers.shape[0] * bf_dtype_size(numbers->numbers.dtype);
    void *const room = buffer_take(&x->numbers, bytes);
    if (room && bytes > 0) memcpy(room, numbers->numbers.data, bytes);
    numbers->numbers.data = room;
    return room != NULL;
}

static bf_status absorb_pair(together *x, const paired_column *a, const paired_column *b,
                             bf_state *state) {
    rows_numbers of_a, of_b;
    bool there = look(a, b, &of_a);
    if (there && of_a.at && a->of == b->of) there = keep(x, &of_a);
    there = there && look(b, a, &of_b);
    return there ? bf_state_absorb_pair(state, &of_a.numbers, &of_b.numbers) : BF_E_MEMORY;
}

static bf_status absorb_chunk(together *x) {
    const paired_column *m = x->members;
    bf_status st = BF_OK;
    if (x->count == 2) return absorb_pair(x, &m[0], &m[1], x->states[0]);
    for (int i = 0; i < x->count; i++)
        for (int j = 0; j <= i && st == BF_OK; j++)
            st = absorb_pair(x, &m[i], &m[j], x->states[together_state(i, j)]);
    return st;
}

/* ROWS_RESETTLED says that the dtype of a column, or the scale, became another. */
static int absorb_chunks(together *x) {
    const int n = x->input_count;
    const int64_t most = step_rows(x->inputs, n, INT64_MAX);
    int code;
    while ((code = step_next(x->inputs, n, most, x->chunks)) == EXIT_DONE && x->chunks[0].n > 0) {
        const bf_status st = absorb_chunk(x);
        if (st != BF_OK) return fail_status(st, x->task->context, x->inputs[0]->source.name);
        work_tick(&x->task->work);
    }
    return code;
}

/* ---- states ---------------------------------------------------------------------------------- */

static int refuse_memory(const char *file, int n) {
    fail(EXIT_USAGE, file, "--memory is too small: there is no room for the states of %d pairs", n);
    hint("states take at most a half of --memory; --column takes some columns");
    return EXIT_USAGE;
}

int together_make_states(const task *t, bf_reduction op, units_form form, int64_t start,
                         bf_state **states, int columns) {
    const memory_plan *plan = &t->options->memory;
    const char *file = t->options->files[0];
    const int n = together_states(columns);
    bf_status st = BF_OK;
    int64_t bytes = 0;
    for (int i = 0; i < n && st == BF_OK; i++) {
        bf_state_destroy(states[i]);
        states[i] = NULL;
        st = bf_state_create(t->context, op, form.dtype, &states[i]);
        if (st == BF_OK && form.scale > 0) st = bf_state_rescale(states[i], form.scale);
        if (st == BF_OK && reduce_is_ordered(op)) st = bf_state_seek(states[i], start);
        if (st == BF_OK) bytes += STATE_BYTES + (int64_t)bf_state_save_size(states[i]);
        if (plan->limit > 0 && bytes > plan->library + plan->results) return refuse_memory(file, n);
    }
    return st == BF_OK ? EXIT_DONE : fail_status(st, t->context, file);
}

static int walk(together *x) {
    work *w = &x->task->work;
    int code = work_begin(w, x->inputs, x->input_count);
    if (code == EXIT_DONE)
        code = together_make_states(x->task, x->op, units_of_rows(x->inputs[0], 0), 0, x->states,
                                    x->count);
    if (code == EXIT_DONE) code = work_hold(w, x->things, x->state_count);
    return code == EXIT_DONE ? absorb_chunks(x) : code;
}

/* Reads all; anew if a text turns out to have another dtype than it seemed to have. */
static int walk_all(together *x) {
    int code = step_match(x->inputs, x->input_count);
    while (code == EXIT_DONE && (code = walk(x)) == ROWS_RESETTLED) {
        step_again(x->inputs, x->input_count);
        code = step_match(x->inputs, x->input_count);
    }
    return code;
}

/* Whether the states are of the dtype and the scale that the columns have. */
static bool are_settled(const together *x) {
    const bf_state_info info = state_info(x->states[0]);
    return units_are_same((units_form){info.dtype, info.scale, BF_TIME_NONE},
                          units_of_rows(x->inputs[0], 0));
}

/* Another rank's rows may show the dtype, too. */
static int absorb_all(together *x) {
    work *w = &x->task->work;
    int code = work_end(w, walk_all(x), false);
    while (code == ROWS_RESETTLED) {
        code = step_match(x->inputs, x->input_count);
        if (code == EXIT_DONE && !are_settled(x)) {
            step_again(x->inputs, x->input_count);
            code = walk_all(x);
        }
        code = work_end(w, code, false);
    }
    return code;
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool open_together(together *x) {
    int k = 0;
    for (int i = 0; i < x->input_count; i++) x->count += x->inputs[i]->columns;
    x->state_count = together_states(x->count);
    x->chunks = calloc((size_t)x->input_count, sizeof *x->chunks);
    x->members = calloc((size_t)x->count, sizeof *x->members);
    x->things = calloc((size_t)x->state_count, sizeof *x->things);
    if (!x->chunks || !x->members || !x->things) return false;
    for (int i = 0; i < x->input_count; i++)
        for (int at = 0; at < x->inputs[i]->columns; at++)
            x->members[k++] = (paired_column){x->inputs[i], &x->chunks[i], at};
    for (int i = 0; i < x->state_count; i++) x->things[i] = (work_thing){.state = &x->states[i]};
    return true;
}

int together_absorb(task *t, bf_reduction op, rows *const inputs[], int n, bf_state **states) {
    together x = {.task = t, .op = op, .inputs = inputs, .input_count = n, .states = states};
    const char *name = inputs[0]->source.name;
    const bool open = open_together(&x);
    int code = ranks_agree(open ? EXIT_DONE : fail_memory(name));
    if (code == EXIT_DONE) code = absorb_all(&x);
    if (code == EXIT_DONE) code = ranks_merge_states(t->context, states, x.state_count, name);
    buffer_free(&x.numbers);
    free(x.chunks);
    free(x.members);
    free(x.things);
    return code;
}
