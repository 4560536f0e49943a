#include "group/by/by.h"

#include "group/by/merged.h"
#include "group/by/shown.h"
#include "input/infer.h"
#include "runtime/context.h"
#include "runtime/output.h"
#include "runtime/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct by {
    const options *options;
    bf_context *context;
    output output;
    asked asked;
    table table;
    numbered groups;
} by;

static int refuse_with_by(const char *option, const char *advice) {
    fail(EXIT_USAGE, NULL, "%s does not go with --by", option);
    if (advice) hint("%s", advice);
    return EXIT_USAGE;
}

static int check_line(const options *o) {
    static const char text[] = "--by takes a table of text: names and numbers in columns";
    if (o->file_count != 1)
        return fail(EXIT_USAGE, NULL, "--by takes one file, not %d", o->file_count);
    if (o->distinct && o->total) return refuse_with_by("--total", NULL);
    if (o->distinct && o->rules.nan != BF_NAN_PROPAGATE)
        return refuse_with_by("--nan", "NaN is a key, the last");
    if (o->expression) return refuse_with_by("-e", NULL);
    if (o->save) return refuse_with_by("--save", NULL);
    if (o->checkpoint) return refuse_with_by("--checkpoint", NULL);
    if (o->input.format == FORMAT_NPY) return refuse_with_by("--format npy", text);
    if (o->input.format == FORMAT_RAW) return refuse_with_by("--format raw", text);
    if (o->input.text.columns)
        return refuse_with_by("--column", "--by takes the names or numbers of the key's columns");
    return asked_check(o);
}

int by_check_absent(const options *o, bool ordered) {
    const bool words = !o->sort || strcmp(o->sort, "count") == 0 || strcmp(o->sort, "key") == 0;
    const char *option = o->where                       ? "--where"
                         : o->infer                     ? "--infer"
                         : o->total                     ? "--total"
                         : !ordered && o->top > 0       ? "-n"
                         : (ordered ? words : !o->sort) ? NULL
                                                        : "--sort COLUMN";
    if (!option) return EXIT_DONE;
    fail(EXIT_USAGE, NULL, "%s needs --by", option);
    hint("--by names the columns of the key, as in --by city,year");
    return EXIT_USAGE;
}

/* Absorbs all rows; anew, if a column turns out to hold something else than it seemed to. */
static int absorb_all(by *x) {
    rows *r = &x->table.input;
    int code;
    progress_start(x->options->files[0], rows_bytes(r));
    while ((code = numbered_absorb(&x->groups)) == ROWS_RESETTLED) rows_again(r);
    progress_stop();
    return code;
}

static void tell_speed(const by *x, double seconds) {
    const int64_t bytes = rows_bytes(&x->table.input);
    if (x->options->stats && bytes >= 0)
        inform(x->options->files[0], "%" PRId64 " bytes in %.6f s: %.2f GB/s", bytes, seconds,
               seconds > 0 ? 1e-9 * (double)bytes / seconds : 0);
}

static int show(by *x, double began) {
    return (x->groups.limited ? merged_put : shown_put)(x->output.stream, &x->groups, began);
}

static int run(by *x) {
    const options *o = x->options;
    const double began = progress_clock();
    int code = context_open(&x->context, o);
    asked_open(&x->asked, o, x->context);
    if (code == EXIT_DONE && o->infer) return infer_run(o, &x->asked.chooser);
    if (code == EXIT_DONE) code = output_open(&x->output, o, false);
    if (code == EXIT_DONE) code = table_open(&x->table, &x->asked, x->context);
    if (code != EXIT_DONE) return code;
    numbered_open(&x->groups, &x->table);
    code = absorb_all(x);
    if (code == EXIT_DONE) note_device(x->context, o->files[0]);
    if (code == EXIT_DONE) tell_speed(x, progress_clock() - began);
    if (code == EXIT_DONE) code = show(x, began);
    return code == EXIT_DONE ? output_close(&x->output) : code;
}

int by_run(const options *o) {
    int code = check_line(o);
    if (code != EXIT_DONE) return code;
    by *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return fail_status(BF_E_MEMORY, NULL, NULL);
    x->options = o;
    x->table.input.source.fd = -1;
    code = run(x);
    if (code != EXIT_DONE) output_abandon(&x->output);
    numbered_close(&x->groups);
    table_close(&x->table);
    asked_close(&x->asked);
    bf_context_destroy(x->context);
    free(x);
    return code;
}
