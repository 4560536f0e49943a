#define _GNU_SOURCE /* strdup */
#include "group/by.h"

#include "columns/condition.h"
#include "command.h"
#include "group/joined.h"
#include "group/merged.h"
#include "group/saved.h"
#include "group/shown.h"
#include "options/context.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "sheet/output.h"
#include "work/infer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The 8 bytes that the content of a saved table begins with (work/checkpoint.h). */
static const char table_magic[] = "bftable\n";

struct by {
    const options *options;
    bf_context *context;
    output *output;
    outfile save;
    work work;
    asked asked;
    table table;
    numbered groups;
};

static int refuse_with_by(const char *option, const char *advice) {
    fail(EXIT_USAGE, NULL, "%s does not go with --by", option);
    if (advice) hint("%s", advice);
    return EXIT_USAGE;
}

static int check_by(const options *o) {
    static const char text[] = "--by takes a table of text: names and numbers in columns";
    if (o->distinct && o->total) return refuse_with_by("--total", NULL);
    if (o->distinct && o->rules.nan != BF_NAN_PROPAGATE)
        return refuse_with_by("--nan", "NaN is a key, the last");
    if (o->expression) return refuse_with_by("-e", NULL);
    if (o->input.format == FORMAT_NPY) return refuse_with_by("--format npy", text);
    if (o->input.format == FORMAT_RAW) return refuse_with_by("--format raw", text);
    if (o->input.text.columns)
        return refuse_with_by("--column", "--by takes the names or numbers of the key's columns");
    return asked_check(o);
}

