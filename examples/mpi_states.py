"""Adds states over the ranks of MPI, by mpi4py: the same bits on any number of ranks.

    mpirun -n 1 python3 examples/mpi_states.py
    mpirun -n 4 python3 examples/mpi_states.py

The words of sums, means, variances and dot products are integers that MPI adds. Objects that are
pickled, such as histograms and groups, go through mpi4py's own allreduce, which adds them by +.
bitfold.Comm.of_mpi4py() does the same for all of them in one call, comm.merge(state, histogram).
"""

import numpy as np
from mpi4py import MPI

import bitfold

mpi = MPI.COMM_WORLD
rank, ranks = mpi.Get_rank(), mpi.Get_size()

x = np.random.default_rng(1).standard_cauchy(1_000_003)  # all ranks have these numbers, and take
                                                         # parts of them
mine = x[len(x) * rank // ranks : len(x) * (rank + 1) // ranks]

words = bitfold.State("var", "f64").absorb(mine).words()  # a buffer of int64
mpi.Allreduce(MPI.IN_PLACE, words, MPI.SUM)
variance = bitfold.State("var", "f64").set_words(words, parts=ranks).result()

histogram = mpi.allreduce(bitfold.Histogram("f64", bins=4, range=(-2, 2)).absorb(mine))

assert variance == bitfold.var(x)
assert histogram.counts.tolist() == bitfold.histogram(x, 4, (-2, 2))[0].tolist()
if rank == 0:
    print(f"{ranks} ranks: variance {variance.hex()}, counts {histogram.counts.tolist()}")
