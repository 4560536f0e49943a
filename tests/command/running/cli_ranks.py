"""The command over ranks: the bytes of one process, whatever the number of ranks, under Open MPI and
under MPICH; failures are told once, with one exit code; nothing hangs.

BITFOLD_CASES above 1 tries every command on 1 to 8 ranks; otherwise a third of them on a few.
Builds: release, asan (full)."""
import functools
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np

from command import BITFOLD, SHORT, CommandTest, run
from ranks import ENVIRONMENT

CASES = int(os.environ.get("BITFOLD_CASES", "300"))
ALL = CASES >= 1000
STEP = 3 if CASES >= 300 else 6 if CASES >= 100 else 12  # fewer under sanitizers
FOLDER = os.path.dirname(os.path.abspath(BITFOLD))
STARTERS = {"openmpi": ["--oversubscribe", "-q"], "mpich": []}
NUMBERS = {"openmpi": [2, 3, 5], "mpich": [2, 3]}
SHARE = 3 if SHORT else 1 # every third command of some lists, on which ranks agree in the same way
FOUND = [mpi for mpi in STARTERS if shutil.which("mpirun." + mpi) and
         os.path.exists(os.path.join(FOLDER, "bitfold-mpi." + mpi))]

COMMANDS = [
    "sum x.npy", "sum --hex tiny.npy", "prod x.npy", "argmin x.npy", "argmax --total x.npy y.npy",
    "mean --total x.npy y.npy x.npy", "std --offset 777 --count 50001 x.npy", "describe x.npy",
    "min empty.npy", "sum empty.npy", "sumsq swapped.npy", "argmax fortran.npy",
    "argmax --offset 5 fortran.npy", "var k.npy", "norm --format raw --dtype f32 raw",
    "describe --column value,late,key t.csv", "describe t.csv u.csv", "describe money2.csv words.csv", "sum --column value,key --total t.csv t.csv",
    "prod --column value t.csv", "sum --column value,key --where late>=0 --total t.csv t.csv",
    "median --column value --where key%2==1 t.csv", "hist --tsv --column value --where late<9 t.csv",
    "group --by key%10=digit --sum value --where value>0 t.csv t.csv", "group --by key%7=k --first value,late --last note,late --mode late --distinct value,note --share late --total --checkpoint work t.csv u.csv",
    "group --by key --first note --last note,late --total u.csv v.csv", "group --by key --median value --mode late t.csv u.csv", "group k.npy --first x.npy --last x.npy --distinct x.npy",
    "group --column key --share late --mode late --first value t.csv", "group --by key --mode late,value --sum late t.csv money2.csv", "hist --by key --bins 4 --column late --csv t.csv u.csv",
    "argmin --column value --offset 100 --count 9000 t.csv",
    "sum --column late t.csv", "sum --offset 17 --count 3 lines", "sum --offset 999999999 lines",
    "sum --count 999999999 lines", "max one", "dot x.npy y.npy", "dot --offset 3 x.npy y.npy",
    "dot lines lines", "dot late lines", "dot x.npy short.npy", "dot short.npy x.npy",
    "dot k.npy fewer", "dot fewer k.npy", "fit --column late,key t.csv", "corr --csv x.npy y.npy x.npy", "skew x.npy",
    "std --ddof 1 --aweights y.npy x.npy", "cov --where late>=0 --column value,key t.csv",
    "describe --all t.csv", "fit --axis 0 x.npy y.npy", "hist --tsv x.npy", "hist --tsv x.npy y.npy odd.npy",
    "hist --bins 5 --range -2:2 --tsv x.npy", "hist --tsv --column value t.csv", "hist --tsv odd.npy",
    "hist --weights y.npy --tsv x.npy", "hist --tsv --edges 0,7,9007199254740993 late lines money", "count k.npy", "count k.npy k.npy", "count -n 5 late",
    "count --sort key --column key t.csv", "count lines late", "count empty.npy",
    "group k.npy --sum x.npy --count --max k.npy", "group k.npy --sum short.npy",
    "group k.npy --mean fewer", "group k.npy --mean lines --min x.npy", "group lines --sum lines",
    "group --column key --mean value --sum late --count t.csv", "group late --sum k.npy --count",
    "group --column key --offset 11 --count 20000 --sum value t.csv", "join small.npy small.npy", "join small.npy k.npy", "join --offset 3 --count 2000 k.npy lines",
    "join --count 900 late k.npy", "join lines late --count 700", "join x.npy k.npy", "join bad one",
    "join fortran.npy x.npy", "join tiny.npy tiny.npy", "join empty.npy empty.npy",
    "join --memory 128M small.npy k.npy", "join long.txt squares", "join squares long.txt", "join long.txt long.txt", "join small.npy squares",
    "prod stored.npz:x", "argmax --axis 0 stored.npz:k deflated.npz:k", "median deflated.npz:x", "sum stored.npz",
    "sum missing.npy", "sum --column nothing t.csv", "sum bad", "sum x.npy bad y.npy", "sum --nan no x",
    "sum --overflow wrap x.npy", "prod --overflow wrap k.npy", "prod k.npy", "mean --nan error odd.npy",
    "group bad --count", "count bad", "hist --tsv bad", "dot bad bad", "sum --format npy lines",
    "sum --axis 0 fortran.npy", "argmin --axis 1 fortran.npy", "argmax --axis 0 fortran.npy",
    "mean --axis 0 x.npy", "var --index k.npy --slots 2100 x.npy", "max --axis 0 --column value,key t.csv",
    "sum --offsets cuts.npy x.npy", "dot --axis 1 fortran.npy fortran.npy", "std --axis 0,1 fortran.npy",
    "sum --index k.npy --slots 7 x.npy", "sum --axis 2 x.npy", "describe --axis 1 fortran.npy", "norm --axis 0 tiny.npy",
    "sum --axis 1 long.npy", "max --axis 1 fortran.npy long.npy",
    "argmin --axis 0 fortran.npy", "argmax --index k.npy --slots 2100 --empty 7 x.npy", "prod --axis 0 odd.npy",
    "describe --offsets cuts.npy odd.npy", "dot --axis 0 fortran.npy fortran.npy", "prod --axis 1 long.npy",
    "prod --index k.npy --slots 2100 x.npy",
    "median x.npy", "median --total x.npy y.npy x.npy", "quantile -p 0,5,99.9 odd.npy", "median --nan skip odd.npy",
    "median --column value,late,key t.csv", "quantile --tsv --total lines late", "median lines", "median late",
    "quantile -p 0,25,50 wide", "top -n 3 --least wide", "median --total lines wide",
    "describe --quantiles=0,50 wide", "median empty.npy", "quantile --offset 777 --count 50001 --method lower k.npy", "median --axis 0 fortran.npy",
    "quantile --empty 3 empty.npy", "median x.npy k.npy missing.npy", "median --total x.npy k.npy", "median bad",
    "top -n 5 x.npy", "top -n 30000 --least odd.npy", "top -n 7 --total x.npy y.npy x.npy", "top -n 4 --nan skip odd.npy",
    "top -n 9 --column value,late,key t.csv", "top -n 3 --total lines late", "top -n 3 late", "top -n 3 --total money lines", "quantile -p 1,50,99 --total late money", "top -n 9 empty.npy",
    "top -n 500 --offset 777 --count 50001 k.npy", "top -n 2 --axis 0 fortran.npy", "top -n 12 fortran.npy",
    "top -n 3 --offset 17 --count 30 lines", "top -n 1 x.npy missing.npy", "top -n 1 --total x.npy k.npy", "top -n 1 bad",
    "top -n 2 --nan error odd.npy", "top -n 999999999999 tiny.npy", "top -n 40 --memory 128M x.npy",
    "sort x.npy", "sort --descending --nan skip odd.npy", "argsort k.npy", "argsort --descending --total k.npy x.npy",
    "argsort --total k.npy k.npy", "unique --count k.npy late", "unique --count --total k.npy k.npy", "sort --column value,late,key t.csv",
    "argsort --column late,key t.csv", "sort --total late money", "sort wide", "unique money", "sort --total lines wide", "sort empty.npy",
    "unique --count empty.npy", "sort tiny.npy missing.npy k.npy", "sort bad", "unique --nan error odd.npy", "sort --offset 777 --count 50001 k.npy",
    "argsort --offset 17 --count 30000 lines", "unique --where late<9 --column key t.csv", "sort --memory 128M --csv k.npy",
    "argsort --memory 128M odd.npy", "unique --memory 128M --count odd.npy", "top -n 70000 --memory 128M --least k.npy x.npy",
    "top -n 70000 -j1 --memory 128M --total k.npy k.npy", "sort --axis 0 fortran.npy", "sort -e 7%key t.csv", "unique fortran.npy",
    "argsort fortran.npy", "sort --by key,-value t.csv", "top -n 3 --by value t.csv", "unique --by note,key t.csv",
    "unique --by key --count --memory 128M t.csv", "sort x.npy k.npy -o many.npy", "sort --column value,key t.csv -o one.npy",
    "quantile --nan error odd.npy", "describe --quantiles x.npy odd.npy", "describe --quantiles=1,50 --column value,late,key t.csv",
    "quantile --method hazen swapped.npy fortran.npy", "median one tiny.npy", "median --index k.npy --slots 2100 x.npy",
    "hist --strict --bins 3 --range 0:1 x.npy", "count x.npy k.npy", "sum --total x.npy k.npy",
    "count --by note,key -n 7 t.csv", "group --by key --sum value --count --sort -count t.csv", "sum -e 7%a k.npy",
    "group --by late,note --sum value --max late --std value --count --total t.csv t.csv", "count --by late t.csv lines",
    "group --by key --sum value*key --min late --where value>0 --sort -key t.csv",
    "count --by nothing t.csv", "group --by key --sum value --sort nothing t.csv", "count --by key --memory 128M t.csv",
    "count --by 1 lines late money", "group --by key --sum note t.csv", "count --by key --offset 7 --count 900 t.csv",
    "group --by note --median value --total t.csv", "join words.csv t.csv --on key --how left", "sum -e 7%key t.csv",
    "join t.csv words.csv --on key --how semi --csv", "count --by w nulls", "sum --header --null-policy skip nulls",
    "join words.csv nulls --on word=w --how outer", "group --by word --sum key words.csv", "argmin --header nulls",
    "count --by nothing t.csv", "join words.csv words.csv --on nothing", "sum -e key*value t.csv",
    "help sum", "--version", "merge saved saved", "map neg x.npy -o out.npy", "julia -o out.png", "nothing"]


