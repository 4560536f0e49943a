/* Launches the kernels of a call, and finds their scratch memory. strategies.cu says which ones. */
#include "cuda/axis/doubles/batch.h"
#include "cuda/axis/exact/settle.cuh"
#include "cuda/axis/strategies.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/workspace.cuh"

#include "rules/reduce/product_tree.h"
#include "rules/reduce/sum.h"

enum {
    TILE_EACH = 64, /* most rows of columns of which a block takes one tile */
    TURNS = 8,      /* blocks of rows that doubles prove, one after another */
    WORD_PIECE = 1 << 14,
    SPAN_WORDS = 6 /* int64 that a warp leaves of spans */
};

static const bf_cuda_part_kind deferred_part = {}, board_part = {}, marks_part = {},
                               tickets_part = {}, slots_part = {}, units_part = {}, words_part = {},
                               deferred_list_part = {};

static bf_cuda_axis_kernels with_doubles(bf_cuda_axis_kernels k,
                                         void (*set)(bf_kind, bf_dtype, int64_t,
                                                     bf_cuda_axis_kernels *),
                                         const bf_cuda_axis_params *p) {
    set(p->kind, p->to, p->at.offsets != NULL ? 0 : p->at.length, &k);
    return k;
}

/* The kernels for words of 1, 2, 4 or 8 bytes. */
static bf_cuda_axis_kernels with_words(const bf_cuda_axis_params *p) {
    static bf_cuda_axis_kernels (*const extremes[])(bool, int64_t) = {
        bf_cuda_axis_extremes_1, bf_cuda_axis_extremes_2, bf_cuda_axis_extremes_4,
        bf_cuda_axis_extremes_8};
    static bf_cuda_axis_kernels (*const totals[])(bool, int64_t) = {
        bf_cuda_axis_totals_1, bf_cuda_axis_totals_2, bf_cuda_axis_totals_4, bf_cuda_axis_totals_8};
    static bf_cuda_axis_kernels (*const spreads[])(int64_t) = {
        bf_cuda_axis_spreads_1, bf_cuda_axis_spreads_2, bf_cuda_axis_spreads_4,
        bf_cuda_axis_spreads_8};
    const int i = p->element == 8 ? 3 : p->element / 2;
    const int64_t length = p->at.offsets != NULL ? 0 : p->at.length;
    if (p->kind == BF_KIND_EXTREME)
        return extremes[i](p->op == BF_ARGMIN || p->op == BF_ARGMAX, length);
    if (p->kind == BF_KIND_SUM) return totals[i](bf_dtype_is_signed(p->dtype), length);
    return spreads[i](length);
}

static bf_cuda_axis_kernels find_kernels(const bf_cuda_axis_params *p) {
    const bool is_float = bf_dtype_is_float(p->dtype);
    if (p->kind == BF_KIND_PRODUCT) return bf_cuda_axis_products();
    if (p->kind == BF_KIND_DOT && !is_float) return bf_cuda_axis_dots(p->element == 8);
    if (p->kind == BF_KIND_EXTREME || !is_float) return with_words(p);
    switch (p->dtype) {
    case BF_F16: return with_doubles(bf_cuda_axis_sums_2(p->kind), bf_cuda_axis_doubles_f16, p);
    case BF_BF16: return with_doubles(bf_cuda_axis_sums_2(p->kind), bf_cuda_axis_doubles_bf16, p);
    case BF_F32: return with_doubles(bf_cuda_axis_sums_4(p->kind), bf_cuda_axis_doubles_f32, p);
    default: return with_doubles(bf_cuda_axis_sums_8(p->kind), bf_cuda_axis_doubles_f64, p);
    }
}

/* Whether some results may be left to the kernels of exact/. */
static bool may_mark(const bf_cuda_axis_params *p) {
    return bf_kind_is_sum(p->kind) && !bf_kind_is_joint(p->kind) &&
           (bf_dtype_is_float(p->dtype) || p->kind == BF_KIND_MOMENTS);
}

/* Are all results written or marked by the kernel that proves them? */
static bool is_proven_or_marked(const bf_cuda_axis_params *p) {
    if (!bf_dtype_is_float(p->dtype) || p->kind == BF_KIND_EXTREME) return false;
    return p->proven ? p->at.offsets == NULL : p->kind == BF_KIND_SUM && p->deferred == NULL;
}

/* --- scratch --- */

typedef struct scratch {
    bf_context *context;
    bf_cuda_workspace *workspace;
    bf_status status;
} scratch;

/* A part of n elements; of none: NULL. */
static void *take(scratch *s, const bf_cuda_part_kind *kind, int64_t n, size_t bytes) {
    if (n == 0 || s->status != BF_OK) return NULL;
    void *memory = bf_cuda_workspace_part(s->context, s->workspace, kind, (size_t)n * bytes);
    if (memory == NULL) s->status = BF_E_MEMORY;
    return memory;
}

