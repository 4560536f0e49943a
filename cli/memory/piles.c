#define _GNU_SOURCE /* fallocate */
#include "memory/piles.h"

#include "memory/temporary.h"
#include "runtime/bytes.h"
#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows that are sorted by pile at a time; the least rows of a block; and where nobody says how many
 * piles there are, the least, and bytes of a block of each. */
enum { SORTED = 1 << 13, BLOCK_LEAST = 64, PILES_LEAST = 8, BLOCK_BYTES = 1 << 14 };

static int count_for(int64_t memory) {
    const int64_t n = memory / BLOCK_BYTES;
    return n < PILES_LEAST ? PILES_LEAST : n > PILES_MOST ? PILES_MOST : (int)n;
}

void piles_open(piles *p, int count, int columns, const int bytes[], int64_t memory) {
    if (count == 0) count = count_for(memory);
    *p = (piles){.count = count, .columns = columns, .fd = -1};
    for (int c = 0; c < columns; c++) p->before[c + 1] = p->before[c] + bytes[c];
    p->block = memory / count / p->before[columns];
    if (p->block < BLOCK_LEAST) p->block = BLOCK_LEAST;
}

void piles_close(piles *p) {
    free(p->extents);
    free(p->buffers);
    if (p->count > 0 && p->fd >= 0) close(p->fd);
    *p = (piles){.fd = -1};
}

static int row_bytes(const piles *p) { return p->before[p->columns]; }

