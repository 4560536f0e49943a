/* Expressions of floats and bools: their translation, and the kernel that stores elements. */
#include "cuda/expression/computed.cuh"

#include "rules/number/cast.h"

#include "cuda/map/operation.cuh"

namespace {

/* --- steps --- */

/* What is known of the program at a step. */
struct translation {
    const bf_expression_program *from;
    bf_cuda_computed *to;
    bf_dtype dtype;
    int kept[BF_EXPRESSION_REGISTERS + 1]; /* the register on the GPU, from 1 on; 0: none yet */
    int kept_count;
};

/* The number of a register; the result is behind all others. */
int number_of(const bf_expression_program *p, bf_expression_operand x) {
    return x.kind == BF_EXPRESSION_RESULT ? p->registers : x.number;
}

bool is_register(bf_expression_operand x) {
    return x.kind == BF_EXPRESSION_REGISTER || x.kind == BF_EXPRESSION_RESULT;
}

bool reads(const bf_expression_program *p, const bf_expression_step *s, int number) {
    for (int k = 0; k < s->arity; k++)
        if (is_register(s->in[k]) && number_of(p, s->in[k]) == number) return true;
    return false;
}

/* Is the result of step n read by another step than the next? */
bool is_kept(const bf_expression_program *p, int n) {
    const int number = number_of(p, p->step[n].out);
    for (int m = n + 1; m < p->steps; m++) {
        if (m > n + 1 && reads(p, &p->step[m], number)) return true;
        if (number_of(p, p->step[m].out) == number) return false;
    }
    return false;
}

bool is_float(bf_dtype dtype) { return dtype == BF_F32 || dtype == BF_F64; }

/* Can inputs of this dtype be read as the program's own? */
bool is_readable(const translation *t, bf_dtype from, bf_expression_operand x) {
    if (from == t->dtype || from == BF_BOOL || x.kind == BF_EXPRESSION_CONSTANT) return true;
    return from == BF_F32 && x.kind == BF_EXPRESSION_COLUMN;
}

/* The place of an input of step n. */
bf_cuda_computed_place place_of(const translation *t, bf_expression_operand x, int n) {
    if (x.kind == BF_EXPRESSION_COLUMN) return {BF_CUDA_COMPUTED_COLUMN, (uint8_t)x.number};
    if (x.kind == BF_EXPRESSION_CONSTANT) return {BF_CUDA_COMPUTED_CONSTANT, (uint8_t)x.number};
    const int number = number_of(t->from, x);
    if (number == number_of(t->from, t->from->step[n - 1].out)) return {BF_CUDA_COMPUTED_LAST, 0};
    return {BF_CUDA_COMPUTED_REGISTER, (uint8_t)(t->kept[number] - 1)};
}

/* Sets *to to an operation of bools. */
bool find_logic(int op, uint8_t *to) {
    switch (op) {
    case BF_MAP_MUL:
    case BF_MAP_MIN:
    case BF_EXPRESSION_AND: *to = BF_CUDA_COMPUTED_AND; return true;
    case BF_MAP_ADD:
    case BF_MAP_MAX:
    case BF_EXPRESSION_OR: *to = BF_CUDA_COMPUTED_OR; return true;
    case BF_MAP_CAST:
    case BF_EXPRESSION_MET:
    case BF_EXPRESSION_MAYBE: *to = BF_CUDA_COMPUTED_TRUTH; return true;
    case BF_EXPRESSION_UNMET: *to = BF_CUDA_COMPUTED_NOT; return true;
    case BF_EXPRESSION_SELECT: *to = BF_CUDA_COMPUTED_SELECT; return true;
    default: return false;
    }
}

/* Sets *to to an operation of floats. */
bool find_arithmetic(int op, uint8_t *to) {
    switch (op) {
    case BF_MAP_ADD: *to = BF_CUDA_COMPUTED_ADD; return true;
    case BF_MAP_SUB: *to = BF_CUDA_COMPUTED_SUB; return true;
    case BF_MAP_MUL: *to = BF_CUDA_COMPUTED_MUL; return true;
    case BF_MAP_DIV: *to = BF_CUDA_COMPUTED_DIV; return true;
    case BF_MAP_MIN: *to = BF_CUDA_COMPUTED_MIN; return true;
    case BF_MAP_MAX: *to = BF_CUDA_COMPUTED_MAX; return true;
    case BF_MAP_FMA: *to = BF_CUDA_COMPUTED_FMA; return true;
    case BF_MAP_SQRT: *to = BF_CUDA_COMPUTED_SQRT; return true;
    case BF_MAP_NEG: *to = BF_CUDA_COMPUTED_NEG; return true;
    case BF_MAP_ABS: *to = BF_CUDA_COMPUTED_ABS; return true;
    case BF_MAP_CAST: *to = BF_CUDA_COMPUTED_COPY; return true;
    case BF_EXPRESSION_FLOOR: *to = BF_CUDA_COMPUTED_FLOOR; return true;
    case BF_EXPRESSION_CEIL: *to = BF_CUDA_COMPUTED_CEIL; return true;
    case BF_EXPRESSION_SELECT: *to = BF_CUDA_COMPUTED_SELECT; return true;
    default: return false;
    }
}

bool find_operation(const translation *t, const bf_expression_step *s, bf_cuda_computed_step *to) {
    if (s->op < BF_MAP_CAST) to->relations = (uint8_t)bf_cuda_map::relations_of((bf_map_op)s->op);
    if (s->refuse_zero || (s->work != BF_BOOL && s->work != t->dtype)) return false;
    if (to->relations != 0) {
        to->op = BF_CUDA_COMPUTED_COMPARE;
        return true;
    }
    return s->work == BF_BOOL ? find_logic(s->op, &to->op) : find_arithmetic(s->op, &to->op);
}

bool translate_step(translation *t, int n) {
    const bf_expression_step *s = &t->from->step[n];
    bf_cuda_computed_step *to = &t->to->step[n];
    to->arity = (uint8_t)s->arity;
    if (!find_operation(t, s, to)) return false;
    for (int k = 0; k < s->arity; k++) {
        if (!is_readable(t, s->from[k], s->in[k])) return false;
        to->in[k] = place_of(t, s->in[k], n);
        if (to->in[k].kind != BF_CUDA_COMPUTED_COLUMN) continue;
        bf_cuda_computed_column *c = &t->to->column[to->in[k].number];
        c->again = c->bytes != 0;
        c->bytes = (uint8_t)bf_dtype_bytes(s->from[k]);
    }
    if (!is_kept(t->from, n)) return true;
    int *kept = &t->kept[number_of(t->from, s->out)];
    if (*kept == 0) *kept = ++t->kept_count;
    to->kept = (uint8_t)*kept;
    return t->kept_count <= BF_CUDA_COMPUTED_KEPT;
}

bool fits(const bf_expression_job *job) {
    const bf_expression_program *p = job->program;
    if (p->columns > BF_CUDA_COMPUTED_COLUMNS || p->constants > BF_CUDA_COMPUTED_CONSTANTS ||
        p->steps > BF_CUDA_COMPUTED_STEPS || p->strings > 0 || job->valid != NULL)
        return false;
    for (int i = 0; i < p->columns; i++)
        if ((!is_float(p->column[i]) && p->column[i] != BF_BOOL) || job->columns[i].valid != NULL)
            return false;
    return true;
}

bf_dtype dtype_of(const bf_expression_program *p) {
    for (int n = 0; n < p->steps; n++)
        if (p->step[n].work == BF_F64) return BF_F64;
    return BF_F32;
}

/* --- the kernel --- */

enum { SIZE = 4 };

template <class T>
__device__ __forceinline__ void store(const bf_cuda_computed_job &p, int64_t at, T x) {
    if (p.out_bytes == 1)
        ((uint8_t *)p.out)[at] = x != 0;
    else
        ((T *)p.out)[at] = x;
}

template <class T, class Computing>
__device__ __forceinline__ void store_strip(const bf_cuda_computed_job &p, int64_t first,
                                            const Computing &c) {
    constexpr int N = 16 / (int)sizeof(T);
    if (!p.aligned) {
#pragma unroll
        for (int k = 0; k < SIZE * N; k++) store<T>(p, first + Computing::step(k), c.last[k]);
        return;
    }
#pragma unroll
    for (int v = 0; v < SIZE; v++) {
        uint4 x;
        memcpy(&x, &c.last[v * N], sizeof x);
        *(uint4 *)((T *)p.out + first + Computing::step(v * N)) = x;
    }
}

template <class T>
__global__ void __launch_bounds__(BF_CUDA_EXPRESSION_THREADS)
    compute(const __grid_constant__ bf_cuda_computed_job p) {
    constexpr int N = 16 / (int)sizeof(T), warps = BF_CUDA_EXPRESSION_THREADS / BF_CUDA_WARP;
    const bf_cuda_strips<SIZE * BF_CUDA_WARP * N, N> s(p.count, p.program.head);
    const int64_t thread = blockIdx.x * (int64_t)BF_CUDA_EXPRESSION_THREADS + threadIdx.x;
    bf_cuda_wait_for_previous();
    for (unsigned n = (unsigned)(thread / BF_CUDA_WARP); n < s.strips; n += gridDim.x * warps) {
        bf_cuda_computing<T, SIZE, N, true> c;
        c.run(p.program, s.first(n));
        store_strip<T>(p, s.first(n), c);
    }
    for (int64_t i = thread; i < s.ends(); i += (int64_t)gridDim.x * BF_CUDA_EXPRESSION_THREADS) {
        bf_cuda_computing<T, 1, 1, true> c;
        c.run(p.program, s.end((int)i));
        store<T>(p, s.end((int)i), c.last[0]);
    }
}

} // namespace

