#include "group/medians.h"

#include "work/tagged.h"

#include <stdlib.h>
#include <string.h>

enum { READ = 1 << 14 /* rows that are read at once */ };

/* The columns of piles by group, and of the values of all rows. */
enum { KEYS, VALUES, COLUMNS };

/* ---- rows ------------------------------------------------------------------------------------ */

static void free_piles(piles **p) {
    if (*p) piles_close(*p);
    free(*p);
    *p = NULL;
}

static void free_rows(medians *m) {
    free(m->keys);
    free(m->values);
    m->keys = m->values = NULL;
    m->n = m->room = 0;
}

void medians_drop_groups(medians *m) {
    free_rows(m);
    free_piles(&m->beyond);
}

void medians_close(medians *m) {
    medians_drop_groups(m);
    free_piles(&m->all);
}

static size_t key_bytes(const medians *m) { return bf_dtype_size(m->key); }

static size_t value_bytes(const medians *m) { return bf_dtype_size(m->form.dtype); }

/* Makes empty piles by group. NULL: there is no memory. */
static piles *make_piles(const medians *m) {
    const int bytes[COLUMNS] = {(int)key_bytes(m), (int)value_bytes(m)};
    piles *p = malloc(sizeof *p);
    if (p) piles_open(p, 0, COLUMNS, bytes, m->memory);
    return p;
}

/* Puts rows on piles by what is left of their groups' numbers, divided by `divisor`. */
static int pile_rows(piles *p, const int64_t *keys, const char *values, size_t bytes, int64_t n,
                     int64_t divisor) {
    uint8_t which[READ];
    int code = EXIT_DONE;
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += READ) {
        const int64_t some = n - at < READ ? n - at : READ;
        const void *const columns[COLUMNS] = {keys + at, values + (size_t)at * bytes};
        for (int64_t i = 0; i < some; i++) which[i] = (uint8_t)(keys[at + i] / divisor % p->count);
        code = piles_add(p, which, columns, some);
    }
    return code;
}

/* Puts the rows in memory on piles. */
static int move_rows(medians *m) {
    if (!m->beyond) m->beyond = make_piles(m);
    if (!m->beyond) return fail_memory(NULL);
    const int64_t n = m->n;
    m->n = 0;
    return pile_rows(m->beyond, (const int64_t *)m->keys, m->values, value_bytes(m), n, 1);
}

int medians_reserve(medians *m, int64_t n) {
    if (m->most > 0 && m->n + n > m->most) {
        const int code = move_rows(m);
        if (code != EXIT_DONE) return code;
    }
    if (m->n + n <= m->room) return EXIT_DONE;
    int64_t room = m->n + n > 2 * m->room ? m->n + n : 2 * m->room;
    if (m->most > 0 && room > m->most) room = m->most > m->n + n ? m->most : m->n + n;
    char *keys = realloc(m->keys, (size_t)room * key_bytes(m));
    if (keys) m->keys = keys;
    char *values = keys ? realloc(m->values, (size_t)room * value_bytes(m)) : NULL;
    if (!values) return fail_memory(NULL);
    m->values = values;
    m->room = room;
    return EXIT_DONE;
}

int medians_note_all(medians *m, const void *values, int64_t n) {
    const int bytes = (int)value_bytes(m);
    const void *const columns[] = {values};
    if (!m->all) {
        m->all = malloc(sizeof *m->all);
        if (!m->all) return fail_memory(NULL);
        piles_open(m->all, 1, 1, &bytes, m->memory);
    }
    return piles_put(m->all, 0, columns, n);
}

/* ---- rules ----------------------------------------------------------------------------------- */

void medians_aim(const medians *m, medians_wanted *w) {
    const bool median = w->aggregate->order == ORDER_MEDIAN_OF;
    w->to = median ? bf_median_dtype(m->form.dtype) : bf_quantile_dtype(m->form.dtype, w->method);
    w->whole = m->form.time != BF_TIME_NONE;
    if (w->whole) w->to = m->form.dtype;
    w->scale = m->form.scale;
    w->wide = m->form.dtype == BF_I128;
    w->tagged = !w->wide && tagged_wanted(m->form.dtype, w->to);
}

size_t medians_bytes(const medians_wanted *w) {
    return w->wide ? sizeof(bf_value) : w->tagged ? sizeof(tagged) : bf_dtype_size(w->to);
}

static bf_dtype results_of(const medians_wanted *w) {
    return w->tagged || w->wide ? BF_PAIR : w->to;
}

