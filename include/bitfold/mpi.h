/* Communicators over MPI: libbitfold-mpi, for Open MPI (libbitfold-mpi-openmpi) or MPICH
 * (libbitfold-mpi-mpich). Link the one that the program's MPI is. */
#ifndef BITFOLD_MPI_H
#define BITFOLD_MPI_H

#include "comm.h"

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a communicator of the ranks of an MPI communicator, which is duplicated: its messages do
 * not meet others. All of its ranks call this. The communicator must be destroyed before
 * MPI_Finalize, by all ranks. MPI's errors become BF_E_COMM. Errors: BF_E_ARGUMENT (also: MPI is
 * not initialized, or finalized; `mpi` is MPI_COMM_NULL), BF_E_MEMORY, BF_E_COMM. */
BF_API bf_status bf_comm_create_mpi(bf_context *context, MPI_Comm mpi, bf_comm **comm);

/* Makes the carrier alone: for bf_comm_create, or for bytes of the caller's own. carrier->destroy
 * frees it, which bf_comm_destroy calls; a copy without it can serve several communicators in turn.
 * Errors: as above. */
BF_API bf_status bf_carrier_create_mpi(MPI_Comm mpi, bf_carrier *carrier);

#ifdef __cplusplus
}
#endif
#endif
