#include "table/sides.h"

#include "memory/key.h"
#include "memory/spool.h"
#include "memory/temporary.h"
#include "options/context.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "work/united.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a side and pairs that are at hand, at most. Rows take such a part of the memory of
 * results, by bytes of one; over ranks more, which wait for each other each time. */
enum { ROOM_MOST = 1 << 18, PAIRS = 1 << 12, HELD = 16, UNITED = 4, ROW = 128 };

static int no_memory(const side *s) { return fail_memory(s->options->files[0]); }

static int end_call(const side *s, bf_status st) {
    return st == BF_OK ? EXIT_DONE : context_failed(s->context, st, s->options->files[0]);
}

void side_close(side *s) {
    bf_sorter_destroy(s->sorter);
    s->sorter = NULL;
}

/* ---- loading --------------------------------------------------------------------------------- */

int side_load(side *s, rows *r) {
    rows_chunk chunk = {.n = 1};
    side_close(s);
    s->form = units_of_rows(r, 0);
    const bf_sorter_options wanted = BF_SORTER_OPTIONS(.dtype = s->form.dtype, .beside = true,
                                                       .memory = s->options->memory.library / 2);
    int code = end_call(s, bf_sorter_create(s->context, &wanted, &s->sorter));
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, 0, &chunk);
        if (code != EXIT_DONE || chunk.n == 0) break;
        const void *keys = chunk.columns[0].as[__builtin_ctz(chunk.columns[0].can)];
        const bf_array values = bf_array_of(s->form.dtype, keys, chunk.n);
        code = end_call(s, bf_sorter_add(s->sorter, &values, NULL));
    }
    return code;
}

/* ---- rows in the order of their keys --------------------------------------------------------- */

/* The rows of a side that are at hand. */
typedef struct reader {
    const side *side;
    units_form form;
    united_part part; /* keys as the side has them, and rows */
    united united;    /* over ranks */
    int64_t at, n;
    char *keys; /* in the form */
    bool *alone;
    key_rank *ranks;
} reader;

static int open_reader(reader *r, const side *s, units_form form) {
    const int64_t share = s->options->memory.results / (ranks_count() > 1 ? UNITED : HELD) / ROW;
    const size_t room = share < ROOM_MOST ? (size_t)share : ROOM_MOST;
    *r = (reader){.side = s, .form = form};
    r->united = (united){.context = s->context,
                         .rules.size = sizeof r->united.rules,
                         .file = s->options->files[0],
                         .sorter = s->sorter,
                         .dtype = s->form.dtype,
                         .first = s->first};
    bool good = united_part_open(&r->part, (int64_t)room, true);
    if (ranks_count() > 1) good = united_open(&r->united, (int64_t)room, true) && good;
    r->keys = malloc(room * sizeof *r->ranks);
    r->alone = malloc(room);
    r->ranks = malloc(room * sizeof *r->ranks);
    return good && r->keys && r->alone && r->ranks ? EXIT_DONE : no_memory(s);
}

static void close_reader(reader *r) {
    united_part_close(&r->part);
    united_close(&r->united);
    free(r->keys);
    free(r->alone);
    free(r->ranks);
}

/* Takes the rows of the part, whose keys have another form, but for those that no row of the other
 * side equals. Their order stays. */
static void take_form(reader *r) {
    const int64_t n = r->part.n;
    const bf_array held = bf_array_of(r->side->form.dtype, r->part.values, n);
    const size_t bytes = bf_dtype_size(r->form.dtype);
    join_take(&held, r->side->form.scale, r->form, r->keys, r->alone);
    r->n = 0;
    for (int64_t i = 0; i < n; i++) {
        if (r->alone[i]) continue;
        memmove(r->keys + (size_t)r->n * bytes, r->keys + (size_t)i * bytes, bytes);
        r->part.beside[r->n++] = r->part.beside[i];
    }
}

