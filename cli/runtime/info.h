/* What the library's objects tell of themselves; NULL tells nothing, in zeros. */
#ifndef BITFOLD_CLI_RUNTIME_INFO_H
#define BITFOLD_CLI_RUNTIME_INFO_H

#include <bitfold.h>

#define INFO_OF(name, type, object)                                                                \
    static inline type name(const object *x) {                                                     \
        type told = {.size = sizeof told};                                                         \
        object##_describe(x, &told);                                                               \
        return told;                                                                               \
    }
INFO_OF(state_info, bf_state_info, bf_state)
INFO_OF(states_info, bf_states_info, bf_states)
INFO_OF(quantiles_info, bf_quantiles_info, bf_quantiles)
INFO_OF(histogram_info, bf_histogram_info, bf_histogram)
INFO_OF(groups_kind, bf_groups_options, bf_groups)
#undef INFO_OF

#endif
