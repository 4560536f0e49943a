#define _GNU_SOURCE /* fallocate */
#include "group/spill.h"

#include "group/piled.h"
#include "input/bytes.h"
#include "memory/temporary.h"
#include "runtime/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs that are merged at once, and the pieces of a run of full memory: a piece of each run of a
 * merge takes half of it. */
enum { RUNS = 128, PIECES = 2 * RUNS };

/* Rows that are absorbed at once, at least and at most. */
enum { FEW_GROUPS = 1 << 15, BATCH_LEAST = 1 << 13, BATCH = 1 << 17, BATCH_OF_MANY = 1 << 24 };

/* Rows go on piles when groups have at most so many rows as they fill memory; and so many times the
 * rows that filled it, before groups take rows again: there may be few keys from now on. */
enum { ROWS_OF_A_GROUP = 8, PILED = 64 };

/* The least number of piles, and bytes of a block of each: fewer piles for less memory. */
enum { PILES_LEAST = 8, BLOCK_LEAST = 1 << 14 };

/* Bytes for each group and column: what is listed and ordered, as text or values, while it is shown
 * or written; and for each row: what absorbing needs, with new groups for all. */
enum { SHOWN = 64, ABSORBED = 256 };

/* ---- opening --------------------------------------------------------------------------------- */

/* Groups take three fifths of the library's memory; the rest is for saving them. */
static bf_status reserve_memory(spill *s) {
    if (s->most == 0 || s->reserve || options_gpu(s->options->device)) return BF_OK;
    const int64_t bytes = s->options->memory.library / 5 * 2;
    return bf_memory_allocate(s->context, (size_t)bytes, &s->reserve);
}

static void release_memory(spill *s) {
    bf_memory_free(s->context, s->reserve);
    s->reserve = NULL;
}

int spill_open(spill *s, const options *o, bf_context *context, int columns) {
    *s = (spill){.options = o, .context = context, .fd = -1, .piling = -1};
    if (o->memory.limit == 0) return EXIT_DONE;
    s->most = o->memory.results / (SHOWN * (columns + 1));
    const bf_status st = reserve_memory(s);
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, NULL);
}

static void free_rows(spill_run *r) {
    if (r->rows) piled_close(r->rows);
    free(r->rows);
    r->rows = NULL;
}

void spill_forget(spill *s, int n) {
    if (s->piling >= n) {
        s->piling = -1;
        s->piled = 0;
    }
    while (s->n > n) {
        free_rows(&s->runs[--s->n]);
        free(s->runs[s->n].pieces);
    }
}

void spill_close(spill *s) {
    if (!s->options) return;
    spill_forget(s, 0);
    free(s->runs);
    if (s->context) release_memory(s);
    if (s->fd >= 0) close(s->fd);
    s->options = NULL;
}

bool spill_limited(const spill *s) { return s->most > 0; }

bool spill_used(const spill *s) { return s->n > 0; }

/* n rows (0: no matter how many), but at most those that there is memory for. */
static int64_t limit_batch(const spill *s, int64_t n, int inputs) {
    const int64_t most = s->options->memory.library / (ABSORBED * (inputs + 1));
    if (s->most == 0) return n;
    if (n == 0 || n > most) n = most;
    return n > BATCH_LEAST ? n : BATCH_LEAST;
}

int64_t spill_batch(const spill *s, const bf_groups *groups, int inputs) {
    const bool many = options_gpu(s->options->device) || bf_groups_size(groups) >= FEW_GROUPS;
    return limit_batch(s, many ? BATCH_OF_MANY : inputs > 1 ? BATCH : 0, inputs);
}

/* ---- writing --------------------------------------------------------------------------------- */

static spill_run *add_run(spill *s) {
    if (s->n == s->room) {
        const int room = s->room > 0 ? 2 * s->room : 16;
        spill_run *more = realloc(s->runs, (size_t)room * sizeof *more);
        if (!more) return NULL;
        s->runs = more;
        s->room = room;
    }
    s->runs[s->n] = (spill_run){.pieces = NULL};
    return &s->runs[s->n++];
}

