/* Products of floats: workers make the nodes of whole pieces of the tree, which enter the words in
 * order. */
#include "cpu/reduce/reduce.h"

enum {
    PIECE_LEVEL = 5, /* a piece is one node of this level */
    PIECE_LEAVES = 1 << PIECE_LEVEL,
    PIECE = BF_LEAF * PIECE_LEAVES,
    ROUND = 256, /* pieces of one loop, after which their nodes enter the words */
    BLOCK = 256  /* elements that are made doubles at a time */
};

/* The node of a piece, and its counts, as in words of BF_KIND_PRODUCT_TREE. */
typedef struct piece {
    bf_node node;
    int64_t counts[BF_PRODUCT_TREE_NEGATIVE + 1];
} piece;

typedef struct round_of_pieces {
    const bf_context *context;
    const bf_job *job;
    bool rooms;    /* leaves need one */
    int64_t first; /* element of the job that piece 0 starts with */
    piece *pieces; /* the round's */
} round_of_pieces;

static const char *element(const bf_job *job, int64_t i) {
    return (const char *)job->a + (size_t)i * (size_t)bf_dtype_bytes(job->dtype);
}

static void floats_to_doubles(const char *from, double *to, size_t n) {
    for (size_t k = 0; k < n; k++) {
        float x;
        memcpy(&x, from + k * sizeof x, sizeof x);
        to[k] = (double)x;
    }
}

/* Converts n elements from i on, at most BLOCK, to doubles. */
static void to_doubles(const bf_isa *isa, const bf_job *job, int64_t i, double *to, size_t n) {
    float block[BLOCK];
    const char *from = element(job, i);
    if (job->dtype == BF_F64) {
        memcpy(to, from, n * sizeof *to);
    } else if (job->dtype == BF_F32) {
        floats_to_doubles(from, to, n);
    } else {
        bf_widen_halves(isa, job->dtype, from, block, n);
        floats_to_doubles((const char *)block, to, n);
    }
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
            bf_product_tree_count(counts, bits_of(block[k]));
            bf_node_take(&folds[k % BF_FOLDS], bits_of(block[k]));
        }
    }
    return bf_node_of_folds(folds);
}

/* Returns whether leaves of this dtype are converted to doubles in a room, for the loop. */
static bool needs_room(const bf_isa *isa, bf_dtype dtype) {
    return isa->reduce->product_folds != NULL && dtype != BF_F64;
}

/* Returns the node of the leaf whose first element is i. */
static bf_node leaf_node(const bf_isa *isa, const bf_job *job, int64_t i, void *room,
                         int64_t *counts) {
    bf_node folds[BF_FOLDS];
    bool negative;
    const void *leaf = element(job, i);
    const bf_folds_loop loop = isa->reduce->product_folds;
    if (needs_room(isa, job->dtype)) {
        double *copy = room;
        for (int k = 0; k < BF_LEAF; k += BLOCK) to_doubles(isa, job, i + k, copy + k, BLOCK);
        leaf = copy;
    }
    if (loop != NULL && loop(leaf, BF_LEAF, NULL, folds, &negative)) {
        counts[BF_PRODUCT_TREE_COUNT] += BF_LEAF;
        counts[BF_PRODUCT_TREE_NEGATIVE] ^= negative;
        return bf_node_of_folds(folds);
    }
    return leaf_by_rules(isa, job, i, counts);
}

static bf_status multiply_piece(void *arg, int worker, int64_t first, int64_t n) {
    round_of_pieces *round = arg;
    const bf_isa *isa = round->context->cpu->isa;
    void *room = round->rooms ? bf_room(round->context, worker) : NULL;
    for (int64_t i = first; i < first + n; i++) {
        piece *p = &round->pieces[i];
        bf_node nodes[PIECE_LEAVES];
        memset(p->counts, 0, sizeof p->counts);
        for (int64_t k = 0; k < PIECE_LEAVES; k++)
            nodes[k] =
                leaf_node(isa, round->job, round->first + i * PIECE + k * BF_LEAF, room, p->counts);
        for (int m = PIECE_LEAVES; m > 1; m /= 2)
            for (int k = 0; k < m / 2; k++) nodes[k] = bf_node_join(nodes[2 * k], nodes[2 * k + 1]);
        p->node = nodes[0];
    }
    return BF_OK;
}

