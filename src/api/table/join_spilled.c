/* Joins beyond memory. The rows of both sides are parted by a hash of their keys, so that all rows
 * of one key are in one part: a file has their numbers, part after part, in order. A part of b
 * becomes a multimap, or several, one after another, of as many rows as memory holds, and all rows
 * of that part of a are looked up in each. The pairs of one multimap are a run in the order of i,
 * and a merger brings all runs together. The pairs are two files, which are read as memory. */
#include "api/runtime/array.h"
#include "api/table/join.h"
#include "base/memory.h"
#include "base/spill/merger.h"
#include "base/spill/spool.h"
#include "rules/key/hash.h"

#include <unistd.h>

enum {
    TABLE_BYTES = 64, /* what a multimap takes for a row, about, besides its key */
    KEY_COPIES = 6,   /* copies of the key there */
    LEAST = 1 << 8,   /* rows in memory, at least */
    NUMBERS = 1 << 6, /* rows of a part that are written at a time, at least */
    NUMBERS_MOST = 1 << 12,
    BATCH = 1 << 9,  /* pairs that are made at a time */
    ASKED = 1 << 14, /* rows, or pairs, between two questions to the watch */
    PAIR = 2         /* words */
};

/* The rows of an array. */
typedef struct side {
    const bf_flat *keys;
    int fd;         /* their numbers */
    int64_t *begin; /* where each part begins there, and the end */
} side;

typedef struct spilled {
    const bf_joining *join;
    bf_context *context;
    bf_dtype dtype; /* the keys as they are looked up */
    int64_t key;    /* bytes of one */
    side a, b;
    int64_t parts, room; /* room: rows that are in memory at a time */
    char *keys;
    int64_t *rows, *counts, *found;
    void *table;
    bf_merger pairs; /* words i and j */
} spilled;

