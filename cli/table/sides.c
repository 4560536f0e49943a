#include "table/sides.h"

#include "memory/key.h"
#include "options/context.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PILES = 64, COLUMNS = 2, LOADED = 1 << 10, TAKEN = 1 << 8, BLOCK_LEAST = 1024 };

/* Piles of so few blocks are not parted again, and others so often, at most. */
enum { BLOCKS_FEW = 4, LEVELS = 6 };

/* Bytes that the join of a row takes of the library's memory, and of that of results. */
enum { JOINED = 256, HELD = 128 };

/* Keys of up to 64 bits are there as their ranks, wider ones as they are. */
static bf_dtype held_as(bf_dtype dtype) { return dtype == BF_I128 ? BF_I128 : BF_U64; }

static int64_t key_bytes(bf_dtype dtype) { return (int64_t)bf_dtype_size(held_as(dtype)); }

static void open_piles(piles *p, bf_dtype dtype, int64_t memory) {
    const int bytes[COLUMNS] = {(int)key_bytes(dtype), 8};
    piles_open(p, PILES, COLUMNS, bytes, memory);
}

void side_open(side *s, const options *o) {
    *s = (side){.memory = o->memory.results / 8};
    open_piles(&s->piles, BF_NONE, s->memory);
}

void side_close(side *s) { piles_close(&s->piles); }

/* ---- loading --------------------------------------------------------------------------------- */

/* The pile of a rank: at each level another. */
static uint8_t pile_of(uint64_t rank, int level) {
    rank = (rank ^ rank >> 32) + (uint64_t)level * 0xd6e8feb86659fd93;
    rank *= 0x9e3779b97f4a7c15;
    return (uint8_t)((rank ^ rank >> 29) * 0xbf58476d1ce4e5b9 >> 58);
}

/* Puts up to LOADED rows on piles. */
static int pile_some(piles *p, bf_dtype dtype, const void *keys, const uint64_t numbers[],
                     int64_t n, int level) {
    uint8_t which[LOADED];
    const uint64_t *const words = keys;
    const void *const columns[COLUMNS] = {keys, numbers};
    if (dtype == BF_I128)
        for (int64_t i = 0; i < n; i++)
            which[i] = pile_of(key_mix(words[2 * i + 1], words[2 * i]), level);
    else
        for (int64_t i = 0; i < n; i++) which[i] = pile_of(words[i], level);
    return piles_add(p, which, columns, n);
}

/* Adds up to LOADED rows. */
static int add_some(piles *p, bf_dtype dtype, const void *keys, const uint64_t numbers[],
                    int64_t n) {
    uint64_t ranks[LOADED];
    if (dtype == BF_I128) return pile_some(p, dtype, keys, numbers, n, 0);
    key_ranks(dtype, keys, n, ranks);
    return pile_some(p, dtype, ranks, numbers, n, 0);
}

static int add_rows(side *s, bf_dtype dtype, const char *keys, int64_t n, int64_t first) {
    const int64_t bytes = (int64_t)bf_dtype_size(dtype);
    int code = EXIT_DONE;
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += LOADED) {
        const int64_t some = n - at < LOADED ? n - at : LOADED;
        uint64_t numbers[LOADED];
        for (int64_t i = 0; i < some; i++) numbers[i] = (uint64_t)(first + at + i);
        code = add_some(&s->piles, dtype, keys + at * bytes, numbers, some);
    }
    return code;
}

