#include "reduce/together.h"

#include "input/step.h"
#include "memory/buffer.h"
#include "reduce/reduce.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "runtime/report.h"

#include <bitfold/pair.h>
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

/* ---- matrices with weights ------------------------------------------------------------------- */

/* A column: of which input, which of its columns, and the numbers that it has had so far. */
typedef struct kept_column {
    rows *of;
    rows_chunk *chunk;
    int at;
    buffer numbers;
} kept_column;

typedef struct weighted {
    task *task;
    rows *const *inputs;
    int input_count, count; /* inputs, and their columns */
    rows_chunk *chunks;
    kept_column *columns;
    buffer valid; /* bits of a chunk: the rows in which no column is NULL */
    int64_t n;    /* rows that are kept */
} weighted;

/* Sets *valid to the rows in which all columns have a number; its bits are NULL if those are all.
 */
static bool find_valid(weighted *x, rows_column *valid) {
    const int64_t n = x->chunks[0].n;
    *valid = (rows_column){.valid = NULL};
    for (int k = 0; k < x->count; k++) {
        const kept_column *c = &x->columns[k];
        const rows_column *column = &c->chunk->columns[c->at];
        if (!column->valid) continue;
        if (!valid->valid) {
            uint8_t *const bits = buffer_take(&x->valid, (size_t)(n + 7) / 8);
            if (!bits) return false;
            memset(bits, 0xff, (size_t)(n + 7) / 8);
            valid->valid = bits;
        }
        for (int64_t i = 0; i < n; i++) {
            const int64_t bit = column->first + i;
            if (!(column->valid[bit / 8] >> bit % 8 & 1))
                ((uint8_t *)x->valid.at)[i / 8] &= (uint8_t) ~(1u << i % 8);
        }
    }
    return true;
}

/* Keeps the numbers of a chunk. */
static bool keep_chunk(weighted *x) {
    rows_column valid;
    int64_t n = 0;
    if (!find_valid(x, &valid)) return false;
    for (int k = 0; k < x->count; k++) {
        kept_column *c = &x->columns[k];
        rows_numbers found;
        if (!rows_present(c->of, c->chunk, c->at, __builtin_ctz(rows_can(c->of, c->at)),
                          valid.valid ? &valid : NULL, &found))
            return false;
        n = found.numbers.shape[0];
        const size_t size = bf_dtype_size(found.numbers.dtype), before = (size_t)x->n * size;
        char *const to = buffer_grow(&c->numbers, before + (size_t)n * size);
        if (!to) return false;
        if (n > 0) memcpy(to + before, found.numbers.data, (size_t)n * size);
    }
    x->n += n;
    return true;
}

static int refuse_rows(const weighted *x) {
    fail(EXIT_USAGE, x->inputs[0]->source.name,
         "--memory is too small: with weights all rows are kept");
    hint("--where takes some rows, --column some columns");
    return EXIT_USAGE;
}

/* ROWS_RESETTLED says that the dtype of a column, or the scale, became another. */
static int keep_rows(weighted *x) {
    const memory_plan *plan = &x->task->options->memory;
    const int n = x->input_count;
    const int64_t most = step_rows(x->inputs, n, INT64_MAX);
    int code;
    x->n = 0;
    while ((code = step_next(x->inputs, n, most, x->chunks)) == EXIT_DONE && x->chunks[0].n > 0) {
        if (!keep_chunk(x)) return fail_memory(x->inputs[0]->source.name);
        const units_form form = units_of_rows(x->inputs[0], 0);
        if (plan->limit > 0 &&
            x->n * x->count * (int64_t)bf_dtype_size(form.dtype) > plan->library + plan->results)
            return refuse_rows(x);
    }
    return code;
}

/* Reads all; anew if a text turns out to have another dtype than it seemed to have. */
static int read_all(weighted *x) {
    int code = step_match(x->inputs, x->input_count);
    while (code == EXIT_DONE && (code = keep_rows(x)) == ROWS_RESETTLED) {
        step_again(x->inputs, x->input_count);
        code = step_match(x->inputs, x->input_count);
    }
    return code;
}

