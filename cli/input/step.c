#include "input/step.h"

#include "runtime/report.h"

enum { STEP_ROWS = 1 << 17 /* so many are taken at a time of inputs that are copied */ };

/* The length of a text or a stream shows at its end. */
static bool same_shape(const source *a, const source *b, bool flat) {
    const bool text = a->text || b->text;
    if (flat && text && (a->layout.ndim > 1 || b->layout.ndim > 1)) return false;
    if (a->raw || b->raw || text) return a->count < 0 || b->count < 0 || a->count == b->count;
    bool same = a->layout.ndim == b->layout.ndim;
    for (int d = 0; same && d < a->layout.ndim; d++)
        same = a->layout.shape[d] == b->layout.shape[d];
    return same;
}

int step_check_shapes(rows *const inputs[], int n, bool flat) {
    const source *first = &inputs[0]->source;
    for (int i = 1; i < n; i++)
        if (!same_shape(first, &inputs[i]->source, flat))
            return fail(EXIT_DATA, inputs[i]->source.name, "%s: it is not that of %s",
                        bf_status_string(BF_E_SHAPE), first->name);
    return EXIT_DONE;
}

/* The first input with a column whose dtype is not that of the very first one; NULL: there is none.
 */
static const rows *find_other(rows *const inputs[], int n, bf_dtype *dtype) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < inputs[i]->columns; k++) {
            *dtype = rows_dtype(inputs[i], k);
            if (*dtype != rows_dtype(inputs[0], 0)) return inputs[i];
        }
    return NULL;
}

static bool all_can_be(rows *const inputs[], int n, bf_dtype dtype) {
    bool can = true;
    for (int i = 0; i < n; i++) can = can && rows_can_be(inputs[i], dtype);
    return can;
}

/* Text has the dtype of an array beside it. */
static void demand_dtypes(rows *const inputs[], int n) {
    for (int i = 0; i < n; i++) {
        if (inputs[i]->source.text) continue;
        for (int k = 0; k < n; k++)
            if (k != i) rows_demand(inputs[k], rows_dtype(inputs[i], 0));
    }
}

static void match_scales(rows *const inputs[], int n) {
    int most = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < inputs[i]->columns; k++) {
            const int scale = rows_scale(inputs[i], k);
            most = scale > most ? scale : most;
        }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < inputs[i]->columns; k++) rows_raise_scale(inputs[i], k, most);
}

int step_match(rows *const inputs[], int n) {
    bf_dtype dtype;
    demand_dtypes(inputs, n);
    for (int i = 0; i < rows_candidates(inputs[0]) && find_other(inputs, n, &dtype); i++) {
        const bf_dtype candidate = rows_candidate(inputs[0], i);
        if (!all_can_be(inputs, n, candidate)) continue;
        for (int k = 0; k < n; k++) rows_take_as(inputs[k], candidate);
    }
    const rows *const other = find_other(inputs, n, &dtype);
    if (!other) match_scales(inputs, n);
    for (int i = 0; i < n && !step_may_resettle(inputs, n); i++) rows_forget(inputs[i]);
    if (!other) return EXIT_DONE;
    return fail(EXIT_DATA, other->source.name, "dtypes do not match: this is %s, %s is %s",
                bf_dtype_name(dtype), inputs[0]->source.name,
                bf_dtype_name(rows_dtype(inputs[0], 0)));
}

int step_prepare(rows *const inputs[], int n) {
    bool mixed = false;
    int code = EXIT_DONE;
    for (int i = 1; i < n; i++)
        mixed |= inputs[i]->source.layout.fortran != inputs[0]->source.layout.fortran;
    for (int i = 0; i < n && code == EXIT_DONE; i++) {
        inputs[i]->options.ordered |= mixed;
        code = rows_prepare(inputs[i]);
    }
    return code;
}

int64_t step_rows(rows *const inputs[], int n, int64_t most) {
    if (n == 1 && inputs[0]->source.text) return 0;
    for (int i = 0; i < n; i++) {
        const int64_t step = rows_in_step(inputs[i], STEP_ROWS);
        most = step < most ? step : most;
    }
    return most;
}

static int refuse_length(const source *first, const source *other, bool fewer) {
    int code = source_check(first);
    if (code == EXIT_DONE) code = source_check(other);
    if (code != EXIT_DONE) return code;
    return fail(EXIT_DATA, other->name, "%s: it holds %s elements than %s",
                bf_status_string(BF_E_SHAPE), fewer ? "fewer" : "more", first->name);
}

int step_next(rows *const inputs[], int n, int64_t most, rows_chunk chunks[]) {
    for (int i = 0; i < n; i++) {
        const int code = rows_next(inputs[i], most, &chunks[i]);
        if (code != EXIT_DONE) return code;
        if (chunks[i].n != chunks[0].n)
            return refuse_length(&inputs[0]->source, &inputs[i]->source, chunks[i].n < chunks[0].n);
    }
    return EXIT_DONE;
}

bool step_may_resettle(rows *const inputs[], int n) {
    bool may = false;
    for (int i = 0; i < n; i++) may = may || rows_may_resettle(inputs[i]);
    return may;
}

void step_again(rows *const inputs[], int n) {
    for (int i = 0; i < n; i++) rows_again(inputs[i]);
}

int64_t step_bytes(rows *const inputs[], int n) {
    int64_t sum = 0, longest = -1;
    bool text = false, known = true;
    for (int i = 0; i < n; i++) {
        const int64_t bytes = rows_bytes(inputs[i]);
        text = text || inputs[i]->source.text;
        known = known && bytes >= 0;
        longest = bytes > longest ? bytes : longest;
        sum += bytes;
    }
    return known ? sum : text || longest < 0 ? -1 : n * longest;
}
