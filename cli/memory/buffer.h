/* Memory that is used again and again. */
#ifndef BITFOLD_CLI_MEMORY_BUFFER_H
#define BITFOLD_CLI_MEMORY_BUFFER_H

#include <stddef.h>

typedef struct buffer {
    char *at;
    size_t room;
} buffer;

/* Room for so many bytes, one at least; what was there is lost. NULL: there is no memory. */
void *buffer_take(buffer *b, size_t bytes);

/* Makes room for so many bytes; what was there stays. NULL: there is no memory. */
void *buffer_grow(buffer *b, size_t bytes);

/* Drops the first bytes, which so many follow. */
void buffer_drop(buffer *b, size_t first, size_t rest);
void buffer_free(buffer *b);

/* The memory of a column: numbers; where strings begin, and their bytes; which are NULL. */
typedef struct column_memory {
    buffer numbers, offsets, bytes, valid;
} column_memory;

void column_memory_free(column_memory *m);

#endif
