#include "tests/support/failing_malloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

atomic_long until_failure = -1;
atomic_long failures, live;

#ifndef SANITIZED /* their runtimes have a malloc of their own */

/* glibc's names of its own allocator */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *at);

static bool refuse(void) {
    if (atomic_load(&until_failure) < 0) return false;
    if (atomic_fetch_sub(&until_failure, 1) > 0) return false;
    atomic_store(&until_failure, 0); /* all that follow fail, too */
    atomic_fetch_add(&failures, 1);
    errno = ENOMEM;
    return true;
}

static void *counted(void *made) {
    if (made) atomic_fetch_add(&live, 1);
    return made;
}

void *malloc(size_t size) { return refuse() ? NULL : counted(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) {
    return refuse() ? NULL : counted(__libc_calloc(count, size));
}
void *realloc(void *old, size_t size) {
    if (refuse()) return NULL;
    void *made = __libc_realloc(old, size);
    return old ? made : counted(made);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return refuse() ? NULL : counted(__libc_memalign(alignment, size));
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    void *made = aligned_alloc(alignment, size);
    if (!made) return ENOMEM;
    *out = made;
    return 0;
}
void free(void *at) {
    if (at) atomic_fetch_sub(&live, 1);
    __libc_free(at);
}
#endif
