/* Decides which kernels a call enqueues, and finds their scratch memory. */
#include "cuda/axis/axis.cuh"
#include "cuda/axis/doubles/batch.h"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/workspace.cuh"

#include "rules/reduce/product_tree.h"
#include "rules/reduce/sum.h"

enum {
    SHORT_ROWS = 64,     /* elements of rows that threads reduce */
    WARP_ROWS = 4096,    /* elements of rows that warps reduce */
    MANY_ROWS = 1 << 16, /* elements of rows that warps reduce if there are many */
    LEAST_PIECE = 16384, /* elements of a tile's piece */
    LEAST_LINE = 512,    /* lines from so many elements on have pieces of their own */
    MOST_LINES = 4096,   /* the most lines that have them */
    LISTED_PIECE = 32768,
    LONG_SEGMENTS = 1 << 18,     /* a mean of those of which blocks take such pieces */
    TILE_EACH = 64,              /* most rows of columns of which a block takes one tile */
    TURNS = 8,                   /* blocks of rows that doubles prove, one after another */
    APPROXIMATE_PIECE = 1 << 24, /* most elements of a result that one block adds in doubles */
    WORD_PIECE = 1 << 14,
    WORD_SLOTS = 1 << 14,
    COLUMN_GIANT = 1024,  /* rows that a thread takes */
    DIRECT_ROWS = 512,    /* the most elements of a row that is proven directly */
    DIRECT_COLUMNS = 64,  /* the most of a column */
    PROVEN_SEGMENTS = 16, /* the greatest mean of segments; of elements of 8 bytes 10 */
    TILE_MEAN = 32,       /* the greatest mean of segments in tiles */
    SPAN_ROWS = 1 << 15,  /* warps take equal spans of rows of such a length */
    SPAN_SEGMENTS = 2048, /* they take them of segments of such a mean */
    SPAN_LEAST = 1 << 23, /* they take them of at least so many elements in all */
    SPAN_WORDS = 6,       /* int64 that a warp leaves */
    PROVEN = 512,         /* the most of a result that a few doubles prove */
    SCATTERED = 15        /* elements of short rows that threads read where they lie */
};

static const bf_cuda_part_kind deferred_part = {}, board_part = {}, marks_part = {},
                               tickets_part = {}, slots_part = {}, units_part = {}, words_part = {},
                               deferred_list_part = {};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t ratio(int64_t a, int64_t b) { return (a + b - 1) / b; } /* rounded up */
static int64_t size_of(int64_t x) { return x < 0 ? -x : x; }

static bf_cuda_axis_kernels with_doubles(bf_cuda_axis_kernels k,
                                         void (*set)(bf_kind, int64_t, bf_cuda_axis_kernels *),
                                         const bf_cuda_axis_params *p) {
    set(p->kind, p->at.offsets != NULL ? 0 : p->at.length, &k);
    return k;
}

/* Of words of 1, 2, 4 or 8 bytes. */
typedef bf_cuda_axis_kernels (*kernels_of_words)(bool, int64_t);

static bf_cuda_axis_kernels with_words(const kernels_of_words (&all)[4], bool how,
                                       const bf_cuda_axis_params *p) {
    const int i = p->element == 8 ? 3 : p->element / 2;
    return all[i](how, p->at.offsets != NULL ? 0 : p->at.length);
}

