/* Values of batches: they are added to accumulators in shared memory, and these to the groups (step
 * 3 of batch.cuh). If batches have few groups, there are several copies of each accumulator, up to
 * one for each lane, so that lanes do not wait for each other.
 *
 * Limbs were prepared by a sample of the values (cuda/reduce/aggregate_band.cu). The first pass
 * leaves values that do not fit out, and notes this. Then a pass over all values prepares limbs for
 * them, and another absorbs those that were left out. So one value that no sample shows (a NaN, a
 * -0, 1e300 among ones) costs two more passes; the sums are the same bits. */
#include "cuda/group/batch_sum.cuh"

namespace {

/* --- extremes --- */

struct Extremes {
    static constexpr bf_dtype dtype = BF_NONE;
    static constexpr bool pairs = false;
    static constexpr int WORDS = 2, AHEAD = 4;
    static __device__ __forceinline__ long long *key_at(const batch_view &v, unsigned at) {
        return (long long *)v.words + at;
    }
    static __device__ __forceinline__ void absorb(const batch_values_params &p, const batch_view &v,
                                                  const row_bits *rows, const unsigned *entry,
                                                  int n) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (k < n) absorb(p, v, rows[k].a, entry[k]);
    }
    static __device__ __forceinline__ void absorb(const batch_values_params &p, const batch_view &v,
                                                  uint64_t bits, unsigned entry) {
        const bf_cuda_aggregate_params &c = p.aggregate;
        if (bf_dtype_is_float(c.dtype) && bf_is_nan(bf_format_of(c.dtype), bits)) {
            bf_cuda_count_special(c, v.number(p, entry), BF_SUM_NAN, 1);
            return;
        }
        long long key = bf_order_rank(c.dtype, bits) ^ (c.greatest ? -1 : 0);
        long long *least = key_at(v, entry * v.copies + v.copy);
        if (key < *(volatile long long *)least) atomicMin(least, key);
    }
    static __device__ void clear(const batch_values_params &p, batch_view &v) {
        for (unsigned i = threadIdx.x; i < v.stride; i += BF_CUDA_BATCH_THREADS)
            *key_at(v, i) = INT64_MAX;
    }
    static __device__ void finish(const batch_values_params &p, const batch_view &v) {
        for (unsigned i = threadIdx.x; i < v.batch.groups; i += BF_CUDA_BATCH_THREADS) {
            long long least = INT64_MAX;
            for (unsigned c = 0; c < v.copies; c++)
                least = min(least, *key_at(v, i * v.copies + c));
            atomicMin((long long *)p.aggregate.keys + v.number(p, i), least);
        }
    }
};

/* --- sums and extremes --- */

/* Rows `row`, row + BF_CUDA_BATCH_THREADS, and so on. */
template <int AHEAD> struct some_rows {
    row_bits bits[AHEAD];
    unsigned slot[AHEAD];
    int n; /* rows that there are; the rest is 0 */
};

/* A value as its Side takes it: floats of 16 bits as f32. */
template <class Side, int Bytes>
__device__ __forceinline__ uint64_t load_value(const batch_values_params &p, const char *values,
                                               size_t i) {
    const int bytes = Bytes > 0 ? Bytes : p.aggregate.bytes;
    const uint64_t bits = bf_cuda_element::load_bits(values, bytes, (int64_t)i);
    if constexpr (Side::dtype != BF_F32 || Bytes != 2) return bits;
    return bf_cuda_element::bits_of(p.aggregate.dtype == BF_F16
                                        ? bf_cuda_element::widen_f16((uint16_t)bits)
                                        : bf_cuda_element::widen_bf16((uint16_t)bits));
}

template <class Side, int Bytes>
__device__ __forceinline__ row_bits load_row(const batch_values_params &p, size_t i) {
    return {load_value<Side, Bytes>(p, p.aggregate.values, i),
            Side::pairs ? load_value<Side, Bytes>(p, p.aggregate.second, i) : 0};
}

template <class Side, int Bytes, bool All>
__device__ __forceinline__ some_rows<Side::AHEAD> load_rows(const batch_values_params &p,
                                                            unsigned row, unsigned end) {
    const uint16_t *slots = p.row_slots + row;
    some_rows<Side::AHEAD> r;
    r.n = 0;
#pragma unroll
    for (int k = 0; k < Side::AHEAD; k++) {
        bool mine = All || row + k * BF_CUDA_BATCH_THREADS < end;
        r.bits[k] = mine ? load_row<Side, Bytes>(p, (size_t)row + k * BF_CUDA_BATCH_THREADS)
                         : row_bits{0, 0};
        r.slot[k] = mine ? slots[k * BF_CUDA_BATCH_THREADS] : 0;
        r.n += mine;
    }
    return r;
}

template <class Side>
__device__ __forceinline__ void absorb_some(const batch_values_params &p, const batch_view &v,
                                            const some_rows<Side::AHEAD> &r) {
    unsigned entry[Side::AHEAD];
#pragma unroll
    for (int k = 0; k < Side::AHEAD; k++)
        entry[k] = bf_cuda_shared_load_u16(v.entries_at + 2 * r.slot[k]);
    Side::absorb(p, v, r.bits, entry, r.n);
}

