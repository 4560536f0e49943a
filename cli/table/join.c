/* join: the pairs of rows of two columns that have the same number. */
#include "command.h"
#include "input/column.h"
#include "runtime/context.h"
#include "runtime/json.h"
#include "runtime/output.h"
#include "runtime/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const usage join_usage = {
    "[OPTIONS] A B",
    "The pairs of rows that have the same number, counted from 0: lines of A's row, tab, B's row,\n"
    "in the order of A's, then of B's. -0 is the same as 0, and a NaN as any other.",
    TAKES_INPUT | TAKES_RUNNING | TAKES_OUTPUT | TAKES_SEED, "bitfold join x.npy x.npy"};

/* One side. */
typedef struct side {
    column column;
    const void *rows;
    void *own; /* what is to be freed of them */
    int64_t n;
} side;

typedef struct join {
    const options *options;
    bf_context *context;
    output output;
    side a, b;
    bf_pairs *pairs;
} join;

/* If one text holds floats, the integers of the other are taken as floats too. */
static int check_dtypes(join *j) {
    source *a = &j->a.column.source, *b = &j->b.column.source;
    if (a->layout.dtype != b->layout.dtype && !source_take_as(a, b->layout.dtype) &&
        !source_take_as(b, a->layout.dtype))
        return fail(EXIT_DATA, b->name, "no join of different dtypes: this is %s, %s is %s",
                    bf_dtype_name(b->layout.dtype), a->name, bf_dtype_name(a->layout.dtype));
    return EXIT_DONE;
}

/* Text is taken as another dtype before it is made ready to be read. */
static int open_sides(join *j) {
    const options *o = j->options;
    int code = column_open(&j->a.column, o->files[0], &o->input);
    if (code == EXIT_DONE) code = column_open(&j->b.column, o->files[1], &o->input);
    if (code == EXIT_DONE) code = check_dtypes(j);
    return code;
}

static int read_side(side *s) {
    s->column.dtype = s->column.source.layout.dtype;
    progress_start(s->column.source.name, column_bytes(&s->column));
    const int code = column_all(&s->column, &s->rows, &s->own, &s->n);
    progress_stop();
    return code;
}

static int join_sides(join *j) {
    const bf_array a = bf_array_of(j->a.column.dtype, j->a.rows, j->a.n),
                   b = bf_array_of(j->b.column.dtype, j->b.rows, j->b.n);
    const bf_status st = bf_join(j->context, &a, &b, (uint64_t)j->options->seed, &j->pairs);
    return st == BF_OK ? EXIT_DONE : fail_status(st, j->context, j->options->files[0]);
}

static void put_rows(FILE *f, const char *name, const int64_t *rows, int64_t n) {
    fprintf(f, ",\"%s\":[", name);
    for (int64_t i = 0; i < n && !ferror(f); i++)
        fprintf(f, "%s%" PRId64, i > 0 ? "," : "", rows[i]);
    putc(']', f);
}

static void put_pairs_object(const join *j, double seconds) {
    FILE *f = j->output.stream;
    const int64_t n = bf_pairs_size(j->pairs);
    fprintf(f, "{\"schema\":1,\"command\":\"join\",\"file\":");
    json_string(f, j->options->files[0]);
    fputs(",\"other\":", f);
    json_string(f, j->options->files[1]);
    fprintf(f, ",\"dtype\":\"%s\",\"n\":%" PRId64, bf_dtype_name(j->a.column.dtype), n);
    put_rows(f, "a", bf_pairs_a(j->pairs), n);
    put_rows(f, "b", bf_pairs_b(j->pairs), n);
    json_end(f, bf_context_device(j->context), seconds);
}

static void put_pairs(const join *j, double seconds) {
    FILE *f = j->output.stream;
    const int64_t *a = bf_pairs_a(j->pairs), *b = bf_pairs_b(j->pairs);
    if (j->options->layout == LAYOUT_JSON) {
        put_pairs_object(j, seconds);
        return;
    }
    for (int64_t i = 0; i < bf_pairs_size(j->pairs) && !ferror(f); i++)
        fprintf(f, "%" PRId64 "\t%" PRId64 "\n", a[i], b[i]);
}

static int check_line(const options *o) {
    if (o->file_count != 2)
        return fail(EXIT_USAGE, NULL, "two files are needed, not %d", o->file_count);
    if (strcmp(o->files[0], "-") == 0 && strcmp(o->files[1], "-") == 0)
        return fail(EXIT_USAGE, NULL, "standard input cannot be both files");
    return EXIT_DONE;
}

static int run_join(join *j) {
    const options *o = j->options;
    const double began = progress_clock();
    int code = check_line(o);
    if (code == EXIT_DONE) code = context_open(&j->context, o);
    if (code == EXIT_DONE) code = output_open(&j->output, o, false);
    if (code == EXIT_DONE) code = open_sides(j);
    if (code == EXIT_DONE) code = read_side(&j->a);
    if (code == EXIT_DONE) code = read_side(&j->b);
    if (code == EXIT_DONE) code = join_sides(j);
    if (code != EXIT_DONE) return code;
    note_device(j->context, o->files[0]);
    put_pairs(j, progress_clock() - began);
    return output_close(&j->output);
}

int cmd_join(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &join_usage, &code)) return code;
    join j = {.options = &o, .a.column.source.fd = -1, .b.column.source.fd = -1};
    code = run_join(&j);
    if (code != EXIT_DONE) output_abandon(&j.output);
    column_close(&j.a.column);
    column_close(&j.b.column);
    free(j.a.own);
    free(j.b.own);
    bf_pairs_destroy(j.pairs);
    bf_context_destroy(j.context);
    return code;
}
