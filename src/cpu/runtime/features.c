/* The instruction sets of this machine. */
#include "cpu/runtime/context.h"

static const bf_isa *const isas[] = {
    &bf_isa_generic,
    &bf_isa_vector,
#if defined(__x86_64__)
    &bf_isa_avx2,
#ifndef BITFOLD_WITHOUT_AVX512
    &bf_isa_avx512,
#endif
#endif
};

enum { ISAS = sizeof isas / sizeof *isas };

const bf_isa *bf_cpu_isa(int i) { return i >= 0 && i < ISAS ? isas[i] : NULL; }

const bf_isa *bf_cpu_isa_find(const char *name) {
    bool any = name == NULL || strcmp(name, "auto") == 0;
    for (int i = ISAS - 1; i >= 0; i--)
        if (any ? isas[i]->available() : strcmp(name, isas[i]->name) == 0) return isas[i];
    return NULL;
}

const char *bf_isa_name(int i) {
    const bf_isa *isa = bf_cpu_isa(i);
    return isa == NULL ? NULL : isa->name;
}

int bf_isa_available(int i) {
    const bf_isa *isa = bf_cpu_isa(i);
    return isa != NULL && isa->available();
}
