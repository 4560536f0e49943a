#include "work/statefile.h"

#include "runtime/bytes.h"
#include "runtime/info.h"
#include "runtime/report.h"
#include "work/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So much is read to see what a file is. */
enum { FIRST_BYTES = 1 << 16, NAME_AT = 24 };

/* ---- saved forms in memory ------------------------------------------------------------------- */

typedef struct contents {
    unsigned char *bytes;
    size_t size;
} contents;

static bf_status size_of(const statefile *from, size_t *size) {
    *size = from->table_size;
    if (from->table) return BF_OK;
    if (from->groups) return bf_groups_save_size(from->groups, size);
    if (from->states) return bf_states_save_size(from->states, size);
    *size =
        from->histogram ? bf_histogram_save_size(from->histogram) : bf_state_save_size(from->state);
    return BF_OK;
}

static bf_status put_form(const statefile *from, void *bytes) {
    if (from->table) memcpy(bytes, from->table, from->table_size);
    if (from->table) return BF_OK;
    if (from->groups) return bf_groups_save(from->groups, bytes);
    if (from->states) return bf_states_save(from->states, bytes);
    if (from->histogram) return bf_histogram_save(from->histogram, bytes);
    return bf_state_save(from->state, bytes);
}

/* The saved form, and a trailer of n bytes of content if n is not 0. */
static bf_status copy_contents(const statefile *from, const void *content, size_t n, contents *x) {
    size_t size;
    bf_status st = size_of(from, &size);
    if (st != BF_OK) return st;
    x->size = size + (n > 0 ? bf_trailer_save_size(n) : 0);
    x->bytes = malloc(x->size);
    if (!x->bytes) return BF_E_MEMORY;
    st = put_form(from, x->bytes);
    return st == BF_OK && n > 0 ? bf_trailer_save(content, n, x->bytes + size) : st;
}

bf_status statefile_copy(const statefile *from, unsigned char **bytes, size_t *size) {
    contents x = {.size = 0};
    const bf_status st = copy_contents(from, NULL, 0, &x);
    *bytes = x.bytes;
    *size = x.size;
    return st;
}

/* ---- saving ---------------------------------------------------------------------------------- */

int statefile_write(outfile *f, const statefile *saved, const bf_context *context) {
    unsigned char content[TRAILER_MOST];
    contents x = {.size = 0};
    const bf_status st = copy_contents(saved, content, trailer_put(&saved->trailer, content), &x);
    if (st == BF_OK) fwrite(x.bytes, 1, x.size, f->stream);
    free(x.bytes);
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, f->name);
}

int statefile_save(outfile *f, const statefile *saved, const bf_context *context) {
    const int code = statefile_write(f, saved, context);
    return code == EXIT_DONE ? outfile_commit(f) : code;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Whether these are the first bytes of a saved form (bitfold/state.h), and whether of this kind. */
static bool is_saved(const contents *x) {
    return x->size > NAME_AT && memcmp(x->bytes, "bitfold\n", 8) == 0;
}

static bool is_kind(const contents *x, const char *name) {
    const size_t length = strlen(name) + 1;
    return is_saved(x) && x->size >= NAME_AT + length &&
           memcmp(x->bytes + NAME_AT, name, length) == 0;
}

/* The trailer behind a saved form; NULL: there is none. Groups of a table (group/saved.c) and
 * strings (reduce/texts.c) are checkpoints, which are trailers that stand alone. */
static const unsigned char *find_trailer(const contents *x, size_t *n) {
    const unsigned char *at = bf_trailer_find(x->bytes, x->size, n);
    if (at && bf_trailer_save_size(*n) < x->size) return at;
    *n = 0;
    return NULL;
}

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
    bool good = read_up_to(fd, x, FIRST_BYTES);
    for (size_t room = FIRST_BYTES; good && is_saved(x) && x->size == room;) {
        room *= 2;
        good = read_up_to(fd, x, room);
    }
    const int error = errno;
    if (!standard_input) close(fd);
    return good ? EXIT_DONE : fail(EXIT_IO, name, "cannot read: %s", strerror(error));
}

/* Takes the form without its trailer. */
static bf_status load_table(const contents *x, statefile *loaded) {
    size_t n;
    const bool has = find_trailer(x, &n) != NULL;
    loaded->table_size = x->size - (has ? bf_trailer_save_size(n) : 0);
    loaded->table = malloc(loaded->table_size);
    if (!loaded->table) return BF_E_MEMORY;
    memcpy(loaded->table, x->bytes, loaded->table_size);
    return BF_OK;
}

static bf_status load_saved(bf_context *context, const contents *x, statefile *loaded) {
    if (is_kind(x, "trailer")) return load_table(x, loaded);
    if (is_kind(x, "histogram"))
        return bf_histogram_load(context, x->bytes, x->size, &loaded->histogram);
    if (is_kind(x, "groups")) return bf_groups_load(context, x->bytes, x->size, &loaded->groups);
    if (is_kind(x, "states")) return bf_states_load(context, x->bytes, x->size, &loaded->states);
    return bf_state_load(context, x->bytes, x->size, &loaded->state);
}

/* Whether the groups have the columns of their trailer. */
static bool has_columns(const statefile *loaded) {
    const bf_groups_options kind = groups_kind(loaded->groups);
    bool has = loaded->groups || loaded->trailer.columns == 0;
    for (int i = 0; i < loaded->trailer.columns; i++)
        has = has && loaded->trailer.which[i] < kind.count;
    return has;
}

static int load_trailer(const char *name, const contents *x, statefile *loaded) {
    size_t n;
    const unsigned char *bytes = find_trailer(x, &n);
    if (trailer_get(&loaded->trailer, bytes, n) && has_columns(loaded)) return EXIT_DONE;
    return fail(EXIT_DATA, name, "cannot read the trailer: this version knows none like it");
}

int statefile_load(bf_context *context, const char *name, statefile *loaded) {
    contents x = {.size = 0};
    *loaded = (statefile){.state = NULL};
    int code = read_contents(name, &x);
    if (code == EXIT_DONE) {
        const bf_status st = load_saved(context, &x, loaded);
        code = st == BF_OK ? load_trailer(name, &x, loaded) : fail_status(st, context, name);
    }
    free(x.bytes);
    return code;
}

bf_status statefile_empty(bf_context *context, const statefile *from, statefile *empty) {
    contents x = {.size = 0};
    *empty = (statefile){.state = NULL};
    bf_status st = copy_contents(from, NULL, 0, &x);
    if (st == BF_OK) st = load_saved(context, &x, empty);
    free(x.bytes);
    if (st != BF_OK) return st;
    if (empty->groups) return bf_groups_clear(empty->groups);
    return empty->histogram ? bf_histogram_clear(empty->histogram) : bf_state_clear(empty->state);
}

bf_status statefile_merge(const statefile *into, const statefile *from) {
    if (into->groups) return bf_groups_merge(into->groups, from->groups);
    if (into->states) return bf_states_append(into->states, from->states);
    if (into->histogram) return bf_histogram_merge(into->histogram, from->histogram);
    return bf_state_merge(into->state, from->state);
}

void statefile_free(statefile *loaded) {
    bf_state_destroy(loaded->state);
    bf_histogram_destroy(loaded->histogram);
    bf_groups_destroy(loaded->groups);
    bf_states_destroy(loaded->states);
    free(loaded->table);
}

bool statefile_is_counts(const statefile *saved) {
    return saved->groups && saved->trailer.columns == 0 && groups_kind(saved->groups).count == 0;
}
