"""Ranges and patterns of columns: the command takes of random names those that Python's fnmatch takes."""
import fnmatch
import os
import random

from command import SANITIZED, CommandTest, run

CASES = int(os.environ.get("BITFOLD_CASES", "300")) // (20 if SANITIZED else 6)


def meaning(item, names):
    """The columns of an item, from 0; an exact name wins."""
    if item in names:
        return [names.index(item)]
    if item[0].isdigit():
        first, dash, last = item.partition("-")
        return list(range(int(first) - 1, int(last) if last else len(names) if dash else int(first)))
    return [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, item)]


class Patterns(CommandTest):
    def sums(self, names, items, *more):
        path = self.write("x.csv", (",".join(names) + "\n" + ",".join(map(str, range(len(names))))).encode())
        return run("sum", "--header", "--tsv", "--column", ",".join(items), *more, path)

    def test_random_lists_mean_what_python_says(self):
        for seed in range(CASES):
            r = random.Random(seed)
            names = list({"".join(r.choice("ab12") for _ in range(r.randint(1, 3))) for _ in range(8)})
            names = sorted({"n" + name for name in names} | r.choice([set(), {"n*", "2-3"}, {"n?"}]))
            items = [r.choice(["n*", "n?", "n[ab]*", "n[!a]*", "2", "2-3", "1-2", "3-", "*", "n*1"])
                     for _ in range(r.randint(1, 3))]  # fmt: skip
            wanted = sorted({i for item in items for i in meaning(item, names)})
            ran = self.sums(names, items)
            with self.subTest(seed=seed, names=names, items=items):
                if any(not meaning(item, names) or meaning(item, names)[-1] >= len(names) for item in items):
                    self.assertEqual(ran.returncode, 3)
                    continue
                rows = [line.split("\t") for line in ran.stdout.decode().splitlines()]
                at = rows[0].index("value")
                self.assertEqual([int(row[at]) for row in rows[1:]], wanted, ran.stderr)

    def test_errors_name_the_item(self):
        for item, what in [("z*", "no column has a name like 'z*'"), ("2-9", "no columns 2-9: there are 3"),
                           ("`a*`", "no column is named 'a*'")]:  # fmt: skip
            ran = self.sums(["a1", "a2", "b"], [item])
            self.assertEqual(ran.returncode, 3, item)
            self.assertIn(what, ran.stderr.decode())

    def test_a_text_without_rows_has_no_names(self):
        for command in [["sum", "--column", "v*"], ["sum", "--column", "v"], ["count", "--by", "v"]]:
            ran = run(*command, self.write("x.csv", b""))
            self.assertEqual(ran.returncode, 3)
            self.assertIn("it has no rows", ran.stderr.decode())
            self.assertNotIn("the columns are", ran.stderr.decode())

    def test_hints_say_what_takes_words_and_keys(self):
        path = self.write("x.csv", b"w,n\nred,1\n")
        for command in [["count"], ["sort"], ["unique"], ["top", "-n", "1"]]:
            self.assertIn("hint: --by COLUMN takes words, too", run(*command, "--column", "w", path).stderr.decode())
        for command in ["sum", "--column", "w"], ["count", "--by", "w", "--column", "w"], ["hist", "--column", "w"]:
            self.assertNotIn("takes words", run(*command, path).stderr.decode())
        for command in ["sum", "median", "max"]:
            self.assertIn("'bitfold group --by KEYS --%s V'" % command, run(command, "--by", "w", path).stderr.decode())
        self.assertIn("bitfold help argsort", run("argsort", "--by", "w", path).stderr.decode())

    def test_a_name_between_backquotes_is_no_pattern(self):
        self.assertEqual(self.sums(["a*", "ab"], ["`a*`"]).stdout, self.sums(["a*", "ab"], ["a*"]).stdout)

    def test_keys_of_json_lines_are_matched(self):
        path = self.write("x.jsonl", b'{"a1":1,"b":2,"a2":3}\n')
        self.assertEqual(run("sum", "--column", "a*", path).stdout, b"a1\t1\na2\t3\n")
