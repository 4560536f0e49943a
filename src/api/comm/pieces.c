/* Sums of large arrays: piece by piece, each rank gets a shard of the piece from all ranks, adds
 * it, and sends the sums on. Scratch is bounded, whatever the arrays are. */
#include "api/comm/sums.h"

#include "api/runtime/array.h"
#include "base/where.h"
#include "rules/number/dtype.h"
#include "seam/memory.h"

#include <stdlib.h>

enum {
    SCRATCH = 1 << 22, /* bytes of a buffer: it stays in the caches */
    ALIGN = 64
};

typedef struct exchanging {
    bf_comm *comm;
    const bf_sums *sums;
    int bytes, rank, ranks;     /* bytes: of an element */
    bool in_on_gpu, out_on_gpu; /* in memory that the host does not reach */
    int64_t total;              /* terms of all ranks */
    int64_t shard;              /* the most elements of a rank in a piece */
    char *to, *from, *added,
        *all; /* elements to and from ranks; sums of the shard; of all shards */
    const void **terms;
    int64_t *to_bytes, *from_bytes; /* each rank's */
} exchanging;

/* A piece: `shard` elements for rank 0 from `first` on, those of the next rank `stride` further. */
typedef struct piece {
    int64_t first, shard, stride;
} piece;

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool is_scattered(const exchanging *x) { return x->sums->to == BF_SUMS_TO_OWNERS; }

/* Elements that the pieces walk: of the array, or of each rank's part. */
static int64_t walked(const exchanging *x) {
    return is_scattered(x) ? x->sums->n / x->ranks : x->sums->n;
}

/* The piece from `first` on. Sets *next to where the one after it begins. */
static piece piece_at(const exchanging *x, int64_t first, int64_t *next) {
    int64_t left = walked(x) - first;
    int64_t share = is_scattered(x) ? left : (left + x->ranks - 1) / x->ranks;
    piece p = {.first = first, .shard = share < x->shard ? share : x->shard};
    p.stride = is_scattered(x) ? walked(x) : p.shard;
    *next = first + (is_scattered(x) ? p.shard : p.shard * x->ranks);
    return p;
}

/* The first element of a rank's shard, and its elements: the last shards of an array may be
 * shorter. */
static int64_t begin_of(const piece *p, int rank) { return p->first + rank * p->stride; }
static int64_t count_of(const exchanging *x, const piece *p, int rank) {
    int64_t left = x->sums->n - begin_of(p, rank);
    return left <= 0 ? 0 : left < p->shard ? left : p->shard;
}

/* ---- out and back ---------------------------------------------------------------------------- */

/* Sets *packed to the elements for all ranks, rank by rank and term by term. */
static bf_status pack_piece(exchanging *x, const piece *p, const char **packed) {
    const char *in = x->sums->in;
    char *to = x->to;
    bf_status status = BF_OK;
    *packed = x->to;
    if (x->to == NULL) { /* they lie so already */
        *packed = in + p->first * x->bytes;
        return BF_OK;
    }
    for (int r = 0; r < x->ranks; r++) {
        int64_t bytes = count_of(x, p, r) * x->bytes;
        for (int64_t t = 0; t < x->sums->terms && status == BF_OK; t++, to += bytes)
            status =
                bf_sum_copy(x->comm, to, in + (t * x->sums->n + begin_of(p, r)) * x->bytes, bytes);
    }
    return status;
}

/* Sends every rank its shard of this rank's terms, and adds the shards that come. Returns the
 * carrier's status; *status becomes that of this rank, if it was BF_OK. */
static bf_status add_shard(exchanging *x, const piece *p, bf_status *status) {
    const char *packed;
    int64_t n = count_of(x, p, x->rank), terms = 0;
    bf_status packs = pack_piece(x, p, &packed);
    const char *from = x->from;
    for (int r = 0; r < x->ranks; r++) {
        int64_t others = bf_sum_terms_of(x->comm, x->sums, r);
        x->to_bytes[r] = x->sums->terms * count_of(x, p, r) * x->bytes;
        x->from_bytes[r] = others * n * x->bytes;
        for (int64_t t = 0; t < others; t++, from += n * x->bytes) x->terms[terms++] = from;
    }
    bf_status moved = bf_comm_exchange(x->comm, packed, x->to_bytes, x->from, x->from_bytes);
    if (moved != BF_OK) return moved;
    const bf_comm_job job = {x->sums->dtype, (int)terms, x->terms, x->added, n};
    bf_status adds = n > 0 ? bf_backend_cpu.comm->add(x->comm->context, &job) : BF_OK;
    if (*status == BF_OK) *status = packs != BF_OK ? packs : adds;
    return BF_OK;
}

/* Gathers the sums of a piece on all ranks, or on the root. They lie in the order of the array. */
static bf_status send_sums(exchanging *x, const piece *p, char *all) {
    if (x->sums->to == BF_SUMS_TO_ALL)
        return bf_comm_gather(x->comm, x->added, all, p->shard * x->bytes);
    bool root = x->rank == x->sums->root;
    for (int r = 0; r < x->ranks; r++) {
        x->to_bytes[r] = r == x->sums->root ? count_of(x, p, x->rank) * x->bytes : 0;
        x->from_bytes[r] = root ? count_of(x, p, r) * x->bytes : 0;
    }
    return bf_comm_exchange(x->comm, x->added, x->to_bytes, all, x->from_bytes);
}