static char *buffer_of(const piles *p, int i) {
    return p->buffers + (int64_t)i * p->block * row_bytes(p);
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* The extent of a pile in which block b is: the first has one block, each next twice as many. */
static int extent_of(int64_t b) { return 63 - __builtin_clzll((uint64_t)b + 1); }

/* The blocks before an extent. */
static int64_t blocks_before(int extent) { return ((int64_t)1 << extent) - 1; }

static int64_t block_bytes(const piles *p) { return p->block * row_bytes(p); }

/* Where block b of pile i begins in the file. */
static int64_t place_of(const piles *p, int i, int64_t b) {
    const int extent = extent_of(b);
    return p->extents[i][extent] + (b - blocks_before(extent)) * block_bytes(p);
}

/* Finds room for the next block of a pile, in a new extent if that before is full. */
static int make_place(piles *p, int i, int64_t *place) {
    const int64_t b = p->all[i].n;
    const int extent = extent_of(b);
    if (!p->extents) p->extents = calloc((size_t)p->count, sizeof *p->extents);
    if (!p->extents) return fail_memory(NULL);
    if (b == blocks_before(extent)) {
        p->extents[i][extent] = p->end;
        p->end += block_bytes(p) << extent;
    }
    *place = place_of(p, i, b);
    return EXIT_DONE;
}

/* Writes the rows that a buffer holds, as a block. */
static int write_block(piles *p, int i) {
    pile *x = &p->all[i];
    int64_t place = 0;
    const int code = make_place(p, i, &place);
    if (code != EXIT_DONE) return code;
    if (p->fd < 0) p->fd = temporary_open();
    if (p->fd < 0 || lseek(p->fd, place, SEEK_SET) < 0 ||
        !temporary_write(p->fd, buffer_of(p, i), (size_t)(x->held * row_bytes(p))))
        return temporary_failed(errno);
    x->n++;
    x->held = 0;
    return EXIT_DONE;
}

/* Copies the elements that `order` numbers; NULL: those from the first on. */
static void gather(char *to, const char *from, const uint16_t *order, int64_t n, int bytes) {
    if (!order) {
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }
    switch (bytes) {
    case 1:
        for (int64_t k = 0; k < n; k++) to[k] = from[order[k]];
        break;
    case 2:
        for (int64_t k = 0; k < n; k++) memcpy(to + 2 * k, from + 2 * order[k], 2);
        break;
    case 4:
        for (int64_t k = 0; k < n; k++) memcpy(to + 4 * k, from + 4 * order[k], 4);
        break;
    case 8:
        for (int64_t k = 0; k < n; k++) memcpy(to + 8 * k, from + 8 * order[k], 8);
        break;
    default:
        for (int64_t k = 0; k < n; k++) memcpy(to + 16 * k, from + 16 * order[k], 16);
    }
}

/* Puts the rows that `order` numbers from `at` on, on one pile; NULL: those from `at` on. */
static int add_to_pile(piles *p, int i, const void *const columns[], int64_t at,
                       const uint16_t *order, int64_t n) {
    pile *x = &p->all[i];
    int code = EXIT_DONE;
    x->rows += n;
    while (n > 0 && code == EXIT_DONE) {
        const int64_t room = p->block - x->held, k = n < room ? n : room;
        for (int c = 0; c < p->columns; c++) {
            const int bytes = p->before[c + 1] - p->before[c];
            char *to = buffer_of(p, i) + p->block * p->before[c] + x->held * bytes;
            gather(to, (const char *)columns[c] + at * bytes, order, k, bytes);
        }
        x->held += k;
        if (order)
            order += k;
        else
            at += k;
        n -= k;
        if (x->held == p->block) code = write_block(p, i);
    }
    return code;
}

/* Puts up to SORTED rows on piles, those of one pile after the other. */
static int add_some(piles *p, const uint8_t which[], const void *const columns[], int64_t at,
                    int64_t n) {
    uint16_t order[SORTED];
    int begin[PILES_MOST + 2] = {0}, code = EXIT_DONE; /* where pile i begins, at i + 1 while they
                                                          are put */
    for (int64_t k = 0; k < n; k++) begin[which[at + k] + 2]++;
    for (int i = 0; i < p->count; i++) begin[i + 2] += begin[i + 1];
    for (int64_t k = 0; k < n; k++) order[begin[which[at + k] + 1]++] = (uint16_t)k;
    for (int i = 0; i < p->count && code == EXIT_DONE; i++)
        code = add_to_pile(p, i, columns, at, order + begin[i], begin[i + 1] - begin[i]);
    return code;
}

static int make_buffers(piles *p) {
    if (!p->buffers) p->buffers = malloc((size_t)(p->count * p->block * row_bytes(p)));
    return p->buffers ? EXIT_DONE : fail_memory(NULL);
}

int piles_add(piles *p, const uint8_t which[], const void *const columns[], int64_t n) {
    int code = make_buffers(p);
    for (int64_t at = 0; at < n && code == EXIT_DONE; at += SORTED)
        code = add_some(p, which, columns, at, n - at < SORTED ? n - at : SORTED);
    return code;
}

int piles_put(piles *p, int i, const void *const columns[], int64_t n) {
    const int code = make_buffers(p);
    return code == EXIT_DONE ? add_to_pile(p, i, columns, 0, NULL, n) : code;
}

/* Closes the gaps between the columns of a block that is not full. */
static void pack_block(const piles *p, int i) {
    const int64_t held = p->all[i].held;
    char *block = buffer_of(p, i);
    for (int c = 1; c < p->columns; c++)
        memmove(block + held * p->before[c], block + p->block * p->before[c],
                (size_t)(held * (p->before[c + 1] - p->before[c])));
}

int piles_end(piles *p) {
    int code = EXIT_DONE;
    for (int i = 0; i < p->count && code == EXIT_DONE; i++) {
        if (p->all[i].held == 0) continue;
        pack_block(p, i);
        code = write_block(p, i);
    }
    free(p->buffers);
    p->buffers = NULL;
    return code;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Rows [first, first + n) of block b of a pile: of column c, to `to`. */
static bool read_column(const piles *p, int i, int64_t b, int c, int64_t first, int64_t n,
                        void *to) {
    const pile *x = &p->all[i];
    const int64_t bytes = p->before[c + 1] - p->before[c], left = x->rows - b * p->block;
    if (b == x->n) { /* it is in the buffer */
        const char *block = buffer_of(p, i);
        memcpy(to, block + p->block * p->before[c] + first * bytes, (size_t)(n * bytes));
        return true;
    }
    const int64_t rows = left < p->block ? left : p->block;
    const int64_t at = place_of(p, i, b) + rows * p->before[c] + first * bytes;
    errno = EIO;
    return bytes_pread(p->fd, to, (size_t)(n * bytes), at) == n * bytes;
}

int piles_read(const piles *p, int i, int64_t first, int64_t n, void *const columns[]) {
    for (int64_t done = 0, k; done < n; done += k) {
        const int64_t b = (first + done) / p->block, at = (first + done) % p->block;
        k = n - done < p->block - at ? n - done : p->block - at;
        for (int c = 0; c < p->columns; c++) {
            if (!columns[c]) continue;
            char *to = (char *)columns[c] + done * (p->before[c + 1] - p->before[c]);
            if (!read_column(p, i, b, c, at, k, to)) return temporary_failed(errno);
        }
    }
    return EXIT_DONE;
}

void piles_empty(piles *p, int i) {
    const int64_t n = p->all[i].n;
    for (int extent = 0; blocks_before(extent) < n; extent++)
        (void)fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, p->extents[i][extent],
                        block_bytes(p) << extent);
    p->all[i] = (pile){.rows = 0};
}
