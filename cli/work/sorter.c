#include "work/sorter.h"

#include "input/rows.h"
#include "memory/key.h"
#include "memory/temporary.h"
#include "runtime/bytes.h"
#include "runtime/json.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs that are merged at once, at most; the bytes that each of them holds, at least; and elements
 * that are refined at a time. */
enum { RUNS = 256, HELD_LEAST = 1 << 16, REFINED = 1 << 10 };

/* Bytes that the library needs for each element that it sorts: with what is beside, of a memory of
 * its own for results; and for the values alone. */
enum { LIBRARY_BESIDE = 40, LIBRARY_VALUES = 8 };

static const sorter_store no_store = {{-1, -1}, 0};

/* ---- parts ----------------------------------------------------------------------------------- */

static int64_t value_bytes(const sorter *s) { return (int64_t)bf_dtype_size(s->plan.dtype); }

static int64_t beside_bytes(const sorter *s) { return s->plan.beside ? 8 : 0; }

static bf_array values_of(const sorter *s, const sorter_part *p) {
    return bf_array_of(s->plan.dtype, p->values, p->n);
}

static bf_array beside_of(const sorter_part *p) { return bf_array_of(BF_I64, p->beside, p->n); }

static int end_call(const sorter *s, bf_status st) {
    return st == BF_OK ? EXIT_DONE : fail_status(st, s->plan.context, s->plan.file);
}

static int no_memory(const sorter *s) { return fail_status(BF_E_MEMORY, NULL, s->plan.file); }

/* Bytes of n elements, so that others may follow. */
static int64_t part_bytes(const sorter *s, int64_t n) {
    return (n * (value_bytes(s) + beside_bytes(s)) + 15) / 16 * 16;
}

/* Places an empty part in memory of part_bytes(s, n). */
static void place_part(const sorter *s, char *memory, int64_t n, sorter_part *p) {
    *p = (sorter_part){.values = memory + n * beside_bytes(s)};
    if (s->plan.beside) p->beside = (int64_t *)(void *)memory;
}

/* Appends n elements of a part, from `at` on, to another. */
static void append_part(const sorter *s, sorter_part *to, const sorter_part *from, int64_t at,
                        int64_t n) {
    const int64_t bytes = value_bytes(s);
    memcpy(to->values + to->n * bytes, from->values + at * bytes, (size_t)(n * bytes));
    if (s->plan.beside) memcpy(to->beside + to->n, from->beside + at, (size_t)n * 8);
    to->n += n;
}

/* ---- stores ---------------------------------------------------------------------------------- */

static void close_store(sorter_store *store) {
    for (int i = 0; i < 2; i++)
        if (store->fd[i] >= 0) close(store->fd[i]);
    *store = no_store;
}

static int write_column(int *fd, const void *from, int64_t bytes) {
    if (*fd < 0) *fd = temporary_open();
    return *fd >= 0 && temporary_write(*fd, from, (size_t)bytes) ? EXIT_DONE
                                                                 : temporary_failed(errno);
}

/* Appends a part to a store, whose count tells of it already. */
static int write_part(const sorter *s, sorter_store *store, const sorter_part *p) {
    const int code = write_column(&store->fd[0], p->values, p->n * value_bytes(s));
    return code == EXIT_DONE && s->plan.beside ? write_column(&store->fd[1], p->beside, p->n * 8)
                                               : code;
}

static int write_in_background(void *arg) {
    struct sorter_writing *w = arg;
    return write_part(w->sorter, w->store, &w->part);
}

/* Begins to write a part, when the one before is written. Until the next one is, or end_writing,
 * it must stay. */
static int begin_writing(sorter *s, sorter_store *store, const sorter_part *p) {
    struct sorter_writing *w = &s->writing;
    const int code = background_end(&w->work);
    if (code != EXIT_DONE) return code;
    w->sorter = s;
    w->store = store;
    w->part = *p;
    store->count += p->n;
    background_start(&w->work, write_in_background, w);
    return EXIT_DONE;
}

static int end_writing(sorter *s) { return background_end(&s->writing.work); }

/* Reads n elements of a size. */
static int read_column(int fd, void *to, int64_t first, int64_t n, int64_t size) {
    errno = EIO;
    return bytes_pread(fd, to, (size_t)(n * size), first * size) == n * size
               ? EXIT_DONE
               : temporary_failed(errno);
}

/* Begins a run at the end of the store. */
static int begin_run(sorter *s) {
    if (s->n == s->room) {
        const int room = s->room > 0 ? 2 * s->room : 16;
        sorter_run *more = realloc(s->runs, (size_t)room * sizeof *more);
        if (!more) return no_memory(s);
        s->runs = more;
        s->room = room;
    }
    s->runs[s->n++] = (sorter_run){.next = s->store.count, .end = s->store.count};
    return EXIT_DONE;
}

