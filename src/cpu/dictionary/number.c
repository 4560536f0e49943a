/* Numbers of rows: in batches, whose keys all threads look up. One thread then adds those that are
 * new, in the order of the rows. So the numbers depend on no thread. */
#include "cpu/dictionary/dictionary.h"

enum {
    BATCH = 1 << 14,     /* rows that are numbered together */
    PIECE = 1 << 10,     /* a thread looks up so many keys at a time */
    WRITTEN = 1 << 22,   /* bytes that the keys of a batch may take; more are taken in parts */
    ROWS_LEAST = 1 << 12 /* so many are worth a thread */
};

/* A batch of rows that are numbered. */
typedef struct batch {
    bf_cpu_dictionary *d;
    const bf_key_data *columns;
    int64_t rows, first; /* how many there are; where the batch begins */
    int64_t fixed;       /* bytes that the numbers of a key take */
    char *written;       /* keys of several columns; NULL: keys lie in their column */
    int64_t room;
    bf_key *keys;     /* the keys of those rows that the packed keys do not have */
    bool *missed;     /* says which rows they are */
    int64_t *numbers; /* the batch's; -1: not known */
} batch;

/* ---- keys ------------------------------------------------------------------------------------ */

static int64_t number_bytes(const bf_cpu_dictionary *d) {
    int64_t bytes = 0;
    for (int c = 0; c < d->columns; c++)
        if (d->dtypes[c] != BF_NONE) bytes += bf_string_number_bytes(d->dtypes[c]);
    return bytes;
}

/* The most bytes that the keys of the batch's first n rows take. */
static int64_t most_bytes(const batch *b, int64_t n) {
    int64_t most = n * b->fixed;
    for (int c = 0; c < b->d->columns; c++) {
        const bf_key_data *x = &b->columns[c];
        if (x->dtype != BF_NONE) continue;
        const int64_t bytes = bf_key_offset(x, b->first + n) - bf_key_offset(x, b->first);
        most += bf_string_most(bytes) + (n - 1) * bf_string_most(0);
    }
    return most;
}

static bool grow_written(batch *b, int64_t bytes) {
    char *more = bf_resize(b->written, (size_t)bytes);
    if (more == NULL) return false;
    b->written = more;
    b->room = bytes;
    return true;
}

/* How many of n rows there is room for: usually for all; one at least. 0: there is no memory. */
static int64_t make_room(batch *b, int64_t n) {
    const int64_t all = most_bytes(b, n), one = most_bytes(b, 1);
    if (all <= b->room || (all <= WRITTEN && grow_written(b, all))) return n;
    if (one > b->room && !grow_written(b, one)) return 0;
    int64_t rows = 1;
    while (rows < n && most_bytes(b, rows + 1) <= b->room) rows++;
    return rows;
}

static char *write_column(const bf_key_data *c, int64_t row, char *to) {
    if (bf_key_is_null(c, row)) {
        *to = BF_STRING_NULL;
        return to + 1;
    }
    if (c->dtype == BF_NONE) {
        const int64_t at = bf_key_offset(c, row);
        return bf_string_put(to, c->bytes + at, bf_key_offset(c, row + 1) - at);
    }
    return bf_string_put_number(to, c->dtype, c->values + row * bf_number_bytes(c->dtype));
}

/* Writes the key of row i of the batch to its place. */
static bf_key write_key(const batch *b, int64_t i) {
    char *const begin = b->written + most_bytes(b, i), *to = begin;
    for (int c = 0; c < b->d->columns; c++) to = write_column(&b->columns[c], b->first + i, to);
    return (bf_key){.bytes = begin, .n = to - begin};
}

/* Takes a key where it lies. */
static bf_key take_key(const batch *b, int64_t i) {
    const bf_key_data *c = b->columns;
    const int64_t row = b->first + i, at = bf_key_offset(c, row);
    if (bf_key_is_null(c, row)) return (bf_key){.bytes = NULL};
    return (bf_key){.bytes = c->bytes + at, .n = bf_key_offset(c, row + 1) - at};
}

/* ---- looking up ------------------------------------------------------------------------------ */

static bf_key make_key(const batch *b, int64_t i) {
    return b->written == NULL ? take_key(b, i) : write_key(b, i);
}

static void find_all(const batch *b, int64_t first, int64_t n) {
    for (int64_t i = first; i < first + n; i++) b->keys[i] = make_key(b, i);
    bf_key_find(b->d, b->keys + first, n, b->numbers + first);
}

static bf_packed_rows packed_rows(const batch *b, int64_t i, int64_t n) {
    return (bf_packed_rows){b->columns, b->first + i, n, b->rows};
}

