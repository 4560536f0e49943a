/* verify: element-wise operations, compared by a checksum of their results. */
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

static const bf_dtype dtypes[] = {
#define BF_X(id, number, name, bytes, type) BF_##id,
    BF_DTYPE_LIST(BF_X)
#undef BF_X
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

uint64_t verify_checksum(uint64_t sum, const void *bytes, size_t n) {
    const char *from = bytes;
    for (size_t at = 0; at < n; at += 8) {
        uint64_t word = 0;
        memcpy(&word, from + at, n - at < 8 ? n - at : 8);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 32;
    }
    return sum;
}

/* Saturates integers that overflow. Division by zero is an error on every device. */
static bf_status map_arrays(bf_context *context, const subject *s, const bf_array *a,
                            const bf_array *b, const bf_array *out) {
    const bf_array *inputs[] = {a, b, a};
    const bf_map_options how = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    return bf_map(context, s->map, inputs, bf_map_arity(s->map), &how, out);
}

/* Maps arrays in the memory of the device, then copies the result to `out` in the host's memory. */
static bf_status map_whole(bf_context *context, const subject *s, const bf_array *out) {
    bf_array a = s->a, b = s->b, to = *out;
    bf_status st = verify_move(context, &s->a, &a);
    if (st == BF_OK) st = verify_move(context, &s->b, &b);
    if (st == BF_OK) st = verify_move(context, out, &to);
    if (st == BF_OK) st = map_arrays(context, s, &a, &b, &to);
    if (st == BF_OK) st = verify_return(context, out, &to);
    verify_unmove(context, &s->a, &a);
    verify_unmove(context, &s->b, &b);
    verify_unmove(context, out, &to);
    return st;
}

static bf_status map_parts(bf_context *context, const subject *s, const bf_array *out) {
    const int64_t n = out->shape[0], cuts[] = {0, n / 7, n - n / 3, n};
    bf_status st = BF_OK;
    for (int i = 0; i < 3 && st == BF_OK; i++) {
        const bf_array a = verify_slice(&s->a, cuts[i], cuts[i + 1]);
        const bf_array b = verify_slice(&s->b, cuts[i], cuts[i + 1]);
        const bf_array to = verify_slice(out, cuts[i], cuts[i + 1]);
        st = map_arrays(context, s, &a, &b, &to);
    }
    return st;
}

typedef bf_status map_fn(bf_context *context, const subject *s, const bf_array *out);

/* Does one operation. cast is done to every dtype in turn. */
static outcome map_all(bf_context *context, const subject *s, map_fn *map) {
    const bf_dtype inputs[] = {s->a.dtype, s->b.dtype, s->a.dtype};
    const bool cast = s->map == BF_MAP_CAST;
    outcome r = {.status = BF_OK, .value.dtype = BF_U64};
    bf_dtype to = BF_NONE;
    char *out = calloc((size_t)s->a.shape[0] + 1, 8);
    if (!out) return (outcome){.status = BF_E_MEMORY};
    if (!cast) r.status = bf_map_result_dtype(s->map, inputs, bf_map_arity(s->map), 0, &to);
    for (int i = 0; i < (cast ? DTYPES : 1) && r.status == BF_OK; i++) {
        if (cast) to = dtypes[i];
        const bf_array result = bf_array_of(to, out, s->a.shape[0]);
        r.status = map(context, s, &result);
        r.value.as.u64 =
            verify_checksum(r.value.as.u64, out, (size_t)s->a.shape[0] * bf_dtype_size(to));
    }
    free(out);
    return r;
}

static outcome in_one_pass(bf_context *context, const subject *s) {
    return map_all(context, s, map_whole);
}

static outcome in_parts(bf_context *context, const subject *s) {
    return map_all(context, s, map_parts);
}

/* Copies the elements in reverse order. Sets the lowest bit of integers, so that no divisor is 0.
 */
static void reverse_array(const bf_array *all, char *to) {
    const size_t bytes = bf_dtype_size(all->dtype);
    const char *from = all->data;
    for (int64_t i = 0, n = all->shape[0]; i < n; i++) {
        memcpy(to + (size_t)i * bytes, from + (size_t)(n - 1 - i) * bytes, bytes);
        if (all->dtype < BF_F16) to[(size_t)i * bytes] |= 1;
    }
}

static bool is_defined(bf_map_op op, bf_dtype dtype) {
    const bf_dtype inputs[] = {dtype, dtype, dtype};
    bf_dtype result;
    return op == BF_MAP_CAST ||
           bf_map_result_dtype(op, inputs, bf_map_arity(op), 0, &result) == BF_OK;
}

int verify_maps(const machine *m, const char *name, const bf_array *all, verdict *v) {
    subject s = {.data = name, .a = *all, .whole = in_one_pass, .parts = in_parts};
    char *other = malloc((size_t)all->shape[0] * bf_dtype_size(all->dtype) + 1);
    if (!other) return fail_status(BF_E_MEMORY, NULL, NULL);
    reverse_array(all, other);
    s.b = bf_array_of(all->dtype, other, all->shape[0]);
    int code = EXIT_DONE;
    for (int op = 1; bf_map_arity((bf_map_op)op) > 0 && code == EXIT_DONE; op++) {
        s.map = (bf_map_op)op;
        s.op = bf_map_name(s.map);
        if (s.map == BF_MAP_CAST) s.a = verify_slice(all, 0, all->shape[0] / 4); /* to 13 dtypes */
        if (is_defined(s.map, all->dtype)) code = verify_row(m, &s, v);
    }
    free(other);
    return code;
}
