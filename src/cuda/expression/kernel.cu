/* The kernel of expressions: a thread computes all steps of an element, then of its next. */
#include "cuda/expression/program.cuh"
#include "cuda/map/operation.cuh"
#include "cuda/runtime/launch.cuh"

#include "rules/expression/element.h"

namespace {

using namespace bf_cuda_map;

enum { BLOCK = BF_CUDA_EXPRESSION_THREADS, FEW = BF_CUDA_EXPRESSION_FEW };

/* --- registers --- */

/* The registers of a thread, and the result. */
struct few_registers {
    uint64_t bits[FEW + 1];
    unsigned valid;

    __device__ explicit few_registers(const bf_cuda_expression_params &) : valid(0) {}
    __device__ bf_expression_cell get(int i) const { return {bits[i], (valid >> i & 1) != 0}; }
    __device__ void set(int i, bf_expression_cell x) {
        bits[i] = x.bits;
        valid = (valid & ~(1u << i)) | (unsigned)x.valid << i;
    }
};

/* The registers of a thread in memory. */
struct many_registers {
    uint64_t *bits;
    uint8_t *valid;
    int64_t step;

    __device__ explicit many_registers(const bf_cuda_expression_params &p) {
        const int64_t thread = blockIdx.x * (int64_t)BLOCK + threadIdx.x;
        step = (int64_t)gridDim.x * BLOCK;
        bits = p.bits + thread;
        valid = p.filled + thread;
    }
    __device__ bf_expression_cell get(int i) const {
        return {bits[i * step], valid[i * step] != 0};
    }
    __device__ void set(int i, bf_expression_cell x) {
        bits[i * step] = x.bits;
        valid[i * step] = x.valid;
    }
};

/* --- inputs --- */

__device__ __forceinline__ bf_expression_cell load_column(const bf_cuda_column &x, int64_t i) {
    const int64_t bit = x.first + i;
    const bool valid = x.valid == nullptr || (x.valid[bit >> 3] >> (bit & 7) & 1) != 0;
    return {bf_cuda_element::load_bits(x.data, x.bytes, i), valid};
}

template <class Registers>
__device__ __forceinline__ bf_expression_cell find(const bf_cuda_expression_params &p,
                                                   const Registers &r, bf_cuda_place x, int64_t i) {
    switch (x.kind) {
    case BF_EXPRESSION_COLUMN:
        return load_column(p.columns != nullptr ? p.columns[x.number] : p.column[x.number], i);
    case BF_EXPRESSION_CONSTANT: return {p.constants[x.number], true};
    case BF_EXPRESSION_REGISTER: return r.get(x.number);
    default: return {0, true};
    }
}

/* --- operations --- */

template <bf_dtype D> __device__ __forceinline__ value_of<D> value(uint64_t bits) {
    return of_bits((typename std::conditional<D == BF_F32, uint32_t, uint64_t>::type) bits);
}

/* The operations of map on f32 or f64, by the machine's instructions. */
template <bf_dtype D>
__device__ __forceinline__ uint64_t compute_floats(const bf_cuda_step &s, const uint64_t bits[3]) {
    typedef value_of<D> T;
    const T x = value<D>(bits[0]), y = value<D>(bits[1]), z = value<D>(bits[2]);
    T r = x;
    switch (s.op) {
    case BF_MAP_ADD: r = compute_float<BF_MAP_ADD, D, T>(x, y, z); break;
    case BF_MAP_SUB: r = compute_float<BF_MAP_SUB, D, T>(x, y, z); break;
    case BF_MAP_MUL: r = compute_float<BF_MAP_MUL, D, T>(x, y, z); break;
    case BF_MAP_DIV: r = compute_float<BF_MAP_DIV, D, T>(x, y, z); break;
    case BF_MAP_MIN: r = compute_float<BF_MAP_MIN, D, T>(x, y, z); break;
    case BF_MAP_MAX: r = compute_float<BF_MAP_MAX, D, T>(x, y, z); break;
    case BF_MAP_FMA: r = compute_float<BF_MAP_FMA, D, T>(x, y, z); break;
    case BF_MAP_NEG: r = compute_float<BF_MAP_NEG, D, T>(x, y, z); break;
    case BF_MAP_ABS: r = compute_float<BF_MAP_ABS, D, T>(x, y, z); break;
    case BF_MAP_SQRT: r = compute_float<BF_MAP_SQRT, D, T>(x, y, z); break;
    case BF_MAP_CAST: break;
    default: return holds(x, y, s.relations);
    }
    return bits_of(element<D>::encode(r));
}

/* An operation that does not choose, on numbers of dtype s.work. */
__device__ __forceinline__ uint64_t compute_numbers(const bf_cuda_step &s, const uint64_t x[3],
                                                    bool saturate, bool *misfit) {
    if (s.op <= BF_MAP_CAST && s.work == BF_F64) return compute_floats<BF_F64>(s, x);
    if (s.op <= BF_MAP_CAST && s.work == BF_F32) return compute_floats<BF_F32>(s, x);
    return bf_expression_compute(s.op, (bf_dtype)s.work, x, saturate, misfit);
}

__device__ __forceinline__ uint64_t cast_input(bf_dtype from, bf_dtype work, uint64_t bits) {
    if (from == BF_F32 && work == BF_F64)
        return bits_of(canonical((double)of_bits((uint32_t)bits)));
    return bf_expression_cast(from, work, bits);
}

/* The result of a step that is neither logic nor a choice. */
__device__ __forceinline__ bf_expression_cell compute_cell(const bf_cuda_expression_params &p,
                                                           const bf_cuda_step &s,
                                                           const bf_expression_cell in[3],
                                                           bool needed, bool *failed) {
    bf_expression_cell r = {0, in[0].valid && in[1].valid && in[2].valid};
    uint64_t x[3];
    bool misfit = false;
    if (!needed || !r.valid) return r;
    for (int k = 0; k < 3; k++)
        x[k] = k < s.arity ? cast_input((bf_dtype)s.from[k], (bf_dtype)s.work, in[k].bits) : 0;
    *failed = s.refuse_zero && x[1] == 0;
    if (*failed) return r;
    r.bits = compute_numbers(s, x, p.saturates, &misfit);
    *failed = misfit && p.refuses;
    return r;
}

/* The second input or the third, as it is if its dtype is the result's; but a bool is 0 or 1. */
__device__ __forceinline__ bf_expression_cell select_cell(const bf_cuda_step &s,
                                                          const bf_expression_cell in[3]) {
    const int k = in[0].valid && in[0].bits != 0 ? 1 : 2;
    bf_expression_cell r = in[k];
    if (s.from[k] != s.work || s.work == BF_BOOL)
        r.bits = cast_input((bf_dtype)s.from[k], (bf_dtype)s.work, r.bits);
    return r;
}

/* --- elements --- */

__device__ __forceinline__ void note_failure(const bf_cuda_expression_params &p, int64_t i,
                                             int step) {
    const unsigned long long key =
        (unsigned long long)i << BF_CUDA_EXPRESSION_STEP_BITS | (unsigned)step;
    if (*(volatile unsigned long long *)p.failed > key) atomicMin(p.failed, key);
}

/* Computes the steps of element i. Returns the step that fails, or -1. */
template <class Registers>
__device__ __forceinline__ int compute_steps(const bf_cuda_expression_params &p, Registers *r,
                                             int64_t i) {
    for (int n = 0; n < p.step_count; n++) {
        const bf_cuda_step s = p.steps[n];
        const bf_expression_cell in[3] = {find(p, *r, s.in[0], i), find(p, *r, s.in[1], i),
                                          find(p, *r, s.in[2], i)};
        bf_expression_cell out;
        bool failed = false;
        if (s.op >= BF_EXPRESSION_AND)
            out = bf_expression_decide_cell(s.op, in[0], in[1]);
        else if (s.op == BF_EXPRESSION_SELECT)
            out = select_cell(s, in);
        else
            out = compute_cell(p, s, in,
                               s.guard.kind == BF_EXPRESSION_NOTHING ||
                                   find(p, *r, s.guard, i).bits != 0,
                               &failed);
        if (failed) return n;
        r->set(s.out.number, out);
    }
    return -1;
}

template <class Registers>
__global__ void __launch_bounds__(BLOCK)
    compute_elements(const __grid_constant__ bf_cuda_expression_params p) {
    Registers r(p);
    bf_cuda_wait_for_previous();
    for (int64_t i = blockIdx.x * (int64_t)BLOCK + threadIdx.x; i < p.count;
         i += (int64_t)gridDim.x * BLOCK) {
        const int step = compute_steps(p, &r, i);
        const bf_expression_cell result = r.get(p.registers);
        if (step >= 0) {
            note_failure(p, i, step);
            continue;
        }
        if (p.valid != nullptr)
            p.valid[i] = result.valid;
        else if (!result.valid)
            note_failure(p, i, BF_EXPRESSION_STEPS);
        bf_cuda_element::store_bits(p.out, p.out_bytes, i, result.valid ? result.bits : 0);
    }
}

} // namespace

const void *bf_cuda_expression_kernel(bool few) {
    return few ? (const void *)compute_elements<few_registers>
               : (const void *)compute_elements<many_registers>;
}
