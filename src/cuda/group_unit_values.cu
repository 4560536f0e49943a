/* Values of units: they enter accumulators in shared memory, which then enter the groups (step 3 of
 * group_units.cuh).
 *
 * A sum has limbs of 32 bits there, since these are what shared memory adds fast. They are a number
 * in two's complement: an addition that wraps around is seen by what was there before, and carries.
 * Every limb starts in the middle of its range, so that carries past the value's own limbs are rare
 * where signs mix. Where units have few groups there are several copies of each accumulator, up to
 * one for each lane, so that lanes do not wait for each other. */
#include "group_units.cuh"
#include "group_value.cuh"

namespace {

enum { THREADS = BF_CUDA_UNIT_THREADS, WARP = 32, AHEAD = 4 };

const unsigned MIDDLE = 1u << 31;

enum { MAIL_NEXT };

struct unit_values_params {
    bf_cuda_column_params column;
    bool counts_apart; /* this pass does */
    int first, limbs;  /* of the band */
    int from, to;      /* limbs that the values need */
    int64_t *words;
    bf_cuda_unit *units;
    const unsigned *unit_count;
    unsigned slots, room; /* room: 32-bit words for accumulators */
    const uint16_t *row_slots, *slot_entry;
    unsigned base, back;
    const unsigned *numbers;
    unsigned long long *mail;
};

extern __shared__ uint64_t unit_memory[];

/* Shared memory by its own addresses, which cost less to compute than pointers. */
__device__ __forceinline__ unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ unsigned shared_entry(unsigned at) {
    unsigned short x;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at));
    return x;
}
__device__ __forceinline__ unsigned shared_add(unsigned at, unsigned x) {
    unsigned before;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(at), "r"(x) : "memory");
    return before;
}

/* What all threads of a block know of the unit at hand. */
struct unit_view {
    bf_cuda_unit unit;
    unsigned *words;               /* accumulators */
    unsigned copies;               /* of each; a power of two */
    unsigned copy;                 /* this lane's */
    unsigned stride;               /* from limb to limb */
    int limbs, low;                /* held, and the first of them */
    unsigned entries_at, words_at; /* shared addresses; of this lane's copy of group 0 */

    __device__ unit_view(const unit_values_params &p, unsigned index, int wanted, int words_each) {
        unit = p.units[index];
        words = (unsigned *)unit_memory;
        unsigned fit = p.room / (unit.groups * (unsigned)words_each);
        limbs = (unsigned)wanted < fit ? wanted : (int)fit;
        low = p.to - limbs;
        copies = 1;
        while (copies < WARP && 2 * copies * unit.groups * limbs * words_each <= p.room)
            copies *= 2;
        copy = threadIdx.x & (copies - 1);
        stride = unit.groups * copies;
        uint16_t *entries = (uint16_t *)(words + p.room);
        entries_at = shared_address(entries);
        words_at = shared_address(words) + copy * 4 * (unsigned)words_each;
        const uint16_t *from = p.slot_entry + (size_t)index * p.slots;
        for (unsigned i = threadIdx.x; i < p.slots; i += THREADS) entries[i] = from[i];
    }
    __device__ __forceinline__ int64_t number(const unit_values_params &p, unsigned entry) const {
        return unit.alone ? p.base + unit.entry + entry : p.numbers[unit.entry + entry - p.back];
    }
};

/* --- sums --- */

