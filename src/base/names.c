/* Names of statuses, dtypes and reductions, from the lists in types.h, and of devices. */
#include <bitfold/device.h>
#include <bitfold/types.h>

#include "rules/number/dtype.h"

#include <stdio.h>
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
#define BF_X(id, number, name, bytes, type, ...)                                                   \
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
#define BF_X(id, number, text, bytes, type, ...)                                                   \
    if (strcmp(name, #text) == 0) return BF_##id;
    BF_DTYPE_LIST(BF_X)
#undef BF_X
    return BF_NONE;
}

size_t bf_dtype_size(bf_dtype dtype) { return (size_t)bf_number_bytes(dtype); }

char bf_dtype_kind(bf_dtype dtype) {
    switch (dtype) {
#define BF_X(id, number, name, bytes, type, kind, ...)                                             \
    case BF_##id: return kind;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    case BF_I128:
    case BF_I192: return 'i';
    default: return '\0';
    }
}

const char *bf_reduction_name(bf_reduction op) {
    switch (op) {
#define BF_X(id, number, name, state, result, text)                                                \
    case BF_##id: return #name;
        BF_REDUCTION_LIST(BF_X)
#undef BF_X
    }
    return "?";
}

bf_reduction bf_reduction_from_name(const char *name) {
    if (name == NULL) return (bf_reduction)0;
#define BF_X(id, number, word, state, result, text)                                                \
    if (strcmp(name, #word) == 0) return BF_##id;
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
    return (bf_reduction)0;
}

bf_result_class bf_reduction_result(bf_reduction op) {
    switch (op) {
#define BF_X(id, number, name, state, result, text)                                                \
    case BF_##id: return BF_RESULT_##result;
        BF_REDUCTION_LIST(BF_X)
#undef BF_X
    default: return (bf_result_class)0;
    }
}

const char *bf_version(void) {
    return TEXT(BF_VERSION_MAJOR) "." TEXT(BF_VERSION_MINOR) "." TEXT(BF_VERSION_PATCH);
}

int bf_version_number(void) { return BF_VERSION; }

/* ---- devices --------------------------------------------------------------------------------- */

enum { NUMBER_MOST = 9999 };

/* Reads the digits of "cuda:N". */
static bf_status parse_number(const char *text, int *number) {
    size_t digits = strspn(text, "0123456789");
    *number = 0;
    if (digits == 0 || text[digits] != '\0') return BF_E_ARGUMENT;
    for (; *text != '\0'; text++) {
        *number = 10 * *number + (*text - '0');
        if (*number > NUMBER_MOST) return BF_E_DEVICE;
    }
    return BF_OK;
}

bf_status bf_device_parse(const char *name, int *device) {
    int found = 0;
    bf_status status = BF_OK;
    if (device == NULL) return BF_E_ARGUMENT;
    if (name == NULL || strcmp(name, "auto") == 0)
        found = BF_DEVICE_AUTO;
    else if (strcmp(name, "cpu") == 0)
        found = BF_DEVICE_CPU;
    else if (strcmp(name, "cuda:all") == 0)
        found = BF_DEVICE_ALL;
    else if (strncmp(name, "cuda:", 5) == 0)
        status = parse_number(name + 5, &found);
    else if (strcmp(name, "cuda") != 0)
        status = BF_E_ARGUMENT;
    if (status == BF_OK) *device = found;
    return status;
}

void bf_device_format(int device, char name[BF_DEVICE_TEXT]) {
    if (name == NULL) return;
    if (device >= 0)
        snprintf(name, BF_DEVICE_TEXT, "cuda:%d", device);
    else
        strcpy(name, device == BF_DEVICE_CPU    ? "cpu"
                     : device == BF_DEVICE_AUTO ? "auto"
                     : device == BF_DEVICE_ALL  ? "cuda:all"
                                                : "?");
}
