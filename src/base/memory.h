/* Host memory that a budget counts, and large copies. */
#ifndef BF_BASE_MEMORY_H
#define BF_BASE_MEMORY_H

#include <stddef.h>

/* Memory that the budget of the present call counts (base/budget.h), as malloc, calloc and realloc
 * give it; bf_zeros in large pages where it is large. NULL: there is none, or the budget has not so
 * much. bf_free frees all of them, from any thread. */
void *bf_alloc(size_t bytes);
void *bf_calloc(size_t n, size_t bytes);
void *bf_zeros(size_t bytes);
void *bf_resize(void *memory, size_t bytes);
void bf_free(void *memory);

/* Allocates memory for callers, aligned to BF_ALIGNMENT. */
void *bf_alloc_aligned(size_t bytes);
enum { BF_ALIGNMENT = 256 };

/* Writes zeros to fresh memory, so that the system gives its pages now. Touch what is read before
 * it is written: a first read and a first write cost a fault each, and the second one stops all
 * threads. */
void bf_touch(void *memory, size_t bytes);

/* As memcpy, but past the caches: faster for large memory that nobody reads soon. */
void bf_stream_copy(void *to, const void *from, size_t bytes);

#endif
