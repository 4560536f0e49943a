"""Covariance and correlation matrices with weights: each value is the exact one, rounded once. The oracle is that
of the module's tests.

Builds: release."""
import json
import os
import random
from fractions import Fraction

import numpy as np

from command import SHORT, CommandTest
from joint import of_weighted_pair

CASES = int(os.environ.get("BITFOLD_CASES", "80")) // (32 if SHORT else 8)


class Matrices(CommandTest):
    def long(self):
        """A table that takes more than 3 MiB as numbers."""
        with open(self.path("long.csv"), "w") as f:
            f.writelines(["a,b,c\n", *("1.5,2,3\n" for _ in range(400_000))])
        return self.path("long.csv")

    def test_a_matrix_with_weights(self):
        """Columns of a table with the weights of another, or files with those of a file; of two, one value."""
        for seed in range(CASES):
            rng = random.Random(7000 + seed)
            n, k, op = rng.choice([0, 1, 2, 5, 40, 700]), rng.randint(2, 4), rng.choice(["cov", "corr"])
            columns = [[Fraction(rng.randint(-999, 999), 100) for _ in range(n)] for _ in range(k)]
            weights = [Fraction(rng.randint(0, 30), 10) for _ in range(n)]
            ddof, reliable = rng.randint(0, 1), rng.random() < 0.5
            chosen = {"ddof": ddof, "reliability": reliable}
            options = ["--aweights" if reliable else "--weights", "w", *(["--ddof", ddof] if op == "cov" else [])]
            want = [[of_weighted_pair(op, list(zip(x, y, weights)), **chosen) for y in columns] for x in columns]
            names = "abcd"[:k]
            rows = [",".join(f"{float(v):.2f}" for v in row) + "\n" for row in zip(*columns, weights)]
            lost = rng.choice([0, 0, 3])  # rows in which some column is NULL
            for i in range(lost):
                cells = ["1"] * (k + 1)
                cells[rng.randrange(k + 1)] = ""
                rows.insert(rng.randint(0, len(rows)), ",".join(cells) + "\n")
            with open(self.path("t.csv"), "w") as f:
                f.writelines([",".join([*names, "w"]) + "\n", *rows])
            skip = ["--null-policy", "skip"] if lost else []
            if n == 0 and not lost:
                continue
            told = json.loads(self.result(op, "--json", *options, *skip, "--column", ",".join(names), self.path("t.csv")))
            found = told[op] if k > 2 else told["value"]
            wanted = [["nan" if v != v else v for v in row] for row in want]
            self.assertEqual(found, wanted if k > 2 else wanted[0][1], (seed, op, chosen, n, k))
            if k == 2:
                self.assertEqual((told["n"], told.get("null", 0)), (n, lost))
        files = [self.save(f"{i}.npy", np.array(v)) for i, v in enumerate([[1.0, 2, 4], [3.0, 5, 4], [0.0, 2, 2]])]
        weights = self.save("w.npy", np.array([1.0, 2, 1]))
        output = self.path("m.npy")
        self.result("cov", "--ddof", 1, "--weights", weights, "-o", output, *files)
        repeated = np.repeat([np.load(f) for f in files], [1, 2, 1], axis=1)
        np.testing.assert_allclose(np.load(output), np.cov(repeated))
        table = self.write("few.csv", b"a,b,c\n1,1,2\n2,1,1\n6,2,1\n")
        for with_, more in [("--save", ["--save", self.path("s")]), ("-e", ["-e", "a,b"]), ("--axis", ["--axis", 0])]:
            self.refused(2, f"go with {with_}", "corr", "--weights", "c", "--column", "a,b", *more, table)
        self.refused(2, "two columns and weights", "corr", "--weights", "c", "--column", "a", table)
        self.refused(2, "--memory is too small", "corr", "--weights", "c", "--column", "a,b", "--memory", "3M", self.long())
