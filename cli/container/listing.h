/* The names of what a file holds, as a message lists them. */
#ifndef BITFOLD_CLI_CONTAINER_LISTING_H
#define BITFOLD_CLI_CONTAINER_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LISTING_NAME = 1024 };

typedef struct listing {
    int64_t n;
    char first[LISTING_NAME]; /* name; as much of it as has room */
    char text[256];           /* "a, b, c", as many as have room */
    bool full;                /* no other has */
} listing;

void listing_add(listing *l, const char *name, size_t length);

/* Why a member cannot be read, with an exit code; the hint may be empty. */
typedef struct listing_refusal {
    int code;
    char what[640], hint[LISTING_NAME + 256];
} listing_refusal;

/* Says that a file `name` holds several of `things`, or none that is called `wanted`. Returns the
 * exit code. */
int listing_refuse(const listing *l, listing_refusal *r, const char *name, const char *things,
                   const char *wanted);

#endif
