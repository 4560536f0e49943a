/* Hash tables on a GPU: chains behind locks, chains without locks, and slots.
 *
 * Chains are built by thousands of threads that meet at the heads of 1024 lists; in each rung they
 * wait less. The check shows how long a list is to search. */
#include "ladder/cuda/gpu.cuh"
#include "ladder/table.h"

enum { THREADS = 256, WARP = 32, FEW_BLOCKS = 60 };

/* ---- the host -------------------------------------------------------------------------------- */

/* One thread of the CPU builds those chains: it needs no locks, and few chains stay in its cache.
 */
static const char *run_host(const ladder_task *t) {
    if (t->managed == NULL) return "no managed memory";
    ladder_chain_alone(static_cast<const uint32_t *>(t->managed), t->n, t->host);
    return NULL;
}

/* ---- a lock for each bucket ------------------------------------------------------------------ */

/* The thread that changes a lock from 0 to 1 holds it. The fences keep its loads and stores between
 * the two: no load before the lock is taken, no store after it is released. */
static __device__ void take(unsigned *lock) {
    while (atomicCAS(lock, 0, 1) != 0) continue;
    __threadfence();
}

static __device__ void give_back(unsigned *lock) {
    __threadfence();
    atomicExch(lock, 0);
}

/* The lanes of a warp take turns. If all tried at once and two of them wanted the same lock, one
 * would get it and the other would turn in its loop. The lanes of a warp run one path at a time.
 * Before Volta, when a warp had one program counter, it stayed in that loop until all its lanes had
 * left it, and the lane that held the lock never came to release it: a deadlock. In turns, a
 * waiting lane is the only one of its warp that wants a lock; the holder is in another warp, which
 * goes on. */
static __global__ void chain_by_locks(const uint32_t *keys, int64_t n, ladder_chains to) {
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) {
        const int64_t bucket = ladder_place(keys[i], to.buckets);
        ladder_node *node = &to.nodes[i];
        node->key = keys[i];
        node->value = static_cast<uint32_t>(i);
        for (int lane = 0; lane < WARP; lane++)
            if (threadIdx.x % WARP == lane) {
                take(&to.locks[bucket]);
                node->next = to.heads[bucket];
                to.heads[bucket] = node;
                give_back(&to.locks[bucket]);
            }
    }
}

/* ---- an exchange ----------------------------------------------------------------------------- */

/* Inserting a node at the front takes one indivisible step: the node becomes the head, and the old
 * head becomes its next. Until that is stored the list ends at the node, but no thread walks it
 * before the kernel is done. There are no locks and no turns, and the lanes of a warp go together.
 */
static __device__ ladder_node *exchange(ladder_node **head, ladder_node *node) {
    typedef unsigned long long word;
    return reinterpret_cast<ladder_node *>(
        atomicExch(reinterpret_cast<word *>(head), reinterpret_cast<word>(node)));
}

static __global__ void chain_by_exchange(const uint32_t *keys, int64_t n, ladder_chains to) {
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) {
        const uint32_t key = keys[i];
        ladder_node *node = &to.nodes[i];
        ladder_node *next = exchange(&to.heads[ladder_place(key, to.buckets)], node);
        *node = {key, static_cast<uint32_t>(i), next};
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* No nodes, no lists: key and value are one word, which goes to the first empty slot from the key's
 * place on. A compare-and-swap stores it if the slot is still empty, and otherwise returns the
 * slot's word: the same key, which stays, or another one, which is passed. */
static __global__ void enter_slots(const uint32_t *keys, int64_t n, unsigned long long *slots) {
    const int64_t places = 2 * n;
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) {
        const uint32_t key = keys[i];
        const unsigned long long entry = ladder_slot(key, static_cast<uint32_t>(i));
        int64_t place = ladder_place(key, places);
        for (;; place = ladder_next_place(place, places)) {
            const unsigned long long seen = atomicCAS(&slots[place], LADDER_EMPTY, entry);
            if (seen == LADDER_EMPTY || seen >> 32 == key) break;
        }
    }
}

/* ---- find ------------------------------------------------------------------------------------ */

/* A lookup waits for the head, then for a node, and often for another one. A GPU therefore keeps
 * many lookups under way. */
static __global__ void find_in_chains(const uint32_t *keys, int64_t n, ladder_chains in,
                                      uint32_t *values) {
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) {
        const ladder_node *node = in.heads[ladder_place(keys[i], in.buckets)];
        while (node != NULL && node->key != keys[i]) node = node->next;
        if (node != NULL) values[i] = node->value;
    }
}