static bool all_known(const int64_t *numbers, int64_t n) {
    int64_t all = 0;
    for (int64_t i = 0; i < n; i++) all |= numbers[i];
    return all >= 0;
}

/* Looks up those of the rows that the packed keys do not have. */
static void find_missed(const batch *b, int64_t at, int64_t n) {
    bf_key keys[BF_PACKED_ROWS];
    int64_t rows[BF_PACKED_ROWS], numbers[BF_PACKED_ROWS], m = 0;
    for (int64_t i = at; i < at + n; i++) {
        if (b->numbers[i] >= 0) continue;
        b->missed[i] = true;
        rows[m] = i;
        keys[m++] = make_key(b, i);
    }
    bf_key_find(b->d, keys, m, numbers);
    for (int64_t k = 0; k < m; k++) {
        b->keys[rows[k]] = keys[k];
        b->numbers[rows[k]] = numbers[k];
    }
}

static void find_packed(const batch *b, int64_t first, int64_t n) {
    memset(b->missed + first, false, (size_t)n * sizeof *b->missed);
    for (int64_t at = first; at < first + n; at += BF_PACKED_ROWS) {
        const int64_t left = first + n - at, some = left < BF_PACKED_ROWS ? left : BF_PACKED_ROWS;
        const bf_packed_rows rows = packed_rows(b, at, some);
        bf_packed_find(&b->d->packed, &rows, b->numbers + at);
        if (!all_known(b->numbers + at, some)) find_missed(b, at, some);
    }
}

static bf_status look_up(void *arg, int worker, int64_t first, int64_t n) {
    const batch *b = arg;
    (void)worker;
    (b->d->packed.words > 0 ? find_packed : find_all)(b, first, n);
    return BF_OK;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bf_status add_new_keys(bf_context *context, batch *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (b->numbers[i] >= 0) continue;
        const bf_status status = bf_key_add(b->d, &b->keys[i], &b->numbers[i]);
        if (status == BF_E_OVERFLOW)
            return bf_fail(context, status, "the key of row %lld has %lld bytes; at most %u",
                           (long long)(b->first + i), (long long)b->keys[i].n, UINT32_MAX);
        if (status != BF_OK) return status;
    }
    return BF_OK;
}

/* Adds the keys that were missed to the packed ones, which are given up if most keys are none. */
static void pack_missed(batch *b, int64_t n) {
    int64_t unfit = 0;
    const bool *at = b->missed;
    while (b->d->packed.words > 0 && (at = memchr(at, true, (size_t)(b->missed + n - at)))) {
        const int64_t i = at++ - b->missed;
        const bf_packed_rows row = packed_rows(b, i, 1);
        unfit += !bf_packed_add(&b->d->packed, &row, b->numbers[i]);
    }
    if (unfit > n / 2) bf_packed_close(&b->d->packed);
}

/* ---- batches --------------------------------------------------------------------------------- */

static bf_status number_batches(bf_context *context, batch *b, int64_t most, int64_t *numbers) {
    bf_status status = BF_OK;
    while (b->first < b->rows && status == BF_OK) {
        const int64_t left = b->rows - b->first, some = left < BATCH ? left : BATCH;
        const int64_t n = b->written == NULL ? some : make_room(b, some);
        if (n == 0) return BF_E_MEMORY;
        b->numbers = numbers + b->first;
        status = bf_parallel(context, bf_workers(context, n, ROWS_LEAST), n, PIECE, look_up, b);
        if (status == BF_OK && most > 0) {
            status = add_new_keys(context, b, n);
            if (status == BF_OK) status = bf_key_check_count(context, b->d, most);
            if (status == BF_OK) pack_missed(b, n);
        }
        if (status == BF_OK) status = bf_watch_tick(context, 0);
        b->first += n;
    }
    return status;
}

static bool open_batch(batch *b) {
    b->keys = bf_alloc(BATCH * sizeof *b->keys);
    b->missed = bf_alloc(BATCH * sizeof *b->missed);
    return b->keys != NULL && b->missed != NULL &&
           (bf_key_is_plain(b->d) || grow_written(b, (int64_t)BATCH * 32));
}

bf_status bf_cpu_dictionary_number(bf_context *context, bf_cpu_dictionary *d, int64_t most,
                                   const bf_key_data columns[], int64_t rows, int64_t *numbers) {
    const int64_t count = d->count, used = d->used;
    batch b = {.d = d, .columns = columns, .rows = rows, .fixed = number_bytes(d)};
    bf_status status = open_batch(&b) ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK) status = number_batches(context, &b, most, numbers);
    if (status != BF_OK) bf_key_remove(d, count, used);
    bf_free(b.written);
    bf_free(b.missed);
    bf_free(b.keys);
    return bf_key_explain(context, d, status);
}
