#include "work/infer.h"

#include "input/cause.h"
#include "runtime/json.h"
#include "runtime/progress.h"
#include "sheet/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a column. */
typedef struct inferred {
    const char *file;
    char *name; /* NULL: of an array */
    const char *dtype;
    char why[48];
    int64_t rows, nulls;
    unsigned can;                                             /* candidates left */
    cause fraction, no_i64, no_narrow, no_integer, no_number; /* narrow: of 64 bits */
    cause shown;
} inferred;

typedef struct infer {
    const options *options;
    text_chooser *chooser;
    inferred *all;
    int n;
} infer;

/* ---- reading --------------------------------------------------------------------------------- */

/* The causes that are looked for in a chunk. */
typedef struct causes {
    cause_wanted *all;
    int n;
    cause_lines lines;
} causes;

/* At most so many of a column. */
enum { CAUSES = 5 };

/* Asks for the cause if the last of these candidates, which the column had before, are ruled out.
 */
static void ask_cause(causes *x, int k, unsigned before, unsigned now, cause *found) {
    if (before && !now) x->all[x->n++] = (cause_wanted){k, before, found};
}

static int64_t count_nulls(const rows_column *c, int64_t n) {
    int64_t nulls = 0;
    for (int64_t i = 0; c->valid && i < n; i++) nulls += !text_has_bit(c->valid, c->first + i);
    return nulls;
}

/* The candidates that are not floats. */
static unsigned integers_of(const rows *r) {
    unsigned all = 0;
    for (int i = 0; i < rows_candidates(r); i++)
        all |= bf_dtype_kind(rows_candidate(r, i)) == 'f' ? 0 : 1u << i;
    return all;
}

/* The candidates that are integers of 64 bits. */
static unsigned narrow_of(const rows *r) {
    unsigned all = 0;
    for (int i = 0; i < rows_candidates(r); i++)
        if (rows_candidate(r, i) == BF_I64 || rows_candidate(r, i) == BF_U64) all |= 1u << i;
    return all;
}

static void note_chunk(const rows *r, const rows_chunk *chunk, int k, inferred *x, causes *c) {
    const unsigned all = (1u << rows_candidates(r)) - 1, before = x->can & all,
                   now = rows_can(r, k);
    const bool scaled = rows_scale(r, k) > 0 && x->fraction.line == 0;
    ask_cause(c, k, scaled ? CAUSE_WHOLE : 0, 0, &x->fraction);
    ask_cause(c, k, before & 1, now & 1, &x->no_i64);
    ask_cause(c, k, before & narrow_of(r), now & narrow_of(r), &x->no_narrow);
    ask_cause(c, k, before & integers_of(r), now & integers_of(r), &x->no_integer);
    ask_cause(c, k, before, now & all, &x->no_number);
    x->can = now;
    x->rows += chunk->n;
    x->nulls += count_nulls(&chunk->columns[k], chunk->n);
}

/* Columns that nobody chose are read as numbers that may turn out to be strings. All are strings,
 * too, so that causes can be shown. */
static int open_text(rows *r, bool chosen) {
    const int n = r->columns;
    text_layout *l = &r->source.text->layout;
    l->inferred = !chosen;
    int *fields = malloc((size_t)n * sizeof *fields);
    unsigned char *kinds = malloc((size_t)n);
    if (fields && kinds) memcpy(fields, l->fields, (size_t)n * sizeof *fields);
    for (int k = 0; k < n && kinds; k++)
        kinds[k] = (unsigned char)((chosen ? l->kinds[k] : TEXT_KEYS) | TEXT_STRINGS_TOO);
    const int code = fields && kinds ? rows_keep(r, fields, kinds, n) : fail_memory(r->source.name);
    free(fields);
    free(kinds);
    return code;
}

static int open_columns(const rows *r, inferred *of) {
    int code = EXIT_DONE;
    for (int k = 0; k < r->columns; k++) {
        of[k].can = text_column_can(&r->source.text->layout, k);
        of[k].name = rows_column_name(r, k);
        if (!of[k].name) code = fail_memory(r->source.name);
    }
    return code;
}

