/* Small sums over the memory of peers, in one exchange: every rank sends its term to all that want
 * the sums, and adds what it gets.
 *
 * A packet is 16 bytes, written and read at once: 8 bytes of elements, and this call's letter. So a
 * rank needs no flag to know that they have come. Two calls' packets lie beside each other. A rank
 * that writes those of the next but one call has received the next call's of all ranks: they have
 * read this one's. Where a rank has several terms, all ranks see so in its packets, and the call
 * goes on in steps. */
#ifndef BF_CUDA_COMM_PEERS_SMALL_CUH
#define BF_CUDA_COMM_PEERS_SMALL_CUH

#include "cuda/comm/peers_channel.cuh"

namespace bf_peers {

enum small_outcome { SMALL_DONE, SMALL_TERMS /* a rank has several */, SMALL_FAILED };

template <bf_dtype D> struct small_call {
    using E = bf_cuda_add::stored_of<D>;
    static constexpr int N = 16 / (int)sizeof(E);
    const channel &c;
    const bf_peers_params &p;
    int64_t part; /* elements that a rank adds */
    bool several; /* a rank has several terms */
    bool failed, misfit;

    __device__ explicit small_call(const channel &of)
        : c(of), p(of.p), part(p.job.n), several(p.job.terms > 1), failed(false), misfit(false) {
        if (p.job.to == BF_SUMS_TO_OWNERS) part /= p.ranks;
    }
    __device__ __forceinline__ int64_t row(int u) const {
        return ((int64_t)u * p.used + c.number) * blockDim.x + threadIdx.x;
    }
    __device__ __forceinline__ bool has_row(int u) const { return row(u) * N < part; }
    __device__ __forceinline__ int place(int u) const {
        return u * (int)blockDim.x + (int)threadIdx.x;
    }

    /* Returns this rank's vector, among those that a rank adds. */
    __device__ __forceinline__ uint4 load(int u, int rank) const {
        int64_t first = row(u) * N, base = p.job.to == BF_SUMS_TO_OWNERS ? rank * part : 0;
        return bf_cuda_add::load_part((const E *)p.job.in + base + first, part - first);
    }
    __device__ __forceinline__ void send(int u) const {
        const uint64_t letter = c.letter();
        BF_ROLLED
        for (int k = 1; k < p.ranks; k++) {
            int rank = (p.rank + k) % p.ranks;
            uint4 v = load(u, rank);
            bf_cuda_packet *at = c.packets(rank, p.rank, place(u));
            bf_cuda_send_packet(at, (uint64_t)v.y << 32 | v.x, letter);
            bf_cuda_send_packet(at + 1, (uint64_t)v.w << 32 | v.z, letter);
        }
    }
    /* Waits for the vector of another rank. */
    __device__ __forceinline__ uint4 receive(int u, int rank) {
        const bf_cuda_packet *at = c.packets(p.rank, rank, place(u));
        const uint64_t letter = c.letter();
        bf_cuda_packet a, b;
        uint64_t begun = 0;
        for (unsigned tries = 1;; tries++) {
            a = bf_cuda_receive_packet(at);
            b = bf_cuda_receive_packet(at + 1);
            if (a.y >> 24 == letter >> 24 && b.y >> 24 == letter >> 24) break;
            if (!failed && c.is_patient(tries, &begun) && (tries % 512 != 0 || agrees(rank)))
                continue;
            failed = true;
            break;
        }
        if (!failed && a.y >> 8 != letter >> 8) refuse();
        several |= (a.y & 0xff) != 1;
        return {(uint32_t)a.x, (uint32_t)(a.x >> 32), (uint32_t)b.x, (uint32_t)(b.x >> 32)};
    }
    /* Adds the vectors of all ranks. */
    __device__ __forceinline__ void add(int u) {
        uint4 own = load(u, p.rank), sum;
        if (p.ranks == 2) {
            uint4 other = receive(u, 1 - p.rank);
            sum = bf_cuda_add::add_pair<D>(own, other, &misfit);
        } else {
            sum = add_many(u, own);
        }
        bool gets = p.job.to != BF_SUMS_TO_ROOT || p.rank == p.job.root;
        if (failed || several || !gets) return;
        bf_cuda_add::store_part((E *)p.job.out + row(u) * N, part - row(u) * N, sum);
    }

  private:
    /* Has another rank that has begun this call the same arguments? */
    __device__ bool agrees(int rank) {
        uint64_t other = bf_cuda_receive_flag(&c.of(p.rank).flags[c.letter_flag()][rank]);
        if (other >> 24 != c.letter() >> 24 || other >> 8 == c.letter() >> 8) return true;
        refuse();
        return false;
    }
    __device__ void refuse() {
        c.fail(BF_LINK_DIFFERENT);
        failed = true;
    }
    __device__ uint4 add_many(int u, uint4 own) {
        uint4 terms[BF_LINK_RANKS], sum;
        const void *in[BF_LINK_RANKS];
        unsigned which;
        bf_cuda_add::chain<D> chain;
        chain.begin(own);
        BF_ROLLED
        for (int k = 0; k < p.ranks; k++) {
            in[k] = &terms[k];
            terms[k] = k == p.rank ? own : receive(u, k);
            if (k != p.rank) chain.add(terms[k]);
        }
        chain.finish(part - row(u) * N, &sum, &which);
        if (bf_cuda_element::is_integer(D))
            misfit |= which != 0;
        else if (which != 0 && !failed && !several)
            sum = bf_cuda_add::add_by_integers<D>(sum, which, in, p.ranks, 0);
        return sum;
    }
};

template <bf_dtype D> static __device__ __noinline__ small_outcome add_small(const channel c) {
    small_call<D> call(c);
#pragma unroll
    for (int u = 0; u < BF_PEERS_SMALL_ROWS; u++)
        if (call.has_row(u)) call.send(u);
#pragma unroll
    for (int u = 0; u < BF_PEERS_SMALL_ROWS; u++)
        if (call.has_row(u)) call.add(u);
    if (__syncthreads_or(call.failed)) return SMALL_FAILED;
    if (__syncthreads_or(call.several)) return SMALL_TERMS;
    if (!bf_cuda_element::is_integer(D)) return SMALL_DONE;
    bool tells = c.p.job.to == BF_SUMS_TO_OWNERS;
    return report_misfit(c, tells, call.misfit) ? SMALL_DONE : SMALL_FAILED;
}

} // namespace bf_peers

#endif
