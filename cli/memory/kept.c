#include "memory/kept.h"

#include "memory/temporary.h"
#include "runtime/bytes.h"
#include "runtime/report.h"
#include "runtime/stream.h"

#include <errno.h>

int kept_open(kept *x) {
    x->fd = temporary_open();
    x->stream = x->fd < 0 ? NULL : stream_open(x->fd);
    return x->stream ? EXIT_DONE : temporary_failed(errno);
}

void kept_close(kept *x) {
    if (x->stream) fclose(x->stream);
    x->stream = NULL;
}

int kept_check(const kept *x) {
    return ferror(x->stream) ? temporary_failed(stream_error()) : EXIT_DONE;
}

int kept_copy(FILE *to, const kept *x) {
    char some[1 << 14];
    const int error = stream_flush(x->stream);
    if (error != 0) return temporary_failed(error);
    for (int64_t at = 0, n = 1; n > 0 && !ferror(to); at += n) {
        n = bytes_pread(x->fd, some, sizeof some, at);
        if (n < 0) return temporary_failed(errno);
        fwrite(some, 1, (size_t)n, to);
    }
    return EXIT_DONE;
}
