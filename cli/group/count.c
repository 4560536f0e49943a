/* count: the different numbers there are, and how many of each. */
#include "command.h"
#include "group/by/by.h"
#include "group/output.h"
#include "group/rows.h"
#include "runtime/context.h"
#include "runtime/progress.h"
#include "work/ranks.h"
#include "work/share.h"
#include "work/statefile.h"
#include "work/wide.h"
#include "work/work.h"

#include <inttypes.h>
#include <stdlib.h>

static const usage count_usage = {
    "[OPTIONS] [FILE...]",
    "Counts how often each different number occurs in all files together: a line is a number, a "
    "tab and its count, the most frequent first. With --by COLUMN, all files are one table of text, whose "
    "rows are counted by columns of words or numbers. '-' or no FILE is standard input.\n\n"
    "Among equally frequent numbers the least comes first. -0 counts as 0, and all NaNs count as "
    "one number, the greatest.",
    TAKES_STDIN | TAKES_INPUT | TAKES_RUNNING | TAKES_MEMORY | TAKES_OUTPUT | TAKES_SHEET |
        TAKES_SEED | TAKES_BY | TAKES_INFER | TAKES_SAVE | TAKES_WORK,
    "by where sort top column total json csv output save threads memory help",
    "bitfold count -n 10 x.npy\n"
    "bitfold count --by name --where 'height > 1.6' --csv table.csv",
    NULL};

enum { MANY_ROWS = 1 << 24 };

typedef struct count {
    const options *options;
    bf_context *context;
    output output;
    outfile save;
    work work;
    by *by; /* has the rows */
    spool_limit limit;
    bf_dtype dtype;
    int scale; /* of all files so far */
    int made;  /* of the groups of the present one */
    bf_groups *groups;
    spill spill;
    char *key; /* the name of the first column that has one */
    int64_t bytes;
} count;

static int check_dtype(count *c, const rows *r) {
    const char *name = r->source.name;
    const bf_dtype dtype = rows_dtype(r, 0);
    if (c->dtype != BF_NONE && !wide_joins(dtype, c->dtype))
        return fail(EXIT_DATA, name, "cannot count different dtypes together: this is %s, %s is %s",
                    bf_dtype_name(dtype), c->options->files[0], bf_dtype_name(c->dtype));
    if (c->dtype != BF_NONE && dtype != c->dtype && spill_limited(&c->spill)) {
        fail(EXIT_DATA, name, "cannot count together: numbers are %s here, and %s in files before",
             bf_dtype_name(dtype), bf_dtype_name(c->dtype));
        hint("without --memory, they are counted together");
        return EXIT_DATA;
    }
    if (c->dtype == BF_NONE) c->dtype = dtype;
    return EXIT_DONE;
}

/* The rows that are absorbed next: of new keys many, even at first. */
static int64_t next_rows(const count *c, rows *r, const bf_groups *groups) {
    const int64_t most = spill_batch(&c->spill, groups, 1);
    return most == 0 && bf_groups_rows(groups) == 0 && group_keys_are_new(c->context, r) ? MANY_ROWS
                                                                                         : most;
}

/* Counts the rows of one file, in new groups. ROWS_RESETTLED: their dtype is another. */
static int count_rows(count *c, rows *r, bf_groups **groups) {
    rows *const inputs[] = {r};
    const work_thing things[] = {{.groups = &c->groups}, {.groups = groups}};
    int code = work_begin(&c->work, inputs, 1);
    if (code != EXIT_DONE) return code;
    const bf_dtype dtype = rows_dtype(r, 0);
    if (dtype == BF_NONE) return ROWS_STRINGS;
    c->made = rows_scale(r, 0);
    const bf_groups_options wanted =
        BF_GROUPS_OPTIONS(.key = dtype, .seed = (uint64_t)c->options->seed);
    const bf_status st = bf_groups_create(c->context, &wanted, groups);
    rows_chunk chunk = {.n = 1};
    code =
        st == BF_OK ? work_hold(&c->work, things, 2) : fail_status(st, c->context, r->source.name);
    if (code == EXIT_DONE) code = rows_prepare(r);
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, next_rows(c, r, *groups), &chunk);
        if (code != EXIT_DONE || chunk.n == 0) break;
        const bf_array keys = group_array(r, &chunk, 0);
        code = spill_absorb(&c->spill, *groups, &keys, NULL, r->source.name);
        c->bytes += chunk.n * (int64_t)bf_dtype_size(dtype);
        if (code == EXIT_DONE && !spill_used(&c->spill)) work_tick(&c->work);
    }
    return code;
}

