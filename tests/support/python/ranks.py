"""What the tests share that start ranks of MPI."""
import os

# As many ranks as asked for, also by root; and of hwloc and UCX, on which MPI stands, not a word:
# where a container has no /sys they complain, on the standard output too.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "HWLOC_HIDE_ERRORS": "2",
               "UCX_LOG_LEVEL": "fatal"}

# Ranks of MPICH that wait let others work: tests/support/patient_ranks.c.
if "BITFOLD_PATIENT_RANKS" in os.environ:
    ENVIRONMENT["LD_PRELOAD"] = os.environ["BITFOLD_PATIENT_RANKS"]
