/* Chooses the kernels for a shape: the first strategy of a table that fits a call wins. A
 * strategy sets the schedule of its kernel (axis.cuh) and returns it, or returns NULL and sets
 * nothing. */
#include "cuda/axis/strategies.cuh"

#include "cuda/axis/doubles/batch.h"

enum {
    SHORT_ROWS = 64,             /* elements of rows that threads reduce */
    WARP_ROWS = 4096,            /* elements of rows that warps reduce */
    MANY_ROWS = 1 << 16,         /* elements of rows that warps reduce if there are many */
    LEAST_PIECE = 16384,         /* elements of a tile's piece */
    LEAST_LINE = 512,            /* lines from so many elements on have pieces of their own */
    MOST_LINES = 4096,           /* the most lines that have them */
    LONG_SEGMENTS = 1 << 18,     /* a mean of those of which blocks take such pieces */
    APPROXIMATE_PIECE = 1 << 24, /* most elements of a result that one block adds in doubles */
    COLUMN_GIANT = 1024,         /* rows that a thread takes */
    DIRECT_ROWS = 512,           /* the most elements of a row that is proven directly */
    DIRECT_COLUMNS = 64,         /* the most of a column */
    PROVEN_SEGMENTS = 16,        /* the greatest mean of segments; of elements of 8 bytes 10 */
    TILE_MEAN = 32,              /* the greatest mean of segments in tiles */
    SPAN_ROWS = 1 << 15,         /* warps take equal spans of rows of such a length */
    SPAN_SEGMENTS = 2048,        /* they take them of segments of such a mean */
    SPAN_LEAST = 1 << 23,        /* they take them of at least so many elements in all */
    PROVEN = 512,                /* the most of a result that a few doubles prove */
    SCATTERED = 15               /* elements of short rows that threads read where they lie */
};

typedef const void *(*bf_cuda_axis_plan)(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                         bf_cuda_axis_params *p);
struct strategy {
    const char *name;
    bf_cuda_axis_plan plan;
};

static int64_t size_of(int64_t x) { return x < 0 ? -x : x; }

bf_cuda_shape bf_cuda_axis_shape(const bf_cuda_axis_kernels *k, const void *kernel,
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
        threads = bf_cuda_ratio((int64_t)p->columns * p->folded, k->width) * p->lanes;
        shape.shared = (size_t)p->room * sizeof(int64_t);
    } else if (kernel == k->proven_columns) {
        threads = bf_cuda_ratio(p->columns, k->proven_width);
    } else if (kernel == k->approximate_columns) {
        threads = bf_cuda_ratio((int64_t)p->columns * p->folded, k->approximate_width) * p->lanes;
        shape.shared = (size_t)p->room * sizeof(int64_t);
    }
    shape.threads = (int)bf_cuda_ratio(threads, 32) * 32;
    return shape;
}

void bf_cuda_axis_set_columns(bf_cuda_axis_params *p, int64_t inner, int64_t length) {
    const int64_t threads = BF_CUDA_AXIS_THREADS;
    p->inner = inner;
    p->parts = bf_cuda_ratio(inner, threads);
    p->columns = (int)bf_cuda_least(inner, bf_cuda_ratio(bf_cuda_ratio(inner, p->parts), 32) * 32);
    p->lanes = (int)bf_cuda_most(1, bf_cuda_least(threads / p->columns, bf_cuda_ratio(length, 8)));
    p->tiles = p->at.results / inner * p->parts;
}

/* Do fibres lie one behind another, like rows of one array? */
static bool is_packed(const bf_cuda_axis_layout *at, int operand) {
    return at->reduced == 1 && at->reduced_strides[operand][0] == 1 && at->kept <= 1 &&
           (at->kept == 0 || at->kept_strides[operand][0] == at->length);
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
    const int64_t lanes = bf_cuda_most(1, bf_cuda_least(8, at->length / p->folded / 32));
    const int64_t most_columns = p->folded > 1 ? inner : width * threads / lanes;
    p->inner = inner;
    p->parts = bf_cuda_ratio(inner, most_columns);
    p->columns = (int)bf_cuda_least(
        inner, bf_cuda_ratio(bf_cuda_ratio(inner, p->parts), 32 * width) * 32 * width);
    p->lanes = (int)(threads / bf_cuda_ratio((int64_t)p->columns * p->folded, width));
    p->lanes = (int)bf_cuda_most(1, bf_cuda_least(p->lanes, at->length / p->folded / 8));
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
        return p->kind != BF_KIND_DOT && (bf_dtype_bytes(p->to) == 8 || p->to == BF_F32);
    if (is_sum) return p->to == BF_F64 || (p->to == BF_F32 && !is_double);
    return p->kind != BF_KIND_DOT && (p->to == BF_F64 || (p->to == BF_F32 && !is_double));
}