/* Neighbouring slots are mostly in one sector of memory: one wait. */
static __global__ void find_in_slots(const uint32_t *keys, int64_t n,
                                     const unsigned long long *slots, uint32_t *values) {
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) {
        int64_t place = ladder_place(keys[i], 2 * n);
        unsigned long long seen = slots[place];
        while (seen != LADDER_EMPTY && seen >> 32 != keys[i]) {
            place = ladder_next_place(place, 2 * n);
            seen = slots[place];
        }
        if (seen != LADDER_EMPTY) values[i] = static_cast<uint32_t>(seen);
    }
}

/* ---- rungs ----------------------------------------------------------------------------------- */

static const uint32_t *keys_of(const ladder_task *t) { return static_cast<const uint32_t *>(t->a); }

/* Locks are opened and lists emptied first; the time includes that. */
static const char *empty(const ladder_task *t, const ladder_chains &chains) {
    cudaError_t error =
        cudaMemsetAsync(chains.locks, 0, LADDER_BUCKETS * sizeof *chains.locks, stream_of(t));
    if (error == cudaSuccess)
        error =
            cudaMemsetAsync(chains.heads, 0, chains.buckets * sizeof *chains.heads, stream_of(t));
    return why(error);
}

typedef void chain_kernel(const uint32_t *keys, int64_t n, ladder_chains to);

static const char *run_chains(const ladder_task *t, chain_kernel *kernel, int blocks, bool few) {
    const ladder_chains chains = ladder_chains_at(t->out, t->n, few);
    const char *problem = empty(t, chains);
    if (problem) return problem;
    kernel<<<blocks, THREADS, 0, stream_of(t)>>>(keys_of(t), t->n, chains);
    return launched();
}

static const char *run_locks(const ladder_task *t) {
    return run_chains(t, chain_by_locks, FEW_BLOCKS, true);
}

static const char *run_more_locks(const ladder_task *t) {
    return run_chains(t, chain_by_locks, 2 * t->processors, true);
}

static const char *run_exchange(const ladder_task *t) {
    return run_chains(t, chain_by_exchange, 8 * t->processors, true);
}

static const char *run_short_chains(const ladder_task *t) {
    return run_chains(t, chain_by_exchange, 8 * t->processors, false);
}

static const char *run_slots(const ladder_task *t) {
    unsigned long long *slots = static_cast<unsigned long long *>(t->out);
    const cudaError_t error = cudaMemsetAsync(slots, 0xff, 2 * t->n * sizeof *slots, stream_of(t));
    if (error != cudaSuccess) return why(error);
    enter_slots<<<8 * t->processors, THREADS, 0, stream_of(t)>>>(keys_of(t), t->n, slots);
    return launched();
}

const ladder_rung ladder_gpu_build[] = {
    {"host", "1024 chains of nodes from a pool, by one thread of the CPU", run_host,
     LADDER_FEW | LADDER_ON_HOST},
    {"locks", "1024 chains, a lock each; the lanes of a warp take turns", run_locks, LADDER_FEW},
    {"locks, 2 x SM", "more threads: most of them wait", run_more_locks, LADDER_FEW},
    {"exchange", "a node becomes the head by an atomic exchange: no locks", run_exchange,
     LADDER_FEW},
    {"short chains", "the same, with as many chains as keys", run_short_chains, 0},
    {"slots", "no nodes: an empty slot is taken by compare-and-swap", run_slots, LADDER_SLOTS},
    {"ours", "bf_table_insert: keys sorted by region, built in shared memory", ladder_ours_table,
     LADDER_OURS},
    {NULL, NULL, NULL, 0},
};

static const char *run_find_in_chains(const ladder_task *t) {
    const ladder_chains chains = ladder_chains_at(const_cast<void *>(t->built), t->n, false);
    find_in_chains<<<8 * t->processors, THREADS, 0, stream_of(t)>>>(
        keys_of(t), t->n, chains, static_cast<uint32_t *>(t->out));
    return launched();
}

static const char *run_find_in_slots(const ladder_task *t) {
    find_in_slots<<<8 * t->processors, THREADS, 0, stream_of(t)>>>(
        keys_of(t), t->n, static_cast<const unsigned long long *>(t->built),
        static_cast<uint32_t *>(t->out));
    return launched();
}

const ladder_rung ladder_gpu_find[] = {
    {"short chains", "through the list of the key's bucket", run_find_in_chains, 0},
    {"slots", "from the key's place on: mostly one sector of memory", run_find_in_slots,
     LADDER_SLOTS},
    {"ours", "bf_table_find: buckets of a sector, several keys a thread", ladder_ours_find,
     LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
