/* The first elements of a line: one pass, in which those that may be among them become candidates;
 * a threshold, from a sample and then from the candidates, holds off the others. Of many, the last
 * one's place is found first. */
#include "cpu/order/select/select.h"
#include "cpu/order/sorting.h"

enum {
    ROOM = 8192,          /* candidates */
    K_MOST = 2048,        /* so many are found by candidates */
    SAMPLE = 4096,        /* so many elements at most set the first threshold */
    SAMPLE_SHARE = 16,    /* one of so many */
    PIECE = 1 << 18,      /* elements that a worker takes at a time */
    PIECE_LEAST = 1 << 17 /* so many are worth a thread */
};

/* The candidates of one worker, by index. */
typedef struct candidates {
    int64_t n;
    uint64_t most; /* place in the order, beyond which none is one */
    bool full;     /* nothing can come before them */
    uint64_t place[ROOM];
    int64_t index[ROOM];
    uint64_t copy[ROOM];
    int64_t copy_index[ROOM];
} candidates;

/* A call. */
typedef struct topping {
    const bf_order_lines *lines;
    int64_t k;
    char *values, *index; /* NULL: not wanted */
    candidates *of;       /* one for each worker */
    int workers;
} topping;

/* A line. */
typedef struct line {
    const topping *top;
    const bf_finder *finder;
    const char *x;
    int64_t n;
    char *values, *index;
    int own; /* the number of the first worker's candidates */
} line;

static uint64_t place_at(const line *l, int64_t i) {
    const bf_order_lines *lines = l->top->lines;
    const int bytes = bf_dtype_bytes(lines->dtype);
    return bf_order_place(lines->dtype, lines->order, bf_load_bits(l->x + i * bytes, bytes));
}

/* The ascending places of elements whose place in the order is at most `most`. */
static bf_bracket bracket_of(const bf_order_lines *lines, uint64_t most) {
    const uint64_t last = bf_place_last(lines->dtype);
    if (most >= last) return (bf_bracket){0, last};
    if (lines->order == BF_ASCENDING) return (bf_bracket){0, most};
    const bool no_nans = lines->order == BF_DESCENDING_NAN_LAST && bf_dtype_is_float(lines->dtype);
    return (bf_bracket){last - most, last - (no_nans ? 1 : 0)};
}

/* ---- the first k of candidates --------------------------------------------------------------- */

static void swap(uint64_t *a, uint64_t *b) {
    const uint64_t x = *a;
    *a = *b;
    *b = x;
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c) {
    const uint64_t least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c > most ? most : c;
}

/* Returns what number `rank` of n would be in order (Hoare 1961); moves them about. */
static uint64_t find_nth(uint64_t *x, int64_t n, int64_t rank) {
    int64_t first = 0, last = n - 1;
    while (first < last) {
        const uint64_t pivot = middle_of(x[first], x[first + (last - first) / 2], x[last]);
        int64_t i = first, j = last;
        while (i <= j) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i <= j) swap(&x[i++], &x[j--]);
        }
        if (rank <= j)
            last = j;
        else if (rank >= i)
            first = i;
        else
            break;
    }
    return x[rank];
}

