/* For the tests of bf_map on a GPU: a problem is done by the CPU's rules and by the GPU, and the
 * two have to agree. */
#ifndef BITFOLD_TESTS_MAP_GPU_PROBLEM_H
#define BITFOLD_TESTS_MAP_GPU_PROBLEM_H

#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "tests/support/data.h"
#include "tests/support/run.h"

enum { MOST = 1000007, OPERANDS = 4, OUT = 3, ROOM = 8 * MOST + 64 };

typedef enum place { HOST, PINNED, MANAGED, DEVICE, PLACES } place;

static bf_context *cpu, *gpu;
static char *memory[PLACES][OPERANDS]; /* where the GPU's operands are */
static char *data[OPERANDS];           /* the inputs, and what the CPU makes of them */
static char *found;

/* One operation, and where its operands are. */
typedef struct problem {
    bf_map_op op;
    bf_dtype from[3], to;
    bf_overflow_policy overflow;
    unsigned weak;
    int64_t n, count[3]; /* elements: n, or 1 that stands for all */
    int64_t index;
    place place[OPERANDS];
    int offset[OPERANDS]; /* bytes */
    bool async;
} problem;

static inline problem problem_of(bf_map_op op, bf_dtype a, bf_dtype b, bf_dtype c, int64_t n) {
    problem p = {.op = op, .from = {a, b, c}, .n = n, .count = {n, n, n}};
    for (int k = 0; k < OPERANDS; k++) p.place[k] = DEVICE;
    if (op == BF_MAP_CAST)
        p.to = b;
    else if (bf_map_result_dtype(op, p.from, bf_map_arity(op), 0, &p.to) != BF_OK)
        p.to = BF_NONE;
    return p;
}

static inline char *at(const problem *p, int k) { return memory[p->place[k]][k] + p->offset[k]; }

static inline size_t bytes_of(const problem *p, int k) {
    if (k == OUT) return (size_t)p->n * bf_dtype_size(p->to);
    return (size_t)p->count[k] * bf_dtype_size(p->from[k]);
}

static inline bf_status call(bf_context *context, const problem *p,
                             char *const operands[OPERANDS]) {
    bf_array a[3], out = bf_array_of(p->to, operands[OUT], p->n);
    const bf_array *inputs[3] = {&a[0], &a[1], &a[2]};
    bf_map_options options =
        BF_MAP_OPTIONS(.overflow = p->overflow, .weak = p->weak, .index = p->index);
    for (int k = 0; k < 3; k++) {
        a[k] = bf_array_of(p->from[k], operands[k], p->count[k]);
        if (p->weak >> k & 1) a[k].ndim = 0;
    }
    if (!p->async || context == cpu)
        return bf_map(context, p->op, inputs, bf_map_arity(p->op), &options, &out);
    bf_status status = bf_map_async(context, p->op, inputs, bf_map_arity(p->op), &options, &out);
    return status == BF_OK ? bf_context_synchronize(context) : status;
}

static inline void copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0) assert_int_equal(bf_memory_copy(gpu, to, from, bytes), BF_OK);
}

static inline void describe(const problem *p, const char *what) {
    print_error("%s: %s of %s %s %s to %s, policy %d, n %lld, places %d %d %d %d, offsets %d %d %d "
                "%d\n",
                what, bf_map_name(p->op), bf_dtype_name(p->from[0]), bf_dtype_name(p->from[1]),
                bf_dtype_name(p->from[2]), bf_dtype_name(p->to), (int)p->overflow, (long long)p->n,
                (int)p->place[0], (int)p->place[1], (int)p->place[2], (int)p->place[3],
                p->offset[0], p->offset[1], p->offset[2], p->offset[3]);
}

static inline void compare_bits(const problem *p) {
    size_t bytes = bf_dtype_size(p->to);
    for (int64_t i = 0; i < p->n; i++) {
        uint64_t ours = load_bits(found + (size_t)i * bytes, bytes);
        uint64_t rules = load_bits(data[OUT] + (size_t)i * bytes, bytes);
        if (ours == rules) continue;
        describe(p, "other bits");
        fail_msg("at %lld: %llx, not %llx", (long long)i, (unsigned long long)ours,
                 (unsigned long long)rules);
    }
}