static void end_run(sorter *s) { s->runs[s->n - 1].end = s->store.count; }

/* ---- adding ---------------------------------------------------------------------------------- */

/* Bytes of memory for each element that is added. */
static int64_t filling_bytes(const sorter *s) {
    return value_bytes(s) * (s->plan.distinct ? 2 : 1) + beside_bytes(s);
}

/* One part is filled while another is written. */
void sorter_open(sorter *s, const sorter_plan *plan) {
    *s = (sorter){.plan = *plan, .store = no_store};
    const int64_t library = plan->beside || plan->distinct ? LIBRARY_BESIDE : LIBRARY_VALUES;
    const int64_t most = plan->memory / 2 / filling_bytes(s), least = plan->library / library;
    s->most = (most < least ? most : least) / 16 * 16;
}

void sorter_close(sorter *s) {
    if (!s->plan.context) return;
    (void)end_writing(s);
    free(s->memory);
    free(s->runs);
    close_store(&s->store);
    *s = (sorter){.store = no_store};
}

/* Memory costs nothing before it is used. */
static int begin_filling(sorter *s) {
    if (s->memory) return EXIT_DONE;
    const int64_t bytes = s->most * filling_bytes(s);
    s->memory = malloc((size_t)(2 * bytes));
    if (!s->memory) return no_memory(s);
    place_part(s, s->memory, s->most, &s->filling);
    s->full = s->memory + bytes;
    return EXIT_DONE;
}

/* Fills the other part, which was written. */
static void change_filling(sorter *s) {
    char *filled = s->full == s->memory ? s->memory + s->most * filling_bytes(s) : s->memory;
    place_part(s, s->full, s->most, &s->filling);
    s->full = filled;
}

/* The number of elements before a wanted one: before its equals, or behind them. */
static int find_place(const sorter *s, const sorter_part *p, const void *wanted, bool right,
                      int64_t *place) {
    const bf_array sorted = values_of(s, p), of = bf_array_of(s->plan.dtype, (void *)wanted, 1),
                   to = bf_array_of(BF_I64, place, 1);
    return end_call(s, bf_searchsorted(s->plan.context, &sorted, &of, right, &s->plan.rules, &to));
}

/* Leaves the NaNs out, which are last, if they are skipped. */
static int leave_nans(const sorter *s, sorter_part *p) {
    const uint64_t nan = key_nan(s->plan.dtype);
    if (s->plan.rules.nan != BF_NAN_SKIP || bf_dtype_kind(s->plan.dtype) != 'f') return EXIT_DONE;
    return find_place(s, p, &nan, false, &p->n);
}

static int sort_values(const sorter *s, sorter_part *p) {
    const bf_array values = values_of(s, p), index = beside_of(p);
    const bf_order_options *rules = &s->plan.rules;
    const bf_status st =
        bf_sort(s->plan.context, &values, 0, rules, &values, p->beside ? &index : NULL);
    for (int64_t i = 0; p->beside && i < p->n; i++) p->beside[i] += s->added - p->n;
    return st == BF_OK ? leave_nans(s, p) : end_call(s, st);
}

/* The different values go behind the others, and become the part. */
static int find_different(const sorter *s, sorter_part *p) {
    sorter_part found = {p->n, p->values + s->most * value_bytes(s), p->beside};
    const bf_array from = values_of(s, p), values = values_of(s, &found), counts = beside_of(p);
    const bf_status st = bf_unique(s->plan.context, &from, &s->plan.rules, &values,
                                   p->beside ? &counts : NULL, &found.n);
    *p = found;
    return end_call(s, st);
}

static int sort_filling(const sorter *s, sorter_part *p) {
    *p = s->filling;
    if (p->n == 0) return EXIT_DONE;
    return s->plan.distinct ? find_different(s, p) : sort_values(s, p);
}

/* Writes what was added as a run. */
static int write_filling(sorter *s) {
    sorter_part sorted;
    int code = s->filling.n > 0 ? sort_filling(s, &sorted) : EXIT_DONE;
    if (code != EXIT_DONE || s->filling.n == 0) return code;
    code = begin_run(s);
    if (code != EXIT_DONE) return code;
    code = begin_writing(s, &s->store, &sorted);
    end_run(s);
    change_filling(s);
    return code;
}

int sorter_add(sorter *s, const void *values, int64_t n) {
    int code = begin_filling(s);
    for (int64_t at = 0; at < n && code == EXIT_DONE;) {
        const int64_t room = s->most - s->filling.n, some = n - at < room ? n - at : room;
        const int64_t bytes = value_bytes(s);
        memcpy(s->filling.values + s->filling.n * bytes, (const char *)values + at * bytes,
               (size_t)(some * bytes));
        s->filling.n += some;
        s->added += some;
        at += some;
        if (s->filling.n == s->most) code = write_filling(s);
    }
    return code;
}

