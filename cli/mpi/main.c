/* bitfold-mpi: the command over the ranks of MPI_COMM_WORLD. */
#include "command.h"
#include "runtime/ranks.h"
#include "runtime/report.h"
#include "runtime/start.h"
#include "runtime/stream.h"

#include <bitfold/mpi.h>
#include <fcntl.h>
#include <unistd.h>

/* Only rank 0 shows results. */
static void drop_output(void) {
    const int fd = open("/dev/null", O_WRONLY);
    if (fd >= 0) dup2(fd, STDOUT_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

int main(int argc, char **argv) {
    bf_carrier carrier;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0) drop_output();
    start_process();
    stream_leave_terminal();
    const bf_status st = bf_carrier_create_mpi(MPI_COMM_WORLD, &carrier);
    if (st != BF_OK) MPI_Abort(MPI_COMM_WORLD, fail_status(st, NULL, NULL));
    ranks_set(&carrier);
    const int code = run_bitfold(argc, argv);
    carrier.destroy(carrier.arg);
    MPI_Finalize();
    return code;
}
