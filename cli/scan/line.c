#include "scan/line.h"

#include "scan/span.h"

#include <stdlib.h>
#include <string.h>

bf_status line_open(line *l, running *of) {
    *l = (line){.of = of};
    return of->windows ? BF_OK : bf_state_create(of->context, of->op, of->dtype, &l->state);
}

void line_close(line *l) {
    bf_state_destroy(l->state);
    buffer_free(&l->held);
    buffer_free(&l->keys);
}

/* Makes room for n results. */
static bool reserve(running *x, int64_t n, bf_array *results) {
    void *const at = buffer_take(&x->results, (size_t)n * running_bytes(x));
    *results = bf_array_of(x->to, at, n);
    return at != NULL;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The elements of a window that follow its own. */
static int64_t after_of(const running *x) { return x->own.center ? (x->own.window - 1) / 2 : 0; }

/* The elements of a window before its own. */
static int64_t before_of(const running *x) { return x->own.window - 1 - after_of(x); }

/* Whether an element is in the window of one that has a result. What is left then are windows one
 * behind another, which is why a step is as long as a window. */
static bool is_wanted(const running *x, int64_t number) {
    const int64_t behind = number % x->own.step;
    return behind <= after_of(x) || x->own.step - behind <= before_of(x);
}

static bf_status hold(line *l, const char *numbers, int64_t n) {
    const running *x = l->of;
    const size_t bytes = running_element(x);
    if (n == 0) return BF_OK;
    const int64_t limit = running_limit(x), all = l->n + n;
    if (limit > 0 && all > limit / (int64_t)bytes) return BF_E_MEMORY;
    char *const to = buffer_grow(&l->held, (size_t)all * bytes);
    if (!to) return BF_E_MEMORY;
    if (!x->sparse) {
        memcpy(to + (size_t)l->n * bytes, numbers, (size_t)n * bytes);
        l->n += n;
    }
    for (int64_t i = 0; x->sparse && i < n; i++)
        if (is_wanted(x, l->came + i))
            memcpy(to + (size_t)l->n++ * bytes, numbers + (size_t)i * bytes, bytes);
    l->came += n;
    return BF_OK;
}

static bf_status hold_keys(line *l, const void *on, int64_t n) {
    const size_t bytes = bf_dtype_size(l->of->on);
    char *const to = buffer_grow(&l->keys, ((size_t)l->n + (size_t)n) * bytes);
    if (to && n > 0) memcpy(to + (size_t)l->n * bytes, on, (size_t)n * bytes);
    return to ? BF_OK : BF_E_MEMORY;
}

/* How many of the elements are in no window to come. */
static int64_t count_needless(const line *l) {
    const running *x = l->of;
    const int64_t step = x->roll.step, before = before_of(x);
    int64_t n = 0;
    if (!x->own.on) return l->next > before ? (l->next - before) / step * step - l->first : 0;
    const int64_t next = l->next - l->first < l->n ? l->next - l->first : l->n - 1;
    while (n < l->n && !span_may_reach(x, l->keys.at, n, l->keys.at, next)) n++;
    return n;
}

/* The number of the first element whose window may have elements that are to come. */
static int64_t find_end(const line *l, bool last) {
    const running *x = l->of;
    const int64_t all = l->first + l->n;
    int64_t end = l->next;
    if (last || !x->own.center) return all;
    if (!x->own.on) return all - after_of(x);
    while (end < all && !span_may_reach(x, l->keys.at, end - l->first, x->reached, 0)) end++;
    return end;
}

static void drop(line *l) {
    const int64_t some = count_needless(l);
    const size_t bytes = running_element(l->of), keys = bf_dtype_size(l->of->on);
    if (some <= 0) return;
    l->n -= some;
    l->first += some;
    buffer_drop(&l->held, (size_t)some * bytes, (size_t)l->n * bytes);
    buffer_drop(&l->keys, (size_t)some * keys, (size_t)l->n * keys);
}

static bf_status roll(const line *l, const bf_array *all) {
    const running *x = l->of;
    const bf_array keys = bf_array_of(x->on, l->keys.at, l->n);
    bf_array held[] = {bf_array_of(x->dtype, l->held.at, l->n),
                       bf_array_of(x->dtype, l->held.at + bf_dtype_size(x->dtype), l->n)};
    bf_rolling_options how = x->roll;
    if (x->own.on) {
        how.on = &keys;
        how.span = &x->span;
    }
    held[0].strides[0] = held[1].strides[0] = running_arrays(x);
    return running_roll(x, held, 0, &how, all);
}

/* Gives the results of elements [next, end) of the line. */
static bf_status take_results(line *l, int64_t end, bf_array *results) {
    running *x = l->of;
    const int64_t step = x->roll.step, skipped = (l->next - l->first) / step;
    bf_array all;
    if (!reserve(x, (l->n + step - 1) / step, &all)) return BF_E_MEMORY;
    const bf_status st = roll(l, &all);
    if (st != BF_OK) return st;
    const int64_t n = (end - l->next + step - 1) / step;
    *results = bf_array_of(x->to, (char *)all.data + (size_t)skipped * running_bytes(x), n);
    l->next += n * step;
    drop(l);
    return BF_OK;
}

/* Each part begins with the elements of the windows before it once more: so it has as many. */
static bf_status take_windows(line *l, const void *numbers, const void *on, int64_t n, bool last,
                              bf_array *results) {
    const running *x = l->of;
    bf_status st = on ? hold_keys(l, on, n) : BF_OK;
    if (st == BF_OK) st = hold(l, numbers, n);
    const int64_t end = find_end(l, last);
    const bool worth = last || x->prompt || end - l->next >= before_of(x);
    if (st == BF_OK && worth && end > l->next) st = take_results(l, end, results);
    return st;
}

/* ---- both ------------------------------------------------------------------------------------ */

bf_status line_take(line *l, const void *numbers, const void *on, int64_t n, bool last,
                    bf_array *results) {
    running *x = l->of;
    *results = bf_array_of(x->to, NULL, 0);
    if (x->windows) return take_windows(l, numbers, on, n, last, results);
    if (n == 0) return BF_OK;
    const bf_array block = bf_array_of(x->dtype, numbers, n);
    return reserve(x, n, results) ? bf_state_scan(l->state, &block, &x->scan, results)
                                  : BF_E_MEMORY;
}