/* Of floats of dtype D, or of integers (BF_NONE): `Factors` 1, or 2 for squares. */
template <bf_dtype D, int Factors> struct Terms {
    static constexpr bool is_float = D != BF_NONE;
    static constexpr int PARTS =
        D == BF_F64 || D == BF_NONE ? (Factors == 1 ? 3 : 5) : (Factors == 1 ? 2 : 3);

    /* The value's limbs, shifted to their place in the first, which is limb number `limb`. */
    struct term {
        unsigned part[PARTS];
        int limb;
        bool negative;
    };
    static __device__ __forceinline__ bool is_apart(uint64_t bits) {
        if (D == BF_F64) return bf_cuda_is_apart(bf_format_of(D), bits);
        unsigned sign = (unsigned)bf_format_sign(bf_format_of(D)),
                 inf = (unsigned)bf_format_inf(bf_format_of(D));
        return ((unsigned)bits & ~sign) - 1 >= inf - 1;
    }
    /* As bf_decode and bf_decode_integer, in words of 32 bits. */
    static __device__ __forceinline__ void decode(const bf_cuda_column_params &p, uint64_t bits,
                                                  unsigned *low, unsigned *high, unsigned *position,
                                                  bool *negative) {
        if (!is_float) {
            bf_finite d = bf_decode_integer(p.dtype, bits);
            *low = (unsigned)d.magnitude;
            *high = (unsigned)(d.magnitude >> 32);
            *position = 0;
            *negative = d.negative;
            return;
        }
        const bf_format f = bf_format_of(D);
        const int fraction = D == BF_F64 ? 20 : f.fraction;
        unsigned top = D == BF_F64 ? (unsigned)(bits >> 32) : (unsigned)bits;
        unsigned field = top >> fraction & ((1u << f.exponent) - 1), normal = min(field, 1u);
        unsigned magnitude = (top & ((1u << fraction) - 1)) | normal << fraction;
        *low = D == BF_F64 ? (unsigned)bits : magnitude;
        *high = D == BF_F64 ? magnitude : 0;
        *position = field - normal;
        *negative = (top >> (fraction + f.exponent) & 1) != 0;
    }
    static __device__ __forceinline__ term of(const bf_cuda_column_params &p, uint64_t bits) {
        unsigned word[5] = {0, 0, 0, 0, 0}, position;
        term t;
        decode(p, bits, &word[0], &word[1], &position, &t.negative);
        if (Factors == 2) {
            uint64_t x = (uint64_t)word[1] << 32 | word[0], low = x * x, high = __umul64hi(x, x);
            word[0] = (unsigned)low;
            word[1] = (unsigned)(low >> 32);
            word[2] = (unsigned)high;
            word[3] = (unsigned)(high >> 32);
            t.negative = false;
        }
        bf_layout layout = Factors == 1 ? bf_layout_sum(D) : bf_layout_products(D);
        int offset = is_float ? bf_exact_position(bf_format_of(D), layout, 0, Factors) : 0;
        position = Factors * position + (unsigned)offset;
        t.limb = (int)(position >> 5);
#pragma unroll
        for (int k = 0; k < PARTS; k++)
            t.part[k] = __funnelshift_l(k > 0 ? word[k - 1] : 0, word[k], position);
        return t;
    }
    /* Adds x to an accumulator, or takes it away: what is left for the next. */
    static __device__ __forceinline__ unsigned add(unsigned at, unsigned x, bool negative) {
        unsigned before = shared_add(at, negative ? 0 - x : x);
        return negative ? before < x : before > ~x;
    }
    /* Adds it to the accumulators of a group, of which `at` is this lane's for limb 0. */
    static __device__ __forceinline__ void enter(const unit_view &v, const term &t, unsigned at) {
        const unsigned step = 4 * v.stride;
        at += (unsigned)(t.limb - v.low) * step;
        unsigned carry = add(at, t.part[0], t.negative);
#pragma unroll
        for (int k = 1; k < PARTS; k++) {
            unsigned x = t.part[k] + carry;
            at += step;
            carry = x < carry;
            if (x != 0) carry = add(at, x, t.negative);
        }
        for (int limb = t.limb - v.low + PARTS; carry != 0 && limb < v.limbs; limb++) {
            at += step;
            carry = add(at, carry, t.negative);
        }
    }
    /* A value below the accumulators' limbs goes to the groups' own. */
    static __device__ __noinline__ void enter_far(const unit_values_params &p, uint64_t bits,
                                                  int64_t number) {
        term t = of(p.column, bits);
        int64_t *to = p.words + number * p.limbs + (t.limb - p.first);
        for (int k = 0; k < PARTS; k++)
            bf_cuda_add(to + k, t.negative ? -(int64_t)t.part[k] : (int64_t)t.part[k]);
    }
    static __device__ __forceinline__ void take(const unit_values_params &p, const unit_view &v,
                                                uint64_t bits, unsigned entry) {
        if (is_float && is_apart(bits)) {
            if (p.counts_apart)
                bf_cuda_count_apart(p.column, bf_format_of(D), bits, v.number(p, entry));
            return;
        }
        term t = of(p.column, bits);
        if (t.limb >= v.low)
            enter(v, t, v.words_at + entry * (4 * v.copies));
        else
            enter_far(p, bits, v.number(p, entry));
    }
    static constexpr int WORDS = 1;
    static __device__ void clear(const unit_view &v) {
        for (unsigned i = threadIdx.x; i < v.stride * (unsigned)v.limbs; i += THREADS)
            v.words[i] = MIDDLE;
    }
    static __device__ void finish(const unit_values_params &p, const unit_view &v) {
        for (unsigned i = threadIdx.x; i < v.unit.groups; i += THREADS) {
            int64_t *to = p.words + v.number(p, i) * p.limbs + (v.low - p.first);
            for (int k = 0; k < v.limbs; k++) {
                int64_t sum = 0;
                for (unsigned c = 0; c < v.copies; c++) {
                    unsigned turn = (c + threadIdx.x) & (v.copies - 1);
                    unsigned at = (unsigned)k * v.stride + i * v.copies + turn;
                    sum += (int64_t)v.words[at] - (int64_t)MIDDLE;
                }
                if (v.unit.alone)
                    to[k] += sum;
                else
                    bf_cuda_add(to + k, sum);
            }
        }
    }
};

