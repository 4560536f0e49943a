/* Many states as their words. All that can fail comes first, so that states are changed in place.
 */
#include "cpu/axis/kept.h"

#include "cpu/axis/places.h"
#include "cpu/axis/sorted.h"
#include "rules/reduce/result.h"

enum {
    BYTES_LEAST = 1 << 20,  /* so many are worth a thread */
    PIECE_BYTES = 1 << 18,  /* a worker takes so many at a time */
    LINE_BYTES = 64,        /* what a line costs beside its elements */
    STATES_LEAST = 1 << 12, /* so many are worth a thread */
    STATES_PIECE = 1 << 10
};

static int64_t *words_at(const bf_kept *k, size_t i) { return k->words + i * k->stride; }

static bool is_tree(const bf_kept *k) { return k->kind == BF_KIND_PRODUCT_TREE; }

/* ---- making ---------------------------------------------------------------------------------- */

static void empty_states(bf_kept *k) {
    int64_t words[BF_LINE_WORDS];
    bf_state_init(k->kind, k->dtype, words);
    for (size_t i = 0; i < k->count; i++) memcpy(words_at(k, i), words, k->stride * sizeof *words);
}

bool bf_kept_open(bf_kept *k, bf_reduction op, bf_dtype dtype, int64_t count) {
    *k = (bf_kept){.op = op, .dtype = dtype, .kind = bf_kind_of(op, dtype)};
    k->count = (size_t)count;
    k->stride =
        is_tree(k) ? BF_PRODUCT_TREE_NODES_AT : (size_t)bf_state_words(k->kind, dtype, NULL);
    k->words = bf_alloc(k->count * k->stride * sizeof *k->words + 1);
    if (k->words != NULL) empty_states(k);
    return k->words != NULL;
}

void bf_kept_close(bf_kept *k) { bf_free(k->words); }

void bf_kept_reset(bf_kept *k) { empty_states(k); }

/* Makes room for trees over indices up to `end`, of which some begin behind 0. */
static bool widen(bf_kept *k, bool behind, int64_t end) {
    const size_t stride = (size_t)bf_product_tree_use(behind, end);
    if (!is_tree(k) || stride <= k->stride) return true;
    bf_kept wide = *k;
    wide.stride = stride;
    wide.words = bf_calloc(k->count * stride + 1, sizeof *wide.words);
    if (wide.words == NULL) return false;
    for (size_t i = 0; i < k->count; i++)
        memcpy(words_at(&wide, i), words_at(k, i), k->stride * sizeof *k->words);
    bf_free(k->words);
    *k = wide;
    return true;
}

static bf_status refuse_memory(bf_context *context) {
    return bf_fail(context, BF_E_MEMORY, "no memory for states");
}

static bf_status refuse_index(bf_context *context) {
    return bf_fail(context, BF_E_OVERFLOW, "an index beyond 2^62");
}

void bf_kept_words(const bf_kept *k, size_t i, int64_t *words) {
    bf_state_init(k->kind, k->dtype, words);
    memcpy(words, words_at(k, i), k->stride * sizeof *words);
}

static void set_words(bf_kept *k, size_t i, const int64_t *words) {
    memcpy(words_at(k, i), words, k->stride * sizeof *words);
}

/* ---- indices --------------------------------------------------------------------------------- */

/* The index of a state's first element, and behind it that of its next one. */
static int64_t *range_of(const bf_kept *k, size_t i) {
    if (is_tree(k)) return words_at(k, i) + BF_PRODUCT_TREE_BEGIN;
    return words_at(k, i) + bf_extreme_at(k->kind, k->dtype) + BF_EXTREME_BEGIN;
}

static int extremes_of(const bf_kept *k) {
    return !bf_is_indexed(k->op) ? 0 : k->kind == BF_KIND_DESCRIPTION ? 2 : 1;
}

static int64_t *extreme_of(const bf_kept *k, int64_t *words, int e) {
    return words + bf_extreme_at(k->kind, k->dtype) + e * BF_EXTREME_WORDS;
}

