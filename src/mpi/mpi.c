/* A carrier over MPI. Its counts are ints: larger messages go in pieces. */
#include <bitfold/mpi.h>

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 30 /* the most bytes or words of one MPI call */ };

typedef struct mpi_ranks {
    MPI_Comm comm;
    MPI_Op merge;
    int rank, ranks;
    MPI_Request *requests;    /* 2 for each rank */
    int64_t *to_at, *from_at; /* where the bytes for and from each rank begin */
} mpi_ranks;

/* ---- words ----------------------------------------------------------------------------------- */

static int add_words(void *arg, int64_t *words, int64_t count) {
    const mpi_ranks *m = arg;
    int failed = MPI_SUCCESS;
    for (int64_t at = 0; at < count && failed == MPI_SUCCESS; at += PIECE) {
        int n = count - at < PIECE ? (int)(count - at) : PIECE;
        failed = MPI_Allreduce(MPI_IN_PLACE, words + at, n, MPI_INT64_T, MPI_SUM, m->comm);
    }
    return failed;
}

/* An MPI_User_function. A message is one element of its datatype. */
static void merge_messages(void *from, void *into, int *count, MPI_Datatype *type) {
    (void)count, (void)type;
    bf_comm_merge_message(into, from);
}

static int merge_message(void *arg, int64_t *message, int64_t bytes) {
    const mpi_ranks *m = arg;
    MPI_Datatype type;
    if (bytes > INT_MAX) return MPI_ERR_COUNT;
    int failed = MPI_Type_contiguous((int)bytes, MPI_BYTE, &type);
    if (failed != MPI_SUCCESS) return failed;
    failed = MPI_Type_commit(&type);
    if (failed == MPI_SUCCESS)
        failed = MPI_Allreduce(MPI_IN_PLACE, message, 1, type, m->merge, m->comm);
    MPI_Type_free(&type);
    return failed;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Begins to receive from, or to send to, a rank what its message has in [at, at + PIECE). */
static int begin_piece(const mpi_ranks *m, bool sends, char *bytes, int64_t size, int64_t at,
                       int other, int *requests) {
    if (size <= at) return MPI_SUCCESS;
    int n = size - at < PIECE ? (int)(size - at) : PIECE;
    MPI_Request *request = &m->requests[(*requests)++];
    return sends ? MPI_Isend(bytes + at, n, MPI_BYTE, other, 0, m->comm, request)
                 : MPI_Irecv(bytes + at, n, MPI_BYTE, other, 0, m->comm, request);
}

/* Moves one piece of each message. Each rank begins with its neighbour, so that not all send to one
 * rank at the same time. */
static int move_pieces(const mpi_ranks *m, char *to, const int64_t to_bytes[], char *from,
                       const int64_t from_bytes[], int64_t at) {
    int requests = 0, failed = MPI_SUCCESS;
    for (int i = 1; i < m->ranks && failed == MPI_SUCCESS; i++) {
        int source = (m->rank + m->ranks - i) % m->ranks, target = (m->rank + i) % m->ranks;
        failed = begin_piece(m, false, from + m->from_at[source], from_bytes[source], at, source,
                             &requests);
        if (failed == MPI_SUCCESS)
            failed = begin_piece(m, true, to + m->to_at[target], to_bytes[target], at, target,
                                 &requests);
    }
    int waited = MPI_Waitall(requests, m->requests, MPI_STATUSES_IGNORE);
    return failed == MPI_SUCCESS ? waited : failed;
}

static int exchange_bytes(void *arg, const void *to, const int64_t to_bytes[], void *from,
                          const int64_t from_bytes[]) {
    const mpi_ranks *m = arg;
    int64_t most = 0, to_end = 0, from_end = 0;
    char *sent = (char *)(uintptr_t)to, *received = from;
    for (int r = 0; r < m->ranks; r++) {
        m->to_at[r] = to_end;
        m->from_at[r] = from_end;
        to_end += to_bytes[r];
        from_end += from_bytes[r];
        if (r != m->rank && to_bytes[r] > most) most = to_bytes[r];
        if (r != m->rank && from_bytes[r] > most) most = from_bytes[r];
    }
    if (to_bytes[m->rank] > 0)
        memcpy(received + m->from_at[m->rank], sent + m->to_at[m->rank], (size_t)to_bytes[m->rank]);
    int failed = MPI_SUCCESS;
    for (int64_t at = 0; at < most && failed == MPI_SUCCESS; at += PIECE)
        failed = move_pieces(m, sent, to_bytes, received, from_bytes, at);
    return failed;
}

/* The blocks of large messages do not lie one behind another piece by piece: each rank sends its
 * own in turn. */
static int gather_large(const mpi_ranks *m, const char *mine, char *all, int64_t bytes) {
    int failed = MPI_SUCCESS;
    memcpy(all + m->rank * bytes, mine, (size_t)bytes);
    for (int r = 0; r < m->ranks; r++)
        for (int64_t at = 0; at < bytes && failed == MPI_SUCCESS; at += PIECE) {
            int n = bytes - at < PIECE ? (int)(bytes - at) : PIECE;
            failed = MPI_Bcast(all + r * bytes + at, n, MPI_BYTE, r, m->comm);
        }
    return failed;
}

static int gather_bytes(void *arg, const void *mine, void *all, int64_t bytes) {
    const mpi_ranks *m = arg;
    if (bytes * m->ranks > PIECE) return gather_large(m, mine, all, bytes);
    return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, m->comm);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void free_ranks(void *arg) {
    mpi_ranks *m = arg;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized && m->merge != MPI_OP_NULL) MPI_Op_free(&m->merge);
    if (!finalized && m->comm != MPI_COMM_NULL) MPI_Comm_free(&m->comm);
    free(m->requests);
    free(m->to_at);
    free(m);
}

