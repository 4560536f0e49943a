/* join: the pairs of rows of two columns that have the same number. */
#include "command.h"
#include "input/share.h"
#include "memory/kept.h"
#include "options/context.h"
#include "options/operand.h"
#include "runtime/json.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "sheet/output.h"
#include "table/keyed.h"
#include "table/pairs.h"
#include "table/sides.h"
#include "work/work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const option_spec specs[] = {
    {"on", 0, IN_KEYS, "KEY[=KEY]",
     "join texts on these columns or expressions, A's and B's, with commas between, and show their "
     "rows",
     0, .read = read_text, .at = OPTION_AT(on)},
    {"how", 0, IN_KEYS, "inner|left|outer|semi|anti",
     "with --on: inner, rows with a partner; left, also the others of A; outer, also the others "
     "of both; semi and anti, rows of A that have one or none (inner)",
     0, .read = read_choice, .at = OPTION_AT(how)},
    {"take", 0, IN_OUTPUT, "COL[,COL]",
     "with --on: the columns to show, a.NAME and b.NAME if both have the name (all; semi, anti: "
     "those of A)",
     0, .read = read_text, .at = OPTION_AT(take)},
};
const option_table join_options = OPTION_TABLE(specs);

static const usage join_usage = {
    "[OPTIONS] A B",
    "Finds the pairs of rows of A and B that have the same number: a line is the row in A, a tab "
    "and the row in B, both from 0. With --on, A and B are texts whose columns have names, and "
    "rows "
    "are joined that have the same keys: numbers, or words where either text has some.\n\n"
    "Pairs are ordered by the row in A, then by that in B. -0 equals 0, and all NaNs are equal. "
    "With --on, each line has the columns of --take, written as they are in the file. A key "
    "without "
    "a value has no partner. --where leaves out joined rows: its names mean what they mean in "
    "--take, a.NAME and b.NAME too.",
    TAKES_INPUT | TAKES_RUNNING | TAKES_MEMORY | TAKES_OUTPUT | TAKES_SHEET | TAKES_SEED |
        TAKES_JOIN,
    "on how take where text null json csv output threads memory help",
    "bitfold join x.npy x.npy\n"
    "bitfold join table.csv table.csv --on name --take name,b.height\n"
    "bitfold join table.csv table.csv --on height=weight --how anti --csv",
    &join_options};

typedef struct join {
    const options *options;
    bf_context *context;
    output output;
    spool_limit limit;
    rows a, b;
    bf_array rows_a, rows_b;     /* all of them */
    units_form form;             /* rows are compared in it */
    bf_pairs *like;              /* the pairs, if both sides have that form */
    join_pairs unlike;           /* the pairs, if one side has another */
    const int64_t *pairs[SIDES]; /* the pairs of `like` or `unlike` */
    int64_t count;               /* the number of pairs */
    bool limited;                /* --memory: sorters are in place of arrays and pairs */
    side side_a, side_b;
    bf_context *spilling; /* the sorters' */
    side_pairs sorted;
} join;

static int open_side(join *j, rows *r, const char *name) {
    const options *o = j->options;
    rows_options how = context_reading(o, &j->limit, 2);
    input in = o->input;
    how.ordered = how.unchanging = how.times = true;
    in.text.counted = true;
    const int code = rows_open_column(r, name, &in, &how);
    if (code == EXIT_DONE && !rows_may_resettle(r)) rows_forget(r);
    return code;
}

/* Loads all rows; if memory is limited, into a sorter. */
static int load_side(join *j, rows *r, bf_array *all) {
    side *s = r == &j->a ? &j->side_a : &j->side_b;
    int code;
    progress_start(r->source.name, rows_bytes(r));
    if (j->limited)
        while ((code = side_load(s, r)) == ROWS_RESETTLED) rows_again(r);
    else
        code = rows_load(r, all);
    progress_stop();
    return code;
}

/* Loads this rank's rows; anew if those of another show that their dtype or scale is another. */
static int load_settled(join *j, rows *r, bf_array *all) {
    int code = ranks_agree(load_side(j, r, all));
    while (code == EXIT_DONE) {
        const bool changed = work_settle_input(r);
        if (!ranks_any(changed)) return EXIT_DONE;
        if (changed) rows_again(r);
        code = ranks_agree(changed ? load_side(j, r, all) : EXIT_DONE);
    }
    return code;
}

/* Finds the form in which both sides are compared. */
static int match_forms(join *j) {
    const units_form a = units_of_rows(&j->a, 0), b = units_of_rows(&j->b, 0);
    j->form = join_form_of(a, b);
    if (j->form.dtype == BF_NONE)
        return fail(EXIT_DATA, j->b.source.name,
                    "cannot join different dtypes: this is %s, %s is %s", output_type(b),
                    j->a.source.name, output_type(a));
    return EXIT_DONE;
}

