/* Asks the driver where memory is, if this process has loaded it. Without a driver all memory is
 * the host's. */
#define _GNU_SOURCE
#include "base/where.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cuda.h has these numbers, which are part of the driver's ABI. */
enum {
    MEMORY_TYPE = 2, /* CU_POINTER_ATTRIBUTE_... */
    IS_MANAGED = 8,
    DEVICE_ORDINAL = 9,
    TYPE_HOST = 1, /* CU_MEMORYTYPE_... */
    TYPE_DEVICE = 2
};
typedef int get_attributes(unsigned count, int *attributes, void **values, uintptr_t pointer);

static const char driver[] = "libcuda.so.1";

/* The driver's function, once it is found; until then, the number of libraries ever loaded when it
 * was last missed. Both hold for the whole process. */
static _Atomic(get_attributes *) found;
static _Atomic unsigned long long absent_at;

typedef struct search {
    unsigned long long loaded; /* libraries this process ever loaded */
    bool present;
} search;

static int count_loaded(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    ((search *)data)->loaded = info->dlpi_adds;
    return 1;
}

static int look_for_driver(struct dl_phdr_info *info, size_t size, void *data) {
    search *s = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
    (void)size;
    s->loaded = info->dlpi_adds;
    s->present = strncmp(name, "libcuda.so", strlen("libcuda.so")) == 0;
    return s->present;
}

/* The loader's list has a lock that glibc does not open in the child of a fork: a thread that is in
 * dl_iterate_phdr at that moment would lock the child out for ever. So a fork waits for it. */
static pthread_mutex_t visiting = PTHREAD_MUTEX_INITIALIZER;

static void begin_visit(void) { pthread_mutex_lock(&visiting); }
static void end_visit(void) { pthread_mutex_unlock(&visiting); }

__attribute__((constructor)) static void guard_forks(void) {
    pthread_atfork(begin_visit, end_visit, end_visit);
}

static void visit_libraries(int (*visit)(struct dl_phdr_info *, size_t, void *), search *s) {
    begin_visit();
    dl_iterate_phdr(visit, s);
    end_visit();
}

static get_attributes *find_function(void) {
    search s = {0, false};
    get_attributes *function = atomic_load_explicit(&found, memory_order_acquire);
    if (function != NULL) return function;
    visit_libraries(count_loaded, &s);
    if (s.loaded == atomic_load_explicit(&absent_at, memory_order_relaxed)) return NULL;
    visit_libraries(look_for_driver, &s);
    void *library = s.present ? dlopen(driver, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (library != NULL) /* never closed: a library in use */
        function = (get_attributes *)(uintptr_t)dlsym(library, "cuPointerGetAttributes");
    if (function != NULL)
        atomic_store_explicit(&found, function, memory_order_release);
    else
        atomic_store_explicit(&absent_at, s.loaded, memory_order_relaxed);
    return function;
}

bool bf_where_has_driver(void) { return find_function() != NULL; }

bf_where bf_where_is(const void *p, int *device) {
    int attributes[] = {MEMORY_TYPE, IS_MANAGED, DEVICE_ORDINAL};
    uint64_t type = 0, managed = 0; /* written as 1 to 8 bytes, little-endian */
    int ordinal = -1;
    void *values[] = {&type, &managed, &ordinal};
    if (device != NULL) *device = -1;
    get_attributes *function = p != NULL ? find_function() : NULL;
    if (function == NULL || function(3, attributes, values, (uintptr_t)p) != 0)
        return BF_WHERE_HOST;
    if (type != TYPE_HOST && type != TYPE_DEVICE) return BF_WHERE_HOST;
    if (device != NULL) *device = ordinal;
    if (managed != 0) return BF_WHERE_MANAGED;
    return type == TYPE_HOST ? BF_WHERE_PINNED : BF_WHERE_DEVICE;
}
