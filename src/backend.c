/* The registry of backends. */
#include "backend.h"

const bf_backend *bf_backend_find(const char *name) {
    static const bf_backend *const backends[] = {&bf_backend_cpu};
    if (name == NULL || strcmp(name, "auto") == 0) return backends[0];
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(name, backends[i]->name) == 0) return backends[i];
    return NULL;
}
