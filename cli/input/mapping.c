#define _GNU_SOURCE /* syscall, madvise */
#include "input/mapping.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The mappings that the signal handler knows. end is written last and cleared first. */
enum { MAX_MAPPINGS = 4 };
static struct {
    atomic_uintptr_t begin, end; /* end 0: free */
    atomic_bool lost;
} guarded[MAX_MAPPINGS];
static uintptr_t page;
static struct sigaction earlier; /* what was done about SIGBUS */

/* Puts zeros in the place of lost pages. It calls the kernel itself: C's mmap is not meant for
 * signal handlers, and ThreadSanitizer takes it for a write that races with the readers. */
static bool map_zeros(uintptr_t begin, uintptr_t end) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    return syscall(SYS_mmap, begin, end - begin, PROT_READ, flags, -1, 0) != -1;
}

/* The rest of the mapping is lost with the page that was missing: files shrink from their end. */
static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)context;
    const int error = errno;
    const uintptr_t at = (uintptr_t)info->si_addr & ~(page - 1);
    for (int i = 0; i < MAX_MAPPINGS; i++) {
        const uintptr_t begin = atomic_load(&guarded[i].begin), end = atomic_load(&guarded[i].end);
        if (at < begin || at >= end) continue;
        atomic_store(&guarded[i].lost, true);
        if (!map_zeros(at, end)) break;
        errno = error;
        return;
    }
    sigaction(number, &earlier, NULL); /* none of ours: the access is repeated */
}

static void install_handler(void) {
    if (page == 0) page = (uintptr_t)sysconf(_SC_PAGESIZE); /* other threads may read it already */
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, old;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &old);
    if (old.sa_sigaction != on_bus_error) earlier = old;
    sigset_t unblocked; /* a blocked one would end the process */
    sigemptyset(&unblocked);
    sigaddset(&unblocked, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &unblocked, NULL);
}

static bool guard_mapping(mapping *m) {
    for (int i = 0; i < MAX_MAPPINGS; i++) {
        if (atomic_load(&guarded[i].end) != 0) continue;
        m->slot = i;
        atomic_store(&guarded[i].lost, false);
        atomic_store(&guarded[i].begin, (uintptr_t)m->base);
        atomic_store(&guarded[i].end, ((uintptr_t)m->base + m->size + page - 1) & ~(page - 1));
        return true;
    }
    errno = EMFILE;
    return false;
}

bool mapping_open(mapping *m, int fd, int64_t offset, size_t size) {
    install_handler();
    const size_t before = (size_t)offset & (page - 1);
    *m = (mapping){.size = size + before};
    m->base = mmap(NULL, m->size, PROT_READ, MAP_SHARED, fd, (off_t)(offset - (int64_t)before));
    if (m->base == MAP_FAILED) {
        m->size = 0;
        return false;
    }
    m->data = (const unsigned char *)m->base + before;
    if (guard_mapping(m)) return true;
    munmap(m->base, m->size);
    m->size = 0;
    return false;
}

void mapping_close(mapping *m) {
    if (m->size == 0) return;
    atomic_store(&guarded[m->slot].end, 0);
    munmap(m->base, m->size);
    m->size = 0;
}

void mapping_drop(const mapping *m, int64_t begin, int64_t end) {
    if (m->size == 0 || begin >= end) return;
    const uintptr_t from = ((uintptr_t)m->data + (uintptr_t)begin) & ~(page - 1);
    madvise((void *)from, (uintptr_t)m->data + (uintptr_t)end - from, MADV_DONTNEED);
}

bool mapping_lost(const mapping *m) { return m->size > 0 && atomic_load(&guarded[m->slot].lost); }
