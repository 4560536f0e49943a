/* bitfold-mpi: the command over the ranks of MPI_COMM_WORLD. */
#include "command.h"
#include "runtime/ranks.h"
#include "runtime/report.h"
#include "runtime/start.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

/* A message of MPI counts in an int: larger ones go in rounds. */
enum { ROUND = 1 << 28 };

static int round_of(int64_t bytes, int64_t done) {
    const int64_t left = bytes - done;
    return left <= 0 ? 0 : left < ROUND ? (int)left : ROUND;
}

/* Room for the sizes and places of one round, and the ranks' places in all. */
typedef struct traffic {
    int ranks;
    int *to, *to_at, *from, *from_at;
} traffic;

static int send_round(const traffic *t, const char *to, const int64_t to_bytes[], char *from,
                      const int64_t from_bytes[], int64_t done) {
    MPI_Request *requests = calloc(2 * (size_t)t->ranks, sizeof(MPI_Request));
    MPI_Status *statuses = calloc(2 * (size_t)t->ranks, sizeof(MPI_Status));
    int n = 0, failed = !requests || !statuses;
    for (int i = 0; i < t->ranks && !failed; i++) {
        const int in = round_of(from_bytes[i], done), out = round_of(to_bytes[i], done);
        if (in > 0)
            failed = MPI_Irecv(from + done, in, MPI_BYTE, i, 0, MPI_COMM_WORLD, &requests[n++]);
        if (out > 0 && !failed)
            failed = MPI_Isend(to + done, out, MPI_BYTE, i, 0, MPI_COMM_WORLD, &requests[n++]);
        from += from_bytes[i];
        to += to_bytes[i];
    }
    if (!failed) failed = MPI_Waitall(n, requests, statuses);
    free(statuses);
    free(requests);
    return failed;
}

static int exchange_bytes(void *arg, const void *to, const int64_t to_bytes[], void *from,
                          const int64_t from_bytes[]) {
    const traffic *t = arg;
    int64_t most = 0;
    for (int i = 0; i < t->ranks; i++) {
        if (to_bytes[i] > most) most = to_bytes[i];
        if (from_bytes[i] > most) most = from_bytes[i];
    }
    int failed = 0;
    for (int64_t done = 0; done < most && !failed; done += ROUND)
        failed = send_round(t, to, to_bytes, from, from_bytes, done);
    return failed;
}

static int gather_bytes(void *arg, const void *mine, void *all, int64_t bytes) {
    (void)arg;
    return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* Only rank 0 shows results. */
static void drop_output(void) {
    const int fd = open("/dev/null", O_WRONLY);
    if (fd >= 0) dup2(fd, STDOUT_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

int main(int argc, char **argv) {
    static traffic t;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.ranks);
    if (rank > 0) drop_output();
    start_process();
    const bf_carrier carrier = BF_CARRIER(.rank = rank, .ranks = t.ranks, .arg = &t,
                                          .exchange = exchange_bytes, .gather = gather_bytes);
    ranks_set(&carrier);
    const int code = run_bitfold(argc, argv);
    MPI_Finalize();
    return code;
}
