#include "work/checkpoint.h"

#include "runtime/bytes.h"
#include "runtime/outfile.h"

#include <bitfold/state.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 8 };
const char checkpoint_magic[] = "bfcheck\n";

/* ---- writing --------------------------------------------------------------------------------- */

void *checkpoint_extend(checkpoint_writer *w, size_t more) {
    if (!w->failed && more > w->room - w->size) {
        const size_t room = w->size + more > 2 * w->room ? w->size + more : 2 * w->room;
        unsigned char *bytes = realloc(w->bytes, room);
        w->failed = bytes == NULL;
        if (bytes) w->bytes = bytes;
        if (bytes) w->room = room;
    }
    if (w->failed) return NULL;
    w->size += more;
    return w->bytes + w->size - more;
}

static void store_number(unsigned char *at, uint64_t number) {
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(number >> 8 * i);
}

static uint64_t load_number(const unsigned char *at) {
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) number |= (uint64_t)at[i] << 8 * i;
    return number;
}

void checkpoint_put_number(checkpoint_writer *w, int64_t number) {
    unsigned char *at = checkpoint_extend(w, 8);
    if (at) store_number(at, (uint64_t)number);
}

void *checkpoint_put_room(checkpoint_writer *w, size_t size) {
    checkpoint_put_number(w, (int64_t)size);
    return checkpoint_extend(w, size);
}

void checkpoint_put_bytes(checkpoint_writer *w, const void *bytes, size_t size) {
    void *at = checkpoint_put_room(w, size);
    if (at && size > 0) memcpy(at, bytes, size);
}

void checkpoint_begin(checkpoint_writer *w, const char *magic) {
    void *at = checkpoint_extend(w, MAGIC);
    if (at) memcpy(at, magic, MAGIC);
}

void checkpoint_end(checkpoint_writer *w) {
    const size_t content = w->size;
    checkpoint_extend(w, bf_trailer_save_size(content) - content);
    if (!w->failed) bf_trailer_save(w->bytes, content, w->bytes);
}

/* ---- reading --------------------------------------------------------------------------------- */

bool checkpoint_open(checkpoint_reader *r, const char *magic, const void *bytes, size_t size) {
    size_t content;
    const unsigned char *at = bf_trailer_find(bytes, size, &content);
    const bool good = at && content >= MAGIC && memcmp(at, magic, MAGIC) == 0;
    *r = (checkpoint_reader){.bad = !good};
    if (good) *r = (checkpoint_reader){at + MAGIC, at + content, false};
    return good;
}

int64_t checkpoint_number(checkpoint_reader *r, int64_t least, int64_t most) {
    r->bad = r->bad || r->end - r->at < 8;
    if (r->bad) return 0;
    const int64_t number = (int64_t)load_number(r->at);
    r->at += 8;
    r->bad = number < least || number > most;
    return r->bad ? 0 : number;
}

const void *checkpoint_bytes(checkpoint_reader *r, size_t *size) {
    const int64_t length = checkpoint_number(r, 0, INT64_MAX);
    r->bad = r->bad || length > r->end - r->at;
    *size = r->bad ? 0 : (size_t)length;
    if (r->bad) return NULL;
    r->at += length;
    return r->at - length;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The file that is renamed when it is complete; that of the lock. */
static const char unfinished[] = ".new", locked[] = ".lock";

static bool name_beside(const char *path, const char *ending, char beside[PATH_MAX]) {
    return snprintf(beside, PATH_MAX, "%s%s", path, ending) < PATH_MAX;
}

static bool is_at(int fd, const char *path) {
    struct stat open, there;
    return fstat(fd, &open) == 0 && stat(path, &there) == 0 && open.st_dev == there.st_dev &&
           open.st_ino == there.st_ino;
}

/* A file system without locks has none to respect. Who had the lock may have removed its file since
 * it was opened: then another file is the lock. */
int checkpoint_lock(const char *path, int *lock) {
    static char beside[PATH_MAX]; /* a signal's handler may read it */
    if (!name_beside(path, locked, beside)) return ENAMETOOLONG;
    for (;;) {
        const int fd = open(beside, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return errno;
        const bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        *lock = fd;
        if (!taken && is_at(fd, beside)) break;
        close(fd);
        if (taken) return EWOULDBLOCK;
    }
    outfile_guard(beside);
    return 0;
}

void checkpoint_unlock(const char *path, int lock) {
    char beside[PATH_MAX];
    if (name_beside(path, locked, beside)) unlink(beside);
    outfile_unguard(beside);
    close(lock);
}

int checkpoint_write(const char *path, const checkpoint_writer *w) {
    static char beside[PATH_MAX]; /* a signal's handler may read it */
    if (w->failed) return ENOMEM;
    if (!name_beside(path, unfinished, beside)) return ENAMETOOLONG;
    outfile_guard(beside);
    const int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool written = fd >= 0 && bytes_write(fd, w->bytes, w->size) && fsync(fd) == 0;
    int error = written ? 0 : errno;
    if (fd >= 0 && close(fd) != 0 && error == 0) error = errno;
    if (error == 0 && rename(beside, path) != 0) error = errno;
    if (error != 0 && fd >= 0) unlink(beside);
    outfile_unguard(beside);
    return error;
}

int checkpoint_read(const char *path, unsigned char **bytes, size_t *size) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *bytes = NULL;
    if (fd < 0) return errno;
    int error = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
    if (error == 0 && !(*bytes = malloc((size_t)st.st_size + 1))) error = ENOMEM;
    const int64_t got = error == 0 ? bytes_read(fd, *bytes, (size_t)st.st_size) : 0;
    if (got < 0) error = errno;
    *size = got > 0 ? (size_t)got : 0;
    close(fd);
    return error;
}

void checkpoint_remove(const char *path) {
    char beside[PATH_MAX];
    unlink(path);
    if (name_beside(path, unfinished, beside)) unlink(beside);
}