/* How many rows have a NaN, or else an infinity. */
static void count_specials(const weighted *x, bf_dtype dtype, bf_state_info *info) {
    const size_t size = bf_dtype_size(dtype);
    const uint64_t inf = dtype == BF_F64   ? UINT64_C(0x7ff) << 52
                         : dtype == BF_F32 ? UINT64_C(0xff) << 23
                         : dtype == BF_F16 ? UINT64_C(0x1f) << 10
                                           : UINT64_C(0xff) << 7;
    if (dtype < BF_F16 || dtype > BF_F64) return;
    for (int64_t i = 0; i < x->n; i++) {
        bool has_nan = false, has_inf = false;
        for (int k = 0; k < x->count; k++) {
            uint64_t bits = 0;
            memcpy(&bits, x->columns[k].numbers.at + (size_t)i * size, size);
            bits &= UINT64_MAX >> (65 - 8 * size);
            has_nan |= bits > inf;
            has_inf |= bits == inf;
        }
        info->nan += has_nan;
        info->inf += has_inf && !has_nan;
    }
}

static int make_results(weighted *x, bf_reduction op, bf_value *values, bf_state_info *info) {
    const units_form form = units_of_rows(x->inputs[0], 0);
    const int k = x->count - 1;
    bf_reduce_options rules = x->task->options->rules;
    const bf_dtype out = rules.out_dtype == BF_NONE ? BF_F64 : rules.out_dtype;
    bf_array *const arrays = calloc((size_t)x->count, sizeof *arrays);
    double *const found = calloc((size_t)x->count * (size_t)x->count, sizeof *found);
    bf_status st = arrays && found ? BF_OK : BF_E_MEMORY;
    for (int i = 0; i < x->count && st == BF_OK; i++)
        arrays[i] = bf_array_of(form.dtype, x->columns[i].numbers.at, x->n);
    rules.scale = form.scale;
    if (st == BF_OK) {
        const bf_array to = {found, out, 2, {k, k}, {k, 1}};
        st = bf_cov_matrix_weighted(x->task->context, op, arrays, k, &arrays[k], &rules, &to);
    }
    for (int i = 0; i < k * k && st == BF_OK; i++) {
        values[i] = (bf_value){.dtype = out};
        memcpy(&values[i].as, (char *)found + (size_t)i * bf_dtype_size(out), bf_dtype_size(out));
    }
    *info = (bf_state_info){
        .size = sizeof *info, .op = op, .dtype = form.dtype, .count = x->n, .scale = form.scale};
    if (st == BF_OK) count_specials(x, form.dtype, info);
    free(arrays);
    free(found);
    return st == BF_OK ? EXIT_DONE : fail_status(st, x->task->context, x->inputs[0]->source.name);
}

static bool open_weighted(weighted *x) {
    size_t files = 0;
    int k = 0;
    for (; files < (size_t)x->input_count; files++) x->count += x->inputs[files]->columns;
    x->chunks = calloc(files, sizeof *x->chunks);
    x->columns = calloc((size_t)x->count, sizeof *x->columns);
    if (!x->chunks || !x->columns) return false;
    for (int i = 0; i < x->input_count; i++)
        for (int at = 0; at < x->inputs[i]->columns; at++)
            x->columns[k++] = (kept_column){.of = x->inputs[i], .chunk = &x->chunks[i], .at = at};
    return true;
}

int weighted_reduce(task *t, bf_reduction op, rows *const inputs[], int n, bf_value *values,
                    bf_state_info *info) {
    weighted x = {.task = t, .inputs = inputs, .input_count = n};
    progress_start(inputs[0]->source.name, step_bytes(inputs, n));
    int code = open_weighted(&x) ? read_all(&x) : fail_memory(inputs[0]->source.name);
    progress_stop();
    if (code == EXIT_DONE) code = make_results(&x, op, values, info);
    for (int k = 0; x.columns && k < x.count; k++) buffer_free(&x.columns[k].numbers);
    buffer_free(&x.valid);
    free(x.chunks);
    free(x.columns);
    return code;
}
