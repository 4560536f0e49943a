"""Running one command in many ways that must not change what it says: threads, instruction sets, limits of
memory, files and pipes that come in pieces, ranks."""
import os
import random
import shutil
import subprocess
import tempfile

from columns import Refused
from command import BITFOLD, CommandTest, least_memory
from ranks import ENVIRONMENT

LIMIT = least_memory()
RANKED = os.path.join(os.path.dirname(os.path.abspath(BITFOLD)), "bitfold-mpi.openmpi")
RANKS = shutil.which("mpirun.openmpi") and os.path.exists(RANKED)
BESIDE = ["sort", "argsort", "unique", "merge"]  # what ranks do not run


def feed(pipe, data, r):
    """Gives a pipe its bytes in pieces."""
    most = max(r.choice([7, 300, 5000, 1 << 17]), len(data) // 200)
    try:
        at = 0
        while at < len(data):
            size = r.randrange(1, most + 1)
            pipe.write(data[at : at + size])
            pipe.flush()
            at += size
        pipe.close()
    except BrokenPipeError:
        pass  # the command has said why


def running(r, size):
    """Options that change no result, for so many bytes."""
    if r.random() < (0.5 if size > 1 << 20 else 0.1):
        return ["-j2", "--memory", "%dM" % (LIMIT + r.choice([5, 20]))]
    return r.choice([[], ["-j1"], ["-j2"], ["-j8"]]) + r.choice([[], [], ["--isa", "generic"]])


def lines(rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


class WaysTest(CommandTest):
    """self.r: what chooses; self.seed: its seed; self.texts: the inputs, to be shown of a failure."""

    def try_cases(self, attempt, seed, cases):
        """Attempts one seed after the other until so many cases are done; an attempt returns how many
        it did."""
        done = 0
        while done < cases:
            self.seed, self.r = seed, random.Random(seed)
            done += attempt()
            seed += 1

    def run_command(self, program, arguments, data):
        """The exit code, the output and the errors; data: of a pipe."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
            leaks = {} if program[0] == BITFOLD else {"ASAN_OPTIONS": "detect_leaks=0"}  # MPI's own
            child = subprocess.Popen([*program, *arguments], stdin=stdin, stdout=out, stderr=errors,
                                     env={**os.environ, **ENVIRONMENT, **leaks})
            if data is not None:
                feed(child.stdin, data, self.r)
            child.wait(120)
            out.seek(0)
            errors.seek(0)
            return child.returncode, out.read().decode(), errors.read().decode()

    def replay(self, arguments):
        shown = [text if len(text) < 1500 else text[:700] + b" ... " + text[-700:] for text in self.texts]
        return "BITFOLD_SEED=%d BITFOLD_CASES=1: bitfold %s\n%s\n" % (
            self.seed, " ".join(map(repr, arguments)), "\n".join(map(repr, shown)))

    def check(self, arguments, want, data=None, ranks=False):
        """Runs a command; want: its output, what refuses, or a function that judges. ranks: it may run
        on some."""
        if ranks and RANKS and arguments[0] not in BESIDE and self.r.random() < 0.02:
            program = ["mpirun.openmpi", "--oversubscribe", "-q", "-n", self.r.choice("23"), RANKED]
        else:
            program = [BITFOLD]
            if arguments[0] != "merge":
                arguments = arguments + running(self.r, sum(map(len, self.texts)))
        arguments = list(map(str, arguments))
        code, out, errors = self.run_command(program, arguments, data)
        what = self.replay(arguments) + errors
        if callable(want):
            want(code, out, errors, what)
        elif isinstance(want, Refused):
            self.assertEqual(code, 3, what)
            self.assertIn(str(want), errors, what)
        else:
            told = errors if arguments[0] == "merge" else ""  # where an extreme is
            self.assertEqual((code, errors), (0, told), what)
            self.assertEqual(out, want, what)
