#define _GNU_SOURCE /* O_TMPFILE */
#include "memory/temporary.h"

#include "runtime/bytes.h"
#include "runtime/outfile.h"
#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char *given, *beside;                           /* by temporary_place */
static char place[PATH_MAX];                                 /* "": not chosen yet */
static pthread_mutex_t choosing = PTHREAD_MUTEX_INITIALIZER; /* guards it */
static atomic_int_fast64_t written;

void temporary_place(const char *spill, const char *output) {
    given = spill;
    beside = output;
    *place = '\0';
}

/* Whether files in a directory take memory. */
static bool is_in_memory(const char *directory) {
    struct statfs fs;
    return statfs(directory, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* The directory of the output file. False: there is none, or it is a device or a pipe. */
static bool find_beside(void) {
    struct stat st;
    char path[PATH_MAX];
    if (!beside || strcmp(beside, "-") == 0 || !outfile_follow(beside, path)) return false;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return false;
    const size_t n = outfile_directory(path);
    snprintf(place, sizeof place, "%.*s", n > 0 ? (int)n : 1, n > 0 ? path : ".");
    return true;
}

static void choose_place(void) {
    const char *wanted = getenv("TMPDIR");
    if (given)
        snprintf(place, sizeof place, "%s", given);
    else if (!find_beside() || is_in_memory(place))
        snprintf(place, sizeof place, "%s",
                 wanted && *wanted && !is_in_memory(wanted) ? wanted : "/var/tmp");
}

static const char *directory(void) {
    pthread_mutex_lock(&choosing);
    if (!*place) choose_place();
    pthread_mutex_unlock(&choosing);
    return place;
}

/* Where files cannot be made without a name, this one has it for a moment in which no signal comes.
 */
static int open_named(void) {
    char path[PATH_MAX + 16];
    sigset_t all, before;
    snprintf(path, sizeof path, "%s/bitfold.XXXXXX", directory());
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return fd;
}

const char *temporary_directory(void) {
    return !given && is_in_memory(directory()) ? NULL : directory();
}

int temporary_open(void) {
    if (!temporary_directory()) {
        errno = ENOSPC;
        return -1;
    }
    const int fd = open(directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : open_named();
}

bool temporary_write(int fd, const void *bytes, size_t size) {
    if (!bytes_write(fd, bytes, size)) return false;
    atomic_fetch_add(&written, (int64_t)size);
    return true;
}

void temporary_hint(void) {
    hint("--spill DIR puts it in a directory with more room; a larger --memory needs less");
}

int temporary_failed(int error) {
    struct statvfs fs = {.f_bavail = 0};
    const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    statvfs(directory(), &fs);
    if (full)
        fail(EXIT_IO, directory(),
             "cannot write a temporary file: %s: %lld MiB written, %lld MiB free", strerror(error),
             (long long)(atomic_load(&written) >> 20),
             (long long)((int64_t)fs.f_bavail * (int64_t)fs.f_frsize >> 20));
    else
        fail(EXIT_IO, directory(), "cannot write or read a temporary file: %s", strerror(error));
    temporary_hint();
    return EXIT_IO;
}
