#include "memory/buffer.h"

#include <stdlib.h>
#include <string.h>

void *buffer_take(buffer *b, size_t bytes) {
    if (bytes < b->room) return b->at;
    free(b->at);
    b->room = bytes + bytes / 2 + 64;
    b->at = malloc(b->room);
    if (!b->at) b->room = 0;
    return b->at;
}

void *buffer_grow(buffer *b, size_t bytes) {
    if (bytes < b->room) return b->at;
    const size_t room = bytes + bytes / 2 + 64;
    char *more = realloc(b->at, room);
    if (!more) return NULL;
    *b = (buffer){more, room};
    return more;
}

void buffer_drop(buffer *b, size_t first, size_t rest) {
    if (first > 0 && rest > 0) memmove(b->at, b->at + first, rest);
}

void buffer_free(buffer *b) {
    free(b->at);
    *b = (buffer){NULL, 0};
}

void column_memory_free(column_memory *m) {
    buffer_free(&m->numbers);
    buffer_free(&m->offsets);
    buffer_free(&m->bytes);
    buffer_free(&m->valid);
}