static int read_part(reader *r) {
    const side *s = r->side;
    return ranks_count() > 1 ? united_next(&r->united, &r->part)
                             : end_call(s, united_part_read(&r->part, s->sorter, s->form.dtype));
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static int end_pairs(const side_pairs *p, bf_status st) {
    return st == BF_OK ? EXIT_DONE : context_failed(p->context, st, p->file);
}

int side_pairs_open(side_pairs *p, bf_context *context, int64_t memory, const char *file) {
    const bf_sorter_options wanted = BF_SORTER_OPTIONS(.dtype = BF_PAIR, .memory = memory);
    *p = (side_pairs){.context = context, .file = file};
    return end_pairs(p, bf_sorter_create(context, &wanted, &p->sorter));
}

void side_pairs_close(side_pairs *p) {
    bf_sorter_destroy(p->sorter);
    p->sorter = NULL;
}

int side_pairs_next(side_pairs *p, uint64_t pairs[], int64_t most, int64_t *n) {
    const bf_array array = bf_array_of(BF_PAIR, pairs, most);
    return end_pairs(p, bf_sorter_next(p->sorter, &array, NULL, n));
}

/* ---- joining --------------------------------------------------------------------------------- */

typedef struct joining {
    reader sides[SIDES];
    bool apart; /* the other ranks do not wait for rank 0 any more */
    side_pairs *pairs;
    uint64_t some[2 * PAIRS]; /* pairs that are not added yet */
    int64_t n;
    spool_limit limit;    /* for the rows of a key that are not all at hand */
    int64_t again[PAIRS]; /* some of these */
} joining;

static int add_pairs(joining *j) {
    const bf_array array = bf_array_of(BF_PAIR, j->some, j->n);
    const int code = end_pairs(j->pairs, bf_sorter_add(j->pairs->sorter, &array, NULL));
    j->n = 0;
    return code;
}

/* All ranks learn from which side rank 0 reads next; SIDES: it has read all that it needs. */
static int tell_side(int next) {
    int64_t word = next;
    ranks_share_words(&word, 0, ranks_rank() == 0);
    return (int)word;
}

/* Reads the next rows of a side; its n is 0 at the end. */
static int read_rows(joining *j, int next) {
    reader *r = &j->sides[next];
    const bool same = units_are_same(r->side->form, r->form);
    r->at = r->n = 0;
    do {
        tell_side(next);
        const int code = read_part(r);
        if (code != EXIT_DONE) j->apart = true;
        if (code != EXIT_DONE) return code;
        r->n = r->part.n;
        if (!same) take_form(r);
    } while (r->part.n > 0 && r->n == 0);
    key_wide_ranks(r->form.dtype, same ? r->part.values : r->keys, r->n, r->ranks);
    progress_tick();
    return EXIT_DONE;
}

/* The end of the rows at hand that have the key of the next. */
static int64_t end_of_key(const reader *r) {
    int64_t end = r->at + 1;
    while (end < r->n && r->ranks[end] == r->ranks[r->at]) end++;
    return end;
}

/* Passes over rows at hand of a side. */
static int pass_rows(joining *j, int which, int64_t end) {
    reader *r = &j->sides[which];
    r->at = end;
    return end == r->n ? read_rows(j, which) : EXIT_DONE;
}

/* Pairs the rows of A at hand up to `end` with n rows of B. */
static int pair_rows(joining *j, int64_t end, const int64_t *b, int64_t n) {
    const reader *a = &j->sides[SIDE_A];
    int code = EXIT_DONE;
    for (int64_t i = a->at; i < end; i++)
        for (int64_t k = 0; k < n && code == EXIT_DONE; k++) {
            j->some[2 * j->n] = (uint64_t)a->part.beside[i];
            j->some[2 * j->n++ + 1] = (uint64_t)b[k];
            if (j->n == PAIRS) code = add_pairs(j);
        }
    return code;
}

/* Pairs them with n rows of B that are kept. */
static int pair_kept(joining *j, int64_t end, const spool *kept, int64_t n) {
    int code = EXIT_DONE;
    for (int64_t at = 0, some; at < n && code == EXIT_DONE; at += some) {
        some = n - at < PAIRS ? n - at : PAIRS;
        const int64_t *b =
            spool_read(kept, at * (int64_t)sizeof *b, j->again, (size_t)some * sizeof *b);
        code = b ? pair_rows(j, end, b, some) : temporary_failed(errno);
    }
    return code;
}

/* Passes over the rows of A that have a key, and pairs each with n rows of B, which are at hand or
 * (NULL) kept. */
static int pair_key(joining *j, key_rank key, const int64_t *b, int64_t n, const spool *kept) {
    const reader *a = &j->sides[SIDE_A];
    int code = EXIT_DONE;
    while (code == EXIT_DONE && a->n > 0 && a->ranks[a->at] == key) {
        const int64_t end = end_of_key(a);
        code = b ? pair_rows(j, end, b, n) : pair_kept(j, end, kept, n);
        if (code == EXIT_DONE) code = pass_rows(j, SIDE_A, end);
    }
    return code;
}

/* Keeps the rows of B that have a key, for not all of them are at hand. */
static int keep_rows(joining *j, key_rank key, spool *kept) {
    const reader *b = &j->sides[SIDE_B];
    int code = EXIT_DONE;
    while (code == EXIT_DONE && b->n > 0 && b->ranks[b->at] == key) {
        const int64_t end = end_of_key(b), n = end - b->at;
        if (!spool_write(kept, b->part.beside + b->at, (size_t)n * sizeof *b->part.beside))
            return temporary_failed(errno);
        code = pass_rows(j, SIDE_B, end);
    }
    return code;
}

/* Pairs the rows of the key that both sides have next. */
static int pair_next(joining *j) {
    reader *b = &j->sides[SIDE_B];
    const key_rank key = b->ranks[b->at];
    const int64_t at = b->at, end = end_of_key(b);
    spool kept;
    if (end < b->n) {
        b->at = end;
        return pair_key(j, key, b->part.beside + at, end - at, NULL);
    }
    spool_open(&kept, &j->limit);
    int code = keep_rows(j, key, &kept);
    if (code == EXIT_DONE) code = pair_key(j, key, NULL, kept.size / (int64_t)sizeof at, &kept);
    spool_close(&kept);
    return code;
}

/* Passes over the rows of a side with keys before this one. */
static int skip_rows(joining *j, int which, key_rank key) {
    const reader *r = &j->sides[which];
    int64_t end = r->at;
    while (end < r->n && r->ranks[end] < key) end++;
    return pass_rows(j, which, end);
}

static int join_readers(joining *j) {
    const reader *a = &j->sides[SIDE_A], *b = &j->sides[SIDE_B];
    int code = read_rows(j, SIDE_A);
    if (code == EXIT_DONE) code = read_rows(j, SIDE_B);
    while (code == EXIT_DONE && a->n > 0 && b->n > 0) {
        const key_rank of_a = a->ranks[a->at], of_b = b->ranks[b->at];
        code = of_a < of_b   ? skip_rows(j, SIDE_A, of_b)
               : of_a > of_b ? skip_rows(j, SIDE_B, of_a)
                             : pair_next(j);
    }
    return code == EXIT_DONE ? add_pairs(j) : code;
}

/* Sends this rank's rows as long as rank 0 reads any. */
static int serve_readers(joining *j) {
    int code = EXIT_DONE;
    for (int next; code == EXIT_DONE && (next = tell_side(SIDES)) < SIDES;)
        code = read_part(&j->sides[next]);
    return code;
}

int sides_join(const side *a, const side *b, units_form form, side_pairs *pairs) {
    joining *j = calloc(1, sizeof *j); /* too large for a small stack */
    if (!j) return no_memory(a);
    j->pairs = pairs;
    spool_limit_set(&j->limit, a->options->memory.results / HELD);
    const int opened = open_reader(&j->sides[SIDE_A], a, form);
    int code = open_reader(&j->sides[SIDE_B], b, form);
    code = ranks_agree(code == EXIT_DONE ? opened : code);
    if (code == EXIT_DONE) {
        code = ranks_rank() == 0 ? join_readers(j) : serve_readers(j);
        if (ranks_rank() == 0 && !j->apart) tell_side(SIDES);
    }
    for (int s = 0; s < SIDES; s++) close_reader(&j->sides[s]);
    free(j);
    return ranks_agree(code);
}