@functools.cache
def inputs():
    """A folder of the inputs, which are made once."""
    folder = tempfile.TemporaryDirectory(prefix="bitfold-")
    make_inputs(folder.name)
    return folder


def write_inputs(folder):
    for name in os.listdir(inputs().name):
        os.link(os.path.join(inputs().name, name), os.path.join(folder, name))


def make_inputs(folder):
    r = np.random.default_rng(5)

    def save(name, array):
        np.save(os.path.join(folder, name + ".npy"), array)

    def write(name, text):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)

    n = 100_001
    x = r.normal(size=n)
    save("x", x)
    save("y", r.normal(size=n) * 10.0 ** r.integers(-200, 200, n))
    save("k", r.integers(0, 700, n).astype("i8") * 3)
    for name, savez in [("stored", np.savez), ("deflated", np.savez_compressed)]:
        savez(os.path.join(folder, name + ".npz"), x=x, k=np.arange(n))
    save("short", x[:-5])
    save("cuts", np.array([3, 3, 40_000, 100_000]))
    save("tiny", np.array([1e300, -0.0, 5e-324]))
    save("empty", np.zeros(0, "f4"))
    save("swapped", r.integers(0, 99, n).astype(">i4"))
    save("fortran", np.asfortranarray(r.normal(size=(173, 211))))
    odd = x.copy()
    odd[[5, 7000, 99_000]] = [np.inf, np.nan, -np.inf]
    save("odd", odd)
    save("long", x[:99_999].reshape(3, 33_333))
    save("small", r.integers(0, 20, 60))
    x[:5000].astype("f4").tofile(os.path.join(folder, "raw"))
    keys, values = r.integers(0, 50, n), r.normal(size=n)
    lines = ["%d" % k for k in keys]
    lines[::1000] = [""] * len(lines[::1000])  # a blank line is no row
    while sum(map(bool, lines)) < n:
        lines.append("4")
    write("lines", "\n".join(lines))  # the last one has no newline
    write("late", "".join("%d\n" % k for k in keys[:-1]) + "0.5\n")
    write("wide", "".join("%d\n" % k for k in keys[:-2]) + "0.5\n-%s\n" % ("7" * 37))
    write("long.txt", "".join("%d\n" % (10**20 + k) for k in range(3000)) + "7\n0.5\n")
    write("squares", "7\n" + "".join("%d\n" % (10**20 + k * k) for k in range(2000)))
    write("money", "".join("%.2f\n" % v for v in x[:-1]) + "0.50625\n")
    write("fewer", "".join("%d\n" % k for k in keys[:-9]))
    write("one", "7\n")
    write("words.csv", 'key,word\n3,"a, b"\n,x\n3,\n7,""\n')
    write("nulls", "w\n" + "".join("%s\n" % (k if k % 3 else "") for k in keys))
    write("bad", "".join("%d\n" % k for k in keys[:80_000]) + "oops\n" + "1\n" * 20_000)
    for name, sign in [("u.csv", 1), ("v.csv", -1)]:  # what is in the last rows of one is in the first of the other
        write(name, "key,note,value,late\n" + "".join("%d,%s%052d,%d,%d\n" % (sign * (i // 5000) % 12, name[0], i, i % 77, i % 5)
                                                      for i in range(60_000)))
    write("money2.csv", "key,late,value\n" + "".join("%d,%d.25,%s\n" % (keys[i], i % 9, "x" if i > 8990 else i % 7) for i in range(9000)))
    write("t.csv", "\n\nkey,note,value,late\n" + "".join(
        '%d,"a, ""b""",%r,%s\n' % (keys[i], values[i], i if i != n // 2 else "0.25")
        for i in range(n)))


@unittest.skipUnless(FOUND, "needs bitfold-mpi and mpirun.openmpi or mpirun.mpich")
class RanksTest(CommandTest):
    def job(self, i):
        """An MPI and a number of ranks for the i-th of some commands."""
        mpi = FOUND[i % len(FOUND)]
        return mpi, min([2, 3, 5][i % 3], NUMBERS[mpi][-1])

    def start(self, mpi, ranks, *arguments, **more):
        command = ["mpirun." + mpi, *STARTERS[mpi], "-n", str(ranks),
                   os.path.join(FOLDER, "bitfold-mpi." + mpi), *map(str, arguments)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **more}
        return subprocess.Popen(command, stderr=subprocess.PIPE, cwd=self.dir,
                                env={**os.environ, **ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"},  # MPI's own
                                start_new_session=True, **streams)

    def end(self, child, data=None):
        try:
            out, error = child.communicate(data, timeout=100)
        except subprocess.TimeoutExpired:
            self.show_stacks()
            os.killpg(child.pid, signal.SIGKILL)
            for process in self.processes():
                os.kill(process, signal.SIGKILL)
            child.communicate()
            raise
        return child.returncode, out, error.decode()

    def show_stacks(self):
        """Where the ranks of a job stand that has not ended."""
        for process in self.processes() if shutil.which("gdb") else []:
            subprocess.run(["gdb", "-p", str(process), "-batch", "-ex", "thread apply all bt"],
                           stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def processes(self):
        """The ranks of a job: they work in its directory, of which no other test knows."""
        found = []
        for pid in filter(str.isdecimal, os.listdir("/proc")):
            try:
                with open("/proc/%s/comm" % pid) as f:
                    rank = f.read().startswith("bitfold-mpi")
                if rank and os.readlink("/proc/%s/cwd" % pid) == os.path.realpath(self.dir):
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def ranks(self, mpi, ranks, *arguments, **more):
        return self.end(self.start(mpi, ranks, *arguments, **more))

    def check(self, mpi, ranks, *arguments):
        """The exit code, the bytes and the message are those of the command alone."""
        alone = run(*arguments, cwd=self.dir)
        code, out, error = self.ranks(mpi, ranks, *arguments)
        name = (mpi, ranks, arguments, error)
        self.assertEqual(code, alone.returncode, name)
        self.assertEqual(out, alone.stdout, name)
        said = [line for line in error.splitlines() if line.startswith(("bitfold", "hint"))]
        self.assertEqual(said, alone.stderr.decode().splitlines(), name)


class Commands(RanksTest):
    def test_every_command_gives_the_bytes_of_one_process(self):
        write_inputs(self.dir)
        run("sum", "--save", "saved", "x.npy", cwd=self.dir)
        r = random.Random(1)
        commands = [c for c in COMMANDS if c.split()[0] not in ["map", "julia"]]
        for i, command in enumerate(commands if ALL else commands[::STEP]):
            for mpi in FOUND if ALL else [FOUND[i % len(FOUND)]]:
                for ranks in range(1, 9) if ALL else [r.choice(NUMBERS[mpi])]:
                    self.check(mpi, ranks, *command.split())

    def test_rows_that_meet_a_condition_have_their_numbers(self):
        write_inputs(self.dir)
        r = random.Random(2)
        commands = ["describe --where late<50000 t.csv", "describe --column value,late,key --where key%2==1 t.csv u.csv",
                    "argmin --column value --where key==3 t.csv", "argmax --total --column value,key --where key%7==1 t.csv v.csv t.csv",
                    "describe --where key<0 t.csv", "argmin --column value --where key<0 t.csv", "argmax --column value --where late==99999 t.csv",
                    "describe -e value*late --where key>20 t.csv", "argmax -e value*2 --where late>99000 t.csv", "describe --where word!='x' words.csv",
                    "describe --quantiles=10,90 --column value,key --where key%3==0 t.csv", "describe --null-policy skip --where isnull(w)||w>7 nulls",
                    "argmin --column value --offset 1000 --count 90000 --where key>20 t.csv", "describe --where late>2 money2.csv"]
        for command in commands[::SHARE]:
            self.check(*r.choice([(mpi, n) for mpi in FOUND for n in NUMBERS[mpi]]), *command.split())
        ask = ["argmin", "--column", "value", "--where", "key > 20", "t.csv", "--save"]
        run(*ask, "alone.bfs", cwd=self.dir)
        self.assertEqual(self.ranks(FOUND[0], 3, *ask, "ranks.bfs")[0], 0)
        self.assertEqual(run("merge", "alone.bfs", cwd=self.dir).stdout, run("merge", "ranks.bfs", cwd=self.dir).stdout)
        self.assertIn("prod numbers the rows", self.ranks(FOUND[0], 2, "prod", "--column", "value", "--where", "key>20", "t.csv")[2])

    def test_newlines_in_quotes_where_parts_begin(self):
        rows = b'1,"x\n7,y\n"\n' * 50_000 + b'2,"' + b"8,z\n" * 200_000 + b'"\n' + b"3,x\n" * 50_000
        with open(os.path.join(self.dir, "quoted"), "wb") as f:
            f.write(b"a,b\n" + rows)
        for i, command in enumerate(["sum", "argmax", "count", "sum --offset 50000 --count 9"]):
            self.check(*self.job(i), *command.split(), "--column", "a", "quoted")

    def test_what_has_no_value_is_left_out_and_counted(self):
        r = random.Random(2)
        rows = [(r.choice([None, r.randrange(999)]), r.choice([None, 7, 0.5])) for _ in range(60_000)]
        with open(os.path.join(self.dir, "t.csv"), "w") as f:
            f.write("a,b,c\n" + "".join("%s,%s,x\n" % tuple("" if v is None else v for v in row)
                                       for row in rows))
        with open(os.path.join(self.dir, "t.jsonl"), "w") as f:
            f.writelines(json.dumps({"a": a, "b": b}) + "\n" for a, b in rows)
        commands = ["sum --column a,b", "argmax --column b", "describe --column a,b", "median --column b",
                    "top -n 3 --column a", "hist --bins 4 --column a"]
        for i, command in enumerate(commands):
            arguments = [*command.split(), "--null-policy", "skip", "--json", ["t.csv", "t.jsonl"][i % 2]]
            alone = run(*arguments, cwd=self.dir).stdout
            code, out, error = self.ranks(*self.job(i), *arguments)
            self.assertEqual((code, error), (0, ""))
            for got, want in zip(out.splitlines(), alone.splitlines()):
                got, want = json.loads(got), json.loads(want)
                self.assertGreater(want["null"], 0)
                self.assertEqual({**got, "seconds": 0}, {**want, "seconds": 0}, command)

    def test_times(self):
        """Times, NaT and columns without a value go through ranks, of which some may have no row."""
        r = random.Random(4)
        rows = 30_000
        stamps = np.datetime64("1790-01-01", "us") + np.array([r.randrange(10**16) for _ in range(rows)])
        stamps[: rows // 2] = stamps[: rows // 2].astype("M8[D]")
        stamps[::7] = "NaT"
        np.save(os.path.join(self.dir, "t.npy"), stamps)
        with open(os.path.join(self.dir, "t.csv"), "w") as f:
            f.write("t,k\n" + "".join("%s,%d\n" % ("" if i % 7 == 0 else str(t)[:10] if i < rows // 2 else t, i % 9)
                                      for i, t in enumerate(stamps)))
        for name, text in [("one.csv", "t,k\n1794-01-01T00:00:00.5,3\n"), ("none.csv", "t,k\n"), ("null.csv", "t,k\n" + 5 * ",\n")]:
            with open(os.path.join(self.dir, name), "w") as f:
                f.write(text)
        skip = "--null-policy skip "
        commands = ["max --column t " + skip + "t.csv", "argmin " + skip + "t.npy", "median --column t " + skip + "t.csv",
                    "quantile -p 10,33.3,99 " + skip + "t.npy", "describe --column t t.csv", "max --column t one.csv",
                    "group --by month(t)=m --median t --quantile 33:t --max t --count " + skip + "t.csv one.csv",
                    "group --by k --max t --median t " + skip + "none.csv t.csv null.csv", "count --by trunc(t,'year') t.csv",
                    "hist --tsv --column t --range 1800-01-01:1900-01-01T00:00 " + skip + "t.csv",
                    "hist --tsv --edges 1800-01-01,1850-01-01,2000-01-01 " + skip + "t.npy",
                    "group --by month(t)=m --count none.csv", "group --by date(t)=m --count null.csv",
                    "count --by k --where t>='1900-01-01' t.csv", "count --by k --where t>='1900-01-01' none.csv",
                    "sum -e hour(t) " + skip + "null.csv", "sum -e year(t) " + skip + "t.csv", "max t.npy"]
        for i, command in enumerate(commands[::3] if SHORT else commands):
            mpi = FOUND[i % len(FOUND)]
            self.check(mpi, r.choice(NUMBERS[mpi]), *command.split())

    def test_more_ranks_than_rows(self):
        write_inputs(self.dir)
        commands = ["argmax tiny.npy", "prod one", "count one", "hist --tsv tiny.npy", "describe tiny.npy", "median one",
                    "quantile tiny.npy", "top -n 2 tiny.npy", "argsort tiny.npy", "unique one", "group one --sum one", "sum --axis 0 tiny.npy"]
        for i, command in enumerate(commands[::SHARE]):
            ranks = 8 if ALL else 4 if "tiny" in command else 2
            self.check(FOUND[i % len(FOUND)], ranks, *command.split())

    def test_commands_without_ranks_are_refused(self):
        for mpi in FOUND:
            code, out, error = self.ranks(mpi, 2, "map", "neg", "x", "-o", "out.npy")
            self.assertEqual((code, out), (2, b""))
            self.assertEqual(error.count("bitfold map: this command does not run over ranks\n"
                                         "hint: run 'bitfold map'\n"), 1, error)
            self.assertEqual(self.ranks(mpi, 1, "map", "abs", "-o", "out.npy",
                                        self.save("x.npy", np.ones(3)))[0], 0)

    def test_more_numbers_than_the_memory_of_a_rank_sorts(self):
        r = np.random.default_rng(7)
        n = 2_000_000 if SHORT else 4_000_000
        x = r.normal(size=n)
        x[r.random(n) < 0.3] = x[:1]
        self.save("x.npy", x)
        self.save("k.npy", r.integers(-9_000, 9_000, n).astype("i2"))
        self.write("k.txt", "".join("%d\n" % k for k in r.integers(0, 1 << 40, n)).encode())
        commands = ["sort x.npy", "argsort --descending x.npy", "argsort k.npy", "sort k.txt", "unique x.npy", "unique k.txt",
                    "top -n %d k.npy" % (n // 2)]
        for i, command in enumerate(commands[1::2] if SHORT else commands):
            mpi, form = FOUND[i % len(FOUND)], "" if command.startswith("top") else ".npy"
            ranks = r.integers(2, 5) if mpi == "openmpi" else 2
            error = self.ranks(mpi, ranks, *command.split(), "--memory", "1M")[2]
            least = [int(word) for word in error.split() if word.isdigit()][-1]
            limited = [*command.split(), "--memory", "%dM" % (least + 1), "-j1", "-o", "out" + form]
            missing = self.ranks(mpi, ranks, *limited, "--spill", "none")
            self.assertIn("cannot make a temporary file", missing[2], command)
            self.assertEqual(missing[:2], (1, b""))
            run(*command.split(), "-o", "want" + form, cwd=self.dir)
            code, out, error = self.ranks(mpi, ranks, *limited)
            self.assertEqual((code, out), (0, b""), (mpi, ranks, command, error))
            with open(self.path("out" + form), "rb") as out, open(self.path("want" + form), "rb") as want:
                self.assertEqual(out.read(), want.read(), (mpi, ranks, command))

    def test_devices_says_which_mpis_there_are(self):
        mpis = json.loads(run("devices", "--json").stdout)["mpis"]
        self.assertEqual(set(FOUND) - set(mpis), set())
        for mpi in FOUND:
            self.assertIn(b"bitfold-mpi." + mpi.encode(), run("devices").stdout)

    def test_objects_are_those_of_one_process(self):
        write_inputs(self.dir)
        for i, command in enumerate(["median --nan skip odd.npy", "describe --quantiles odd.npy"]):
            arguments = [*command.split(), "--json"]
            found = json.loads(self.ranks(FOUND[i % len(FOUND)], 3, *arguments)[1])
            want = json.loads(run(*arguments, cwd=self.dir).stdout)
            for each in [found, want]:
                each.pop("seconds")
            self.assertEqual(found, want)

    def test_one_rank_reads_standard_input(self):
        for mpi in FOUND:
            child = self.start(mpi, 3, "sum", stdin=subprocess.PIPE)
            self.assertEqual(self.end(child, b"1\n2\n3.5\n")[:2], (0, b"6.5\n"))

    def test_one_rank_reads_what_is_compressed(self):
        write_inputs(self.dir)
        for name in ["t.csv", "x.npy", "k.npy"]:
            with open(self.path(name), "rb") as f:
                self.write(name + ".gz", gzip.compress(f.read(), 1))
        commands = ["sum --column value t.csv.gz", "mean x.npy.gz", "count k.npy.gz",
                    "describe --column key --offset 9 --count 999 t.csv.gz", "dot x.npy x.npy.gz",
                    "group k.npy --sum x.npy.gz", "sum --format raw --dtype u8 t.csv.gz"]
        for i, command in enumerate(commands[::SHARE]):
            for mpi in FOUND if ALL else [FOUND[i % len(FOUND)]]:
                self.check(mpi, 3, *command.split())

    def test_a_product_without_nulls_is_refused(self):
        name = self.write("x", b"2,x\n,x\n3,x\n")
        skip = ["--column", 1, "--null-policy", "skip", name]
        for mpi in FOUND:
            code, out, error = self.ranks(mpi, 2, "prod", *skip)
            self.assertEqual((code, out), (2, b""))
            self.assertEqual(error.count("a product of floats does not go with ranks"), 1, error)
            self.assertEqual(self.ranks(mpi, 2, "prod", "--dtype", "i64", *skip)[:2], (0, b"6\n"))
            self.assertEqual(self.ranks(mpi, 1, "prod", *skip)[:2], (0, b"6\n"))

    def test_files_are_written_once(self):
        write_inputs(self.dir)
        for mpi in FOUND:
            arguments = ["mean", "x.npy", "--save", "s", "-o", "o", "--json"]
            self.assertEqual(self.ranks(mpi, 3, *arguments)[:2], (0, b""))
            with open(self.path("s"), "rb") as f:
                saved = f.read()
            run("mean", "x.npy", "--save", "t", cwd=self.dir)
            with open(self.path("t"), "rb") as f:
                self.assertEqual(f.read(), saved)
            with open(self.path("o"), "rb") as f:
                self.assertEqual(f.read().count(b"\n"), 1)


class Failures(RanksTest):
    def test_a_rank_that_is_killed_ends_the_job(self):
        x = self.save("x.npy", np.zeros(40_000_000, "f4"))
        for mpi in FOUND:
            child = self.start(mpi, 3, "sum", "--isa", "generic", *[x] * 400)
            victim = self.wait_for_rank(child)
            time.sleep(0.3)
            os.kill(victim, signal.SIGKILL)
            code, out, error = self.end(child)
            self.assertNotEqual(code, 0, error)
            self.wait_until_gone(child)

    def wait_for_rank(self, child):
        """The process of some rank of a job."""
        for _ in range(2000):
            time.sleep(0.005)
            for process in self.processes():
                return process
        raise AssertionError("no rank was started")

    def wait_until_gone(self, child):
        for _ in range(2000):
            if not self.processes():
                return
            time.sleep(0.005)
        raise AssertionError("ranks are left")

    def test_checkpoints_of_ranks(self):
        share = 4 if SHORT else 1
        x = self.save("x.npy", np.arange(5_000_000.0 / share))
        y = self.save("y.npy", np.arange(4_500_000.0 / share))
        commands = [["sum", x, y], ["prod", "--total", x, y], ["hist", "--tsv", x, y],
                    ["count", "--count", 300_000 // share, y, x], ["median", "--total", *6 * [x, y]]]
        for i, mpi in enumerate(FOUND):
            for command in commands if ALL else commands[i::2]:
                want = run(*command).stdout
                arguments = [*command, "--checkpoint", "work", "--isa", "generic", "-j", 1,
                             "--checkpoint-interval", "0.0001"]
                child = self.start(mpi, 2, *arguments, stdout=subprocess.DEVNULL)
                while child.poll() is None and len(self.files()) < 2:
                    time.sleep(0.001)
                time.sleep(0.02)
                for process in self.processes():
                    os.kill(process, signal.SIGKILL)
                self.end(child)
                self.wait_until_gone(child)
                left = self.files()
                code, out, error = self.ranks(mpi, 2, *arguments)
                self.assertEqual((code, out), (0, want), (command, error))
                if "work.0-of-2" in left:
                    self.assertIn("goes on behind", error)
                self.assertEqual(self.files(), [])

    def files(self):
        return [name for name in os.listdir(self.dir) if name.startswith("work.") and
                not name.endswith(".new")]