/* Both do it, from the inputs in data. */
static inline void check(const problem *p) {
    char *operands[OPERANDS];
    for (int k = 0; k < OPERANDS; k++) operands[k] = at(p, k);
    for (int k = 0; k < bf_map_arity(p->op); k++) copy(operands[k], data[k], bytes_of(p, k));
    bf_status expected = call(cpu, p, data), status = call(gpu, p, operands);
    if (status != expected) describe(p, bf_context_message(gpu));
    assert_int_equal(status, expected);
    if (status != BF_OK) {
        assert_string_equal(bf_context_message(gpu), bf_context_message(cpu));
        return;
    }
    copy(found, operands[OUT], bytes_of(p, OUT));
    if (memcmp(found, data[OUT], bytes_of(p, OUT)) != 0) compare_bits(p);
}

static inline void fill_input(const problem *p, int k, data_kind kind, uint64_t *seed) {
    bf_dtype dtype = p->from[k];
    size_t bytes = bf_dtype_size(dtype);
    fill(dtype, data[k], p->count[k], kind, next_random(seed));
    for (int64_t i = 5 * k; is_float(dtype) && i < p->count[k]; i += 17 + k) {
        uint64_t bits = infinity_bits(dtype) | (next_random(seed) & (sign_bit(dtype) | 1));
        store_bits(data[k] + (size_t)i * bytes, bytes, bits);
    }
}

static inline data_kind any_kind(uint64_t *seed) {
    return (data_kind)(next_random(seed) % KIND_COUNT);
}

static inline bool is_refused(const problem *p) {
    return p->op == BF_MAP_CAST && is_float(p->from[0]) && !is_float(p->to) && p->to != BF_BOOL &&
           p->overflow == BF_OVERFLOW_WRAP;
}

/* With numbers that mostly fit, and with any. */
static inline void every_policy(problem *p, uint64_t *seed) {
    if (p->to == BF_NONE) return;
    for (int overflow = BF_OVERFLOW_ERROR; overflow <= BF_OVERFLOW_SATURATE; overflow++) {
        p->overflow = (bf_overflow_policy)overflow;
        if (is_refused(p)) continue;
        for (int narrow = 0; narrow < 2; narrow++) {
            data_kind kind = narrow ? KIND_NARROW : any_kind(seed);
            for (int k = 0; k < 3; k++) fill_input(p, k, kind, seed);
            check(p);
        }
    }
}

static inline int set_up(void **unused) {
    (void)unused;
    bf_options host = BF_OPTIONS(.device = "cpu", .isa = "generic", .threads = 1);
    bf_options device = BF_OPTIONS(.device = "cuda");
    bool good =
        bf_context_create(&host, &cpu) == BF_OK && bf_context_create(&device, &gpu) == BF_OK;
    found = malloc(ROOM);
    for (int k = 0; good && k < OPERANDS; k++) {
        data[k] = malloc(ROOM);
        memory[HOST][k] = malloc(ROOM);
        good = cudaHostAlloc((void **)&memory[PINNED][k], ROOM, 0) == cudaSuccess &&
               cudaMallocManaged((void **)&memory[MANAGED][k], ROOM, cudaMemAttachGlobal) ==
                   cudaSuccess &&
               bf_memory_allocate(gpu, ROOM, (void **)&memory[DEVICE][k]) == BF_OK;
    }
    return good ? 0 : -1;
}

static inline int tear_down(void **unused) {
    (void)unused;
    for (int k = 0; k < OPERANDS; k++) {
        free(data[k]);
        free(memory[HOST][k]);
        cudaFreeHost(memory[PINNED][k]);
        cudaFree(memory[MANAGED][k]);
        bf_memory_free(gpu, memory[DEVICE][k]);
    }
    free(found);
    bf_context_destroy(gpu);
    bf_context_destroy(cpu);
    return 0;
}

#endif
