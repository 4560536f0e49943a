/* A channel of the kernels of sums over the memory of peers (peers.cuh): its flags and slots. */
#ifndef BF_CUDA_COMM_PEERS_CHANNEL_CUH
#define BF_CUDA_COMM_PEERS_CHANNEL_CUH

#include "cuda/comm/add.cuh"
#include "cuda/comm/peers.cuh"

namespace bf_peers {

/* --- a block's channel --- */

struct channel {
    const bf_peers_params &p;
    int number, role;
    bf_peers_progress before; /* this call */

    __device__ explicit channel(const bf_peers_params &params)
        : p(params), number((int)(p.is_small ? blockIdx.x : blockIdx.x / BF_PEERS_ROLES)),
          role((int)(p.is_small ? 0 : blockIdx.x % BF_PEERS_ROLES)) {
        before = of(p.rank).progress[role];
    }
    __device__ __forceinline__ bf_peers_channel &of(int rank) const {
        return p.memory[rank]->channels[number];
    }
    __device__ __forceinline__ bool has(bf_peers_role which) const {
        return p.is_small || role == which;
    }
    __device__ __forceinline__ bool leads() const { return (int)threadIdx.x < p.ranks; }

    /* This call's letter: calls (40 bits), what ranks must agree on (16), terms of this rank (8).
     */
    __device__ __forceinline__ uint64_t letter() const {
        return (before.calls + 1) << 24 | (uint64_t)p.tag << 8 | (uint64_t)p.job.terms;
    }
    __device__ __forceinline__ int letter_flag() const {
        return BF_PEERS_LETTER + (int)(before.calls % 2);
    }

    /* Begins to tell other ranks what this block has read and written. */
    __device__ __forceinline__ void publish() const {
        __syncthreads();
        if (leads()) __threadfence_system();
    }
    /* Sets a flag on all ranks, this one included. */
    __device__ __forceinline__ void post(int flag, uint64_t value) const {
        if (leads()) bf_cuda_send_flag(&of((int)threadIdx.x).flags[flag][p.rank], value);
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
    /* Returns whether to try again what has failed `tries` times. *begun: 0 at first. */
    __device__ __forceinline__ bool is_patient(unsigned tries, uint64_t *begun) const {
        if (tries % 512 != 0) return true;
        if (is_broken()) return false;
        if (*begun == 0) *begun = bf_cuda_now();
        if (bf_cuda_now() - *begun <= p.limit) return true;
        fail(BF_LINK_LATE);
        return false;
    }

    /* Slot of a step in the memory of `at`, for what another rank writes there. */
    __device__ __forceinline__ char *slot(int at, int from, bool result, uint64_t step) const {
        int64_t i = (result ? p.ranks - 1 : 0) + from - (from > at);
        i = (i * p.channels + number) * BF_PEERS_DEPTH + (int64_t)(step % BF_PEERS_DEPTH);
        return (char *)p.memory[at] + p.slots_at + i * p.slot_bytes;
    }
    /* Packets of a vector in the memory of `at`, for what another rank writes there in this call.
     */
    __device__ __forceinline__ bf_cuda_packet *packets(int at, int from, int vector) const {
        int64_t i = (int64_t)(before.calls % 2) * (p.ranks - 1) + from - (from > at);
        i = (i * p.small_channels + number) * p.small_vectors + vector;
        return (bf_cuda_packet *)(p.memory[at] + 1) + 2 * i;
    }

    /* Counts the call, and its steps. */
    __device__ void end(uint64_t steps, uint64_t result_steps) const {
        if (threadIdx.x != 0) return;
        bf_peers_progress after = {before.calls + 1, before.steps + steps,
                                   before.result_steps + result_steps};
        for (int r = 0; r < BF_PEERS_ROLES; r++)
            if (has((bf_peers_role)r)) of(p.rank).progress[r] = after;
    }

  private:
    __device__ bool poll(const uint64_t *at, uint64_t least, uint64_t *last) const {
        uint64_t begun = 0;
        for (unsigned tries = 1;; tries++) {
            *last = bf_cuda_receive_flag(at);
            if (*last >= least) return true;
            if (!is_patient(tries, &begun)) return false;
        }
    }
};

/* Reports whether some integer did not fit; tells: on all ranks. Returns false if a rank does not
 * come. */
static __device__ bool report_misfit(const channel &c, bool tells, bool misfit) {
    bool ok = true;
    misfit = __syncthreads_or(misfit);
    if (tells) {
        uint64_t call = (c.before.calls + 1) << 1, last = 0;
        int flag = BF_PEERS_CLOSED + (int)(c.before.calls % 2);
        c.post(flag, call | (misfit ? 1 : 0));
        ok = c.wait(flag, call, &last);
        misfit = __syncthreads_or(c.leads() && (last & 1) != 0);
    }
    if (misfit && threadIdx.x == 0) *(volatile uint32_t *)c.p.overflow = 1;
    return ok;
}

} // namespace bf_peers

#endif
