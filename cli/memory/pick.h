/* Elements at places of an array. */
#ifndef BITFOLD_CLI_MEMORY_PICK_H
#define BITFOLD_CLI_MEMORY_PICK_H

#include <stddef.h>
#include <stdint.h>

/* Copies n elements of some bytes, those at the places. */
void pick_elements(void *to, const void *from, size_t bytes, const int64_t *places, int64_t n);

#endif