/* --- extremes --- */

struct Extremes {
    static constexpr int WORDS = 2;
    static __device__ __forceinline__ long long *key_at(const unit_view &v, unsigned at) {
        return (long long *)v.words + at;
    }
    static __device__ __forceinline__ void take(const unit_values_params &p, const unit_view &v,
                                                uint64_t bits, unsigned entry) {
        const bf_cuda_column_params &c = p.column;
        if (bf_dtype_is_float(c.dtype) && bf_is_nan(bf_format_of(c.dtype), bits)) {
            bf_cuda_add(c.others + v.number(p, entry) * BF_CUDA_OTHERS + BF_CUDA_OTHER_NAN, 1);
            return;
        }
        long long key = bf_order_key(c.dtype, bits) ^ (c.greatest ? -1 : 0);
        long long *least = key_at(v, entry * v.copies + v.copy);
        if (key < *(volatile long long *)least) atomicMin(least, key);
    }
    static __device__ void clear(const unit_view &v) {
        for (unsigned i = threadIdx.x; i < v.stride; i += THREADS) *key_at(v, i) = INT64_MAX;
    }
    static __device__ void finish(const unit_values_params &p, const unit_view &v) {
        for (unsigned i = threadIdx.x; i < v.unit.groups; i += THREADS) {
            long long least = INT64_MAX;
            for (unsigned c = 0; c < v.copies; c++)
                least = min(least, *key_at(v, i * v.copies + c));
            atomicMin((long long *)p.column.keys + v.number(p, i), least);
        }
    }
};

/* --- both --- */

/* Rows `row` and every THREADS-th after it. All: they are all below `end`. */
template <class Side, int Bytes, bool All>
__device__ __forceinline__ void take_some(const unit_values_params &p, const unit_view &v,
                                          unsigned row, unsigned end) {
    const int bytes = Bytes > 0 ? Bytes : p.column.bytes;
    const char *values = p.column.values + (size_t)row * (unsigned)bytes;
    const uint16_t *slots = p.row_slots + row;
    uint64_t bits[AHEAD];
    unsigned slot[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        if (!All && row + (unsigned)k * THREADS >= end) continue;
        bits[k] = bf_cuda_load(values + (size_t)k * THREADS * (unsigned)bytes, bytes);
        slot[k] = slots[k * THREADS];
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        if (All || row + (unsigned)k * THREADS < end)
            Side::take(p, v, bits[k], shared_entry(v.entries_at + 2 * slot[k]));
}

template <class Side, int Bytes>
__device__ __forceinline__ void take_rows(const unit_values_params &p, const unit_view &v) {
    const unsigned end = v.unit.end;
    unsigned row = v.unit.begin + threadIdx.x;
    for (; row + (AHEAD - 1) * THREADS < end; row += AHEAD * THREADS)
        take_some<Side, Bytes, true>(p, v, row, end);
    take_some<Side, Bytes, false>(p, v, row, end);
}

template <class Side, int Bytes>
__global__ void __launch_bounds__(THREADS, 1)
    take_unit_values(const __grid_constant__ unit_values_params p) {
    __shared__ unsigned next;
    const int wanted = Side::WORDS == 1 ? p.to - p.from : 1;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) next = (unsigned)atomicAdd(p.mail + MAIL_NEXT, 1ull);
        __syncthreads();
        unsigned index = next;
        if (index >= p.unit_count[0]) return;
        if (p.units[index].groups == 0) continue;
        unit_view v(p, index, wanted, Side::WORDS);
        Side::clear(v);
        __syncthreads();
        take_rows<Side, Bytes>(p, v);
        __syncthreads();
        Side::finish(p, v);
    }
}

