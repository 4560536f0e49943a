/* Expressions of floats and bools: their translation, and the kernel that stores elements. */
#include "cuda/expression/computed.cuh"

#include "rules/number/cast.h"

#include "cuda/map/operation.cuh"

namespace {

/* --- operations --- */

struct operation {
    bf_cuda_computed_op op;
    int swapped; /* the operation on the inputs in the other order; -1: there is none */
};

/* Sets *to to an operation of bools. */
bool find_logic(int op, operation *to) {
    switch (op) {
    case BF_MAP_MUL:
    case BF_MAP_MIN:
    case BF_EXPRESSION_AND: *to = {BF_CUDA_COMPUTED_AND, BF_CUDA_COMPUTED_AND}; return true;
    case BF_MAP_ADD:
    case BF_MAP_MAX:
    case BF_EXPRESSION_OR: *to = {BF_CUDA_COMPUTED_OR, BF_CUDA_COMPUTED_OR}; return true;
    case BF_MAP_CAST:
    case BF_EXPRESSION_MET:
    case BF_EXPRESSION_MAYBE: *to = {BF_CUDA_COMPUTED_TRUTH, -1}; return true;
    case BF_EXPRESSION_UNMET: *to = {BF_CUDA_COMPUTED_NOT, -1}; return true;
    case BF_EXPRESSION_SELECT: *to = {BF_CUDA_COMPUTED_SELECT, -1}; return true;
    default: return false;
    }
}

/* Sets *to to an operation of floats. */
bool find_arithmetic(int op, operation *to) {
    switch (op) {
    case BF_MAP_ADD: *to = {BF_CUDA_COMPUTED_ADD, BF_CUDA_COMPUTED_ADD}; return true;
    case BF_MAP_SUB: *to = {BF_CUDA_COMPUTED_SUB, BF_CUDA_COMPUTED_SUB_FROM}; return true;
    case BF_MAP_MUL: *to = {BF_CUDA_COMPUTED_MUL, BF_CUDA_COMPUTED_MUL}; return true;
    case BF_MAP_DIV: *to = {BF_CUDA_COMPUTED_DIV, BF_CUDA_COMPUTED_DIV_INTO}; return true;
    case BF_MAP_MIN: *to = {BF_CUDA_COMPUTED_MIN, BF_CUDA_COMPUTED_MIN}; return true;
    case BF_MAP_MAX: *to = {BF_CUDA_COMPUTED_MAX, BF_CUDA_COMPUTED_MAX}; return true;
    case BF_MAP_FMA: *to = {BF_CUDA_COMPUTED_FMA, BF_CUDA_COMPUTED_FMA}; return true;
    case BF_MAP_SQRT: *to = {BF_CUDA_COMPUTED_SQRT, -1}; return true;
    case BF_MAP_NEG: *to = {BF_CUDA_COMPUTED_NEG, -1}; return true;
    case BF_MAP_ABS: *to = {BF_CUDA_COMPUTED_ABS, -1}; return true;
    case BF_MAP_CAST: *to = {BF_CUDA_COMPUTED_CAST, -1}; return true;
    case BF_EXPRESSION_FLOOR: *to = {BF_CUDA_COMPUTED_FLOOR, -1}; return true;
    case BF_EXPRESSION_CEIL: *to = {BF_CUDA_COMPUTED_CEIL, -1}; return true;
    case BF_EXPRESSION_SELECT: *to = {BF_CUDA_COMPUTED_SELECT, -1}; return true;
    default: return false;
    }
}

bool is_comparison(int op) {
    return op <= BF_MAP_CAST && bf_cuda_map::is_comparison((bf_map_op)op);
}

bool find_operation(const bf_expression_step *s, bf_dtype dtype, operation *to) {
    if (s->refuse_zero || (s->work != BF_BOOL && s->work != dtype)) return false;
    if (is_comparison(s->op)) {
        *to = {BF_CUDA_COMPUTED_COMPARE, BF_CUDA_COMPUTED_COMPARE};
        return true;
    }
    return s->work == BF_BOOL ? find_logic(s->op, to) : find_arithmetic(s->op, to);
}

/* The relations of a comparison whose inputs are swapped. */
unsigned swap_relations(unsigned x) {
    const unsigned same = bf_cuda_map::EQUAL | bf_cuda_map::UNORDERED;
    return (x & same) | ((x & bf_cuda_map::LESS) != 0 ? bf_cuda_map::GREATER : 0) |
           ((x & bf_cuda_map::GREATER) != 0 ? bf_cuda_map::LESS : 0);
}

/* --- steps --- */

struct translation {
    const bf_expression_job *job;
    const bf_expression_program *from;
    bf_cuda_computed_program *program;
    bf_cuda_computed *to;
    bf_dtype dtype;
    int column[BF_EXPRESSION_COLUMNS];     /* its number on the GPU, from 1 on; 0: none yet */
    int kept[BF_EXPRESSION_REGISTERS + 1]; /* the register on the GPU, from 1 on; 0: none yet */
};

/* The number of a register, of which the result is the last; -1: it is none. */
int register_of(const bf_expression_program *p, bf_expression_operand x) {
    if (x.kind == BF_EXPRESSION_RESULT) return p->registers;
    return x.kind == BF_EXPRESSION_REGISTER ? x.number : -1;
}

/* Is input k of step n the result of the step before? */
bool is_last(const bf_expression_program *p, int n, int k) {
    const bf_expression_step *s = &p->step[n];
    if (n == 0 || k >= s->arity) return false;
    const int number = register_of(p, s->in[k]);
    return number >= 0 && number == register_of(p, p->step[n - 1].out);
}

/* The order of the first two inputs of step n: the first is the result of the step before if one of
 * them is and may be. */
bool is_swapped(const bf_expression_program *p, int n, int swapped) {
    return swapped >= 0 && !is_last(p, n, 0) && is_last(p, n, 1);
}

/* Does step n read the result of the step before from a register, since another input takes its
 * place? */
bool reads_kept(const bf_expression_program *p, int n, bf_dtype dtype) {
    operation o;
    if (!find_operation(&p->step[n], dtype, &o) || is_swapped(p, n, o.swapped)) return false;
    return !is_last(p, n, 0) && (is_last(p, n, 1) || is_last(p, n, 2));
}

bool is_kept(const translation *t, int n) {
    const bf_expression_program *p = t->from;
    const int number = register_of(p, p->step[n].out);
    for (int m = n + 1; m < p->steps; m++) {
        if (m == n + 1 && reads_kept(p, m, t->dtype)) return true;
        for (int k = 0; k < p->step[m].arity && m > n + 1; k++)
            if (register_of(p, p->step[m].in[k]) == number) return true;
        if (register_of(p, p->step[m].out) == number) return false;
    }
    return false;
}

/* Can an input of this dtype be read as one of the program's own? */
bool is_readable(const translation *t, bf_dtype from, bf_expression_operand x) {
    if (from == t->dtype || from == BF_BOOL || x.kind == BF_EXPRESSION_CONSTANT) return true;
    return from == BF_F32 && x.kind == BF_EXPRESSION_COLUMN;
}

/* The place of an input; `last`: it is the result of the step before, which is still at hand. */
uint32_t place_of(const translation *t, bf_expression_operand x, bool last) {
    if (last) return BF_CUDA_COMPUTED_LAST;
    if (x.kind == BF_EXPRESSION_CONSTANT) return BF_CUDA_COMPUTED_CONSTANT + (uint32_t)x.number;
    if (x.kind == BF_EXPRESSION_COLUMN)
        return BF_CUDA_COMPUTED_COLUMN + (uint32_t)t->column[x.number] - 1;
    return BF_CUDA_COMPUTED_REGISTER + (uint32_t)t->kept[register_of(t->from, x)] - 1;
}

/* Keeps the result of step n if it is read later on. */
bool keep_result(translation *t, int n) {
    if (!is_kept(t, n)) return true;
    int *kept = &t->kept[register_of(t->from, t->from->step[n].out)];
    if (*kept == 0) *kept = ++t->to->kept;
    t->to->step[n].kept = (uint8_t)*kept;
    return *kept <= BF_CUDA_COMPUTED_KEPT;
}

/* Notes that a step reads a column with elements of this dtype. */
bool take_column(translation *t, int number, bf_dtype dtype) {
    int *column = &t->column[number];
    if (t->job->columns[number].valid != NULL) return false;
    if (*column == 0) {
        if (t->to->columns == BF_CUDA_COMPUTED_COLUMNS) return false;
        t->program->column[t->to->columns] = (uint8_t)number;
        *column = ++t->to->columns;
    }
    bf_cuda_computed_column *c = &t->to->column[*column - 1];
    c->again = c->bytes != 0;
    c->bytes = (uint8_t)bf_dtype_bytes(dtype);
    return true;
}

bool take_inputs(translation *t, const bf_expression_step *s) {
    for (int k = 0; k < s->arity; k++) {
        if (!is_readable(t, s->from[k], s->in[k])) return false;
        if (s->in[k].kind == BF_EXPRESSION_COLUMN && !take_column(t, s->in[k].number, s->from[k]))
            return false;
    }
    return true;
}

bool translate_step(translation *t, int n) {
    const bf_expression_step *s = &t->from->step[n];
    bf_cuda_computed_step *to = &t->to->step[n];
    operation o;
    if (!take_inputs(t, s) || !find_operation(s, t->dtype, &o)) return false;
    const bool swapped = is_swapped(t->from, n, o.swapped);
    const int x = swapped ? 1 : 0, y = swapped ? 0 : 1;
    const bool held = is_last(t->from, n, x);
    to->op = (uint8_t)(swapped ? o.swapped : o.op);
    if (is_comparison(s->op)) {
        const unsigned relations = bf_cuda_map::relations_of((bf_map_op)s->op);
        to->relations = (uint8_t)(swapped ? swap_relations(relations) : relations);
    }
    to->x = place_of(t, s->in[x], held);
    to->y = to->z = BF_CUDA_COMPUTED_NOTHING;
    if (s->arity > 1) to->y = place_of(t, s->in[y], held && is_last(t->from, n, y));
    if (s->arity > 2) to->z = place_of(t, s->in[2], held && is_last(t->from, n, 2));
    return keep_result(t, n);
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
        for (int k = 0; k < SIZE * N; k++)
            store<T>(p, first + bf_cuda_computed_offset<N>(k), c.last[k]);
        return;
    }
#pragma unroll
    for (int v = 0; v < SIZE; v++) {
        uint4 x;
        memcpy(&x, &c.last[v * N], sizeof x);
        *(uint4 *)((T *)p.out + first + bf_cuda_computed_offset<N>(v * N)) = x;
    }
}

