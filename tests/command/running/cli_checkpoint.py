"""Checkpoints: work that is killed goes on where it was, to the same bits; and what is refused.

BITFOLD_KILLS is the number of runs that are killed, of all commands in turn.
Builds: release, asan (full), tsan (full)."""
import glob
import gzip
import os
import random
import resource
import signal
import subprocess
import time

import numpy as np

from command import BITFOLD, SHORT, THREADS_ALONE, CommandTest, least_memory, run

KILLS = int(os.environ.get("BITFOLD_KILLS", "4" if THREADS_ALONE else "8" if SHORT else "22"))
SOON = ["--checkpoint-interval", "0.0001"]
SLOW = ["-j", 1, "--isa", "generic"]

COMMANDS = ["sum x.npy", "prod x.npy", "describe x.npy y.npy", "argmax --total y.npy x.npy",
            "dot x.npy y.npy", "dot t.txt u.txt", "hist --tsv x.npy y.npy",
            "hist --bins 7 --range -1:1 --tsv x.npy", "hist --weights y.npy --tsv x.npy",
            "count -n 9 k.npy k.npy", "group k.npy --sum x.npy --count --max k.npy",
            "group --column key --mean value --sum late t.csv",
            "group --by note,key --mean value --sum late --count --total --where value>-1 t.csv t.csv t.csv",
            "count --by late t.csv t.csv", "sum --column value,late --where key>3 t.csv t.csv", "count --by key%9=k --where value>0 t.csv", "group --by key --max value*2 --memory 100M t.csv t.csv", "sum --column value,late t.csv t.csv",
            "prod --offset 7 --count 60000 --column value t.csv", "describe t.csv t.csv",
            "argmin f.npy", "count late.txt", "var --total --nan skip big.npy x.npy",
            "mean --index k.npy --slots 3000 x.npy", "sumsq --axis 1 m.npy",
            "sum --axis 0 --column value,late t.csv", "prod --axis 1 m.npy", "dot --offsets o.npy x.npy y.npy",
            "argmin --axis 0 --column value,late t.csv", "describe --index k.npy --slots 3000 y.npy",
            "median" + 15 * " x.npy y.npy", "quantile --total -p 1,50,99.9" + 12 * " big.npy x.npy",
            "quantile --column value,late" + 9 * " t.csv", "describe --quantiles x.npy",
            "max --offsets o.npy --empty 7 x.npy big.npy"][::3 if SHORT else 1]

KEPT = [("group --by key --median value --quantile 5,90:late --sum value --total" + 3 * " t.csv").split(),
           ("group --by note,key --quantile 99:value --method hazen" + 3 * " t.csv").split(),
           "group k.npy --median x.npy --max x.npy".split(),
           ("group --by note,key --median late --total" + 3 * " t.csv").split(),
           ("group --by key --first late --last note,late --mode key*7 --distinct note --share value,late --total" + 3 * " t.csv").split()]
LIMITED, LEAST = ["--memory", "200M"], ["--memory", "%dM" % (least_memory() + 5)]