/* Keeps the first k of more candidates; they stay in order of their indices. */
static void cut_candidates(candidates *c, int64_t k) {
    memcpy(c->copy, c->place, (size_t)c->n * sizeof *c->copy);
    const uint64_t threshold = find_nth(c->copy, c->n, k - 1);
    int64_t equal = k, kept = 0;
    for (int64_t i = 0; i < c->n; i++) equal -= c->place[i] < threshold;
    for (int64_t i = 0; i < c->n; i++) {
        const bool is_equal = c->place[i] == threshold;
        if (c->place[i] > threshold || (is_equal && equal == 0)) continue;
        equal -= is_equal;
        c->place[kept] = c->place[i];
        c->index[kept++] = c->index[i];
    }
    c->n = k;
    c->full = threshold == 0;
    c->most = threshold - 1; /* equal elements that come later are behind */
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void add_hits(const line *l, candidates *c, int64_t first, uint64_t hits) {
    const int64_t k = l->top->k;
    for (; hits != 0 && !c->full; hits &= hits - 1) {
        const int64_t i = first + __builtin_ctzll(hits);
        const uint64_t place = place_at(l, i);
        if (place > c->most) continue;
        c->place[c->n] = place;
        c->index[c->n++] = i;
        if (c->n == ROOM) cut_candidates(c, k);
    }
}

static bf_status seek_piece(void *arg, int worker, int64_t first, int64_t n) {
    const line *l = arg;
    const bf_order_lines *lines = l->top->lines;
    candidates *c = &l->top->of[l->own + worker];
    const int bytes = bf_dtype_bytes(lines->dtype);
    const int64_t end = first + n;
    while (first < end && !c->full) {
        uint64_t hits = 0;
        const bf_bracket bracket = bracket_of(lines, c->most);
        first += (int64_t)l->finder->loops->seek[lines->dtype](
            l->x + first * bytes, (size_t)(end - first), bracket, &hits);
        add_hits(l, c, first, hits);
        first += BF_SEEK;
    }
    return BF_OK;
}

static uint64_t scramble(uint64_t z) {
    z = (z ^ z >> 32) * 0xbf58476d1ce4e5b9u;
    return z ^ z >> 29;
}

/* A place beyond which none of the first k is: that of the last one of a sample's. */
static uint64_t first_threshold(const line *l, candidates *c) {
    const int64_t most = l->n / SAMPLE_SHARE, m = most < SAMPLE ? most : SAMPLE;
    if (l->top->k > m / 4) return ~(uint64_t)0;
    const int64_t stretch = l->n / m;
    for (int64_t i = 0; i < m; i++) {
        const uint64_t z = scramble((uint64_t)(i + 1) * 0xd1342543de82ef95u);
        c->copy[i] = place_at(l, i * stretch + (int64_t)((bf_u128)z * (uint64_t)stretch >> 64));
    }
    return find_nth(c->copy, m, l->top->k - 1);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Sorts candidates by one of their numbers; equal ones stay in their order. */
static void sort_candidates(const line *l, candidates *c, uint64_t *by, uint64_t *with) {
    const bf_sort_loops *loops = l->finder->isa->sort_loops(8, 8);
    if (!loops->sort((char *)by, (char *)with, c->n, 64, (char *)c->copy, (char *)c->copy_index))
        return;
    memcpy(by, c->copy, (size_t)c->n * 8);
    memcpy(with, c->copy_index, (size_t)c->n * 8);
}

/* Adds the candidates of other workers to those of the first, of which then the first k are left.
 */
static void merge_candidates(const line *l, int workers) {
    candidates *to = &l->top->of[l->own];
    const int64_t k = l->top->k;
    if (to->n > k) cut_candidates(to, k);
    for (int w = 1; w < workers; w++) {
        candidates *c = to + w;
        if (c->n > k) cut_candidates(c, k);
        memcpy(to->place + to->n, c->place, (size_t)c->n * 8);
        memcpy(to->index + to->n, c->index, (size_t)c->n * 8);
        to->n += c->n;
        sort_candidates(l, to, (uint64_t *)to->index, to->place);
        if (to->n > k) cut_candidates(to, k);
    }
    sort_candidates(l, to, to->place, (uint64_t *)to->index);
}

static void write_element(const line *l, int64_t number, int64_t i) {
    const bf_dtype dtype = l->top->lines->dtype;
    const int bytes = bf_dtype_bytes(dtype);
    if (l->index != NULL) memcpy(l->index + 8 * number, &i, 8);
    if (l->values == NULL) return;
    const uint64_t element = bf_load_bits(l->x + i * bytes, bytes);
    bf_store_bits(l->values + number * bytes, bytes, bf_quantile_element(dtype, element));
}

static bf_status top_few(const line *l) {
    bf_context *context = l->finder->context;
    const int64_t bytes = l->n * bf_dtype_bytes(l->top->lines->dtype);
    const int worth = context == NULL ? 1 : bf_workers(context, l->n, PIECE_LEAST);
    const int workers = worth < l->top->workers ? worth : l->top->workers;
    candidates *of = &l->top->of[l->own];
    const uint64_t most = first_threshold(l, of);
    for (int w = 0; w < workers; w++) {
        of[w].n = 0;
        of[w].full = false;
        of[w].most = most;
    }
    bf_status status = context == NULL ? seek_piece((void *)l, 0, 0, l->n)
                                       : bf_parallel_watched(context, workers, l->n, PIECE, bytes,
                                                             seek_piece, (void *)l);
    if (status != BF_OK) return status;
    merge_candidates(l, workers);
    for (int64_t i = 0; i < l->top->k; i++) write_element(l, i, of->index[i]);
    return BF_OK;
}

/* ---- many ------------------------------------------------------------------------------------ */

/* Elements before the last of the first k, and equal to it, in a stretch or before it. */
typedef struct tally {
    int64_t before, equal;
} tally;

typedef struct gathering {
    const line *line;
    uint64_t last;  /* the place of number k - 1 */
    int64_t before; /* elements that are before it; of the equal ones the first are taken */
    tally *tallies; /* one for each piece */
    uint64_t *place;
    int64_t *index;
} gathering;

static bf_status tally_piece(void *arg, int worker, int64_t first, int64_t n) {
    const gathering *g = arg;
    tally t = {0, 0};
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        const uint64_t place = place_at(g->line, i);
        t.before += place < g->last;
        t.equal += place == g->last;
    }
    g->tallies[first / PIECE] = t;
    return BF_OK;
}

static bf_status gather_piece(void *arg, int worker, int64_t first, int64_t n) {
    const gathering *g = arg;
    tally t = g->tallies[first / PIECE];
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        const uint64_t place = place_at(g->line, i);
        if (place > g->last) continue;
        const int64_t to = place < g->last ? t.before++ : g->before + t.equal++;
        if (to >= g->line->top->k) continue;
        g->place[to] = place;
        g->index[to] = i;
    }
    return BF_OK;
}

