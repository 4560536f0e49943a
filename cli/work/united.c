#include "work/united.h"

#include "options/context.h"
#include "runtime/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { HELD = 2 /* rank 0 holds such a part of what a part has room for */ };

/* ---- parts ----------------------------------------------------------------------------------- */

bool united_part_open(united_part *p, int64_t room, bool beside) {
    *p = (united_part){.room = room};
    p->values = malloc((size_t)room * 16 + 1);
    if (beside) p->beside = malloc((size_t)room * sizeof *p->beside + 1);
    return p->values && (p->beside || !beside);
}

void united_part_close(united_part *p) {
    free(p->values);
    free(p->beside);
    *p = (united_part){.n = 0};
}

bf_status united_part_read(united_part *p, bf_sorter *sorter, bf_dtype dtype) {
    const bf_array values = bf_array_of(dtype, p->values, p->room),
                   beside = bf_array_of(BF_I64, p->beside, p->room);
    return bf_sorter_next(sorter, &values, p->beside ? &beside : NULL, &p->n);
}

/* Appends n numbers of another part. */
static void append(united_part *to, bf_dtype dtype, const united_part *from, int64_t at,
                   int64_t n) {
    const size_t bytes = bf_dtype_size(dtype);
    if (n == 0) return;
    memcpy(to->values + (size_t)to->n * bytes, from->values + (size_t)at * bytes,
           (size_t)n * bytes);
    if (to->beside) memcpy(to->beside + to->n, from->beside + at, (size_t)n * sizeof *to->beside);
    to->n += n;
}

/* ---- what goes from rank to rank ------------------------------------------------------------- */

bool united_open(united *g, int64_t room, bool beside) {
    const size_t ranks = (size_t)ranks_count();
    const int64_t piece = room / HELD / (int64_t)ranks + 1, all = piece * (int64_t)ranks;
    const bool mine = united_part_open(&g->mine, piece, beside);
    const bool held = united_part_open(&g->held, all, beside);
    const bool spare = united_part_open(&g->spare, all, beside);
    g->counts = calloc(ranks, sizeof *g->counts);
    g->left = calloc(ranks + 1, sizeof *g->left);
    g->index = malloc((size_t)all * sizeof *g->index);
    g->owner = malloc((size_t)all * sizeof *g->owner);
    g->sizes = calloc(ranks, sizeof *g->sizes);
    return mine && held && spare && g->counts && g->left && g->index && g->owner && g->sizes;
}

void united_close(united *g) {
    united_part_close(&g->mine);
    united_part_close(&g->held);
    united_part_close(&g->spare);
    free(g->counts);
    free(g->left);
    free(g->index);
    free(g->owner);
    free(g->sizes);
}

static int end_call(const united *g, bf_status st) {
    return st == BF_OK ? EXIT_DONE : context_failed(g->context, st, g->file);
}

/* Reads what this rank sends next. */
static int read_mine(united *g) {
    const bf_status st = united_part_read(&g->mine, g->sorter, g->dtype);
    if (st != BF_OK) g->mine.n = 0;
    for (int64_t i = 0; g->mine.beside && i < g->mine.n; i++) g->mine.beside[i] += g->first;
    return end_call(g, st);
}

/* Rank 0 receives what all ranks send, in their order; the others learn how much. */
static united_part collect(united *g) {
    const int64_t bytes = (int64_t)bf_dtype_size(g->dtype), n = g->mine.n;
    united_part all = {.n = 0};
    if (g->mine.beside)
        all.beside = (void *)ranks_collect(g->mine.beside, n * (int64_t)sizeof n, g->counts);
    all.values = ranks_collect(g->mine.values, n * bytes, g->counts);
    for (int i = 0; i < ranks_count(); i++) all.n += g->counts[i] /= bytes;
    return all;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Puts what each rank sent behind what is left of it. */
static void join(united *g, const united_part *sent) {
    int64_t at = 0, sent_at = 0;
    g->spare.n = 0;
    for (int rank = 0; rank < ranks_count(); rank++) {
        const int64_t left = g->left[rank], came = g->counts[rank];
        at += g->sizes[rank];
        append(&g->spare, g->dtype, &g->held, at - left, left);
        append(&g->spare, g->dtype, sent, sent_at, came);
        sent_at += came;
        g->sizes[rank] = g->left[rank] = left + came;
        for (int64_t i = 1; i <= left + came; i++) g->owner[g->spare.n - i] = rank;
    }
    const united_part held = g->held;
    g->held = g->spare;
    g->spare = held;
}

/* Gives what is held, in order, up to the first number that is the last one of its rank here: the
 * next of that rank follows it. */
static int merge(united *g, united_part *to) {
    const int64_t n = g->held.n;
    const bf_array held = bf_array_of(g->dtype, g->held.values, n),
                   values = bf_array_of(g->dtype, to->values, n),
                   index = bf_array_of(BF_I64, g->index, n);
    const bf_status st = n > 0 ? bf_sort(g->context, &held, 0, &g->rules, &values, &index) : BF_OK;
    to->n = 0;
    for (int64_t left = 1; st == BF_OK && to->n < n && left > 0; to->n++) {
        const int64_t i = g->index[to->n];
        if (to->beside) to->beside[to->n] = g->held.beside[i];
        left = --g->left[g->owner[i]];
    }
    return end_call(g, st);
}

int united_next(united *g, united_part *to) {
    const int ranks = ranks_count(), rank = ranks_rank();
    g->mine.n = 0;
    int code = g->left[rank] == 0 ? read_mine(g) : EXIT_DONE;
    united_part sent = collect(g);
    if (rank == 0) {
        join(g, &sent);
        code = code == EXIT_DONE ? merge(g, to) : code;
        g->left[ranks] = to->n;
    }
    united_part_close(&sent);
    code = ranks_agree(code);
    if (code == EXIT_DONE) ranks_share_words(g->left, 0, rank == 0 ? ranks + 1 : 0);
    to->n = g->left[ranks];
    return code;
}

/* ---- one sorter for all ---------------------------------------------------------------------- */

static int add(united *g, const united_part *sent) {
    const bf_array values = bf_array_of(g->dtype, sent->values, sent->n),
                   beside = bf_array_of(BF_I64, sent->beside, sent->n);
    return end_call(g, bf_sorter_add(g->sorter, &values, sent->beside ? &beside : NULL));
}

int united_move(united *g) {
    const bool first = ranks_rank() == 0;
    int code;
    int64_t n = 0;
    do {
        code = first ? EXIT_DONE : read_mine(g);
        united_part sent = collect(g);
        n = sent.n;
        code = ranks_agree(first ? add(g, &sent) : code);
        united_part_close(&sent);
    } while (code == EXIT_DONE && n > 0);
    return code;
}
