/* Large memory, in large pages where the system has such: touching it first takes far less time. */
#ifndef BITFOLD_CLI_MEMORY_LARGE_H
#define BITFOLD_CLI_MEMORY_LARGE_H

#include <stddef.h>

/* As malloc, for free and realloc. */
void *large_alloc(size_t bytes);

#endif