/* n results of elements of 128 bits, which are values: two pairs each. */
static bf_array wide_results(void *to, int64_t n, bool quantile) {
    if (!quantile) return (bf_array){to, BF_PAIR, 2, {n, 2}, {2, 1}};
    return (bf_array){to, BF_PAIR, 3, {1, n, 2}, {2 * n, 2, 1}};
}

/* The median or quantile of NaNs that are all skipped. */
static bf_value nan_of(bf_dtype dtype) {
    bf_value nan = {.dtype = dtype};
    switch (dtype) {
    case BF_F32: nan.as.f32 = __builtin_nanf(""); break;
    case BF_F16: nan.as.bits = 0x7e00; break;
    case BF_BF16: nan.as.bits = 0x7fc0; break;
    default: nan.as.f64 = __builtin_nan("");
    }
    return nan;
}

static bf_order_options rules_of(const medians_wanted *w, const bf_value *empty) {
    return (bf_order_options){.size = sizeof(bf_order_options),
                              .nan = w->options->rules.nan,
                              .method = w->method,
                              .scale = w->scale,
                              .whole = w->whole,
                              .empty = w->wide ? NULL : empty}; /* there is no NaN of i128 */
}

static int failed(const medians_wanted *w, bf_status st) {
    return fail_status(st, w->context, w->options->files[0]);
}

/* ---- rows in memory -------------------------------------------------------------------------- */

/* A place for results. */
typedef struct found {
    char *keys, *results;
    int64_t n, room;
} found;

/* Finds the results of segments, which are groups. */
static bf_status find_segments(const medians_wanted *w, const bf_array *values,
                               const bf_array *offsets, char *results) {
    const bf_order_options rules = rules_of(w, NULL);
    const bool median = w->aggregate->order == ORDER_MEDIAN_OF;
    const double q = w->aggregate->percent / 100;
    const bf_array to = wide_results(results, offsets->shape[0] - 1, !median);
    if (median) return bf_median_segments(w->context, values, offsets, &rules, &to);
    return bf_quantile_segments(w->context, values, offsets, &q, 1, &rules, &to);
}

/* Writes the key of each group of n rows, which are sorted by it, and where it begins. Returns how
 * many there are. */
static int64_t find_begins(const char *keys, size_t bytes, int64_t n, char *groups,
                           int64_t *begins) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *key = keys + (size_t)i * bytes;
        if (i > 0 && memcmp(key, key - bytes, bytes) == 0) continue;
        memcpy(groups + (size_t)count * bytes, key, bytes);
        begins[count++] = i;
    }
    begins[count] = n;
    return count;
}

/* Finds the results of the groups of n rows whose values have 128 bits. */
static bf_status find_wide(const medians *m, const medians_wanted *w, const char *keys,
                           const char *values, int64_t n, found *f) {
    const size_t bytes = key_bytes(m);
    char *sorted = malloc((size_t)n * bytes), *moved = malloc((size_t)n * value_bytes(m));
    int64_t *begins = malloc((size_t)(n + 1) * sizeof *begins), groups = 0;
    bf_status st = sorted && moved && begins ? BF_OK : BF_E_MEMORY;
    const bf_array of = bf_array_of(m->key, sorted, n), all = bf_array_of(m->form.dtype, moved, n);
    if (st == BF_OK) {
        memcpy(sorted, keys, (size_t)n * bytes);
        memcpy(moved, values, (size_t)n * value_bytes(m));
        st = bf_sort_rows(w->context, &of, &all, 1, NULL);
    }
    if (st == BF_OK) {
        groups = find_begins(sorted, bytes, n, f->keys + (size_t)f->n * bytes, begins);
        const bf_array offsets = bf_array_of(BF_I64, begins, groups + 1);
        st = find_segments(w, &all, &offsets, f->results + (size_t)f->n * medians_bytes(w));
    }
    if (st == BF_OK) f->n += groups;
    free(sorted);
    free(moved);
    free(begins);
    return st;
}

