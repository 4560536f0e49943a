#include "table/piles.h"

#include "input/bytes.h"
#include "memory/temporary.h"
#include "runtime/progress.h"
#include "work/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD = sizeof(run_record), ROOM_LEAST = 256, BLOCK_LEAST = 1024 };

/* Bytes that the join of a row takes of the library's memory, and of that of results. */
enum { JOINED = 256, HELD = 128 };

void piles_open(piles *p, const options *o) {
    *p = (piles){.room = o->memory.results / 8 / PILES / RECORD};
    if (p->room < ROOM_LEAST) p->room = ROOM_LEAST;
    for (int i = 0; i < PILES; i++) p->all[i].fd = -1;
}

static void empty_pile(pile *x) {
    if (x->fd >= 0) close(x->fd);
    free(x->buffer);
    *x = (pile){.fd = -1};
}

void piles_close(piles *p) {
    for (int i = 0; i < PILES && p->room > 0; i++) empty_pile(&p->all[i]);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Equal keys become equal numbers: -0 is +0, and all NaNs are one. */
static uint64_t number_of(bf_dtype dtype, const char *at, size_t bytes) {
    static const uint64_t infinities[] = {0x7c00, 0x7f80, 0x7f800000, 0x7ff0000000000000};
    const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    uint64_t x = 0;
    memcpy(&x, at, bytes);
    if (dtype == BF_BOOL) return x != 0;
    if (dtype < BF_F16) return x;
    if ((x & (sign - 1)) > infinities[dtype - BF_F16]) return UINT64_MAX;
    return x == sign ? 0 : x;
}

static int pile_of(uint64_t number) {
    number ^= number >> 32;
    number *= 0x9e3779b97f4a7c15;
    return (int)((number ^ number >> 29) * 0xbf58476d1ce4e5b9 >> 58);
}

static int write_buffer(pile *x) {
    if (x->fd < 0) x->fd = temporary_open();
    if (x->fd < 0 || !temporary_write(x->fd, x->buffer, (size_t)x->held * RECORD))
        return temporary_failed(errno);
    x->held = 0;
    return EXIT_DONE;
}

static int add_record(pile *x, int64_t room, run_record record) {
    if (!x->buffer) x->buffer = malloc((size_t)room * RECORD);
    if (!x->buffer) return fail_status(BF_E_MEMORY, NULL, NULL);
    const int code = x->held == room ? write_buffer(x) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    x->buffer[x->held++] = record;
    x->n++;
    return EXIT_DONE;
}

static int add_rows(piles *p, bf_dtype dtype, const char *keys, int64_t n, int64_t first) {
    const size_t bytes = bf_dtype_size(dtype);
    int code = EXIT_DONE;
    for (int64_t i = 0; i < n && code == EXIT_DONE; i++) {
        const uint64_t number = number_of(dtype, keys + (size_t)i * bytes, bytes);
        code = add_record(&p->all[pile_of(number)], p->room,
                          (run_record){number, (uint64_t)(first + i)});
    }
    return code;
}

int piles_load(piles *p, rows *r) {
    rows_chunk chunk = {.n = 1};
    int code = EXIT_DONE;
    piles_close(p);
    for (int64_t at = p->first; code == EXIT_DONE && chunk.n > 0; at += chunk.n) {
        code = rows_next(r, 0, &chunk);
        if (code != EXIT_DONE || chunk.n == 0) break;
        const void *keys = chunk.columns[0].as[__builtin_ctz(chunk.columns[0].can)];
        code = add_rows(p, rows_dtype(r, 0), keys, chunk.n, at);
    }
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Takes all records of a pile, which is then empty; zeros if they cannot be read, which is
 * reported.
 */
static run_record *take_pile(pile *x, int *code) {
    const int64_t filed = x->n - x->held, bytes = filed * RECORD;
    run_record *all = ranks_allocate((size_t)x->n * RECORD);
    errno = EIO;
    if (filed > 0 && bytes_pread(x->fd, all, (size_t)bytes, 0) != bytes)
        *code = temporary_failed(errno);
    if (x->held > 0) memcpy(all + filed, x->buffer, (size_t)x->held * RECORD);
    empty_pile(x);
    return all;
}

/* Sends a pile to its owner, which receives those of all ranks, in the order of the rows. counts:
 * of each rank, the records of each pile. */
static void send_pile(pile *x, int i, const int64_t (*counts)[PILES], int *code) {
    const int ranks = ranks_count(), owner = i % ranks;
    int64_t *to = ranks_allocate(2 * (size_t)ranks * sizeof *to), *from = to + ranks, total = 0;
    to[owner] = x->n * RECORD;
    for (int k = 0; k < ranks && ranks_rank() == owner; k++)
        total += from[k] = counts[k][i] * RECORD;
    run_record *mine = take_pile(x, code);
    x->buffer = ranks_allocate((size_t)total);
    x->n = x->held = total / RECORD;
    ranks_exchange(mine, to, x->buffer, from);
    free(mine);
    free(to);
}

int piles_exchange(piles *p) {
    int64_t mine[PILES], (*counts)[PILES] = ranks_allocate((size_t)ranks_count() * sizeof mine);
    int code = EXIT_DONE;
    for (int i = 0; i < PILES; i++) mine[i] = p->all[i].n;
    ranks_gather(mine, counts, sizeof mine);
    for (int i = 0; i < PILES; i++) send_pile(&p->all[i], i, counts, &code);
    free(counts);
    return ranks_agree(code);
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Rows [first, first + n) of a pile: their keys, and their numbers. */
typedef struct block {
    uint64_t *keys, *rows;
    int64_t n;
} block;

static bool make_block(block *b, int64_t room) {
    *b = (block){.keys = malloc((size_t)room * 8), .rows = malloc((size_t)room * 8)};
    return b->keys && b->rows;
}

static void free_block(block *b) {
    free(b->keys);
    free(b->rows);
}

static void copy_records(block *b, const run_record *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        b->keys[b->n + i] = from[i].first;
        b->rows[b->n + i] = from[i].second;
    }
    b->n += n;
}

static int read_block(const pile *x, int64_t first, int64_t n, block *b) {
    run_record some[1024];
    const int64_t filed = x->n - x->held; /* in the file; the rest is in the buffer */
    for (b->n = 0; b->n < n && first + b->n < filed;) {
        const int64_t at = first + b->n, left = filed - at < n - b->n ? filed - at : n - b->n;
        const int64_t k = left < 1024 ? left : 1024;
        errno = EIO;
        if (bytes_pread(x->fd, some, (size_t)k * RECORD, at * RECORD) != k * RECORD)
            return temporary_failed(errno);
        copy_records(b, some, k);
    }
    if (b->n < n) copy_records(b, x->buffer + (first + b->n - filed), n - b->n);
    return EXIT_DONE;
}

typedef struct joining {
    bf_context *context;
    const options *options;
    runs *pairs;
    block a, b;
    run_record *records; /* room for so many pairs at a time */
    int64_t room;
} joining;

static int add_pairs(joining *j, const bf_pairs *found, const uint64_t *rows_a) {
    const int64_t *a = bf_pairs_a(found), *b = bf_pairs_b(found), n = bf_pairs_size(found);
    int code = EXIT_DONE;
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += j->room) {
        const int64_t k = n - at < j->room ? n - at : j->room;
        for (int64_t i = 0; i < k; i++)
            j->records[i] = (run_record){rows_a[a[at + i]], j->b.rows[b[at + i]]};
        code = runs_add(j->pairs, j->records, k);
    }
    return code;
}

/* Joins n rows of the block of a with the block of b; in halves if their pairs are too many. */
static int join_rows(joining *j, int64_t first, int64_t n) {
    const char *file = j->options->files[0];
    const bf_array a = bf_array_of(BF_U64, j->a.keys + first, n),
                   b = bf_array_of(BF_U64, j->b.keys, j->b.n);
    bf_pairs *found = NULL;
    const bf_status st = bf_join(j->context, &a, &b, (uint64_t)j->options->seed, &found);
    if (st == BF_E_MEMORY && n > 1) {
        const int code = join_rows(j, first, n / 2);
        return code == EXIT_DONE ? join_rows(j, first + n / 2, n - n / 2) : code;
    }
    if (st != BF_OK) return fail_status(st, j->context, file);
    const int code = add_pairs(j, found, j->a.rows + first);
    bf_pairs_destroy(found);
    return code;
}

/* Joins two piles, block by block. */
static int join_piles(joining *j, const pile *a, const pile *b, int64_t room) {
    int code = EXIT_DONE;
    for (int64_t k = 0; k < b->n && a->n > 0 && code == EXIT_DONE; k += room) {
        code = read_block(b, k, b->n - k < room ? b->n - k : room, &j->b);
        for (int64_t i = 0; i < a->n && code == EXIT_DONE; i += room) {
            code = read_block(a, i, a->n - i < room ? a->n - i : room, &j->a);
            if (code == EXIT_DONE) code = join_rows(j, 0, j->a.n);
            progress_tick();
        }
    }
    return code;
}

static int64_t block_of(const options *o) {
    const int64_t of_library = o->memory.library / JOINED, of_results = o->memory.results / HELD;
    const int64_t n = of_library < of_results ? of_library : of_results;
    return n > BLOCK_LEAST ? n : BLOCK_LEAST;
}

int piles_join(piles *a, piles *b, bf_context *context, const options *o, runs *pairs) {
    const int64_t room = block_of(o);
    joining j = {.context = context, .options = o, .pairs = pairs, .room = room};
    j.records = malloc((size_t)room * RECORD);
    const bool made = make_block(&j.a, room) && make_block(&j.b, room) && j.records;
    int code = made ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, o->files[0]);
    for (int i = 0; i < PILES && code == EXIT_DONE; i++) {
        code = join_piles(&j, &a->all[i], &b->all[i], room);
        empty_pile(&a->all[i]);
        empty_pile(&b->all[i]);
    }
    free_block(&j.a);
    free_block(&j.b);
    free(j.records);
    return code;
}
