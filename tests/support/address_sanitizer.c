/* For builds with AddressSanitizer: where a check of UBSan traps, it says in which line. It keeps
 * the last 16 MB that were freed from use, not 256 MB, whose pages would be new ones each time. And
 * it learns of the globals of all objects at once: it keeps the stack of each such call in a place
 * of its own, and of the time that a process takes to start, that was the most. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "handle_sigill=1:quarantine_size_mb=16";
}

typedef struct global {
    uintptr_t words[8]; /* as GCC describes one */
} global;

typedef void register_globals(global *, uintptr_t);

register_globals __asan_register_globals, __asan_unregister_globals;

enum { MOST = 1 << 16 };
static global *all;
static uintptr_t count;
static int registered;

static void call_next(const char *name, global *globals, uintptr_t n) {
    ((register_globals *)dlsym(RTLD_NEXT, name))(globals, n);
}

void __asan_register_globals(global *globals, uintptr_t n) {
    if (!all)
        all = mmap(NULL, MOST * sizeof *all, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (registered || all == MAP_FAILED || n > MOST - count) {
        call_next("__asan_register_globals", globals, n);
        return;
    }
    memcpy(all + count, globals, n * sizeof *all);
    count += n;
}

/* A program has its globals until it ends. */
void __asan_unregister_globals(global *globals, uintptr_t n) {
    (void)globals;
    (void)n;
}

/* Behind the objects, which register their globals with priority 99. */
__attribute__((constructor(101))) static void register_all(void) {
    registered = 1;
    if (count > 0) call_next("__asan_register_globals", all, count);
}
