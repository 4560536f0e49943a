#include "input/series.h"

#include "runtime/progress.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>

/* A block is work for all threads; one that is copied stays in a cache until it is counted. */
#define FILE_BLOCK_BYTES ((int64_t)64 * 1024 * 1024)
#define STREAM_BLOCK_BYTES ((int64_t)1024 * 1024)

/* ---- opening --------------------------------------------------------------------------------- */

static int need_buffer(series *s) {
    s->block = STREAM_BLOCK_BYTES / (int64_t)bf_dtype_size(s->dtype);
    s->buffer = malloc((size_t)STREAM_BLOCK_BYTES);
    return s->buffer ? EXIT_DONE : fail_status(BF_E_MEMORY, NULL, s->source.name);
}

static int open_text(series *s, int threads, bool ordered) {
    text_layout *l = &s->source.text->layout;
    if (l->columns > 1)
        return fail(EXIT_USAGE, s->source.name, "one column at a time, not %d", l->columns);
    if (l->dtype == BF_NONE) l->dtype = BF_F64; /* in which bins count any number */
    s->dtype = l->dtype;
    const int code = s->keep ? need_buffer(s) : EXIT_DONE;
    return code == EXIT_DONE ? series_text_open(&s->text, &s->source, threads, ordered) : code;
}

static int open_array(series *s, bool ordered) {
    const source *x = &s->source;
    const int code = source_prepare(&s->source, ordered);
    if (code != EXIT_DONE) return code;
    s->dtype = x->layout.dtype;
    s->keep = s->keep && x->stream;
    const bool in_place = !x->stream && !x->reorder && !x->layout.swap;
    s->block = FILE_BLOCK_BYTES / (int64_t)source_element(x);
    return in_place ? EXIT_DONE : need_buffer(s);
}

int series_open(series *s, const char *name, const input *in, int threads, spool_limit *limit,
                bool ordered) {
    *s = (series){.keep = limit != NULL};
    spool_open(&s->spool, limit);
    input wanted = *in;
    wanted.rows = true;
    int code = source_open(&s->source, name, &wanted);
    if (code != EXIT_DONE) return code;
    code = s->source.text ? open_text(s, threads, ordered) : open_array(s, ordered);
    if (code != EXIT_DONE) series_close(s);
    return code;
}

void series_close(series *s) {
    series_text_close(&s->text);
    source_close(&s->source);
    spool_close(&s->spool);
    free(s->buffer);
    s->buffer = NULL;
}

int64_t series_bytes(const series *s) {
    const source *x = &s->source;
    if (s->kept) return s->spool.size;
    if (x->text) return x->stream ? -1 : x->size;
    return x->count < 0 ? -1 : x->count * (int64_t)source_element(x);
}

/* ---- walking --------------------------------------------------------------------------------- */

/* Fewer elements than promised are trouble; where nothing was promised, the end. */
static int next_of_array(series *s, const void **elements, int64_t *n) {
    const source *x = &s->source;
    const int64_t left = x->count < 0 ? s->block : x->count - s->at;
    const int64_t want = left < s->block ? left : s->block;
    *n = 0;
    if (want == 0) return EXIT_DONE;
    *elements = source_view(x, s->at, want, s->buffer, n);
    if (*n < 0 || (*n < want && x->count >= 0)) return source_failed(x, *n, errno);
    progress_add(*n * (int64_t)source_element(x));
    return EXIT_DONE;
}

static int next_of_spool(series *s, const void **elements, int64_t *n) {
    const int64_t element = (int64_t)bf_dtype_size(s->dtype);
    const int64_t left = s->spool.size / element - s->at;
    *n = left < s->block ? left : s->block;
    if (*n == 0) return EXIT_DONE;
    *elements = spool_read(&s->spool, s->at * element, s->buffer, (size_t)(*n * element));
    progress_add(*n * element);
    return *elements ? EXIT_DONE : EXIT_IO;
}

static int next_of_source(series *s, const void **elements, int64_t *n) {
    if (!s->source.text) return next_of_array(s, elements, n);
    return series_text_next(&s->text, elements, n);
}

int series_next(series *s, const void **elements, int64_t *n) {
    if (s->kept) {
        const int code = next_of_spool(s, elements, n);
        s->at += *n;
        return code;
    }
    int code = next_of_source(s, elements, n);
    if (code == EXIT_DONE && *n == 0) code = source_check(&s->source);
    if (code == EXIT_DONE && *n > 0 && s->keep)
        code = spool_write(&s->spool, *elements, (size_t)*n * bf_dtype_size(s->dtype));
    s->at += *n;
    progress_tick();
    return code;
}

void series_rewind(series *s) {
    s->at = 0;
    s->kept = s->keep;
    if (!s->kept) return;
    spool_end(&s->spool);
    series_text_close(&s->text);
    source_close(&s->source);
}
