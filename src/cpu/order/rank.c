/* The ranks of elements in their lines: of sorted elements, runs of equal keys share theirs. */
#include "cpu/order/sorting.h"
#include "rules/order/tie.h"

enum { PIECE = 1 << 13, BATCH = 512 /* words that are compared at a time */ };

typedef struct ranking {
    bf_order_sorter s; /* sorts keys */
    int64_t length;
    bf_rank_method method;
    char *sorted, *index; /* elements of all lines in order, and their positions */
    char *ranks;
} ranking;

/* Writes the ranks of elements [begin, end) of a line's order, which are equal, and those of the
 * `different` ones up to them. */
static void write_run(const ranking *r, const char *index, int64_t begin, int64_t end,
                      int64_t different, char *ranks) {
    const double average = bf_tie_average(begin, end);
    for (int64_t i = begin, at; i < end; i++) {
        const int64_t rank = bf_tie_rank(r->method, i, begin, end, different);
        memcpy(&at, index + 8 * i, 8);
        memcpy(ranks + 8 * at, r->method == BF_RANK_AVERAGE ? (const void *)&average : &rank, 8);
    }
}

/* Finds the runs of a line batch by batch; a batch's keys stand behind the last one before it. */
static void rank_line(const ranking *r, int64_t first) {
    char words[8 * (BATCH + 1)], steps[8 * (BATCH + BF_ORDER_SLACK)],
        begins[8 * (BATCH + BF_ORDER_SLACK)];
    const int width = r->s.word_bytes;
    const char *sorted = r->sorted + first * r->s.bytes, *index = r->index + 8 * first;
    char *ranks = r->ranks + 8 * first;
    int64_t begin = 0, different = 1, end;
    r->s.element->keys(&r->s.code, sorted, 1, words);
    for (int64_t at = 1, n; at < r->length; at += n) {
        n = r->length - at < BATCH ? r->length - at : BATCH;
        r->s.element->keys(&r->s.code, sorted + at * r->s.bytes, n, words + width);
        const int64_t found = r->s.word->steps(words + width, n, at, steps, begins);
        for (int64_t i = 0; i < found; i++) {
            memcpy(&end, begins + 8 * i, 8);
            write_run(r, index, begin, end, different++, ranks);
            begin = end;
        }
        memmove(words, words + n * width, (size_t)width);
    }
    write_run(r, index, begin, r->length, different, ranks);
}

/* Ranks pairs, which are no words: one by one. */
static void rank_pairs(const ranking *r, int64_t first) {
    const char *sorted = r->sorted + first * r->s.bytes;
    int64_t begin = 0, different = 1;
    for (int64_t end = 1; end <= r->length; end++) {
        if (end < r->length && bf_order_same_pair(sorted + 16 * end)) continue;
        write_run(r, r->index + 8 * first, begin, end, different++, r->ranks + 8 * first);
        begin = end;
    }
}

static bf_status rank_lines(void *arg, int worker, int64_t first, int64_t n) {
    const ranking *r = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        if (r->s.bytes == 16)
            rank_pairs(r, i * r->length);
        else
            rank_line(r, i * r->length);
    }
    return BF_OK;
}

bf_status bf_cpu_rank(bf_context *context, const bf_order_lines *lines, bf_rank_method method,
                      void *ranks) {
    const int64_t all = lines->count * lines->length;
    ranking r = {.s = bf_order_sorter_of_keys(context, lines->dtype),
                 .length = lines->length,
                 .method = method,
                 .ranks = ranks};
    r.sorted = bf_order_alloc((size_t)(all * r.s.bytes));
    r.index = bf_order_alloc((size_t)(8 * all));
    bf_status status = r.sorted != NULL && r.index != NULL
                           ? bf_cpu_sort(context, lines, r.sorted, r.index)
                           : bf_fail(context, BF_E_MEMORY, "no memory to rank");
    if (status == BF_OK)
        status = bf_parallel_watched(context, bf_workers(context, all, BF_ORDER_LEAST),
                                     lines->count, PIECE / lines->length + 1, 0, rank_lines, &r);
    bf_free(r.sorted);
    bf_free(r.index);
    return status;
}