template <class Side, int Bytes>
cudaError_t launch(bf_context *context, const bf_cuda_groups *g, unit_values_params p,
                   unsigned units) {
    const bf_cuda *cuda = context->cuda;
    int room = cuda->shared - 1024 - (int)((2 * p.slots + 15) & ~15u);
    p.room = (unsigned)room / 4 & ~1u;
    size_t bytes = 4 * (size_t)p.room + 2 * (size_t)p.slots;
    unsigned blocks = (unsigned)cuda->multiprocessors;
    if (blocks > units) blocks = units;
    cudaError_t error = cudaMemsetAsync(g->mail, 0, sizeof *g->mail, cuda->stream);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(take_unit_values<Side, Bytes>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    take_unit_values<Side, Bytes><<<blocks, THREADS, bytes, cuda->stream>>>(p);
    return cudaGetLastError();
}

template <int Factors>
cudaError_t launch_sum(bf_context *context, const bf_cuda_groups *g, unit_values_params p,
                       const bf_cuda_band *band, unsigned units) {
    if (band->layout.limbs == 0) return cudaSuccess;
    p.first = band->first;
    p.limbs = band->limbs;
    p.from = band->from;
    p.to = band->to;
    p.words = (int64_t *)band->words.memory;
    switch (p.column.dtype) {
    case BF_F16: return launch<Terms<BF_F16, Factors>, 2>(context, g, p, units);
    case BF_BF16: return launch<Terms<BF_BF16, Factors>, 2>(context, g, p, units);
    case BF_F32: return launch<Terms<BF_F32, Factors>, 4>(context, g, p, units);
    case BF_F64: return launch<Terms<BF_F64, Factors>, 8>(context, g, p, units);
    default: return launch<Terms<BF_NONE, Factors>, 0>(context, g, p, units);
    }
}

} // namespace

cudaError_t bf_cuda_unit_values(bf_context *context, const bf_cuda_groups *g,
                                const bf_cuda_unit_plan *plan, bf_cuda_column *c,
                                const void *values) {
    enum { DEPOSITS = 2 }; /* of a term, to one limb, at most */
    unit_values_params p = {};
    p.column = bf_cuda_column_params_of(c, plan->n);
    p.column.values = (const char *)values;
    p.units = plan->unit;
    p.unit_count = plan->unit_count;
    p.slots = (unsigned)plan->slots;
    p.row_slots = plan->row_slots;
    p.slot_entry = plan->slot_entry;
    p.base = plan->base;
    p.back = plan->back;
    p.numbers = plan->numbers;
    p.mail = g->mail;
    cudaError_t error = bf_cuda_column_deposit(context, c, g->fresh.size, DEPOSITS * plan->n);
    if (error != cudaSuccess) return error;
    if (c->kind == BF_KIND_EXTREME) return launch<Extremes, 0>(context, g, p, plan->units);
    p.counts_apart = true;
    error = launch_sum<1>(context, g, p, &c->sum, plan->units);
    p.counts_apart = c->sum.layout.limbs == 0;
    return error == cudaSuccess ? launch_sum<2>(context, g, p, &c->products, plan->units) : error;
}
