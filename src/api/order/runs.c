#include "api/order/runs.h"

#include "base/memory.h"
#include "base/spill/file.h"
#include "rules/key/rank.h"

#include <unistd.h>

/* Runs that are merged at once, at most; the bytes that each of them holds, at least; and the
 * memory that a merge takes, at most. */
enum { MERGED_MOST = 256, HELD_LEAST = 1 << 16, MEMORY_MOST = 1 << 28 };

static bf_status no_memory(const bf_order_runs *r) {
    return bf_fail(r->plan.context, BF_E_MEMORY, "no memory to sort");
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int64_t value_bytes(const bf_order_plan *plan) { return bf_key_bytes(plan->dtype); }

int64_t bf_order_row_bytes(const bf_order_plan *plan) {
    return value_bytes(plan) + (plan->beside ? 8 : 0);
}

/* Pairs are sorted by their positions, in a copy if they are different. */
int64_t bf_order_work_bytes(const bf_order_plan *plan) {
    if (plan->different) return plan->dtype == BF_PAIR ? 40 : 24;
    return plan->beside || plan->dtype == BF_PAIR ? 24 : 8;
}

/* The bytes of n elements, such that others may follow. */
static int64_t part_bytes(const bf_order_plan *plan, int64_t n) {
    return (n * bf_order_row_bytes(plan) + 15) / 16 * 16;
}

/* An empty part in memory for n elements. */
static bf_order_part place_part(const bf_order_plan *plan, char *memory, int64_t n) {
    bf_order_part p = {.values = memory + n * (plan->beside ? 8 : 0)};
    if (plan->beside) p.beside = (int64_t *)(void *)memory;
    return p;
}

/* Appends the first n elements of a part to another, perhaps in the same memory. */
static void append_part(const bf_order_plan *plan, bf_order_part *to, const bf_order_part *from,
                        int64_t n) {
    const int64_t bytes = value_bytes(plan);
    memmove(to->values + to->n * bytes, from->values, (size_t)(n * bytes));
    if (plan->beside) memmove(to->beside + to->n, from->beside, (size_t)n * 8);
    to->n += n;
}

static void pass_elements(const bf_order_plan *plan, bf_order_part *p, int64_t n) {
    p->n -= n;
    p->values += n * value_bytes(plan);
    if (plan->beside) p->beside += n;
}

/* Makes one of equal keys, which are neighbours. */
static bf_status join_equals(const bf_order_plan *plan, bf_order_part *p) {
    const size_t bytes = (size_t)value_bytes(plan);
    const bf_order_part all = *p;
    bool fits = true;
    p->n = 0;
    for (int64_t i = 0; i < all.n; i++) {
        const char *value = all.values + i * (int64_t)bytes;
        char *to = all.values + p->n * (int64_t)bytes;
        const bool same = p->n > 0 && memcmp(to - bytes, value, bytes) == 0;
        int64_t *sum = plan->beside ? all.beside + p->n - same : NULL;
        if (sum != NULL && same) fits &= !__builtin_add_overflow(*sum, all.beside[i], sum);
        if (same) continue;
        if (sum != NULL) *sum = all.beside[i];
        memmove(to, value, bytes);
        p->n++;
    }
    return fits ? BF_OK
                : bf_fail(plan->context, BF_E_OVERFLOW, "a value occurs more than 2^63 times");
}

bf_status bf_order_sort_part(const bf_order_plan *plan, bf_order_part *p) {
    const bf_order_backend *order = bf_backend_cpu.order;
    const bf_order_lines line = {.dtype = plan->dtype,
                                 .values = p->values,
                                 .count = 1,
                                 .length = p->n,
                                 .order = plan->order};
    void *const payload[] = {p->beside};
    const int bytes[] = {8};
    bf_status status = BF_OK;
    if (p->n > 1)
        status = plan->beside ? order->sort_rows(plan->context, &line, 1, payload, bytes)
                              : order->sort(plan->context, &line, p->values, NULL);
    return status == BF_OK && plan->different ? join_equals(plan, p) : status;
}

/* ---- files ----------------------------------------------------------------------------------- */

void bf_order_runs_open(bf_order_runs *r, const bf_order_plan *plan) {
    *r = (bf_order_runs){.plan = *plan, .fd = {-1, -1}};
}

void bf_order_runs_close(bf_order_runs *r) {
    for (int i = 0; i < 2; i++)
        if (r->fd[i] >= 0) close(r->fd[i]);
    bf_free(r->all);
    bf_free(r->memory);
    bf_order_runs_open(r, &r->plan);
}

bf_status bf_order_runs_begin(bf_order_runs *r) {
    if (r->n == r->room) {
        const int room = r->room > 0 ? 2 * r->room : 16;
        bf_order_run *more = bf_resize(r->all, (size_t)room * sizeof *more);
        if (more == NULL) return no_memory(r);
        r->all = more;
        r->room = room;
    }
    r->all[r->n++] = (bf_order_run){.next = r->count, .end = r->count};
    return BF_OK;
}

/* Appends a column, of elements of a size, to its file. */
static bf_status write_column(bf_order_runs *r, int column, const void *from, int64_t n,
                              int64_t size) {
    bf_context *context = r->plan.context;
    bf_status status = BF_OK;
    if (r->fd[column] < 0) status = bf_spill_open(context, &r->fd[column]);
    if (status != BF_OK) return status;
    return bf_spill_write(context, r->fd[column], from, (size_t)(n * size), r->count * size);
}

bf_status bf_order_runs_append(bf_order_runs *r, const bf_order_part *p) {
    bf_status status = write_column(r, 0, p->values, p->n, value_bytes(&r->plan));
    if (status == BF_OK && r->plan.beside) status = write_column(r, 1, p->beside, p->n, 8);
    if (status != BF_OK) return status;
    r->count += p->n;
    r->all[r->n - 1].end = r->count;
    return BF_OK;
}

/* Reads n elements of a run behind those that it holds. */
static bf_status read_elements(const bf_order_runs *r, bf_order_run *x, int64_t n) {
    const int64_t size = value_bytes(&r->plan);
    bf_order_part *p = &x->held;
    bf_status status = bf_spill_read(r->plan.context, r->fd[0], p->values + p->n * size,
                                     (size_t)(n * size), x->next * size);
    if (status == BF_OK && r->plan.beside)
        status =
            bf_spill_read(r->plan.context, r->fd[1], p->beside + p->n, (size_t)n * 8, x->next * 8);
    p->n += n;
    x->next += n;
    return status;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Memory that a run may hold, and that taking it and sorting what was taken may need. */
static int64_t merge_bytes(const bf_order_plan *plan) {
    return 2 * bf_order_row_bytes(plan) + bf_order_work_bytes(plan);
}

/* Begins to merge n runs from the first on, in so many bytes. */
static bf_status open_merge(bf_order_runs *r, int first, int n, int64_t bytes) {
    const bf_order_plan *plan = &r->plan;
    const int64_t each = bytes / merge_bytes(plan) / n;
    r->each = each < 1 ? 1 : each;
    const int64_t held = part_bytes(plan, r->each);
    bf_free(r->memory);
    r->memory = bf_alloc((size_t)(n * held + part_bytes(plan, n * r->each)));
    if (r->memory == NULL) return no_memory(r);
    for (int i = 0; i < n; i++)
        r->all[first + i].held = place_part(plan, r->memory + i * held, r->each);
    r->taken = place_part(plan, r->memory + n * held, n * r->each);
    r->first = first;
    r->merging = n;
    return BF_OK;
}

/* Reads on, when half of what a run may hold was taken. */
static bf_status fill_run(const bf_order_runs *r, int i) {
    bf_order_run *x = &r->all[r->first + i];
    const bf_order_part old = x->held;
    const int64_t left = x->end - x->next, room = r->each - old.n;
    if (left == 0 || old.n > r->each / 2) return BF_OK;
    x->held = place_part(&r->plan, r->memory + i * part_bytes(&r->plan, r->each), r->each);
    append_part(&r->plan, &x->held, &old, old.n);
    return read_elements(r, x, left < room ? left : room);
}

/* Where a round ends: at the last element that run number `of` holds. -1: all runs are at their
 * ends. */
typedef struct cut {
    int of;
    const char *value;
} cut;

/* Finds the run whose last element is first, among those that go on. */
static bf_status find_cut(const bf_order_runs *r, cut *c) {
    char lasts[MERGED_MOST * 16];
    cut cuts[MERGED_MOST];
    const int64_t size = value_bytes(&r->plan);
    int64_t n = 0, index[MERGED_MOST];
    for (int i = 0; i < r->merging; i++) {
        const bf_order_run *x = &r->all[r->first + i];
        if (x->next == x->end) continue;
        cuts[n] = (cut){i, x->held.values + (x->held.n - 1) * size};
        memcpy(lasts + n * size, cuts[n].value, (size_t)size);
        n++;
    }
    *c = (cut){.of = -1};
    if (n == 0) return BF_OK;
    const bf_order_lines line = {
        .dtype = r->plan.dtype, .values = lasts, .count = 1, .length = n, .order = r->plan.order};
    const bf_status status = bf_backend_cpu.order->sort(r->plan.context, &line, NULL, index);
    if (status == BF_OK) *c = cuts[index[0]];
    return status;
}

/* Takes what run number i holds before the cut: of its equals, those of earlier runs, or, if keys
 * are different, all. Sets *some to whether there were any. */
static bf_status take_from(bf_order_runs *r, int i, const cut *c, bool *some) {
    const bf_order_plan *plan = &r->plan;
    bf_order_part *p = &r->all[r->first + i].held;
    int64_t n = p->n;
    bf_status status = BF_OK;
    if (c->of >= 0 && c->of != i && n > 0)
        status = bf_backend_cpu.order->search(plan->context, plan->dtype, plan->order, p->values, n,
                                              c->value, 1, plan->different || i < c->of, &n);
    if (status != BF_OK) return status;
    append_part(plan, &r->taken, p, n);
    pass_elements(plan, p, n);
    *some = n > 0;
    return BF_OK;
}

bf_status bf_order_runs_next(bf_order_runs *r, bf_order_part *part) {
    cut c;
    int sources = 0;
    bf_status status = BF_OK;
    r->taken.n = 0;
    for (int i = 0; i < r->merging && status == BF_OK; i++) status = fill_run(r, i);
    if (status == BF_OK) status = find_cut(r, &c);
    for (int i = 0; i < r->merging && status == BF_OK; i++) {
        bool some = false;
        status = take_from(r, i, &c, &some);
        sources += some;
    }
    if (status == BF_OK && sources > 1) status = bf_order_sort_part(&r->plan, &r->taken);
    *part = r->taken;
    return status;
}

/* Appends n runs to others as one. */
static bf_status merge_runs(bf_order_runs *r, int first, int n, int64_t bytes, bf_order_runs *to) {
    bf_order_part part = {.n = 1};
    bf_status status = open_merge(r, first, n, bytes);
    if (status == BF_OK) status = bf_order_runs_begin(to);
    while (status == BF_OK && part.n > 0) {
        status = bf_order_runs_next(r, &part);
        if (status == BF_OK) status = bf_order_runs_append(to, &part);
    }
    return status;
}

/* Merges each `most` neighbours of the runs to one, in other files. */
static bf_status merge_neighbours(bf_order_runs *r, int most, int64_t bytes) {
    bf_order_runs to;
    bf_status status = BF_OK;
    bf_order_runs_open(&to, &r->plan);
    for (int first = 0; first < r->n && status == BF_OK; first += most)
        status = merge_runs(r, first, r->n - first < most ? r->n - first : most, bytes, &to);
    bf_order_runs_close(status == BF_OK ? r : &to);
    if (status == BF_OK) *r = to;
    return status;
}

/* Different keys have one run in the end, so that their number is known. */
bf_status bf_order_runs_start(bf_order_runs *r, int64_t bytes) {
    if (bytes > MEMORY_MOST) bytes = MEMORY_MOST;
    const int64_t held = bytes / merge_bytes(&r->plan) * bf_order_row_bytes(&r->plan);
    const int64_t room = held / HELD_LEAST;
    const int most = room < 2 ? 2 : room > MERGED_MOST ? MERGED_MOST : (int)room;
    bf_status status = BF_OK;
    while (status == BF_OK && r->n > (r->plan.different ? 1 : most))
        status = merge_neighbours(r, most, bytes);
    return status == BF_OK && r->n > 0 ? open_merge(r, 0, r->n, bytes) : status;
}
