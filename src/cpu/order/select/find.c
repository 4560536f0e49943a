/* The places of ranks in long data, after Floyd and Rivest (1975): a sample brackets each rank; one
 * pass counts what is below a bracket and keeps what lies within; the same again in what was kept.
 * The counts prove the brackets. A rank that is in none, or a bracket that keeps too much, costs a
 * second try with another sample; then the ranks are found by counts of digits.
 *
 * A value that a sample holds often is counted instead of kept, so equal elements cost nothing. */
#include "cpu/order/select/select.h"

#include <stdatomic.h>
#include <stddef.h>

enum {
    GROUP = 32,                  /* ranks that one pass finds */
    HEAVY = 16,                  /* times that a sample holds a value that is counted */
    VALUES_MOST = 4 * GROUP,     /* the most heavy values that are counted */
    CUTS_MOST = 2 * VALUES_MOST, /* two cuts each */
    BRACKETS_MOST = VALUES_MOST + GROUP,
    SHARE_LEAST = 512, /* sampled elements, for one rank, so that an eighth is kept */
    SAMPLE_MOST = 1 << 18,
    PIECE = 1 << 18,                /* elements that a worker takes at a time */
    PIECE_LEAST = 1 << 16,          /* so many are worth a thread */
    ROOM_LEAST = 8 * BF_KEEP_BLOCK, /* bytes of what a worker keeps, of a few brackets */
    SPARE = 1 << 16,                /* elements that may always be kept */
    TRIES = 2,
    DEPTH = 8
};

/* What one worker has counted and kept. */
typedef struct part {
    int64_t from[BRACKETS_MOST]; /* places that are lo of a bracket or more */
    int64_t cut_from[CUTS_MOST];
    int64_t nans, total;
    char *rooms;                                      /* memory for all brackets */
    char *own[BRACKETS_MOST];                         /* memory of its own for a bracket that needs
                                                         more */
    char *kept[BRACKETS_MOST];                        /* in one of them */
    int64_t size[BRACKETS_MOST], room[BRACKETS_MOST]; /* in elements */
    char block[BF_KEEP_BLOCK + BF_KEEP_SLACK];
} part;

/* One try. */
typedef struct search {
    const bf_finder *finder;
    bf_wanted *wanted;
    int depth, try_number, bytes; /* the size of a place */
    int brackets, values;
    bf_bracket bracket[BRACKETS_MOST];
    int64_t expected[BRACKETS_MOST]; /* sampled elements in it */
    uint64_t value[VALUES_MOST], cut[CUTS_MOST];
    int64_t most; /* the most that a part may keep */
    _Atomic bool misfit;
    int parts;
    part *part;
    /* The sample, sorted, without NaNs. */
    uint64_t *sample, *spare;
    int64_t sampled;
    int in[GROUP]; /* the bracket of each rank; -1: of none */
} search;

static bf_status find_from(const bf_finder *finder, bf_wanted *wanted, int depth);

/* ---- the sample ------------------------------------------------------------------------------ */

/* The cube root of n, rounded down. */
static int64_t cube_root(int64_t n) {
    int64_t root = 0;
    for (int64_t bit = (int64_t)1 << 20; bit > 0; bit >>= 1) {
        const int64_t r = root + bit;
        if ((bf_u128)r * (uint64_t)r * (uint64_t)r <= (bf_u128)n) root = r;
    }
    return root;
}

/* Quantiles are mostly between two ranks. */
static int64_t spots_of(int ranks) { return (ranks + 1) / 2; }

/* Fewer would keep too much. */
static int64_t sample_least(int ranks) { return SHARE_LEAST * spots_of(ranks) * spots_of(ranks); }

/* As many as make the pass and what it keeps cheapest. */
static int64_t sample_size(const search *s) {
    const int64_t n = s->wanted->n, least = sample_least(s->wanted->ranks);
    const int64_t root = cube_root(n * spots_of(s->wanted->ranks));
    int64_t m = root * root / 8 * (s->try_number > 0 || s->depth > 0 ? 4 : 1);
    if (m < least) m = least;
    if (m > SAMPLE_MOST) m = SAMPLE_MOST;
    return m < n / 2 ? m : n / 2;
}

