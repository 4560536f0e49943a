/* Memory for the strings that a worker makes of a tile; the next tile has it again. */
#ifndef BF_CPU_EXPRESSION_ARENA_H
#define BF_CPU_EXPRESSION_ARENA_H

#include <stddef.h>

typedef struct bf_arena_block bf_arena_block;

/* All zero at first. */
typedef struct bf_arena {
    bf_arena_block *first, *present;
} bf_arena;

/* NULL: there is no memory. */
char *bf_arena_take(bf_arena *arena, size_t bytes);
void bf_arena_begin(bf_arena *arena);
void bf_arena_free(bf_arena *arena);

#endif
