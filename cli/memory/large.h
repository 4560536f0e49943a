/* Large arrays of the command. */
#ifndef BITFOLD_CLI_MEMORY_LARGE_H
#define BITFOLD_CLI_MEMORY_LARGE_H

#include <stddef.h>

/* Allocates memory, in large pages where it fills some and the system has such: they are faster to
 * fill. free() frees it. NULL: there is no memory. */
void *large_allocate(size_t bytes);

#endif
