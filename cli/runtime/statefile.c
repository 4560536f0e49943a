#include "runtime/statefile.h"

#include "input/bytes.h"
#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far more than one state takes; what is many may take any number of bytes. */
enum { MAX_STATE = 1 << 16 };

static int write_saved(outfile *f, void *bytes, size_t size) {
    fwrite(bytes, 1, size, f->stream);
    free(bytes);
    return outfile_commit(f);
}

int statefile_save(outfile *f, const bf_state *state) {
    const size_t size = bf_state_save_size(state);
    void *bytes = malloc(size);
    if (!bytes) return fail_status(BF_E_MEMORY, NULL, f->name);
    bf_state_save(state, bytes);
    return write_saved(f, bytes, size);
}

int statefile_save_histogram(outfile *f, const bf_histogram *histogram) {
    const size_t size = bf_histogram_save_size(histogram);
    void *bytes = malloc(size);
    if (!bytes) return fail_status(BF_E_MEMORY, NULL, f->name);
    bf_histogram_save(histogram, bytes);
    return write_saved(f, bytes, size);
}

int statefile_save_groups(outfile *f, bf_groups *groups, const bf_context *context) {
    size_t size;
    bf_status st = bf_groups_save_size(groups, &size);
    void *bytes = st == BF_OK ? malloc(size) : NULL;
    if (st == BF_OK && !bytes) return fail_status(BF_E_MEMORY, NULL, f->name);
    if (st == BF_OK) st = bf_groups_save(groups, bytes);
    if (st == BF_OK) return write_saved(f, bytes, size);
    free(bytes);
    return fail_status(st, context, f->name);
}

int statefile_save_states(outfile *f, bf_states *states, const bf_context *context) {
    size_t size;
    bf_status st = bf_states_save_size(states, &size);
    void *bytes = st == BF_OK ? malloc(size) : NULL;
    if (st == BF_OK && !bytes) return fail_status(BF_E_MEMORY, NULL, f->name);
    if (st == BF_OK) st = bf_states_save(states, bytes);
    if (st == BF_OK) return write_saved(f, bytes, size);
    free(bytes);
    return fail_status(st, context, f->name);
}

/* ---- loading --------------------------------------------------------------------------------- */

typedef struct contents {
    unsigned char *bytes;
    size_t size;
} contents;

static bool begins_with(const contents *x, const char magic[8]) {
    return x->size >= 8 && memcmp(x->bytes, magic, 8) == 0;
}
static bool is_histogram(const contents *x) { return begins_with(x, "bfhisto\n"); }
static bool is_groups(const contents *x) { return begins_with(x, "bfgroup\n"); }
static bool is_states(const contents *x) { return begins_with(x, "bfmany\n"); }
static bool is_large(const contents *x) { return is_histogram(x) || is_groups(x) || is_states(x); }

/* Reads on until there is nothing more, or there are `most` bytes. */
static bool read_up_to(int fd, contents *x, size_t most) {
    unsigned char *bytes = realloc(x->bytes, most);
    if (!bytes) errno = ENOMEM;
    if (bytes) x->bytes = bytes;
    const int64_t got = bytes ? bytes_read(fd, bytes + x->size, most - x->size) : -1;
    if (got > 0) x->size += (size_t)got;
    return got >= 0;
}

static int read_contents(const char *name, contents *x) {
    const bool standard_input = strcmp(name, "-") == 0;
    const int fd = standard_input ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(EXIT_IO, name, "cannot open: %s", strerror(errno));
    bool good = read_up_to(fd, x, MAX_STATE);
    for (size_t room = MAX_STATE; good && is_large(x) && x->size == room;) {
        room *= 2;
        good = read_up_to(fd, x, room);
    }
    const int error = errno;
    if (!standard_input) close(fd);
    return good ? EXIT_DONE : fail(EXIT_IO, name, "cannot read: %s", strerror(error));
}

static bf_status load_saved(bf_context *context, const contents *x, statefile *loaded) {
    if (is_histogram(x)) return bf_histogram_load(context, x->bytes, x->size, &loaded->histogram);
    if (is_groups(x)) return bf_groups_load(context, x->bytes, x->size, &loaded->groups);
    if (is_states(x)) return bf_states_load(context, x->bytes, x->size, &loaded->states);
    return bf_state_load(context, x->bytes, x->size, &loaded->state);
}

int statefile_load(bf_context *context, const char *name, statefile *loaded) {
    contents x = {.size = 0};
    *loaded = (statefile){.state = NULL};
    int code = read_contents(name, &x);
    if (code == EXIT_DONE) {
        const bf_status st = load_saved(context, &x, loaded);
        if (st != BF_OK) code = fail_status(st, context, name);
    }
    free(x.bytes);
    return code;
}

/* The saved form of a state, histogram or groups, in memory. */
static bf_status copy_contents(const statefile *from, contents *x) {
    bf_status st = BF_OK;
    if (from->groups)
        st = bf_groups_save_size(from->groups, &x->size);
    else
        x->size = from->histogram ? bf_histogram_save_size(from->histogram)
                                  : bf_state_save_size(from->state);
    if (st != BF_OK) return st;
    x->bytes = malloc(x->size);
    if (!x->bytes) return BF_E_MEMORY;
    if (from->groups) return bf_groups_save(from->groups, x->bytes);
    if (from->histogram) return bf_histogram_save(from->histogram, x->bytes);
    return bf_state_save(from->state, x->bytes);
}

bf_status statefile_empty(bf_context *context, const statefile *from, statefile *empty) {
    contents x = {.size = 0};
    *empty = (statefile){.state = NULL};
    bf_status st = copy_contents(from, &x);
    if (st == BF_OK) st = load_saved(context, &x, empty);
    free(x.bytes);
    if (st != BF_OK) return st;
    if (empty->groups) return bf_groups_clear(empty->groups);
    return empty->histogram ? bf_histogram_clear(empty->histogram) : bf_state_clear(empty->state);
}

void statefile_free(statefile *loaded) {
    bf_state_destroy(loaded->state);
    bf_histogram_destroy(loaded->histogram);
    bf_groups_destroy(loaded->groups);
    bf_states_destroy(loaded->states);
}
