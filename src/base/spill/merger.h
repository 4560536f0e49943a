/* The order of more records than memory holds. Sorted runs of records are written to a temporary
 * file, and merged by a heap.
 *
 * A record is words of 64 bits. The first one or two of them are its key: records are ordered by
 * these, as unsigned numbers, and those of equal keys by the runs that they were added to. */
#ifndef BF_BASE_SPILL_MERGER_H
#define BF_BASE_SPILL_MERGER_H

#include "base/spill/file.h"

enum { BF_MERGER_KEY = 2 /* words of a key, at most */ };

typedef struct bf_merger_run {
    int64_t begin, end;           /* words of the file */
    int64_t next;                 /* the first that is not in memory yet */
    uint64_t *buffer, *at, *last; /* the words that are, and are not given yet */
} bf_merger_run;

typedef struct bf_merger_head {
    uint64_t key[BF_MERGER_KEY];
    int run;
} bf_merger_head;

typedef struct bf_merger {
    bf_context *context;
    int key;   /* words of a key */
    int words; /* words of a record; 0: the word behind its key is their number */
    int most;  /* words of a record, at most */
    int fd;
    int64_t end;        /* words in the file */
    uint64_t *memory;   /* what is not written yet, or the buffers of runs */
    int64_t room, held; /* words of memory while runs are added, and those in use */
    bf_merger_run *runs;
    int count, runs_room;
    bool open;            /* the last run */
    bf_merger_head *heap; /* the runs that have records, that with the least one first */
    int live;
    bool given; /* the first record of the heap */
} bf_merger;

/* Begins with no runs. The caller closes the merger, also after a failure. Errors of all:
 * BF_E_MEMORY, BF_E_IO, with a message. */
bf_status bf_merger_open(bf_merger *m, bf_context *context, int key, int words, int most);
void bf_merger_close(bf_merger *m);

/* Appends records to the present run, none of them before the last one. A cut ends the run. */
bf_status bf_merger_add(bf_merger *m, const uint64_t *records, int64_t words);
bf_status bf_merger_cut(bf_merger *m);
/* Removes the runs from number `count` on. */
void bf_merger_drop(bf_merger *m, int count);

/* Begins to give the records of all runs, by about `bytes` of memory. Afterwards, also after a
 * failure, runs may be added, and given from the first record on. */
bf_status bf_merger_start(bf_merger *m, int64_t bytes);
void bf_merger_stop(bf_merger *m);

/* Gives the next record, which is valid until the next call; NULL at the end. */
bf_status bf_merger_next(bf_merger *m, const uint64_t **record);

/* Reads words of the file, of runs that are cut. */
bf_status bf_merger_read(bf_merger *m, int64_t first, int64_t words, uint64_t *to);

/* The bytes that one of so many parts may take of what the budget of the present call has left. */
int64_t bf_merger_share(int parts);

#endif
