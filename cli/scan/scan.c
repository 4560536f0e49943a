/* cumsum cumprod cummin cummax: the reduction of the numbers up to each one, block by block. */
#include "command.h"
#include "input/rows.h"
#include "options/context.h"
#include "options/operand.h"
#include "runtime/progress.h"
#include "sheet/array.h"
#include "sheet/output.h"
#include "work/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 18 /* numbers: what is written next is still in the cache */ };

static const option_spec specs[] = {{"hex", 0, IN_OUTPUT, NULL,
                                     "show floats in hexadecimal, as %a of C prints them", 0,
                                     .read = read_flag, .at = OPTION_AT(hex)}};
const option_table scan_options = OPTION_TABLE(specs);

#define TAKES_SCAN                                                                                 \
    (TAKES_STDIN | TAKES_INPUT | TAKES_NAN | TAKES_RUNNING | TAKES_MEMORY | TAKES_MAP)
#define FORMS                                                                                      \
    " One a line; -o FILE.npy writes an array of one dimension, '-o -' to standard output. Of an " \
    "array they are in C order. '-' or no FILE is standard input, of any length."
#define SYNOPSIS "[OPTIONS] [FILE]"
#define COMMON "column nan output hex threads memory device help"

static const struct {
    const char *name;
    bf_reduction op;
    usage usage;
} commands[] = {
    {"cumsum",
     BF_SUM,
     {SYNOPSIS,
      "The sum of the numbers up to each one: the exact sum, rounded once to their dtype; integers "
      "and decimals are exact." FORMS,
      TAKES_SCAN | TAKES_OVERFLOW, "overflow " COMMON,
      "bitfold cumsum x.npy -o sums.npy\nbitfold cumsum --column weight table.csv", &scan_options}},
    {"cumprod",
     BF_PROD,
     {SYNOPSIS, "The product of the integers up to each one." FORMS, TAKES_SCAN | TAKES_OVERFLOW,
      "overflow " COMMON, "seq 20 | bitfold cumprod", &scan_options}},
    {"cummin",
     BF_MIN,
     {SYNOPSIS, "The least of the numbers up to each one; -0 is less than 0." FORMS, TAKES_SCAN,
      COMMON, "bitfold cummin x.npy", &scan_options}},
    {"cummax",
     BF_MAX,
     {SYNOPSIS, "The greatest of the numbers up to each one; -0 is less than 0." FORMS, TAKES_SCAN,
      COMMON, "bitfold cummax --column height table.csv", &scan_options}},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

typedef struct scan {
    const char *name;
    bf_reduction op;
    const options *options;
    bf_scan_options rules;
    spool_limit limit; /* for pipes of text that are read twice */
    rows rows;
    bf_context *context;
    bf_state *state; /* has absorbed the numbers so far */
    bf_dtype to;
    int scale;
    bf_dtype written; /* the dtype of an array that is written */
    array_output output;
    void *results; /* a block's */
} scan;

static const char *file_of(const scan *x) { return x->rows.source.name; }

/* Data that a scan refuses are an error of the data. */
static int scan_failed(const scan *x, bf_status st) {
    const int code = source_check(&x->rows.source);
    if (code != EXIT_DONE || st == BF_E_MEMORY || st == BF_E_DEVICE || st == BF_E_CANCELLED)
        return code != EXIT_DONE ? code : fail_status(st, x->context, file_of(x));
    return fail(EXIT_DATA, file_of(x), "%s", bf_context_message(x->context));
}

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

static int open_rows(scan *x, const char *name) {
    const options *o = x->options;
    spool_limit_set(&x->limit, o->memory.pipes);
    const rows_options how = {.threads = o->threads,
                              .settled = true,
                              .digits = BF_SCALE_MOST_I128,
                              .ordered = true,
                              .keep = &x->limit,
                              .memory = o->memory.input,
                              .nulls = true};
    int code = rows_open_column(&x->rows, name, &o->input, &how);
    if (code == EXIT_DONE) code = settle_rows(&x->rows);
    return code == EXIT_DONE ? rows_prepare(&x->rows) : code;
}

/* The dtype of the array that holds the results: decimals become doubles there. */
static int set_dtypes(scan *x) {
    const bf_dtype dtype = rows_dtype(&x->rows, 0);
    x->scale = rows_scale(&x->rows, 0);
    x->to = bf_scan_dtype(x->op, dtype, &x->rules);
    if (x->to == BF_NONE || (x->op == BF_PROD && x->scale > 0))
        return fail(EXIT_DATA, file_of(x), "%s is of integers, and these are %s", x->name,
                    output_dtype(dtype, x->scale));
    x->written = x->scale > 0 ? BF_F64 : x->to;
    if (x->options->output && x->written == BF_I128)
        return fail(EXIT_DATA, file_of(x), "an array of .npy has no integers of 128 bits");
    return EXIT_DONE;
}

static int open_output(scan *x) {
    const source *s = &x->rows.source;
    const bool known = !s->text && s->count >= 0;
    npy_header header = {.dtype = x->written, .ndim = 1, .count = known ? s->count : -1};
    header.shape[0] = known ? s->count : 0;
    return x->options->output ? array_output_open(&x->output, x->options->output, &header)
                              : EXIT_DONE;
}

static int open_scan(scan *x) {
    const options *o = x->options;
    int code = open_rows(x, o->file_count > 0 ? o->files[0] : "-");
    if (code == EXIT_DONE) code = context_open(&x->context, o);
    if (code == EXIT_DONE) code = set_dtypes(x);
    if (code != EXIT_DONE) return code;
    x->results = malloc((size_t)BLOCK * 16);
    if (!x->results) return fail_status(BF_E_MEMORY, NULL, NULL);
    const bf_status st = bf_state_create(x->context, x->op, rows_dtype(&x->rows, 0), &x->state);
    return st == BF_OK ? open_output(x) : scan_failed(x, st);
}

/* ---- the work -------------------------------------------------------------------------------- */

static int write_lines(const scan *x, int64_t n) {
    char text[BF_VALUE_TEXT];
    for (int64_t i = 0; i < n; i++) {
        const bf_value v = output_element(x->to, x->scale, x->results, i);
        output_format(&v, x->options->hex, text);
        fputs(text, stdout);
        putc('\n', stdout);
    }
    return output_flush(stdout, "standard output");
}

static int write_results(scan *x, int64_t n) {
    double *const doubles = x->results;
    if (!x->options->output) return write_lines(x, n);
    for (int64_t i = 0; i < n && x->scale > 0; i++) /* in place, where elements are no narrower */
        doubles[i] = units_double(x->to, x->scale, x->results, i);
    return array_output_write(&x->output, x->results, n);
}

/* Scans what follows, at most BLOCK numbers. */
static int scan_block(scan *x, const char *numbers, int64_t n) {
    const bf_array block = bf_array_of(rows_dtype(&x->rows, 0), numbers, n);
    const bf_array results = bf_array_of(x->to, x->results, n);
    const bf_status st = bf_state_scan(x->state, &block, &x->rules, &results);
    return st == BF_OK ? write_results(x, n) : scan_failed(x, st);
}

static int scan_chunk(scan *x, const rows_chunk *chunk, int64_t *count) {
    const bf_dtype dtype = rows_dtype(&x->rows, 0);
    const int64_t bytes = dtype == BF_I128 ? 16 : (int64_t)bf_dtype_size(dtype);
    rows_numbers present;
    int code = EXIT_DONE;
    if (!rows_present(&x->rows, chunk, 0, __builtin_ctz(rows_can(&x->rows, 0)), NULL, &present))
        return fail_status(BF_E_MEMORY, NULL, file_of(x));
    const int64_t n = present.numbers.shape[0];
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += BLOCK)
        code = scan_block(x, (const char *)present.numbers.data + at * bytes,
                          n - at < BLOCK ? n - at : BLOCK);
    *count += n;
    return code;
}

