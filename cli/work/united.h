/* Numbers that every rank has sorted of its own rows, on rank 0 in the order of all. They go there
 * piece by piece, so that no rank holds those of another. Every rank calls the same functions, and
 * those that return an exit code have reported the failure, on which all agree. */
#ifndef BITFOLD_CLI_WORK_UNITED_H
#define BITFOLD_CLI_WORK_UNITED_H

#include <bitfold.h>
#include <stdbool.h>

/* Some numbers in order. */
typedef struct united_part {
    int64_t n, room;
    char *values;
    int64_t *beside; /* NULL: none are wanted */
} united_part;

/* Makes room for numbers of up to 16 bytes. False: there is no memory. */
bool united_part_open(united_part *p, int64_t room, bool beside);
void united_part_close(united_part *p);

/* Takes the next numbers of a sorter. */
bf_status united_part_read(united_part *p, bf_sorter *sorter, bf_dtype dtype);

typedef struct united {
    bf_context *context;
    bf_order_options rules;
    const char *file; /* messages name it */
    bf_sorter *sorter;
    bf_dtype dtype;
    int64_t first;    /* the index of this rank's first number */
    int64_t *counts;  /* the numbers that each rank sent last */
    int64_t *left;    /* how many rank 0 holds of each; the last word is how many it gave */
    united_part mine; /* what this rank sends */
    /* Rank 0 has these. */
    united_part held, spare; /* what it has of all, rank by rank; room for what comes */
    int64_t *sizes;          /* how many are of each */
    int *owner;              /* the rank of each */
    int64_t *index;          /* their order */
} united;

/* Begins with the fields above `counts`, for parts with room for so many numbers. False: there is
 * no memory. Close it in either case. */
bool united_open(united *g, int64_t room, bool beside);
void united_close(united *g);

/* Gives rank 0 the next numbers in the order of all; the others learn how many. Equal ones come in
 * the order of the ranks. */
int united_next(united *g, united_part *to);

/* Adds the numbers of the other ranks to the sorter of rank 0, which has not ended. */
int united_move(united *g);

#endif
