/* verify: histograms, compared by the checksum of their saved form: edges, counts and sums. */
#include "verify/verify.h"

#include <stdlib.h>

enum { CUTS = 4 };

outcome verify_histogram_result(const bf_histogram *h) {
    const size_t size = bf_histogram_save_size(h);
    void *bytes = malloc(size);
    if (!bytes) return (outcome){.status = BF_E_MEMORY};
    bf_histogram_save(h, bytes);
    const outcome r = verify_saved_checksum(bytes, size);
    free(bytes);
    return r;
}

bf_status verify_histogram_like(bf_context *context, const bf_histogram *from, bf_histogram **to) {
    const size_t size = bf_histogram_save_size(from);
    void *bytes = malloc(size);
    if (!bytes) return BF_E_MEMORY;
    bf_histogram_save(from, bytes);
    const bf_status st = bf_histogram_load(context, bytes, size, to);
    if (st == BF_OK) bf_histogram_clear(*to);
    free(bytes);
    return st;
}

static bool has_weights(const subject *s) { return s->b.shape[0] > 0; }

/* Counts over the automatic range, or from -1 to 1 if that is too wide. With weights there are
 * fewer bins, so that each sums many. */
static bf_status count_elements(bf_context *context, const subject *s, const bf_array *a,
                                const bf_array *b, bf_histogram **h) {
    const bool weights = has_weights(s);
    bf_histogram_options how = BF_HISTOGRAM_OPTIONS(.bins = weights ? 10 : 100, .lo = -1, .hi = 1);
    if (weights) how.weights = s->b.dtype;
    const bf_status st = bf_histogram_of(context, a, weights ? b : NULL, &how, h);
    if (st != BF_E_ARGUMENT) return st;
    how.range = 1;
    return bf_histogram_of(context, a, weights ? b : NULL, &how, h);
}

/* Counts arrays in the memory of the device. */
static outcome in_one_pass(bf_context *context, const subject *s) {
    bf_array a = s->a, b = s->b;
    bf_histogram *h = NULL;
    outcome r = {.status = verify_move(context, &s->a, &a)};
    if (r.status == BF_OK) r.status = verify_move(context, &s->b, &b);
    if (r.status == BF_OK) r.status = count_elements(context, s, &a, &b, &h);
    if (r.status == BF_OK) r = verify_histogram_result(h);
    bf_histogram_destroy(h);
    verify_unmove(context, &s->a, &a);
    verify_unmove(context, &s->b, &b);
    return r;
}

static bf_status absorb_part(bf_histogram *h, const subject *s, int i) {
    const int64_t n = s->a.shape[0], cuts[CUTS] = {0, n / 7, n - n / 3, n};
    const bf_array a = verify_slice(&s->a, cuts[i], cuts[i + 1]);
    if (!has_weights(s)) return bf_histogram_absorb(h, &a, NULL);
    const bf_array b = verify_slice(&s->b, cuts[i], cuts[i + 1]);
    return bf_histogram_absorb(h, &a, &b);
}

/* Counts three parts from the host's memory. Merges the third into the second, then the second into
 * the first. */
static outcome in_parts(bf_context *context, const subject *s) {
    bf_histogram *parts[CUTS - 1] = {NULL, NULL, NULL};
    outcome r = {.status = count_elements(context, s, &s->a, &s->b, &parts[0])};
    if (r.status == BF_OK) bf_histogram_clear(parts[0]);
    for (int i = 1; i < CUTS - 1 && r.status == BF_OK; i++)
        r.status = verify_histogram_like(context, parts[0], &parts[i]);
    for (int i = 0; i < CUTS - 1 && r.status == BF_OK; i++) r.status = absorb_part(parts[i], s, i);
    if (r.status == BF_OK) r.status = bf_histogram_merge(parts[1], parts[2]);
    if (r.status == BF_OK) r.status = bf_histogram_merge(parts[0], parts[1]);
    if (r.status == BF_OK) r = verify_histogram_result(parts[0]);
    for (int i = 0; i < CUTS - 1; i++) bf_histogram_destroy(parts[i]);
    return r;
}

int verify_histograms(const machine *m, const char *name, const bf_array *all, verdict *v) {
    subject s = {.op = "hist", .data = name, .a = *all, .whole = in_one_pass, .parts = in_parts};
    s.b = verify_slice(all, 0, 0);
    const int code = verify_row(m, &s, v);
    if (code != EXIT_DONE) return code;
    s.op = "weights";
    s.b = *all;
    return verify_row(m, &s, v);
}
