/* Lines of pairs that memory does not hold: pieces are sorted and written to a file, and merged
 * from there to another. Their words are what is compared. */
#include "base/spill/merger.h"
#include "cpu/order/select/select.h"
#include "cpu/order/sorting.h"

enum {
    WORDS = 2,       /* words of a pair */
    EACH = 16 + 40,  /* bytes that sorting a pair takes, with its copy */
    LEAST = 1 << 10, /* pairs of a piece, at least */
};

static bf_status sort_pieces(bf_context *context, const bf_order_lines *line, bf_merger *m) {
    const int64_t most = bf_merger_share(2) / EACH, room = most > LEAST ? most : LEAST;
    char *pairs = bf_alloc((size_t)room * 16);
    bf_order_lines piece = *line;
    bf_status status = pairs == NULL ? bf_fail(context, BF_E_MEMORY, "no memory to sort") : BF_OK;
    for (int64_t at = 0; at < line->length && status == BF_OK; at += piece.length) {
        piece.values = (const char *)line->values + at * 16;
        piece.length = line->length - at < room ? line->length - at : room;
        status = bf_cpu_sort(context, &piece, pairs, NULL);
        if (status == BF_OK)
            status = bf_merger_add(m, (const uint64_t *)(const void *)pairs, WORDS * piece.length);
        if (status == BF_OK) status = bf_merger_cut(m);
    }
    bf_free(pairs);
    return status;
}

static bf_status sort_line(bf_context *context, const bf_order_lines *line, bf_spool *file) {
    bf_merger m;
    const uint64_t *pair;
    bf_status status = bf_merger_open(&m, context, WORDS, WORDS, WORDS);
    if (status == BF_OK) status = sort_pieces(context, line, &m);
    if (status == BF_OK) status = bf_merger_start(&m, bf_merger_share(2));
    while (status == BF_OK) {
        status = bf_merger_next(&m, &pair);
        if (status != BF_OK || pair == NULL) break;
        status = bf_spool_add(file, pair, 16);
    }
    bf_merger_close(&m);
    return status;
}

bf_status bf_order_sort_pairs_to_file(bf_context *context, const bf_order_lines *lines,
                                      bf_spool *file) {
    bf_status status = bf_spool_open(file, context);
    for (int64_t l = 0; l < lines->count && status == BF_OK; l++) {
        const bf_order_lines line = {
            .dtype = BF_PAIR,
            .values = (const char *)lines->values + 16 * bf_line_begin(lines, l),
            .count = 1,
            .length = bf_line_begin(lines, l + 1) - bf_line_begin(lines, l)};
        if (line.length > 0) status = sort_line(context, &line, file);
    }
    return status == BF_OK ? bf_spool_map(file) : status;
}
