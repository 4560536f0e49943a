/* Casts of a block in a few steps that the instruction set has loops for: by way of f64, which
 * holds every number but 64-bit integers, or of those. */
#include "cpu/runtime/cast.h"

#include "rules/number/cast.h"

enum { STEPS = 4 };

static bool is_long(bf_dtype dtype) { return dtype == BF_I64 || dtype == BF_U64; }

/* Adds the steps from f32 or f64. Returns how many. */
static int plan_from_float(const bf_cast_loops *t, bf_dtype from, bf_dtype to, bf_cast_loop *step) {
    int n = 0;
    if (from == BF_F32 && (bf_dtype_is_half(to) || to == BF_F32)) {
        step[n++] = t->from_f32[to];
        return n;
    }
    if (from == BF_F32) step[n++] = t->to_f64[BF_F32];
    if (from == BF_F32 && to == BF_F64) return n;
    if (bf_dtype_is_half(to)) {
        step[n++] = t->f64_to_odd;
        step[n++] = t->from_f32[to];
    } else {
        step[n++] = t->from_f64[to];
    }
    return n;
}

static int plan_from_integer(const bf_cast_loops *t, bf_dtype from, bf_dtype to,
                             bf_cast_loop *step) {
    int n = 0;
    const bf_cast_loop *last = from == BF_U64 ? t->from_u64 : t->from_i64;
    if (to == BF_F64) {
        step[n++] = t->to_f64[from];
    } else if (bf_dtype_is_float(to) && !is_long(from)) {
        step[n++] = t->to_f64[from];
        n += plan_from_float(t, BF_F64, to, step + n);
    } else {
        if (!is_long(from)) step[n++] = t->to_i64[from];
        step[n++] = last[to];
    }
    return n;
}

/* Sets the steps from one dtype to another. Returns how many; 0: there are none. */
static int plan_steps(const bf_cast_loops *t, bf_dtype from, bf_dtype to, bf_cast_loop *step) {
    int n = 0;
    if (is_long(from) && bf_dtype_is_half(to)) return 0;
    if (!bf_dtype_is_float(from)) return plan_from_integer(t, from, to, step);
    if (!bf_dtype_is_half(from)) return plan_from_float(t, from, to, step);
    step[n++] = t->to_f32[from];
    return n + plan_from_float(t, BF_F32, to, step + n);
}

static bool cast_by_rules(bf_dtype from, bf_dtype to, const char *in, char *out, int64_t n) {
    int in_bytes = bf_dtype_bytes(from), out_bytes = bf_dtype_bytes(to);
    bool misfit = false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = bf_load_bits(in + i * in_bytes, in_bytes);
        bf_store_bits(out + i * out_bytes, out_bytes, bf_cast(from, to, bits, false, &misfit));
    }
    return misfit;
}

bool bf_cast_block(const bf_isa *isa, bf_dtype from, bf_dtype to, const void *in, void *out,
                   int64_t n) {
    uint64_t between[2][BF_CAST_BLOCK];
    bf_cast_loop step[STEPS];
    int steps = plan_steps(isa->cast, from, to, step);
    bool misfit = false;
    if (steps == 0 || step[0] == NULL) return cast_by_rules(from, to, in, out, n);
    for (int i = 0; i < steps; i++) {
        void *next = i == steps - 1 ? out : between[i & 1];
        misfit |= step[i](in, next, (size_t)n);
        in = next;
    }
    return misfit;
}