template <class T>
__global__ void __launch_bounds__(BF_CUDA_EXPRESSION_THREADS)
    compute(const __grid_constant__ bf_cuda_computed_job p) {
    constexpr int N = 16 / (int)sizeof(T), warps = BF_CUDA_EXPRESSION_THREADS / BF_CUDA_WARP;
    const bf_cuda_strips<SIZE * BF_CUDA_WARP * N, N> s(p.count, p.program.head);
    const int64_t thread = blockIdx.x * (int64_t)BF_CUDA_EXPRESSION_THREADS + threadIdx.x;
    extern __shared__ uint4 bf_cuda_kept_memory[];
    uint4 *cell = bf_cuda_kept_memory + threadIdx.x;
    bf_cuda_wait_for_previous();
    for (unsigned n = (unsigned)(thread / BF_CUDA_WARP); n < s.strips; n += gridDim.x * warps) {
        bf_cuda_computing<T, SIZE, N, true> c;
        c.run(p.program, bf_cuda_computed_in_place<T, SIZE, N>{
                             p.program, {cell, BF_CUDA_EXPRESSION_THREADS}, s.first(n)});
        store_strip<T>(p, s.first(n), c);
    }
    for (int64_t i = thread; i < s.ends(); i += (int64_t)gridDim.x * BF_CUDA_EXPRESSION_THREADS) {
        bf_cuda_computing<T, 1, 1, true> c;
        c.run(p.program, bf_cuda_computed_in_place<T, 1, 1>{
                             p.program, {cell, BF_CUDA_EXPRESSION_THREADS}, s.end((int)i)});
        store<T>(p, s.end((int)i), c.last[0]);
    }
}

} // namespace