static int read_text(rows *r, inferred *of) {
    rows_chunk chunk = {.n = 1};
    causes c = {.all = malloc((size_t)r->columns * CAUSES * sizeof *c.all), .lines = {-1, 0}};
    int code = open_columns(r, of);
    if (!c.all && code == EXIT_DONE) code = fail_memory(r->source.name);
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, 0, &chunk);
        if (code != EXIT_DONE || chunk.n == 0) break;
        c.n = 0;
        for (int k = 0; k < r->columns; k++) note_chunk(r, &chunk, k, &of[k], &c);
        code = cause_find(r, c.all, c.n, &c.lines);
    }
    free(c.all);
    return code;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Why a column of keys is one of strings; time: its first field is one. */
static const char *why_string(const char *field, bool time) {
    text_number n;
    if (time) return "no time as the first is";
    const bool number = text_parse_token(field, strlen(field), &n);
    if (!number && *field) return "no number";
    return text_is_code(field) ? "as a key: a code" : "as a key: not held exactly";
}

/* What is the cause of a dtype that nobody asked for. */
static void judge_numbers(inferred *x, bf_dtype dtype, int scale) {
    const char *why = "all are integers";
    if (dtype == BF_U64) {
        why = "more than i64 holds";
        x->shown = x->no_i64;
    } else if (dtype == BF_I128) {
        why = "more than 64 bits hold";
        x->shown = x->no_narrow;
    } else if (dtype == BF_F64) {
        why = x->no_integer.why ? x->no_integer.why : "no integer of 128 bits";
        x->shown = x->no_integer;
    }
    snprintf(x->why, sizeof x->why, "%s", why);
    if (scale == 0) return;
    snprintf(x->why, sizeof x->why, "%d digit%s behind the point", scale, scale > 1 ? "s" : "");
    x->shown = x->fraction;
}

static void judge(const rows *r, int k, inferred *x) {
    static const char *const times[] = {"", "all are dates", "dates or local times",
                                        "times in UTC"};
    const bf_dtype dtype = rows_dtype(r, k);
    const int scale = x->fraction.line > 0 ? rows_scale(r, k) : 0;
    const bool asked = rows_candidates(r) == 1;
    const char *why = asked ? "--dtype says so" : NULL;
    const bf_time_kind time = rows_time(r, k), first = (bf_time_kind)rows_kind_of(r, k).time;
    const bool was_time = first > BF_TIME_NONE && first <= BF_TIME_UTC;
    x->dtype = dtype == BF_NONE ? "string" : output_type((units_form){dtype, scale, time});
    if (!asked && dtype != BF_NONE) judge_numbers(x, dtype, scale);
    if (time) {
        strcpy(x->why, times[time]);
        return;
    }
    if (x->rows == x->nulls) why = "there is no value";
    if (dtype == BF_NONE)
        why = asked ? "none of --dtype" : why_string(x->no_number.field, was_time);
    if (text_column_can(&r->source.text->layout, k) == TEXT_CAN_STRINGS)
        why = "compared with strings";
    if (why) strcpy(x->why, why);
    if (dtype == BF_NONE) x->shown = x->no_number;
}

static int infer_text(rows *r, inferred *of) {
    const int code = read_text(r, of);
    for (int k = 0; code == EXIT_DONE && k < r->columns; k++) judge(r, k, &of[k]);
    return code;
}

static void infer_array(const rows *r, inferred *of) {
    of->dtype = r->source.layout.time ? "time" : bf_dtype_name(r->source.layout.dtype);
    strcpy(of->why, r->source.raw ? "--dtype says so" : "its header says so");
    of->rows = r->source.count;
}

/* Makes room for the columns of one more file. */
static inferred *add_columns(infer *x, int n, const char *file) {
    inferred *all = realloc(x->all, (size_t)(x->n + n) * sizeof *all);
    if (!all) return NULL;
    x->all = all;
    for (int k = 0; k < n; k++) all[x->n + k] = (inferred){.file = file};
    x->n += n;
    return all + x->n - n;
}

static int infer_rows(infer *x, rows *r, const char *file) {
    int code = r->source.text ? open_text(r, x->chooser != NULL) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    inferred *of = add_columns(x, r->columns, file);
    if (!of) return fail_memory(file);
    progress_start(file, rows_bytes(r));
    if (r->source.text)
        code = infer_text(r, of);
    else
        infer_array(r, of);
    progress_stop();
    return code;
}