/* Adds a piece to the last run. Not 0: it failed, and s->error is set. */
static int write_piece(void *arg, const void *bytes, size_t size, const void *key) {
    spill *s = arg;
    spill_run *r = &s->runs[s->n - 1];
    if (r->n == r->room) {
        const int64_t room = r->room > 0 ? 2 * r->room : PIECES;
        spill_piece *more = realloc(r->pieces, (size_t)room * sizeof *more);
        if (!more) return s->error = ENOMEM;
        r->pieces = more;
        r->room = room;
    }
    key_rank rank;
    key_wide_ranks(s->key, key, 1, &rank);
    const int64_t at = lseek(s->fd, 0, SEEK_END);
    if (!temporary_write(s->fd, bytes, size)) return s->error = errno;
    r->pieces[r->n++] = (spill_piece){at, size, rank};
    return 0;
}

/* Adds groups [first, end) by key to the last run. */
static int write_pieces(spill *s, bf_groups *groups, int64_t first, int64_t end, const char *file) {
    release_memory(s);
    const bf_status st =
        bf_groups_save_pieces(groups, first, end - first, s->most / PIECES + 1, write_piece, s);
    if (s->error) return temporary_failed(s->error);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, file);
}

/* Writes the groups from `first` on as a run, and removes all. */
static int write_run(spill *s, bf_groups *groups, int64_t first, const char *file) {
    bf_groups_options kind = {.size = sizeof kind};
    bf_groups_describe(groups, &kind);
    s->key = kind.key;
    if (s->options->save)
        return fail(EXIT_IO, file, "--save needs all groups at once: more than --memory allows");
    if (s->fd < 0) s->fd = temporary_open();
    if (s->fd < 0) return temporary_failed(errno);
    if (!add_run(s)) return fail_status(BF_E_MEMORY, NULL, file);
    const int code = write_pieces(s, groups, first, bf_groups_size(groups), file);
    if (code != EXIT_DONE) return code;
    bf_status st = bf_groups_clear(groups);
    if (st == BF_OK) st = reserve_memory(s);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, file);
}

/* ---- rows on piles --------------------------------------------------------------------------- */

/* Finds the bounds of up to *n piles for the rows to come: if these are known, by them; otherwise
 * between the pieces of the last run. */
static int find_bounds(const spill *s, key_rank bounds[], int *n) {
    const struct spill_source *from = &s->source;
    const spill_run *last = &s->runs[s->n - 1];
    if (from->rows) return piled_bounds(from->rows, from->pile, from->first, bounds, n);
    if (*n > last->n) *n = (int)last->n;
    for (int i = 0; i < *n; i++) bounds[i] = last->pieces[i * last->n / *n].rank;
    return EXIT_DONE;
}

/* Makes piles for the rows to come. */
static int begin_piles(spill *s, const bf_array *keys, const bf_array *const values[],
                       int aggregates) {
    key_rank bounds[PILES_MOST];
    const int64_t memory = s->options->memory.results / 8, most = memory / BLOCK_LEAST;
    int n = most < PILES_LEAST ? PILES_LEAST : most > PILES_MOST ? PILES_MOST : (int)most;
    const int code = find_bounds(s, bounds, &n);
    if (code != EXIT_DONE) return code;
    bounds[0] = s->source.rows ? s->source.rows->bounds[s->source.pile] : 0;
    spill_run *r = add_run(s);
    if (!r) return fail_status(BF_E_MEMORY, NULL, NULL);
    r->pieces = calloc((size_t)n, sizeof *r->pieces);
    r->rows = calloc(1, sizeof *r->rows);
    if (!r->rows || !r->pieces) return fail_status(BF_E_MEMORY, NULL, NULL);
    piled_open(r->rows, keys, values, aggregates, bounds, n, memory);
    for (int i = 0; i < n; i++) r->pieces[i].rank = bounds[i];
    r->n = r->room = n;
    s->piling = s->n - 1;
    return EXIT_DONE;
}

static int end_piles(spill *s) {
    const int at = s->piling;
    s->piling = -1;
    s->piled = 0;
    return at < 0 ? EXIT_DONE : piles_end(&s->runs[at].rows->piles);
}

/* Writes groups that fill memory. If most of their rows brought new keys, rows like these go on
 * piles for a while. */
static int write_full(spill *s, bf_groups *groups, const bf_array *keys,
                      const bf_array *const values[], const char *file) {
    bf_groups_options kind = {.size = sizeof kind};
    const int64_t n = bf_groups_size(groups), rows = bf_groups_rows(groups);
    const int code = write_run(s, groups, 0, file);
    if (code != EXIT_DONE || rows > ROWS_OF_A_GROUP * n) return code;
    s->piled = PILED * rows;
    bf_groups_describe(groups, &kind);
    return s->piling < 0 ? begin_piles(s, keys, values, kind.count) : EXIT_DONE;
}

