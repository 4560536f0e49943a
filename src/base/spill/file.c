#define _GNU_SOURCE
#include "base/spill/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bf_status fail_file(bf_context *context, const char *what, int error) {
    return bf_fail(context, BF_E_IO, "cannot %s a temporary file in %.64s: %s", what,
                   context->spill, strerror(error));
}

/* Where the system makes no file without a name, the file has one for a moment in which no signal
 * comes. */
static int open_named(const char *directory) {
    char path[PATH_MAX];
    sigset_t all, before;
    if (snprintf(path, sizeof path, "%s/bitfold.XXXXXX", directory) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fd;
}

bf_status bf_spill_open(bf_context *context, int *fd) {
    *fd = open(context->spill, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0) *fd = open_named(context->spill);
    return *fd >= 0 ? BF_OK : fail_file(context, "make", errno);
}

bf_status bf_spill_write(bf_context *context, int fd, const void *from, size_t bytes, int64_t at) {
    for (const char *next = from; bytes > 0;) {
        const ssize_t done = pwrite(fd, next, bytes, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return fail_file(context, "write", done < 0 ? errno : ENOSPC);
        next += done;
        at += done;
        bytes -= (size_t)done;
    }
    return BF_OK;
}

bf_status bf_spill_read(bf_context *context, int fd, void *to, size_t bytes, int64_t at) {
    for (char *next = to; bytes > 0;) {
        const ssize_t done = pread(fd, next, bytes, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return fail_file(context, "read", done < 0 ? errno : EIO);
        next += done;
        at += done;
        bytes -= (size_t)done;
    }
    return BF_OK;
}