/* Brings the groups of the files so far to the scale of one that has a greater. */
static int match_scale(count *c, const rows *r) {
    const int scale = rows_scale(r, 0), digits = scale - c->scale;
    if (digits <= 0 || !c->groups) {
        c->scale = digits > 0 ? scale : c->scale;
        return EXIT_DONE;
    }
    if (spill_limited(&c->spill)) {
        fail(EXIT_DATA, r->source.name, "it has more digits behind the point than files before it");
        hint("with --memory, the file with the most of them is the first");
        return EXIT_DATA;
    }
    c->scale = scale;
    const bf_status st = wide_rescale(c->context, &c->groups, digits, NULL);
    return st == BF_OK ? EXIT_DONE : fail_status(st, c->context, r->source.name);
}

/* Adds the groups of a file, which are too many to be in memory beside the others if some were
 * spilled. */
static int add_groups(count *c, bf_groups **groups, const char *name) {
    if (c->groups && spill_limited(&c->spill)) return spill_groups(&c->spill, *groups, name);
    bf_status st = BF_OK;
    if (c->groups && group_key(c->groups) != group_key(*groups)) {
        st = wide_groups(c->context, &c->groups);
        if (st == BF_OK) st = wide_groups(c->context, groups);
    }
    if (c->groups && st == BF_OK) st = bf_groups_merge(c->groups, *groups);
    if (!c->groups) {
        c->groups = *groups;
        *groups = NULL;
    }
    return st == BF_OK ? EXIT_DONE : fail_status(st, c->context, name);
}

/* Counts anew until the dtype is right. */
static int make_groups(count *c, rows *r, bf_groups **groups) {
    const int64_t bytes = c->bytes;
    const int runs = c->spill.n;
    int code;
    while ((code = count_rows(c, r, groups)) == ROWS_RESETTLED) {
        bf_groups_destroy(*groups);
        *groups = NULL;
        c->bytes = bytes;
        spill_forget(&c->spill, runs);
        rows_again(r);
    }
    return code;
}

/* Another rank's rows may show that it is not. */
static int count_shared(count *c, rows *r, bf_groups **groups) {
    int code = work_end(&c->work, make_groups(c, r, groups), false);
    while (code == ROWS_RESETTLED) {
        const bool same = group_key(*groups) == rows_dtype(r, 0) && c->made == rows_scale(r, 0);
        if (!same) rows_again(r);
        if (!same) bf_groups_destroy(*groups);
        if (!same) *groups = NULL;
        code = work_end(&c->work, same ? EXIT_DONE : make_groups(c, r, groups), false);
    }
    return code;
}

static int count_file(count *c, rows *r) {
    bf_groups *groups = NULL;
    int code = c->groups && spill_limited(&c->spill)
                   ? spill_groups(&c->spill, c->groups, r->source.name)
                   : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    progress_start(r->source.name, rows_bytes(r));
    code = count_shared(c, r, &groups);
    progress_stop();
    if (code == EXIT_DONE) code = check_dtype(c, r);
    if (code == EXIT_DONE) code = match_scale(c, r);
    if (code == EXIT_DONE) code = add_groups(c, &groups, r->source.name);
    bf_groups_destroy(groups);
    return ranks_agree(code);
}

