/* Reductions by offsets: each column of a segment is a line. Work is cut by rows and segments
 * alike, so that neither long nor many empty segments hold up a worker; giants are shared out. */
#include "cpu/axis/places.h"
#include "cpu/axis/stretches.h"

enum {
    BYTES_LEAST = 1 << 20, /* so many are worth a thread */
    PIECE_BYTES = 1 << 18, /* a worker takes so many at a time */
    SEGMENT_BYTES = 32     /* what a segment costs beside its elements */
};

typedef struct division {
    bf_axis_job job;
    const bf_rows *rows;
    int workers;
    int64_t total;       /* units of work: bytes, and SEGMENT_BYTES for each segment */
    _Atomic bool giants; /* there is a segment that is shared out */
    bool stretches;      /* loops take short segments, many at once */
} division;

static int64_t row_bytes(const division *x) {
    return x->rows->width * bf_dtype_bytes(x->job.operands->dtype);
}

/* Units of work before segment s. */
static int64_t work_before(const division *x, int64_t s) {
    int64_t rows = bf_place_at(x->rows, s) - bf_place_at(x->rows, 0);
    return s * SEGMENT_BYTES + rows * row_bytes(x);
}

/* The first segment with so much work before it; the number of segments if there is none. */
static int64_t find_segment(const division *x, int64_t work) {
    int64_t low = 0, high = x->rows->slots;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (work_before(x, middle) >= work)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The columns from `first` on of rows [begin, end). */
static bf_lines lines_of(const division *x, int64_t begin, int64_t end, int64_t first) {
    bf_lines lines = bf_lines_of_rows(x->job.operands, x->rows->width, begin, first);
    lines.length = lines.shape[0] = end - begin;
    return lines;
}

static bool is_giant(const division *x, const bf_lines *lines) {
    return x->workers > 1 && lines->length > 0 && bf_lines_are_long(&x->job, lines);
}

static void take_segment(division *x, bf_taker *t, int64_t s, int64_t begin, int64_t end) {
    for (int64_t first = 0; first < x->rows->width; first += BF_LINES_MOST) {
        bf_lines lines = lines_of(x, begin, end, first);
        if (is_giant(x, &lines)) {
            x->giants = true;
            continue;
        }
        bf_taker_begin(&x->job, t, lines.lines);
        if (end > begin) bf_taker_take(&x->job, t, &lines, 0, lines.length);
        for (int l = 0; l < lines.lines; l++)
            bf_axis_write(&x->job, bf_taker_words(&x->job, t, l), s * x->rows->width + first + l);
    }
}

/* Takes segments [s, last) as long as they are short, some at once. Returns the next one. */
static int64_t take_stretches(division *x, bf_taker *t, int64_t s, int64_t last) {
    const bf_operands *o = x->job.operands;
    const int64_t bytes = bf_dtype_bytes(o->dtype);
    bf_stretches some;
    some.n = 0;
    int64_t begin = bf_place_at(x->rows, s);
    for (; some.n < BF_STRETCHES && s + some.n < last; some.n++) {
        int64_t end = bf_place_at(x->rows, s + some.n + 1);
        if (end - begin > BF_STRETCH_MOST) break;
        some.a[some.n] = (const char *)o->a + begin * bytes;
        some.b[some.n] = (const char *)(o->b != NULL ? o->b : o->a) + begin * bytes;
        some.length[some.n] = end - begin;
        begin = end;
    }
    if (some.n > 0) bf_reduce_stretches(&x->job, t, &some, s);
    return s + some.n;
}

static bf_status take_piece(void *arg, int worker, int64_t first, int64_t n) {
    division *x = arg;
    bf_taker *t = bf_taker_of(&x->job, worker);
    int64_t s = find_segment(x, first), last = find_segment(x, first + n);
    while (s < last) {
        int64_t next = x->stretches ? take_stretches(x, t, s, last) : s;
        if (next == s) {
            take_segment(x, t, s, bf_place_at(x->rows, s), bf_place_at(x->rows, s + 1));
            next++;
        }
        s = next;
    }
    return BF_OK;
}

static bf_status take_giants(division *x) {
    bf_status status = BF_OK;
    int64_t begin = bf_place_at(x->rows, 0), end;
    for (int64_t s = 0; s < x->rows->slots; s++, begin = end) {
        end = bf_place_at(x->rows, s + 1);
        for (int64_t first = 0; first < x->rows->width; first += BF_LINES_MOST) {
            bf_lines lines = lines_of(x, begin, end, first);
            if (!is_giant(x, &lines)) break;
            status = bf_reduce_long(&x->job, x->workers, &lines, s * x->rows->width + first, 1);
            if (status != BF_OK) return status;
        }
    }
    return status;
}

/* Takes all segments, in pieces of work. */
static bf_status take_segments(division *x) {
    bf_context *context = x->job.context;
    x->total = work_before(x, x->rows->slots);
    bf_status status =
        bf_parallel_watched(context, x->workers, x->total, PIECE_BYTES, x->total, take_piece, x);
    return status == BF_OK && x->giants ? take_giants(x) : status;
}

static bf_status reduce_segments(bf_context *context, const bf_operands *operands,
                                 const bf_rows *rows, const bf_results *results) {
    division x = {.rows = rows};
    bool skip;
    bf_status status = bf_check_places(context, rows, results, &skip);
    if (status != BF_OK || skip) return status;
    int64_t bytes = rows->count * rows->width * bf_dtype_bytes(operands->dtype);
    x.workers = bf_workers(context, bytes + rows->slots * SEGMENT_BYTES, BYTES_LEAST);
    bf_axis_job_open(&x.job, context, operands, results);
    x.stretches = rows->width == 1 && bf_can_take_stretches(&x.job);
    if (x.stretches) x.job.more = bf_stretches_room(&x.job);
    status = bf_axis_rooms_open(&x.job, x.workers);
    if (status == BF_OK) status = take_segments(&x);
    return bf_axis_job_close(&x.job, status);
}

bf_status bf_cpu_reduce_segments(bf_context *context, const bf_operands *operands,
                                 const bf_rows *rows, const bf_results *results) {
    bf_environment environment = bf_environment_enter();
    bf_status status = reduce_segments(context, operands, rows, results);
    bf_environment_leave(environment);
    return status;
}