/* Absorbs the rows of a batch; the next ones are loaded meanwhile. */
template <class Side, int Bytes>
__device__ __forceinline__ void absorb_rows(const batch_values_params &p, const batch_view &v) {
    enum {
        AHEAD = Side::AHEAD,
        STEP = AHEAD * BF_CUDA_BATCH_THREADS,
        LAST = STEP - BF_CUDA_BATCH_THREADS
    };
    const unsigned end = v.batch.end;
    unsigned row = v.batch.begin + threadIdx.x;
    if (row + LAST < end) {
        some_rows<AHEAD> next = load_rows<Side, Bytes, true>(p, row, end);
        for (bool more = true; more;) {
            some_rows<AHEAD> some = next;
            row += STEP;
            more = row + LAST < end;
            if (more) next = load_rows<Side, Bytes, true>(p, row, end);
            absorb_some<Side>(p, v, some);
        }
    }
    if (row < end) absorb_some<Side>(p, v, load_rows<Side, Bytes, false>(p, row, end));
}

template <class Side, int Bytes>
__global__ void __launch_bounds__(BF_CUDA_BATCH_THREADS, 1)
    absorb_batch_values(const __grid_constant__ batch_values_params p) {
    __shared__ unsigned next;
    const int wanted = Side::WORDS == 1 ? p.to - p.from : 1;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) next = (unsigned)atomicAdd(p.notes + NOTE_NEXT, 1ull);
        __syncthreads();
        unsigned index = next;
        if (index >= p.batch_count[0]) return;
        if (p.batches[index].groups == 0) continue;
        batch_view v(p, index, wanted, Side::WORDS);
        Side::clear(p, v);
        __syncthreads();
        absorb_rows<Side, Bytes>(p, v);
        __syncthreads();
        Side::finish(p, v);
    }
}

/* Absorbs the values that the pass before left out. */
template <class Side, int Bytes>
__global__ void __launch_bounds__(BF_CUDA_BATCH_THREADS)
    absorb_outside(const __grid_constant__ batch_values_params p) {
    for (unsigned i = blockIdx.x; i < p.batch_count[0]; i += gridDim.x) {
        const bf_cuda_batch batch = p.batches[i];
        const uint16_t *entries = p.slot_entry + (size_t)i * p.slots;
        for (unsigned row = batch.begin + threadIdx.x; row < batch.end;
             row += BF_CUDA_BATCH_THREADS) {
            unsigned entry = batch.entry + entries[p.row_slots[row]];
            Side::absorb_outside(p, load_row<Side, Bytes>(p, row),
                                 batch.alone ? p.base + entry : p.numbers[entry - p.back]);
        }
    }
}

template <class Side, int Bytes>
cudaError_t launch_outside(bf_context *context, batch_values_params p, unsigned batches) {
    unsigned blocks = 2 * (unsigned)context->cuda->multiprocessors;
    if (blocks > batches) blocks = batches;
    p.notes = bf_cuda_notes(context);
    absorb_outside<Side, Bytes><<<blocks, BF_CUDA_BATCH_THREADS, 0, context->cuda->stream>>>(p);
    return cudaGetLastError();
}

template <class Side, int Bytes>
cudaError_t launch_values(bf_context *context, batch_values_params p, unsigned batches) {
    const bf_cuda *cuda = context->cuda;
    int room = cuda->shared - 1024 - (int)((2 * p.slots + 15) & ~15u);
    p.room = (unsigned)room / 4 & ~1u;
    size_t bytes = 4 * (size_t)p.room + 2 * (size_t)p.slots;
    unsigned blocks = (unsigned)cuda->multiprocessors;
    if (blocks > batches) blocks = batches;
    p.notes = bf_cuda_notes(context);
    cudaError_t error = cudaMemsetAsync(p.notes + NOTE_NEXT, 0, sizeof *p.notes, cuda->stream);
    if (error != cudaSuccess) return error;
    bf_cuda_shape shape = {.blocks = blocks, .threads = BF_CUDA_BATCH_THREADS, .shared = bytes};
    return bf_cuda_launch(cuda, absorb_batch_values<Side, Bytes>, shape, p);
}

/* A pass over the values of an aggregate. again: over those that were left out; `done` says which
 * were not, of each part. */
struct values_pass {
    bool again, had_specials;
    struct {
        int first, end; /* limbs from, positions below */
    } done[BF_PARTS_MOST];
};

/* A launch for part number i. */
struct part_launch {
    bf_context *context;
    batch_values_params p;
    const bf_cuda_band *band;
    unsigned batches;
    values_pass *pass;
    int i;
};

