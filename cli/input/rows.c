#define _GNU_SOURCE /* strdup */
#include "input/rows.h"

#include "input/crew.h"
#include "input/gather.h"
#include "input/kinds.h"
#include "input/probe.h"
#include "runtime/progress.h"
#include "runtime/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a mapped array that are handed out at a time: work for all threads, after which the
 * progress shows. Threads that stay so near to each other read a file fastest, for the system
 * recognizes one sequence. */
#define SLAB_BYTES ((int64_t)256 * 1024 * 1024)

/* ---- opening --------------------------------------------------------------------------------- */

static bool allocate_columns(rows *r) {
    const size_t n = (size_t)r->held;
    r->can = malloc(n * sizeof *r->can);
    r->forms = malloc(n);
    r->units = calloc(n, sizeof *r->units);
    r->chunk = calloc(n, sizeof *r->chunk);
    r->gathered = calloc(n, sizeof *r->gathered);
    r->shown = calloc(n, sizeof *r->shown);
    r->place = calloc(n, sizeof *r->place);
    const source *s = &r->source;
    for (int k = 0; r->can && k < r->held; k++)
        r->can[k] = s->text ? text_column_can(&s->text->layout, k) : 1;
    return r->can && r->forms && r->units && r->chunk && r->gathered && r->shown && r->place;
}

/* Puts the columns that a condition alone has behind the others. */
static void place_columns(rows *r) {
    const unsigned char *const uses = r->source.text ? r->source.text->layout.uses : NULL;
    int n = 0;
    for (int k = 0; k < r->held; k++)
        if (!uses || uses[k] & TEXT_WANTED) r->place[n++] = k;
    r->columns = n;
    for (int k = 0; uses && k < r->held; k++)
        if (!(uses[k] & TEXT_WANTED)) r->place[n++] = k;
}

/* Moves the column of a field to place n, if it is there or behind. */
static bool move_column(rows *r, int field, int n) {
    int k = n;
    while (k < r->columns && rows_field(r, k) != field) k++;
    if (k == r->columns) return false;
    const int moved = r->place[k];
    memmove(r->place + n + 1, r->place + n, (size_t)(k - n) * sizeof *r->place);
    r->place[n] = moved;
    return true;
}

int rows_order_as_listed(rows *r, const char *list) {
    const text_layout *l = r->source.text ? &r->source.text->layout : NULL;
    if (l && l->listed_count > r->columns)
        return fail(EXIT_USAGE, r->source.name, "a column is listed twice: '%s'", list);
    for (int i = 0, n = 0; l && i < l->listed_count; i++) n += move_column(r, l->listed[i], n);
    return EXIT_DONE;
}

static int open_columns(rows *r) {
    const source *s = &r->source;
    r->held = s->text ? s->text->layout.columns : 1;
    r->origin.selection = (text_selection){s->first, s->count};
    r->end = s->text && s->text->file ? text_parts(s->text) : 0;
    r->start = r->origin;
    const bool good = allocate_columns(r) && (!s->text || rows_probe(r));
    if (good) place_columns(r);
    return good ? EXIT_DONE : fail_memory(s->name);
}

int rows_prepare(rows *r) {
    const int code = r->ready ? EXIT_DONE : source_prepare(&r->source, r->options.ordered);
    r->ready = true;
    return code;
}

/* What the condition needs: columns have one dtype from the first row on. */
static int open_filter(rows *r, const struct rows_condition *condition) {
    if (!r->source.text) {
        fail(EXIT_USAGE, r->source.name, "--where needs the columns of a text");
        hint("-e 'a > 0 ? a : null' --null-policy skip leaves elements of arrays out");
        return EXIT_USAGE;
    }
    r->condition = condition;
    r->options.settled = true;
    r->filter = condition->open(condition);
    return r->filter ? EXIT_DONE : fail_memory(r->source.name);
}

