#include "input/column.h"

#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 22, BLOCK_IN_PLACE = 1 << 26 }; /* rows */

int column_open(column *c, const char *name, const input *in) {
    *c = (column){.at = 0};
    int code = source_open(&c->source, name, in);
    if (code != EXIT_DONE) return code;
    code = source_prepare(&c->source, true);
    const source *s = &c->source;
    c->dtype = s->layout.dtype;
    c->block = BLOCK_IN_PLACE;
    if (code == EXIT_DONE && (s->stream || s->reorder || s->layout.swap)) {
        c->block = BLOCK;
        c->buffer = malloc((size_t)BLOCK * source_element(s));
        if (!c->buffer) code = fail_status(BF_E_MEMORY, NULL, name);
    }
    if (code != EXIT_DONE) column_close(c);
    return code;
}

void column_close(column *c) {
    source_close(&c->source);
    free(c->buffer);
    *c = (column){.source.fd = -1};
}

int64_t column_bytes(const column *c) {
    const source *s = &c->source;
    return s->count < 0 ? -1 : s->count * (int64_t)source_element(s);
}

int column_next(column *c, int64_t n, const void **elements, int64_t *got) {
    const source *s = &c->source;
    const int64_t left = s->count < 0 ? n : s->count - c->at;
    const int64_t want = left < n ? left : n;
    *got = 0;
    if (want == 0) return source_check(s);
    *elements = source_view(s, c->at, want, c->buffer, got);
    if (*got < 0 || (*got < want && s->count >= 0)) return source_failed(s, *got, errno);
    c->at += *got;
    progress_add(*got * (int64_t)source_element(s));
    progress_tick();
    return EXIT_DONE;
}

/* ---- all at once ----------------------------------------------------------------------------- */

static int append_rows(const column *c, void **own, int64_t *room, int64_t n, const void *elements,
                       int64_t got) {
    const size_t bytes = source_element(&c->source);
    if (n + got > *room) {
        *room = c->source.count >= 0 ? c->source.count : 2 * (n + got);
        void *more = realloc(*own, (size_t)*room * bytes);
        if (!more) return fail_status(BF_E_MEMORY, NULL, c->source.name);
        *own = more;
    }
    memcpy((char *)*own + (size_t)n * bytes, elements, (size_t)got * bytes);
    return EXIT_DONE;
}

int column_all(column *c, const void **all, void **own, int64_t *n) {
    const void *elements = NULL;
    int64_t got = 1, room = 0;
    int code = EXIT_DONE;
    *all = *own = NULL;
    *n = 0;
    if (!c->buffer && c->source.map.size == 0) {
        if (c->source.count == 0) return EXIT_DONE;
        *all = source_view(&c->source, 0, c->source.count, NULL, n);
        return *n == c->source.count ? EXIT_DONE : source_failed(&c->source, *n, errno);
    }
    while (code == EXIT_DONE && got > 0) {
        code = column_next(c, c->block, &elements, &got);
        if (code == EXIT_DONE && got > 0) code = append_rows(c, own, &room, *n, elements, got);
        *n += code == EXIT_DONE ? got : 0;
    }
    *all = *own;
    return code;
}