int side_load(side *s, rows *r) {
    rows_chunk chunk = {.n = 1};
    int code = EXIT_DONE;
    piles_close(&s->piles);
    s->form = units_of_rows(r, 0);
    open_piles(&s->piles, s->form.dtype, s->memory);
    for (int64_t at = s->first; code == EXIT_DONE && chunk.n > 0; at += chunk.n) {
        code = rows_next(r, 0, &chunk);
        if (code != EXIT_DONE || chunk.n == 0) break;
        const void *keys = chunk.columns[0].as[__builtin_ctz(chunk.columns[0].can)];
        code = add_rows(s, s->form.dtype, keys, chunk.n, at);
    }
    return code;
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* Moves the rows that count to the front; returns how many they are. */
static int64_t keep_some(char *keys, int64_t bytes, uint64_t numbers[], int64_t n,
                         const bool alone[]) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (alone[i]) continue;
        memmove(keys + kept * bytes, keys + i * bytes, (size_t)bytes);
        numbers[kept++] = numbers[i];
    }
    return kept;
}

/* Takes up to TAKEN rows of a pile in another form. */
static int take_some(const side *s, int i, int64_t at, int64_t n, units_form form, piles *to) {
    uint64_t held[2 * TAKEN], taken[2 * TAKEN], numbers[TAKEN];
    bool alone[TAKEN];
    void *const columns[COLUMNS] = {held, numbers};
    const int code = piles_read(&s->piles, i, at, n, columns);
    if (code != EXIT_DONE) return code;
    for (int64_t k = 0; k < n && s->form.dtype != BF_I128; k++)
        key_of_rank(s->form.dtype, held[k], &held[k]);
    const bf_array from = bf_array_of(s->form.dtype, held, n);
    join_take(&from, s->form.scale, form, taken, alone);
    const int64_t kept =
        keep_some((char *)taken, (int64_t)bf_dtype_size(form.dtype), numbers, n, alone);
    return add_some(to, form.dtype, taken, numbers, kept);
}