int spill_absorb(spill *s, bf_groups *groups, const bf_array *keys, const bf_array *const values[],
                 const char *file) {
    if (s->piled > 0) {
        s->piled -= keys->shape[0];
        return piled_add(s->runs[s->piling].rows, keys, values);
    }
    const bf_status st = bf_groups_absorb(groups, keys, values);
    if (st == BF_E_MEMORY && s->most > 0 && bf_groups_size(groups) > 0) {
        const int code = write_full(s, groups, keys, values, file);
        return code == EXIT_DONE ? spill_absorb(s, groups, keys, values, file) : code;
    }
    if (st != BF_OK) return fail_status(st, s->context, file);
    return s->most > 0 && bf_groups_size(groups) > s->most
               ? write_full(s, groups, keys, values, file)
               : EXIT_DONE;
}

int spill_groups(spill *s, bf_groups *groups, const char *file) {
    const int code = end_piles(s);
    return code == EXIT_DONE && bf_groups_size(groups) > 0 ? write_run(s, groups, 0, file) : code;
}

bool spill_end(spill *s) {
    if (!spill_used(s)) release_memory(s);
    return spill_used(s);
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Whether the next piece of a run comes before that of another: the one with the least key, and a
 * pile before groups from the same key on, for it is better absorbed into groups of its own. */
static bool comes_before(const spill_run *a, const spill_run *b) {
    const key_rank x = a->pieces[a->next].rank, y = b->pieces[b->next].rank;
    return x != y ? x < y : a->rows && !b->rows;
}

/* The run whose next piece comes first; NULL: none has any. */
static spill_run *least_run(const spill *s) {
    spill_run *least = NULL;
    for (int i = 0; i < s->n; i++) {
        spill_run *r = &s->runs[i];
        if (r->next < r->n && (!least || comes_before(r, least))) least = r;
    }
    return least;
}

/* Reads a piece, and gives its room in the file back. NULL: *code says what was reported. */
static void *read_piece(const spill *s, const spill_piece *p, const char *file, int *code) {
    void *bytes = malloc(p->size);
    if (!bytes) *code = fail_status(BF_E_MEMORY, NULL, file);
    if (!bytes) return NULL;
    errno = EIO;
    if (bytes_pread(s->fd, bytes, p->size, p->at) == (int64_t)p->size) {
        (void)fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, p->at, (off_t)p->size);
        return bytes;
    }
    *code = temporary_failed(errno);
    free(bytes);
    return NULL;
}

static bf_status merge_saved(const spill *s, bf_groups *into, const void *bytes, size_t size) {
    bf_groups *part;
    bf_status st = bf_groups_load(s->context, bytes, size, &part);
    if (st != BF_OK) return st;
    st = bf_groups_merge(into, part);
    bf_groups_destroy(part);
    return st;
}

/* Sets *n to the groups whose keys are less than all that are to come. */
static int count_complete(const spill *s, bf_groups *groups, int64_t *n, const char *file) {
    const spill_run *next = least_run(s);
    const size_t bytes = bf_dtype_size(s->key);
    const int64_t all = bf_groups_size(groups);
    *n = all;
    if (!next) return EXIT_DONE;
    char *keys = malloc((size_t)all * bytes + 1);
    if (!keys) return fail_status(BF_E_MEMORY, NULL, file);
    const bf_array list = bf_array_of(s->key, keys, all);
    const bf_status st = bf_groups_list(groups, &list, NULL);
    int64_t low = 0, high = all;
    while (st == BF_OK && low < high) {
        key_rank rank;
        const int64_t middle = low + (high - low) / 2;
        key_wide_ranks(s->key, keys + (size_t)middle * bytes, 1, &rank);
        if (rank < next->pieces[next->next].rank)
            low = middle + 1;
        else
            high = middle;
    }
    free(keys);
    *n = low;
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, file);
}

/* Lets take have what is complete; the rest becomes a run. */
static int take_groups(spill *s, bf_groups *groups, spill_take *take, void *arg, const char *file) {
    int64_t n;
    release_memory(s);
    int code = count_complete(s, groups, &n, file);
    if (code == EXIT_DONE && n > 0) code = take(arg, groups, n);
    if (code != EXIT_DONE || n == 0) return code;
    if (n < bf_groups_size(groups)) return write_run(s, groups, n, file);
    bf_status st = bf_groups_clear(groups);
    if (st == BF_OK) st = reserve_memory(s);
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->context, file);
}