static void take_by_rules(const double *x, int64_t n, int64_t *words) {
    for (int64_t i = 0; i < n; i++) {
        bf_product_tree_count(words, bits_of(x[i]));
        bf_product_tree_place(words, bits_of(x[i]));
    }
}

/* Takes n elements of a leaf, the first for fold 0 and the last for the last, by the loop. Returns
 * false if they are not for it. */
static bool take_folds(const bf_isa *isa, const double *x, int64_t n, int64_t *words) {
    const bf_folds_loop loop = isa->reduce->product_folds;
    bf_node folds[BF_FOLDS];
    bool negative;
    if (n == 0 || loop == NULL) return false;
    if (words[BF_PRODUCT_TREE_END] < bf_product_tree_first_leaf(words)) return false;
    bf_product_tree_load_folds(words, folds);
    if (!loop(x, (size_t)n, folds, folds, &negative)) return false;
    for (int i = 0; i < BF_FOLDS; i++)
        bf_product_tree_store(words + BF_PRODUCT_TREE_FOLDS_AT + i * BF_NODE_WORDS, folds[i]);
    words[BF_PRODUCT_TREE_COUNT] += n;
    words[BF_PRODUCT_TREE_NEGATIVE] ^= negative;
    words[BF_PRODUCT_TREE_END] += n;
    bf_product_tree_close_leaf(words);
    return true;
}

/* Takes n elements that lie within a leaf. */
static void take_part(const bf_isa *isa, const double *x, int64_t n, int64_t *words) {
    int64_t skipped = (BF_FOLDS - words[BF_PRODUCT_TREE_END] % BF_FOLDS) % BF_FOLDS;
    if (skipped > n) skipped = n;
    take_by_rules(x, skipped, words);
    x += skipped;
    n -= skipped;
    int64_t whole = n / BF_FOLDS * BF_FOLDS;
    if (!take_folds(isa, x, whole, words)) whole = 0;
    take_by_rules(x + whole, n - whole, words);
}

void bf_product_tree_take(const bf_isa *isa, const bf_job *job, int64_t i, int64_t end, void *room,
                          int64_t *words) {
    while (i < end) {
        int64_t left = BF_LEAF - words[BF_PRODUCT_TREE_END] % BF_LEAF,
                n = left < end - i ? left : end - i;
        double block[BLOCK];
        if (n == BF_LEAF) {
            bf_product_tree_push(words, 0, leaf_node(isa, job, i, room, words));
        } else {
            if (n > BLOCK) n = BLOCK;
            to_doubles(isa, job, i, block, (size_t)n);
            take_part(isa, block, n, words);
        }
        i += n;
    }
}

/* Makes the nodes of n pieces, which then enter the words in order. */
static bf_status absorb_round(bf_context *context, int workers, round_of_pieces *round, int64_t n,
                              int64_t *words) {
    bf_status status = bf_parallel(context, workers, n, 1, multiply_piece, round);
    for (int64_t k = 0; k < n && status == BF_OK; k++) {
        bf_product_tree_merge_counts(words, round->pieces[k].counts);
        bf_product_tree_push(words, PIECE_LEVEL, round->pieces[k].node);
    }
    return status;
}

bf_status bf_product_tree_absorb(bf_context *context, int workers, const bf_job *job,
                                 int64_t *words) {
    const bf_isa *isa = context->cpu->isa;
    piece pieces[ROUND];
    round_of_pieces round = {.context = context, .job = job, .pieces = pieces};
    bf_status status = BF_OK;
    int64_t i = (PIECE - words[BF_PRODUCT_TREE_END] % PIECE) % PIECE, n;
    if (i > job->count) i = job->count;
    round.rooms = job->count >= BF_LEAF && needs_room(isa, job->dtype);
    if (round.rooms && !bf_rooms_open(context, workers, BF_LEAF * sizeof(double)))
        return BF_E_MEMORY;
    void *room = round.rooms ? bf_room(context, 0) : NULL;
    bf_product_tree_take(isa, job, 0, i, room, words);
    for (; job->count - i >= PIECE && status == BF_OK; i += n * PIECE) {
        n = (job->count - i) / PIECE < ROUND ? (job->count - i) / PIECE : ROUND;
        round.first = i;
        status = absorb_round(context, workers, &round, n, words);
    }
    if (status == BF_OK) bf_product_tree_take(isa, job, i, job->count, room, words);
    return status;
}