int side_take(side *s, units_form form) {
    if (units_are_same(s->form, form)) return EXIT_DONE;
    piles *to = malloc(sizeof *to);
    if (!to) return fail_status(BF_E_MEMORY, NULL, NULL);
    int code = piles_end(&s->piles);
    open_piles(to, form.dtype, s->memory);
    for (int i = 0; i < PILES && code == EXIT_DONE; i++) {
        const int64_t n = s->piles.all[i].rows;
        for (int64_t at = 0; at < n && code == EXIT_DONE; at += TAKEN)
            code = take_some(s, i, at, n - at < TAKEN ? n - at : TAKEN, form, to);
        piles_empty(&s->piles, i);
        progress_tick();
    }
    piles_close(&s->piles);
    s->piles = *to;
    s->form = form;
    free(to);
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Sends a pile to its owner, which receives those of all ranks, in the order of the rows. counts:
 * of each rank, the rows of each pile. */
static void send_pile(side *s, int i, const int64_t (*counts)[PILES], int *code) {
    const int ranks = ranks_count(), owner = i % ranks;
    const int64_t n = s->piles.all[i].rows, bytes[COLUMNS] = {key_bytes(s->form.dtype), 8};
    int64_t *to = ranks_allocate(2 * (size_t)ranks * sizeof *to), *from = to + ranks, total = 0;
    for (int k = 0; k < ranks && ranks_rank() == owner; k++) total += counts[k][i];
    void *mine[COLUMNS], *all[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        mine[c] = ranks_allocate((size_t)(n * bytes[c]));
        all[c] = ranks_allocate((size_t)(total * bytes[c]));
    }
    uint8_t *which = ranks_allocate((size_t)total);
    const int read = piles_read(&s->piles, i, 0, n, mine);
    if (*code == EXIT_DONE) *code = read;
    piles_empty(&s->piles, i);
    for (int c = 0; c < COLUMNS; c++) {
        to[owner] = n * bytes[c];
        for (int k = 0; k < ranks; k++)
            from[k] = ranks_rank() == owner ? counts[k][i] * bytes[c] : 0;
        ranks_exchange(mine[c], to, all[c], from);
    }
    memset(which, i, (size_t)total);
    const void *const received[COLUMNS] = {all[0], all[1]};
    if (*code == EXIT_DONE) *code = piles_add(&s->piles, which, received, total);
    for (int c = 0; c < COLUMNS; c++) {
        free(mine[c]);
        free(all[c]);
    }
    free(which);
    free(to);
}

int side_exchange(side *s) {
    int64_t mine[PILES], (*counts)[PILES] = ranks_allocate((size_t)ranks_count() * sizeof mine);
    int code = EXIT_DONE;
    for (int i = 0; i < PILES; i++) mine[i] = s->piles.all[i].rows;
    ranks_gather(mine, counts, sizeof mine);
    for (int i = 0; i < PILES; i++) send_pile(s, i, counts, &code);
    free(counts);
    return ranks_agree(code);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static int end_call(const side_pairs *p, bf_status st) {
    return st == BF_OK ? EXIT_DONE : context_failed(p->context, st, p->file);
}

int side_pairs_open(side_pairs *p, bf_context *context, int64_t memory, const char *file) {
    const bf_sorter_options wanted = BF_SORTER_OPTIONS(.dtype = BF_PAIR, .memory = memory);
    *p = (side_pairs){.context = context, .file = file};
    return end_call(p, bf_sorter_create(context, &wanted, &p->sorter));
}

void side_pairs_close(side_pairs *p) {
    bf_sorter_destroy(p->sorter);
    p->sorter = NULL;
}

int side_pairs_add(side_pairs *p, const uint64_t pairs[], int64_t n) {
    const bf_array array = bf_array_of(BF_PAIR, (void *)(uintptr_t)pairs, n);
    return end_call(p, bf_sorter_add(p->sorter, &array, NULL));
}

int side_pairs_next(side_pairs *p, uint64_t pairs[], int64_t most, int64_t *n) {
    const bf_array array = bf_array_of(BF_PAIR, pairs, most);
    return end_call(p, bf_sorter_next(p->sorter, &array, NULL, n));
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Rows [first, first + n) of a pile: their keys, and their numbers. */
typedef struct block {
    char *keys;
    uint64_t *rows;
    int64_t n;
} block;

static bool make_block(block *b, int64_t bytes, int64_t room) {
    *b = (block){.keys = malloc((size_t)(room * bytes)), .rows = malloc((size_t)room * 8)};
    return b->keys && b->rows;
}

static void free_block(block *b) {
    free(b->keys);
    free(b->rows);
}

static int read_block(const piles *p, int i, int64_t first, int64_t n, block *b) {
    void *const columns[COLUMNS] = {b->keys, b->rows};
    b->n = n;
    return piles_read(p, i, first, n, columns);
}

typedef struct joining {
    bf_context *context;
    const options *options;
    side_pairs *pairs;
    bf_dtype dtype; /* the keys' */
    block a, b;
    uint64_t *some; /* room for so many pairs at a time, and as many rows of a block */
    int64_t room;
    int64_t memory; /* bytes of the buffers of piles */
} joining;

static int add_pairs(joining *j, const bf_pairs *found, const uint64_t *rows_a) {
    const int64_t *a = bf_pairs_a(found), *b = bf_pairs_b(found), n = bf_pairs_size(found);
    int code = EXIT_DONE;
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += j->room) {
        const int64_t k = n - at < j->room ? n - at : j->room;
        for (int64_t i = 0; i < k; i++) {
            j->some[2 * i] = rows_a[a[at + i]];
            j->some[2 * i + 1] = j->b.rows[b[at + i]];
        }
        code = side_pairs_add(j->pairs, j->some, k);
    }
    return code;
}

/* Joins n rows of the block of a with the block of b; in halves if their pairs are too many. */
static int join_rows(joining *j, int64_t first, int64_t n) {
    const char *file = j->options->files[0];
    const bf_dtype as = held_as(j->dtype);
    const bf_array a = bf_array_of(as, j->a.keys + first * key_bytes(j->dtype), n),
                   b = bf_array_of(as, j->b.keys, j->b.n);
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

/* Joins the piles of number i, block by block. */
static int join_blocks(joining *j, const piles *a, const piles *b, int i) {
    int code = EXIT_DONE;
    const int64_t n = a->all[i].rows, m = b->all[i].rows, room = j->room;
    for (int64_t k = 0; k < m && n > 0 && code == EXIT_DONE; k += room) {
        code = read_block(b, i, k, m - k < room ? m - k : room, &j->b);
        for (int64_t l = 0; l < n && code == EXIT_DONE; l += room) {
            code = read_block(a, i, l, n - l < room ? n - l : room, &j->a);
            if (code == EXIT_DONE) code = join_rows(j, 0, j->a.n);
            progress_tick();
        }
    }
    return code;
}

/* Puts the rows of a pile on those of the next level. */
static int part_pile(joining *j, piles *from, int i, int level, piles *to) {
    const int64_t n = from->all[i].rows;
    int code = EXIT_DONE;
    open_piles(to, j->dtype, j->memory);
    for (int64_t at = 0, some; at < n && code == EXIT_DONE; at += some) {
        some = n - at < LOADED ? n - at : LOADED;
        code = read_block(from, i, at, some, &j->a);
        if (code == EXIT_DONE) code = pile_some(to, j->dtype, j->a.keys, j->a.rows, some, level);
        progress_tick();
    }
    piles_empty(from, i);
    return code == EXIT_DONE ? piles_end(to) : code;
}

/* Joins the piles of number i. Those of many blocks are parted again, for each block of one is
 * joined with each of the other; but not if that no longer halves the pairs: then a key is frequent
 * on both sides, and most pairs are shown. pairs: of the rows of the piles that these were parted
 * of. */
static int join_piles(joining *j, piles *a, piles *b, int i, int level, double pairs) {
    const int64_t n = a->all[i].rows, m = b->all[i].rows, few = BLOCKS_FEW * j->room;
    const double now = (double)n * (double)m;
    if (n <= few || m <= few || now > pairs / 2 || level + 1 == LEVELS)
        return join_blocks(j, a, b, i);
    piles *parts = calloc(2, sizeof *parts);
    if (!parts) return fail_status(BF_E_MEMORY, NULL, NULL);
    int code = part_pile(j, a, i, level + 1, &parts[0]);
    if (code == EXIT_DONE) code = part_pile(j, b, i, level + 1, &parts[1]);
    for (int k = 0; k < PILES && code == EXIT_DONE; k++)
        code = join_piles(j, &parts[0], &parts[1], k, level + 1, now);
    for (int s = 0; s < 2; s++) piles_close(&parts[s]);
    free(parts);
    return code;
}

static int64_t block_of(const options *o) {
    const int64_t of_library = o->memory.library / JOINED, of_results = o->memory.results / HELD;
    const int64_t n = of_library < of_results ? of_library : of_results;
    return n > BLOCK_LEAST ? n : BLOCK_LEAST;
}

int sides_join(side *a, side *b, bf_context *context, const options *o, side_pairs *pairs) {
    const bf_dtype dtype = a->form.dtype;
    const int64_t room = block_of(o), bytes = key_bytes(dtype);
    joining j = {.context = context,
                 .options = o,
                 .pairs = pairs,
                 .dtype = dtype,
                 .room = room,
                 .memory = a->memory};
    j.some = malloc((size_t)room * 2 * sizeof *j.some);
    const bool made = make_block(&j.a, bytes, room) && make_block(&j.b, bytes, room) && j.some;
    int code = made ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, o->files[0]);
    for (int i = 0; i < PILES && code == EXIT_DONE; i++) {
        code = join_piles(&j, &a->piles, &b->piles, i, 0, INFINITY);
        piles_empty(&a->piles, i);
        piles_empty(&b->piles, i);
    }
    free_block(&j.a);
    free_block(&j.b);
    free(j.some);
    return code;
}
