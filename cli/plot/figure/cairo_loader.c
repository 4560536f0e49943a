#include "plot/figure/cairo_loader.h"

#include <dlfcn.h>
#include <string.h>

static bool find_symbol(void *library, const char *name, void *function) {
    void *const found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

const cairo_api *cairo_load(const char **why) {
    static cairo_api api;
    static bool loaded;
    void *const library = loaded ? NULL : dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
    *why = "libcairo.so.2 is not on this machine";
    if (!loaded && !library) return NULL;
    *why = "libcairo.so.2 is too old";
    loaded = true;
#define CAIRO_X(name)                                                                              \
    loaded = loaded && (!library || find_symbol(library, "cairo_" #name, &api.name));
    CAIRO_LIST(CAIRO_X)
#undef CAIRO_X
    return loaded ? &api : NULL;
}