static int infer_file(infer *x, const char *file) {
    rows r;
    input in = x->options->input;
    const rows_options how = {.threads = x->options->threads,
                              .nulls = true,
                              .digits = BF_SCALE_MOST_I128,
                              .times = true,
                              .memory = x->options->memory.input};
    in.text.table = true;
    in.text.chooser = x->chooser;
    in.text.skip_nulls = in.text.skip_nulls || x->chooser;
    int code = rows_open(&r, file, &in, &how);
    if (code == EXIT_DONE) {
        code = infer_rows(x, &r, file);
        rows_close(&r);
    }
    return code;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* The columns of the sheet. */
enum { FILE_NAME, COLUMN, DTYPE, ROWS, NULLS, LINE, FIELD, WHY, SHOWN };

typedef struct shown {
    const char **texts[SHOWN];
    bf_value *values[SHOWN];
    sheet_column columns[SHOWN];
} shown;

static bf_value number(int64_t n) { return (bf_value){.dtype = BF_I64, .as.i64 = n}; }

static void fill_row(shown *s, int i, const inferred *x) {
    const bool text = x->name != NULL, caused = x->shown.line > 0;
    s->texts[FILE_NAME][i] = x->file;
    s->texts[COLUMN][i] = x->name;
    s->texts[DTYPE][i] = x->dtype;
    s->texts[FIELD][i] = caused ? x->shown.field : NULL;
    s->texts[WHY][i] = x->why;
    if (x->rows >= 0) s->values[ROWS][i] = number(x->rows);
    if (text) s->values[NULLS][i] = number(x->nulls);
    if (caused) s->values[LINE][i] = number(x->shown.line);
}

static bool make_shown(shown *s, const infer *x) {
    static const char *const names[] = {"file",  "column", "dtype", "rows",
                                        "nulls", "line",   "field", "why"};
    bool good = true;
    *s = (shown){.texts = {NULL}};
    for (int c = 0; c < SHOWN && good; c++) {
        const bool numbers = c == ROWS || c == NULLS || c == LINE;
        if (numbers) s->values[c] = calloc((size_t)x->n + 1, sizeof *s->values[c]);
        if (!numbers) s->texts[c] = calloc((size_t)x->n + 1, sizeof *s->texts[c]);
        good = s->values[c] || s->texts[c];
        s->columns[c] =
            (sheet_column){.name = names[c], .values = s->values[c], .texts = s->texts[c]};
    }
    for (int i = 0; i < x->n && good; i++) fill_row(s, i, &x->all[i]);
    return good;
}

static int show(const infer *x, output *out) {
    shown s;
    const sheet all = {.columns = s.columns, .count = SHOWN, .rows = x->n};
    const int code =
        make_shown(&s, x)
            ? sheet_put(out->stream, &all,
                        x->options->file_count == 1 ? x->options->files[0] : "total", x->options)
            : fail_memory(NULL);
    for (int c = 0; c < SHOWN; c++) {
        free(s.texts[c]);
        free(s.values[c]);
    }
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int check_line(const options *o) {
    const char *with = o->save              ? "--save"
                       : o->checkpoint      ? "--checkpoint"
                       : o->expression      ? "-e"
                       : o->quantiles.n > 0 ? "--quantiles"
                       : o->axes.n > 0      ? "--axis"
                       : o->offsets         ? "--offsets"
                       : o->index           ? "--index"
                                            : NULL;
    return with ? fail(EXIT_USAGE, NULL, "--infer does not go with %s", with) : EXIT_DONE;
}

int infer_run(const options *o, text_chooser *chooser) {
    infer x = {.options = o, .chooser = chooser};
    output out = {.stream = NULL};
    int code = check_line(o);
    if (code == EXIT_DONE) code = output_open(&out, o, false);
    for (int i = 0; code == EXIT_DONE && i < o->file_count; i++) code = infer_file(&x, o->files[i]);
    if (code == EXIT_DONE) code = show(&x, &out);
    if (code == EXIT_DONE)
        code = output_close(&out);
    else
        output_abandon(&out);
    for (int i = 0; i < x.n; i++) free(x.all[i].name);
    free(x.all);
    return code;
}