def write_inputs(folder):
    r = np.random.default_rng(11)

    def save(name, array):
        np.save(os.path.join(folder, name), array)

    n = 5_000_000
    save("x.npy", r.normal(size=n))
    save("y.npy", r.normal(size=n) * 1e10)
    save("k.npy", r.integers(0, 3000, n).astype("i4"))
    save("f.npy", np.asfortranarray(r.normal(size=(1500, 1300)).astype("f4")))
    save("big.npy", r.normal(size=n // 2).astype(">f8"))
    save("m.npy", r.normal(size=(40, 130_000)))
    save("o.npy", np.sort(r.integers(0, n // 2, 3000)))
    m = 120_000
    values, keys = r.normal(size=m), r.integers(0, 50, m)
    with open(os.path.join(folder, "t.csv"), "w") as f:
        f.write("key,note,value,late\n")
        for i in range(m):  # the last column shows in its last row that it holds floats
            f.write('%d,"a, b",%r,%s\n' % (keys[i], values[i], i if i + 1 < m else "0.5"))
    for name, last in [("t.txt", "7"), ("u.txt", "1e3"), ("late.txt", "-0.25")]:
        with open(os.path.join(folder, name), "w") as f:
            f.write("".join("%d\n" % i for i in keys) * 8 + last + "\n")


class CheckpointTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.file = self.path("work")

    def begin(self, *arguments, **more):
        """Starts a command and waits until it has a checkpoint, or is done."""
        child = subprocess.Popen([BITFOLD, *map(str, [*arguments, "--checkpoint", self.file, *SOON,
                                                      *SLOW])], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, **more)
        self.addCleanup(child.stderr.close)
        while child.poll() is None and not os.path.exists(self.file):
            time.sleep(0.0005)
        return child

    def interrupt(self, *arguments, after=0.0, **more):
        """Kills the command; returns whether it left a checkpoint."""
        child = self.begin(*arguments, **more)
        time.sleep(after)
        child.kill()
        child.wait()
        return os.path.exists(self.file)

    def interrupt_at_last(self, *arguments):
        """Kills the command until it leaves a checkpoint: on a busy machine it may end before."""
        self.assertTrue(any(self.interrupt(*arguments) for _ in range(20)))


class Kills(CheckpointTest):
    def test_every_command_goes_on_to_the_same_bits(self):
        write_inputs(self.dir)
        r, resumed = random.Random(KILLS), {}
        wanted = {}
        for i in range(KILLS):
            command = COMMANDS[i % len(COMMANDS)].split()
            name = " ".join(command)
            if name not in wanted:
                first = run(*command, cwd=self.dir)
                wanted[name] = first.returncode, first.stdout
            for _ in range(r.choice([1, 1, 2])):
                left = self.interrupt(*command, after=r.choice([0, r.random() * 0.05]),
                                      cwd=self.dir)
            done = run(*command, "--checkpoint", self.file, "-j", r.choice([1, 2, 3]),
                       cwd=self.dir)
            self.assertEqual((done.returncode, done.stdout), wanted[name],
                             (name, done.stderr))
            if left and b"goes on behind" in done.stderr:
                resumed[name] = True
            self.assertEqual(left, b"goes on" in done.stderr, (name, done.stderr))
            for file in glob.glob(self.file + "*"):
                self.assertEqual(wanted[name][0], 3, name)  # what is refused keeps it
                os.remove(file)
        self.assertGreater(len(resumed), min(KILLS, len(COMMANDS)) // 2, resumed)

    def test_times_go_on(self):
        """Times, NaT and a column without a value; the last row shows that the times are no dates."""
        n = 60_000 if SHORT else 200_000
        days = np.datetime64("1900-01-01") + np.random.default_rng(3).integers(0, 50_000, n)
        times = days.astype("M8[ms]")
        times[::5] = "NaT"
        np.save(self.path("t.npy"), times)
        with open(self.path("t.csv"), "w") as f:
            f.write("t,none,k\n" + "".join("%s,,%d\n" % (day, i % 7) for i, day in enumerate(days)) + "1900-01-01T00:00:00.5,,1\n")
        skip, resumed = ["--null-policy", "skip"], 0
        for command in ["max --column t t.csv t.csv", "argmin t.npy t.npy", "median --column t" + 6 * " t.csv",
                        "quantile -p 10,33.3" + 9 * " t.npy", "count --by month(t) t.csv t.csv",
                        "group --by k --max t --median t --quantile 33:t --max none t.csv t.csv",
                        "group --by date(none) --count --where isnull(none) t.csv t.csv",
                        "hist --tsv --column t --range 1910-01-01:1950-01-01T12:00 t.csv t.csv"]:
            arguments = command.split() + (skip if "count" not in command else [])
            wanted = run(*arguments, cwd=self.dir)
            self.assertEqual(wanted.returncode, 0, wanted.stderr)
            left = any(self.interrupt(*arguments, after=after, cwd=self.dir) for after in (0.01, 0))  # a fast machine is done by then
            done = run(*arguments, "--checkpoint", self.file, cwd=self.dir)
            self.assertEqual((done.returncode, done.stdout), (0, wanted.stdout), (command, done.stderr))
            resumed += left and b"goes on behind" in done.stderr
        self.assertGreater(resumed, 2)

    def test_groups_go_on_with_another_limit(self):
        """Rows and values that are kept in memory, with a limit or without."""
        write_inputs(self.dir)
        resumed = 0
        limits = [([], []), (LIMITED, LIMITED), ([], LIMITED), (LEAST, LEAST), (LIMITED, [])]
        for i, command in enumerate(KEPT[::2 if SHORT else 1]):
            want = run(*command, cwd=self.dir).stdout
            for before, after in limits[i % 2::2] if SHORT else limits:
                self.interrupt(*command, *before, cwd=self.dir)
                done = run(*command, *after, "--checkpoint", self.file, cwd=self.dir)
                self.assertEqual((done.returncode, done.stdout), (0, want), (command, before, after, done.stderr))
                resumed += b"goes on behind" in done.stderr
        self.assertGreater(resumed, 3)

    def test_output_and_saved_state_are_those_of_one_run(self):
        write_inputs(self.dir)
        arguments = ["mean", self.path("x.npy")]
        run(*arguments, "--save", self.path("s1"), "-o", self.path("o1"))
        more = ["--save", self.path("s2"), "-o", self.path("o2")]
        self.interrupt_at_last(*arguments, *more)
        self.assertFalse(os.path.exists(self.path("o2")))
        run(*arguments, *more, "--checkpoint", self.file)
        for name in ["s", "o"]:
            with open(self.path(name + "1"), "rb") as a, open(self.path(name + "2"), "rb") as b:
                self.assertEqual(a.read(), b.read(), name)


class Refusals(CheckpointTest):
    def interrupted(self):
        """A sum with a checkpoint."""
        x = self.save("x.npy", np.arange(6_000_000.0))
        self.interrupt_at_last("sum", x)
        return x

    def check(self, message, *arguments):
        with open(self.file, "rb") as f:
            before = f.read()
        self.refused(3, message, *arguments, "--checkpoint", self.file)
        with open(self.file, "rb") as f:
            self.assertEqual(f.read(), before)

    def test_other_work_is_refused(self):
        x = self.interrupted()
        self.check("of other work: it has 'command sum', this is 'command mean'", "mean", x)
        self.check("this is 'option --offset 1'", "sum", x, "--offset", 1)
        self.check("option --nan skip", "sum", "--nan", "skip", x)
        self.check("this is 'file", "sum", x, x)
        os.utime(x, ns=(1, 1))
        self.check("changed at 0.000000001", "sum", x)

    def test_another_index_is_refused(self):
        x, i = self.save("x.npy", np.zeros(9_000_000)), self.save("i.npy", np.zeros(9_000_000, "u4"))
        many = ["sum", "--index", i, "--slots", 3, x]
        self.interrupt_at_last(*many)
        os.utime(i, ns=(1, 1))
        self.check("changed at 0.000000001", *many)

    def test_options_that_decide_nothing_may_differ(self):
        x = self.interrupted()
        done = run("sum", x, "--checkpoint", self.file, "-j", 3, "--isa", "auto", "--device", "cpu",
                   "--json", "-v", "--stats", "--checkpoint-interval", 9, "--memory", "1G")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"goes on behind element", done.stderr)

    def test_a_damaged_checkpoint_is_refused(self):
        x = self.interrupted()
        with open(self.file, "rb") as f:
            good = f.read()
        r = random.Random(3)
        for i in range(10 if SHORT else 60):
            bad = bytearray(good)
            if i % 2:
                bad[r.randrange(len(bad))] ^= 1 << r.randrange(8)
            else:
                del bad[r.randrange(len(bad)):]
            self.write("work", bytes(bad))
            self.check("the checkpoint is damaged", "sum", x)
        self.write("work", b"")
        self.check("the checkpoint is damaged", "sum", x)

    def test_pipes_are_refused(self):
        arguments = ["--checkpoint", self.file]
        self.refused(2, "--checkpoint needs files", "sum", *arguments, stdin=b"1\n")
        os.mkfifo(self.path("pipe"))
        self.refused(2, "--checkpoint needs files", "count", self.path("pipe"), *arguments)
        packed = self.write("packed", gzip.compress(b"1\n"))
        self.refused(2, "--checkpoint needs files: this is compressed", "sum", packed, *arguments)
        self.result("sum", "--format", "raw", "--dtype", "u8", packed, *arguments)
        self.refused(2, "needs --checkpoint", "sum", self.write("x", b"1"), *SOON)
        self.refused(2, "is not a number of seconds", "sum", self.write("x", b"1"), *arguments,
                     "--checkpoint-interval", "0")

    def test_places_that_cannot_be(self):
        x = self.write("x", b"1\n")
        self.refused(1, "cannot write", "sum", x, "--checkpoint", self.path("none/work"))
        self.refused(2, "--checkpoint would write to this input", "sum", x, "--checkpoint", x)
        self.refused(2, "are the same file", "sum", x, "--save", self.file, "--checkpoint",
                     self.file)

    def test_a_full_disk_costs_the_checkpoint_and_not_the_work(self):
        x = self.interrupted()
        with open(self.file, "rb") as f:
            before = f.read()

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        done = subprocess.run([BITFOLD, "sum", x, "--checkpoint", self.file, *SOON, "-j", "1"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
        self.assertEqual((done.returncode, done.stdout), (0, b"17999997000000\n"), done.stderr)
        self.assertEqual(done.stderr.count(b"the work goes on"), 1, done.stderr)
        child = self.begin("sum", x, preexec_fn=limit)  # without one to begin with
        self.assertEqual(child.wait(), 0)
        self.assertFalse(os.path.exists(self.file))
        self.assertTrue(before)

    def test_a_signal_leaves_the_checkpoint_and_nothing_else(self):
        x = self.save("x.npy", np.arange(8_000_000.0))
        child = self.begin("sum", x)
        child.terminate()
        child.wait()
        self.assertLessEqual(set(os.listdir(self.dir)), {"x.npy", "work"})

    def test_one_process_works_with_it(self):
        """Others are refused, whatever their work is, until it ends or is killed."""
        x = self.save("x.npy", np.arange(8_000_000.0))
        for end in ["wait", "kill", "terminate"]:
            child = self.begin("sum", x)
            child.send_signal(signal.SIGSTOP)
            for op in ["sum", "mean"]:
                done = run(op, x, "--checkpoint", self.file)
                if child.poll() is None: # it had not ended before it could be stopped
                    self.assertEqual(done.returncode, 1)
                    self.assertIn(b"the checkpoint is in use by another process\nhint: ", done.stderr)
            if end != "wait":
                getattr(child, end)()
            child.send_signal(signal.SIGCONT)
            child.wait(60)
            self.assertEqual(self.result("sum", "-q", x, "--checkpoint", self.file), "31999996000000")
            self.assertEqual(os.listdir(self.dir), ["x.npy"])

    def test_refused_data_leave_it(self):
        x = self.write("x", b"1\n" * 3_000_000 + b"oops\n")
        self.interrupt_at_last("sum", x)
        error = self.refused_after("sum", x)
        self.assertIn("x:3000001: not a number: 'oops'", error)
        self.assertTrue(os.path.exists(self.file))

    def refused_after(self, *arguments):
        done = run(*arguments, "--checkpoint", self.file)
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        return done.stderr.decode()
