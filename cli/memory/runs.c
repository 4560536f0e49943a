#include "memory/runs.h"

#include "memory/heap.h"
#include "memory/temporary.h"
#include "runtime/bytes.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a record; records of a buffer; and how many times as many runs may wait as are merged at
 * once. */
enum { RECORD = sizeof(run_record), LEAST = 256, WAITING = 16 };

void runs_open(runs *r, int64_t memory) { *r = (runs){.fd = -1, .memory = memory}; }

static void end_merge(runs *r) {
    free(r->heap);
    free(r->buffers);
    r->heap = NULL;
    r->buffers = NULL;
}

void runs_close(runs *r) {
    end_merge(r);
    free(r->all);
    if (r->fd >= 0) close(r->fd);
    *r = (runs){.fd = -1};
}

static bool make_room(runs *r) {
    if (r->n < r->room) return true;
    const int room = r->room > 0 ? 2 * r->room : 16;
    run *more = realloc(r->all, (size_t)room * sizeof *more);
    if (!more) return false;
    r->all = more;
    r->room = room;
    return true;
}

/* Appends records to the file. */
static int write_records(runs *r, const run_record *records, int64_t n) {
    if (r->fd < 0) r->fd = temporary_open();
    if (r->fd < 0 || !temporary_write(r->fd, records, (size_t)n * RECORD))
        return temporary_failed(errno);
    r->end += n;
    return EXIT_DONE;
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool is_less(const void *arg, int a, int b) {
    const runs *r = arg;
    const run_record *x = r->all[a].at, *y = r->all[b].at;
    return x->first != y->first ? x->first < y->first : x->second < y->second;
}

/* Reads on. The run is empty afterwards if it has no more records. */
static int fill_buffer(const runs *r, run *x) {
    const int64_t left = x->end - x->next, n = left < r->each ? left : r->each;
    const size_t bytes = (size_t)n * RECORD;
    errno = EIO;
    if (n > 0 && bytes_pread(r->fd, x->buffer, bytes, x->next * RECORD) != (int64_t)bytes)
        return temporary_failed(errno);
    x->next += n;
    x->at = x->buffer;
    x->last = x->buffer + n;
    return EXIT_DONE;
}

/* Begins to merge the first n runs, in so many bytes. */
static int begin_merge(runs *r, int n, int64_t memory) {
    end_merge(r);
    r->each = memory / RECORD / (n > 0 ? n : 1);
    if (r->each < LEAST) r->each = LEAST;
    r->heap = malloc((size_t)n * sizeof *r->heap + 1);
    r->buffers = malloc((size_t)n * (size_t)r->each * RECORD + 1);
    if (!r->heap || !r->buffers) return fail_status(BF_E_MEMORY, NULL, NULL);
    r->live = n;
    for (int i = 0; i < n; i++) {
        run *x = &r->all[i];
        x->next = x->begin;
        x->buffer = r->buffers + i * r->each;
        r->heap[i] = i;
        const int code = fill_buffer(r, x);
        if (code != EXIT_DONE) return code;
    }
    heap_make(r->heap, r->live, is_less, r);
    return EXIT_DONE;
}

int runs_next(runs *r, run_record *out, int64_t most, int64_t *n) {
    for (*n = 0; *n < most && r->live > 0; ++*n) {
        run *x = &r->all[r->heap[0]];
        out[*n] = *x->at++;
        if (x->at == x->last) {
            const int code = fill_buffer(r, x);
            if (code != EXIT_DONE) return code;
            if (x->at == x->last) r->heap[0] = r->heap[--r->live];
        }
        if (r->live > 0) heap_sift_down(r->heap, r->live, 0, is_less, r);
    }
    return EXIT_DONE;
}

/* Merges the first n runs to one, which becomes the last. */
static int shorten_runs(runs *r, int n, int64_t memory) {
    run_record some[LEAST];
    run whole = {.begin = r->end};
    int code = begin_merge(r, n, memory);
    for (int64_t k = 1; code == EXIT_DONE && k > 0;) {
        code = runs_next(r, some, LEAST, &k);
        if (code == EXIT_DONE && k > 0) code = write_records(r, some, k);
    }
    end_merge(r);
    whole.end = r->end;
    r->n -= n - 1;
    memmove(r->all, r->all + n, (size_t)(r->n - 1) * sizeof *r->all);
    r->all[r->n - 1] = whole;
    return code;
}

/* The runs for whose buffers there is room. */
static int most_runs(int64_t memory) {
    const int64_t fit = memory / RECORD / LEAST;
    return fit < 2 ? 2 : fit > 1 << 16 ? 1 << 16 : (int)fit;
}

int runs_merge(runs *r) {
    const int most = most_runs(r->memory);
    int code = EXIT_DONE;
    while (code == EXIT_DONE && r->n > most) code = shorten_runs(r, most, r->memory);
    return code == EXIT_DONE ? begin_merge(r, r->n, r->memory) : code;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Who adds runs needs half of the memory. */
int runs_add(runs *r, const run_record *records, int64_t n) {
    const int64_t half = r->memory / 2;
    const int most = most_runs(half);
    if (n == 0) return EXIT_DONE;
    int code = r->n < WAITING * most ? EXIT_DONE : shorten_runs(r, most, half);
    if (code == EXIT_DONE && !make_room(r)) code = fail_status(BF_E_MEMORY, NULL, NULL);
    const int64_t begin = r->end;
    if (code == EXIT_DONE) code = write_records(r, records, n);
    if (code != EXIT_DONE) return code;
    r->all[r->n++] = (run){.begin = begin, .end = begin + n};
    r->count += n;
    return EXIT_DONE;
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* Sorts by one byte of `first`, stably. False: all have the same, and stay where they are. */
static bool sort_byte(const run_record *from, int64_t n, int shift, run_record *to) {
    int64_t at[257] = {0};
    for (int64_t i = 0; i < n; i++) at[(from[i].first >> shift & 255) + 1]++;
    if (at[(from[0].first >> shift & 255) + 1] == n) return false;
    for (int b = 0; b < 256; b++) at[b + 1] += at[b];
    for (int64_t i = 0; i < n; i++) to[at[from[i].first >> shift & 255]++] = from[i];
    return true;
}

void runs_sort(run_record *records, int64_t n, run_record *scratch) {
    run_record *from = records, *to = scratch;
    for (int shift = 0; shift < 64 && n > 0; shift += 8) {
        if (!sort_byte(from, n, shift, to)) continue;
        run_record *const other = from;
        from = to;
        to = other;
    }
    if (from != records) memcpy(records, from, (size_t)n * sizeof *records);
}
