#include "base/spill/merger.h"

#include "base/memory.h"

#include <string.h>
#include <unistd.h>

enum {
    SHARED_MOST = 1 << 28, /* bytes, also without a limit */
    WRITTEN = 1 << 13,     /* words that are written at a time */
    READ_LEAST = 1 << 11   /* words that are read at a time, if the memory allows for it */
};

static bf_status no_memory(const bf_merger *m) {
    return bf_fail(m->context, BF_E_MEMORY, "no memory to merge");
}

int64_t bf_merger_share(int parts) {
    const int64_t left = bf_budget_left(bf_budget_current());
    return (left < SHARED_MOST ? left : SHARED_MOST) / parts;
}

/* ---- adding ---------------------------------------------------------------------------------- */

bf_status bf_merger_open(bf_merger *m, bf_context *context, int key, int words, int most) {
    *m = (bf_merger){.context = context, .key = key, .words = words, .most = most, .fd = -1};
    return bf_spill_open(context, &m->fd);
}

void bf_merger_stop(bf_merger *m) {
    bf_free(m->memory);
    bf_free(m->heap);
    m->memory = NULL;
    m->heap = NULL;
    m->live = 0;
    m->given = false;
}

void bf_merger_close(bf_merger *m) {
    bf_merger_stop(m);
    bf_free(m->runs);
    if (m->fd >= 0) close(m->fd);
    m->runs = NULL;
    m->fd = -1;
}

static bf_status write_held(bf_merger *m) {
    const int64_t held = m->held, word = sizeof *m->memory;
    m->held = 0;
    return bf_spill_write(m->context, m->fd, m->memory, (size_t)(held * word),
                          (m->end - held) * word);
}

static bf_status begin_run(bf_merger *m) {
    if (m->count == m->runs_room) {
        const int room = m->runs_room > 0 ? 2 * m->runs_room : 16;
        bf_merger_run *more = bf_resize(m->runs, (size_t)room * sizeof *more);
        if (more == NULL) return no_memory(m);
        m->runs = more;
        m->runs_room = room;
    }
    m->runs[m->count++] = (bf_merger_run){.begin = m->end, .end = m->end};
    m->open = true;
    return BF_OK;
}

/* Prepares for records. */
static bf_status begin_adding(bf_merger *m) {
    if (m->memory == NULL) m->memory = bf_alloc(WRITTEN * sizeof *m->memory);
    if (m->memory == NULL) return no_memory(m);
    return m->open ? BF_OK : begin_run(m);
}

bf_status bf_merger_add(bf_merger *m, const uint64_t *records, int64_t words) {
    bf_status status = words > 0 ? begin_adding(m) : BF_OK;
    for (int64_t n; words > 0 && status == BF_OK; words -= n, records += n) {
        n = words < WRITTEN - m->held ? words : WRITTEN - m->held;
        memcpy(m->memory + m->held, records, (size_t)n * sizeof *records);
        m->held += n;
        m->end += n;
        m->runs[m->count - 1].end = m->end;
        if (m->held == WRITTEN) status = write_held(m);
    }
    return status;
}

bf_status bf_merger_cut(bf_merger *m) {
    m->open = false;
    return write_held(m);
}

void bf_merger_drop(bf_merger *m, int count) {
    m->open = false;
    m->held = 0;
    m->count = count;
    m->end = count > 0 ? m->runs[count - 1].end : 0;
}

bf_status bf_merger_read(bf_merger *m, int64_t first, int64_t words, uint64_t *to) {
    return bf_spill_read(m->context, m->fd, to, (size_t)words * sizeof *to,
                         first * (int64_t)sizeof *to);
}

/* ---- runs that are read ---------------------------------------------------------------------- */

static int64_t record_words(const bf_merger *m, const uint64_t *record) {
    return m->words > 0 ? m->words : (int64_t)record[m->key];
}

/* Is the next record of a run in memory? */
static bool holds_record(const bf_merger *m, const bf_merger_run *r) {
    const int64_t held = r->last - r->at;
    return m->words > 0 ? held >= m->words : held > m->key && held >= (int64_t)r->at[m->key];
}