template <class Side, int Bytes> cudaError_t launch_terms(const part_launch &l) {
    batch_values_params p = l.p;
    auto *done = &l.pass->done[l.i];
    p.end = Side::end_of(l.band);
    p.done_first = done->first;
    p.done_end = done->end;
    done->first = p.first;
    done->end = p.end;
    if constexpr (Side::is_float)
        if (l.pass->again) return launch_outside<Side, Bytes>(l.context, p, l.batches);
    return launch_values<Side, Bytes>(l.context, p, l.batches);
}

/* Terms a^A b^B. Integers are all finite, so that one of a pair is enough where B is 0. */
template <int A, int B, bool Pairs> cudaError_t launch_part(const part_launch &l) {
    switch (l.p.aggregate.dtype) {
    case BF_F16:
    case BF_BF16: return launch_terms<Terms<BF_F32, A, B, Pairs>, 2>(l);
    case BF_F32: return launch_terms<Terms<BF_F32, A, B, Pairs>, 4>(l);
    case BF_F64: return launch_terms<Terms<BF_F64, A, B, Pairs>, 8>(l);
    default: return launch_terms<Terms<BF_NONE, A, B, (B > 0)>, 0>(l);
    }
}

cudaError_t launch_powers(const part_launch &l) {
    switch (l.band->part.a) {
    case 1: return launch_part<1, 0, false>(l);
    case 2: return launch_part<2, 0, false>(l);
    case 3: return launch_part<3, 0, false>(l);
    default: return launch_part<4, 0, false>(l);
    }
}

/* Powers of the second array are those of the first, swapped. */
cudaError_t launch_pairs(part_launch l) {
    const bf_part *part = &l.band->part;
    if (part->a == 0) {
        const char *values = l.p.aggregate.values;
        l.p.aggregate.values = l.p.aggregate.second;
        l.p.aggregate.second = values;
        l.p.swapped = true;
    }
    if (part->a > 0 && part->b > 0)
        return part->a == 1 ? launch_part<1, 1, true>(l) : launch_part<2, 1, true>(l);
    return part->a + part->b == 1 ? launch_part<1, 0, true>(l) : launch_part<2, 0, true>(l);
}

batch_values_params params_of(const bf_cuda_batch_plan *plan, const bf_cuda_aggregate *c,
                              const void *const values[]) {
    batch_values_params p = {};
    p.aggregate = bf_cuda_aggregate_params_of(c, plan->n);
    p.aggregate.values = (const char *)values[0];
    p.aggregate.second = bf_kind_takes_pairs(c->kind) ? (const char *)values[1] : NULL;
    p.batches = plan->batches;
    p.batch_count = plan->batch_count;
    p.slots = (unsigned)plan->slots;
    p.row_slots = plan->row_slots;
    p.slot_entry = plan->slot_entry;
    p.base = plan->base;
    p.back = plan->back;
    p.numbers = plan->numbers;
    return p;
}

/* One pass for each part; the first counts specials. */
cudaError_t absorb_sums(bf_context *context, const bf_cuda_groups *g,
                        const bf_cuda_batch_plan *plan, bf_cuda_aggregate *c,
                        const void *const values[], values_pass *pass) {
    enum { DEPOSITS = 2 }; /* additions of a term to one limb, at most */
    cudaError_t error = bf_cuda_aggregate_deposit(context, c, g->fresh.size, DEPOSITS * plan->n);
    part_launch l = {context, params_of(plan, c, values), NULL, plan->batch_most, pass, 0};
    l.p.had_specials = pass->had_specials;
    for (l.i = 0; l.i < c->bands && error == cudaSuccess; l.i++) {
        l.band = &c->band[l.i];
        l.p.counts_specials = l.i == 0;
        l.p.first = l.band->first;
        l.p.limbs = l.band->limbs;
        l.p.from = l.band->from;
        l.p.to = l.band->to;
        l.p.words = (int64_t *)l.band->words.memory;
        error = bf_kind_takes_pairs(c->kind) ? launch_pairs(l) : launch_powers(l);
    }
    return error;
}

} // namespace

bf_status bf_cuda_batch_values(bf_context *context, bf_cuda_groups *g,
                               const bf_cuda_batch_plan *plan, bf_cuda_aggregate *c,
                               const void *const values[], const void *const unpartitioned[]) {
    values_pass pass = {};
    if (c->kind == BF_KIND_EXTREME)
        return bf_cuda_group_check(
            context,
            launch_values<Extremes, 0>(context, params_of(plan, c, values), plan->batch_most));
    cudaError_t error = bf_cuda_clear_notes(context);
    pass.had_specials = c->has_specials;
    if (error == cudaSuccess) error = absorb_sums(context, g, plan, c, values, &pass);
    bf_status status = bf_cuda_group_check(context, error);
    if (status == BF_OK) status = bf_cuda_group_fetch_notes(context, g);
    if (status != BF_OK || g->noted[NOTE_OUTSIDE] == 0) return status;
    status =
        bf_cuda_aggregate_prepare(context, c, unpartitioned, plan->n, g->fresh.size, g->fresh.room);
    if (status != BF_OK) return status;
    pass.again = true;
    return bf_cuda_group_check(context, absorb_sums(context, g, plan, c, values, &pass));
}