/* Rows are numbered from the first that is selected. */
static int share_side(rows *r, side *s) {
    rows *const inputs[] = {r};
    const int64_t selected = r->source.first;
    const int code = share_rows(inputs, 1, &s->first);
    s->first -= selected;
    return code;
}

static int load_sides(join *j) {
    const options *o = j->options;
    int code = open_side(j, &j->a, o->files[0]);
    if (code == EXIT_DONE) code = open_side(j, &j->b, o->files[1]);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = share_side(&j->a, &j->side_a);
    if (code == EXIT_DONE) code = share_side(&j->b, &j->side_b);
    if (code == EXIT_DONE) code = load_settled(j, &j->a, &j->rows_a);
    if (code == EXIT_DONE) code = load_settled(j, &j->b, &j->rows_b);
    return code == EXIT_DONE ? ranks_agree(match_forms(j)) : code;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Ranks share the memory of a machine, if --memory does not say how. */
static int limit_ranks(options *o) {
    int sharing, before;
    if (ranks_count() == 1 || o->memory.limit > 0) return EXIT_DONE;
    ranks_neighbours(&sharing, &before);
    o->memory.limit = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 4 / sharing;
    return ranks_agree(memory_plan_make(&o->memory, &o->threads));
}

static int join_like(join *j) {
    const bf_status st =
        bf_join(j->context, &j->rows_a, &j->rows_b, (uint64_t)j->options->seed, &j->like);
    j->pairs[SIDE_A] = bf_pairs_a(j->like);
    j->pairs[SIDE_B] = bf_pairs_b(j->like);
    j->count = bf_pairs_size(j->like);
    return st == BF_OK ? EXIT_DONE : fail_status(st, j->context, j->options->files[0]);
}

/* Joins rows of two forms, as --on does. */
static int join_unlike(join *j) {
    const bf_column a = {.size = sizeof a, .numbers = &j->rows_a};
    const bf_column b = {.size = sizeof b, .numbers = &j->rows_b};
    const join_columns columns = {
        .keys = 1, .of = {{&a}, {&b}}, .scales = {{rows_scale(&j->a, 0)}, {rows_scale(&j->b, 0)}}};
    const int64_t counts[] = {j->rows_a.shape[0], j->rows_b.shape[0]};
    join_numbers numbers;
    int code = join_numbers_make(&numbers, j->context, j->options->files[0], &columns, counts);
    if (code == EXIT_DONE) code = join_pairs_make(&j->unlike, &numbers, HOW_INNER);
    join_numbers_close(&numbers);
    for (int s = 0; s < SIDES; s++) j->pairs[s] = j->unlike.of[s];
    j->count = j->unlike.count;
    return code;
}

static int join_sides(join *j) {
    if (j->limited) return sides_join(&j->side_a, &j->side_b, j->form, &j->sorted);
    return units_are_same(units_of_rows(&j->a, 0), units_of_rows(&j->b, 0)) ? join_like(j)
                                                                            : join_unlike(j);
}

static void put_head(const join *j, int64_t n) {
    FILE *f = j->output.stream;
    json_begin(f, "join", j->options->files[0]);
    json_text(f, "other", j->options->files[1]);
    json_text(f, "dtype", output_type(j->form));
    json_integer(f, "n", n);
}

static void put_pairs_object(const join *j, double seconds) {
    FILE *f = j->output.stream;
    put_head(j, j->count);
    json_integers(f, "a", j->pairs[SIDE_A], j->count);
    json_integers(f, "b", j->pairs[SIDE_B], j->count);
    json_end(f, bf_context_device(j->context), seconds);
}

/* Writes pairs as rows of the output's sheet. */
static int put_sheet(join *j, const int64_t *a, const int64_t *b, int64_t n) {
    const sheet_column columns[] = {{.name = "row_a", .form.dtype = BF_I64, .array = a},
                                    {.name = "row_b", .form.dtype = BF_I64, .array = b}};
    const sheet s = {.columns = columns, .count = 2, .rows = n};
    return output_sheet(&j->output, sheet_form_of(j->options), &s, j->options->files[0]);
}

static int put_pairs(join *j, double seconds) {
    if (j->options->layout == LAYOUT_JSON) {
        put_pairs_object(j, seconds);
        return EXIT_DONE;
    }
    return put_sheet(j, j->pairs[SIDE_A], j->pairs[SIDE_B], j->count);
}

/* ---- pairs of a sorter -------------------------------------------------------------------------
 */

enum { SOME = 1 << 9 /* pairs that are shown at a time */ };

/* Rows of the sheet, or those of a, and those of b in `behind`, after so many others. */
static int put_some(join *j, const uint64_t some[], int64_t n, int64_t done, const kept *behind) {
    int64_t a[SOME], b[SOME];
    for (int64_t i = 0; i < n; i++) {
        const char *comma = done + i > 0 ? "," : "";
        a[i] = (int64_t)some[2 * i];
        b[i] = (int64_t)some[2 * i + 1];
        if (behind) fprintf(j->output.stream, "%s%" PRId64, comma, a[i]);
        if (behind) fprintf(behind->stream, "%s%" PRId64, comma, b[i]);
    }
    return behind ? EXIT_DONE : put_sheet(j, a, b, n);
}

/* Shows the sorted pairs. behind: NULL, or (JSON) for the rows of b. */
static int put_sorted_pairs(join *j, const kept *behind) {
    uint64_t some[2 * SOME];
    int code = EXIT_DONE;
    for (int64_t done = 0, n = 1; code == EXIT_DONE && n > 0 && !ferror(j->output.stream);
         done += n) {
        code = side_pairs_next(&j->sorted, some, SOME, &n);
        if (code == EXIT_DONE) code = put_some(j, some, n, done, behind);
    }
    return code == EXIT_DONE && behind ? kept_check(behind) : code;
}

static int put_sorted_object(join *j, double seconds) {
    FILE *f = j->output.stream;
    kept behind;
    int64_t n;
    const bf_status st = bf_sorter_end(j->sorted.sorter, &n);
    if (st != BF_OK) return context_failed(j->spilling, st, j->sorted.file);
    int code = kept_open(&behind);
    if (code != EXIT_DONE) return code;
    put_head(j, n);
    fputs(",\"a\":[", f);
    code = put_sorted_pairs(j, &behind);
    fputs("],\"b\":[", f);
    if (code == EXIT_DONE) code = kept_copy(f, &behind);
    putc(']', f);
    json_end(f, bf_context_device(j->context), seconds);
    kept_close(&behind);
    return code;
}

static int put_sorted(join *j, double seconds) {
    return j->options->layout == LAYOUT_JSON ? put_sorted_object(j, seconds)
                                             : put_sorted_pairs(j, NULL);
}

static int check_line(const options *o) {
    if (o->file_count != 2)
        return fail(EXIT_USAGE, NULL, "two files are needed, not %d", o->file_count);
    if (!o->on && (o->take || o->where || o->how != HOW_INNER))
        return fail(EXIT_USAGE, NULL, "--%s needs --on",
                    o->take    ? "take"
                    : o->where ? "where"
                               : "how");
    return EXIT_DONE;
}

static int open_sorted(join *j) {
    const options *o = j->options;
    const int code = context_open_spilling(&j->spilling, o, o->memory.library + o->memory.results);
    j->side_a = (side){.context = j->spilling, .options = o};
    j->side_b = j->side_a;
    return code == EXIT_DONE
               ? side_pairs_open(&j->sorted, j->spilling, o->memory.results, o->files[0])
               : code;
}

static int run_join(join *j) {
    const options *o = j->options;
    const double began = progress_clock();
    int code = context_open(&j->context, o);
    if (code == EXIT_DONE && j->limited) code = open_sorted(j);
    if (code == EXIT_DONE) code = output_open(&j->output, o, false);
    code = ranks_agree(code);
    if (code == EXIT_DONE) code = load_sides(j);
    if (code == EXIT_DONE) code = join_sides(j);
    if (code != EXIT_DONE) return code;
    note_device(j->context, o->files[0]);
    if (j->limited) code = put_sorted(j, progress_clock() - began);
    if (!j->limited) code = put_pairs(j, progress_clock() - began);
    return code == EXIT_DONE ? output_close(&j->output) : code;
}

int cmd_join(int argc, char **argv) {
    options o;
    int code;
    if (!options_parse(&o, argc, argv, &join_usage, &code)) return code;
    code = check_line(&o);
    if (code != EXIT_DONE || o.on) return code == EXIT_DONE ? keyed_join(&o) : code;
    code = limit_ranks(&o);
    if (code != EXIT_DONE) return code;
    join *j = calloc(1, sizeof *j); /* too large for a small stack */
    if (!j) return fail_memory(NULL);
    j->options = &o;
    j->a.source.fd = j->b.source.fd = -1;
    spool_limit_set(&j->limit, o.memory.pipes);
    j->limited = o.memory.limit > 0;
    code = run_join(j);
    if (code != EXIT_DONE) output_abandon(&j->output);
    rows_close(&j->a);
    rows_close(&j->b);
    bf_pairs_destroy(j->like);
    join_pairs_close(&j->unlike);
    side_close(&j->side_a);
    side_close(&j->side_b);
    side_pairs_close(&j->sorted);
    bf_context_destroy(j->spilling);
    bf_context_destroy(j->context);
    free(j);
    return code;
}