int rows_open(rows *r, const char *name, const input *in, const rows_options *options) {
    input wanted = *in;
    const struct rows_condition *const condition = in->condition;
    *r = (rows){.options = *options};
    if (in->text.skip_nulls && !options->nulls)
        return fail(EXIT_USAGE, name, "--null-policy skip: this command cannot leave rows out");
    if (condition) wanted.text.condition = condition->columns;
    r->skips = options->nulls && (in->text.skip_nulls || in->text.judge_nulls);
    int code = source_open(&r->source, name, &wanted,
                           condition && !options->keep ? condition->keep : options->keep);
    if (code != EXIT_DONE) return code;
    r->source.memory = options->memory;
    if (r->source.text) r->source.text->layout.digits = options->digits;
    code = r->source.layout.time && !options->times
               ? fail(EXIT_DATA, name, "it holds times, which this command does not take")
               : open_columns(r);
    if (code == EXIT_DONE && condition) code = open_filter(r, condition);
    if (code != EXIT_DONE) rows_close(r);
    return code;
}

int rows_open_column(rows *r, const char *name, const input *in, const rows_options *options) {
    const int code = rows_open(r, name, in, options);
    if (code != EXIT_DONE || r->columns == 1) return code;
    fail(EXIT_USAGE, name, "one column at a time, not %d", r->columns);
    rows_close(r);
    return EXIT_USAGE;
}

static void drop_columns(rows *r) {
    free(r->can);
    free(r->forms);
    free(r->units);
    free(r->chunk);
    free(r->gathered);
    free(r->shown);
    free(r->place);
    r->shown = NULL;
    r->place = NULL;
    r->can = NULL;
    r->forms = NULL;
    r->units = NULL;
    r->chunk = NULL;
    r->gathered = NULL;
}

int rows_keep(rows *r, const int fields[], const unsigned char kinds[], int n) {
    const bool good = text_layout_keep(&r->source.text->layout, fields, kinds, n);
    drop_columns(r);
    return good ? open_columns(r) : fail_memory(r->source.name);
}

void rows_close(rows *r) {
    crew_close(r->crew);
    if (r->filter) r->condition->close(r->filter);
    gather_drop(r);
    drop_columns(r);
    free(r->present);
    free(r->present_rows);
    free(r->valid);
    source_close(&r->source);
    *r = (rows){.source = {.name = r->source.name, .fd = -1}};
}

/* Whether only some rows of text are wanted. */
static bool is_selected(const rows *r) {
    return r->origin.selection.skip > 0 || r->origin.selection.left >= 0;
}

void rows_forget(rows *r) { tape_forget(&r->source.tape); }

void rows_again(rows *r) {
    const bool begun = r->crew != NULL;
    crew_close(r->crew);
    if (begun) source_rewind(&r->source);
    gather_drop(r);
    r->crew = NULL;
    r->current = NULL;
    r->start = r->origin;
    r->at = r->used = r->taken = r->left_out = 0;
}

rows_place rows_tell(const rows *r) {
    if (!r->source.text || !r->crew)
        return (rows_place){r->at, r->left_out, r->start.part, r->start.used, r->start.selection};
    const bool within = r->current && r->used < r->current->n;
    return (rows_place){.at = r->at,
                        .left_out = r->left_out,
                        .part = r->start.part + r->taken - within,
                        .used = within ? r->used : 0,
                        .selection = within && is_selected(r) ? r->current->before : r->selection};
}

static bool has_place(const rows *r, const rows_place *p) {
    const source *s = &r->source;
    const text_selection *x = &p->selection, *all = &r->origin.selection;
    if (p->left_out < 0 || p->left_out > p->at) return false;
    if (!s->text) return p->at >= 0 && p->at <= s->count;
    return s->text->file && p->at >= 0 && p->used >= 0 && p->part >= r->origin.part &&
           p->part <= r->end && x->skip >= 0 && x->skip <= all->skip &&
           (all->left < 0 ? x->left == -1 : x->left >= 0 && x->left <= all->left);
}