static bf_cuda_axis_kernels find_kernels(const bf_cuda_axis_params *p) {
    static const kernels_of_words extremes[] = {bf_cuda_axis_extremes_1, bf_cuda_axis_extremes_2,
                                                bf_cuda_axis_extremes_4, bf_cuda_axis_extremes_8};
    static const kernels_of_words totals[] = {bf_cuda_axis_totals_1, bf_cuda_axis_totals_2,
                                              bf_cuda_axis_totals_4, bf_cuda_axis_totals_8};
    const bool indexed = p->op == BF_ARGMIN || p->op == BF_ARGMAX;
    if (p->kind == BF_KIND_EXTREME) return with_words(extremes, indexed, p);
    if (p->kind == BF_KIND_PRODUCT) return bf_cuda_axis_products();
    if (p->kind == BF_KIND_SUM && !bf_dtype_is_float(p->dtype))
        return with_words(totals, bf_dtype_is_signed(p->dtype), p);
    switch (p->dtype) {
    case BF_F16: return with_doubles(bf_cuda_axis_f16(p->kind), bf_cuda_axis_doubles_f16, p);
    case BF_BF16: return with_doubles(bf_cuda_axis_bf16(p->kind), bf_cuda_axis_doubles_bf16, p);
    case BF_F32: return with_doubles(bf_cuda_axis_f32(p->kind), bf_cuda_axis_doubles_f32, p);
    case BF_F64: return with_doubles(bf_cuda_axis_f64(p->kind), bf_cuda_axis_doubles_f64, p);
    default: return bf_cuda_axis_integers(p->kind, p->element == 8);
    }
}

