"""group --by and count --by in parts: saved and merged, and taken out again; against what Python's
fractions and decimals say of the whole."""
import collections
import random

from cli_by import CASES, LIMIT, OPERATIONS, Table, TablesTest
from command import run

SUMS = [op for op in OPERATIONS if op not in ("min", "max")]


class Saved(TablesTest):
    def case(self, seed, operations):
        """A table whose parts agree on what is a number, a command, and what it answers of a table."""
        r = random.Random(seed)
        nulls = r.choice([0, 0.2])
        table = Table(r, r.choice([3, 40, 400]), nulls)
        keys = r.sample(["word", "year", "cost"], r.choice([1, 1, 2]))
        asked = [(r.choice(operations + ["count"]), r.choice(["n", "cost", "n*3"])) for _ in range(r.randint(1, 5))]
        total = r.random() < 0.5
        arguments = ["group", "--by", ",".join(keys), "--text", "word"] + ["--total"] * total
        arguments += ["--null-policy", "skip"] if nulls else []
        for op, name in asked:
            arguments += ["--count"] if op == "count" else ["--" + op, name]
        return r, table, arguments, lambda t: self.lines(self.expect(t, keys, asked, None, total))

    def save_parts(self, r, arguments, parts):
        states = []
        for i, part in enumerate(parts):
            states.append(self.path("%d.bfs" % i))
            more = r.choice([[], ["-j1"], ["-j2", "--memory", LIMIT]])
            done = run(*arguments, *more, "--save", states[i], self.write("%d.csv" % i, part))
            self.assertEqual(done.stderr, b"", arguments)
        return states

    def merged(self, lines, note, *arguments):
        done = run("merge", *arguments)
        self.assertEqual((done.stderr, done.stdout), (b"", lines), note)

    def test_merged_parts_are_the_whole(self):
        for seed in range(CASES):
            r, table, arguments, answer = self.case(4000 + seed, OPERATIONS)
            states = self.save_parts(r, arguments, table.parts(r, r.randint(2, 4)))
            r.shuffle(states)
            self.merged(answer(table), seed, "--save", self.path("all.bfs"), *states)
            self.merged(answer(table), seed, self.path("all.bfs"))

    def test_a_part_that_is_taken_out_leaves_the_others(self):
        for seed in range(CASES):
            r, table, arguments, answer = self.case(5000 + seed, SUMS)
            cut = r.randint(0, table.rows)
            states = self.save_parts(r, arguments, [table.write(r, 0, cut), table.write(r, cut)])
            for first, end, out in [(0, cut, 1), (cut, None, 0)]:
                rest = Table(random.Random(0), 0, 0)
                rest.columns = {name: fields[first:end] for name, fields in table.columns.items()}
                rest.rows = len(rest.columns["year"])
                self.merged(answer(rest), seed, *states, "--minus", states[out])

    def test_counts_and_their_order(self):
        r = random.Random(7)
        words = [r.choice("abcdefg") for _ in range(500)]
        states = []
        for i, part in enumerate([words[:200], words[200:]]):
            states.append(self.path("%d.bfs" % i))
            run("count", "--by", "w", "--save", states[i], self.write("%d.csv" % i, "\n".join(["w"] + part).encode()))
        counted = sorted(collections.Counter(words).items())
        for more, rows in [([], sorted(counted, key=lambda row: -row[1])), (["--sort", "key"], counted),
                           (["--sort", "key", "-n", 2], counted[:2])]:
            self.merged(self.lines(rows), more, *more, *states)
        self.assertIn("w,count", self.result("merge", "--csv", *states))

    def test_what_does_not_go_together_is_refused(self):
        numbers, words = self.write("n.csv", b"k,v\n1,2\n"), self.write("w.csv", b"k,v\nx,0.5\n")
        s = [self.path(name) for name in ("a", "b", "c", "d", "e")]
        for state, arguments in zip(s, [
                ["group", "--by", "k", "--sum", "v", numbers], ["group", "--by", "k", "--sum", "v", words],
                ["group", "--by", "k", "--max", "v", numbers], ["group", "--by", "k", "--sum", "v", "--dtype", "f64",
                 "--text", "k", words], ["count", "--column", "v", numbers]]):
            self.result(*arguments, "--save", state)
        for other in s[1:3]:
            self.refused(3, "it does not go with the others: other keys, or other aggregates", "merge", s[0], other)
        done = run("merge", s[1], s[3])
        self.assertIn(b"hint: --dtype f64 saves groups of decimals as those of doubles", done.stderr)
        self.refused(3, "states do not match", "merge", s[0], s[4])
        self.refused(3, "nothing can be taken out of groups with max", "merge", s[2], "--minus", s[2])

    def test_damage_is_found(self):
        """Every byte is covered by the checksum, or is looked at."""
        state, path = self.path("s.bfs"), self.write("w.csv", b"k,y,v\nx,1,0.5\n,2,3\nz,1,4\n")
        self.result("group", "--by", "k,y", "--sum", "v", "--count", "--save", state, path)
        with open(state, "rb") as f:
            good = f.read()
        for at in range(0, len(good), 1 if CASES > 40 else 7):
            bad = good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1:]
            self.assertEqual(run("merge", self.write("bad.bfs", bad)).returncode, 3, at)
            self.assertEqual(run("merge", self.write("bad.bfs", good[:at])).returncode, 3, at)
