/* The kernel of sums over the memory of peers (peers.cuh). */
#ifndef BF_CUDA_COMM_PEERS_KERNEL_CUH
#define BF_CUDA_COMM_PEERS_KERNEL_CUH

#include "cuda/comm/peers_channel.cuh"
#include "cuda/comm/peers_small.cuh"
#include "cuda/runtime/launch.cuh"

namespace bf_peers {

/* --- how a call is shared out --- */

struct range {
    int64_t first, count;
};

struct shared_memory {
    int terms[BF_LINK_RANKS];
    const void *in[BF_LINK_RANKS * BF_LINK_TERMS];
    uint4 *results[BF_LINK_RANKS];
};

/* What all ranks agree on, when they know each other's number of terms. */
template <bf_dtype D> struct call_plan {
    using E = bf_cuda_add::stored_of<D>;
    static constexpr int N = 16 / (int)sizeof(E);
    static constexpr int LINE = 128 / 16; /* vectors of a cache line */
    /* Bytes that are sent in the time that a second exchange takes to begin. */
    static constexpr int64_t LATENCY = 1 << 19;
    /* A channel's share becomes this many tiles, if they are not too small. */
    static constexpr int LEAST_VECTORS = 256;
    const bf_peers_params &p;
    bool shares;  /* each rank adds a part and sends the sums on */
    int64_t part; /* elements that a rank adds, at most */
    int vectors;  /* how many a tile has */
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
        int64_t rows = (part + N - 1) / N, each = round_up((rows + channels() - 1) / channels());
        int64_t tile = round_up((each + BF_PEERS_PIECES - 1) / BF_PEERS_PIECES);
        int64_t most = p.slot_bytes / 16 / most_terms;
        if (tile < LEAST_VECTORS) tile = each < LEAST_VECTORS ? each : LEAST_VECTORS;
        vectors = (int)(tile < most ? tile : most);
        int64_t tiles = (rows + vectors - 1) / vectors;
        steps = (int)((tiles + channels() - 1) / channels());
    }
    static __device__ __forceinline__ int64_t round_up(int64_t vectors) {
        return (vectors + LINE - 1) / LINE * LINE;
    }
    __device__ __forceinline__ int channels() const { return p.used; }

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

/* Waits for the letters of all ranks. Sets shared->terms and *most. Returns false if ranks
 * disagree, or one does not come. */
static __device__ bool meet(const channel &c, shared_memory *shared, int *most) {
    uint64_t letter = 0;
    if (!c.wait(c.letter_flag(), c.letter() >> 24 << 24, &letter)) return false;
    if (c.leads()) shared->terms[threadIdx.x] = (int)(letter & 0xff);
    if (!__syncthreads_and(!c.leads() || letter >> 8 == c.letter() >> 8)) {
        if (threadIdx.x == 0) c.fail(BF_LINK_DIFFERENT);
        return false;
    }
    *most = 1;
    for (int r = 0; r < c.p.ranks; r++)
        if (shared->terms[r] > *most) *most = shared->terms[r];
    return true;
}

/* --- sending --- */

enum { AT_ONCE = 4 /* vectors of a thread in flight */ };

/* Copies terms of a tile, from vector `first` to `used` of each, into a slot. whole: the vectors
 * are whole and aligned. */
template <bf_dtype D, bool whole>
static __device__ __forceinline__ void send_vectors(const call_plan<D> &plan, range tile, int first,
                                                    int used, uint4 *slot) {
    constexpr int N = call_plan<D>::N, most = whole ? AT_ONCE : 1;
    const bf_sums &job = plan.p.job;
    const auto *in = (const typename call_plan<D>::E *)job.in + tile.first;
    const int each = used - first, all = (int)job.terms * each, stride = (int)blockDim.x;
    BF_ROLLED
    for (int at = (int)threadIdx.x; at < all; at += most * stride) {
        uint4 v[most];
        int to[most];
#pragma unroll
        for (int u = 0; u < most; u++) {
            int k = at + u * stride, term = job.terms == 1 ? 0 : k / each;
            int vector = first + k - term * each;
            const auto *from = in + term * job.n + (int64_t)vector * N;
            to[u] = term * plan.vectors + vector;
            if (whole && k < all)
                v[u] = __ldcg((const uint4 *)from);
            else if (!whole)
                v[u] = bf_cuda_add::load_part(from, tile.count - (int64_t)vector * N);
        }
#pragma unroll
        for (int u = 0; u < most; u++)
            if (at + u * stride < all) slot[to[u]] = v[u];
    }
}

/* Are the terms of a tile, and what stands for it at `out`, made of aligned vectors? */
template <bf_dtype D>
static __device__ __forceinline__ bool is_aligned(const bf_sums &job, range tile, const void *out) {
    uintptr_t between = job.terms > 1 ? (uintptr_t)job.n : 0;
    uintptr_t elements = (uintptr_t)tile.first | between;
    uintptr_t all = (elements * sizeof(typename call_plan<D>::E)) | (uintptr_t)job.in;
    return (all | (uintptr_t)out) % 16 == 0;
}

template <bf_dtype D>
static __device__ bool send_step(const channel &c, const call_plan<D> &plan, int i) {
    constexpr int N = call_plan<D>::N;
    uint64_t step = c.before.steps + (uint64_t)i + 1;
    if (!c.wait_for_slots(BF_PEERS_ADDED, step)) return false;
    BF_ROLLED
    for (int k = 1; k < c.p.ranks; k++) {
        int rank = (c.p.rank + k) % c.p.ranks;
        range tile = plan.tile(rank, c.number, i);
        if (tile.count <= 0) continue;
        uint4 *slot = (uint4 *)c.slot(rank, c.p.rank, false, step);
        int used = (int)((tile.count + N - 1) / N);
        int full = is_aligned<D>(c.p.job, tile, NULL) ? (int)(tile.count / N) : 0;
        send_vectors<D, true>(plan, tile, 0, full, slot);
        send_vectors<D, false>(plan, tile, full, used, slot);
    }
    c.publish();
    c.post(BF_PEERS_SENT, step);
    return true;
}

/* --- adding --- */

/* Lists where the terms of a tile are: those of this rank, and in slots those of others; and the
 * slots for the sums. */
template <bf_dtype D>
static __device__ int list_terms(const channel &c, const call_plan<D> &plan, range tile,
                                 uint64_t step, uint64_t result_step, shared_memory *shared) {
    using E = typename call_plan<D>::E;
    int n = 0;
    for (int r = 0; r < c.p.ranks; r++) {
        const E *from = (const E *)c.p.job.in + tile.first;
        int64_t next = c.p.job.n;
        bool other = r != c.p.rank;
        if (other) {
            from = (const E *)c.slot(c.p.rank, r, false, step);
            next = (int64_t)plan.vectors * plan.N;
        }
        for (int t = (int)threadIdx.x; t < shared->terms[r]; t += (int)blockDim.x)
            shared->in[n + t] = from + t * next;
        n += shared->terms[r];
        if (threadIdx.x == 0)
            shared->results[r] = other && plan.shares && plan.wants_results(r)
                                     ? (uint4 *)c.slot(r, c.p.rank, true, result_step)
                                     : NULL;
    }
    __syncthreads();
    return n;
}

/* Where the sums of a tile go: to this rank's result, and to slots of ranks that want them. */
template <bf_dtype D> struct tile_sums {
    using E = typename call_plan<D>::E;
    static constexpr int N = call_plan<D>::N;
    const shared_memory *shared;
    int ranks; /* so many have slots */
    E *out;
    int64_t count;

    __device__ __forceinline__ tile_sums(const channel &c, const call_plan<D> &plan, range tile,
                                         const shared_memory *memory)
        : shared(memory), ranks(plan.shares ? c.p.ranks : 0), out(NULL), count(tile.count) {
        const bf_sums &job = c.p.job;
        int64_t first = job.to == BF_SUMS_TO_OWNERS ? c.p.rank * plan.part : 0;
        if (job.to != BF_SUMS_TO_ROOT || c.p.rank == job.root)
            out = (E *)job.out + tile.first - first;
    }
    template <bool whole> __device__ __forceinline__ void store(int vector, uint4 v) const {
        if (whole && out != NULL)
            ((uint4 *)out)[vector] = v;
        else if (out != NULL)
            bf_cuda_add::store_part(out + vector * N, count - vector * N, v);
        BF_ROLLED
        for (int r = 0; r < ranks; r++)
            if (shared->results[r] != NULL) shared->results[r][vector] = v;
    }
};

template <bf_dtype D>
static __device__ bool add_step(const channel &c, const call_plan<D> &plan, int i,
                                shared_memory *shared, bool *misfit) {
    constexpr int N = call_plan<D>::N;
    uint64_t step = c.before.steps + (uint64_t)i + 1;
    uint64_t result_step = c.before.result_steps + (uint64_t)i + 1;
    if (!c.wait(BF_PEERS_SENT, step)) return false;
    if (plan.shares && !c.wait_for_slots(BF_PEERS_RESULTS_TAKEN, result_step)) return false;
    range tile = plan.tile(c.p.rank, c.number, i);
    int terms = list_terms(c, plan, tile, step, result_step, shared);
    tile_sums<D> sums(c, plan, tile, shared);
    int used = tile.count <= 0 ? 0 : (int)((tile.count + N - 1) / N);
    int full = used > 0 && is_aligned<D>(c.p.job, tile, sums.out) ? (int)(tile.count / N) : 0;
    bf_cuda_add::share share = {(int)threadIdx.x, (int)blockDim.x};
    if (terms == 2)
        *misfit |= bf_cuda_add::add_pairs<D>(sums, shared->in, share, full);
    else if (full > 0)
        *misfit |= bf_cuda_add::add_vectors<D, true>(sums, shared->in, terms, share, full);
    share.first += full;
    if (full < used)
        *misfit |= bf_cuda_add::add_vectors<D, false>(sums, shared->in, terms, share, used);
    c.publish();
    c.post(BF_PEERS_ADDED, step);
    if (plan.shares) c.post(BF_PEERS_RESULTS_SENT, result_step);
    return true;
}

/* --- taking the sums of others --- */

/* Copies elements from vector `first` to `used` out of a slot. whole: as above. */
template <class E, bool whole>
static __device__ __forceinline__ void take_vectors(E *to, const uint4 *from, int64_t count,
                                                    int first, int used) {
    constexpr int N = 16 / (int)sizeof(E), most = whole ? AT_ONCE : 1;
    const int stride = (int)blockDim.x;
    BF_ROLLED
    for (int at = first + (int)threadIdx.x; at < used; at += most * stride) {
        uint4 v[most];
#pragma unroll
        for (int u = 0; u < most; u++)
            if (at + u * stride < used) v[u] = __ldcg(from + at + u * stride);
        if (!whole) bf_cuda_add::store_part(to + (int64_t)at * N, count - (int64_t)at * N, v[0]);
#pragma unroll
        for (int u = 0; u < most; u++)
            if (whole && at + u * stride < used) ((uint4 *)to)[at + u * stride] = v[u];
    }
}

template <bf_dtype D>
static __device__ bool take_step(const channel &c, const call_plan<D> &plan, int i) {
    using E = typename call_plan<D>::E;
    const bf_peers_params &p = c.p;
    uint64_t step = c.before.result_steps + (uint64_t)i + 1;
    if (!c.wait(BF_PEERS_RESULTS_SENT, step)) return false;
    BF_ROLLED
    for (int k = 1; k < p.ranks && plan.wants_results(p.rank); k++) {
        int rank = (p.rank + k) % p.ranks;
        range tile = plan.tile(rank, c.number, i);
        const uint4 *from = (const uint4 *)c.slot(p.rank, rank, true, step);
        E *to = (E *)p.job.out + tile.first;
        int used = tile.count <= 0 ? 0 : (int)((tile.count + plan.N - 1) / plan.N);
        int full = used > 0 && (uintptr_t)to % 16 == 0 ? (int)(tile.count / plan.N) : 0;
        take_vectors<E, true>(to, from, tile.count, 0, full);
        take_vectors<E, false>(to, from, tile.count, full, used);
    }
    c.publish();
    c.post(BF_PEERS_RESULTS_TAKEN, step);
    return true;
}

/* --- the kernel --- */

/* Does all steps of this block. One that has every role sends ahead of what it adds: a small call
 * whose ranks have several terms. */
template <bf_dtype D>
static __device__ bool do_steps(const channel &c, const call_plan<D> &plan, shared_memory *shared,
                                bool *misfit) {
    const int lag = c.p.is_small ? 1 : 0;
    BF_ROLLED
    for (int i = 0; i < plan.steps + 2 * lag; i++) {
        int add = i - lag, take = i - 2 * lag;
        if (c.has(BF_PEERS_SENDER) && i < plan.steps && !send_step(c, plan, i)) return false;
        if (c.has(BF_PEERS_ADDER) && add >= 0 && add < plan.steps &&
            !add_step(c, plan, add, shared, misfit))
            return false;
        if (c.has(BF_PEERS_TAKER) && plan.shares && take >= 0 && !take_step(c, plan, take))
            return false;
    }
    return true;
}

template <bf_dtype D> static __device__ void add_in_steps(const channel &c, shared_memory *shared) {
    int most = 1;
    bool misfit = false;
    if (!meet(c, shared, &most)) return;
    const call_plan<D> plan(c.p, most);
    if (!do_steps(c, plan, shared, &misfit)) return;
    bool all_add_all = c.p.job.to == BF_SUMS_TO_ALL && !plan.shares;
    if (bf_cuda_element::is_integer(D) && c.has(BF_PEERS_ADDER) &&
        !report_misfit(c, !all_add_all, misfit))
        return;
    c.end((uint64_t)plan.steps, plan.shares ? (uint64_t)plan.steps : 0);
}

template <bf_dtype D>
__global__ void __launch_bounds__(BF_PEERS_THREADS, BF_PEERS_ROLES)
    add_ranks(const __grid_constant__ bf_peers_params p) {
    __shared__ shared_memory shared;
    bf_cuda_wait_for_previous();
    channel c(p);
    if (__syncthreads_or(threadIdx.x == 0 && c.is_broken())) return;
    if (c.has(BF_PEERS_SENDER)) c.post(c.letter_flag(), c.letter());
    if (p.is_small) {
        small_outcome outcome = add_small<D>(c);
        if (outcome == SMALL_DONE) c.end(0, 0);
        if (outcome != SMALL_TERMS) return;
    }
    add_in_steps<D>(c, &shared);
}

} // namespace bf_peers

#endif