/* Merges extremes. A range may hold indices of no element: rows that went to other slots. */
static void merge_extreme(const bf_kept *k, int64_t *into, const int64_t *from) {
    int64_t begin = from[BF_EXTREME_BEGIN], end = from[BF_EXTREME_END];
    if (begin == end) return;
    if (into[BF_EXTREME_BEGIN] < into[BF_EXTREME_END]) {
        if (into[BF_EXTREME_BEGIN] < begin) begin = into[BF_EXTREME_BEGIN];
        if (into[BF_EXTREME_END] > end) end = into[BF_EXTREME_END];
    }
    bf_extreme_merge(k->dtype, into, from);
    into[BF_EXTREME_BEGIN] = begin;
    into[BF_EXTREME_END] = end;
}

/* Merges words of any kind but a tree, whose ranges suit. */
static void merge_words(const bf_kept *k, int64_t *into, const int64_t *from) {
    if (extremes_of(k) != 1) {
        const bf_kind kind = extremes_of(k) == 2 ? BF_KIND_MOMENTS : k->kind;
        bf_state_merge_plain(kind, k->dtype, into, from);
    }
    for (int e = 0; e < extremes_of(k); e++) {
        const int at = bf_extreme_at(k->kind, k->dtype) + e * BF_EXTREME_WORDS;
        merge_extreme(k, into + at, from + at);
    }
}

static void shift_words(const bf_kept *k, int64_t *words, int64_t by) {
    for (int e = 0; e < extremes_of(k); e++) bf_extreme_shift(extreme_of(k, words, e), by);
}

/* The array may be misaligned. */
static int64_t index_at(const int64_t *next, size_t i) {
    return (int64_t)bf_load_bits((const char *)next + 8 * i, 8);
}

bf_status bf_kept_seek(bf_context *context, bf_kept *k, const int64_t *next) {
    for (size_t i = 0; i < k->count; i++) {
        const int64_t now = range_of(k, i)[1], to = index_at(next, i);
        bool fits = to >= now && to <= BF_COUNT_MAX;
        if (is_tree(k) && to != now) fits = fits && words_at(k, i)[0] == 0 && to % BF_LEAF == 0;
        if (!fits)
            return bf_fail(context, BF_E_ARGUMENT, "index %lld of state %lld is out of range",
                           (long long)to, (long long)i);
    }
    for (size_t i = 0; i < k->count; i++) {
        int64_t *range = range_of(k, i);
        const int ranges = is_tree(k) ? 1 : extremes_of(k);
        for (int e = 0; e < ranges; e++, range += BF_EXTREME_WORDS) {
            if (range[0] == range[1]) range[0] = index_at(next, i);
            range[1] = index_at(next, i);
        }
    }
    return BF_OK;
}

/* ---- absorbing ------------------------------------------------------------------------------- */

typedef struct absorption {
    bf_axis_job job;
    bf_kept *kept;
    size_t first;
    const bf_rows *rows;
    bf_sorted_rows sorted; /* by index */
    int64_t groups;        /* how many groups of lines are in a row */
} absorption;

/* Where the rows of a slot begin: by index, in their order. */
static int64_t begin_of(const absorption *x, int64_t slot) {
    switch (x->rows->by) {
    case BF_ROWS_BY_INDEX: return x->sorted.begin[slot];
    case BF_ROWS_BY_LENGTH: return slot * x->rows->length;
    default: return bf_place_at(x->rows, slot);
    }
}

static bf_lines lines_of(const absorption *x, int64_t slot, int64_t first) {
    if (x->rows->by == BF_ROWS_BY_INDEX)
        return bf_sorted_rows_lines(&x->sorted, x->job.operands, slot, first);
    const int64_t begin = begin_of(x, slot);
    bf_lines lines = bf_lines_of_rows(x->job.operands, x->rows->width, begin, first);
    lines.length = lines.shape[0] = begin_of(x, slot + 1) - begin;
    return lines;
}

/* The range of all rows becomes that of a chunk by index. */
static void number_rows(const absorption *x, const bf_lines *lines, int64_t *words) {
    for (int e = 0; e < extremes_of(x->kept); e++) {
        int64_t *extreme = extreme_of(x->kept, words, e);
        bf_sorted_rows_number(extreme, lines->row);
        extreme[BF_EXTREME_BEGIN] = 0;
        extreme[BF_EXTREME_END] = x->rows->count;
    }
}

/* The words of a line, but of a tree, enter a state. */
static void keep_words(bf_axis_job *job, int64_t *words, int64_t number) {
    absorption *x = (absorption *)job; /* its first member */
    const size_t i = x->first + (size_t)number;
    if (bf_is_indexed(x->kept->op)) shift_words(x->kept, words, range_of(x->kept, i)[1]);
    merge_words(x->kept, words_at(x->kept, i), words);
}

