#define _GNU_SOURCE /* strdup */
#include "read/loaded.h"

#include "runtime/utf8.h"

#include <stdlib.h>
#include <string.h>

static table_column *column_of(const table *t, int i) { return &t->columns[t->taken[i]]; }

/* ---- rows ------------------------------------------------------------------------------------ */

/* Adds n numbers behind those of so many rows. */
static bool add_numbers(loaded_column *to, const table_column *c, int64_t before, int64_t n) {
    const size_t size = bf_dtype_size(c->form.dtype);
    char *at = buffer_grow(&to->memory.numbers, (size_t)(before + n) * size);
    if (at) memcpy(at + (size_t)before * size, c->view.numbers.data, (size_t)n * size);
    return at;
}

static bool add_strings(loaded_column *to, const table_column *c, int64_t before, int64_t n) {
    const int64_t *from = c->view.strings.offsets;
    int64_t *offsets = buffer_grow(&to->memory.offsets, (size_t)(before + n + 1) * sizeof *offsets);
    if (!offsets) return false;
    if (before == 0) offsets[0] = 0;
    const int64_t begin = offsets[before], more = from[n] - from[0];
    char *bytes = buffer_grow(&to->memory.bytes, (size_t)(begin + more));
    if (!bytes) return false;
    memcpy(bytes + begin, c->view.strings.bytes + from[0], (size_t)more);
    for (int64_t i = 1; i <= n; i++) offsets[before + i] = begin + from[i] - from[0];
    return true;
}

/* Adds n rows' bits to those that say what is not NULL, which there are once a row is NULL. */
static bool add_valid(loaded_column *to, const bf_column *c, int64_t before, int64_t n) {
    if (!c->valid && to->nulls == 0) return true;
    const size_t had = to->nulls == 0 ? 0 : (size_t)(before + 7) / 8,
                 has = (size_t)(before + n + 7) / 8;
    char *at = buffer_grow(&to->memory.valid, has);
    if (!at) return false;
    memset(at + had, 0xff, has - had);
    for (int64_t i = 0; c->valid && i < n; i++) {
        if (text_has_bit(c->valid, c->first + i)) continue;
        text_clear_bit((uint8_t *)at, before + i);
        to->nulls++;
    }
    return true;
}

/* Adds the rows at hand. */
static int add_rows(loaded *l, const table *t) {
    const int64_t before = l->shown.rows;
    bool good = true;
    for (int i = 0; i < l->shown.count && good; i++) {
        const table_column *c = column_of(t, i);
        loaded_column *to = &l->columns[i];
        good = (c->form.dtype == BF_NONE ? add_strings : add_numbers)(to, c, before, t->n) &&
               add_valid(to, &c->view.column, before, t->n);
    }
    l->shown.rows += t->n;
    return good ? EXIT_DONE : fail_memory(t->input->source.name);
}

static int take_rows(loaded *l, table *t, int64_t least, bool *end) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE && !*end && l->shown.rows < least) {
        code = table_next(t, end);
        if (code == EXIT_DONE && !*end && t->n > 0) code = add_rows(l, t);
    }
    return code;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* The first byte that is not ASCII, or the end. A zero byte is there. */
static const char *skip_ascii(const char *at, const char *end) {
    uint64_t word;
    for (; end - at >= (ptrdiff_t)sizeof word; at += sizeof word) {
        memcpy(&word, at, sizeof word);
        if (word & UINT64_C(0x8080808080808080)) break;
    }
    while (at < end && !(*at & 0x80)) at++;
    return at;
}

/* Whether n strings are UTF-8 each: all together are, and none begins within a character. */
static bool are_utf8(const int64_t *offsets, const char *bytes, int64_t n) {
    const char *at = skip_ascii(bytes, bytes + offsets[n]), *const end = bytes + offsets[n];
    const bool ascii = at == end;
    for (int length; at < end; at = skip_ascii(at + length, end))
        if ((length = utf8_length((const unsigned char *)at)) == 0) return false;
    for (int64_t i = 0; i < n && !ascii; i++)
        if (offsets[i] < offsets[i + 1] && (bytes[offsets[i]] & 0xc0) == 0x80) return false;
    return true;
}

/* ---- times ----------------------------------------------------------------------------------- */

