/* Merging states. The words of those that add travel with the first message; the others follow in a
 * message that is merged in the order of the ranks. */
#include "api/comm/comm.h"

#include "api/reduce/state.h"
#include "api/runtime/enter.h"
#include <bitfold/words.h>

#include <stdlib.h>

/* ---- messages of words that do not add ------------------------------------------------------- */

enum { ENTRY = 3 /* op, dtype, number of words; then the words. A message begins with a count. */ };

void bf_comm_merge_message(int64_t *into, const int64_t *from) {
    if (into == NULL || from == NULL) return;
    int64_t *to = into + 1;
    const int64_t *one = from + 1;
    for (int64_t i = 0; i < into[0]; i++, one += ENTRY + to[2], to += ENTRY + to[2])
        bf_words_merge((bf_reduction)to[0], (bf_dtype)to[1], to + ENTRY, one + ENTRY);
}

/* ---- a call ---------------------------------------------------------------------------------- */

typedef struct merging {
    bf_comm *comm;
    bf_state *const *states;
    int n;
    int64_t added, message; /* numbers of words */
    int64_t *words;         /* the words of states that add, then the message, then room for the
                               messages of all ranks */
} merging;

static bool adds(const bf_state *s) { return bf_kind_is_sum(s->kind); }

static int64_t count_words(const bf_state *s) {
    bf_words_info info = {.size = sizeof info};
    (void)bf_state_words_info(s, &info);
    return info.count;
}

static uint64_t key_of(const merging *m) {
    uint64_t key = bf_comm_key(BF_COMM_MERGE_STATES, (uint64_t)m->n);
    for (int i = 0; i < m->n; i++) {
        key = bf_comm_key(key, (uint64_t)m->states[i]->op);
        key = bf_comm_key(key, (uint64_t)m->states[i]->dtype);
        key = bf_comm_key(key, (uint64_t)m->states[i]->scale);
    }
    return key;
}

/* Checks the states, and copies their words. */
static bf_status open_merging(merging *m) {
    bf_context *context = m->comm->context;
    if (m->n < 0 || (m->n > 0 && m->states == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "no states to merge");
    m->added = 0;
    m->message = 1;
    for (int i = 0; i < m->n; i++) {
        if (m->states[i] == NULL) return bf_fail(context, BF_E_ARGUMENT, "state %d is NULL", i);
        int64_t count = count_words(m->states[i]);
        *(adds(m->states[i]) ? &m->added : &m->message) += count;
        if (!adds(m->states[i])) m->message += ENTRY;
    }
    bool gathers = m->comm->carrier.merge == NULL;
    size_t all = (size_t)m->message * (gathers ? 1 + (size_t)m->comm->carrier.ranks : 1);
    m->words = malloc(((size_t)m->added + all) * sizeof(int64_t));
    if (m->words == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to merge");
    int64_t *to = m->words, *message = m->words + m->added;
    *message++ = 0;
    for (int i = 0; i < m->n; i++) {
        const bf_state *s = m->states[i];
        int64_t count = count_words(s);
        if (!adds(s)) {
            m->words[m->added]++;
            *message++ = s->op;
            *message++ = s->dtype;
            *message++ = count;
        }
        (void)bf_state_get_words(s, adds(s) ? to : message);
        *(adds(s) ? &to : &message) += count;
    }
    return BF_OK;
}

/* Merges the message of all ranks, if it holds any state. */
static bf_status merge_message(merging *m) {
    bf_comm *comm = m->comm;
    int64_t *message = m->words + m->added, *all = message + m->message;
    if (message[0] == 0 || comm->carrier.ranks == 1) return BF_OK;
    if (comm->carrier.merge != NULL) return bf_comm_merge(comm, message, m->message * 8);
    bf_status status = bf_comm_gather(comm, message, all, m->message * 8);
    if (status != BF_OK) return status;
    memcpy(message, all, (size_t)m->message * 8);
    for (int r = 1; r < comm->carrier.ranks; r++)
        bf_comm_merge_message(message, all + r * m->message);
    return BF_OK;
}

/* Calls use(state, its words) for each state, until that returns false. Returns the number of the
 * state then, or n. */
static int each_state(merging *m, bool (*use)(merging *m, bf_state *s, int64_t *words)) {
    int64_t *added = m->words, *message = m->words + m->added + 1;
    for (int i = 0; i < m->n; i++) {
        bf_state *s = m->states[i];
        int64_t *words = adds(s) ? added : message + ENTRY;
        if (!use(m, s, words)) return i;
        *(adds(s) ? &added : &message) = words + count_words(s);
    }
    return m->n;
}

static bool settle_state(merging *m, bf_state *s, int64_t *words) {
    return bf_words_settle(s->op, s->dtype, words, adds(s) ? m->comm->carrier.ranks : 1);
}

static bool put_state(merging *m, bf_state *s, int64_t *words) {
    (void)m;
    bf_words_put(s, words);
    return true;
}

/* All ranks have the same words: all of them can be settled, or on no rank. */
static bf_status close_merging(merging *m) {
    int settled = each_state(m, settle_state);
    if (settled < m->n)
        return bf_fail(m->comm->context, BF_E_STATE,
                       "the ranks' states of %s do not merge: their ranges of indices overlap or "
                       "leave a gap, or they hold more than 2^62 elements",
                       bf_reduction_name(m->states[settled]->op));
    (void)each_state(m, put_state);
    return BF_OK;
}

static bf_status merge_states(bf_comm *comm, bf_state *const states[], int n) {
    merging m = {.comm = comm, .states = states, .n = n};
    bf_status status = open_merging(&m);
    uint64_t key = status == BF_OK ? key_of(&m) : 0;
    status = bf_comm_add_agreed(comm, status, key, m.words, m.added);
    if (status == BF_OK) status = merge_message(&m);
    if (status == BF_OK) status = close_merging(&m);
    free(m.words);
    return status;
}

bf_status bf_comm_merge_states(bf_comm *comm, bf_state *const states[], int n) {
    if (comm == NULL || !bf_enter(comm->context)) return BF_E_ARGUMENT;
    return bf_leave(comm->context, merge_states(comm, states, n));
}
