#include "group/piled.h"

#include "runtime/report.h"

#include <stdlib.h>

/* Rows whose piles are found at a time, and rows of a sample. */
enum { RANKED = 1 << 10, SAMPLED = 1 << 11 };

/* The column of the values of aggregate number a: a new one, unless another has the same. */
static int find_column(const piled *p, const bf_array *const values[], int a) {
    for (int k = 0; k < a; k++)
        if (values[k]->data == values[a]->data) return p->column[k];
    return p->piles.columns;
}

void piled_open(piled *p, const bf_array *keys, const bf_array *const values[], int aggregates,
                const key_rank bounds[], int n, int64_t memory) {
    int bytes[PILES_COLUMNS] = {(int)bf_dtype_size(keys->dtype)};
    *p = (piled){.aggregates = aggregates, .dtypes[0] = keys->dtype, .piles.columns = 1};
    for (int a = 0; a < aggregates; a++) {
        const int c = p->column[a] = find_column(p, values, a);
        p->dtypes[c] = values[a]->dtype;
        bytes[c] = (int)bf_dtype_size(values[a]->dtype);
        if (c == p->piles.columns) p->piles.columns++;
    }
    for (int i = 0; i < n; i++) p->bounds[i] = bounds[i];
    piles_open(&p->piles, n, p->piles.columns, bytes, memory);
}

static void free_read(piled *p) {
    for (int c = 0; c < p->piles.columns; c++) {
        free(p->read[c]);
        p->read[c] = NULL;
    }
    p->room = 0;
}

void piled_close(piled *p) {
    free_read(p);
    free(p->which);
    piles_close(&p->piles);
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* The number of bounds, behind the first, that are at most `rank`. */
static int pile_of(const piled *p, key_rank rank) {
    const key_rank *from = p->bounds;
    for (int n = p->piles.count; n > 1; n -= n / 2) from += from[n / 2] <= rank ? n / 2 : 0;
    return (int)(from - p->bounds);
}

static void find_piles(const piled *p, const bf_array *keys, int64_t n, uint8_t which[]) {
    key_rank ranks[RANKED];
    const size_t bytes = bf_dtype_size(keys->dtype);
    for (int64_t at = 0; at < n; at += RANKED) {
        const int64_t some = n - at < RANKED ? n - at : RANKED;
        key_wide_ranks(keys->dtype, (const char *)keys->data + (size_t)at * bytes, some, ranks);
        for (int64_t k = 0; k < some; k++) which[at + k] = (uint8_t)pile_of(p, ranks[k]);
    }
}

int piled_add(piled *p, const bf_array *keys, const bf_array *const values[]) {
    const void *columns[PILES_COLUMNS] = {keys->data};
    const int64_t n = keys->shape[0];
    if (n > p->added) {
        free(p->which);
        p->which = malloc((size_t)n);
        p->added = p->which ? n : 0;
    }
    if (n > p->added) return fail_status(BF_E_MEMORY, NULL, NULL);
    for (int a = 0; a < p->aggregates; a++) columns[p->column[a]] = values[a]->data;
    find_piles(p, keys, n, p->which);
    return piles_add(&p->piles, p->which, columns, n);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool make_room(piled *p, int64_t n) {
    bool made = true;
    if (n <= p->room) return true;
    free_read(p);
    for (int c = 0; c < p->piles.columns && made; c++)
        made = (p->read[c] = malloc((size_t)n * bf_dtype_size(p->dtypes[c])));
    p->room = made ? n : 0;
    return made;
}

int piled_read(piled *p, int i, int64_t first, int64_t n, bf_array *keys, bf_array arrays[],
               const bf_array *values[]) {
    if (!make_room(p, n)) return fail_status(BF_E_MEMORY, NULL, NULL);
    const int code = piles_read(&p->piles, i, first, n, p->read);
    *keys = bf_array_of(p->dtypes[0], p->read[0], n);
    for (int a = 0; a < p->aggregates; a++) {
        const int c = p->column[a];
        arrays[a] = bf_array_of(p->dtypes[c], p->read[c], n);
        values[a] = &arrays[a];
    }
    return code;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    const key_rank x = *(const key_rank *)a, y = *(const key_rank *)b;
    return (x > y) - (x < y);
}

/* Ranks of rows of pile i from `first` on, of which there are `left`. */
static int take_sample(const piled *p, int i, int64_t first, int64_t left, key_rank sample[],
                       int64_t m) {
    char key[sizeof *sample];
    void *const columns[PILES_COLUMNS] = {key};
    int code = EXIT_DONE;
    for (int64_t k = 0; k < m && code == EXIT_DONE; k++) {
        code = piles_read(&p->piles, i, first + left * k / m, 1, columns);
        key_wide_ranks(p->dtypes[0], key, 1, &sample[k]);
    }
    return code;
}

/* Bounds are different keys, so that one of many rows takes no more than a pile. */
int piled_bounds(const piled *p, int i, int64_t first, key_rank bounds[], int *n) {
    const int64_t left = p->piles.all[i].rows - first, m = left < SAMPLED ? left : SAMPLED;
    key_rank *sample = malloc(SAMPLED * sizeof *sample);
    int64_t found = 0;
    if (!sample) return fail_status(BF_E_MEMORY, NULL, NULL);
    const int code = take_sample(p, i, first, left, sample, m);
    if (code == EXIT_DONE) qsort(sample, (size_t)m, sizeof *sample, compare);
    for (int64_t k = 0; k < m; k++)
        if (k == 0 || sample[k] != sample[found - 1]) sample[found++] = sample[k];
    if (*n > found) *n = (int)found;
    for (int k = 0; k < *n; k++) bounds[k] = sample[k * found / *n];
    free(sample);
    return code;
}