bool bf_cuda_expression_translate(const bf_expression_job *job, bf_cuda_computed_program *to) {
    const bf_expression_program *p = job->program;
    *to = {};
    if (!fits(job)) return false;
    to->dtype = dtype_of(p);
    to->steps.steps = p->steps;
    translation t = {p, &to->steps, to->dtype, {}, 0};
    for (int i = 0; i < p->constants; i++) {
        bool misfit = false;
        to->steps.constant[i] =
            bf_cast(p->constant[i].dtype, to->dtype, p->constant[i].bits, false, &misfit);
    }
    for (int n = 0; n < p->steps; n++)
        if (!translate_step(&t, n)) return false;
    return p->dtype == to->dtype || p->dtype == BF_BOOL;
}

void bf_cuda_expression_place(bf_cuda_computed_program *program, const bf_cuda_column *columns,
                              int count) {
    bf_cuda_computed *p = &program->steps;
    const int bytes = bf_dtype_bytes(program->dtype);
    bool found = false;
    p->head = 0;
    for (int i = 0; i < count; i++) {
        const uintptr_t at = (uintptr_t)columns[i].data;
        p->column[i].data = columns[i].data;
        if (found || columns[i].bytes != bytes) continue;
        p->head = (int)((0 - at) & 15) / bytes;
        found = true;
    }
    for (int i = 0; i < count; i++)
        p->column[i].aligned =
            ((uintptr_t)columns[i].data + (uintptr_t)(p->head * bytes)) % 16 == 0;
}

const void *bf_cuda_expression_computing(bf_dtype dtype) {
    return dtype == BF_F32 ? (const void *)compute<float> : (const void *)compute<double>;
}
