/* Merging quantiles: steps that are counted are added. Collected places are added, too: each rank
 * has its own behind those of the ranks before it, among zeros. */
#include "api/comm/comm.h"

#include "api/order/quantiles.h"
#include "api/runtime/enter.h"
#include "base/memory.h"

/* What each rank tells first: its elements, its words, and the ends of what it met in each range.
 */
enum { ELEMENTS, USED, ENDS, SUMMARY_MOST = ENDS + 4 * BF_RANGES_MOST };

typedef struct merging {
    bf_comm *comm;
    bf_quantiles *quantiles;
    int64_t *all;   /* the summaries of all ranks */
    bf_tally tally; /* the tally of all ranks */
} merging;

static int64_t summary_words(const merging *m) {
    return ENDS + 4 * (int64_t)m->quantiles->ranges.count;
}

static uint64_t key_of(const bf_quantiles *q) {
    const bf_ranges *r = &q->ranges;
    uint64_t key = bf_comm_key(BF_COMM_MERGE_QUANTILES, (uint64_t)q->dtype);
    const int64_t numbers[] = {q->method, q->nan,  q->m,     q->pass,
                               q->all,    q->nans, r->count, r->collect};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        key = bf_comm_key(key, (uint64_t)numbers[i]);
    for (int i = 0; i < q->m; i++) key = bf_comm_key(key, bf_load_bits(&q->q[i], 8));
    for (int i = 0; i < r->count; i++) {
        const bf_u128 ends[] = {r->lo[i], r->width[i]};
        for (int e = 0; e < 2; e++)
            key = bf_comm_key(bf_comm_key(key, (uint64_t)ends[e]), (uint64_t)(ends[e] >> 64));
    }
    return key;
}

static bf_status open_merging(merging *m) {
    bf_context *context = m->comm->context;
    const bf_quantiles *q = m->quantiles;
    if (q == NULL) return bf_fail(context, BF_E_ARGUMENT, "no quantiles to merge");
    if (q->done) return bf_fail(context, BF_E_STATE, "all quantiles are found");
    m->all = bf_alloc((size_t)m->comm->carrier.ranks * SUMMARY_MOST * sizeof *m->all);
    m->tally.words = bf_zeros(BF_TALLY_WORDS * sizeof *m->tally.words);
    return m->all != NULL && m->tally.words != NULL
               ? BF_OK
               : bf_fail(context, BF_E_MEMORY, "no memory to merge");
}

static void put_summary(const merging *m, int64_t *summary) {
    const bf_tally *t = &m->quantiles->tally;
    summary[ELEMENTS] = t->n;
    summary[USED] = t->used;
    for (int i = 0; i < m->quantiles->ranges.count; i++) {
        memcpy(summary + ENDS + 4 * i, &t->least[i], sizeof t->least[i]);
        memcpy(summary + ENDS + 4 * i + 2, &t->most[i], sizeof t->most[i]);
    }
}

/* Adds what a rank tells; words: of those before it. Returns false if it is too much. */
static bool add_summary(merging *m, const int64_t *summary, int64_t words) {
    const bf_quantiles *q = m->quantiles;
    bf_tally *t = &m->tally;
    const int64_t most = q->pass > 1 ? q->all : BF_COUNT_MAX;
    if (summary[ELEMENTS] > most - t->n || summary[USED] > BF_TALLY_WORDS - words) return false;
    t->n += summary[ELEMENTS];
    for (int i = 0; i < q->ranges.count; i++) {
        bf_u128 least, greatest;
        memcpy(&least, summary + ENDS + 4 * i, sizeof least);
        memcpy(&greatest, summary + ENDS + 4 * i + 2, sizeof greatest);
        if (least < t->least[i]) t->least[i] = least;
        if (greatest > t->most[i]) t->most[i] = greatest;
    }
    return true;
}

/* All ranks add the same summaries, and so find the same. Puts this rank's words in their place. */
static bf_status add_summaries(merging *m) {
    const bf_quantiles *q = m->quantiles;
    const bool collect = q->ranges.collect;
    int64_t words = 0;
    bf_tally_begin(&q->ranges, &m->tally);
    for (int r = 0; r < m->comm->carrier.ranks; r++) {
        const int64_t *summary = m->all + r * summary_words(m);
        if (!add_summary(m, summary, words))
            return bf_fail(m->comm->context, q->pass > 1 ? BF_E_STATE : BF_E_OVERFLOW,
                           "the ranks have more elements than the first pass, or than 2^62");
        if (r == m->comm->carrier.rank)
            memcpy(m->tally.words + words, q->tally.words, (size_t)q->tally.used * 8);
        if (collect) words += summary[USED];
    }
    if (collect) m->tally.used = words;
    return BF_OK;
}

static bf_status merge_tallies(merging *m) {
    bf_comm *comm = m->comm;
    int64_t mine[SUMMARY_MOST];
    bf_status status = open_merging(m);
    status = bf_comm_agree(comm, status, status == BF_OK ? key_of(m->quantiles) : 0);
    if (status != BF_OK) return status;
    put_summary(m, mine);
    status = bf_comm_gather(comm, mine, m->all, summary_words(m) * 8);
    if (status == BF_OK) status = add_summaries(m);
    if (status == BF_OK)
        status = bf_comm_add(comm, (int64_t *)(void *)m->tally.words, m->tally.used);
    return status;
}

static bf_status merge_quantiles(bf_comm *comm, bf_quantiles *quantiles) {
    merging m = {.comm = comm, .quantiles = quantiles};
    const bf_status status = merge_tallies(&m);
    if (status == BF_OK) {
        const bf_tally before = quantiles->tally;
        quantiles->tally = m.tally;
        m.tally = before;
    }
    bf_free(m.tally.words);
    bf_free(m.all);
    return status;
}

bf_status bf_comm_merge_quantiles(bf_comm *comm, bf_quantiles *quantiles) {
    if (comm == NULL || !bf_enter(comm->context)) return BF_E_ARGUMENT;
    return bf_leave(comm->context, merge_quantiles(comm, quantiles));
}
