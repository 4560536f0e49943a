/* Sums of integers, and extremes, by slot. */
#include "cuda/axis/index/slots.cuh"

#include "rules/reduce/totals.h"

namespace {

/* The bits of an element, sign-extended; of a bool 0 or 1. */
template <class T> __device__ __forceinline__ uint64_t bits_of(const bf_cuda_index_params &p, T e) {
    return p.dtype == BF_BOOL ? e != 0 : (uint64_t)e;
}

/* The sum of integers of at most 32 bits, or of 64. */
template <class T> struct integer_sum {
    using E = T;
    static constexpr int V = 1;
    bf_i128 sum;

    __device__ __forceinline__ void open() { sum = 0; }
    __device__ __forceinline__ void take(const bf_cuda_index_params &p, E e, bool has, uint32_t) {
        uint64_t x = has ? bits_of(p, e) : 0;
        sum += bf_dtype_is_signed(p.dtype) ? (bf_i128)(int64_t)x : (bf_i128)x;
    }
    __device__ __forceinline__ bool proven() const { return true; }
    __device__ __forceinline__ void merge(const bf_cuda_index_params &, const integer_sum &other) {
        sum += other.sum;
    }
    template <class Add>
    __device__ __forceinline__ void add_to(const bf_cuda_index_params &p, uint32_t rows,
                                           const Add &add) const {
        enum { LIMBS = 3 }; /* enough for 2^32 elements of 64 bits */
        const bool negative = sum < 0;
        const bf_i128 magnitude = negative ? -sum : sum;
        add(BF_SUM_COUNT, rows);
        for (int k = 0; k < LIMBS; k++) {
            int64_t limb = (int64_t)(uint32_t)(magnitude >> 32 * k);
            if (limb != 0) add(BF_SUM_LIMBS + k, negative ? -limb : limb);
        }
    }
    __device__ __forceinline__ bool finish(const bf_cuda_index_params &p, int64_t r,
                                           uint32_t rows) const {
        if (bf_dtype_is_float(p.to)) {
            bf_cuda_index_write(p, r, rounded(p, rows), true);
            return true;
        }
        bool fits = p.to == BF_I64 ? (bf_i128)(int64_t)sum == sum : sum >> 64 == 0;
        bf_cuda_index_write(p, r, (uint64_t)sum, fits);
        return true;
    }
    __device__ __forceinline__ uint64_t rounded(const bf_cuda_index_params &p,
                                                uint32_t rows) const {
        const bf_format f = bf_format_of(p.to);
        bool negative;
        bf_leading x = bf_leading_of_i128(sum, 0, &negative);
        if (rows == 0 && p.op == BF_MEAN) return bf_format_nan(f);
        if (x.bits == 0) return 0;
        return bf_leading_round(f, negative, p.op == BF_MEAN ? bf_leading_divide(x, rows) : x);
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &p, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        add_to(p, rows, [&](int i, int64_t x) { to.add(i, x); });
    }
};

/* A minimum or maximum, or where it is. Row numbers are below 2^32. */
template <class T> struct extreme {
    using E = T;
    static constexpr int V = 1;
    int64_t rank;
    uint32_t row, nans, nan_row;

    __device__ __forceinline__ void open() {
        rank = INT64_MAX;
        row = nan_row = ~0u;
        nans = 0;
    }
    __device__ __forceinline__ void take(const bf_cuda_index_params &p, E e, bool has,
                                         uint32_t at) {
        if (!has) return;
        uint64_t bits = (uint64_t)e & (~(uint64_t)0 >> (64 - 8 * sizeof(E)));
        if (bf_dtype_is_float(p.dtype) && bf_is_nan(bf_format_of(p.dtype), bits)) {
            nans++;
            nan_row = min(nan_row, at);
            return;
        }
        int64_t x = bf_order_rank(p.dtype, bits) ^ (bf_is_greatest(p.op) ? -1 : 0);
        if (x < rank || (x == rank && at < row)) {
            rank = x;
            row = at;
        }
    }
    __device__ __forceinline__ bool proven() const { return true; }
    __device__ __forceinline__ void merge(const bf_cuda_index_params &, const extreme &other) {
        if (other.rank < rank || (other.rank == rank && other.row < row)) {
            rank = other.rank;
            row = other.row;
        }
        nans += other.nans;
        nan_row = min(nan_row, other.nan_row);
    }
    __device__ __forceinline__ bool finish(const bf_cuda_index_params &p, int64_t r,
                                           uint32_t rows) const {
        bf_cuda_index_extreme x = {rank, row, nans, nan_row};
        bf_cuda_index_finish_extreme(p, r, rows, x);
        return true;
    }
    __device__ __forceinline__ void add_to_state(const bf_cuda_index_states &to, uint32_t rows,
                                                 int64_t number) const {
        const bf_cuda_aggregate_params &a = to.aggregate;
        bf_cuda_add_word(to.counts + number, rows);
        if (rows > nans) atomicMin((long long *)a.keys + number, (long long)rank);
        if (nans > 0) bf_cuda_count_special(a, number, BF_SUM_NAN, nans);
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &p, uint32_t rows,
                                        const bf_cuda_index_target &target) const {
        if (p.states.counts != nullptr) {
            add_to_state(p.states, rows, target.number);
            return;
        }
        bf_cuda_index_extreme *to = (bf_cuda_index_extreme *)(p.pool + target.number * p.words);
        if (p.phase == 0) {
            if (rows > nans && rank < __ldcg(&to->rank))
                atomicMin((long long *)&to->rank, (long long)rank);
            if (nans > 0) atomicAdd((unsigned long long *)&to->nans, (unsigned long long)nans);
            if (nans > 0) atomicMin((long long *)&to->nan_row, (long long)nan_row);
        } else if (rows > nans && to->rank == rank) {
            atomicMin((long long *)&to->row, (long long)row);
        }
    }
};

} // namespace

bf_cuda_index_kernel bf_cuda_index_others(const bf_cuda_index_params &p, int *columns) {
    *columns = 1;
    if (p.kind == BF_KIND_EXTREME) {
        switch (p.bytes) {
        case 1: return bf_cuda_index_kernel_of<extreme<uint8_t>>(p);
        case 2: return bf_cuda_index_kernel_of<extreme<uint16_t>>(p);
        case 4: return bf_cuda_index_kernel_of<extreme<uint32_t>>(p);
        default: return bf_cuda_index_kernel_of<extreme<uint64_t>>(p);
        }
    }
    if (p.kind != BF_KIND_SUM || bf_dtype_is_float(p.dtype)) return NULL;
    switch (p.dtype) {
    case BF_I8: return bf_cuda_index_kernel_of<integer_sum<int8_t>>(p);
    case BF_I16: return bf_cuda_index_kernel_of<integer_sum<int16_t>>(p);
    case BF_I32: return bf_cuda_index_kernel_of<integer_sum<int32_t>>(p);
    case BF_U16: return bf_cuda_index_kernel_of<integer_sum<uint16_t>>(p);
    case BF_U32: return bf_cuda_index_kernel_of<integer_sum<uint32_t>>(p);
    case BF_I64:
    case BF_U64: return bf_cuda_index_kernel_of<integer_sum<int64_t>>(p);
    default: return bf_cuda_index_kernel_of<integer_sum<uint8_t>>(p); /* bools too */
    }
}