/* Takes lines, which are those of states from `number` on. A tree goes on in the words of its
 * state. */
static void take_lines(absorption *x, bf_taker *t, const bf_lines *lines, int64_t number) {
    bf_kept *k = x->kept;
    const size_t state = x->first + (size_t)number;
    bf_taker_begin(&x->job, t, lines->lines);
    for (int l = 0; l < lines->lines && is_tree(k); l++)
        bf_kept_words(k, state + (size_t)l, bf_taker_words(&x->job, t, l));
    if (lines->length > 0) bf_taker_take(&x->job, t, lines, 0, lines->length);
    for (int l = 0; l < lines->lines; l++) {
        int64_t *words = bf_taker_words(&x->job, t, l);
        if (x->rows->by == BF_ROWS_BY_INDEX) number_rows(x, lines, words);
        if (is_tree(k))
            set_words(k, state + (size_t)l, words);
        else
            keep_words(&x->job, words, number + l);
    }
}

/* Few groups of long lines are shared out by pieces of them. */
static bf_status take_long(absorption *x, int workers, int64_t n) {
    bf_status status = BF_OK;
    for (int64_t i = 0; i < n && status == BF_OK; i++) {
        const int64_t slot = i / x->groups, column = i % x->groups * BF_LINES_MOST;
        const bf_lines lines = lines_of(x, slot, column);
        if (lines.length > 0)
            status = bf_reduce_long(&x->job, workers, &lines, slot * x->rows->width + column, 1);
    }
    return status;
}

static bool are_long(const absorption *x, int workers, int64_t n) {
    const bool plain = !is_tree(x->kept) && x->rows->by != BF_ROWS_BY_INDEX;
    const bf_lines lines = lines_of(x, 0, 0);
    return plain && workers > 1 && n < 2 * workers && bf_lines_are_long(&x->job, &lines);
}

static bf_status take_groups(void *arg, int worker, int64_t first, int64_t n) {
    absorption *x = arg;
    bf_taker *t = bf_taker_of(&x->job, worker);
    for (int64_t i = first; i < first + n; i++) {
        const int64_t slot = i / x->groups, column = i % x->groups * BF_LINES_MOST;
        const bf_lines lines = lines_of(x, slot, column);
        const bool moves = x->rows->by == BF_ROWS_BY_INDEX && bf_is_indexed(x->kept->op);
        if (lines.length == 0 && !moves) continue;
        take_lines(x, t, &lines, slot * x->rows->width + column);
    }
    return BF_OK;
}

/* Checks the indices that elements will have, and makes room for them. */
static bf_status prepare_indices(bf_context *context, absorption *x) {
    bf_kept *k = x->kept;
    const int64_t width = x->rows->width;
    const bool by_row = x->rows->by == BF_ROWS_BY_INDEX && !is_tree(k);
    int64_t most = 0;
    bool behind = false;
    if (!is_tree(k) && extremes_of(k) == 0) return BF_OK;
    for (int64_t s = 0; s < x->rows->slots; s++) {
        const int64_t n = by_row ? x->rows->count : begin_of(x, s + 1) - begin_of(x, s);
        for (int64_t i = s * width; i < (s + 1) * width; i++) {
            const int64_t *range = range_of(k, x->first + (size_t)i);
            if (n > BF_COUNT_MAX - range[1]) return refuse_index(context);
            if (range[1] + n > most) most = range[1] + n;
            behind = behind || range[0] > 0;
        }
    }
    return widen(k, behind, most) ? BF_OK : refuse_memory(context);
}

static bf_status absorb_rows(bf_context *context, absorption *x) {
    const bf_rows *rows = x->rows;
    const int64_t lines = rows->slots * rows->width;
    const int64_t bytes = rows->count * rows->width * bf_dtype_bytes(x->kept->dtype);
    const int workers = bf_workers(context, bytes + lines * LINE_BYTES, BYTES_LEAST);
    bf_status status = bf_axis_rooms_open(&x->job, workers);
    if (status == BF_OK && rows->by == BF_ROWS_BY_INDEX)
        status = bf_sorted_rows_open(context, rows, &x->sorted);
    if (status == BF_OK) status = prepare_indices(context, x);
    if (status != BF_OK) return status;
    x->groups = (rows->width - 1) / BF_LINES_MOST + 1;
    const int64_t n = rows->slots * x->groups;
    if (are_long(x, workers, n)) return take_long(x, workers, n);
    const int64_t each = (bytes + lines * LINE_BYTES) / n;
    return bf_parallel(context, workers, n, each < PIECE_BYTES ? PIECE_BYTES / (each + 1) : 1,
                       take_groups, x);
}