/* Whether some results may be left to by_exponent.cu. */
static bool may_mark(const bf_cuda_axis_params *p) {
    return bf_kind_is_sum(p->kind) && (bf_dtype_is_float(p->dtype) || p->kind == BF_KIND_MOMENTS);
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
    p->word_slots = marks ? least(word_slots, WORD_SLOTS) : 0;
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

/* --- fibres --- */

/* Do fibres lie one behind another, like rows of one array? */
static bool is_packed(const bf_cuda_axis_layout *at, int operand) {
    return at->reduced == 1 && at->reduced_strides[operand][0] == 1 && at->kept <= 1 &&
           (at->kept == 0 || at->kept_strides[operand][0] == at->length);
}

/* The shape of blocks for tiles of columns that lie next to each other, `inner` of them. */
static void set_columns(bf_cuda_axis_params *p, int64_t inner, int64_t length) {
    const int64_t threads = BF_CUDA_AXIS_THREADS;
    p->inner = inner;
    p->parts = ratio(inner, threads);
    p->columns = (int)least(inner, ratio(ratio(inner, p->parts), 32) * 32);
    p->lanes = (int)most(1, least(threads / p->columns, ratio(length, 8)));
    p->tiles = p->at.results / inner * p->parts;
}

/* The shape of blocks that reduce `width` columns a thread: a thread's next element is a line of
 * the array away, its vector of neighbours next to another thread's. */
static void set_wide_columns(bf_cuda_axis_params *p, int width, int words) {
    const bf_cuda_axis_layout *at = &p->at;
    const int64_t inner = at->kept_shape[at->kept - 1], threads = BF_CUDA_AXIS_THREADS;
    const bool indexed = p->op == BF_ARGMIN || p->op == BF_ARGMAX;
    bool gapless = at->kept == 1 && at->reduced == 1 && !indexed;
    for (int i = 0; i <= (p->b != NULL); i++)
        gapless = gapless && at->reduced_strides[i][0] == inner;
    int64_t whole = width; /* rows in which a whole number of vectors lies */
    while (whole > 1 && inner * (whole / 2) % width == 0) whole /= 2;
    if (!gapless || inner * whole > width * threads) whole = 1;
    p->folded = (int)whole;
    if (gapless && inner * whole < 32 * width) p->folded *= (int)(32 * width / (inner * whole));
    const int64_t lanes = most(1, least(8, at->length / p->folded / 32));
    const int64_t most_columns = p->folded > 1 ? inner : width * threads / lanes;
    p->inner = inner;
    p->parts = ratio(inner, most_columns);
    p->columns = (int)least(inner, ratio(ratio(inner, p->parts), 32 * width) * 32 * width);
    p->lanes = (int)(threads / ratio((int64_t)p->columns * p->folded, width));
    p->lanes = (int)most(1, least(p->lanes, at->length / p->folded / 8));
    p->tiles = at->results / inner * p->parts;
    p->room = p->columns * p->folded * p->lanes * words;
}

/* Can a thread reduce neighbouring columns? */
static bool has_wide_columns(const bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    if (at->kept == 0) return false;
    for (int i = 0; i <= (p->b != NULL); i++)
        if (at->kept_strides[i][at->kept - 1] != 1) return false;
    const int64_t inner = at->kept_shape[at->kept - 1];
    return (at->reduced == 1 || p->by_line) && (inner >= 128 || inner * at->length >= 4096);
}

/* Whether a thread's next element is farther away than its neighbour's. */
static bool has_columns(const bf_cuda_axis_layout *at) {
    if (at->kept == 0 || at->length == 1) return at->kept > 0;
    return size_of(at->kept_strides[0][at->kept - 1]) <
           size_of(at->reduced_strides[0][at->reduced - 1]);
}

static bool is_by_line(const bf_cuda_axis_layout *at) {
    const int64_t extent = at->reduced_shape[at->reduced - 1];
    return at->reduced > 1 && extent >= LEAST_LINE && at->length / extent <= MOST_LINES;
}

/* Have results a dtype that is proven? */
static bool is_provable(const bf_cuda_axis_params *p) {
    const bool is_double = p->dtype == BF_F64, is_sum = p->kind == BF_KIND_SUM;
    if (p->fits != NULL) return false;
    if (p->kind == BF_KIND_EXTREME) return true;
    if (!bf_dtype_is_float(p->dtype))
        return is_sum && (bf_dtype_bytes(p->to) == 8 || p->to == BF_F32);
    if (is_sum) return p->to == BF_F64 || (p->to == BF_F32 && !is_double);
    return p->kind != BF_KIND_DOT && p->to == (is_double ? BF_F64 : BF_F32);
}

/* Do doubles prove results of any length? */
static bool is_approximate(const bf_cuda_axis_kernels *k, const bf_cuda_axis_params *p) {
    if (k->approximate_warps == NULL || !is_provable(p)) return false;
    if (p->at.offsets != NULL) return p->kind == BF_KIND_SUM && p->at.width == 1;
    return p->at.length > p->ddof;
}

/* A kernel's blocks. */
static bf_cuda_shape shape_of(const bf_cuda_axis_kernels *k, const void *kernel,
                              const bf_cuda_axis_params *p) {
    bf_cuda_shape shape = {1, BF_CUDA_AXIS_WARP_THREADS, 0, true, false};
    int64_t threads = BF_CUDA_AXIS_WARP_THREADS;
    if (kernel == k->tiles) {
        threads = BF_CUDA_AXIS_TILE_THREADS;
        shape.shared = (size_t)k->tile_bytes;
        shape.spares_cache = true;
    } else if (kernel == k->spans) {
        shape.blocks = p->spans / (BF_CUDA_AXIS_WARP_THREADS / 32);
        shape.shared = (size_t)k->span_bytes;
        shape.spares_cache = true;
    } else if (kernel == k->proven_rows && bf_cuda_axis_is_short(p->at.length / k->vector)) {
        shape.shared = (size_t)(threads * bf_cuda_axis_batch_bytes((int)p->at.length / k->vector));
    } else if (kernel == k->blocks || kernel == k->approximate_blocks) {
        threads = (int64_t)p->columns * p->lanes;
    } else if (kernel == k->columns || kernel == k->direct_columns) {
        threads = ratio((int64_t)p->columns * p->folded, k->width) * p->lanes;
        shape.shared = (size_t)p->room * sizeof(int64_t);
    } else if (kernel == k->proven_columns) {
        threads = ratio(p->columns, k->proven_width);
    } else if (kernel == k->approximate_columns) {
        threads = ratio((int64_t)p->columns * p->folded, 4) * p->lanes;
        shape.shared = (size_t)p->room * sizeof(int64_t);
    }
    shape.threads = (int)ratio(threads, 32) * 32;
    return shape;
}

/* Into how many parts tasks are divided so that blocks, which take one part after another, end at
 * about the same time: at least `least` parts. */
static int64_t even_parts(int64_t tasks, int64_t blocks, int64_t least) {
    int64_t best = least, most_busy = 0;
    for (int64_t parts = least; parts < least + 8; parts++) {
        const int64_t units = tasks * parts;
        const int64_t busy = 100 * units / (ratio(units, blocks) * blocks);
        if (busy > most_busy + 3) {
            best = parts;
            most_busy = busy;
        }
    }
    return best;
}

/* Divides results into pieces, so that all multiprocessors have some. */
static void set_pieces(const bf_cuda *cuda, const bf_cuda_axis_kernels *k, const void *kernel,
                       bf_cuda_axis_params *p) {
    if (is_approximate(k, p))
        kernel = kernel == k->blocks ? k->approximate_blocks : k->approximate_columns;
    int resident = 1; /* if it fails, the launch does too */
    (void)bf_cuda_occupancy(cuda, kernel, shape_of(k, kernel, p), &resident);
    const int last = p->at.reduced - 1;
    const int64_t length = p->by_line ? p->at.reduced_shape[last] : p->at.length;
    const int64_t lines = p->at.length / length, tasks = p->tiles * lines;
    const int64_t blocks = (int64_t)resident * cuda->multiprocessors;
    const bool approximate_sum =
        is_approximate(k, p) && p->kind == BF_KIND_SUM && p->nan == BF_NAN_PROPAGATE;
    const int64_t needed =
        ratio(length, approximate_sum ? (int64_t)APPROXIMATE_PIECE : BF_CUDA_AXIS_PIECE);
    const int64_t wanted = even_parts(tasks, blocks, most(needed, blocks / tasks));
    const int64_t enough = most(needed, ratio(length * p->columns, LEAST_PIECE));
    const int64_t pieces = most(1, least(wanted, enough));
    p->piece = ratio(ratio(length, pieces), p->folded) * p->folded;
    p->line_pieces = ratio(length, p->piece);
    p->pieces = (int)(lines * p->line_pieces);
}

/* Lanes of a warp that share a row: each has a few vectors of it; and how many rows they take, of
 * which each lane then finishes one. */
static void set_warps(const bf_cuda *cuda, bf_cuda_axis_params *p, int64_t length, int vector) {
    const int64_t warps = (int64_t)cuda->multiprocessors * 2 * BF_CUDA_AXIS_WARP_THREADS / 32;
    p->lanes = 1;
    while (p->lanes < 32 && length >= 8 * vector * p->lanes) p->lanes *= 2;
    p->chunk = p->lanes;
    const int groups = 32 / p->lanes;
    while (p->chunk > 1 && p->at.results < 8 * warps * p->chunk * groups) p->chunk /= 2;
    p->tiles = ratio(p->at.results, (int64_t)p->chunk * groups);
}

/* Do warps reduce rows of this length? */
static bool has_warp_rows(const bf_cuda *cuda, const bf_cuda_axis_layout *at, int vector) {
    const int64_t warps = (int64_t)cuda->multiprocessors * BF_CUDA_AXIS_WARP_THREADS / 32;
    const int64_t longest = at->results >= 4 * warps ? MANY_ROWS : WARP_ROWS;
    return at->length >= 2 * vector && at->length <= longest && at->results >= 1024;
}

/* Do a few doubles prove results? */
static bool is_proven(const bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    return at->length <= PROVEN && at->length > p->ddof && at->reduced == 1 && is_provable(p);
}

/* Columns, of which each thread takes all rows. */
static bool set_proven_columns(const bf_cuda_axis_kernels *k, bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    const int64_t threads = BF_CUDA_AXIS_THREADS, inner = at->kept_shape[at->kept - 1];
    const int width =
        (int)least(k->width, k->proven_width); /* the second kernel has threads, too */
    if (k->proven_columns == NULL || !is_proven(p) || inner < 32) return false;
    if (at->results < threads * at->length) return false;
    p->inner = inner;
    p->parts = ratio(inner, width * threads);
    p->columns = (int)least(inner, ratio(ratio(inner, p->parts), 32 * width) * 32 * width);
    p->tiles = at->results / inner * p->parts;
    p->piece = at->length;
    p->line_pieces = 1;
    p->room = 0;
    p->by_line = false;
    p->proven = p->direct = true;
    return true;
}

/* Rows of whole vectors, of which lanes take one or a few each. */
static bool set_proven_rows(const bf_cuda_axis_kernels *k, bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    const int64_t vectors = at->length / k->vector;
    if (k->proven_rows == NULL || !is_proven(p) || at->length % k->vector != 0 ||
        at->results < 1024 || (uintptr_t)p->a % 16 != 0)
        return false;
    p->lanes = 1;
    while (p->lanes < 32 && (vectors % (2 * p->lanes) == 0 || vectors >= 16 * p->lanes))
        p->lanes *= 2;
    p->chunk = bf_cuda_axis_is_short(vectors) ? p->lanes : (int)least(4, p->lanes);
    p->tiles = ratio(at->results, (int64_t)p->chunk * (32 / p->lanes));
    p->by_line = false;
    p->proven = p->direct = true;
    return true;
}

/* Rows of very few elements are proven as columns are: each thread reads its own where they lie. */
static void set_scattered(const bf_cuda_axis_kernels *k, bf_cuda_axis_params *p) {
    p->room = 0;
    p->distance = p->piece = p->at.length;
    p->line_pieces = 1;
    p->inner = p->at.results;
    p->columns = (int)least(p->inner, (int64_t)k->width * BF_CUDA_AXIS_THREADS);
    p->parts = p->tiles = ratio(p->inner, p->columns);
    p->direct = true;
}

/* Long rows and segments that lie one behind another, of which all warps share the elements. Under
 * another policy for NaNs, elements that are not finite are left to windows. */
static bool set_spans(const bf_cuda *cuda, const bf_cuda_axis_kernels *k, bf_cuda_axis_params *p,
                      int64_t elements, int64_t mean) {
    if (k->spans == NULL || !is_approximate(k, p) || p->nan != BF_NAN_PROPAGATE ||
        elements < SPAN_LEAST || elements / p->at.results < mean)
        return false;
    const bf_cuda_shape shape = shape_of(k, k->spans, p);
    int resident = 0; /* none, too, if there is too little shared memory */
    (void)bf_cuda_occupancy(cuda, k->spans, shape, &resident);
    p->spans = (int64_t)resident * cuda->multiprocessors * (BF_CUDA_AXIS_WARP_THREADS / 32);
    if (p->spans == 0) return false;
    const int64_t ends = p->at.offsets != NULL ? p->at.results * BF_CUDA_AXIS_SPAN_END : 0;
    p->roundings = (double)((elements + ends) / p->spans / 32 + p->spans / 32 + 256);
    return true;
}

static const void *schedule_fibres(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                   bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    const bool packed = is_packed(at, 0) && (p->b == NULL || is_packed(at, 1));
    const bool columns = has_columns(at);
    p->by_line = is_by_line(at);
    if (packed && p->kind == BF_KIND_SUM &&
        set_spans(cuda, k, p, at->results * at->length, SPAN_ROWS))
        return k->spans;
    if (packed && at->results > 1 && set_proven_rows(k, p)) return k->warps;
    if (packed && at->results > 1 && at->length <= SHORT_ROWS &&
        (at->length < 2 * k->vector || at->length % k->vector != 0)) {
        if (k->direct_columns == NULL || at->length > SCATTERED || p->op == BF_NORM)
            return k->tiles;
        set_scattered(k, p);
        return k->columns;
    }
    if (!columns && at->reduced == 1 && has_warp_rows(cuda, at, k->vector)) {
        p->by_line = false;
        set_warps(cuda, p, at->length, k->vector);
        p->direct = k->direct_warps != NULL && at->length <= DIRECT_ROWS;
        return k->warps;
    }
    if (columns && at->kept_strides[0][at->kept - 1] == 1 && set_proven_columns(k, p))
        return k->columns;
    if (columns && has_wide_columns(p)) {
        set_wide_columns(p, k->width, k->words);
        set_pieces(cuda, k, k->columns, p);
        if (p->pieces == 1 && p->lanes * p->folded == 1) {
            p->room = 0;
            p->direct = k->direct_columns != NULL && at->length <= DIRECT_COLUMNS;
        }
        return k->columns;
    }
    if (columns && at->length > SHORT_ROWS)
        set_columns(p, at->kept_shape[at->kept - 1], at->length);
    else if (at->length <= SHORT_ROWS)
        set_columns(p, at->results, at->length);
    else {
        p->inner = 1;
        p->parts = 1;
        p->tiles = at->results;
        p->lanes = (int)least(BF_CUDA_AXIS_THREADS, ratio(ratio(at->length, 8), 32) * 32);
    }
    set_pieces(cuda, k, k->blocks, p);
    return k->blocks;
}

/* --- segments --- */

static const void *schedule_rows(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                 bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    const int64_t slots = at->results / at->width, mean = at->rows / slots;
    p->piece = LISTED_PIECE;
    p->pieces = 1;
    if (at->width > 1) {
        p->giant = most(COLUMN_GIANT, at->rows / WORD_SLOTS);
        return k->blocks;
    }
    const int64_t weight = p->element == 8 ? mean * 8 / 5 : mean;
    if (k->proven_segments != NULL && weight < PROVEN_SEGMENTS && is_provable(p)) {
        p->giant = WARP_ROWS;
        p->folded = weight < 12 ? 2 : 1;
        p->lanes = p->chunk = 4;
        p->tiles = ratio(at->results, 32);
        p->proven = p->direct = true;
        return k->warps;
    }
    if (mean < least(4 * k->vector, TILE_MEAN)) {
        p->giant = k->tile_capacity;
        return k->tiles;
    }
    p->giant = WARP_ROWS;
    if (set_spans(cuda, k, p, at->rows, SPAN_SEGMENTS)) return k->spans;
    if (is_approximate(k, p) && mean > WARP_ROWS / 4 && mean <= 2 * WARP_ROWS)
        p->giant = 4 * WARP_ROWS;
    if (is_approximate(k, p) && mean >= LONG_SEGMENTS) p->piece = LONG_SEGMENTS;
    set_warps(cuda, p, mean, k->vector);
    p->direct = k->direct_warps != NULL && mean <= DIRECT_ROWS / 2;
    return k->warps;
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
        const int64_t busy = 100 * chunks / (ratio(chunks, warps) * warps);
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
    bf_cuda_shape shape = shape_of(k, kernel, p);
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
    if (is_warps) useful = ratio(p->tiles, shape.threads / 32);
    if (kernel == k->tiles) useful = ratio(p->at.results, 32);
    /* Few rows are read best by blocks that take a tile each. */
    const bool tile_each =
        kernel == k->proven_columns && p->at.length > 2 && p->at.length <= TILE_EACH;
    const bool turns = kernel == k->proven_rows && has_turns(k, p);
    shape.blocks = tile_each ? useful : least(turns ? TURNS * blocks : blocks, useful);
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
        if (error != cudaSuccess) return error;
        q.second = true;
    }
    return launch(cuda, k, kernel, &q);
}

