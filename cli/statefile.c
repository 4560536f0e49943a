#include "statefile.h"

#include "io/bytes.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far more than any state takes. */
enum { MAX_STATE = 1 << 16 };

int statefile_save(outfile *f, const bf_state *state) {
    const size_t size = bf_state_save_size(state);
    void *bytes = malloc(size);
    if (!bytes) return fail_status(BF_E_MEMORY, NULL, f->name);
    bf_state_save(state, bytes);
    fwrite(bytes, 1, size, f->stream);
    free(bytes);
    return outfile_commit(f);
}

static int read_state(const char *name, unsigned char *bytes, size_t *size) {
    const bool standard_input = strcmp(name, "-") == 0;
    const int fd = standard_input ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(EXIT_IO, name, "cannot open: %s", strerror(errno));
    const int64_t got = bytes_read(fd, bytes, MAX_STATE);
    const int error = errno;
    if (!standard_input) close(fd);
    if (got < 0) return fail(EXIT_IO, name, "cannot read: %s", strerror(error));
    *size = (size_t)got;
    return EXIT_DONE;
}

int statefile_load(bf_context *context, const char *name, bf_state **state) {
    unsigned char bytes[MAX_STATE];
    size_t size = 0;
    const int code = read_state(name, bytes, &size);
    if (code != EXIT_DONE) return code;
    const bf_status st = bf_state_load(context, bytes, size, state);
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, name);
}
