/* Structs that begin with their size, made in an expression: BF_OPTIONS(.threads = 2),
 * BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP) and so on. The size is set, and members that are not named
 * have their defaults. In C these are compound literals. In C++, from C++11 on, they are objects
 * that live to the end of the statement, so that a call may be given their address. There up to
 * twelve members may be named, in any order, and the expression stands inside a function. */
#ifndef BITFOLD_OPTIONS_H
#define BITFOLD_OPTIONS_H

#include "types.h"

#ifdef __cplusplus
extern "C++" {
/* C++ has no address of a temporary object; of this one it has. */
template <typename T> struct bf_options_made : T {
    bf_options_made() : T() { this->size = sizeof(T); }
    T *operator&() { return this; }
};
}

/* Designated initializers are of C++20. Here each is an assignment: `made .nan = BF_NAN_SKIP;` */
#define BF_OPTIONS_OF(type, ...)                                                                   \
    ([&] {                                                                                         \
        bf_options_made<type> bf_made;                                                             \
        BF_SET(__VA_ARGS__)                                                                        \
        return bf_made;                                                                            \
    }())
#define BF_SET(...)                                                                                \
    BF_SET_CHOOSE(__VA_ARGS__, BF_SET_12, BF_SET_11, BF_SET_10, BF_SET_9, BF_SET_8, BF_SET_7,      \
                  BF_SET_6, BF_SET_5, BF_SET_4, BF_SET_3, BF_SET_2, BF_SET_1, 0)                   \
    (__VA_ARGS__)
#define BF_SET_CHOOSE(a, b, c, d, e, f, g, h, i, j, k, l, name, ...) name
#define BF_SET_1(x) (void)(bf_made x);
#define BF_SET_2(x, ...) BF_SET_1(x) BF_SET_1(__VA_ARGS__)
#define BF_SET_3(x, ...) BF_SET_1(x) BF_SET_2(__VA_ARGS__)
#define BF_SET_4(x, ...) BF_SET_1(x) BF_SET_3(__VA_ARGS__)
#define BF_SET_5(x, ...) BF_SET_1(x) BF_SET_4(__VA_ARGS__)
#define BF_SET_6(x, ...) BF_SET_1(x) BF_SET_5(__VA_ARGS__)
#define BF_SET_7(x, ...) BF_SET_1(x) BF_SET_6(__VA_ARGS__)
#define BF_SET_8(x, ...) BF_SET_1(x) BF_SET_7(__VA_ARGS__)
#define BF_SET_9(x, ...) BF_SET_1(x) BF_SET_8(__VA_ARGS__)
#define BF_SET_10(x, ...) BF_SET_1(x) BF_SET_9(__VA_ARGS__)
#define BF_SET_11(x, ...) BF_SET_1(x) BF_SET_10(__VA_ARGS__)
#define BF_SET_12(x, ...) BF_SET_1(x) BF_SET_11(__VA_ARGS__)
#else
#define BF_OPTIONS_OF(type, ...) ((type){.size = sizeof(type), __VA_ARGS__})
#endif

#endif
