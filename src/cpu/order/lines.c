/* Lines shared out among threads. */
#include "cpu/order/select/select.h"

enum {
    LONG = 1 << 18, /* elements from which on all threads may share a line */
    LINE_COST = 64, /* elements that the work about a line is worth */
    WORTH = 1 << 15 /* elements that are worth a thread */
};

bool bf_finder_open(bf_finder *finder, bf_context *context) {
    const bf_isa *isa = context->cpu->isa;
    const size_t few = BF_FIND_FEW * 8 + BF_CPU_LINE;
    *finder = (bf_finder){.context = context, .isa = isa, .loops = isa->select};
    if (!bf_rooms_open(context, bf_host_threads(context), BF_CPU_LINE + 2 * few)) return false;
    *finder = bf_finder_of_worker(finder, 0);
    finder->context = context;
    return true;
}

bf_finder bf_finder_of_worker(const bf_finder *finder, int worker) {
    bf_finder f = *finder;
    f.few[0] = (char *)bf_room(finder->context, worker) + BF_CPU_LINE;
    f.few[1] = f.few[0] + BF_FIND_FEW * 8 + BF_CPU_LINE;
    f.context = NULL;
    return f;
}

static int64_t count_elements(const bf_order_lines *lines) {
    if (lines->offsets == NULL) return lines->count * lines->length;
    return lines->offsets[lines->count] - lines->offsets[0];
}

int bf_line_workers(bf_context *context, const bf_order_lines *lines) {
    return bf_workers(context, count_elements(lines) + lines->count * LINE_COST, WORTH);
}

typedef struct sharing {
    const bf_finder *finder;
    const bf_order_lines *lines;
    int64_t shared; /* elements from which on all threads share a line */
    bf_line_work *work;
    void *arg;
} sharing;

static bool is_shared(const sharing *s, int64_t l) {
    return bf_line_length(s->lines, l) >= s->shared;
}

static bf_status take_lines(void *arg, int worker, int64_t first, int64_t n) {
    const sharing *s = arg;
    const bf_finder finder = bf_finder_of_worker(s->finder, worker);
    bf_status status = BF_OK;
    for (int64_t l = first; status == BF_OK && l < first + n; l++)
        if (!is_shared(s, l)) status = s->work(s->arg, &finder, worker, l);
    return status;
}

/* Returns how many lines are left for one worker each. */
static int64_t share_lines(const sharing *s, bf_status *status) {
    int64_t left = 0;
    for (int64_t l = 0; *status == BF_OK && l < s->lines->count; l++) {
        if (is_shared(s, l))
            *status = s->work(s->arg, s->finder, 0, l);
        else
            left++;
    }
    return left;
}

bf_status bf_each_line(const bf_finder *finder, const bf_order_lines *lines, int workers,
                       bf_line_work *work, void *arg) {
    const int64_t elements = count_elements(lines), share = elements / (2 * workers);
    const int64_t piece = WORTH / (elements / lines->count + LINE_COST) + 1;
    const sharing s = {finder, lines, share > LONG ? share : LONG, work, arg};
    bf_status status = BF_OK;
    if (lines->length >= s.shared && share_lines(&s, &status) == 0) return status;
    if (status != BF_OK) return status;
    return bf_parallel_watched(finder->context, workers, lines->count, piece,
                               elements * bf_dtype_bytes(lines->dtype), take_lines, (void *)&s);
}