bool rows_seek(rows *r, const rows_place *place, const rows_kind kinds[]) {
    bool good = !r->crew && r->at == 0 && has_place(r, place);
    for (int k = 0; good && k < r->held; k++)
        good = kinds[k].can && !(kinds[k].can & ~rows_can(r, k));
    if (!good) return false;
    for (int k = 0; k < r->held; k++) rows_set_kind(r, k, kinds[k]);
    r->start = *place;
    r->at = place->at;
    r->left_out = place->left_out;
    return true;
}

char *rows_column_name(const rows *r, int column) {
    char number[32];
    if (!r->source.text) return NULL;
    const text_layout *l = &r->source.text->layout;
    const int k = rows_at(r, column);
    if (l->names && *l->names[k]) return strdup(l->names[k]);
    snprintf(number, sizeof number, "%d", l->fields[k] + 1);
    return strdup(number);
}

char *rows_header_name(const rows *r, int column) {
    char **const names = r->source.text ? r->source.text->layout.names : NULL;
    return names ? strdup(names[rows_at(r, column)]) : rows_column_name(r, column);
}

int64_t rows_bytes(const rows *r) {
    const source *s = &r->source;
    if (s->text) return s->stream ? -1 : s->size;
    return s->count < 0 ? -1 : s->count * (int64_t)source_element(s);
}

int rows_threads(const rows *r) { return r->crew ? crew_threads(r->crew) : 1; }

/* ---- chunks ---------------------------------------------------------------------------------- */

bool rows_in_place(const rows *r) {
    const source *s = &r->source;
    return s->data && !s->reorder && !s->layout.swap && !s->layout.time && !r->options.unchanging;
}

static int64_t slab_rows(const rows *r) {
    int64_t bytes = r->options.slab > 0 ? r->options.slab : SLAB_BYTES;
    if (r->options.memory > 0 && r->options.memory < bytes) bytes = r->options.memory;
    return bytes / (int64_t)source_element(&r->source);
}

int64_t rows_in_step(const rows *r, int64_t few) { return rows_in_place(r) ? slab_rows(r) : few; }

/* The next elements of an array where it lies. */
static int next_in_place(rows *r, int64_t most, rows_chunk *out) {
    source *s = &r->source;
    const int64_t element = (int64_t)source_element(s), left = s->count - r->at;
    source_drop(s, r->at - r->used, r->used);
    if (most == 0) most = slab_rows(r);
    out->n = r->used = left < most ? left : most;
    if (out->n == 0) return source_check(s);
    r->chunk[0] = (rows_column){.as = {source_view(s, r->at, out->n, NULL, &out->n)}, .can = 1};
    r->at += out->n;
    progress_add(out->n * element);
    progress_tick();
    return EXIT_DONE;
}

/* Whether elements are copied from the file at once: those of more than one chunk. */
static bool is_copied(const rows *r, int64_t most) {
    const source *s = &r->source;
    return s->map.size > 0 && s->file && !s->reorder && most > chunk_elements(s);
}

/* Whoever makes chunks begins anew behind the copy. */
static int next_copied(rows *r, int64_t most, rows_chunk *out) {
    source *s = &r->source;
    const int64_t left = s->count - r->at;
    crew_close(r->crew);
    r->crew = NULL;
    r->current = NULL;
    r->taken = 0;
    out->n = left < most ? left : most;
    if (out->n == 0) return source_check(s);
    void *const copy = gather_room(r, out->n);
    if (!copy) return fail_memory(s->name);
    const int code = source_copy(s, r->at, out->n, copy);
    r->chunk[0] = (rows_column){.as = {copy}, .can = 1};
    r->at += out->n;
    progress_add(out->n * (int64_t)source_element(s));
    progress_tick();
    return code;
}

