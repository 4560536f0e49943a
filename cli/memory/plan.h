/* How --memory is shared out: it limits what the process has resident, pages of mapped files
 * included. */
#ifndef BITFOLD_CLI_MEMORY_PLAN_H
#define BITFOLD_CLI_MEMORY_PLAN_H

#include <stddef.h>
#include <stdint.h>

typedef struct memory_plan {
    int64_t limit;   /* bytes of the whole process; 0: none was given, and what follows is 0 */
    int64_t input;   /* for the files that are read, all together */
    int64_t pipes;   /* for pipes that are kept; the rest goes to a file */
    int64_t library; /* for the library's objects and calls */
    int64_t results; /* for what is to be shown */
    int64_t line;    /* the longest line of text, however many threads there are */
} memory_plan;

/* Shares plan->limit out for a command of at most so many threads. Sets *threads to as many of them
 * as leave half of the limit for other things, but at least 1. All ranks get the same shares.
 * Returns an exit code, having reported that the limit is too small. */
int memory_plan_make(memory_plan *plan, int *threads);

/* The longest line of text that each of so many threads has room for, beside the longest of all; 0:
 * no limit. */
size_t memory_plan_line(const memory_plan *plan, int threads);

/* The bytes of memory that a compressed input may take to be decompressed; 0: no limit. */
int64_t memory_plan_unpack(const memory_plan *plan);

/* The bytes of mapped files that are resident now. */
int64_t memory_of_files(void);

#endif
