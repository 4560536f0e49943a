#include "scan/stream.h"

#include "input/rows.h"
#include "options/context.h"
#include "runtime/progress.h"
#include "scan/line.h"
#include "scan/output.h"

#include <inttypes.h>

enum { BLOCK = 1 << 18 /* numbers: what is written next is still in the cache */ };

typedef struct stream {
    running *of;
    spool_limit limit; /* for pipes of text that are read twice */
    rows rows;
    line line;
    scan_output output;
    int64_t count; /* numbers so far */
} stream;

static const char *file_of(const stream *x) { return x->rows.source.name; }

/* ---- opening --------------------------------------------------------------------------------- */

/* A column of text is read once beforehand, so that it has one dtype from the first number on. */
static int settle_rows(rows *r) {
    if (!rows_may_resettle(r)) {
        rows_forget(r);
        return EXIT_DONE;
    }
    const int code = rows_read_all(r);
    if (code == EXIT_DONE) rows_again(r);
    return code;
}

static int open_rows(stream *x) {
    const options *o = &x->of->options;
    spool_limit_set(&x->limit, o->memory.pipes);
    const rows_options how = {.threads = o->threads,
                              .settled = true,
                              .digits = BF_SCALE_MOST_I128,
                              .ordered = true,
                              .keep = &x->limit,
                              .memory = o->memory.input,
                              .nulls = true};
    int code = rows_open_column(&x->rows, o->files[0], &o->input, &how);
    if (code == EXIT_DONE) code = settle_rows(&x->rows);
    return code == EXIT_DONE ? rows_prepare(&x->rows) : code;
}

static int open_stream(stream *x) {
    running *const r = x->of;
    const source *s = &x->rows.source;
    int code = open_rows(x);
    if (code == EXIT_DONE) code = context_open(&r->context, &r->options);
    if (code == EXIT_DONE)
        code = running_settle(r, rows_dtype(&x->rows, 0), rows_scale(&x->rows, 0), s->name);
    if (code != EXIT_DONE) return code;
    const bf_status st = line_open(&x->line, r);
    const int64_t count = running_count(r, s->text ? -1 : s->count);
    return st == BF_OK
               ? scan_output_open(&x->output, r, 1, &(int64_t){count < 0 ? 0 : count}, count)
               : running_failed(r, st, s);
}

/* ---- the work -------------------------------------------------------------------------------- */

static int take_block(stream *x, const void *numbers, int64_t n, bool last) {
    bf_array results;
    const bf_status st = line_take(&x->line, numbers, NULL, n, last, &results);
    return st == BF_OK ? scan_output_put(&x->output, &results)
                       : running_failed(x->of, st, &x->rows.source);
}

static int take_chunk(stream *x, const rows_chunk *chunk) {
    const int64_t bytes = (int64_t)bf_dtype_size(x->of->dtype);
    rows_numbers present;
    int code = EXIT_DONE;
    if (!rows_present(&x->rows, chunk, 0, __builtin_ctz(rows_can(&x->rows, 0)), NULL, &present))
        return fail_status(BF_E_MEMORY, NULL, file_of(x));
    const int64_t n = present.numbers.shape[0];
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += BLOCK)
        code = take_block(x, (const char *)present.numbers.data + at * bytes,
                          n - at < BLOCK ? n - at : BLOCK, false);
    x->count += n;
    return code;
}

static int take_rows(stream *x) {
    rows_chunk chunk = {.n = 1};
    int code = EXIT_DONE;
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(&x->rows, 0, &chunk);
        if (code == EXIT_DONE && chunk.n > 0) code = take_chunk(x, &chunk);
    }
    if (code == EXIT_DONE) code = take_block(x, NULL, 0, true);
    return code == EXIT_DONE ? source_check(&x->rows.source) : code;
}

static int run(stream *x) {
    int code = open_stream(x);
    if (code != EXIT_DONE) return code;
    progress_start(file_of(x), rows_bytes(&x->rows));
    code = take_rows(x);
    progress_stop();
    if (code == EXIT_DONE) note_device(x->of->context, file_of(x));
    if (code == EXIT_DONE && x->of->options.stats)
        inform(file_of(x), "%" PRId64 " elements in %.6f s", x->count,
               progress_clock() - x->of->began);
    return code;
}

int stream_run(running *of) {
    stream x = {.of = of, .rows.source.fd = -1};
    int code = run(&x);
    code = scan_output_close(&x.output, code, x.count);
    line_close(&x.line);
    rows_close(&x.rows);
    return code;
}
