/* Ranks of one process: their threads meet, see each other's memory, copy or add, and meet again
 * before any goes on. */
#include "api/comm/meeting.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 1 << 12 /* looks before a thread sleeps: some microseconds */ };

/* The memory of a rank's call. */
typedef struct seat {
    bf_meeting *meeting;
    int rank;
    const void *to;
    const int64_t *to_bytes;
    int64_t *words;
    int64_t size; /* words, or bytes, of the call: equal for all */
} seat;

struct bf_meeting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ranks, stayed, arrived;
    unsigned round; /* how often all have met */
    bool misfit;    /* ranks have found that their calls do not go together */
    seat seats[];
};

bf_meeting *bf_meeting_make(int ranks) {
    bf_meeting *m = calloc(1, sizeof *m + (size_t)ranks * sizeof(seat));
    if (m == NULL) return NULL;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    m->ranks = m->stayed = ranks;
    for (int r = 0; r < ranks; r++) m->seats[r] = (seat){.meeting = m, .rank = r};
    return m;
}

void bf_meeting_leave(bf_meeting *m) {
    pthread_mutex_lock(&m->lock);
    bool last = --m->stayed == 0;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (!last) return;
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static unsigned round_of(const bf_meeting *m) {
    return __atomic_load_n(&m->round, __ATOMIC_ACQUIRE);
}

static void sleep_until(bf_meeting *m, unsigned round) {
    pthread_mutex_lock(&m->lock);
    while (round_of(m) == round && m->stayed == m->ranks) pthread_cond_wait(&m->changed, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

/* Waits until all ranks have come. Returns false if one has left. */
static bool meet(bf_meeting *m) {
    pthread_mutex_lock(&m->lock);
    unsigned round = m->round;
    bool last = ++m->arrived == m->ranks;
    if (last) {
        m->arrived = 0;
        __atomic_store_n(&m->round, round + 1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < SPINS && round_of(m) == round; i++) __asm__ volatile("" ::: "memory");
    if (round_of(m) == round) sleep_until(m, round);
    return round_of(m) != round;
}

static void note_misfit(bf_meeting *m) { __atomic_store_n(&m->misfit, true, __ATOMIC_RELAXED); }

/* Meets again. Returns 0, or 1 if a rank has left or found a misfit. */
static int part(bf_meeting *m) {
    return meet(m) && !__atomic_load_n(&m->misfit, __ATOMIC_RELAXED) ? 0 : 1;
}

static int exchange_bytes(void *arg, const void *to, const int64_t to_bytes[], void *from,
                          const int64_t from_bytes[]) {
    seat *mine = arg;
    bf_meeting *m = mine->meeting;
    char *at = from;
    mine->to = to;
    mine->to_bytes = to_bytes;
    if (!meet(m)) return 1;
    for (int r = 0; r < m->ranks; at += from_bytes[r], r++) {
        const seat *other = &m->seats[r];
        const char *begin = other->to;
        for (int i = 0; i < mine->rank; i++) begin += other->to_bytes[i];
        if (other->to_bytes[mine->rank] != from_bytes[r])
            note_misfit(m);
        else if (from_bytes[r] > 0)
            memcpy(at, begin, (size_t)from_bytes[r]);
    }
    return part(m);
}

/* Each rank adds its share of the words, for all ranks. */
static int add_words(void *arg, int64_t *words, int64_t count) {
    seat *mine = arg;
    bf_meeting *m = mine->meeting;
    mine->words = words;
    mine->size = count;
    if (!meet(m)) return 1;
    bool equal = true;
    for (int r = 0; r < m->ranks; r++) equal = equal && m->seats[r].size == count;
    if (!equal) note_misfit(m);
    int64_t share = (count + m->ranks - 1) / m->ranks, first = share * mine->rank;
    int64_t end = first + share < count ? first + share : count;
    for (int64_t i = first; i < end && equal; i++) {
        uint64_t sum = 0;
        for (int r = 0; r < m->ranks; r++) sum += (uint64_t)m->seats[r].words[i];
        for (int r = 0; r < m->ranks; r++) m->seats[r].words[i] = (int64_t)sum;
    }
    return part(m);
}

static int gather_bytes(void *arg, const void *bytes_of_mine, void *all, int64_t bytes) {
    seat *mine = arg;
    bf_meeting *m = mine->meeting;
    mine->to = bytes_of_mine;
    mine->size = bytes;
    if (!meet(m)) return 1;
    for (int r = 0; r < m->ranks; r++) {
        if (m->seats[r].size != bytes)
            note_misfit(m);
        else if (bytes > 0)
            memcpy((char *)all + r * bytes, m->seats[r].to, (size_t)bytes);
    }
    return part(m);
}

bf_carrier bf_meeting_carrier(bf_meeting *meeting, int rank) {
    return BF_CARRIER(.rank = rank, .ranks = meeting->ranks, .arg = &meeting->seats[rank],
                      .exchange = exchange_bytes, .add = add_words, .gather = gather_bytes);
}