/* Returns the sums of a piece to those who get them. */
static bf_status return_sums(exchanging *x, const piece *p, bf_status *status) {
    char *out = (char *)x->sums->out + (x->sums->out != NULL ? p->first * x->bytes : 0);
    bool whole = x->sums->n - p->first >= p->shard * x->ranks;
    bf_status copied = BF_OK, moved = BF_OK;
    if (is_scattered(x)) {
        copied = bf_sum_copy(x->comm, out, x->added, p->shard * x->bytes);
    } else if (whole && !x->out_on_gpu) {
        moved = send_sums(x, p, out);
    } else {
        int64_t left = x->sums->n - p->first, all = p->shard * x->ranks;
        moved = send_sums(x, p, x->all);
        if (moved == BF_OK && x->sums->out != NULL)
            copied = bf_sum_copy(x->comm, out, x->all, (left < all ? left : all) * x->bytes);
    }
    if (*status == BF_OK) *status = copied;
    return moved;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool is_on_gpu(const void *p) {
    return p != NULL && bf_where_is(p, NULL) == BF_WHERE_DEVICE;
}

/* Chooses the pieces, which are the same on all ranks. */
static void plan_pieces(exchanging *x) {
    int64_t most = x->ranks, share = walked(x);
    for (int r = 0; r < x->ranks; r++) {
        int64_t terms = bf_sum_terms_of(x->comm, x->sums, r);
        x->total += terms;
        if (terms * x->ranks > most) most = terms * x->ranks;
    }
    if (x->total > most) most = x->total;
    if (!is_scattered(x)) share = (share + x->ranks - 1) / x->ranks;
    x->shard = SCRATCH / (most * x->bytes);
    if (x->shard < 1) x->shard = 1;
    if (x->shard > share) x->shard = share;
}

/* Returns the next `bytes` bytes of the buffers, which begin at *at. Without buffers it counts. */
static void *take_bytes(const bf_comm *comm, size_t *at, int64_t bytes) {
    char *taken = comm->buffers != NULL ? comm->buffers + *at : NULL;
    *at += ((size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
    return taken;
}

/* Sets the buffers, and returns the bytes of all. */
static size_t place_buffers(exchanging *x) {
    size_t at = 0;
    int64_t shard = x->shard * x->bytes;
    bool packs = x->sums->terms > 1 || is_scattered(x) || x->in_on_gpu;
    x->terms = take_bytes(x->comm, &at, x->total * (int64_t)sizeof *x->terms);
    x->to_bytes = take_bytes(x->comm, &at, x->ranks * (int64_t)sizeof *x->to_bytes);
    x->from_bytes = take_bytes(x->comm, &at, x->ranks * (int64_t)sizeof *x->to_bytes);
    x->from = take_bytes(x->comm, &at, x->total * shard);
    x->added = take_bytes(x->comm, &at, shard);
    x->all = take_bytes(x->comm, &at, x->ranks * shard);
    x->to = packs ? take_bytes(x->comm, &at, x->sums->terms * x->ranks * shard) : NULL;
    return at;
}

/* The buffers stay for the next sum, because fresh memory costs more than adding. */
static bf_status open_exchange(exchanging *x) {
    bf_comm *comm = x->comm;
    plan_pieces(x);
    if (x->total > INT32_MAX)
        return bf_fail(comm->context, BF_E_ARGUMENT, "more than 2^31 - 1 terms");
    size_t bytes = place_buffers(x);
    if (bytes > comm->buffer_bytes) {
        free(comm->buffers);
        comm->buffers = calloc(1, bytes);
        comm->buffer_bytes = comm->buffers != NULL ? bytes : 0;
    }
    if (comm->buffers == NULL)
        return bf_fail(comm->context, BF_E_MEMORY, "no memory to add arrays");
    place_buffers(x);
    return BF_OK;
}

/* A rank that fails on the way goes on, and tells the others in the end. */
static bf_status exchange_pieces(exchanging *x) {
    bf_status status = BF_OK, moved = BF_OK;
    for (int64_t first = 0, next; first < walked(x) && moved == BF_OK; first = next) {
        piece p = piece_at(x, first, &next);
        moved = add_shard(x, &p, &status);
        if (moved == BF_OK) moved = return_sums(x, &p, &status);
    }
    return moved == BF_OK ? bf_comm_agree(x->comm, status, BF_COMM_AGREE) : moved;
}

bf_status bf_sum_by_exchange(bf_comm *comm, const bf_sums *sums) {
    exchanging x = {.comm = comm, .sums = sums, .bytes = bf_dtype_bytes(sums->dtype)};
    x.rank = comm->carrier.rank;
    x.ranks = comm->carrier.ranks;
    x.in_on_gpu = is_on_gpu(sums->in);
    x.out_on_gpu = is_on_gpu(sums->out);
    bf_status status = bf_comm_agree(comm, open_exchange(&x), BF_COMM_AGREE);
    return status == BF_OK ? exchange_pieces(&x) : status;
}