/* Finds the results of the groups of n rows. */
static bf_status find_in_memory(const medians *m, const medians_wanted *w, const char *keys,
                                const char *values, int64_t n, found *f) {
    const bf_value empty = nan_of(w->to);
    const bf_order_options rules = rules_of(w, &empty);
    const double q = w->aggregate->percent / 100;
    const int64_t room = f->room - f->n;
    int64_t some = 0;
    if (w->wide) return find_wide(m, w, keys, values, n, f);
    const bf_array of = bf_array_of(m->key, keys, n), all = bf_array_of(m->form.dtype, values, n),
                   groups = bf_array_of(m->key, f->keys + (size_t)f->n * key_bytes(m), room);
    bf_array to = bf_array_of(results_of(w), f->results + (size_t)f->n * medians_bytes(w), room);
    bf_status st;
    if (w->aggregate->order == ORDER_MEDIAN_OF) {
        st = bf_median_groups(w->context, &all, &of, &rules, &groups, &to, &some);
    } else {
        to = (bf_array){to.data, to.dtype, 2, {1, room}, {room, 1}};
        st = bf_quantile_groups(w->context, &all, &of, &q, 1, &rules, &groups, &to, &some);
    }
    if (st == BF_OK) f->n += some;
    return st;
}

static bf_status find_all_in_memory(const medians *m, const medians_wanted *w, char *result) {
    const bf_value empty = nan_of(w->to);
    const bf_order_options rules = rules_of(w, &empty);
    const double q = w->aggregate->percent / 100;
    const int axis = 0;
    const bf_array values = bf_array_of(m->form.dtype, m->values, m->n);
    const int64_t ends[] = {0, m->n};
    const bf_array offsets = bf_array_of(BF_I64, ends, 2);
    if (w->wide) return find_segments(w, &values, &offsets, result);
    bf_array all = bf_array_of(results_of(w), result, 1);
    if (w->aggregate->order == ORDER_MEDIAN_OF)
        return bf_median_axes(w->context, &values, &axis, 1, &rules, &all);
    all = (bf_array){all.data, all.dtype, 1, {1}, {1}};
    return bf_quantile_axes(w->context, &values, &axis, 1, &q, 1, &rules, &all);
}

/* ---- rows on piles --------------------------------------------------------------------------- */

/* Gives the values of a pile to a pass. */
static int absorb_pile(const piles *p, int i, int column, bf_dtype dtype, const medians_wanted *w,
                       bf_quantiles *q) {
    const int64_t rows = p->all[i].rows;
    void *columns[COLUMNS] = {NULL};
    int code = EXIT_DONE;
    columns[column] = malloc(READ * bf_dtype_size(dtype));
    if (!columns[column]) return fail_memory(NULL);
    for (int64_t at = 0; at < rows && code == EXIT_DONE; at += READ) {
        const int64_t n = rows - at < READ ? rows - at : READ;
        code = piles_read(p, i, at, n, columns);
        const bf_array values = bf_array_of(dtype, columns[column], n);
        const bf_status st = code == EXIT_DONE ? bf_quantiles_absorb(q, &values) : BF_OK;
        if (st != BF_OK) code = failed(w, st);
    }
    free(columns[column]);
    return code;
}

/* Finds the result of a whole pile, by passes over it. */
static int find_by_passes(const piles *p, int i, int column, bf_dtype dtype,
                          const medians_wanted *w, char *result) {
    bf_value value = nan_of(w->to);
    const bf_order_options rules = rules_of(w, &value);
    const double q = w->aggregate->percent / 100;
    const bool median = w->aggregate->order == ORDER_MEDIAN_OF;
    bf_quantiles *passes = NULL;
    int done = 0, code = EXIT_DONE;
    bf_status st =
        bf_quantiles_create(w->context, dtype, median ? NULL : &q, !median, &rules, &passes);
    while (st == BF_OK && code == EXIT_DONE && !done) {
        code = absorb_pile(p, i, column, dtype, w, passes);
        if (code == EXIT_DONE) st = bf_quantiles_next(passes, &done);
    }
    if (st == BF_OK && code == EXIT_DONE) st = bf_quantiles_result(passes, &value);
    bf_quantiles_destroy(passes);
    const tagged pair = tagged_of(&value);
    memcpy(result,
           w->wide     ? (const void *)&value
           : w->tagged ? (const void *)&pair
                       : &value.as,
           medians_bytes(w));
    return code != EXIT_DONE || st == BF_OK ? code : failed(w, st);
}

/* Piles by group that are looked through; of the numbers on one, what is left of a division by
 * `divisor` is the same. */
typedef struct search {
    const medians *m;
    const medians_wanted *wanted;
    int64_t groups;
    found *found;
} search;

static int find_in_piles(const search *s, piles *p, int64_t divisor);

