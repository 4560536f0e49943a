#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "memory/spool.h"

#include "memory/hardware.h"
#include "memory/temporary.h"
#include "runtime/bytes.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void spool_limit_set(spool_limit *limit, int64_t bytes) {
    atomic_init(&limit->left, bytes > 0 ? bytes : hardware_memory() / 4);
}

void spool_open(spool *s, spool_limit *limit) { *s = (spool){.limit = limit, .fd = -1}; }

void spool_close(spool *s) {
    if (!s->limit) return;
    if (s->memory) munmap(s->memory, (size_t)s->room);
    if (s->fd >= 0) close(s->fd);
    atomic_fetch_add(&s->limit->left, s->room);
    *s = (spool){.fd = -1};
}

/* ---- bytes ------------------------------------------------------------------------------------
 */

/* Takes all memory that is left. Address space costs nothing until it is written to. */
static void reserve_memory(spool *s) {
    const int64_t room = atomic_exchange(&s->limit->left, 0);
    void *at = room <= 0 ? MAP_FAILED
                         : mmap(NULL, (size_t)room, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        atomic_fetch_add(&s->limit->left, room);
        return;
    }
    s->memory = at;
    s->room = room;
}

bool spool_write(spool *s, const void *bytes, size_t size) {
    if (size == 0) return true; /* bytes may be NULL */
    if (s->size == 0) reserve_memory(s);
    if (s->fd < 0 && (int64_t)size <= s->room - s->held) {
        memcpy(s->memory + s->held, bytes, size);
        s->held += (int64_t)size;
    } else {
        if (s->fd < 0) s->fd = temporary_open();
        if (s->fd < 0 || !temporary_write(s->fd, bytes, size)) return false;
    }
    s->size += (int64_t)size;
    return true;
}

void spool_end(spool *s) {
    const int64_t page = sysconf(_SC_PAGESIZE), kept = (s->held + page - 1) / page * page;
    if (!s->memory || kept == 0 || kept >= s->room) return;
    munmap(s->memory + kept, (size_t)(s->room - kept));
    atomic_fetch_add(&s->limit->left, s->room - kept);
    s->room = kept;
}

const void *spool_read(const spool *s, int64_t at, void *buffer, size_t size) {
    if (at + (int64_t)size <= s->held) return s->memory + at;
    unsigned char *out = buffer;
    const size_t head = at < s->held ? (size_t)(s->held - at) : 0;
    if (head > 0) memcpy(out, s->memory + at, head);
    const int64_t from = at + (int64_t)head - s->held;
    const int64_t got = bytes_pread(s->fd, out + head, size - head, from);
    if (got == (int64_t)(size - head)) return buffer;
    if (got >= 0) errno = EIO;
    return NULL;
}
