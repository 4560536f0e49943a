#define _GNU_SOURCE /* fopencookie */
#include "runtime/stream.h"

#include "runtime/outfile.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static int failure; /* errno; 0: none yet */
static bool elsewhere, pipes_end;

static ssize_t write_stream(void *cookie, const char *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        const ssize_t n = write((int)(intptr_t)cookie, bytes + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EPIPE && pipes_end) outfile_end_process(SIGPIPE);
        if (n <= 0) {
            failure = n < 0 ? errno : ENOSPC;
            break;
        }
        done += (size_t)n;
    }
    return (ssize_t)done; /* less than size is a failure */
}

static int seek_stream(void *cookie, off64_t *offset, int whence) {
    *offset = lseek((int)(intptr_t)cookie, *offset, whence);
    return *offset < 0 ? -1 : 0;
}

static int close_stream(void *cookie) {
    const int result = close((int)(intptr_t)cookie);
    if (result != 0) failure = errno;
    return result;
}

FILE *stream_open(int fd) {
    const cookie_io_functions_t functions = {
        .write = write_stream, .seek = seek_stream, .close = close_stream};
    return fopencookie((void *)(intptr_t)fd, "w", functions);
}

void stream_take_stdout(void) {
    FILE *stream = stream_open(STDOUT_FILENO);
    /* Pipes to programs that bench starts are not to end it. */
    pipes_end = signal(SIGPIPE, SIG_IGN) == SIG_DFL;
    if (!stream) return;
    if (isatty(STDOUT_FILENO)) setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    stdout = stream;
}

bool stream_at_terminal(void) { return !elsewhere && isatty(STDOUT_FILENO); }

void stream_leave_terminal(void) { elsewhere = true; }

int stream_error(void) { return failure ? failure : EIO; }

int stream_flush(FILE *stream) {
    return fflush(stream) == 0 && !ferror(stream) ? 0 : stream_error();
}

int stream_close(FILE *stream) {
    const int error = stream_flush(stream);
    const int closed = fclose(stream) == 0 ? 0 : stream_error();
    return error ? error : closed;
}