static uint64_t scramble(uint64_t z) {
    z = (z ^ z >> 32) * 0xbf58476d1ce4e5b9u;
    return (z ^ z >> 29) * 0x94d049bb133111ebu;
}

/* The second try's places depend on where the process has its memory: nobody can write data that
 * hide from them. */
static uint64_t seed_of(const search *s) {
    const uint64_t fixed = 0x632be59bd9b4e019u;
    return s->try_number == 0 ? fixed : scramble((uint64_t)(uintptr_t)s->part ^ fixed);
}

/* One element of each of `sampled` stretches, which differ by an element at most. */
static void take_sample(search *s) {
    const bf_wanted *w = s->wanted;
    const int bytes = bf_dtype_bytes(w->dtype);
    const int64_t m = s->sampled, length = w->n / m, longer = w->n % m;
    uint64_t z = seed_of(s);
    int64_t begin = 0;
    for (int64_t i = 0; i < m; i++) {
        const int64_t stretch = length + (i < longer);
        z += 0xd1342543de82ef95u;
        const int64_t at = begin + (int64_t)((bf_u128)scramble(z) * (uint64_t)stretch >> 64);
        s->sample[i] =
            bf_order_place(w->dtype, BF_ASCENDING, bf_load_bits(w->x + at * bytes, bytes));
        begin += stretch;
    }
}

