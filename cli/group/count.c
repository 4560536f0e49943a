/* count: the different numbers there are, and how many of each. */
#include "command.h"
#include "group/output.h"
#include "input/column.h"
#include "runtime/context.h"
#include "runtime/progress.h"
#include "runtime/statefile.h"

#include <inttypes.h>

static const usage count_usage = {
    "[OPTIONS] [FILE...]",
    "The different numbers of all files together, and how many there are of each: lines of "
    "number,\n"
    "tab, count, the most frequent first, and of equally many the least. '-' or no FILE is "
    "standard\n"
    "input. -0 counts as 0, and all NaNs as one number, the greatest.",
    TAKES_STDIN | TAKES_INPUT | TAKES_RUNNING | TAKES_OUTPUT | TAKES_SEED | TAKES_TOP | TAKES_SAVE,
    "bitfold count -n 10 x.npy"};

typedef struct count {
    const options *options;
    bf_context *context;
    output output;
    outfile save;
    bf_dtype dtype;
    bf_groups *groups;
    int64_t bytes;
} count;

static int check_dtype(count *c, const column *col) {
    const char *name = col->source.name;
    if (c->dtype != BF_NONE && col->dtype != c->dtype)
        return fail(EXIT_DATA, name, "no counts of different dtypes: this is %s, %s is %s",
                    bf_dtype_name(col->dtype), c->options->files[0], bf_dtype_name(c->dtype));
    if (c->dtype != BF_NONE) return EXIT_DONE;
    c->dtype = col->dtype;
    const bf_groups_options wanted =
        BF_GROUPS_OPTIONS(.key = c->dtype, .seed = (uint64_t)c->options->seed);
    const bf_status st = bf_groups_create(c->context, &wanted, &c->groups);
    return st == BF_OK ? EXIT_DONE : fail_status(st, c->context, name);
}

static int count_column(count *c, column *col) {
    const void *elements;
    int64_t n = 1;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && n > 0) {
        code = column_next(col, col->block, &elements, &n);
        if (code != EXIT_DONE || n == 0) break;
        const bf_array keys = bf_array_of(c->dtype, elements, n);
        const bf_status st = bf_groups_absorb(c->groups, &keys, NULL);
        if (st != BF_OK) code = fail_status(st, c->context, col->source.name);
        c->bytes += n * (int64_t)bf_dtype_size(c->dtype);
    }
    return code;
}

static int count_rows_of(count *c, const char *name) {
    column col;
    int code = column_open(&col, name, &c->options->input);
    if (code != EXIT_DONE) return code;
    code = check_dtype(c, &col);
    if (code == EXIT_DONE) {
        progress_start(name, column_bytes(&col));
        code = count_column(c, &col);
        progress_stop();
    }
    column_close(&col);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int put_counts(count *c, const char *file, double began) {
    const options *o = c->options;
    group_subject subject = {c->context, c->groups, file, began, 0};
    int code = group_put_counts(&c->output, o, &subject);
    if (code == EXIT_DONE && o->stats)
        inform(file, "%" PRId64 " bytes in %.6f s: %.2f GB/s", c->bytes, subject.seconds,
               subject.seconds > 0 ? 1e-9 * (double)c->bytes / subject.seconds : 0);
    return code == EXIT_DONE && o->save ? statefile_save_groups(&c->save, c->groups, c->context)
                                        : code;
}

static int run_count(count *c) {
    const options *o = c->options;
    const double began = progress_clock();
    const char *file = o->file_count == 1 ? o->files[0] : "total";
    int code = context_open(&c->context, o);
    if (code == EXIT_DONE) code = output_open(&c->output, o, false);
    if (code == EXIT_DONE && o->save) code = outfile_open(&c->save, o->save);
    for (int i = 0; code == EXIT_DONE && i < o->file_count; i++)
        code = count_rows_of(c, o->files[i]);
    if (code == EXIT_DONE) note_device(c->context, file);
    if (code == EXIT_DONE) code = put_counts(c, file, began);
    return code == EXIT_DONE ? output_close(&c->output) : code;
}

int cmd_count(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &count_usage, &code)) return code;
    count c = {.options = &o};
    code = run_count(&c);
    if (code != EXIT_DONE) {
        outfile_abandon(&c.save);
        output_abandon(&c.output);
    }
    bf_groups_destroy(c.groups);
    bf_context_destroy(c.context);
    return code;
}