static int open_crew(rows *r) {
    source *s = &r->source;
    const bool file = !s->text || s->text->file;
    r->selection = r->start.selection;
    if (s->text) rows_set_forms(r);
    if (!s->text && s->stream && r->at > 0) { /* a file that cannot be mapped */
        const int code = source_skip(s, r->at);
        if (code != EXIT_DONE) return code;
    }
    const int64_t first = !file ? 0 : s->text ? r->start.part : r->at;
    int64_t row = -1;
    const text_status st = s->text && file ? text_find_part(s->text, first, &row) : TEXT_OK;
    if (st != TEXT_OK) return source_text_failed(s, st, NULL);
    const chunk_plan plan =
        chunk_plan_of(s, r->forms, r->units, s->text && is_selected(r) ? &r->selection : NULL,
                      first, r->end, row);
    r->crew = crew_open(&plan, r->options.threads);
    return r->crew ? EXIT_DONE : fail_memory(s->name);
}

/* Whether integers of the chunk change what those of all rows are in. */
static bool changes_units(const rows *r, const chunk *c) {
    bool changes = false;
    for (int k = 0; k < r->held && !changes; k++)
        changes = text_unit_changes(&r->units[k], r->can[k], &c->rows.columns[k]);
    return changes;
}

static bool has_value(const text_column *c, int64_t n) {
    bool some = !c->valid;
    for (int64_t i = 0; i < n && !some; i++) some = text_has_bit(c->valid, i);
    return some;
}

/* Rules out what the numbers of a chunk are not. *changed: the dtype of a column is another; *none:
 * a column that nothing is left for. Returns whether the chunk was made in other units. */
static bool rule_out(rows *r, const chunk *c, bool *changed, int *none) {
    bool others = false;
    for (int k = 0; k < r->held; k++) {
        const unsigned before = r->can[k];
        const bool wide = r->units[k].wide;
        const unsigned char time = r->units[k].time;
        if (time == BF_TIME_ANY && has_value(&c->rows.columns[k], c->n))
            r->units[k].time = BF_TIME_NONE;
        others |= text_unit_take(&r->units[k], &r->can[k], &c->rows.columns[k]);
        if (r->can[k] == 0) {
            r->can[k] = before;
            *none = k;
        }
        *changed |= __builtin_ctz(before) != __builtin_ctz(r->can[k]) || time != r->units[k].time;
        if (wide != r->units[k].wide) gather_drop(r); /* it has no room for these numbers */
    }
    return others;
}

/* A column of keys whose numbers no dtype holds exactly. */
static int refuse_keys(const rows *r, int k) {
    const char *const name = r->source.name;
    if (text_unit_time(&r->units[k]))
        return fail(EXIT_DATA, name,
                    "column %d: 64 bits do not hold its times, with %d digits of a second",
                    r->source.text->layout.fields[k] + 1, r->units[k].scale);
    fail(EXIT_DATA, name, "column %d: no dtype holds all of these keys exactly",
         r->source.text->layout.fields[k] + 1);
    hint("--by, or --on of a join, takes them as they are written");
    return EXIT_DATA;
}

/* Makes the chunk in the units that hold it and all before: of a settled column they are those from
 * the first row on. Once a scale has risen, a number may need more bits, or be no integer. */
static int settle_columns(rows *r, chunk *c) {
    const bool settled = r->options.settled;
    bool changed = false;
    int none = -1;
    if (c->n == 0) return EXIT_DONE;
    while (rule_out(r, c, &changed, &none) && none < 0) {
        if (settled) return ROWS_RESETTLED;
        chunk_make_again(c, &r->source, r->units);
        if (c->failed) return chunk_check(c, &r->source);
    }
    if (none >= 0) return refuse_keys(r, none);
    if (settled && changed) return ROWS_RESETTLED;
    for (int k = 0; k < r->held && !settled && r->options.digits; k++)
        text_unit_note(&r->units[k], r->can[k], &c->rows.columns[k], c->n);
    return EXIT_DONE;
}

static int check_end(rows *r) {
    const int code = source_check(&r->source);
    return code == EXIT_DONE && r->source.text ? source_check_rows(&r->source, &r->selection, r->at)
                                               : code;
}

