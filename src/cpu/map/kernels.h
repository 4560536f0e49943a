/* The shapes of element-wise loops over one type, in plain C that compilers turn into vectors:
 * included by float_loops.h and integer_loops.h for each type, with
 *   FN(name)  map_name_f32, ...
 *   T         the element, of any alignment
 *   C         the same type, aligned
 *   U         the unsigned integer of its size, which gathers the bits of `misfit`
 * `op` is always a constant, and inlined. An input that it does not take is `a` again. */

INLINE bool FN(each_)(const void *a, const void *b, const void *c, void *out, size_t n,
                      C (*op)(OPERANDS)) {
    const T *x = a, *y = b, *z = c;
    T *to = out;
    U misfit = 0;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) to[i] = op(x[i], y[i], z[i], &misfit);
    return misfit != 0;
}

INLINE bool FN(test_)(const void *a, const void *b, void *out, size_t n, bool (*op)(C x, C y)) {
    const T *x = a, *y = b;
    u8_element *to = out;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) to[i] = op(x[i], y[i]);
    return false;
}

INLINE bool FN(is_eq_)(C x, C y) { return x == y; }
INLINE bool FN(is_ne_)(C x, C y) { return x != y; }
INLINE bool FN(is_lt_)(C x, C y) { return x < y; }
INLINE bool FN(is_le_)(C x, C y) { return x <= y; }

/* Entries of the table: FN(add_) from FN(one_add_), ... */
#define LOOP(name, second, third)                                                                  \
    static bool FN(name##_)(const void *a, const void *b, const void *c, void *out, size_t n) {    \
        (void)b, (void)c;                                                                          \
        return FN(each_)(a, second, third, out, n, FN(one_##name##_));                             \
    }
#define TEST(name)                                                                                 \
    static bool FN(name##_)(const void *a, const void *b, const void *c, void *out, size_t n) {    \
        (void)c;                                                                                   \
        return FN(test_)(a, b, out, n, FN(is_##name##_));                                          \
    }

TEST(eq)
TEST(ne)
TEST(lt)
TEST(le)
static bool FN(gt_)(const void *a, const void *b, const void *c, void *out, size_t n) {
    return FN(lt_)(b, a, c, out, n);
}
static bool FN(ge_)(const void *a, const void *b, const void *c, void *out, size_t n) {
    return FN(le_)(b, a, c, out, n);
}
