/* Copies between memory of any strides and contiguous memory. */
#include "cpu/runtime/context.h"

/* Returns where element i is, and sets its index in each dimension. */
static char *element_at(const bf_strided *x, int64_t i, int64_t *position) {
    int64_t at = 0;
    for (int d = x->ndim - 1; d >= 0; d--) {
        position[d] = d > 0 ? i % x->shape[d] : i;
        if (d > 0) i /= x->shape[d];
        at += position[d] * x->strides[d];
    }
    return x->data + at * x->bytes;
}

/* Moves on by n elements, at most to the end of the row. Returns where that is. */
static char *advance_position(const bf_strided *x, char *at, int64_t *position, int64_t n) {
    int d = x->ndim - 1;
    int64_t step = n * x->strides[d];
    for (position[d] += n; d > 0 && position[d] == x->shape[d]; d--) {
        step += x->strides[d - 1] - position[d] * x->strides[d];
        position[d] = 0;
        position[d - 1]++;
    }
    return at + step * x->bytes;
}

/* Inlined with bytes a constant: memcpy is then one load and one store. */
static inline void copy_strided(char *to, int64_t to_step, const char *from, int64_t from_step,
                                int64_t n, size_t bytes) {
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, bytes);
}

static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                     int bytes) {
    if (to_step == from_step) { /* the elements follow each other */
        memcpy(to, from, (size_t)(n * bytes));
        return;
    }
    switch (bytes) {
    case 1: copy_strided(to, to_step, from, from_step, n, 1); break;
    case 2: copy_strided(to, to_step, from, from_step, n, 2); break;
    case 4: copy_strided(to, to_step, from, from_step, n, 4); break;
    case 8: copy_strided(to, to_step, from, from_step, n, 8); break;
    default: copy_strided(to, to_step, from, from_step, n, 16); break;
    }
}

static void copy_elements(const bf_strided *x, int64_t first, int64_t count, char *flat,
                          bool gather) {
    int64_t position[BF_MAX_DIMS], bytes = x->bytes;
    int inner = x->ndim - 1;
    int64_t step = x->strides[inner] * bytes;
    char *strided = element_at(x, first, position);
    while (count > 0) {
        int64_t left = x->shape[inner] - position[inner], n = left < count ? left : count;
        if (gather)
            copy_row(flat, bytes, strided, step, n, x->bytes);
        else
            copy_row(strided, step, flat, bytes, n, x->bytes);
        count -= n;
        flat += n * bytes;
        strided = advance_position(x, strided, position, n);
    }
}

bf_status bf_cpu_gather(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                        void *to) {
    (void)context;
    copy_elements(from, first, count, to, true);
    return BF_OK;
}

bf_status bf_cpu_scatter(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                         const void *from) {
    (void)context;
    copy_elements(to, first, count, (char *)(uintptr_t)from, false);
    return BF_OK;
}