/* Reads more of a run whose buffer has `each` words. */
static bf_status read_run(const bf_merger *m, bf_merger_run *r, int64_t each) {
    const int64_t held = r->last - r->at, left = r->end - r->next;
    const int64_t n = left < each - held ? left : each - held;
    memmove(r->buffer, r->at, (size_t)held * sizeof *r->at);
    r->at = r->buffer;
    r->last = r->buffer + held + n;
    const bf_status status =
        bf_spill_read(m->context, m->fd, r->buffer + held, (size_t)n * sizeof *r->at,
                      r->next * (int64_t)sizeof *r->at);
    r->next += n;
    return status;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static bool is_before(const bf_merger_head *a, const bf_merger_head *b) {
    for (int i = 0; i < BF_MERGER_KEY; i++)
        if (a->key[i] != b->key[i]) return a->key[i] < b->key[i];
    return a->run < b->run;
}

/* Puts a head into the place of number i, whose children are in order. */
static void sift_head(bf_merger *m, int i, bf_merger_head head) {
    for (int child; (child = 2 * i + 1) < m->live; i = child) {
        if (child + 1 < m->live && is_before(&m->heap[child + 1], &m->heap[child])) child++;
        if (is_before(&head, &m->heap[child])) break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = head;
}

static bf_merger_head head_of(const bf_merger *m, int run) {
    bf_merger_head head = {.run = run};
    memcpy(head.key, m->runs[run].at, (size_t)m->key * sizeof *head.key);
    return head;
}

/* Passes over the first record of the heap. */
static bf_status pass_record(bf_merger *m) {
    const int run = m->heap[0].run;
    bf_merger_run *r = &m->runs[run];
    bf_status status = BF_OK;
    r->at += record_words(m, r->at);
    if (!holds_record(m, r) && r->next < r->end) status = read_run(m, r, m->room);
    if (status != BF_OK) return status;
    if (r->at < r->last)
        sift_head(m, 0, head_of(m, run));
    else if (--m->live > 0)
        sift_head(m, 0, m->heap[m->live]);
    return BF_OK;
}

bf_status bf_merger_next(bf_merger *m, const uint64_t **record) {
    const bf_status status = m->given ? pass_record(m) : BF_OK;
    m->given = m->live > 0;
    *record = m->live > 0 ? m->runs[m->heap[0].run].at : NULL;
    return status;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Begins to merge n runs from the first on, each by a buffer of `each` words. */
static bf_status open_runs(bf_merger *m, int first, int n, int64_t each) {
    bf_status status = BF_OK;
    bf_merger_stop(m);
    m->room = each;
    m->memory = bf_alloc((size_t)(n * each) * sizeof *m->memory);
    m->heap = bf_alloc((size_t)n * sizeof *m->heap);
    if (m->memory == NULL || m->heap == NULL) return no_memory(m);
    for (int i = 0; i < n && status == BF_OK; i++) {
        bf_merger_run *r = &m->runs[first + i];
        r->buffer = r->at = r->last = m->memory + i * each;
        r->next = r->begin;
        status = read_run(m, r, each);
        if (status == BF_OK) m->heap[m->live++] = head_of(m, first + i);
    }
    for (int i = n / 2 - 1; i >= 0 && status == BF_OK; i--) sift_head(m, i, m->heap[i]);
    return status;
}

/* Appends n runs to another merger as one. */
static bf_status merge_runs(bf_merger *m, int first, int n, int64_t each, bf_merger *to) {
    const uint64_t *record;
    bf_status status = open_runs(m, first, n, each);
    while (status == BF_OK) {
        status = bf_merger_next(m, &record);
        if (status != BF_OK || record == NULL) break;
        status = bf_merger_add(to, record, record_words(m, record));
    }
    return status == BF_OK ? bf_merger_cut(to) : status;
}

/* Merges each `most` neighbours of the runs to one, in another file. */
static bf_status merge_neighbours(bf_merger *m, int most, int64_t each) {
    bf_merger to;
    bf_status status = bf_merger_open(&to, m->context, m->key, m->words, m->most);
    for (int first = 0; first < m->count && status == BF_OK; first += most)
        status = merge_runs(m, first, m->count - first < most ? m->count - first : most, each, &to);
    bf_merger_close(status == BF_OK ? m : &to);
    if (status == BF_OK) *m = to;
    return status;
}

/* A third of the memory is left for what is written while neighbours are merged. */
bf_status bf_merger_start(bf_merger *m, int64_t bytes) {
    const int64_t words = bytes / 3 * 2 / (int64_t)sizeof *m->memory;
    const int64_t least = READ_LEAST > 2 * m->most ? READ_LEAST : 2 * m->most;
    const int most = words / least < 2 ? 2 : words / least < 1024 ? (int)(words / least) : 1024;
    bf_status status = BF_OK;
    while (m->count > most && status == BF_OK) status = merge_neighbours(m, most, least);
    if (status != BF_OK || m->count == 0) return status;
    const int64_t each = words / m->count;
    return open_runs(m, 0, m->count, each > least ? each : least);
}