static bf_status no_memory(const spilled *s) {
    return bf_fail(s->context, BF_E_MEMORY, "no memory to join");
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Writes key number i of a side as it is looked up. */
static void load_key(const spilled *s, const side *x, int64_t i, char *to) {
    const bf_dtype dtype = s->join->dtype;
    const int bytes = bf_key_bytes(dtype);
    const char *from = x->keys->data + i * bytes;
    if (bytes < 4)
        bf_store_bits(to, 4, bf_join_wide(dtype, bf_load_bits(from, bytes)));
    else
        memcpy(to, from, (size_t)bytes);
}

/* The part of a row depends on another seed than its place in a table: a part fills all of that. */
static int64_t part_of(const spilled *s, bf_hash_seed seed, const side *x, int64_t i) {
    uint64_t words[2] = {0};
    uint64_t hash;
    load_key(s, x, i, (char *)words);
    if (s->dtype == BF_PAIR)
        hash = bf_hash_16(seed, words[0], words[1]);
    else
        hash = bf_hash_8(seed, bf_key_canonical(s->dtype, words[0]));
    return (int64_t)bf_hash_place(hash, (uint64_t)s->parts);
}

/* Numbers of rows on their way to the file. */
typedef struct parting {
    int64_t each, *numbers;  /* room for so many of each part */
    int64_t *held, *written; /* how many there are of each; where they go */
} parting;

static bf_status write_numbers(const spilled *s, const side *x, parting *p, int64_t part) {
    const int64_t held = p->held[part], at = p->written[part];
    p->held[part] = 0;
    p->written[part] += held;
    return bf_spill_write(s->context, x->fd, p->numbers + part * p->each, (size_t)held * 8, at * 8);
}

static bf_status part_rows(const spilled *s, const side *x, parting *p) {
    const bf_hash_seed seed = bf_hash_next_seed(bf_hash_seed_of(s->join->seed));
    bf_status status = BF_OK;
    for (int64_t i = 0; i < x->keys->count && status == BF_OK; i++) {
        const int64_t part = part_of(s, seed, x, i);
        p->numbers[part * p->each + p->held[part]++] = i;
        if (p->held[part] == p->each) status = write_numbers(s, x, p, part);
        if (status == BF_OK && i % ASKED == 0) status = bf_watch_tick(s->context, 0);
    }
    for (int64_t part = 0; part < s->parts && status == BF_OK; part++)
        status = write_numbers(s, x, p, part);
    return status;
}

/* Finds where parts begin. */
static void measure_parts(const spilled *s, const side *x) {
    const bf_hash_seed seed = bf_hash_next_seed(bf_hash_seed_of(s->join->seed));
    for (int64_t i = 0; i < x->keys->count; i++) x->begin[part_of(s, seed, x, i) + 1]++;
    for (int64_t part = 0; part < s->parts; part++) x->begin[part + 1] += x->begin[part];
}

static bf_status part_side(const spilled *s, side *x) {
    const int64_t each = bf_merger_share(8) / (s->parts * 8);
    parting p = {.each = each < NUMBERS ? NUMBERS : each > NUMBERS_MOST ? NUMBERS_MOST : each};
    bf_status status = bf_spill_open(s->context, &x->fd);
    if (status != BF_OK) return status;
    x->begin = bf_calloc((size_t)s->parts + 1, sizeof *x->begin);
    p.numbers = bf_alloc((size_t)(s->parts * p.each) * 8);
    p.held = bf_calloc((size_t)s->parts, sizeof *p.held);
    p.written = bf_alloc((size_t)s->parts * sizeof *p.written);
    if (x->begin == NULL || p.numbers == NULL || p.held == NULL || p.written == NULL) {
        status = no_memory(s);
    } else {
        measure_parts(s, x);
        memcpy(p.written, x->begin, (size_t)s->parts * sizeof *p.written);
        status = part_rows(s, x, &p);
    }
    bf_free(p.numbers);
    bf_free(p.held);
    bf_free(p.written);
    return status;
}

/* ---- the pairs of a part --------------------------------------------------------------------- */

/* Reads n rows of a side, and their keys. */
static bf_status read_rows(const spilled *s, const side *x, int64_t at, int64_t n, int64_t *rows) {
    const bf_status status = bf_spill_read(s->context, x->fd, rows, (size_t)n * 8, at * 8);
    for (int64_t i = 0; i < n && status == BF_OK; i++)
        load_key(s, x, rows[i], s->keys + i * s->key);
    return status;
}

/* Adds the pairs of n rows of a, from number `first` of those in memory on. */
static bf_status add_pairs(spilled *s, int64_t first, int64_t n) {
    uint64_t records[BATCH * PAIR];
    const int64_t *found = s->found;
    int64_t held = 0;
    bf_status status = BF_OK;
    for (int64_t i = first; i < first + n; i++) {
        for (int64_t k = 0; k < s->counts[i] && status == BF_OK; k++) {
            records[held++] = (uint64_t)s->rows[i];
            records[held++] = (uint64_t)*found++;
            if (held < BATCH * PAIR) continue;
            status = bf_merger_add(&s->pairs, records, held);
            held = 0;
        }
    }
    return status == BF_OK ? bf_merger_add(&s->pairs, records, held) : status;
}

/* Looks up n rows of a, as many at a time as have no more pairs than memory holds. A row has no
 * more than the table. */
static bf_status look_up_rows(spilled *s, int64_t at, int64_t n) {
    const bf_table_backend *by = s->join->by;
    int64_t total;
    bf_status status = read_rows(s, &s->a, at, n, s->rows);
    if (status == BF_OK) status = by->count(s->context, s->table, s->keys, n, s->counts, &total);
    for (int64_t first = 0, some, pairs; first < n && status == BF_OK; first += some) {
        for (some = pairs = 0; first + some < n; pairs += s->counts[first + some++])
            if (s->counts[first + some] > s->room - pairs) break;
        if (pairs > 0)
            status = by->find_all(s->context, s->table, s->keys + first * s->key, some, s->found);
        if (status == BF_OK) status = add_pairs(s, first, some);
    }
    return status;
}

/* Joins n rows of b with all rows of a in the part. */
static bf_status join_rows(spilled *s, int64_t part, int64_t at, int64_t n) {
    const bf_table_backend *by = s->join->by;
    bf_status status = bf_join_make_table(s->join, &s->table);
    if (status != BF_OK) return status;
    status = read_rows(s, &s->b, at, n, s->found);
    if (status == BF_OK) status = by->insert(s->context, s->table, s->keys, s->found, n);
    for (int64_t i = s->a.begin[part], some; i < s->a.begin[part + 1] && status == BF_OK;
         i += some) {
        some = s->a.begin[part + 1] - i < s->room ? s->a.begin[part + 1] - i : s->room;
        status = look_up_rows(s, i, some);
    }
    by->destroy(s->context, s->table);
    return status == BF_OK ? bf_merger_cut(&s->pairs) : status;
}

static bf_status join_part(spilled *s, int64_t part) {
    const int64_t begin = s->b.begin[part], end = s->b.begin[part + 1];
    const int64_t others = s->a.begin[part + 1] - s->a.begin[part];
    bf_status status = bf_watch_begin(s->context, (end - begin + others) * s->key);
    for (int64_t at = begin, n; at < end && others > 0 && status == BF_OK; at += n) {
        n = end - at < s->room ? end - at : s->room;
        status = join_rows(s, part, at, n);
    }
    return bf_watch_end(s->context, status);
}

/* ---- all pairs ------------------------------------------------------------------------------- */

static bf_status write_pairs(bf_merger *m, bf_spool *a, bf_spool *b) {
    const uint64_t *pair;
    bf_status status = bf_merger_start(m, bf_merger_share(2));
    for (int64_t n = 0; status == BF_OK; n++) {
        status = bf_merger_next(m, &pair);
        if (status != BF_OK || pair == NULL) break;
        status = bf_spool_add(a, &pair[0], sizeof *pair);
        if (status == BF_OK) status = bf_spool_add(b, &pair[1], sizeof *pair);
        if (status == BF_OK && n % ASKED == 0) status = bf_watch_tick(m->context, 0);
    }
    if (status == BF_OK) status = bf_spool_map(a);
    return status == BF_OK ? bf_spool_map(b) : status;
}

static bf_status make_pairs(bf_merger *m, bf_pairs **pairs) {
    bf_context *context = m->context;
    bf_spool a = {.fd = -1}, b = {.fd = -1};
    bf_pairs *made = bf_alloc(sizeof *made);
    bf_status status = made != NULL ? BF_OK : bf_fail(context, BF_E_MEMORY, "no memory for pairs");
    if (status == BF_OK) status = bf_spool_open(&a, context);
    if (status == BF_OK) status = bf_spool_open(&b, context);
    if (status == BF_OK) status = write_pairs(m, &a, &b);
    if (status == BF_OK) {
        const int64_t n = a.end / (int64_t)sizeof *made->a;
        *made =
            (bf_pairs){n, (const void *)bf_spool_keep(&a), (const void *)bf_spool_keep(&b), NULL};
        *pairs = made;
    } else {
        bf_free(made);
    }
    bf_spool_close(&a);
    bf_spool_close(&b);
    return status;
}

/* ---- the join -------------------------------------------------------------------------------- */

/* Chooses how many rows are in memory, and the parts: a quarter more than b's rows fill. */
static void choose_parts(spilled *s) {
    const int64_t share = bf_merger_share(3), each = 3 * 8 + TABLE_BYTES + KEY_COPIES * s->key;
    const int64_t room = share / each, most = share / (4 * 8 * NUMBERS);
    s->room = room > LEAST ? room : LEAST;
    s->parts = s->b.keys->count / s->room * 5 / 4 + 1;
    if (s->parts > most) s->parts = most > 0 ? most : 1;
}

static bf_status make_room(spilled *s) {
    s->keys = bf_alloc((size_t)(s->room * s->key));
    s->rows = bf_alloc((size_t)s->room * sizeof *s->rows);
    s->counts = bf_alloc((size_t)s->room * sizeof *s->counts);
    s->found = bf_alloc((size_t)s->room * sizeof *s->found);
    const bool made = s->keys != NULL && s->rows != NULL && s->counts != NULL && s->found != NULL;
    return made ? BF_OK : no_memory(s);
}

/* Writes the runs of all pairs. */
static bf_status join_parts(spilled *s) {
    choose_parts(s);
    bf_status status = part_side(s, &s->a);
    if (status == BF_OK) status = part_side(s, &s->b);
    if (status == BF_OK) status = make_room(s);
    if (status == BF_OK) status = bf_merger_open(&s->pairs, s->context, 1, PAIR, PAIR);
    for (int64_t part = 0; part < s->parts && status == BF_OK; part++) status = join_part(s, part);
    return status;
}

static void close_side(const side *x) {
    if (x->fd >= 0) close(x->fd);
    bf_free(x->begin);
}

bf_status bf_join_spilled(const bf_joining *j, bf_pairs **pairs) {
    spilled s = {.join = j,
                 .context = j->context,
                 .dtype = bf_join_dtype(j->dtype),
                 .a = {.keys = &j->a, .fd = -1},
                 .b = {.keys = &j->b, .fd = -1},
                 .pairs = {.fd = -1}};
    s.key = bf_key_bytes(s.dtype);
    bf_status status = join_parts(&s);
    bf_free(s.keys);
    bf_free(s.rows);
    bf_free(s.counts);
    bf_free(s.found);
    close_side(&s.a);
    close_side(&s.b);
    if (status == BF_OK) status = make_pairs(&s.pairs, pairs);
    bf_merger_close(&s.pairs);
    return status;
}