/* Finds the result of a pile that has one group. */
static int find_one(const search *s, piles *p, int i) {
    found *f = s->found;
    void *const key[COLUMNS] = {f->keys + (size_t)f->n * key_bytes(s->m)};
    const int code = piles_read(p, i, 0, 1, key);
    if (code != EXIT_DONE) return code;
    char *result = f->results + (size_t)f->n++ * medians_bytes(s->wanted);
    return find_by_passes(p, i, VALUES, s->m->form.dtype, s->wanted, result);
}

/* Puts the rows of a pile on piles of their own, and finds their results. */
static int find_in_parts(const search *s, const piles *p, int i, int64_t divisor) {
    const size_t bytes = value_bytes(s->m);
    const int64_t rows = p->all[i].rows;
    piles *parts = make_piles(s->m);
    void *columns[COLUMNS] = {malloc(READ * key_bytes(s->m)), malloc(READ * bytes)};
    int code = parts && columns[KEYS] && columns[VALUES] ? EXIT_DONE : fail_memory(NULL);
    for (int64_t at = 0; at < rows && code == EXIT_DONE; at += READ) {
        const int64_t n = rows - at < READ ? rows - at : READ;
        code = piles_read(p, i, at, n, columns);
        if (code == EXIT_DONE)
            code = pile_rows(parts, columns[KEYS], columns[VALUES], bytes, n, divisor);
    }
    free(columns[KEYS]);
    free(columns[VALUES]);
    if (code == EXIT_DONE) code = piles_end(parts);
    if (code == EXIT_DONE) code = find_in_piles(s, parts, divisor * parts->count);
    if (parts) free_piles(&parts);
    return code;
}

/* Finds the results of a pile whose rows fit into memory; *fits: they did. */
static int find_whole(const search *s, const piles *p, int i, bool *fits) {
    const medians *m = s->m;
    const int64_t n = p->all[i].rows;
    *fits = n <= m->most;
    if (!*fits) return EXIT_DONE;
    void *columns[COLUMNS] = {malloc((size_t)n * key_bytes(m)), malloc((size_t)n * value_bytes(m))};
    int code =
        columns[KEYS] && columns[VALUES] ? piles_read(p, i, 0, n, columns) : fail_memory(NULL);
    const bf_status st = code == EXIT_DONE ? find_in_memory(m, s->wanted, columns[KEYS],
                                                            columns[VALUES], n, s->found)
                                           : BF_OK;
    free(columns[KEYS]);
    free(columns[VALUES]);
    *fits = st != BF_E_MEMORY;
    return *fits && st != BF_OK ? failed(s->wanted, st) : code;
}

static int find_in_piles(const search *s, piles *p, int64_t divisor) {
    int code = EXIT_DONE;
    for (int i = 0; i < p->count && code == EXIT_DONE; i++) {
        bool fits = true;
        if (p->all[i].rows > 0) code = find_whole(s, p, i, &fits);
        if (code != EXIT_DONE || fits) continue;
        code = divisor >= s->groups ? find_one(s, p, i) : find_in_parts(s, p, i, divisor);
    }
    return code;
}

/* ---- results --------------------------------------------------------------------------------- */

int medians_find(medians *m, const medians_wanted *w, int64_t groups, char *keys, char *results,
                 int64_t *n) {
    found f = {.keys = keys, .results = results, .room = groups};
    const search s = {m, w, groups, &f};
    int code = EXIT_DONE;
    if (!m->beyond && m->n > 0) {
        const bf_status st = find_in_memory(m, w, m->keys, m->values, m->n, &f);
        if (st == BF_E_MEMORY && m->most > 0)
            code = move_rows(m);
        else if (st != BF_OK)
            code = failed(w, st);
    }
    if (m->beyond && code == EXIT_DONE) {
        code = move_rows(m);
        free_rows(m);
        if (code == EXIT_DONE) code = piles_end(m->beyond);
        if (code == EXIT_DONE) code = find_in_piles(&s, m->beyond, m->beyond->count);
    }
    *n = f.n;
    return code;
}

int medians_find_total(const medians *m, const medians_wanted *w, char *result, bool *has) {
    *has = m->all ? m->all->all[0].rows > 0 : m->n > 0;
    if (!*has) return EXIT_DONE;
    if (m->all) return find_by_passes(m->all, 0, 0, m->form.dtype, w, result);
    const bf_status st = find_all_in_memory(m, w, result);
    return st == BF_OK ? EXIT_DONE : failed(w, st);
}