bool bf_cuda_expression_translate(const bf_expression_job *job, bf_cuda_computed_program *to) {
    const bf_expression_program *p = job->program;
    *to = {};
    if (p->constants > BF_CUDA_COMPUTED_CONSTANTS || p->steps > BF_CUDA_COMPUTED_STEPS ||
        p->strings > 0 || job->valid != NULL)
        return false;
    to->dtype = dtype_of(p);
    to->steps.steps = p->steps;
    translation t = {};
    t.job = job;
    t.from = p;
    t.program = to;
    t.to = &to->steps;
    t.dtype = to->dtype;
    for (int i = 0; i < p->constants; i++) {
        bool misfit = false;
        to->steps.constant[i] =
            bf_cast(p->constant[i].dtype, to->dtype, p->constant[i].bits, false, &misfit);
    }
    for (int n = 0; n < p->steps; n++)
        if (!translate_step(&t, n)) return false;
    return p->dtype == to->dtype || p->dtype == BF_BOOL;
}

void bf_cuda_expression_place(bf_cuda_computed_program *program, const bf_cuda_column *columns) {
    bf_cuda_computed *p = &program->steps;
    const int bytes = bf_dtype_bytes(program->dtype);
    bool found = false;
    p->head = 0;
    for (int i = 0; i < p->columns; i++) {
        p->column[i].data = columns[program->column[i]].data;
        if (found || p->column[i].bytes != bytes) continue;
        p->head = (int)((0 - (uintptr_t)p->column[i].data) & 15) / bytes;
        found = true;
    }
    for (int i = 0; i < p->columns; i++)
        p->column[i].aligned =
            ((uintptr_t)p->column[i].data + (uintptr_t)(p->head * bytes)) % 16 == 0;
}

int bf_cuda_expression_kept_bytes(const bf_cuda_computed_program *program) {
    return bf_cuda_computed_cells<double, SIZE, 2>::bytes(program->steps.kept,
                                                          BF_CUDA_EXPRESSION_THREADS);
}

const void *bf_cuda_expression_computing(bf_dtype dtype) {
    return dtype == BF_F32 ? (const void *)compute<float> : (const void *)compute<double>;
}