static bf_status take_scratch(bf_context *context, bf_cuda_axis_params *p, int total,
                              bool approximate) {
    scratch s = {context, bf_cuda_workspace_of(context), BF_OK};
    if (s.workspace == NULL) return BF_E_MEMORY;
    const bool marks = may_mark(p), rows = p->at.offsets != NULL;
    int64_t giants = 0, units = p->pieces > 1 ? p->tiles * p->pieces : 0;
    if (rows) {
        giants = p->at.rows / p->giant + 1;
        units = giants + p->at.rows / p->piece + 1;
    }
    const int64_t parts = rows ? p->parts : 1, word_slots = rows ? giants * p->at.width
                                                            : p->at.length > p->word_piece
                                                                ? p->at.results
                                                                : 0;
    p->word_slots = marks ? bf_cuda_least(word_slots, BF_CUDA_AXIS_WORD_SLOTS) : 0;
    p->board = (bf_cuda_axis_board *)take(&s, &board_part, 1, sizeof *p->board);
    p->marks = (unsigned *)take(&s, &marks_part, marks ? p->at.results / 32 + 1 : 0, 4);
    p->tickets = (unsigned *)take(&s, &tickets_part,
                                  p->spans > 0 ? p->spans
                                  : rows       ? giants * parts
                                  : units > 0  ? p->tiles
                                               : 0,
                                  4);
    p->slots = (int64_t *)take(
        &s, &slots_part, p->spans > 0 ? p->spans * SPAN_WORDS : units * parts * total * p->columns,
        8);
    p->units = (bf_cuda_axis_unit *)take(&s, &units_part, rows ? units : 0, sizeof *p->units);
    p->deferred_list = (int64_t *)take(&s, &deferred_list_part, p->direct ? p->tiles : 0,
                                       sizeof *p->deferred_list);
    p->deferred = (unsigned *)take(&s, &deferred_part, approximate ? p->tiles / 32 + 1 : 0, 4);
    p->words = (int64_t *)take(&s, &words_part, p->word_slots * (BF_SUM_WORDS_MAX + 1), 8);
    return s.status;
}

/* --- launches --- */

/* Sets the threads of blocks whose warps take chunks in turn, so that they end at about the same
 * time; and *resident to the blocks of a multiprocessor. */
static cudaError_t set_warp_threads(const bf_cuda *cuda, const void *kernel, int64_t chunks,
                                    bf_cuda_shape *shape, int *resident) {
    const int most_threads = shape->threads;
    bf_cuda_shape tried = *shape;
    int64_t best = 0;
    for (int threads = most_threads; threads > most_threads / 2; threads -= 32) {
        int blocks = 1;
        tried.threads = threads;
        cudaError_t error = bf_cuda_occupancy(cuda, kernel, tried, &blocks);
        if (error != cudaSuccess) return error;
        const int64_t warps = (int64_t)blocks * cuda->multiprocessors * threads / 32;
        const int64_t busy = 100 * chunks / (bf_cuda_ratio(chunks, warps) * warps);
        if (busy <= best + 3) continue;
        best = busy;
        *resident = blocks;
        shape->threads = threads;
    }
    return cudaSuccess;
}

/* Are rows read best by more blocks than there is room for? */
static bool has_turns(const bf_cuda_axis_kernels *k, const bf_cuda_axis_params *p) {
    return bf_cuda_axis_is_short(p->at.length / k->vector) || p->kind == BF_KIND_MOMENTS ||
           p->dtype == BF_F64;
}

static cudaError_t launch(const bf_cuda *cuda, const bf_cuda_axis_kernels *k, const void *kernel,
                          bf_cuda_axis_params *p) {
    bf_cuda_shape shape = bf_cuda_axis_shape(k, kernel, p);
    const bool is_warps = kernel == k->warps || kernel == k->approximate_warps ||
                          kernel == k->direct_warps || kernel == k->proven_rows ||
                          kernel == k->proven_segments || kernel == k->proven_wide_segments;
    const bool is_tiled = kernel != k->tiles && !is_warps;
    int resident = 1;
    cudaError_t error = is_warps ? set_warp_threads(cuda, kernel, p->tiles, &shape, &resident)
                                 : bf_cuda_occupancy(cuda, kernel, shape, &resident);
    if (error != cudaSuccess) return error;
    const int64_t blocks = (int64_t)resident * cuda->multiprocessors;
    int64_t useful = blocks;
    if (is_tiled && !p->listed) useful = p->tiles * p->pieces;
    if (is_warps) useful = bf_cuda_ratio(p->tiles, shape.threads / 32);
    if (kernel == k->tiles) useful = bf_cuda_ratio(p->at.results, 32);
    /* Few rows are read best by blocks that take a tile each. */
    const bool tile_each =
        kernel == k->proven_columns && p->at.length > 2 && p->at.length <= TILE_EACH;
    const bool turns = kernel == k->proven_rows && has_turns(k, p);
    shape.blocks = tile_each ? useful : bf_cuda_least(turns ? TURNS * blocks : blocks, useful);
    void *arguments[] = {p};
    return bf_cuda_launch(cuda, kernel, shape, arguments);
}

