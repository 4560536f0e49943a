/* For the tests in C: objects that end with the block that declares them, the last one first. */
#ifndef BITFOLD_TESTS_SUPPORT_OWN_H
#define BITFOLD_TESTS_SUPPORT_OWN_H

#include <bitfold.h>

/* OWN(bf_state) *s = NULL; is destroyed where its block ends, unless a failure leaves it. */
#define OWN(type) __attribute__((cleanup(destroy_##type))) type

#define DESTROY(type)                                                                              \
    static inline void destroy_##type(type **object) { type##_destroy(*object); }
DESTROY(bf_context)
DESTROY(bf_state)
DESTROY(bf_states)
DESTROY(bf_histogram)
DESTROY(bf_groups)
DESTROY(bf_expression)
DESTROY(bf_table)
DESTROY(bf_pairs)
DESTROY(bf_quantiles)
DESTROY(bf_sorter)
DESTROY(bf_dictionary)
DESTROY(bf_comm)
#undef DESTROY

#endif
