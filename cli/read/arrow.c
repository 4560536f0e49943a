/* Releases of Arrow's structures whose memory is another language's. Its code may not run just
 * then, but for what lets go of it: so these are here.
 *
 * The structures are those of https://arrow.apache.org/docs/format/CDataInterface.html. */
#include "read/read.h"

#include <stddef.h>

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

static void let_go(void *private_data) {
    const bitfold_read_owner *owner = private_data;
    owner->release(owner->owner);
}

void bitfold_read_release_schema(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
    s->release = NULL;
    let_go(s->private_data);
}

void bitfold_read_release_array(struct ArrowArray *a) {
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release) a->children[i]->release(a->children[i]);
    a->release = NULL;
    let_go(a->private_data);
}

void bitfold_read_release_stream(struct ArrowArrayStream *s) {
    s->release = NULL;
    let_go(s->private_data);
}