int sorter_append(sorter *s, const sorter_part *part) {
    int code = s->appending ? EXIT_DONE : begin_run(s);
    if (code != EXIT_DONE) return code;
    s->appending = true;
    s->store.count += part->n;
    end_run(s);
    return write_part(s, &s->store, part);
}

void sorter_cut(sorter *s) { s->appending = false; }

/* Appends some elements of the store to another file, as numbers of another form. */
static int bring_some(const sorter *s, int64_t first, int64_t n, units_form to, int *fd) {
    _Alignas(16) char units[REFINED * 16];
    const units_form from = {s->plan.dtype, s->plan.scale};
    const int code = read_column(s->store.fd[0], units, first, n, value_bytes(s));
    if (code != EXIT_DONE) return code;
    if (!units_bring(from, units, n, to, units)) return rows_refuse_scale(s->plan.file);
    return write_column(fd, units, n * (int64_t)bf_dtype_size(to.dtype));
}

int sorter_bring(sorter *s, units_form to) {
    const int64_t all = s->store.count;
    int code = EXIT_DONE, fd = -1;
    if (units_are_same(to, (units_form){s->plan.dtype, s->plan.scale})) return EXIT_DONE;
    for (int64_t n, first = 0; first < all && code == EXIT_DONE; first += n) {
        n = all - first < REFINED ? all - first : REFINED;
        code = bring_some(s, first, n, to, &fd);
    }
    if (s->store.fd[0] >= 0) close(s->store.fd[0]);
    s->store.fd[0] = fd;
    s->plan.dtype = to.dtype;
    s->plan.scale = to.scale;
    return code;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Begins to merge n runs from the first on: a third of memory is for what they hold, the others are
 * for what is taken from them, now and before. */
static int begin_merge(sorter *s, int first, int n) {
    const int64_t row = value_bytes(s) + beside_bytes(s), each = s->plan.memory / 3 / row / n;
    s->each = each < 1 ? 1 : each;
    s->first = first;
    s->merging = n;
    const int64_t held = part_bytes(s, s->each), taken = part_bytes(s, n * s->each);
    free(s->memory);
    s->memory = malloc((size_t)(n * held + 2 * taken));
    if (!s->memory) return no_memory(s);
    for (int i = 0; i < n; i++) {
        sorter_run *r = &s->runs[first + i];
        place_part(s, s->memory + i * held, s->each, &r->held);
        r->values = r->held.values;
        r->beside = r->held.beside;
    }
    place_part(s, s->memory + n * held, n * s->each, &s->taken);
    place_part(s, s->memory + n * held + taken, n * s->each, &s->given);
    return EXIT_DONE;
}

/* Reads on, when half of what a run may hold was taken. */
static int fill_run(const sorter *s, sorter_run *r) {
    const int64_t left = r->end - r->next, size = value_bytes(s);
    sorter_part *p = &r->held;
    if (left == 0 || p->n > s->each / 2) return EXIT_DONE;
    const int64_t n = left < s->each - p->n ? left : s->each - p->n;
    memmove(r->values, p->values, (size_t)(p->n * size));
    if (r->beside) memmove(r->beside, p->beside, (size_t)p->n * 8);
    int code = read_column(s->store.fd[0], r->values + p->n * size, r->next, n, size);
    if (code == EXIT_DONE && r->beside)
        code = read_column(s->store.fd[1], r->beside + p->n, r->next, n, 8);
    *p = (sorter_part){p->n + n, r->values, r->beside};
    r->next += n;
    return code;
}

/* Where a round ends: at the last element that run number `of` holds. -1: all runs are at their
 * ends. */
typedef struct cut {
    int of;
    const char *value;
} cut;

/* Finds the run whose last element is first, among those that go on. */
static int find_cut(const sorter *s, cut *c) {
    char lasts[RUNS * 16];
    int of[RUNS];
    const int64_t size = value_bytes(s);
    int64_t n = 0, first = 0;
    for (int i = 0; i < s->merging; i++) {
        const sorter_run *r = &s->runs[s->first + i];
        if (r->next == r->end) continue;
        memcpy(lasts + n * size, r->held.values + (r->held.n - 1) * size, (size_t)size);
        of[n++] = i;
    }
    *c = (cut){.of = -1};
    if (n == 0) return EXIT_DONE;
    const bf_array values = bf_array_of(s->plan.dtype, lasts, n),
                   index = bf_array_of(BF_I64, &first, 1);
    bf_order_options rules = s->plan.rules;
    const bf_status st = bf_top(s->plan.context, &values, 0, 1, &rules, NULL, &index);
    const sorter_part *p = &s->runs[s->first + of[first]].held;
    *c = (cut){of[first], p->values + (p->n - 1) * size};
    return end_call(s, st);
}

/* Takes what run number i holds before the cut: of its equals, those of earlier runs, or, if
 * elements are distinct, all. */
static int take_from(sorter *s, int i, const cut *c) {
    sorter_part *p = &s->runs[s->first + i].held;
    int64_t n = p->n;
    if (c->of >= 0 && c->of != i && n > 0) {
        const int code = find_place(s, p, c->value, s->plan.distinct || i < c->of, &n);
        if (code != EXIT_DONE) return code;
    }
    append_part(s, &s->taken, p, 0, n);
    p->n -= n;
    p->values += n * value_bytes(s);
    if (p->beside) p->beside += n;
    return EXIT_DONE;
}

/* Makes one of equal values that are distinct in their runs. */
static void join_equals(const sorter *s, sorter_part *p) {
    const int64_t size = value_bytes(s);
    int64_t found = 0;
    for (int64_t i = 0; i < p->n; i++) {
        char *value = p->values + i * size, *to = p->values + found * size;
        const bool same = i > 0 && memcmp(to - size, value, (size_t)size) == 0;
        if (same && p->beside) p->beside[found - 1] += p->beside[i];
        if (same) continue;
        memcpy(to, value, (size_t)size);
        if (p->beside) p->beside[found] = p->beside[i];
        found++;
    }
    p->n = found;
}

static int sort_taken(const sorter *s, sorter_part *p) {
    const bf_array values = values_of(s, p), beside = beside_of(p);
    return end_call(s, p->beside
                           ? bf_sort_rows(s->plan.context, &values, &beside, 1, &s->plan.rules)
                           : bf_sort(s->plan.context, &values, 0, &s->plan.rules, &values, NULL));
}

/* Takes the next elements from all runs, as far as it is known that none comes between them. */
static int take_round(sorter *s) {
    cut c;
    int code = EXIT_DONE, sources = 0;
    const sorter_part given = s->taken;
    s->taken = s->given;
    s->given = given;
    s->taken.n = 0;
    for (int i = 0; i < s->merging && code == EXIT_DONE; i++)
        code = fill_run(s, &s->runs[s->first + i]);
    if (code == EXIT_DONE) code = find_cut(s, &c);
    for (int i = 0; i < s->merging && code == EXIT_DONE; i++) {
        const int64_t before = s->taken.n;
        code = take_from(s, i, &c);
        sources += s->taken.n > before;
    }
    if (code == EXIT_DONE && sources > 1) code = sort_taken(s, &s->taken);
    if (s->plan.distinct && sources > 1) join_equals(s, &s->taken);
    return code;
}

/* Merges some runs to one, the last of another store. */
static int merge_runs(sorter *s, int first, int n, sorter_store *to, sorter_run *run) {
    int code = begin_merge(s, first, n);
    run->next = to->count;
    while (code == EXIT_DONE) {
        code = take_round(s);
        if (code != EXIT_DONE || s->taken.n == 0) break;
        code = begin_writing(s, to, &s->taken);
    }
    run->end = to->count;
    const int written = end_writing(s);
    return code == EXIT_DONE ? written : code;
}

/* Merges runs until there are fewer, of which each follows those before it. */
static int merge_some(sorter *s, int most) {
    sorter_store to = no_store;
    int n = 0, code = EXIT_DONE;
    for (int first = 0; first < s->n && code == EXIT_DONE; first += most) {
        sorter_run run = {.next = 0};
        code = merge_runs(s, first, s->n - first < most ? s->n - first : most, &to, &run);
        s->runs[n++] = run; /* run n is merged, because most > 1 */
    }
    close_store(&s->store);
    s->store = to;
    s->n = n;
    return code;
}

int sorter_end(sorter *s) {
    int code = EXIT_DONE;
    if (s->n == 0) {
        code = sort_filling(s, &s->taken);
        s->count = s->taken.n;
        return code;
    }
    code = write_filling(s);
    if (code == EXIT_DONE) code = end_writing(s);
    const int64_t room = s->plan.memory / 2 / HELD_LEAST;
    const int most = room < 2      ? 2
                     : room > RUNS ? RUNS
                                   : (int)room,
              few = s->plan.distinct ? 1 : most;
    while (code == EXIT_DONE && s->n > few) code = merge_some(s, most);
    s->count = s->store.count;
    return code == EXIT_DONE ? begin_merge(s, 0, s->n) : code;
}

int sorter_next(sorter *s, sorter_part *part) {
    const int code = s->merging > 0 ? take_round(s) : EXIT_DONE;
    *part = s->taken;
    if (s->merging == 0) s->taken.n = 0;
    return code;
}