static int count_rows_of(count *c, const char *name) {
    spool_limit_set(&c->limit, c->options->memory.pipes);
    const rows_options how = group_rows(c->options, 1, &c->limit);
    rows *const r = by_rows(c->by), *const inputs[] = {r};
    const input in = group_input(c->options);
    int code = ranks_agree(rows_open_column(r, name, &in, &how));
    if (code == EXIT_DONE && c->scale > 0) rows_raise_scale(r, 0, c->scale);
    if (code == EXIT_DONE && !rows_may_resettle(r)) rows_forget(r);
    if (code == EXIT_DONE) code = share_rows(inputs, 1, NULL);
    if (code == EXIT_DONE) code = count_file(c, r);
    if (code == EXIT_DONE && !c->key) c->key = group_key_name(r, 0);
    if (code != ROWS_STRINGS) rows_close(r);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int put_counts(count *c, const char *file, double began) {
    const options *o = c->options;
    group_subject subject = {.context = c->context,
                             .groups = c->groups,
                             .file = file,
                             .key = c->key,
                             .scale = c->scale,
                             .began = began};
    int code = spill_end(&c->spill) ? group_put_spilled_counts(&c->output, o, &subject, &c->spill)
                                    : group_put_counts(&c->output, o, &subject);
    if (code == EXIT_DONE && o->stats)
        inform(file, "%" PRId64 " bytes in %.6f s: %.2f GB/s", c->bytes, subject.seconds,
               subject.seconds > 0 ? 1e-9 * (double)c->bytes / subject.seconds : 0);
    statefile saved = {.groups = c->groups, .trailer = trailer_of(o)};
    saved.trailer.key_scale = (unsigned char)c->scale;
    return code == EXIT_DONE && o->save ? statefile_save(&c->save, &saved, c->context) : code;
}

static void drop_counts(count *c) {
    bf_groups_destroy(c->groups);
    spill_close(&c->spill);
    c->groups = NULL;
}

/* The counts of keys that are not all numbers. */
static int count_others(count *c, double began) {
    drop_counts(c);
    return by_take(c->by, c->context, &c->output, 0, NULL, began);
}

/* The counts of all files. */
static int count_all(count *c, double began) {
    const options *o = c->options;
    const char *file = o->file_count == 1 ? o->files[0] : "total";
    int code = EXIT_DONE;
    for (int i = 0; code == EXIT_DONE && i < o->file_count; i++)
        code = count_rows_of(c, o->files[i]);
    if (code == ROWS_STRINGS) return count_others(c, began);
    if (code == EXIT_DONE) code = ranks_merge_groups(c->context, c->groups, file);
    if (code == EXIT_DONE) note_device(c->context, file);
    return code == EXIT_DONE ? put_counts(c, file, began) : code;
}

static int run_count(count *c) {
    const options *o = c->options;
    const double began = progress_clock();
    int code = context_open(&c->context, o);
    if (code == EXIT_DONE) code = spill_open(&c->spill, o, c->context, 0);
    if (code == EXIT_DONE) code = output_open(&c->output, o, false);
    if (code == EXIT_DONE && o->save) code = outfile_open(&c->save, o->save);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = work_open(&c->work, o, c->context);
    if (code == EXIT_DONE) code = count_all(c, began);
    return code == EXIT_DONE ? output_close(&c->output) : code;
}

int cmd_count(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &count_usage, &code)) return code;
    if (o.by) return ranks_agree(by_run(&o));
    code = by_check_absent(&o, true);
    if (code != EXIT_DONE) return code;
    count c = {.options = &o, .by = by_open(&o)};
    code = c.by ? run_count(&c) : EXIT_IO;
    if (code != EXIT_DONE) {
        outfile_abandon(&c.save);
        output_abandon(&c.output);
    }
    work_close(&c.work, code);
    drop_counts(&c);
    by_close(c.by);
    free(c.key);
    bf_context_destroy(c.context);
    return code;
}
