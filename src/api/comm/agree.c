/* The first message of a call: 256 words, whatever the call is, so that ranks whose calls differ
 * find out. */
#include "api/comm/comm.h"

#include "rules/number/rule.h"

/* Words of the message, which are added. Ranks whose keys are equal have equal parts of it: then,
 * and only then, ranks * (sum of squares) is (sum) squared. Parts are so small that the sums fit:
 * 2^22 ranks. */
enum {
    HAVING = 0, /* ranks with each status */
    PARTS = 3,  /* parts of the key, of PART_BITS each */
    PART_BITS = 20,
    KEYS = BF_COMM_STATUSES,
    SQUARES = KEYS + PARTS,
    WORDS = SQUARES + PARTS, /* where the caller's words begin */
    ALL = 256
};

static void put_key(int64_t *message, uint64_t key) {
    for (int i = 0; i < PARTS; i++) {
        int64_t part = (int64_t)(key >> (64 - PART_BITS * (i + 1)) & ((1 << PART_BITS) - 1));
        message[KEYS + i] = part;
        message[SQUARES + i] = part * part;
    }
}

static bool keys_are_equal(const int64_t *message, int ranks) {
    bool equal = true;
    for (int i = 0; i < PARTS; i++) {
        bf_i128 sum = message[KEYS + i];
        equal = equal && sum * sum == (bf_i128)ranks * message[SQUARES + i];
    }
    return equal;
}

bf_status bf_comm_settle(bf_comm *comm, bf_status mine, const int64_t having[], bool same) {
    bf_status status = BF_OK;
    for (int s = BF_COMM_STATUSES - 1; s > BF_OK && status == BF_OK; s--)
        if (having[s] != 0) status = (bf_status)s;
    if (status == BF_OK && same) return BF_OK;
    if (mine != BF_OK) return status;
    if (status == BF_OK)
        return bf_fail(comm->context, BF_E_COMM,
                       "the ranks call different functions, or with arguments that do not agree");
    return bf_fail(comm->context, status, "%lld of %d ranks failed: %s", (long long)having[status],
                   comm->carrier.ranks, bf_status_string(status));
}

bf_status bf_comm_add_agreed(bf_comm *comm, bf_status mine, uint64_t key, int64_t *words,
                             int64_t count) {
    int64_t message[ALL] = {0}, inside = count < ALL - WORDS ? count : ALL - WORDS;
    message[HAVING + mine] = 1;
    put_key(message, key);
    if (mine == BF_OK && inside > 0) memcpy(message + WORDS, words, (size_t)inside * 8);
    bf_status status = bf_comm_add(comm, message, ALL);
    if (status != BF_OK) return status;
    status =
        bf_comm_settle(comm, mine, message + HAVING, keys_are_equal(message, comm->carrier.ranks));
    if (status != BF_OK || inside == 0) return status;
    memcpy(words, message + WORDS, (size_t)inside * 8);
    return count > inside ? bf_comm_add(comm, words + inside, count - inside) : BF_OK;
}

bf_status bf_comm_agree(bf_comm *comm, bf_status mine, uint64_t key) {
    return bf_comm_add_agreed(comm, mine, key, NULL, 0);
}
