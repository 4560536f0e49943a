#include "cpu/expression/arena.h"

#include "base/memory.h"

struct bf_arena_block {
    bf_arena_block *next;
    size_t size, used;
    char bytes[];
};

enum { LEAST = 1 << 16 };

static bf_arena_block *make_block(size_t bytes) {
    const size_t size = bytes > LEAST ? bytes : LEAST;
    bf_arena_block *block = bf_alloc(sizeof *block + size);
    if (block != NULL) *block = (bf_arena_block){.size = size};
    return block;
}

/* Blocks behind the present one are empty, and those too small stay so. */
char *bf_arena_take(bf_arena *a, size_t bytes) {
    bf_arena_block **at = a->present != NULL ? &a->present : &a->first;
    while (*at != NULL && (*at)->size - (*at)->used < bytes) at = &(*at)->next;
    if (*at == NULL) *at = make_block(bytes);
    if (*at == NULL) return NULL;
    a->present = *at;
    char *taken = a->present->bytes + a->present->used;
    a->present->used += bytes;
    return taken;
}

void bf_arena_begin(bf_arena *a) {
    for (bf_arena_block *block = a->first; block != NULL; block = block->next) block->used = 0;
    a->present = a->first;
}

void bf_arena_free(bf_arena *a) {
    while (a->first != NULL) {
        bf_arena_block *next = a->first->next;
        bf_free(a->first);
        a->first = next;
    }
    a->present = NULL;
}