/* Lets the crew hand over the next chunk that has rows, or none at the end. */
static int take_chunk(rows *r) {
    do {
        r->current = crew_next(r->crew);
        if (!r->current) return check_end(r);
        const int code = chunk_check(r->current, &r->source);
        if (code != EXIT_DONE) return code;
        r->used = r->taken++ == 0 ? r->start.used : 0;
        if (r->used > r->current->n)
            return fail(EXIT_DATA, r->source.name, "it is not the text that it was");
        progress_add(r->current->bytes);
        progress_tick();
    } while (r->current->n == r->used);
    r->fresh = r->source.text != NULL;
    return EXIT_DONE;
}

static int settle_chunk(rows *r) {
    const bool fresh = r->current && r->fresh;
    r->fresh = false;
    return fresh ? settle_columns(r, r->current) : EXIT_DONE;
}

/* The next `most` rows in one piece, or all that are left. */
static int gather_chunk(rows *r, int64_t most, rows_chunk *out) {
    int64_t n = 0;
    int code = EXIT_DONE;
    while (n < most && r->current) {
        const int64_t left = r->current->n - r->used, some = left < most - n ? left : most - n;
        if (!gather_more(r, n, some)) return fail_memory(r->source.name);
        n += some;
        if (n < most) code = take_chunk(r);
        if (code == EXIT_DONE && r->current && r->fresh && !r->options.settled &&
            changes_units(r, r->current))
            break; /* the next call begins with this chunk */
        if (code == EXIT_DONE) code = settle_chunk(r);
        if (code != EXIT_DONE) return code;
    }
    gather_out(r, n, out);
    return EXIT_DONE;
}

static int refuse_nat(const rows *r, int64_t index) {
    fail(EXIT_DATA, r->source.name, "the element at index %" PRId64 " is NaT, which is no time",
         r->source.first + index);
    hint("%s", r->options.nulls ? "--null-policy skip leaves it out of a value"
                                : "x[~numpy.isnat(x)] is without it");
    return EXIT_DATA;
}

/* Makes NULLs of those that are NaT, among n times that are handed out. */
static int judge_times(rows *r, int64_t n) {
    int64_t *const x = (int64_t *)(uintptr_t)r->chunk[0].as[0], i = 0;
    while (i < n && x[i] != SOURCE_NAT) i++;
    if (i == n) return EXIT_DONE;
    if (!r->skips) return refuse_nat(r, r->at - n + i);
    uint8_t *const valid = realloc(r->valid, (size_t)n / 8 + 1);
    if (!valid) return fail_memory(r->source.name);
    r->valid = valid;
    memset(valid, 0xff, (size_t)n / 8 + 1);
    for (; i < n; i++) {
        if (x[i] != SOURCE_NAT) continue;
        text_clear_bit(valid, i);
        x[i] = 0;
    }
    r->chunk[0].valid = valid;
    return EXIT_DONE;
}

/* The next rows, whether they meet the condition or not. */
static int next_rows(rows *r, int64_t most, rows_chunk *out) {
    *out = (rows_chunk){.columns = r->shown};
    int code = rows_prepare(r);
    if (code == EXIT_DONE && rows_in_place(r)) return next_in_place(r, most, out);
    if (code == EXIT_DONE && is_copied(r, most)) return next_copied(r, most, out);
    if (code == EXIT_DONE && !r->crew) code = open_crew(r);
    const bool first = code == EXIT_DONE && !r->current && r->taken == 0;
    if (code == EXIT_DONE && (first || (r->current && r->used == r->current->n)))
        code = take_chunk(r);
    if (code == EXIT_DONE) code = settle_chunk(r);
    if (code != EXIT_DONE || !r->current) return code;
    const int64_t left = r->current->n - r->used;
    if (most > left) return gather_chunk(r, most, out);
    gather_lone(r, most == 0 ? left : most, out);
    return EXIT_DONE;
}

/* Leaves out the rows that do not meet the condition. */
static int filter_chunk(rows *r, rows_chunk *out) {
    const int64_t n = out->n;
    const int code = r->condition->keep_rows(r->filter, r, out);
    if (code == EXIT_DONE) r->left_out += n - out->n;
    return code;
}