/* Makes what needs no other rank. NULL: no memory. */
static mpi_ranks *make_ranks(MPI_Comm mpi) {
    mpi_ranks *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->comm = MPI_COMM_NULL;
    m->merge = MPI_OP_NULL;
    MPI_Comm_rank(mpi, &m->rank);
    MPI_Comm_size(mpi, &m->ranks);
    m->requests = malloc(2 * (size_t)m->ranks * sizeof *m->requests);
    m->to_at = malloc(2 * (size_t)m->ranks * sizeof *m->to_at);
    m->from_at = m->to_at + m->ranks;
    if (m->requests != NULL && m->to_at != NULL) return m;
    free_ranks(m);
    return NULL;
}

/* Returns the worst status of all ranks. */
static bf_status agree(MPI_Comm mpi, bf_status mine) {
    int worst = (int)mine;
    int failed = MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, mpi);
    return failed == MPI_SUCCESS ? (bf_status)worst : BF_E_COMM;
}

static bf_status connect_ranks(mpi_ranks *m, MPI_Comm mpi) {
    if (MPI_Comm_dup(mpi, &m->comm) != MPI_SUCCESS) return BF_E_COMM;
    if (MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN) != MPI_SUCCESS) return BF_E_COMM;
    return MPI_Op_create(merge_messages, 0, &m->merge) == MPI_SUCCESS ? BF_OK : BF_E_COMM;
}

bf_status bf_carrier_create_mpi(MPI_Comm mpi, bf_carrier *carrier) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized || mpi == MPI_COMM_NULL) return BF_E_ARGUMENT;
    mpi_ranks *m = make_ranks(mpi);
    bf_status status = agree(mpi, !carrier ? BF_E_ARGUMENT : m == NULL ? BF_E_MEMORY : BF_OK);
    if (status == BF_OK) status = connect_ranks(m, mpi);
    if (status == BF_OK)
        *carrier = BF_CARRIER(.rank = m->rank, .ranks = m->ranks, .arg = m,
                              .exchange = exchange_bytes, .add = add_words, .gather = gather_bytes,
                              .merge = merge_message, .destroy = free_ranks);
    else if (m != NULL)
        free_ranks(m);
    return status;
}

bf_status bf_comm_create_mpi(bf_context *context, MPI_Comm mpi, bf_comm **comm) {
    bf_carrier carrier = {.size = 0};
    bool given = context != NULL && comm != NULL;
    bf_status status = bf_carrier_create_mpi(mpi, &carrier);
    if (status != BF_OK) return status;
    status = agree(mpi, given ? BF_OK : BF_E_ARGUMENT);
    if (status == BF_OK) status = bf_comm_create(context, &carrier, comm);
    if (status != BF_OK) free_ranks(carrier.arg);
    return status;
}