/* Absorbs the rows of the next pile of a run, behind what is complete. Those that memory cannot
 * hold go on piles again, between bounds that are closer. */
static int merge_pile(spill *s, spill_run *r, bf_groups *groups, spill_take *take, void *arg,
                      const char *file) {
    bf_array keys, arrays[BF_AGGREGATES_MAX];
    const bf_array *values[BF_AGGREGATES_MAX];
    const int at = (int)(r - s->runs), i = (int)r->next; /* runs may move */
    piled *p = r->rows;
    const int64_t n = p->piles.all[i].rows, most = limit_batch(s, BATCH_OF_MANY, p->piles.columns);
    int code =
        n > 0 && bf_groups_size(groups) > 0 ? take_groups(s, groups, take, arg, file) : EXIT_DONE;
    for (int64_t first = 0; first < n && code == EXIT_DONE; first += most) {
        s->source = (struct spill_source){p, i, first};
        code = piled_read(p, i, first, n - first < most ? n - first : most, &keys, arrays, values);
        if (code == EXIT_DONE) code = spill_absorb(s, groups, &keys, values, file);
    }
    s->source.rows = NULL;
    piles_empty(&p->piles, i);
    r = &s->runs[at];
    if (++r->next == r->n) free_rows(r);
    return code == EXIT_DONE ? end_piles(s) : code;
}

/* Merges the next groups of a run. If there is no memory for them, takes what is complete first,
 * and writes what is not as smaller pieces. */
static int merge_groups(spill *s, spill_run *r, bf_groups *groups, spill_take *take, void *arg,
                        const char *file) {
    int code = EXIT_DONE;
    const spill_piece p = r->pieces[r->next];
    const int at = (int)(r - s->runs); /* runs may move */
    void *bytes = read_piece(s, &p, file, &code);
    if (!bytes) return code;
    bf_status st = merge_saved(s, groups, bytes, p.size);
    if (st == BF_E_MEMORY && bf_groups_size(groups) > 0) {
        code = take_groups(s, groups, take, arg, file);
        if (code == EXIT_DONE) code = spill_groups(s, groups, file);
        if (code == EXIT_DONE) st = merge_saved(s, groups, bytes, p.size);
    }
    free(bytes);
    s->runs[at].next++;
    return code != EXIT_DONE || st == BF_OK ? code : fail_status(st, s->context, file);
}

static int merge_runs(spill *s, bf_groups *groups, spill_take *take, void *arg, const char *file) {
    int code = EXIT_DONE;
    for (spill_run *r; code == EXIT_DONE && (r = least_run(s));) {
        code = (r->rows ? merge_pile : merge_groups)(s, r, groups, take, arg, file);
        if (code == EXIT_DONE && bf_groups_size(groups) >= s->most)
            code = take_groups(s, groups, take, arg, file);
        progress_tick();
    }
    return code == EXIT_DONE ? take_groups(s, groups, take, arg, file) : code;
}

/* ---- many runs ------------------------------------------------------------------------------- */

typedef struct longer {
    spill *spill; /* whose last run gets the groups */
    const char *file;
} longer;

static int take_to_run(void *arg, bf_groups *groups, int64_t n) {
    const longer *x = arg;
    return write_pieces(x->spill, groups, 0, n, x->file);
}

/* Merges the first RUNS runs to one. */
static int shorten_runs(spill *s, bf_groups *groups, const char *file) {
    spill first = *s;
    longer x = {s, file};
    first.runs = malloc(RUNS * sizeof *first.runs);
    if (!first.runs) return fail_status(BF_E_MEMORY, NULL, file);
    memcpy(first.runs, s->runs, RUNS * sizeof *first.runs);
    first.n = first.room = RUNS;
    s->n -= RUNS;
    s->reserve = NULL;
    memmove(s->runs, s->runs + RUNS, (size_t)s->n * sizeof *s->runs);
    int code = add_run(s) ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, file);
    if (code == EXIT_DONE) code = merge_runs(&first, groups, take_to_run, &x, file);
    spill_forget(&first, 0);
    free(first.runs);
    s->reserve = first.reserve;
    return code;
}

int spill_merge(spill *s, bf_groups *groups, spill_take *take, void *arg, const char *file) {
    int code = spill_groups(s, groups, file);
    while (code == EXIT_DONE && s->n > RUNS) code = shorten_runs(s, groups, file);
    return code == EXIT_DONE ? merge_runs(s, groups, take, arg, file) : code;
}
