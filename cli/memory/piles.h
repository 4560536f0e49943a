/* Rows put on piles, in temporary files: to work on rows that belong together, when there is memory
 * for one pile. A row is an element of each column. Rows keep their order on a pile. Functions that
 * return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_MEMORY_PILES_H
#define BITFOLD_CLI_MEMORY_PILES_H

#include <stddef.h>
#include <stdint.h>

enum { PILES_MOST = 256, PILES_COLUMNS = 65, PILES_EXTENTS = 36 };

/* A block in the file has one column after the other. All blocks are full; but the last may be
 * shorter once the piles are ended. */
typedef struct pile {
    int64_t rows, held; /* in all; in the buffer */
    int64_t n;          /* blocks in the file */
} pile;

/* Where a pile's extents begin in the file. Each has room for twice the blocks of the one before,
 * so few places tell where all blocks are. */
typedef int64_t piles_extents[PILES_EXTENTS];

typedef struct piles {
    int count, columns;
    int before[PILES_COLUMNS + 1]; /* bytes of a row before each column; at last, of all */
    int64_t block;                 /* rows of a block */
    char *buffers;                 /* a block of each pile; NULL: none was needed yet, or no more */
    int fd;                        /* -1: all rows are in the buffers */
    int64_t end;                   /* where the file ends, which has holes */
    piles_extents *extents;        /* each pile's; NULL: none was needed yet */
    pile all[PILES_MOST];
} piles;

/* Begins with empty piles, of columns whose elements have so many bytes: 1, 2, 4, 8 or 16. memory:
 * bytes of all buffers. count 0: as many as fit it well. */
void piles_open(piles *p, int count, int columns, const int bytes[], int64_t memory);
void piles_close(piles *p);

/* Puts n rows on piles: row i on pile which[i]. */
int piles_add(piles *p, const uint8_t which[], const void *const columns[], int64_t n);

/* Puts n rows, one behind another, on pile i. */
int piles_put(piles *p, int i, const void *const columns[], int64_t n);

/* Ends adding: gives the memory of the buffers back. */
int piles_end(piles *p);

/* Reads rows [first, first + n) of a pile; not the columns that are NULL. */
int piles_read(const piles *p, int i, int64_t first, int64_t n, void *const columns[]);

/* Removes the rows of a pile, and gives their room on the disk back. */
void piles_empty(piles *p, int i);

#endif
