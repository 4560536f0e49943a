"""The example programs for MPI, Dask, PyTorch and JAX: each checks its results itself."""

import os
import shutil
import subprocess
import sys
import unittest

from documents import ROOT
from ranks import ENVIRONMENT


def run(*command):
    return subprocess.run(
        command, env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip


def example(name):
    return os.path.join(ROOT, "examples", name)


class Programs(unittest.TestCase):
    def need(self, modules):
        """Skips the test if a module cannot be imported: mpi4py needs the library of an MPI."""
        found = run(sys.executable, "-c", "import " + modules)
        if found.returncode:
            self.skipTest((found.stderr.strip() or modules).splitlines()[-1])

    def result(self, *command):
        done = run(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_ranks_give_the_same_bits(self):
        self.need("mpi4py.MPI, numpy")
        one = self.result(sys.executable, example("mpi_states.py"))
        self.assertEqual(one.count("\n"), 1)
        mpirun = shutil.which("mpirun.openmpi")
        if mpirun:
            for ranks in (2, 3):
                command = mpirun, "-n", str(ranks), sys.executable, example("mpi_states.py")
                self.assertEqual(self.result(*command), one.replace("1 ranks", f"{ranks} ranks"))

    def test_trees_and_groups_of_dask_give_the_same_bits(self):
        self.need("dask.array, dask.dataframe")
        self.assertIn("means by key", self.result(sys.executable, example("dask_states.py")))

    def test_a_model_is_trained_to_the_same_bits(self):
        self.need("torch")
        said = self.result(sys.executable, example("torch_exact.py"), "--steps", "5")
        self.assertTrue(said.endswith("all are the same\n"), said)

    def test_a_line_is_fitted_to_the_same_bits(self):
        self.need("jax")
        said = self.result(sys.executable, example("jax_exact.py"), "--steps", "5")
        self.assertTrue(said.endswith("all are the same\n"), said)
