#define _GNU_SOURCE /* strdup */
#include "order/columns.h"

#include "runtime/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows that a column of unknown length has room for at first. */
enum { ROOM = 1 << 16 };

static size_t bytes_of(const column *c, int64_t n) {
    return (size_t)n * bf_dtype_size(c->form.dtype);
}

static bool reserve(columns *c, int64_t n) {
    if (n <= c->room) return true;
    const int64_t room = n > 2 * c->room ? n : 2 * c->room;
    for (int k = 0; k < c->count; k++) {
        char *more = realloc(c->of[k].numbers, bytes_of(&c->of[k], room));
        if (!more) return false;
        c->of[k].numbers = more;
    }
    c->room = room;
    return true;
}

/* What n rows take, with what is made of them. */
static int64_t cost_of(const columns *c, const columns_limit *limit, int64_t n) {
    int64_t row = 0;
    for (int k = 0; k < c->count; k++)
        row += (int64_t)bf_dtype_size(c->of[k].form.dtype) + limit->beside;
    return n > INT64_MAX / (row + 1) ? INT64_MAX : n * row;
}

static int check_limit(const columns *c, const columns_limit *limit, int64_t n, const char *name) {
    if (limit->bytes == 0 || cost_of(c, limit, n) <= limit->bytes) return EXIT_DONE;
    fail(EXIT_DATA, name,
         "--memory is too small: '%s' needs all numbers in memory, and has room for %" PRId64
         " bytes",
         report_command_name(), limit->bytes);
    hint("numbers take at most a fourth of --memory; without it, what they need");
    return EXIT_DATA;
}

/* Appends n numbers to column k, which has room for them. */
static void append(column *c, const void *numbers, int64_t n) {
    if (n > 0) memcpy(c->numbers + bytes_of(c, c->n), numbers, bytes_of(c, n));
    c->n += n;
}

/* The most numbers that a column has. */
static int64_t longest(const columns *c) {
    int64_t n = 0;
    for (int k = 0; k < c->count; k++) n = c->of[k].n > n ? c->of[k].n : n;
    return n;
}

static int add_rows(columns *c, rows *r, const rows_chunk *chunk) {
    for (int k = 0; k < c->count; k++) {
        rows_numbers present;
        if (!rows_present(r, chunk, k, __builtin_ctz(rows_can(r, k)), NULL, &present))
            return fail_memory(r->source.name);
        append(&c->of[k], present.numbers.data, present.numbers.shape[0]);
        c->of[k].nulls += chunk->n - present.numbers.shape[0];
    }
    return EXIT_DONE;
}

int columns_settle(columns *c, const rows *r) {
    bool strings = false;
    for (int k = 0; k < c->count; k++) {
        c->of[k].form = units_of_rows(r, k);
        strings = strings || c->of[k].form.dtype == BF_NONE;
    }
    return strings ? ROWS_STRINGS : EXIT_DONE;
}

/* The rows that will come, as far as that is known. */
static int64_t expected_rows(const rows *r) {
    return !r->source.text && r->source.count > 0 ? r->source.count : ROOM;
}

static int read_rows(columns *c, rows *r, const columns_limit *limit) {
    const char *name = r->source.name;
    rows_chunk chunk = {.n = 1};
    int code = rows_prepare(r);
    if (code == EXIT_DONE) code = columns_settle(c, r);
    if (code == EXIT_DONE && r->source.count > 0)
        code = check_limit(c, limit, r->source.count, name);
    if (code == EXIT_DONE && !reserve(c, expected_rows(r))) code = fail_memory(name);
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, 0, &chunk);
        if (code == EXIT_DONE) code = check_limit(c, limit, longest(c) + chunk.n, name);
        if (code != EXIT_DONE || chunk.n == 0) break;
        code = reserve(c, longest(c) + chunk.n) ? add_rows(c, r, &chunk) : fail_memory(name);
    }
    return code;
}

static void drop_numbers(columns *c) {
    for (int k = 0; c->of && k < c->count; k++) {
        free(c->of[k].numbers);
        c->of[k].numbers = NULL;
        c->of[k].n = c->of[k].nulls = 0;
    }
    c->room = 0;
}

int columns_open(columns *c, int count, const char *file) {
    *c = (columns){.count = count};
    c->of = calloc((size_t)count, sizeof *c->of);
    return c->of ? EXIT_DONE : fail_memory(file);
}