/* The kernel that proves results directly, before this one. */
static const void *first_kernel(const bf_cuda_axis_kernels *k, const void *kernel,
                                const bf_cuda_axis_params *p) {
    if (kernel == k->blocks) return k->approximate_blocks;
    if (p->proven && p->at.offsets != NULL)
        return p->at.wide ? k->proven_wide_segments : k->proven_segments;
    if (kernel == k->warps)
        return p->proven             ? k->proven_rows
               : p->deferred != NULL ? k->approximate_warps
                                     : k->direct_warps;
    return p->proven             ? k->proven_columns
           : p->deferred != NULL ? k->approximate_columns
                                 : k->direct_columns;
}

/* A kernel, or two: one proves results directly, the other takes those that it could not prove. */
static cudaError_t launch_main(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                               const void *kernel, const bf_cuda_axis_params *p) {
    bf_cuda_axis_params q = *p;
    if (p->direct) {
        cudaError_t error = launch(cuda, k, first_kernel(k, kernel, p), &q);
        if (error != cudaSuccess || is_proven_or_marked(p)) return error;
        q.second = true;
    }
    return launch(cuda, k, kernel, &q);
}

/* Threads for a piece of a segment on the list. */
static int listed_lanes(const bf_cuda_axis_params *p) {
    return p->piece > BF_CUDA_AXIS_LISTED_PIECE ? (int)BF_CUDA_AXIS_THREADS : (int)BF_CUDA_WARP;
}

/* Tiles of the results themselves, for segments of several columns; then those of segments that are
 * too long. */
static cudaError_t launch_rows(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                               const void *kernel, const bf_cuda_axis_params *p) {
    bf_cuda_axis_params rows = *p;
    if (kernel == k->blocks) {
        bf_cuda_axis_set_columns(&rows, rows.at.results, 1);
        rows.line_pieces = 1;
    }
    cudaError_t error = launch_main(cuda, k, kernel, &rows);
    if (error != cudaSuccess || p->at.rows <= p->giant) return error;
    rows = *p;
    rows.listed = true;
    if (rows.at.width == 1) rows.lanes = listed_lanes(p);
    return launch(cuda, k,
                  bf_cuda_axis_is_approximate(k, p) && p->deferred != NULL ? k->approximate_blocks
                                                                           : k->blocks,
                  &rows);
}

static cudaError_t launch_all(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                              const void *kernel, bf_cuda_axis_params *p) {
    const bool rows = p->at.offsets != NULL;
    void *arguments[] = {p};
    cudaError_t error =
        p->spans > 0 ? bf_cuda_launch(cuda, k->spans, bf_cuda_axis_shape(k, k->spans, p), arguments)
        : rows       ? launch_rows(cuda, k, kernel, p)
                     : launch_main(cuda, k, kernel, p);
    if (error != cudaSuccess || !may_mark(p)) return error;
    if (bf_cuda_axis_has_settled(p)) error = bf_cuda_axis_launch_settle(cuda, *p);
    if (error != cudaSuccess || !bf_cuda_axis_may_stay_marked(p)) return error;
    return bf_cuda_axis_launch_words(cuda, *p);
}

/* The plan, and the check of offsets: before all else where a call must not write if one is wrong,
 * else where the kernels of segments have none of their own (segments.cuh). */
static bf_status enqueue_first(bf_context *context, const bf_cuda_axis_params *p, int64_t *wrong) {
    const bool rows = p->at.offsets != NULL;
    const bool opens = rows && p->spans > 0;
    cudaError_t error = opens ? bf_cuda_axis_launch_opening(context->cuda, *p)
                              : bf_cuda_axis_launch_plan(context->cuda, *p);
    if (error == cudaSuccess && rows && !opens && (wrong != NULL || !p->proven))
        error = bf_cuda_axis_launch_check(context->cuda, *p);
    if (wrong == NULL) return bf_cuda_check(context, error, "launching reductions");
    *wrong = -1;
    if (!rows) return bf_cuda_check(context, error, "launching reductions");
    return bf_cuda_fetch_words(context, error, &p->board->wrong, 1, wrong, "checking offsets");
}

/* The most additions of a result that follow each other in the kernels of approximate.cuh: those of
 * a thread, and of what threads and pieces have. */