bool bf_cuda_axis_is_approximate(const bf_cuda_axis_kernels *k, const bf_cuda_axis_params *p) {
    if (k->approximate_warps == NULL || !is_provable(p)) return false;
    if (p->at.offsets != NULL) return p->at.width == 1;
    return p->at.length > p->ddof;
}

/* Into how many parts tasks are divided so that blocks, which take one part after another, end at
 * about the same time: at least `least` parts. */
static int64_t even_parts(int64_t tasks, int64_t blocks, int64_t least) {
    int64_t best = least, most_busy = 0;
    for (int64_t parts = least; parts < least + 8; parts++) {
        const int64_t units = tasks * parts;
        const int64_t busy = 100 * units / (bf_cuda_ratio(units, blocks) * blocks);
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
    if (bf_cuda_axis_is_approximate(k, p))
        kernel = kernel == k->blocks ? k->approximate_blocks : k->approximate_columns;
    int resident = 1; /* if it fails, the launch does too */
    (void)bf_cuda_occupancy(cuda, kernel, bf_cuda_axis_shape(k, kernel, p), &resident);
    const int last = p->at.reduced - 1;
    const int64_t length = p->by_line ? p->at.reduced_shape[last] : p->at.length;
    const int64_t lines = p->at.length / length, tasks = p->tiles * lines;
    const int64_t blocks = (int64_t)resident * cuda->multiprocessors;
    const bool approximate_sum =
        bf_cuda_axis_is_approximate(k, p) && p->kind == BF_KIND_SUM && p->nan == BF_NAN_PROPAGATE;
    const int64_t needed =
        bf_cuda_ratio(length, approximate_sum ? (int64_t)APPROXIMATE_PIECE : BF_CUDA_AXIS_PIECE);
    const int64_t wanted = even_parts(tasks, blocks, bf_cuda_most(needed, blocks / tasks));
    const int64_t enough = bf_cuda_most(needed, bf_cuda_ratio(length * p->columns, LEAST_PIECE));
    const int64_t pieces = bf_cuda_most(1, bf_cuda_least(wanted, enough));
    p->piece = bf_cuda_ratio(bf_cuda_ratio(length, pieces), p->folded) * p->folded;
    p->line_pieces = bf_cuda_ratio(length, p->piece);
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
    p->tiles = bf_cuda_ratio(p->at.results, (int64_t)p->chunk * groups);
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
        (int)bf_cuda_least(k->width, k->proven_width); /* the second kernel has threads, too */
    if (k->proven_columns == NULL || !is_proven(p) || inner < 32) return false;
    if (at->results < threads * at->length) return false;
    p->inner = inner;
    p->parts = bf_cuda_ratio(inner, width * threads);
    p->columns = (int)bf_cuda_least(
        inner, bf_cuda_ratio(bf_cuda_ratio(inner, p->parts), 32 * width) * 32 * width);
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
    p->chunk = bf_cuda_axis_is_short(vectors) ? p->lanes : (int)bf_cuda_least(4, p->lanes);
    p->tiles = bf_cuda_ratio(at->results, (int64_t)p->chunk * (32 / p->lanes));
    p->by_line = false;
    p->proven = p->direct = true;
    return true;
}

/* Rows of very few elements are proven as columns are: each thread reads its own where they lie. */
static void set_scattered(const bf_cuda_axis_kernels *k, bf_cuda_axis_params *p) {
    const int width = p->proven ? (int)bf_cuda_least(k->width, k->proven_width) : k->width;
    p->room = 0;
    p->distance = p->piece = p->at.length;
    p->line_pieces = 1;
    p->inner = p->at.results;
    p->columns = (int)bf_cuda_least(p->inner, (int64_t)width * BF_CUDA_AXIS_THREADS);
    p->parts = p->tiles = bf_cuda_ratio(p->inner, p->columns);
    p->direct = true;
}

/* Long rows and segments that lie one behind another, of which all warps share the elements. Under
 * another policy for NaNs, elements that are not finite are left to windows. */
static bool set_spans(const bf_cuda *cuda, const bf_cuda_axis_kernels *k, bf_cuda_axis_params *p,
                      int64_t elements, int64_t mean) {
    if (k->spans == NULL || !bf_cuda_axis_is_approximate(k, p) || p->nan != BF_NAN_PROPAGATE ||
        elements < SPAN_LEAST || elements / p->at.results < mean)
        return false;
    const bf_cuda_shape shape = bf_cuda_axis_shape(k, k->spans, p);
    int resident = 0; /* none, too, if there is too little shared memory */
    (void)bf_cuda_occupancy(cuda, k->spans, shape, &resident);
    p->spans = (int64_t)resident * cuda->multiprocessors * (BF_CUDA_AXIS_WARP_THREADS / 32);
    if (p->spans == 0) return false;
    const int64_t ends = p->at.offsets != NULL ? p->at.results * BF_CUDA_AXIS_SPAN_END : 0;
    p->roundings = (double)((elements + ends) / p->spans / 32 + p->spans / 32 + 256);
    return true;
}

/* --- fibres --- */

/* Do fibres lie one behind another, those of both operands? */
static bool is_packed_rows(const bf_cuda_axis_params *p) {
    return is_packed(&p->at, 0) && (p->b == NULL || is_packed(&p->at, 1));
}

/* Are there several rows, each of very few elements? */
static bool is_short_rows(const bf_cuda_axis_kernels *k, const bf_cuda_axis_params *p) {
    const int64_t length = p->at.length;
    return is_packed_rows(p) && p->at.results > 1 && length > 1 && length <= SHORT_ROWS &&
           (length < 2 * k->vector || length % k->vector != 0);
}

static const void *plan_long_rows(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                  bf_cuda_axis_params *p) {
    const int64_t elements = p->at.results * p->at.length;
    if (p->kind != BF_KIND_SUM || !is_packed_rows(p)) return NULL;
    return set_spans(cuda, k, p, elements, SPAN_ROWS) ? k->spans : NULL;
}

static const void *plan_proven_rows(const bf_cuda *, const bf_cuda_axis_kernels *k,
                                    bf_cuda_axis_params *p) {
    return is_packed_rows(p) && p->at.results > 1 && set_proven_rows(k, p) ? k->warps : NULL;
}

static const void *plan_scattered(const bf_cuda *, const bf_cuda_axis_kernels *k,
                                  bf_cuda_axis_params *p) {
    const bool spreads = p->kind == BF_KIND_MOMENTS || p->kind == BF_KIND_SQUARES;
    const bool proven =
        spreads && bf_dtype_is_float(p->dtype) && k->proven_columns != NULL && is_proven(p);
    if (!is_short_rows(k, p) || p->at.length > SCATTERED ||
        (!proven && (k->direct_columns == NULL || p->op == BF_NORM)))
        return NULL;
    p->proven = proven;
    set_scattered(k, p);
    return k->columns;
}

static const void *plan_tiles(const bf_cuda *, const bf_cuda_axis_kernels *k,
                              bf_cuda_axis_params *p) {
    return is_short_rows(k, p) ? k->tiles : NULL;
}

static const void *plan_warps(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                              bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    if (has_columns(at) || at->reduced != 1 || !has_warp_rows(cuda, at, k->vector)) return NULL;
    p->by_line = false;
    set_warps(cuda, p, at->length, k->vector);
    p->direct = k->direct_warps != NULL && at->length <= DIRECT_ROWS;
    return k->warps;
}

static const void *plan_proven_columns(const bf_cuda *, const bf_cuda_axis_kernels *k,
                                       bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    if (!has_columns(at) || at->kept_strides[0][at->kept - 1] != 1) return NULL;
    return set_proven_columns(k, p) ? k->columns : NULL;
}

static const void *plan_columns(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                bf_cuda_axis_params *p) {
    if (!has_columns(&p->at) || !has_wide_columns(p)) return NULL;
    set_wide_columns(p, k->width, k->words);
    set_pieces(cuda, k, k->columns, p);
    if (p->pieces == 1 && p->lanes * p->folded == 1) {
        p->room = 0;
        p->direct = k->direct_columns != NULL && p->at.length <= DIRECT_COLUMNS;
    }
    return k->columns;
}

/* Everything else: a thread for each column, or many for a row. */
static const void *plan_blocks(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                               bf_cuda_axis_params *p) {
    const bf_cuda_axis_layout *at = &p->at;
    if (has_columns(at) && at->length > SHORT_ROWS)
        bf_cuda_axis_set_columns(p, at->kept_shape[at->kept - 1], at->length);
    else if (at->length <= SHORT_ROWS)
        bf_cuda_axis_set_columns(p, at->results, at->length);
    else {
        p->inner = 1;
        p->parts = 1;
        p->tiles = at->results;
        p->lanes = (int)bf_cuda_least(BF_CUDA_AXIS_THREADS,
                                      bf_cuda_ratio(bf_cuda_ratio(at->length, 8), 32) * 32);
    }
    set_pieces(cuda, k, k->blocks, p);
    return k->blocks;
}

static const strategy of_fibres[] = {
    {"spans of rows", plan_long_rows},   {"proven rows", plan_proven_rows},
    {"scattered rows", plan_scattered},  {"rows in tiles", plan_tiles},
    {"rows by warps", plan_warps},       {"proven columns", plan_proven_columns},
    {"columns by blocks", plan_columns}, {"blocks", plan_blocks},
};

/* --- segments --- */

static int64_t mean_of(const bf_cuda_axis_params *p) {
    return p->at.rows * p->at.width / p->at.results;
}

static const void *plan_segments_of_columns(const bf_cuda *, const bf_cuda_axis_kernels *k,
                                            bf_cuda_axis_params *p) {
    if (p->at.width == 1) return NULL;
    p->giant = bf_cuda_most(COLUMN_GIANT, p->at.rows / BF_CUDA_AXIS_WORD_SLOTS);
    return k->blocks;
}

static const void *plan_proven_segments(const bf_cuda *, const bf_cuda_axis_kernels *k,
                                        bf_cuda_axis_params *p) {
    const int64_t weight = p->element == 8 ? mean_of(p) * 8 / 5 : mean_of(p);
    if (k->proven_segments == NULL || weight >= PROVEN_SEGMENTS || !is_provable(p)) return NULL;
    p->giant = WARP_ROWS;
    p->folded = weight < 12 ? 2 : 1;
    p->lanes = p->chunk = 4;
    p->tiles = bf_cuda_ratio(p->at.results, 32);
    p->proven = p->direct = true;
    return k->warps;
}

static const void *plan_segments_in_tiles(const bf_cuda *, const bf_cuda_axis_kernels *k,
                                          bf_cuda_axis_params *p) {
    if (mean_of(p) >= bf_cuda_least(4 * k->vector, TILE_MEAN)) return NULL;
    p->giant = k->tile_capacity;
    return k->tiles;
}

static const void *plan_long_segments(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                      bf_cuda_axis_params *p) {
    if (p->kind != BF_KIND_SUM) return NULL;
    p->giant = WARP_ROWS;
    return set_spans(cuda, k, p, p->at.rows, SPAN_SEGMENTS) ? k->spans : NULL;
}

static const void *plan_segments_by_warps(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                          bf_cuda_axis_params *p) {
    const int64_t mean = mean_of(p);
    p->giant = WARP_ROWS;
    if (bf_cuda_axis_is_approximate(k, p) && mean > WARP_ROWS / 4 && mean <= 2 * WARP_ROWS)
        p->giant = 4 * WARP_ROWS;
    if (bf_cuda_axis_is_approximate(k, p) && mean >= LONG_SEGMENTS) p->piece = LONG_SEGMENTS;
    set_warps(cuda, p, mean, k->vector);
    p->direct = k->direct_warps != NULL && mean <= DIRECT_ROWS / 2;
    return k->warps;
}

static const strategy of_segments[] = {
    {"segments of columns", plan_segments_of_columns}, {"proven segments", plan_proven_segments},
    {"segments in tiles", plan_segments_in_tiles},     {"spans of segments", plan_long_segments},
    {"segments by warps", plan_segments_by_warps},
};

bf_cuda_axis_choice bf_cuda_axis_choose(const bf_cuda *cuda, const bf_cuda_axis_kernels *k,
                                        bf_cuda_axis_params *p) {
    const bool rows = p->at.offsets != NULL;
    p->by_line = !rows && is_by_line(&p->at);
    if (rows) bf_cuda_axis_set_columns(p, p->at.width, BF_CUDA_AXIS_PIECE);
    if (rows) p->piece = BF_CUDA_AXIS_LISTED_PIECE;
    for (const strategy *s = rows ? of_segments : of_fibres;; s++) { /* the last fits all */
        const void *kernel = s->plan(cuda, k, p);
        if (kernel != NULL) return {s->name, kernel};
    }
}
