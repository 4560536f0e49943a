/* Products of floats: threads make the nodes of whole pieces of the tree, which enter the words in
 * order. What is less than a leaf goes by the rules. */
#include "cpu/runtime/context.h"

#include <stdatomic.h>

enum {
    PIECE_LEVEL = 5, /* a piece is one node of this level */
    PIECE_LEAVES = 1 << PIECE_LEVEL,
    PIECE = BF_LEAF * PIECE_LEAVES,
    ROUND = 256, /* pieces that threads share out before their nodes enter the words */
    BLOCK = 256  /* elements that are made doubles at a time */
};

/* The node of a piece, and what was counted in it (as in words of BF_KIND_TREE). */
typedef struct piece {
    bf_node node;
    int64_t counts[BF_TREE_NEGATIVE + 1];
} piece;

typedef struct round_of_pieces {
    const bf_isa *isa;
    char *rooms; /* one for each thread; NULL: leaves need none */
    const bf_job *job;
    int64_t first; /* element of the job that piece 0 starts with */
    int64_t count;
    _Atomic int64_t next; /* the first piece that no thread has taken */
    piece pieces[ROUND];
} round_of_pieces;

static const char *element(const bf_job *job, int64_t i) {
    return (const char *)job->a + (size_t)i * (size_t)bf_dtype_bytes(job->dtype);
}

/* Elements from i on, at most BLOCK, as doubles. */
static void to_doubles(const bf_isa *isa, const bf_job *job, int64_t i, double *to, size_t n) {
    float block[BLOCK];
    const char *from = element(job, i);
    if (job->dtype == BF_F64) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    if (job->dtype == BF_F32)
        memcpy(block, from, n * sizeof *block);
    else
        bf_widen_halves(isa, job->dtype, from, block, n);
    for (size_t k = 0; k < n; k++) to[k] = (double)block[k];
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

_Static_assert(BLOCK % BF_FOLDS == 0, "a block begins with the first fold");

static bf_node leaf_by_rules(const bf_isa *isa, const bf_job *job, int64_t first, int64_t *counts) {
    double block[BLOCK];
    bf_node folds[BF_FOLDS];
    for (int i = 0; i < BF_FOLDS; i++) folds[i] = bf_node_one();
    for (int i = 0; i < BF_LEAF; i += BLOCK) {
        to_doubles(isa, job, first + i, block, BLOCK);
        for (int k = 0; k < BLOCK; k++) {
            bf_tree_count(counts, bits_of(block[k]));
            bf_node_take(&folds[k % BF_FOLDS], bits_of(block[k]));
        }
    }
    return bf_node_of_folds(folds);
}

/* Does a leaf of such elements become doubles in a room before its loop? */
static bool needs_room(const bf_isa *isa, bf_dtype dtype) {
    return isa->product_leaf != NULL && dtype != BF_F64;
}

_Static_assert(BF_LEAF * sizeof(double) <= BF_CPU_ROOM, "a room holds a leaf");

/* The node of the leaf whose first element is i. */
static bf_node leaf_node(const bf_isa *isa, const bf_job *job, int64_t i, void *room,
                         int64_t *counts) {
    bf_node folds[BF_FOLDS];
    bool negative;
    const void *leaf = element(job, i);
    if (needs_room(isa, job->dtype)) {
        double *copy = room;
        for (int k = 0; k < BF_LEAF; k += BLOCK) to_doubles(isa, job, i + k, copy + k, BLOCK);
        leaf = copy;
    }
    if (isa->product_leaf && isa->product_leaf(leaf, folds, &negative)) {
        counts[BF_TREE_COUNT] += BF_LEAF;
        counts[BF_TREE_NEGATIVE] ^= negative;
        return bf_node_of_folds(folds);
    }
    return leaf_by_rules(isa, job, i, counts);
}

static void take_pieces(void *arg, int worker) {
    round_of_pieces *round = arg;
    char *room = NULL;
    if (round->rooms != NULL) room = round->rooms + worker * BF_CPU_ROOM;
    bf_environment environment = bf_environment_enter();
    for (int64_t i; (i = atomic_fetch_add(&round->next, 1)) < round->count;) {
        piece *p = &round->pieces[i];
        bf_node nodes[PIECE_LEAVES];
        memset(p->counts, 0, sizeof p->counts);
        for (int64_t k = 0; k < PIECE_LEAVES; k++)
            nodes[k] = leaf_node(round->isa, round->job, round->first + i * PIECE + k * BF_LEAF,
                                 room, p->counts);
        for (int n = PIECE_LEAVES; n > 1; n /= 2)
            for (int k = 0; k < n / 2; k++) nodes[k] = bf_node_join(nodes[2 * k], nodes[2 * k + 1]);
        p->node = nodes[0];
    }
    bf_environment_leave(environment);
}

/* Elements [i, end) in order, on this thread. */
static void take_in_order(const bf_isa *isa, const bf_job *job, int64_t i, int64_t end, void *room,
                          int64_t *words) {
    while (i < end) {
        int64_t left = BF_LEAF - words[BF_TREE_END] % BF_LEAF, n = left < end - i ? left : end - i;
        double block[BLOCK];
        if (n == BF_LEAF) {
            bf_tree_push(words, 0, leaf_node(isa, job, i, room, words));
        } else {
            if (n > BLOCK) n = BLOCK;
            to_doubles(isa, job, i, block, (size_t)n);
            for (int64_t k = 0; k < n; k++) {
                bf_tree_count(words, bits_of(block[k]));
                bf_tree_place(words, bits_of(block[k]));
            }
        }
        i += n;
    }
}

bf_status bf_tree_absorb(bf_context *context, int threads, const bf_job *job, int64_t *words) {
    const bf_isa *isa = context->cpu->isa;
    char *rooms = NULL;
    int64_t i = (PIECE - words[BF_TREE_END] % PIECE) % PIECE;
    if (i > job->count) i = job->count;
    if (job->count >= BF_LEAF && needs_room(isa, job->dtype)) {
        rooms = bf_cpu_rooms(context);
        if (rooms == NULL) return BF_E_MEMORY;
    }
    bf_environment environment = bf_environment_enter();
    take_in_order(isa, job, 0, i, rooms, words);
    while (job->count - i >= PIECE) {
        round_of_pieces round = {.isa = isa, .job = job, .rooms = rooms, .first = i};
        int64_t whole = (job->count - i) / PIECE;
        round.count = whole < ROUND ? whole : ROUND;
        bf_pool_run(context->cpu->pool, threads, take_pieces, &round);
        for (int64_t k = 0; k < round.count; k++) {
            bf_tree_merge_counts(words, round.pieces[k].counts);
            bf_tree_push(words, PIECE_LEVEL, round.pieces[k].node);
        }
        i += round.count * PIECE;
    }
    take_in_order(isa, job, i, job->count, rooms, words);
    bf_environment_leave(environment);
    return BF_OK;
}