int columns_add(columns *c, const bf_array *numbers, const columns_limit *limit, const char *file) {
    const int64_t n = numbers->shape[0], all = c->of[0].n + n;
    const int code = check_limit(c, limit, all, file);
    if (code != EXIT_DONE) return code;
    if (!reserve(c, all)) return fail_memory(file);
    append(&c->of[0], numbers->data, n);
    return EXIT_DONE;
}

int columns_begin(columns *c, const rows *r) {
    const int code = columns_open(c, r->columns, r->source.name);
    if (code != EXIT_DONE) return code;
    for (int k = 0; k < c->count && r->source.text; k++)
        if (!(c->of[k].name = rows_column_name(r, k))) return fail_memory(r->source.name);
    return EXIT_DONE;
}

int columns_load(columns *c, rows *r, const columns_limit *limit) {
    int code = columns_begin(c, r);
    if (code != EXIT_DONE) return code;
    while ((code = read_rows(c, r, limit)) == ROWS_RESETTLED) {
        drop_numbers(c);
        rows_again(r);
    }
    return code;
}

void columns_close(columns *c) {
    drop_numbers(c);
    for (int k = 0; c->of && k < c->count; k++) free(c->of[k].name);
    free(c->of);
    *c = (columns){.count = 0};
}

/* The columns of `from` without numbers. */
static bool copy_columns(columns *c, const columns *from) {
    *c = (columns){.count = from->count};
    c->of = calloc((size_t)c->count, sizeof *c->of);
    bool good = c->of != NULL;
    for (int k = 0; good && k < c->count; k++) {
        c->of[k].form = from->of[k].form;
        if (from->of[k].name) good = (c->of[k].name = strdup(from->of[k].name)) != NULL;
    }
    return good;
}

static int check_columns(const columns *c, const columns *from, const char *name,
                         const char *first) {
    if (c->count != from->count)
        return fail(EXIT_DATA, name, "cannot make a total: this has %d columns, %s has %d",
                    from->count, first, c->count);
    for (int k = 0; k < c->count; k++) {
        units_form both = c->of[k].form;
        if (units_join(&both, from->of[k].form)) continue;
        fail(EXIT_DATA, name, "cannot make a total of different dtypes: this is %s, %s is %s",
             bf_dtype_name(from->of[k].form.dtype), first, bf_dtype_name(c->of[k].form.dtype));
        hint("--dtype f64 reads all text as f64");
        return EXIT_DATA;
    }
    return EXIT_DONE;
}

/* Brings the numbers of a column to a form that was joined from theirs, with room for so many. */
static bf_status bring(column *c, units_form to, int64_t room) {
    char *more = realloc(c->numbers, (size_t)room * bf_dtype_size(to.dtype) + 1);
    if (!more) return BF_E_MEMORY;
    c->numbers = more;
    if (!units_bring(c->form, more, c->n, to, more)) return BF_E_OVERFLOW;
    c->form = to;
    return BF_OK;
}

static bf_status append_column(columns *c, int k, const columns *from) {
    const column *other = &from->of[k];
    column *into = &c->of[k];
    units_form both = into->form;
    units_join(&both, other->form);
    const bf_status st = bring(into, both, c->room);
    if (st != BF_OK) return st;
    if (!units_bring(other->form, other->numbers, other->n, both,
                     into->numbers + bytes_of(into, into->n)))
        return BF_E_OVERFLOW;
    into->n += other->n;
    into->nulls += other->nulls;
    return BF_OK;
}

int columns_append(columns *c, const columns *from, const char *name, const char *first) {
    if (!c->of && !copy_columns(c, from)) return fail_memory(name);
    const int code = check_columns(c, from, name, first);
    if (code != EXIT_DONE) return code;
    if (!reserve(c, longest(c) + longest(from))) return fail_memory(name);
    bf_status st = BF_OK;
    for (int k = 0; k < c->count && st == BF_OK; k++) st = append_column(c, k, from);
    if (st == BF_E_OVERFLOW) return rows_refuse_scale(name);
    return st == BF_OK ? EXIT_DONE : fail_memory(name);
}

bf_array columns_array(const columns *c, int k) {
    return bf_array_of(c->of[k].form.dtype, c->of[k].numbers, c->of[k].n);
}
