/* A small table on the CPU: read from memory, known to the compiler, and in vectors. */
#include "ladder/cpu/cpu.h"

static const uint32_t known[LADDER_TABLE_SIZE] = {LADDER_TABLE};

/* The compiler cannot know the table: each entry is loaded for each element. */
static const char *run_memory(const ladder_task *t) {
    const uint32_t *table = known;
    uint32_t *out = t->out;
    LADDER_AS_WRITTEN(table);
    for (int64_t i = 0; i < t->n; i++) {
        uint32_t sum = 0;
        for (int k = 0; k < LADDER_TABLE_SIZE; k++) {
            sum += (table[k] ^ (uint32_t)i) * table[k];
            LADDER_AS_WRITTEN(sum);
        }
        out[i] = sum;
    }
    return NULL;
}

/* The entries become constants in the instructions. */
static const char *run_known(const ladder_task *t) {
    uint32_t *out = t->out;
    for (int64_t i = 0; i < t->n; i++) {
        uint32_t sum = 0;
#pragma GCC unroll 32
        for (int k = 0; k < LADDER_TABLE_SIZE; k++) {
            sum += (known[k] ^ (uint32_t)i) * known[k];
            LADDER_AS_WRITTEN(sum);
        }
        out[i] = sum;
    }
    return NULL;
}

static uint32_t table_sum(uint32_t i) {
    uint32_t sum = 0;
    for (int k = 0; k < LADDER_TABLE_SIZE; k++) sum += (known[k] ^ i) * known[k];
    return sum;
}

/* An entry is loaded once for sixteen elements. */
static void table_share(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    uint32_t *out = work;
    const int64_t steps = (to - from) / LADDER_LANES;
    ladder_simd_widest()->table(known, (uint32_t)from, out + from, steps);
    for (int64_t i = from + steps * LADDER_LANES; i < to; i++) out[i] = table_sum((uint32_t)i);
}

static const char *run_simd(const ladder_task *t) {
    table_share(t->out, 0, t->n, 0);
    return NULL;
}

static const char *run_threads(const ladder_task *t) {
    ladder_team(t->processors, t->n, table_share, t->out);
    return NULL;
}

const ladder_rung ladder_cpu_constant[] = {
    {"memory", "a table of which the compiler knows nothing", run_memory, 0},
    {"known", "a table whose entries become operands", run_known, 0},
    {"SIMD", "an entry serves sixteen elements", run_simd, 0},
    {"threads", "the same on every core; threads started for each call", run_threads, 0},
    {NULL, NULL, NULL, 0},
};
