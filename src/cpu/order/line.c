/* The values of one line. */
#include "cpu/order/sorting.h"

#include <string.h>

size_t bf_order_line_bytes(const bf_sorter *s, int64_t n) {
    if (s->bytes < 4) return (size_t)(8 * n);
    if (n > s->word->scratch_most && !bf_order_has_nans(&s->code, s->bytes))
        n = s->word->scratch_most;
    return (size_t)(s->bytes * n);
}

void bf_order_line(const bf_sorter *s, const char *from, int64_t n, char *to, char *scratch) {
    if (s->bytes == 1 && n >= BF_ORDER_COUNTED) {
        bf_order_count_bytes(s, from, n, to);
        return;
    }
    bool narrow = s->bytes < 4;
    char *words = narrow ? scratch : to, *rest = narrow ? scratch + 4 * n : scratch;
    int64_t live = s->element->split(&s->code, from, n, words, rest), nans = n - live;
    char *first = to + (s->nan_first ? nans * s->bytes : 0);
    if (nans > 0) {
        if (!narrow) words = memmove(first, words, (size_t)(live * s->bytes));
        memcpy(s->nan_first ? to : to + live * s->bytes, rest, (size_t)(nans * s->bytes));
    }
    s->word->sort(words, rest, live, false);
    s->element->join(&s->code, words, live, first);
}

void bf_order_short_lines(const bf_sorter *s, const char *from, int64_t n, int64_t count, char *to,
                          char *scratch) {
    const int64_t bytes = n * s->bytes;
    for (int64_t i = 0; i < count; i++) {
        if (n <= s->element->few)
            i += s->element->lines(&s->code, from + i * bytes, n, count - i, to + i * bytes);
        if (i < count) bf_order_line(s, from + i * bytes, n, to + i * bytes, scratch);
    }
}

bf_status bf_order_long_line(bf_context *context, const bf_sorter *s, const char *from, int64_t n,
                             char *to, char *scratch) {
    if (s->bytes < 4) return bf_order_count_long(context, s, from, n, to);
    return bf_order_divide(context, s, n * s->bytes, from, n, to, scratch);
}