bf_status bf_kept_absorb(bf_context *context, bf_kept *k, size_t first, const void *a,
                         const void *b, const bf_rows *rows) {
    const bf_operands operands = {.op = k->op, .kind = k->kind, .dtype = k->dtype, .a = a, .b = b};
    absorption x = {.kept = k, .first = first, .rows = rows, .sorted.rows = rows};
    bf_axis_job_open(&x.job, context, &operands, NULL);
    x.job.keep = keep_words;
    bf_status status = absorb_rows(context, &x);
    bf_sorted_rows_close(&x.sorted);
    return status;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Returns why these two states, at (from's) words, cannot merge, or NULL. */
static const char *find_misfit(const bf_kept *k, size_t i, const int64_t *from, bool append) {
    if (!is_tree(k) && extremes_of(k) == 0) return NULL;
    const int64_t *a = range_of(k, i);
    const int64_t *b = from + (a - words_at(k, i));
    if (is_tree(k)) {
        const bool moves = append && from[0] > 0 && a[1] > 0;
        if (!moves && (words_at(k, i)[0] == 0 || from[0] == 0)) return NULL;
        if (append) return "a product of floats depends on the index of each element";
        return a[1] == b[0] || b[1] == a[0] ? NULL : "neither begins where the other ends";
    }
    if (a[0] == a[1] || b[0] == b[1]) return NULL;
    if (append) return b[0] == 0 ? NULL : "what follows begins behind index 0";
    return a[1] <= b[0] || b[1] <= a[0] ? NULL : "the ranges of indices overlap";
}

/* Checks the words of a state that will be merged into state i, and notes the range of both. */
static bf_status check_words(bf_context *context, const bf_kept *k, size_t i, const int64_t *from,
                             bool append, bool *behind, int64_t *most) {
    const char *why = find_misfit(k, i, from, append);
    if (why != NULL) return bf_fail(context, BF_E_STATE, "state %lld: %s", (long long)i, why);
    if (!is_tree(k) && extremes_of(k) == 0) return BF_OK;
    const int64_t *a = range_of(k, i), *b = from + (a - words_at(k, i));
    if (append && !is_tree(k) && b[1] > BF_COUNT_MAX - a[1]) return refuse_index(context);
    *behind = *behind || a[0] > 0 || b[0] > 0;
    if (a[1] > *most) *most = a[1];
    if (b[1] > *most) *most = b[1];
    return BF_OK;
}

bf_status bf_kept_prepare_words(bf_context *context, bf_kept *k, size_t first, size_t n,
                                const int64_t *words) {
    const size_t each = (size_t)bf_states_words(k->op, k->dtype);
    bf_status status = BF_OK;
    bool behind = false;
    int64_t most = 0;
    for (size_t i = 0; i < n && status == BF_OK; i++)
        status = check_words(context, k, first + i, words + i * each, false, &behind, &most);
    if (status != BF_OK) return status;
    return widen(k, behind, most) ? BF_OK : refuse_memory(context);
}

/* Has a state with these words no elements, and no indices of others? */
static bool is_untouched(const bf_kept *k, size_t i, const int64_t *words) {
    const int64_t *range = words + (range_of(k, i) - words_at(k, i));
    const bool ordered = is_tree(k) || extremes_of(k) > 0;
    return words[0] == 0 && (!ordered || range[0] == range[1]);
}

/* If neither state has elements, the one that was sought further stays. */
static bool is_behind(const bf_kept *k, size_t i, const int64_t *words) {
    if (!is_tree(k) && extremes_of(k) == 0) return false;
    const int64_t *own = range_of(k, i);
    return own[1] > words[own + 1 - words_at(k, i)];
}

/* Joins trees, both with elements, of which one begins where the other ends: at a whole leaf. */
static void join_trees(bf_kept *k, size_t i, const int64_t *words) {
    int64_t own[BF_LINE_WORDS], other[BF_PRODUCT_TREE_HEAD_AT];
    bf_kept_words(k, i, own);
    memcpy(other, words, sizeof other);
    const bool behind = own[BF_PRODUCT_TREE_END] == other[BF_PRODUCT_TREE_BEGIN];
    int64_t *first = behind ? own : other, *second = behind ? other : own;
    bf_product_tree_merge_counts(first, second);
    bf_product_tree_append_leaves(first, second);
    set_words(k, i, first);
}

void bf_kept_add_words(bf_kept *k, size_t i, const int64_t *words) {
    if (is_untouched(k, i, words_at(k, i))) {
        if (!is_untouched(k, i, words) || !is_behind(k, i, words)) set_words(k, i, words);
        return;
    }
    if (!is_tree(k))
        merge_words(k, words_at(k, i), words);
    else if (words[0] > 0)
        join_trees(k, i, words);
}

typedef struct merging {
    bf_kept *into;
    const bf_kept *from;
    bool append;
} merging;

static bf_status merge_piece(void *arg, int worker, int64_t first, int64_t n) {
    const merging *m = arg;
    int64_t words[BF_LINE_WORDS];
    (void)worker;
    for (size_t i = (size_t)first; i < (size_t)(first + n); i++) {
        bf_kept_words(m->from, i, words);
        if (m->append && bf_is_indexed(m->into->op))
            shift_words(m->into, words, range_of(m->into, i)[1]);
        bf_kept_add_words(m->into, i, words);
    }
    return BF_OK;
}

bf_status bf_kept_merge(bf_context *context, bf_kept *into, const bf_kept *from, bool append) {
    merging m = {into, from, append};
    bool behind = false;
    int64_t most = 0;
    for (size_t i = 0; i < into->count; i++) {
        const bf_status status =
            check_words(context, into, i, words_at(from, i), append, &behind, &most);
        if (status != BF_OK) return status;
    }
    if (!widen(into, behind, most)) return refuse_memory(context);
    const int64_t n = (int64_t)into->count;
    return bf_parallel(context, bf_workers(context, n, STATES_LEAST), n, STATES_PIECE, merge_piece,
                       &m);
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct finishing {
    bf_axis_job job;
    const bf_kept *kept;
} finishing;

/* Are all elements but NaNs -0? Moments do not count -0, but then both extremes are -0. */
static bool all_negative_zero(bf_dtype dtype, const int64_t *least) {
    const int64_t *greatest = least + BF_EXTREME_WORDS;
    if (!bf_dtype_is_float(dtype) || least[BF_EXTREME_INDEX] < 0) return false;
    const int64_t key = bf_order_rank(dtype, bf_format_sign(bf_format_of(dtype)));
    return least[BF_EXTREME_RANK] == key && greatest[BF_EXTREME_RANK] == ~key;
}

/* The part of a description that is a state of op. */
static int64_t *part_of(const bf_kept *k, bf_reduction op, int64_t *words) {
    int64_t *least = extreme_of(k, words, 0);
    switch (op) {
    case BF_MIN:
    case BF_ARGMIN: return least;
    case BF_MAX:
    case BF_ARGMAX: return least + BF_EXTREME_WORDS;
    case BF_SUM:
    case BF_MEAN:
        if (all_negative_zero(k->dtype, least)) words[BF_SUM_NEG_ZERO] = bf_sum_finite(words);
        return words;
    default: return words;
    }
}

static bf_status finish_piece(void *arg, int worker, int64_t first, int64_t n) {
    finishing *f = arg;
    int64_t words[BF_LINE_WORDS];
    const bool whole = f->kept->kind != BF_KIND_DESCRIPTION;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        bf_kept_words(f->kept, (size_t)i, words);
        bf_axis_write(&f->job, whole ? words : part_of(f->kept, f->job.operands->op, words), i);
    }
    return BF_OK;
}

bf_status bf_kept_result(bf_context *context, const bf_kept *k, bf_reduction op,
                         const bf_results *results) {
    const bf_operands operands = {.op = op, .kind = bf_kind_of(op, k->dtype), .dtype = k->dtype};
    finishing f = {.kept = k};
    const int64_t n = (int64_t)k->count;
    bf_axis_job_open(&f.job, context, &operands, results);
    bf_environment environment = bf_environment_enter(); /* trees multiply floats */
    bf_status status = bf_parallel_watched(context, bf_workers(context, n, STATES_LEAST), n,
                                           STATES_PIECE, 0, finish_piece, &f);
    bf_environment_leave(environment);
    return bf_axis_job_close(&f.job, status);
}