/* Tiles of the results themselves, for segments of several columns; then those of segments that are
 * too long. */
static cudaError_t launch_rows(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                               const void *kernel, const bf_cuda_axis_params *p) {
    bf_cuda_axis_params rows = *p;
    if (kernel == k->blocks) {
        set_columns(&rows, rows.at.results, 1);
        rows.line_pieces = 1;
    }
    cudaError_t error = launch_main(cuda, k, kernel, &rows);
    if (error != cudaSuccess || p->at.rows <= p->giant) return error;
    rows = *p;
    rows.listed = true;
    if (rows.at.width == 1) rows.lanes = p->piece > LISTED_PIECE ? BF_CUDA_AXIS_THREADS : 32;
    return launch(cuda, k,
                  is_approximate(k, p) && p->deferred != NULL ? k->approximate_blocks : k->blocks,
                  &rows);
}

static cudaError_t launch_all(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                              const void *kernel, bf_cuda_axis_params *p) {
    const bool rows = p->at.offsets != NULL;
    void *arguments[] = {p};
    cudaError_t error = p->spans > 0
                            ? bf_cuda_launch(cuda, k->spans, shape_of(k, k->spans, p), arguments)
                        : rows ? launch_rows(cuda, k, kernel, p)
                               : launch_main(cuda, k, kernel, p);
    if (error == cudaSuccess && may_mark(p)) error = bf_cuda_axis_launch_words(cuda, *p);
    return error;
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

/* Lets doubles prove results of any length first, if they may. */
static bool set_approximate(const bf_cuda_axis_kernels *k, const void *kernel,
                            bf_cuda_axis_params *p) {
    if (p->proven || kernel == NULL || kernel == k->tiles || p->spans > 0 || !is_approximate(k, p))
        return false;
    if (p->kind == BF_KIND_SUM && p->direct) return false;
    const int64_t taken = p->at.offsets != NULL ? most(p->giant, p->piece)
                          : kernel == k->warps  ? p->at.length
                                                : p->piece;
    p->direct = true;
    p->tile = kernel == k->warps ? (int64_t)p->chunk * (32 / p->lanes) : 0;
    p->roundings = p->at.offsets != NULL ? (double)p->at.rows / (double)p->piece : 0;
    p->roundings +=
        (double)(ratio(taken, p->lanes * p->folded) + p->lanes * p->folded + p->pieces + 64);
    return true;
}

/* Products of floats: each leaf leaves a part. */
static void set_leaves(bf_cuda_axis_params *p) {
    p->piece = BF_LEAF;
    p->tiles = p->at.results;
    if (p->at.offsets == NULL) p->pieces = (int)most(1, ratio(p->at.length, BF_LEAF));
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
    const bf_cuda_axis_kernels k = tree ? bf_cuda_axis_kernels() : find_kernels(p);
    const void *kernel = NULL;
    p->word_piece = most(WORD_PIECE, p->at.results * (rows ? 0 : p->at.length) / 4096);
    p->giant = p->piece = INT64_MAX;
    p->columns = p->lanes = p->pieces = p->folded = 1;
    p->distance = 1;
    p->direct = p->second = p->proven = false;
    p->spans = 0;
    if (rows) set_columns(p, p->at.width, BF_CUDA_AXIS_PIECE);
    if (tree) set_leaves(p);
    if (!tree) kernel = rows ? schedule_rows(cuda, &k, p) : schedule_fibres(cuda, &k, p);
    set_steps(p);
    p->direct = p->direct && (p->proven || (p->op != BF_NORM && (kernel == k.columns || p->along)));
    const bool approximate = set_approximate(&k, kernel, p);
    bf_status status = take_scratch(context, p, tree ? BF_CUDA_AXIS_LEAF_WORDS : k.total,
                                    approximate || (p->proven && kernel == k.columns));
    if (status == BF_OK) status = enqueue_first(context, p, wrong);
    if (status != BF_OK || (wrong != NULL && *wrong >= 0)) return status;
    cudaError_t error =
        tree ? bf_cuda_axis_launch_trees(cuda, *p) : launch_all(cuda, &k, kernel, p);
    if (error == cudaSuccess && p->report != NULL && !may_mark(p))
        error = bf_cuda_axis_launch_report(cuda, *p);
    return bf_cuda_check(context, error, "launching reductions");
}