/* Turns the counts of pieces into those before each. */
static void add_up(gathering *g, int64_t pieces) {
    tally sum = {0, 0};
    for (int64_t i = 0; i < pieces; i++) {
        const tally t = g->tallies[i];
        g->tallies[i] = sum;
        sum.before += t.before;
        sum.equal += t.equal;
    }
    g->before = sum.before;
}

static bf_status each_piece(const gathering *g, bf_host_work *work) {
    const line *l = g->line;
    bf_context *context = l->finder->context;
    const int64_t bytes = l->n * bf_dtype_bytes(l->top->lines->dtype);
    if (context == NULL) return work((void *)g, 0, 0, l->n);
    const int workers = bf_workers(context, l->n, PIECE_LEAST);
    return bf_parallel_watched(context, workers, l->n, PIECE, bytes / 4, work, (void *)g);
}

/* Finds the place of number k - 1 in the order. */
static bf_status find_last(const line *l, uint64_t *place) {
    const bf_order_lines *lines = l->top->lines;
    const int64_t position = l->top->k - 1, by = 0;
    const bf_selection nth = {
        .statistic = BF_STATISTIC_NTH, .count = 1, .positions = &position, .to = lines->dtype};
    bf_plan plan;
    bf_status status = BF_E_MEMORY;
    if (bf_plan_create(&plan, &nth, lines->dtype, lines->order, &by))
        status = bf_find_in_line(l->finder, lines->dtype, l->x, l->n, &plan);
    if (status == BF_OK) {
        uint64_t element = ~(uint64_t)0; /* a NaN */
        if (plan.between[0].below >= 0)
            element = bf_order_element(lines->dtype, BF_ASCENDING, plan.place[plan.at[0]]);
        *place = bf_order_place(lines->dtype, lines->order, element & bf_place_last(lines->dtype));
    }
    bf_plan_destroy(&plan);
    return status;
}

/* Sorts what was gathered; sorted: room for as much. */
static bf_status sort_gathered(const gathering *g, int64_t k, char *sorted) {
    const bf_finder *f = g->line->finder;
    if (f->context != NULL)
        return bf_sort_ranks(f->context, 8, 8, k, (char *)g->place, (char *)g->index);
    if (f->isa->sort_loops(8, 8)->sort((char *)g->place, (char *)g->index, k, 64, sorted,
                                       sorted + 8 * k))
        memcpy(g->index, sorted + 8 * k, (size_t)k * 8);
    return BF_OK;
}

static bf_status gather_many(gathering *g, char *sorted) {
    const line *l = g->line;
    bf_status status = find_last(l, &g->last);
    if (status == BF_OK) status = each_piece(g, tally_piece);
    if (status != BF_OK) return status;
    add_up(g, (l->n - 1) / PIECE + 1);
    status = each_piece(g, gather_piece);
    if (status == BF_OK) status = sort_gathered(g, l->top->k, sorted);
    for (int64_t i = 0; status == BF_OK && i < l->top->k; i++) write_element(l, i, g->index[i]);
    return status;
}

static bf_status top_many(const line *l) {
    const size_t k = (size_t)l->top->k;
    gathering g = {.line = l};
    g.tallies = bf_calloc((size_t)((l->n - 1) / PIECE + 1), sizeof *g.tallies);
    g.place = bf_alloc(k * 32);
    bf_status status = BF_E_MEMORY;
    if (g.tallies != NULL && g.place != NULL) {
        g.index = (int64_t *)(g.place + k);
        status = gather_many(&g, (char *)(g.index + k));
    }
    bf_free(g.tallies);
    bf_free(g.place);
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bf_status top_line(void *arg, const bf_finder *finder, int worker, int64_t number) {
    const topping *t = arg;
    const bf_order_lines *lines = t->lines;
    const int bytes = bf_dtype_bytes(lines->dtype);
    const line l = {.top = t,
                    .finder = finder,
                    .x = (const char *)lines->values + bf_line_begin(lines, number) * bytes,
                    .n = bf_line_length(lines, number),
                    .values = t->values != NULL ? t->values + number * t->k * bytes : NULL,
                    .index = t->index != NULL ? t->index + number * t->k * 8 : NULL,
                    .own = worker};
    return t->k <= K_MOST || l.n < ROOM ? top_few(&l) : top_many(&l);
}

bf_status bf_cpu_top(bf_context *context, const bf_order_lines *lines, int64_t k, void *values,
                     void *index) {
    bf_finder finder;
    topping t = {.lines = lines, .k = k, .values = values, .index = index};
    if (lines->dtype == BF_PAIR) return bf_order_top_pairs(context, lines, k, values, index);
    if (!bf_finder_open(&finder, context)) return BF_E_MEMORY;
    t.workers = bf_workers_within(bf_line_workers(context, lines), sizeof *t.of);
    t.of = bf_alloc((size_t)t.workers * sizeof *t.of);
    bf_environment environment = bf_environment_enter();
    bf_status status =
        t.of != NULL ? bf_each_line(&finder, lines, t.workers, top_line, &t) : BF_E_MEMORY;
    bf_environment_leave(environment);
    bf_free(t.of);
    if (status == BF_E_MEMORY) bf_fail(context, status, "no memory for the first elements");
    return status;
}
