#include "table/pairs.h"

#include "memory/hardware.h"

#include <stdlib.h>

enum { AHEAD = 16 }; /* rows whose lists are fetched before they are needed */

typedef struct pairing {
    join_pairs *pairs;
    const join_numbers *numbers;
    enum join_how how;
    row_lists lists;
    bool *met; /* says for each number whether A has it */
} pairing;

/* Fetches the list of a number into the cache, for its place is random. */
static void fetch_list(const row_lists *l, int64_t number) {
    if (l->starts && number >= 0) __builtin_prefetch(&l->starts[number + 1]);
}

/* Whether every row has a number of its own, in the order of the rows, as where keys are unique. */
static bool are_numbers(const join_numbers *x) {
    bool are = x->keys == x->rows[SIDE_B];
    for (int64_t i = 0; i < x->rows[SIDE_B] && are; i++) are = x->of[SIDE_B][i] == i;
    return are;
}

/* Sorts rows by counting. */
bool row_lists_make(row_lists *l, const join_numbers *numbers) {
    const int64_t n = numbers->rows[SIDE_B], keys = numbers->keys;
    const int64_t *const of = numbers->of[SIDE_B];
    *l = (row_lists){NULL, NULL};
    if (are_numbers(numbers)) return true;
    l->starts = calloc((size_t)keys + 2, sizeof *l->starts);
    l->rows = malloc((size_t)n * sizeof *l->rows + 1);
    if (!l->starts || !l->rows) return false;
    for (int64_t i = 0; i < n; i++)
        if (of[i] >= 0) l->starts[of[i] + 2]++;
    for (int64_t k = 2; k <= keys + 1; k++) l->starts[k] += l->starts[k - 1];
    for (int64_t i = 0; i < n; i++)
        if (of[i] >= 0) l->rows[l->starts[of[i] + 1]++] = i;
    return true;
}

void row_lists_close(row_lists *l) {
    free(l->starts);
    free(l->rows);
}

/* How many rows of B go with row i of A. */
static int64_t partners_of(const pairing *p, int64_t i) {
    const int64_t number = p->numbers->of[SIDE_A][i];
    if (number < 0 || !p->lists.starts) return number >= 0;
    return p->lists.starts[number + 1] - p->lists.starts[number];
}

/* How many rows are shown for a row of A that goes with so many. */
static int64_t rows_shown(enum join_how how, int64_t partners) {
    switch (how) {
    case HOW_INNER: return partners;
    case HOW_SEMI: return partners > 0;
    case HOW_ANTI: return partners == 0;
    default: return partners > 0 ? partners : 1;
    }
}

static bool is_met(const pairing *p, int64_t i) {
    const int64_t number = p->numbers->of[SIDE_B][i];
    return number >= 0 && p->met[number];
}

static bool find_met(pairing *p) {
    const join_numbers *x = p->numbers;
    p->met = calloc((size_t)x->keys + 1, sizeof *p->met);
    for (int64_t i = 0; p->met && i < x->rows[SIDE_A]; i++)
        if (x->of[SIDE_A][i] >= 0) p->met[x->of[SIDE_A][i]] = true;
    return p->met != NULL;
}

/* Rows to show; -1: more than can be counted. */
static int64_t count_rows(const pairing *p) {
    const join_numbers *x = p->numbers;
    int64_t count = 0;
    for (int64_t i = 0; i < x->rows[SIDE_A]; i++) {
        if (i + AHEAD < x->rows[SIDE_A]) fetch_list(&p->lists, x->of[SIDE_A][i + AHEAD]);
        if (__builtin_add_overflow(count, rows_shown(p->how, partners_of(p, i)), &count)) return -1;
    }
    for (int64_t i = 0; p->met && i < x->rows[SIDE_B]; i++) count += !is_met(p, i);
    return count;
}

/* Puts the rows to show for row i of A from number `at` on; returns the next number. */
static int64_t put_row(const pairing *p, int64_t i, int64_t at) {
    const int64_t partners = partners_of(p, i), n = rows_shown(p->how, partners);
    int64_t *const a = p->pairs->of[SIDE_A] + at;
    for (int64_t k = 0; k < n; k++) a[k] = i;
    if (!p->pairs->of[SIDE_B]) return at + n;
    int64_t *const b = p->pairs->of[SIDE_B] + at;
    if (partners == 0 && n > 0) b[0] = -1;
    if (partners == 0) return at + n;
    const int64_t *const number = &p->numbers->of[SIDE_A][i];
    const int64_t *const list = p->lists.starts ? p->lists.rows + p->lists.starts[*number] : number;
    b[0] = list[0];
    for (int64_t k = 1; k < partners; k++) b[k] = list[k];
    return at + n;
}

static void put_rows(const pairing *p) {
    const int64_t n = p->numbers->rows[SIDE_A], *const of = p->numbers->of[SIDE_A];
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i + 2 * AHEAD < n) fetch_list(&p->lists, of[i + 2 * AHEAD]);
        if (p->lists.starts && i + AHEAD < n && of[i + AHEAD] >= 0)
            __builtin_prefetch(&p->lists.rows[p->lists.starts[of[i + AHEAD]]]);
        at = put_row(p, i, at);
    }
    for (int64_t i = 0; p->met && i < p->numbers->rows[SIDE_B]; i++) {
        if (is_met(p, i)) continue;
        p->pairs->of[SIDE_A][at] = -1;
        p->pairs->of[SIDE_B][at++] = i;
    }
}

static bool reserve_pairs(pairing *p) {
    const bool both = p->how <= HOW_OUTER;
    bool good = true;
    for (int s = 0; s < SIDES && good; s++) {
        if (s == SIDE_B && !both) continue;
        p->pairs->of[s] = malloc((size_t)p->pairs->count * sizeof(int64_t) + 1);
        good = p->pairs->of[s] != NULL;
    }
    return good;
}

static int make_pairs(pairing *p) {
    if (!row_lists_make(&p->lists, p->numbers) || (p->how == HOW_OUTER && !find_met(p)))
        return fail_memory(NULL);
    const int64_t count = p->pairs->count = count_rows(p);
    const int64_t room = hardware_memory() / (2 * (int64_t)sizeof(int64_t));
    if (count < 0 || count > room) {
        fail(EXIT_IO, NULL, "too many rows go together: more than memory holds");
        hint("--how semi shows each row of A once");
        return EXIT_IO;
    }
    if (!reserve_pairs(p)) return fail_memory(NULL);
    put_rows(p);
    return EXIT_DONE;
}

int join_pairs_make(join_pairs *pairs, const join_numbers *numbers, enum join_how how) {
    pairing p = {.pairs = pairs, .numbers = numbers, .how = how};
    *pairs = (join_pairs){.count = 0};
    const int code = make_pairs(&p);
    row_lists_close(&p.lists);
    free(p.met);
    return code;
}

void join_pairs_close(join_pairs *pairs) {
    for (int s = 0; s < SIDES; s++) free(pairs->of[s]);
}