int by_check_absent(const options *o, bool ordered) {
    const bool words = !o->sort || strcmp(o->sort, "count") == 0 || strcmp(o->sort, "key") == 0;
    const char *option = o->infer                       ? "--infer"
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
static int absorb_settled(by *x) {
    int code;
    while ((code = numbered_absorb(&x->groups)) == ROWS_RESETTLED) {
        code = table_again(&x->table);
        if (code != EXIT_DONE) break;
    }
    return code;
}

/* Another rank's rows may show that it does. */
static int absorb_shared(by *x) {
    bool changed = false;
    int code = ranks_agree(absorb_settled(x));
    if (code == EXIT_DONE) code = table_settle_ranks(&x->table, &changed);
    while (code == EXIT_DONE && ranks_any(changed)) {
        if (changed) code = table_again(&x->table);
        if (changed && code == EXIT_DONE) code = absorb_settled(x);
        code = ranks_agree(code);
        if (code == EXIT_DONE) code = table_settle_ranks(&x->table, &changed);
    }
    return code;
}

static int absorb_all(by *x) {
    int code = work_begin(&x->work, NULL, 0);
    if (code != EXIT_DONE) return code;
    x->groups.work = &x->work;
    progress_start(x->asked.file, table_bytes(&x->table));
    code = absorb_shared(x);
    progress_stop();
    return work_end(&x->work, code, false);
}

static void tell_speed(const by *x, double seconds) {
    const int64_t bytes = table_bytes(&x->table);
    if (x->options->stats && bytes >= 0)
        inform(x->asked.file, "%" PRId64 " bytes in %.6f s: %.2f GB/s", bytes, seconds,
               seconds > 0 ? 1e-9 * (double)bytes / seconds : 0);
}

/* ---- saved groups ---------------------------------------------------------------------------- */

/* Writes the saved form. */
static int put_form(by *x, checkpoint_writer *to) {
    checkpoint_begin(to, table_magic);
    saved_put_question(to, &x->groups);
    const int code = saved_put_groups(to, &x->groups);
    checkpoint_end(to);
    return code;
}

/* Keys that are numbers are those of the library's groups. */
static int write_library_groups(by *x) {
    const table *t = &x->table;
    statefile saved = {.groups = x->groups.part[0].groups, .trailer = trailer_of(x->options)};
    saved.trailer.columns = x->asked.keyed ? x->asked.results : 0;
    saved.trailer.key_scale = (unsigned char)t->columns[t->key_columns[0]].form.scale;
    saved.trailer.key_time = (unsigned char)t->columns[t->key_columns[0]].form.time;
    for (int i = 0; i < x->asked.results; i++) {
        const int which = x->groups.place[i].which;
        saved.trailer.which[i] = (signed char)which;
        if (which < 0) continue;
        const table_value *const v = &t->values[x->asked.result[i].value];
        saved.trailer.scales[which] = (unsigned char)v->form.scale;
        saved.trailer.times[which] = (unsigned char)v->form.time;
    }
    return statefile_write(&x->save, &saved, x->context);
}

static int write_form(by *x, outfile *to, const trailer *rules) {
    checkpoint_writer form = {.size = 0};
    int code = put_form(x, &form);
    const statefile saved = {.table = form.bytes, .table_size = form.size, .trailer = *rules};
    if (code == EXIT_DONE) code = statefile_write(to, &saved, x->context);
    free(form.bytes);
    return code;
}

int by_save(by *x, outfile *to, const trailer *rules) {
    const int code = write_form(x, to, rules);
    return code == EXIT_DONE ? outfile_commit(to) : code;
}

by *by_load(const options *o, bf_context *context, const char *name, const statefile *saved,
            int *code) {
    checkpoint_reader from;
    by *x = by_open(o);
    *code = EXIT_IO;
    if (!x) return NULL;
    x->context = x->table.context = context;
    asked_open(&x->asked, o, context);
    x->table.input->source.name = name;
    bool good = checkpoint_open(&from, table_magic, saved->table, saved->table_size) &&
                saved_take_question(&from, &x->asked, &x->table);
    if (good) numbered_open(&x->groups, &x->table);
    good = good && saved_take_groups(&from, &x->groups) && from.at == from.end;
    *code = good ? EXIT_DONE : fail(EXIT_DATA, name, "the saved groups are damaged");
    if (good) return x;
    by_close(x);
    return NULL;
}

bf_status by_merge(by *into, by *from) { return joined_merge(&into->groups, &from->groups); }

bool by_is_empty(const by *x) { return joined_is_empty(&x->groups); }

bf_status by_retract(by *into, by *from) { return joined_retract(&into->groups, &from->groups); }

int by_show(by *x, output *out, const char *file, double began) {
    x->asked.file = file;
    return shown_put(out->stream, &x->groups, began);
}

/* The results of groups that the library saved: those that were asked for, or else all and the
 * number of rows. Each has two values, for pairs. */
static bool ask_for_saved(asked *a, table *t, const statefile *saved) {
    const bf_groups_options kind = groups_kind(saved->groups);
    const trailer *given = &saved->trailer;
    a->keyed = !statefile_is_counts(saved);
    a->listed = true;
    a->keys = t->count = 1;
    a->values = 2 * kind.count;
    a->results = !a->keyed ? 1 : given->columns > 0 ? given->columns : kind.count + 1;
    for (int i = 0; i < kind.count; i++) {
        a->own[i].op = kind.aggregates[i].op;
        t->values[2 * i].form.dtype = kind.aggregates[i].dtype;
        t->values[2 * i].form.scale = given->scales[i];
        t->values[2 * i].form.time = (bf_time_kind)given->times[i];
    }
    bool good = true;
    for (int i = 0; i < a->results; i++) {
        const int which = given->columns > 0 ? given->which[i] : i < kind.count ? i : -1;
        a->result[i] =
            (asked_result){which < 0 ? NULL : &a->own[which], which < 0 ? -1 : 2 * which, NULL};
        a->result[i].name = strdup(which < 0 ? "count" : bf_reduction_name(a->own[which].op));
        good = good && a->result[i].name;
    }
    t->columns = calloc(1, sizeof *t->columns);
    if (!t->columns || !good) return false;
    *t->columns = (table_column){.name = strdup("key"),
                                 .form.dtype = kind.key,
                                 .form.scale = given->key_scale,
                                 .form.time = (bf_time_kind)given->key_time};
    return t->columns->name;
}

int group_show_saved(const saved_showing *of) {
    by *x = by_open(of->options);
    if (!x) return EXIT_IO;
    x->context = x->table.context = of->context;
    asked_open(&x->asked, of->options, of->context);
    x->table.asked = &x->asked;
    x->table.input->source.name = of->file;
    const bool good = ask_for_saved(&x->asked, &x->table, of->saved);
    int code = good ? EXIT_DONE : fail_memory(of->file);
    if (good) {
        numbered_open(&x->groups, &x->table);
        x->groups.key = x->table.columns->form.dtype;
        x->groups.part[0].groups = of->saved->groups;
        code = by_show(x, of->out, of->file, of->began);
        x->groups.part[0].groups = NULL;
    }
    by_close(x);
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int add_part(by *x, const char *bytes, int64_t size) {
    const statefile saved = {.table = (unsigned char *)(uintptr_t)bytes,
                             .table_size = (size_t)size};
    int code;
    by *part = by_load(x->options, x->context, x->asked.file, &saved, &code);
    const bf_status st = part ? joined_merge_share(&x->groups, &part->groups) : BF_OK;
    by_close(part);
    return st == BF_OK ? code : fail_status(st, x->context, x->asked.file);
}

static int add_parts(by *x, const char *all, const int64_t sizes[]) {
    int code = EXIT_DONE;
    for (int i = 0; i < ranks_count() && code == EXIT_DONE; all += sizes[i++])
        if (sizes[i] > 0) code = add_part(x, all, sizes[i]);
    return code;
}

/* Rank 0 gets the groups of all. */
static int merge_ranks(by *x) {
    checkpoint_writer form = {.size = 0};
    if (ranks_count() == 1) return EXIT_DONE;
    int code = ranks_agree(ranks_rank() > 0 ? put_form(x, &form) : numbered_flush(&x->groups));
    if (code == EXIT_DONE) {
        int64_t *sizes = ranks_allocate((size_t)ranks_count() * sizeof *sizes);
        char *all = ranks_collect(form.bytes, (int64_t)form.size, sizes);
        code = ranks_agree(all ? add_parts(x, all, sizes) : EXIT_DONE);
        free(all);
        free(sizes);
    }
    free(form.bytes);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool asks_shares(const options *o) {
    bool asks = false;
    for (int i = 0; i < o->aggregate_count; i++)
        asks = asks || o->aggregates[i].order == SHARE_OF_SUM;
    return asks;
}

static int show(by *x, double began) {
    return (x->groups.limited ? merged_put : shown_put)(x->output->stream, &x->groups, began);
}

/* Groups that have their turns are never there at once, and those that were shown not any more: so
 * they are written first, to a file that gets its name when all is shown. */
static int show_and_save(by *x, double began) {
    const trailer rules = trailer_of(x->options);
    const bool form = x->options->by || x->groups.kept_count > 0 || x->groups.chosen_count > 0 ||
                      asks_shares(x->options);
    if (!numbered_is_whole(&x->groups))
        return fail(EXIT_IO, x->asked.file,
                    "--save needs all groups at once: more than --memory allows");
    int code = form ? EXIT_DONE : numbered_flush(&x->groups);
    if (code == EXIT_DONE) code = form ? write_form(x, &x->save, &rules) : write_library_groups(x);
    if (code == EXIT_DONE) code = show(x, began);
    return code == EXIT_DONE ? outfile_commit(&x->save) : code;
}

/* Makes the groups of the table, which is open. */
static int group_rows(by *x, double began) {
    numbered_open(&x->groups, &x->table);
    int code = absorb_all(x);
    if (code == EXIT_DONE) note_device(x->context, x->asked.file);
    if (code == EXIT_DONE) tell_speed(x, progress_clock() - began);
    if (code == EXIT_DONE) code = merge_ranks(x);
    if (code != EXIT_DONE || ranks_rank() > 0) return code;
    return x->options->save ? show_and_save(x, began) : show(x, began);
}

static int run(by *x) {
    const options *o = x->options;
    const double began = progress_clock();
    int code = context_open(&x->context, o);
    asked_open(&x->asked, o, x->context);
    if (code == EXIT_DONE && !o->by) code = asked_list(&x->asked);
    if (code == EXIT_DONE && o->infer) return infer_run(o, &x->asked.chooser);
    if (code == EXIT_DONE) code = output_open(x->output, o, false);
    if (code == EXIT_DONE && o->save) code = outfile_open(&x->save, o->save);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = work_open(&x->work, o, x->context);
    if (code == EXIT_DONE) code = table_open(&x->table, &x->asked, x->context);
    if (code == EXIT_DONE) code = group_rows(x, began);
    return code == EXIT_DONE ? output_close(x->output) : code;
}

by *by_open(const options *o) {
    by *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (x) x->options = o;
    if (x && table_make(&x->table, o) == EXIT_DONE) return x;
    if (!x) fail_memory(NULL);
    free(x);
    return NULL;
}

rows *by_rows(by *x) { return x->table.inputs; }

void by_close(by *x) {
    if (!x) return;
    work_close(&x->work, EXIT_IO); /* by_run closes it before, with its code */
    numbered_close(&x->groups);
    table_close(&x->table);
    asked_close(&x->asked);
    free(x);
}

/* Groups as an array have no row beside them, and nothing that tells of it. */
static int check_array(const options *o) {
    const char *option = o->total ? "--total" : o->layout == LAYOUT_JSON ? "--json" : NULL;
    if (o->form != FORM_NPY || !option) return EXIT_DONE;
    return fail(EXIT_USAGE, o->output, "%s does not go with -o FILE.npy", option);
}

static int run_by(const options *o) {
    by *x = by_open(o);
    if (!x) return EXIT_IO;
    output out = {.stream = NULL};
    x->output = &out;
    const int code = run(x);
    work_close(&x->work, code);
    outfile_abandon(&x->save);
    if (code != EXIT_DONE) output_abandon(&out);
    bf_context *const context = x->context;
    by_close(x);
    bf_context_destroy(context);
    return code;
}

int by_run(options *o) {
    condition *c = NULL;
    int code = o->by ? check_by(o) : EXIT_DONE;
    if (code == EXIT_DONE) code = check_array(o);
    if (code == EXIT_DONE && !o->infer) code = condition_open(&c, o);
    if (code == EXIT_DONE) code = run_by(o);
    condition_close(c);
    return code;
}

/* ---- keys that unique has found to be no numbers ----------------------------------------------
 */

int by_take(by *x, bf_context *context, output *out, double began) {
    x->context = context;
    x->output = out;
    asked_open(&x->asked, x->options, context);
    int code = asked_list(&x->asked);
    if (code == EXIT_DONE) code = table_take(&x->table, &x->asked, context);
    return code == EXIT_DONE ? group_rows(x, began) : code;
}