static void sort_sample(search *s) {
    const bf_sort_loops *loops = s->finder->isa->sort_loops(8, 0);
    if (loops->sort((char *)s->sample, NULL, s->sampled, 8 * s->bytes, (char *)s->spare, NULL))
        memcpy(s->sample, s->spare, (size_t)s->sampled * 8);
    if (!bf_dtype_is_float(s->wanted->dtype)) return;
    const uint64_t nan = bf_place_last(s->wanted->dtype);
    while (s->sampled > 0 && s->sample[s->sampled - 1] == nan) s->sampled--;
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* The greatest place of a number. */
static uint64_t greatest(const search *s) {
    const bf_dtype dtype = s->wanted->dtype;
    return bf_place_last(dtype) - (bf_dtype_is_float(dtype) ? 1 : 0);
}

/* Ranks come in order, so brackets do, too, but for those that overlap. */
static void add_bracket(search *s, uint64_t lo, uint64_t hi, int64_t expected) {
    bf_bracket *last = s->brackets > 0 ? &s->bracket[s->brackets - 1] : NULL;
    if (last != NULL && lo <= last->hi) {
        if (hi > last->hi) last->hi = hi;
        return;
    }
    if (s->brackets == BRACKETS_MOST) return; /* a rank there is a miss */
    s->expected[s->brackets] = expected;
    s->bracket[s->brackets++] = (bf_bracket){lo, hi};
}

static void add_value(search *s, uint64_t value) {
    if (s->values > 0 && s->value[s->values - 1] >= value) return;
    if (s->values < VALUES_MOST) s->value[s->values++] = value;
}

/* The first sampled place from `at` on, but at most HEAVY further, that differs from it. */
static int64_t end_of_run(const search *s, int64_t at, int64_t most) {
    int64_t end = at + 1;
    while (end < s->sampled && end < most && s->sample[end] == s->sample[at]) end++;
    return end;
}

/* Brackets from lo to hi, without the values that are heavy among sampled [first, last]. */
static void add_range(search *s, uint64_t lo, uint64_t hi, int64_t first, int64_t last) {
    int64_t begin = first;
    for (int64_t at = first, end; at <= last; at = end) {
        const uint64_t value = s->sample[at];
        const bool before = at >= HEAVY - 1 && s->sample[at - HEAVY + 1] == value;
        end = end_of_run(s, at, last + HEAVY);
        if (!before && end - at < HEAVY) continue;
        add_value(s, value);
        if (value > lo) add_bracket(s, lo, value - 1, at - begin);
        if (value >= hi) return;
        lo = value + 1;
        begin = end;
    }
    add_bracket(s, lo, hi, last + 1 - begin);
}

/* Four standard deviations on either side of where a rank should be in the sample, and some more,
 * which matters at the ends. */
static void add_rank(search *s, double rank, double n) {
    const double m = (double)s->sampled, f = rank / n, at = f * m;
    const double margin = 4 * __builtin_sqrt(m * f * (1 - f)) + 8;
    const bool least = at < margin, most = at + margin >= m;
    const int64_t first = least ? 0 : (int64_t)(at - margin);
    const int64_t last = most ? s->sampled - 1 : (int64_t)(at + margin);
    add_range(s, least ? 0 : s->sample[first], most ? greatest(s) : s->sample[last], first, last);
}

static void place_brackets(search *s) {
    const bf_wanted *w = s->wanted;
    s->brackets = 0;
    s->values = 0;
    for (int i = 0; i < w->ranks && s->sampled > 0; i++)
        add_rank(s, (double)w->rank[i], (double)(w->n - w->nans));
    for (int i = 0; i < s->values; i++) {
        s->cut[2 * i] = s->value[i];
        s->cut[2 * i + 1] = s->value[i] < bf_place_last(w->dtype) ? s->value[i] + 1 : s->value[i];
    }
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Elements that a worker keeps of bracket j, by the sample, with some to spare. */
static int64_t room_of(const search *s, int j) {
    const double share = (double)s->expected[j] / (double)(s->sampled * s->parts);
    return BF_KEEP_BLOCK / s->bytes + (int64_t)(1.125 * share * (double)s->wanted->n);
}

/* Makes room for all brackets, in one piece: large pages are faster. */
static bool begin_rooms(const search *s, part *p) {
    int64_t bytes = 0;
    for (int j = 0; j < s->brackets; j++) bytes += room_of(s, j) * s->bytes + BF_KEEP_SLACK;
    p->rooms = bf_zeros((size_t)bytes);
    char *room = p->rooms;
    for (int j = 0; room != NULL && j < s->brackets; j++) {
        p->kept[j] = room;
        p->room[j] = room_of(s, j);
        room += p->room[j] * s->bytes + BF_KEEP_SLACK;
    }
    return room != NULL;
}

static bool make_room(const search *s, part *p, int j, int64_t more) {
    const int64_t wanted = p->size[j] + more;
    if (p->rooms == NULL && !begin_rooms(s, p)) return false;
    if (wanted <= p->room[j]) return true;
    const int64_t room = 2 * wanted;
    char *kept = bf_alloc((size_t)(room * s->bytes) + BF_KEEP_SLACK);
    if (kept == NULL) return false;
    memcpy(kept, p->kept[j], (size_t)(p->size[j] * s->bytes));
    bf_free(p->own[j]);
    p->own[j] = p->kept[j] = kept;
    p->room[j] = room;
    return true;
}

/* Keeps the places of a block that lie within bracket j. */
static bool keep_one(const search *s, part *p, bf_dtype dtype, const char *x, int64_t n, int j) {
    int64_t from[2] = {0};
    if (!make_room(s, p, j, n)) return false;
    char *to = p->kept[j] + p->size[j] * s->bytes;
    const int64_t kept =
        (int64_t)s->finder->loops->keep[dtype](x, (size_t)n, &s->bracket[j], 1, from, to);
    p->size[j] += kept;
    p->total += kept;
    return true;
}

/* Keeps the elements of q brackets from j on: first those of all, then each bracket's own, from the
 * cache. */
static bool keep_block(const search *s, part *p, const char *x, int64_t n, int j, int q) {
    const bf_dtype dtype = s->wanted->dtype;
    int64_t from[BF_BRACKETS + 1] = {0};
    const bool alone = q == 1;
    if (alone && !make_room(s, p, j, n)) return false;
    char *to = alone ? p->kept[j] + p->size[j] * s->bytes : p->block;
    const int64_t kept =
        (int64_t)s->finder->loops->keep[dtype](x, (size_t)n, &s->bracket[j], q, from, to);
    for (int i = 0; i < q; i++) p->from[j + i] += from[i];
    if (j == 0) p->nans += from[q];
    if (alone) {
        p->size[j] += kept;
        p->total += kept;
    }
    for (int i = 0; !alone && i < q; i++)
        if (!keep_one(s, p, bf_place_dtype(dtype), p->block, kept, j + i)) return false;
    return true;
}

static bool read_block(const search *s, part *p, const char *x, int64_t n) {
    int j = 0;
    do { /* without brackets, NaNs are counted all the same */
        const int q = s->brackets - j < BF_BRACKETS ? s->brackets - j : BF_BRACKETS;
        if (!keep_block(s, p, x, n, j, q)) return false;
        j += q;
    } while (j < s->brackets);
    if (s->values > 0)
        s->finder->loops->count[s->wanted->dtype](x, (size_t)n, s->cut, 2 * s->values, p->cut_from);
    return true;
}

static bf_status read_piece(void *arg, int worker, int64_t first, int64_t n) {
    search *s = arg;
    part *p = &s->part[worker];
    const int bytes = bf_dtype_bytes(s->wanted->dtype);
    const char *x = s->wanted->x + first * bytes;
    for (int64_t m; n > 0 && !s->misfit; n -= m, x += m * bytes) {
        m = n < BF_KEEP_BLOCK / bytes ? n : BF_KEEP_BLOCK / bytes;
        if (!read_block(s, p, x, m)) return BF_E_MEMORY;
        if (p->total > s->most) s->misfit = true;
    }
    return BF_OK;
}

static bf_status read_all(search *s) {
    const bf_finder *f = s->finder;
    const bf_wanted *w = s->wanted;
    if (f->context == NULL) return read_piece(s, 0, 0, w->n);
    return bf_parallel_watched(f->context, s->parts, w->n, PIECE, w->n * bf_dtype_bytes(w->dtype),
                               read_piece, s);
}

/* ---- what was kept --------------------------------------------------------------------------- */

/* Adds what all workers have to that of the first. */
static bool merge_parts(search *s) {
    part *to = &s->part[0];
    for (int i = 1; i < s->parts; i++) {
        const part *p = &s->part[i];
        to->nans += p->nans;
        for (int v = 0; v < 2 * s->values; v++) to->cut_from[v] += p->cut_from[v];
        for (int j = 0; j < s->brackets; j++) {
            to->from[j] += p->from[j];
            if (p->size[j] == 0) continue;
            if (!make_room(s, to, j, p->size[j])) return false;
            memcpy(to->kept[j] + to->size[j] * s->bytes, p->kept[j],
                   (size_t)(p->size[j] * s->bytes));
            to->size[j] += p->size[j];
        }
    }
    return true;
}

/* Finds a rank among the counted values. */
static bool find_value(const search *s, int64_t rank, uint64_t *place) {
    const part *p = &s->part[0];
    const int64_t n = s->wanted->n;
    for (int i = 0; i < s->values; i++) {
        const uint64_t value = s->value[i];
        const int64_t below = n - p->cut_from[2 * i];
        const int64_t above = s->cut[2 * i + 1] > value ? p->cut_from[2 * i + 1] : 0;
        if (rank < below || rank >= n - above) continue;
        *place = value;
        return true;
    }
    return false;
}

static int find_bracket(const search *s, int64_t rank) {
    const part *p = &s->part[0];
    for (int j = 0; j < s->brackets; j++)
        if (rank >= s->wanted->n - p->from[j] && rank < s->wanted->n - p->from[j] + p->size[j])
            return j;
    return -1;
}

/* Sets the places of counted values, and the bracket of each other rank. Returns whether all ranks
 * are there. */
static bool locate_ranks(search *s) {
    const bf_wanted *w = s->wanted;
    for (int i = 0; i < w->ranks; i++) {
        s->in[i] = -1;
        if (find_value(s, w->rank[i], &w->place[i])) continue;
        s->in[i] = find_bracket(s, w->rank[i]);
        if (s->in[i] < 0) return false;
    }
    return true;
}

/* Finds the ranks in bracket j, within what was kept. */
static bf_status find_kept(const search *s, int worker, int j) {
    const bf_wanted *w = s->wanted;
    const part *p = &s->part[0];
    const bf_finder *outer = s->finder;
    bf_finder finder = outer->context == NULL ? *outer : bf_finder_of_worker(outer, worker);
    int64_t rank[GROUP];
    uint64_t place[GROUP];
    bf_wanted inner = {.dtype = bf_place_dtype(w->dtype),
                       .x = p->kept[j],
                       .n = p->size[j],
                       .rank = rank,
                       .place = place};
    for (int i = 0; i < w->ranks; i++)
        if (s->in[i] == j) rank[inner.ranks++] = w->rank[i] - (w->n - p->from[j]);
    if (inner.ranks == 0) return BF_OK;
    bf_status status = find_from(&finder, &inner, s->depth + 1);
    for (int i = 0, k = 0; i < w->ranks; i++)
        if (s->in[i] == j) w->place[i] = place[k++];
    return status;
}

static bf_status find_pieces(void *arg, int worker, int64_t first, int64_t n) {
    bf_status status = BF_OK;
    for (int64_t j = first; status == BF_OK && j < first + n; j++)
        status = find_kept(arg, worker, (int)j);
    return status;
}

static bf_status find_all_kept(search *s) {
    const bf_finder *f = s->finder;
    if (f->context == NULL) return find_pieces(s, 0, 0, s->brackets);
    return bf_parallel(f->context, s->parts, s->brackets, 1, find_pieces, s);
}

/* ---- tries ----------------------------------------------------------------------------------- */

static void forget_kept(search *s) {
    for (int i = 0; i < s->parts; i++) {
        part *p = &s->part[i];
        for (int j = 0; j < BRACKETS_MOST; j++) bf_free(p->own[j]);
        bf_free(p->rooms);
        memset(p, 0, offsetof(part, block));
    }
}

void bf_wanted_settle(bf_wanted *wanted, int64_t nans) {
    if (wanted->plan == NULL || wanted->nans == nans) return;
    wanted->nans = nans;
    bf_plan_make(wanted->plan, wanted->n, nans);
    wanted->ranks = wanted->plan->ranks < GROUP ? wanted->plan->ranks : GROUP;
}

static bf_status try_search(search *s, bool *found) {
    *found = false;
    s->misfit = false;
    s->sampled = sample_size(s);
    s->sample = bf_alloc((size_t)s->sampled * 16);
    if (s->sample == NULL) return BF_E_MEMORY;
    s->spare = s->sample + s->sampled;
    take_sample(s);
    sort_sample(s);
    place_brackets(s);
    bf_free(s->sample);
    bf_status status = read_all(s);
    if (status != BF_OK || s->misfit) return status;
    if (!merge_parts(s)) return BF_E_MEMORY;
    bf_wanted_settle(s->wanted, s->part[0].nans);
    *found = locate_ranks(s);
    return *found ? find_all_kept(s) : BF_OK;
}

static bf_status search_places(search *s) {
    bf_status status = BF_OK;
    bool found = false;
    for (s->try_number = 0; status == BF_OK && !found && s->try_number < TRIES; s->try_number++) {
        status = try_search(s, &found);
        forget_kept(s);
    }
    if (status != BF_OK || found) return status;
    return bf_find_by_counts(s->finder, s->wanted);
}

static bf_status find_in_many(const bf_finder *finder, bf_wanted *wanted, int depth) {
    const int most =
        finder->context == NULL ? 1 : bf_workers(finder->context, wanted->n, PIECE_LEAST);
    const int workers = bf_workers_within(most, sizeof(part) + ROOM_LEAST);
    search *s = bf_calloc(1, sizeof *s);
    part *parts = bf_calloc((size_t)workers, sizeof *parts);
    bf_status status = BF_E_MEMORY;
    if (s != NULL && parts != NULL) {
        s->finder = finder;
        s->wanted = wanted;
        s->depth = depth;
        s->bytes = bf_place_bytes(wanted->dtype);
        s->most = wanted->n / 4 + SPARE;
        s->parts = workers;
        s->part = parts;
        status = search_places(s);
    }
    bf_free(parts);
    bf_free(s);
    return status;
}

int64_t bf_count_nans(bf_dtype dtype, const char *sorted, int64_t n) {
    const uint64_t nan = bf_place_last(dtype);
    const int bytes = bf_place_bytes(dtype);
    int64_t nans = 0;
    if (!bf_dtype_is_float(dtype)) return 0;
    while (nans < n && bf_place_at(sorted, bytes, n - 1 - nans) == nan) nans++;
    return nans;
}

const char *bf_sort_places(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n,
                           char *const room[2]) {
    const int bytes = bf_place_bytes(dtype);
    const bf_sort_loops *loops = finder->isa->sort_loops(bytes, 0);
    finder->loops->places[dtype](x, (size_t)n, room[0]);
    return room[loops->sort(room[0], NULL, n, 8 * bytes, room[1], NULL)];
}

static void find_by_sort(const bf_finder *f, bf_wanted *w, char *const room[2]) {
    const int bytes = bf_place_bytes(w->dtype);
    const char *sorted = bf_sort_places(f, w->dtype, w->x, w->n, room);
    if (w->plan != NULL) bf_wanted_settle(w, bf_count_nans(w->dtype, sorted, w->n));
    for (int i = 0; i < w->ranks; i++) w->place[i] = bf_place_at(sorted, bytes, w->rank[i]);
}

static bf_status find_in_some(const bf_finder *f, bf_wanted *w) {
    const size_t bytes = (size_t)w->n * (size_t)bf_place_bytes(w->dtype);
    char *memory = bf_alloc(2 * bytes);
    if (memory == NULL) return BF_E_MEMORY;
    char *const room[2] = {memory, memory + bytes};
    find_by_sort(f, w, room);
    bf_free(memory);
    return BF_OK;
}

/* Where there is no memory for what is kept, or elements are too narrow for it, digits are counted.
 */
static bf_status find_from(const bf_finder *finder, bf_wanted *wanted, int depth) {
    if (wanted->ranks == 0) return BF_OK;
    if (wanted->n <= BF_FIND_FEW) {
        find_by_sort(finder, wanted, finder->few);
        return BF_OK;
    }
    const bool some = wanted->n <= 2 * sample_least(wanted->ranks);
    bf_status status = BF_E_MEMORY;
    if (depth < DEPTH && bf_dtype_bytes(wanted->dtype) >= 4)
        status = some ? find_in_some(finder, wanted) : find_in_many(finder, wanted, depth);
    return status == BF_E_MEMORY ? bf_find_by_counts(finder, wanted) : status;
}

bf_status bf_find(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n,
                  bf_plan *plan) {
    bf_status status = BF_OK;
    bf_plan_make(plan, n, 0);
    for (int first = 0; status == BF_OK && first < plan->ranks; first += GROUP) {
        const int left = plan->ranks - first;
        bf_wanted wanted = {.dtype = dtype,
                            .x = x,
                            .n = n,
                            .nans = plan->nans,
                            .ranks = left < GROUP ? left : GROUP,
                            .rank = plan->rank + first,
                            .place = plan->place + first,
                            .plan = plan};
        status = find_from(finder, &wanted, 0);
    }
    return status;
}