static int scan_rows(scan *x, int64_t *count) {
    rows_chunk chunk = {.n = 1};
    int code = EXIT_DONE;
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(&x->rows, 0, &chunk);
        if (code == EXIT_DONE && chunk.n > 0) code = scan_chunk(x, &chunk, count);
    }
    return code == EXIT_DONE ? source_check(&x->rows.source) : code;
}

static int run_scan(scan *x) {
    int64_t count = 0;
    int code = open_scan(x);
    if (code == EXIT_DONE) {
        const double began = progress_clock();
        progress_start(file_of(x), rows_bytes(&x->rows));
        code = scan_rows(x, &count);
        progress_stop();
        if (code == EXIT_DONE) note_device(x->context, file_of(x));
        if (code == EXIT_DONE && x->options->stats)
            inform(file_of(x), "%" PRId64 " elements in %.6f s", count, progress_clock() - began);
    }
    if (code == EXIT_DONE && x->options->output) return array_output_close(&x->output, count);
    if (x->output.stream) array_output_abandon(&x->output);
    return code;
}

int cmd_scan(int argc, char **argv) {
    int which = 0, code;
    options o;
    while (strcmp(commands[which].name, argv[0]) != 0) which++;
    if (!options_parse(&o, argc, argv, &commands[which].usage, &code)) return code;
    if (o.file_count > 1)
        return fail(EXIT_USAGE, NULL, "%s takes one FILE, not %d", argv[0], o.file_count);
    if (o.rules.overflow == BF_OVERFLOW_SATURATE)
        return fail(EXIT_USAGE, NULL, "--overflow saturate is for map alone");
    scan x = {.name = commands[which].name,
              .op = commands[which].op,
              .options = &o,
              .rules = BF_SCAN_OPTIONS(.nan = o.rules.nan, .overflow = o.rules.overflow),
              .rows.source.fd = -1};
    code = run_scan(&x);
    bf_state_destroy(x.state);
    rows_close(&x.rows);
    bf_context_destroy(x.context);
    free(x.results);
    return code;
}
