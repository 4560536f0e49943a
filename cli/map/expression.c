#include "map/expression.h"

#include "expression/inputs.h"
#include "memory/buffer.h"
#include "options/context.h"
#include "runtime/progress.h"
#include "sheet/array.h"
#include "sheet/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 19 /* elements: what is written next is still in the cache */ };

typedef struct mapped {
    expressed expressed;
    bf_context *context;
    array_output output;
    bf_dtype dtype; /* the results', as they are written */
    bool fixed;     /* it cannot begin again */
    buffer times;   /* in the unit of the output */
} mapped;

/* The shape of the results is that of the first input that has one. Results that are NULL may be
 * left out. */
static npy_header header_of(const expressed *x) {
    const options *o = x->options;
    const bool whole = o->input.first == 0 && o->input.count < 0;
    npy_header header = {.ndim = -1, .count = -1};
    for (int i = 0; i < x->file_count; i++) {
        const source *s = &x->inputs[i].source;
        if (header.count < 0) header.count = s->text ? -1 : s->count;
        if (whole && !s->text && !s->raw && header.ndim < 0) header = s->layout;
    }
    if (header.ndim < 0) {
        header.ndim = 1;
        header.shape[0] = header.count < 0 ? 0 : header.count;
    }
    for (int i = 0; i < x->file_count; i++)
        header.fortran = header.fortran && !x->inputs[i].options.ordered;
    if (o->input.text.skip_nulls) header.count = -1;
    header.swap = false;
    header.dtype = x->form.time ? BF_I64 : x->form.dtype;
    header.time = x->form.time;
    header.scale = x->form.scale;
    return header;
}

/* 64 bits do not hold the results: they are f64 then. */
static int change_dtype(const mapped *m) {
    if (!m->fixed) return ROWS_RESETTLED;
    fail(EXIT_DATA, m->output.name, "%s: 64 bits do not hold the results, which were written as %s",
         m->expressed.options->expression, bf_dtype_name(m->dtype));
    hint("%s", rows_as_doubles);
    return EXIT_DATA;
}

/* Brings times to the unit that the output has. */
static int take_times(mapped *m, bf_array *results) {
    const expressed *x = &m->expressed;
    const int64_t n = results->shape[0];
    int64_t *const units = buffer_take(&m->times, (size_t)n * sizeof *units);
    if (!units) return fail_memory(m->output.name);
    for (int64_t i = 0; i < n; i++) {
        const bf_value value = output_element(results->dtype, x->form.scale, results->data, i);
        if (!npy_time_units(&value, x->form.time, x->form.scale, &units[i]))
            return fail(EXIT_DATA, m->output.name,
                        "64 bits do not hold a time in its unit, nanoseconds at the finest");
    }
    *results = bf_array_of(BF_I64, units, n);
    return EXIT_DONE;
}

static int write_results(mapped *m, int64_t *count) {
    expressed *x = &m->expressed;
    const int64_t most = expressed_step(x, BLOCK);
    int code;
    while ((code = expressed_next(x, most)) == EXIT_DONE && x->n > 0) {
        formula_results results;
        code = expressed_compute(x, &results);
        if (code == EXIT_DONE && x->form.dtype != m->dtype) code = change_dtype(m);
        if (code != EXIT_DONE) return code;
        bf_array present = expressed_present(results);
        if (x->form.time) code = take_times(m, &present);
        if (code != EXIT_DONE) return code;
        code = array_output_write(&m->output, present.data, present.shape[0]);
        if (code != EXIT_DONE) return code;
        *count += present.shape[0];
    }
    return code;
}

static int open_inputs(mapped *m, const options *o) {
    const rows_options how = {.threads = o->threads, .memory = o->memory.input, .times = true};
    expressed *x = &m->expressed;
    int code = context_open(&m->context, o);
    if (code == EXIT_DONE) code = expressed_open(x, o, o->files, o->file_count, m->context, &how);
    if (code == EXIT_DONE) code = expressed_prepare(x);
    if (code == EXIT_DONE) code = expressed_settle(x);
    x->formula.overflow = o->rules.overflow;
    return code == EXIT_DONE ? expressed_parse(x) : code;
}

/* Writes the file from its header on. */
static int write_file(mapped *m, const options *o, int64_t *count) {
    const npy_header header = header_of(&m->expressed);
    *count = 0;
    m->dtype = m->expressed.form.dtype;
    m->fixed = header.count >= 0 && strcmp(o->output, "-") == 0;
    const int code = array_output_open(&m->output, o->output, &header);
    if (code != EXIT_DONE) return code;
    progress_start(m->output.name, expressed_bytes(&m->expressed));
    const int written = write_results(m, count);
    progress_stop();
    return written;
}

/* Writes anew, with doubles, where 64 bits do not hold the results. */
static int write_again(mapped *m, const options *o, int64_t *count) {
    int code = write_file(m, o, count);
    while (code == ROWS_RESETTLED) {
        array_output_abandon(&m->output);
        expressed_again(&m->expressed);
        code = expressed_parse(&m->expressed);
        if (code == EXIT_DONE) code = write_file(m, o, count);
    }
    return code;
}

static int run_map(mapped *m, const options *o) {
    int64_t count = 0;
    int code = open_inputs(m, o);
    if (code != EXIT_DONE) return code;
    const double began = progress_clock();
    code = write_again(m, o, &count);
    if (code == EXIT_DONE) note_device(m->context, m->output.name);
    if (code == EXIT_DONE && o->stats)
        inform(m->output.name, "%" PRId64 " elements in %.6f s", count, progress_clock() - began);
    if (code == EXIT_DONE) return array_output_close(&m->output, count);
    array_output_abandon(&m->output);
    return code;
}

int map_expression(const options *o) {
    int code = expressed_check(o->file_count);
    if (code != EXIT_DONE) return code;
    mapped *m = calloc(1, sizeof *m); /* too large for a small stack */
    if (!m) return fail_memory(NULL);
    code = run_map(m, o);
    expressed_close(&m->expressed);
    buffer_free(&m->times);
    bf_context_destroy(m->context);
    free(m);
    return code;
}
