/* The kernel of sums over the memory of peers (peers.cuh). */
#ifndef BF_CUDA_COMM_PEERS_KERNEL_CUH
#define BF_CUDA_COMM_PEERS_KERNEL_CUH

#include "cuda/comm/add.cuh"
#include "cuda/comm/peers.cuh"

namespace bf_peers {

/* --- memory of other ranks --- */

static __device__ __forceinline__ void store_flag(uint64_t *at, uint64_t value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

/* What another rank wrote before this flag is seen after it. */
static __device__ __forceinline__ uint64_t load_flag(const uint64_t *at) {
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

static __device__ __forceinline__ uint64_t now() {
    uint64_t ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

/* --- a block's channel --- */

struct channel {
    const bf_peers_params &p;
    int number;
    bf_peers_role role;
    bf_peers_progress before; /* this call */

    __device__ explicit channel(const bf_peers_params &params)
        : p(params), number((int)blockIdx.x / BF_PEERS_ROLES),
          role((bf_peers_role)(blockIdx.x % BF_PEERS_ROLES)) {
        before = of(p.rank).progress[role];
    }
    __device__ __forceinline__ bf_peers_channel &of(int rank) const {
        return p.memory[rank]->channels[number];
    }
    __device__ __forceinline__ bool leads() const { return (int)threadIdx.x < p.ranks; }

    /* Begins to tell other ranks what this block has read and written. */
    __device__ __forceinline__ void publish() const {
        __syncthreads();
        if (leads()) __threadfence_system();
    }
    /* Sets a flag on all ranks, this one included. */
    __device__ __forceinline__ void post(int flag, uint64_t value) const {
        if (leads()) store_flag(&of((int)threadIdx.x).flags[flag][p.rank], value);
    }
    /* Waits until a flag of every rank is `least` or more. Returns false in all threads if a rank
     * did not set it. *last: what thread r read of rank r. */
    __device__ __forceinline__ bool wait(int flag, uint64_t least, uint64_t *last) const {
        bool ok = true;
        if (leads()) ok = poll(&of(p.rank).flags[flag][threadIdx.x], least, last);
        return __syncthreads_and(ok);
    }
    __device__ __forceinline__ bool wait(int flag, uint64_t least) const {
        uint64_t last;
        return wait(flag, least, &last);
    }
    /* Waits until the slots of a step are free. */
    __device__ __forceinline__ bool wait_for_slots(int flag, uint64_t step) const {
        return step <= BF_PEERS_DEPTH || wait(flag, step - BF_PEERS_DEPTH);
    }

    /* Ends the work of all ranks. */
    __device__ void fail(bf_cuda_link_fault fault) const {
        for (int r = 0; r < p.ranks; r++) *(volatile uint32_t *)&p.memory[r]->broken = fault;
        *(volatile uint32_t *)&p.report->broken = fault;
    }
    /* Has some rank failed? */
    __device__ bool is_broken() const {
        uint32_t fault = *(volatile uint32_t *)&p.memory[p.rank]->broken;
        if (fault != BF_LINK_WHOLE) *(volatile uint32_t *)&p.report->broken = fault;
        return fault != BF_LINK_WHOLE;
    }

    /* Slot of a step in the memory of `at`, for what `from` writes there. */
    __device__ __forceinline__ char *slot(int at, int from, bool result, uint64_t step) const {
        int64_t i = (int64_t)(result ? p.ranks : 0) + from;
        i = (i * p.channels + number) * BF_PEERS_DEPTH + (int64_t)(step % BF_PEERS_DEPTH);
        return (char *)(p.memory[at] + 1) + i * p.slot_bytes;
    }

  private:
    __device__ bool poll(const uint64_t *at, uint64_t least, uint64_t *last) const {
        uint64_t begun = 0;
        for (unsigned tries = 1;; tries++) {
            *last = load_flag(at);
            if (*last >= least) return true;
            if (tries % 512 != 0) continue;
            if (is_broken()) return false;
            if (begun == 0) begun = now();
            if (now() - begun > p.limit) {
                fail(BF_LINK_LATE);
                return false;
            }
        }
    }
};

/* --- how a call is shared out --- */

struct range {
    int64_t first, count;
};

struct shared_memory {
    int terms[BF_LINK_RANKS];
    const void *in[BF_LINK_RANKS * BF_LINK_TERMS];
};

/* What all ranks agree on, when they know each other's number of terms. */
template <bf_dtype D> struct call_plan {
    using E = bf_cuda_add::stored_of<D>;
    static constexpr int N = 16 / (int)sizeof(E);
    static constexpr int LINE = 128 / 16; /* vectors of a cache line */
    /* Bytes that are sent in the time that a second exchange takes to begin. */
    static constexpr int64_t LATENCY = 1 << 19;
    const bf_peers_params &p;
    bool shares;  /* each rank adds a part and sends the sums on */
    int64_t part; /* elements that a rank adds, at most */
    int vectors;  /* of a tile */
    int steps;

    __device__ call_plan(const bf_peers_params &params, int most_terms) : p(params) {
        const bf_sums &job = p.job;
        int64_t all = (job.n + N - 1) / N, mine = (all + p.ranks - 1) / p.ranks;
        int64_t once = (p.ranks - 1) * most_terms * job.n;
        int64_t twice = (p.ranks - 1) * (most_terms + 1) * job.n / p.ranks;
        shares = job.to != BF_SUMS_TO_OWNERS && (once - twice) * (int64_t)sizeof(E) > LATENCY;
        part = job.to == BF_SUMS_TO_OWNERS ? job.n / p.ranks
               : shares                    ? (mine + LINE - 1) / LINE * LINE * N
                                           : job.n;
        int64_t rows = (part + N - 1) / N, each = (rows + channels() - 1) / channels();
        int64_t most = p.slot_bytes / 16 / most_terms;
        each = (each + LINE - 1) / LINE * LINE;
        vectors = (int)(each < most ? each : most);
        int64_t tiles = (rows + vectors - 1) / vectors;
        steps = (int)((tiles + channels() - 1) / channels());
    }
    static __device__ __forceinline__ int channels() { return (int)gridDim.x / BF_PEERS_ROLES; }

    /* Elements of a step's tile, among those that a rank adds; count may be 0 or less. */
    __device__ __forceinline__ range tile(int rank, int channel, int step) const {
        range r = {0, p.job.n};
        if (shares || p.job.to == BF_SUMS_TO_OWNERS) r.first = rank * part;
        if (p.job.to == BF_SUMS_TO_OWNERS) r.count = r.first + part;
        if (shares && r.first + part < r.count) r.count = r.first + part;
        if (!shares && p.job.to == BF_SUMS_TO_ROOT && rank != p.job.root) r.count = 0;
        int64_t skip = ((int64_t)step * channels() + channel) * vectors * N;
        r.first += skip;
        r.count -= r.first;
        if (r.count > (int64_t)vectors * N) r.count = (int64_t)vectors * N;
        return r;
    }
    __device__ __forceinline__ bool wants_results(int rank) const {
        return p.job.to == BF_SUMS_TO_ALL || rank == p.job.root;
    }
};

/* --- the letter --- */

/* Exchanges arguments: calls (40 bits), tag (16), terms (8). Sets shared->terms and *most. Returns
 * false if ranks disagree, or one does not come. */
static __device__ bool meet(const channel &c, shared_memory *shared, int *most) {
    uint64_t call = (c.before.calls + 1) << 24, letter = 0;
    int flag = BF_PEERS_LETTER + (int)(c.before.calls % 2);
    uint64_t mine = call | (uint64_t)c.p.tag << 8 | (uint64_t)c.p.job.terms;
    if (c.role == BF_PEERS_SENDER) c.post(flag, mine);
    if (!c.wait(flag, call, &letter)) return false;
    if (c.leads()) shared->terms[threadIdx.x] = (int)(letter & 0xff);
    if (!__syncthreads_and(!c.leads() || letter >> 8 == mine >> 8)) {
        if (threadIdx.x == 0) c.fail(BF_LINK_DIFFERENT);
        return false;
    }
    *most = 1;
    for (int r = 0; r < c.p.ranks; r++)
        if (shared->terms[r] > *most) *most = shared->terms[r];
    return true;
}

/* --- the sender --- */

enum { AT_ONCE = 4 /* vectors of a thread in flight */ };

template <bf_dtype D>
static __device__ bool send_terms(const channel &c, const call_plan<D> &plan) {
    using E = typename call_plan<D>::E;
    constexpr int N = call_plan<D>::N;
    const bf_peers_params &p = c.p;
    const int each = (int)p.job.terms * plan.vectors, all = (p.ranks - 1) * each;
    BF_ROLLED
    for (int i = 0; i < plan.steps; i++) {
        uint64_t step = c.before.steps + (uint64_t)i + 1;
        if (!c.wait_for_slots(BF_PEERS_ADDED, step)) return false;
        for (int at = (int)threadIdx.x; at < all; at += AT_ONCE * BF_PEERS_THREADS) {
            uint4 v[AT_ONCE], *to[AT_ONCE];
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++) {
                int k = at + u * BF_PEERS_THREADS;
                int rank = k / each, term = k % each / plan.vectors, vector = k % plan.vectors;
                rank += rank >= p.rank;
                range tile = k < all ? plan.tile(rank, c.number, i) : range{0, 0};
                int64_t left = tile.count - (int64_t)vector * N;
                to[u] = NULL;
                if (left <= 0) continue;
                const E *from = (const E *)p.job.in + term * p.job.n + tile.first;
                v[u] = bf_cuda_add::load_part(from + vector * N, left);
                to[u] = (uint4 *)c.slot(rank, p.rank, false, step) + k % each;
            }
#pragma unroll
            for (int u = 0; u < AT_ONCE; u++)
                if (to[u] != NULL) *to[u] = v[u];
        }
        c.publish();
        c.post(BF_PEERS_SENT, step);
    }
    return true;
}

/* --- the adder --- */

/* Lists where the terms of a tile are: those of this rank, and in slots those of others. */
template <bf_dtype D>
static __device__ int list_terms(const channel &c, const call_plan<D> &plan, range tile,
                                 uint64_t step, shared_memory *shared) {
    using E = typename call_plan<D>::E;
    int n = 0;
    for (int r = 0; r < c.p.ranks; r++) {
        const E *from = (const E *)c.p.job.in + tile.first;
        int64_t next = c.p.job.n;
        if (r != c.p.rank) {
            from = (const E *)c.slot(c.p.rank, r, false, step);
            next = (int64_t)plan.vectors * plan.N;
        }
        for (int t = (int)threadIdx.x; t < shared->terms[r]; t += BF_PEERS_THREADS)
            shared->in[n + t] = from + t * next;
        n += shared->terms[r];
    }
    __syncthreads();
    return n;
}

/* Where the sums of a tile go: to this rank's result, and to slots of ranks that want them. */
template <bf_dtype D> struct tile_sums {
    using E = typename call_plan<D>::E;
    const channel &c;
    const call_plan<D> &plan;
    uint64_t step;
    E *out;
    int64_t count;

    __device__ __forceinline__ tile_sums(const channel &of, const call_plan<D> &by, range tile,
                                         uint64_t result_step)
        : c(of), plan(by), step(result_step), out(NULL), count(tile.count) {
        const bf_sums &job = c.p.job;
        int64_t first = job.to == BF_SUMS_TO_OWNERS ? c.p.rank * plan.part : 0;
        if (job.to != BF_SUMS_TO_ROOT || c.p.rank == job.root)
            out = (E *)job.out + tile.first - first;
    }
    __device__ __forceinline__ void store(int vector, uint4 v) const {
        if (out != NULL) bf_cuda_add::store_part(out + vector * plan.N, count - vector * plan.N, v);
        BF_ROLLED
        for (int r = 0; r < c.p.ranks && plan.shares; r++)
            if (r != c.p.rank && plan.wants_results(r))
                ((uint4 *)c.slot(r, c.p.rank, true, step))[vector] = v;
    }
};

/* Adds the terms of a tile. */
template <bf_dtype D, bool whole>
static __device__ __forceinline__ void add_tile(const tile_sums<D> &sums, const void *const *in,
                                                int terms, bool *misfit) {
    using batch = bf_cuda_add::batch<D, whole>;
    const int used = (int)((sums.count + batch::N - 1) / batch::N);
    BF_ROLLED
    for (int at = (int)threadIdx.x; at < used; at += batch::vectors * BF_PEERS_THREADS) {
        batch b;
        b.add(in, terms, sums.count, at, BF_PEERS_THREADS);
#pragma unroll
        for (int u = 0; u < batch::vectors; u++) {
            int vector = at + u * BF_PEERS_THREADS;
            if (bf_cuda_element::is_integer(D))
                *misfit |= b.failed[u] != 0;
            else if (b.failed[u] != 0)
                b.out[u] = bf_cuda_add::add_by_integers<D>(b.out[u], b.failed[u], in, terms,
                                                           (int64_t)vector * batch::N);
            if (vector < used) sums.store(vector, b.out[u]);
        }
    }
}

/* Are a tile's terms and sums made of aligned vectors? */
template <bf_dtype D>
static __device__ bool is_aligned(const channel &c, const tile_sums<D> &sums, range tile) {
    const bf_sums &job = c.p.job;
    uintptr_t between = job.terms > 1 ? (uintptr_t)job.n : 0;
    uintptr_t elements = (uintptr_t)tile.first | (uintptr_t)tile.count | between;
    return ((elements * sizeof(*sums.out)) | (uintptr_t)job.in | (uintptr_t)sums.out) % 16 == 0;
}

template <bf_dtype D>
static __device__ bool add_terms(const channel &c, const call_plan<D> &plan, shared_memory *shared,
                                 bool *misfit) {
    BF_ROLLED
    for (int i = 0; i < plan.steps; i++) {
        uint64_t step = c.before.steps + (uint64_t)i + 1;
        uint64_t result_step = c.before.result_steps + (uint64_t)i + 1;
        if (!c.wait(BF_PEERS_SENT, step)) return false;
        if (plan.shares && !c.wait_for_slots(BF_PEERS_RESULTS_TAKEN, result_step)) return false;
        range tile = plan.tile(c.p.rank, c.number, i);
        int terms = list_terms(c, plan, tile, step, shared);
        tile_sums<D> sums(c, plan, tile, result_step);
        if (is_aligned(c, sums, tile))
            add_tile<D, true>(sums, shared->in, terms, misfit);
        else
            add_tile<D, false>(sums, shared->in, terms, misfit);
        c.publish();
        c.post(BF_PEERS_ADDED, step);
        if (plan.shares) c.post(BF_PEERS_RESULTS_SENT, result_step);
    }
    return true;
}

/* Tells all ranks whether some integer did not fit. Returns false if a rank does not come. */
static __device__ bool close_call(const channel &c, bool *misfit) {
    uint64_t call = (c.before.calls + 1) << 1, last = 0;
    int flag = BF_PEERS_CLOSED + (int)(c.before.calls % 2);
    c.post(flag, call | (*misfit ? 1 : 0));
    bool ok = c.wait(flag, call, &last);
    *misfit = __syncthreads_or(c.leads() && (last & 1) != 0);
    return ok;
}

template <bf_dtype D>
static __device__ bool add_and_report(const channel &c, const call_plan<D> &plan,
                                      shared_memory *shared) {
    bool misfit = false;
    if (!add_terms(c, plan, shared, &misfit)) return false;
    if (!bf_cuda_element::is_integer(D)) return true;
    bool all_add_all = c.p.job.to == BF_SUMS_TO_ALL && !plan.shares;
    misfit = __syncthreads_or(misfit);
    bool ok = all_add_all || close_call(c, &misfit);
    if (misfit && threadIdx.x == 0) *(volatile uint32_t *)c.p.overflow = 1;
    return ok;
}

/* --- the taker --- */

template <bf_dtype D>
static __device__ bool take_results(const channel &c, const call_plan<D> &plan) {
    using E = typename call_plan<D>::E;
    constexpr int N = call_plan<D>::N;
    const bf_peers_params &p = c.p;
    const int all = plan.wants_results(p.rank) ? (p.ranks - 1) * plan.vectors : 0;
    BF_ROLLED
    for (int i = 0; i < plan.steps; i++) {
        uint64_t step = c.before.result_steps + (uint64_t)i + 1;
        if (!c.wait(BF_PEERS_RESULTS_SENT, step)) return false;
        for (int at = (int)threadIdx.x; at < all; at += BF_PEERS_THREADS) {
            int rank = at / plan.vectors, vector = at % plan.vectors;
            rank += rank >= p.rank;
            range tile = plan.tile(rank, c.number, i);
            int64_t left = tile.count - (int64_t)vector * N;
            if (left <= 0) continue;
            const uint4 *from = (const uint4 *)c.slot(p.rank, rank, true, step) + vector;
            bf_cuda_add::store_part((E *)p.job.out + tile.first + vector * N, left, __ldcg(from));
        }
        c.publish();
        c.post(BF_PEERS_RESULTS_TAKEN, step);
    }
    return true;
}

/* --- the kernel --- */

template <bf_dtype D>
__global__ void __launch_bounds__(BF_PEERS_THREADS, 3)
    add_ranks(const __grid_constant__ bf_peers_params p) {
    __shared__ shared_memory shared;
    channel c(p);
    int most = 1;
    if (__syncthreads_or(threadIdx.x == 0 && c.is_broken()) || !meet(c, &shared, &most)) return;
    const call_plan<D> plan(p, most);
    bool ok = true;
    switch (c.role) {
    case BF_PEERS_SENDER: ok = send_terms(c, plan); break;
    case BF_PEERS_ADDER: ok = add_and_report(c, plan, &shared); break;
    default: ok = !plan.shares || take_results(c, plan);
    }
    if (!ok || threadIdx.x != 0) return;
    bf_peers_progress *after = &c.of(p.rank).progress[c.role];
    after->calls = c.before.calls + 1;
    after->steps = c.before.steps + (uint64_t)plan.steps;
    after->result_steps = c.before.result_steps + (plan.shares ? (uint64_t)plan.steps : 0);
}

} // namespace bf_peers

#endif