int rows_next(rows *r, int64_t most, rows_chunk *out) {
    bool none;
    int code;
    do {
        code = next_rows(r, most, out);
        if (code == EXIT_DONE && r->source.layout.time) code = judge_times(r, out->n);
        if (code != EXIT_DONE) return code;
        for (int k = 0; k < r->held; k++) r->shown[k] = r->chunk[rows_at(r, k)];
        none = out->n == 0;
        r->picked = NULL;
        if (r->filter && !none) code = filter_chunk(r, out);
    } while (code == EXIT_DONE && out->n == 0 && !none);
    return code;
}

/* ---- numbers that are there ------------------------------------------------------------------ */

int64_t rows_seen(const rows *r) { return r->at - r->left_out; }

/* The widest number takes so many. */
enum { PRESENT_BYTES = 16 };

static bool reserve_present(rows *r, int64_t n) {
    if (n <= r->present_room) return true;
    free(r->present);
    free(r->present_rows);
    r->present = malloc((size_t)n * PRESENT_BYTES);
    r->present_rows = malloc((size_t)n * sizeof *r->present_rows);
    r->present_room = r->present && r->present_rows ? n : 0;
    return r->present_room > 0;
}

/* Whether some of n rows of a column, or of none, is NULL. */
static bool has_nulls(const rows_column *c, int64_t n) {
    return c && c->valid && text_has_null(c->valid, c->first, n);
}

static bool is_there(const rows_column *c, int64_t i) {
    return !c || !c->valid || text_has_bit(c->valid, c->first + i);
}

bool rows_present(rows *r, const rows_chunk *of, int k, int i, const rows_column *beside,
                  rows_numbers *out) {
    const rows_column *c = &of->columns[k];
    const bf_dtype dtype = rows_candidate(r, i);
    const size_t size = bf_dtype_size(dtype);
    out->numbers = bf_array_of(dtype, c->as[i], of->n);
    out->at = NULL;
    if (!has_nulls(c, of->n) && !has_nulls(beside, of->n)) return true;
    if (!reserve_present(r, of->n)) return false;
    const char *const from = c->as[i];
    int64_t n = 0;
    for (int64_t at = 0; at < of->n; at++) {
        if (!is_there(c, at) || !is_there(beside, at)) continue;
        memcpy(r->present + (size_t)n * size, from + (size_t)at * size, size);
        r->present_rows[n++] = at;
    }
    *out = (rows_numbers){bf_array_of(dtype, r->present, n), r->present_rows};
    return true;
}

void rows_look(const rows *r, const rows_chunk *of, int column, rows_view *view) {
    const rows_column *c = &of->columns[column];
    const bf_dtype dtype = rows_dtype(r, column);
    *view = (rows_view){.strings = c->strings};
    view->column = (bf_column){.size = sizeof view->column, .valid = c->valid, .first = c->first};
    if (dtype == BF_NONE) {
        view->column.strings = &view->strings;
    } else {
        view->numbers = bf_array_of(dtype, c->as[__builtin_ctz(c->can)], of->n);
        view->column.numbers = &view->numbers;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

int rows_read_all(rows *r) {
    rows_chunk rest = {.n = 1};
    int code = EXIT_DONE;
    while (code == ROWS_RESETTLED || (code == EXIT_DONE && rest.n > 0)) {
        code = next_rows(r, 0, &rest);
        if (code == ROWS_RESETTLED) rows_again(r);
    }
    return code;
}

int rows_load(rows *r, bf_array *all) {
    rows_chunk whole;
    int code;
    while ((code = rows_next(r, INT64_MAX, &whole)) == ROWS_RESETTLED) rows_again(r);
    const int i = __builtin_ctz(r->can[0]);
    const void *numbers = whole.n > 0 ? whole.columns[0].as[i] : NULL;
    *all = bf_array_of(rows_candidate(r, i), numbers, whole.n);
    return code;
}