static int64_t most_roundings(const bf_cuda_axis_kernels *k, const void *kernel,
                              const bf_cuda_axis_params *p) {
    const int64_t lanes = p->lanes * p->folded;
    if (p->at.offsets != NULL)
        return bf_cuda_most(bf_cuda_ratio(p->giant, lanes),
                            bf_cuda_ratio(p->piece, listed_lanes(p))) +
               p->at.rows / p->piece + 64;
    const int64_t taken = kernel == k->warps ? p->at.length : p->piece;
    return bf_cuda_ratio(taken, lanes) + lanes + p->pieces + 64;
}

/* Lets doubles prove results of any length first, if they may. */
static bool set_approximate(const bf_cuda_axis_kernels *k, const void *kernel,
                            bf_cuda_axis_params *p) {
    if (p->proven || kernel == NULL || kernel == k->tiles || p->spans > 0 ||
        !bf_cuda_axis_is_approximate(k, p))
        return false;
    if (p->kind == BF_KIND_SUM && p->direct) return false;
    p->direct = true;
    p->tile = kernel == k->warps ? (int64_t)p->chunk * (BF_CUDA_WARP / p->lanes) : 0;
    p->roundings = (double)most_roundings(k, kernel, p);
    return true;
}

/* Products of floats: each leaf leaves a part. */
static void set_leaves(bf_cuda_axis_params *p) {
    p->piece = BF_LEAF;
    p->tiles = p->at.results;
    if (p->at.offsets != NULL)
        bf_cuda_axis_set_columns(p, p->at.width, BF_LEAF);
    else
        p->pieces = (int)bf_cuda_most(1, bf_cuda_ratio(p->at.length, BF_LEAF));
}

/* How a thread finds its next element. */
static void set_steps(bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    const bool rows = at->offsets != NULL;
    p->planes = rows || p->by_line || at->reduced == 1 ? 1 : at->reduced;
    for (int i = 0; i < 2; i++)
        p->steps[i] = rows ? at->width : at->reduced_strides[i][at->reduced - 1];
    p->along = p->planes == 1 && p->steps[0] == 1 && (p->b == NULL || p->steps[1] == 1);
}

bf_status bf_cuda_axis_enqueue(bf_context *context, bf_cuda_axis_params *p, int64_t *wrong) {
    const bf_cuda *cuda = context->cuda;
    const bool tree = p->kind == BF_KIND_PRODUCT_TREE, rows = p->at.offsets != NULL;
    const bool joint = bf_kind_is_joint(p->kind);
    const bf_cuda_axis_kernels k = tree || joint ? bf_cuda_axis_kernels() : find_kernels(p);
    bf_cuda_axis_choice choice = {joint ? "powers and pairs" : "products", NULL};
    if (bf_cuda_axis_settles_all(p)) {
        context->strategy = {"settled", p->at.results, p->at.length};
        return bf_cuda_check(context, bf_cuda_axis_launch_settle_all(cuda, *p), "settled");
    }
    p->word_piece = bf_cuda_most(WORD_PIECE, p->at.results * (rows ? 0 : p->at.length) / 4096);
    p->giant = p->piece = INT64_MAX;
    p->columns = p->lanes = p->pieces = p->folded = 1;
    p->distance = 1;
    p->direct = p->second = p->proven = false;
    p->spans = 0;
    if (tree)
        set_leaves(p);
    else if (!joint)
        choice = bf_cuda_axis_choose(cuda, &k, p);
    const void *kernel = choice.kernel;
    context->strategy = {choice.name, p->at.results, bf_cuda_axis_mean(p->at), p->tiles, p->columns,
                         p->lanes,    p->pieces};
    set_steps(p);
    p->direct = p->direct && (p->proven || (p->op != BF_NORM && (kernel == k.columns || p->along)));
    const bool approximate = set_approximate(&k, kernel, p);
    bf_status status = take_scratch(context, p, tree ? BF_CUDA_AXIS_LEAF_WORDS : k.total,
                                    approximate || (p->proven && kernel == k.columns));
    if (status == BF_OK) status = enqueue_first(context, p, wrong);
    if (status != BF_OK || (wrong != NULL && *wrong >= 0)) return status;
    cudaError_t error = cudaSuccess;
    if (joint)
        status = bf_cuda_axis_enqueue_joint(context, *p);
    else if (tree)
        error = bf_cuda_axis_launch_trees(cuda, *p);
    else
        error = launch_all(cuda, &k, kernel, p);
    if (status != BF_OK) return status;
    if (error == cudaSuccess && p->report != NULL && !may_mark(p))
        error = bf_cuda_axis_launch_report(cuda, *p);
    return bf_cuda_check(context, error, choice.name);
}