enum { DAY = 24 * 60 * 60 };

/* Makes days of 32 bits of dates, in their place. */
static void bring_dates(char *at, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t seconds;
        memcpy(&seconds, at + (size_t)i * sizeof seconds, sizeof seconds);
        const int32_t days = (int32_t)(seconds / DAY);
        memcpy(at + (size_t)i * sizeof days, &days, sizeof days);
    }
}

/* Makes times such as Arrow has. False: 64 bits do not hold one. */
static bool bring_times(bitfold_read_column *c, int64_t *units, int64_t n) {
    const int scale = (c->scale + 2) / 3 * 3;
    const int64_t power = (int64_t)text_power_of_ten(scale - c->scale);
    bool good = c->dtype == BF_I64;
    for (int64_t i = 0; i < n && good; i++)
        good = !__builtin_mul_overflow(units[i], power, &units[i]);
    c->scale = scale;
    return good;
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool show_strings(loaded_column *from, bitfold_read_column *to, int64_t n) {
    int64_t *offsets = buffer_grow(&from->memory.offsets, (size_t)(n + 1) * sizeof *offsets);
    if (offsets && n == 0) offsets[0] = 0;
    char *bytes = offsets ? buffer_grow(&from->memory.bytes, (size_t)offsets[n]) : NULL;
    if (!bytes) return false;
    bytes[offsets[n]] = '\0';
    to->offsets = offsets;
    to->bytes = bytes;
    to->utf8 = are_utf8(offsets, bytes, n);
    return true;
}

static int show_numbers(loaded_column *from, bitfold_read_column *to, int64_t n) {
    void *numbers = buffer_grow(&from->memory.numbers, (size_t)n * bf_dtype_size(to->dtype));
    if (!numbers) return fail_memory(NULL);
    to->numbers = numbers;
    if (to->time == BF_TIME_DATE) {
        bring_dates(numbers, n);
        to->dtype = BF_I32;
    } else if (to->time != BF_TIME_NONE && !bring_times(to, numbers, n)) {
        fail(EXIT_DATA, NULL, "column %s: 64 bits do not hold its times", to->name);
        hint("--text takes them as they are written");
        return EXIT_DATA;
    }
    return EXIT_DONE;
}

static int show_column(loaded *l, int i, const table_column *c) {
    loaded_column *from = &l->columns[i];
    bitfold_read_column *to = &l->shown.columns[i];
    *to = (bitfold_read_column){.name = strdup(c->name),
                                .dtype = c->form.dtype,
                                .scale = c->form.scale,
                                .time = c->form.time,
                                .nulls = from->nulls,
                                .valid = from->nulls > 0 ? (uint8_t *)from->memory.valid.at : NULL};
    if (to->name && c->form.dtype != BF_NONE) return show_numbers(from, to, l->shown.rows);
    return to->name && show_strings(from, to, l->shown.rows) ? EXIT_DONE : fail_memory(NULL);
}

static loaded *make(int n) {
    loaded *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->shown.count = n;
    l->columns = calloc((size_t)n + 1, sizeof *l->columns);
    l->shown.columns = calloc((size_t)n + 1, sizeof *l->shown.columns);
    if (l->columns && l->shown.columns) return l;
    bitfold_read_free(&l->shown);
    return NULL;
}

int loaded_read(loaded **out, table *t, int64_t least, bool *end) {
    loaded *l = make(t->asked->takes);
    if (!l) return fail_memory(NULL);
    int code = take_rows(l, t, least, end);
    for (int i = 0; i < l->shown.count && code == EXIT_DONE; i++)
        code = show_column(l, i, column_of(t, i));
    if (code == EXIT_DONE)
        *out = l;
    else
        bitfold_read_free(&l->shown);
    return code;
}

static void free_columns(loaded *l) {
    for (int i = 0; l->columns && i < l->shown.count; i++)
        column_memory_free(&l->columns[i].memory);
    for (int i = 0; l->shown.columns && i < l->shown.count; i++)
        free((char *)(uintptr_t)l->shown.columns[i].name);
    free(l->columns);
    free(l->shown.columns);
}

void bitfold_read_free(bitfold_read_table *read) {
    loaded *l = (loaded *)read; /* `shown` is its first member */
    if (!l) return;
    free_columns(l);
    free(l);
}
