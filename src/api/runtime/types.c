/* Names, from the lists in types.h. */
#include <bitfold/types.h>

#include "rules/number/dtype.h"

#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *bf_status_string(bf_status status) {
    switch (status) {
#define BF_X(id, number, message)                                                                  \
    case BF_##id: return message;
        BF_STATUS_LIST(BF_X)
#undef BF_X
    }
    return "unknown status";
}

const char *bf_dtype_name(bf_dtype dtype) {
    switch (dtype) {
#define BF_X(id, number, name, bytes, type)                                                        \
    case BF_##id: return #name;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    case BF_I192: return "i192";
    case BF_PAIR: return "pair";
    case BF_I128: return "i128";
    case BF_NONE: break;
    }
    return "?";
}

bf_dtype bf_dtype_from_name(const char *name) {
    if (name == NULL) return BF_NONE;
#define BF_X(id, number, text, bytes, type)                                                        \
    if (strcmp(name, #text) == 0) return BF_##id;
    BF_DTYPE_LIST(BF_X)
#undef BF_X
    return BF_NONE;
}

size_t bf_dtype_size(bf_dtype dtype) { return (size_t)bf_number_bytes(dtype); }

const char *bf_reduction_name(bf_reduction op) {
    switch (op) {
#define BF_X(id, number, name)                                                                     \
    case BF_##id: return #name;
        BF_REDUCTION_LIST(BF_X)
#undef BF_X
    }
    return "?";
}

bf_reduction bf_reduction_from_name(const char *name) {
    if (name == NULL) return (bf_reduction)0;
#define BF_X(id, number, text)                                                                     \
    if (strcmp(name, #text) == 0) return BF_##id;
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
    return (bf_reduction)0;
}

const char *bf_version(void) {
    return TEXT(BF_VERSION_MAJOR) "." TEXT(BF_VERSION_MINOR) "." TEXT(BF_VERSION_PATCH);
}

int bf_version_number(void) { return BF_VERSION; }
