#include "scan/stream.h"

#include "input/step.h"
#include "options/context.h"
#include "runtime/progress.h"
#include "scan/line.h"
#include "scan/output.h"

#include <inttypes.h>
#include <string.h>

enum { BLOCK = 1 << 18 /* numbers: what is written next is still in the cache */ };

/* The numbers of pairs are those of two files, or two columns of one. */
typedef struct stream {
    running *of;
    spool_limit limit; /* for pipes of text that are read twice */
    rows inputs[2], *input[2];
    int count;   /* files */
    buffer both; /* has the numbers of pairs */
    line line;
    scan_output output;
    int64_t elements; /* so far */
} stream;

static const source *source_of(const stream *x) { return &x->inputs[0].source; }
static const char *file_of(const stream *x) { return source_of(x)->name; }

/* ---- opening --------------------------------------------------------------------------------- */

static int check_columns(const stream *x) {
    const int wanted = running_arrays(x->of);
    int columns = 0;
    for (int i = 0; i < x->count; i++) columns += x->inputs[i].columns;
    if (columns == wanted) return step_check_shapes(x->input, x->count, true);
    fail(EXIT_USAGE, file_of(x), "%s is of two columns or FILEs, not %d", x->of->name, columns);
    hint("--column A,B takes two columns of a table");
    return EXIT_USAGE;
}

static int open_rows(stream *x) {
    const options *o = &x->of->options;
    const bool table = x->count < running_arrays(x->of);
    rows_options how = context_reading(o, &x->limit, x->count);
    input in = o->input;
    int code = EXIT_DONE;
    how.ordered = how.nulls = true;
    in.text.table |= table;
    spool_limit_set(&x->limit, o->memory.pipes);
    for (int i = 0; i < x->count && code == EXIT_DONE; i++)
        code = table ? rows_open(&x->inputs[i], o->files[i], &in, &how)
                     : rows_open_column(&x->inputs[i], o->files[i], &in, &how);
    if (code == EXIT_DONE && table)
        code = rows_order_as_listed(&x->inputs[0], o->input.text.columns);
    return code == EXIT_DONE ? check_columns(x) : code;
}

/* Columns of text are read once beforehand, so that they have one dtype from the first number on.
 */
static int settle_rows(stream *x) {
    int code = step_match(x->input, x->count);
    if (code != EXIT_DONE || !step_may_resettle(x->input, x->count)) return code;
    for (int i = 0; i < x->count && code == EXIT_DONE; i++) code = rows_read_all(&x->inputs[i]);
    if (code != EXIT_DONE) return code;
    step_again(x->input, x->count);
    return step_match(x->input, x->count);
}

static int open_stream(stream *x) {
    running *const r = x->of;
    const source *s = source_of(x);
    int code = open_rows(x);
    if (code == EXIT_DONE) code = settle_rows(x);
    if (code == EXIT_DONE) code = step_prepare(x->input, x->count);
    if (code == EXIT_DONE) code = context_open(&r->context, &r->options);
    if (code == EXIT_DONE)
        code = running_settle(r, rows_dtype(x->input[0], 0), rows_scale(x->input[0], 0), s->name);
    if (code != EXIT_DONE) return code;
    const bf_status st = line_open(&x->line, r);
    const int64_t count = running_count(r, s->text ? -1 : s->count);
    return st == BF_OK
               ? scan_output_open(&x->output, r, 1, &(int64_t){count < 0 ? 0 : count}, count)
               : running_failed(r, st, s);
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Numbers k of the elements in a chunk: of pairs, where both are there. */
static bool find_numbers(const stream *x, const rows_chunk chunks[], int k, rows_numbers *numbers) {
    const int other = 1 - k, file = x->count == 2;
    const rows_chunk *const beside = &chunks[file ? other : 0];
    rows *const r = x->input[file ? k : 0];
    const int at = file ? 0 : k;
    return rows_present(r, &chunks[file ? k : 0], at, __builtin_ctz(rows_can(r, at)),
                        running_arrays(x->of) == 2 ? &beside->columns[file ? 0 : other] : NULL,
                        numbers);
}

/* Puts the numbers of pairs side by side. */
static bool join_numbers(stream *x, const rows_chunk chunks[], rows_numbers *numbers) {
    const size_t bytes = bf_dtype_size(x->of->dtype);
    for (int k = 0; k < 2; k++) {
        if (!find_numbers(x, chunks, k, numbers)) return false;
        const int64_t n = numbers->numbers.shape[0];
        const char *from = numbers->numbers.data;
        char *to = buffer_grow(&x->both, (size_t)n * 2 * bytes);
        if (!to) return false;
        to += (size_t)k * bytes;
        for (int64_t i = 0; i < n; i++, to += 2 * bytes, from += bytes) memcpy(to, from, bytes);
    }
    numbers->numbers.data = x->both.at;
    return true;
}

static int take_block(stream *x, const void *numbers, int64_t n, bool last) {
    bf_array results;
    const bf_status st = line_take(&x->line, numbers, NULL, n, last, &results);
    return st == BF_OK ? scan_output_put(&x->output, &results)
                       : running_failed(x->of, st, source_of(x));
}

static int take_chunks(stream *x, const rows_chunk chunks[]) {
    const bool pairs = running_arrays(x->of) == 2;
    const size_t bytes = running_element(x->of);
    rows_numbers present;
    int code = EXIT_DONE;
    if (!(pairs ? join_numbers(x, chunks, &present) : find_numbers(x, chunks, 0, &present)))
        return fail_memory(file_of(x));
    const int64_t n = present.numbers.shape[0];
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += BLOCK)
        code = take_block(x, (const char *)present.numbers.data + (size_t)at * bytes,
                          n - at < BLOCK ? n - at : BLOCK, false);
    x->elements += n;
    return code;
}

static int take_rows(stream *x) {
    const int64_t most = x->count == 1 ? 0 : step_rows(x->input, x->count, INT64_MAX);
    rows_chunk chunks[2] = {{.n = 1}};
    int code = EXIT_DONE;
    while (code == EXIT_DONE && chunks[0].n > 0) {
        code = step_next(x->input, x->count, most, chunks);
        if (code == EXIT_DONE && chunks[0].n > 0) code = take_chunks(x, chunks);
    }
    if (code == EXIT_DONE) code = take_block(x, NULL, 0, true);
    for (int i = 0; i < x->count && code == EXIT_DONE; i++)
        code = source_check(&x->inputs[i].source);
    return code;
}

static int run(stream *x) {
    int code = open_stream(x);
    if (code != EXIT_DONE) return code;
    progress_start(file_of(x), step_bytes(x->input, x->count));
    code = take_rows(x);
    progress_stop();
    if (code == EXIT_DONE) note_device(x->of->context, file_of(x));
    if (code == EXIT_DONE && x->of->options.stats)
        inform(file_of(x), "%" PRId64 " elements in %.6f s", x->elements,
               progress_clock() - x->of->began);
    return code;
}

int stream_run(running *of) {
    stream x = {.of = of, .count = of->options.file_count};
    for (int i = 0; i < 2; i++) {
        x.inputs[i].source.fd = -1;
        x.input[i] = &x.inputs[i];
    }
    int code = run(&x);
    code = scan_output_close(&x.output, code, x.elements);
    line_close(&x.line);
    for (int i = 0; i < 2; i++) rows_close(&x.inputs[i]);
    buffer_free(&x.both);
    return code;
}
