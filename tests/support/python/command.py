"""What the tests of the command share: running it, making inputs, and an exact oracle."""
import decimal
import itertools
import os
import signal
import struct
import subprocess
import tempfile
import threading
import unittest
import zlib
from fractions import Fraction

import numpy as np

BITFOLD = os.environ.get("BITFOLD", "bitfold")
SANITIZED = any(name in BITFOLD for name in ["asan", "tsan", "ubsan"])  # all is slow then
SHORT = SANITIZED or "BITFOLD_SHORT" in os.environ  # less data and fewer cases
THREADS_ALONE = "tsan" in BITFOLD  # are of interest; what one thread does is in the other builds
OPERATIONS = ["sum", "mean", "var", "std", "sumsq", "norm", "min", "max", "argmin", "argmax"]
DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
RAW_NAMES = dict(zip(DTYPES, "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split()))

# What a shell runs in the background ignores interrupts, and so would the commands.
for interrupt in [signal.SIGINT, signal.SIGQUIT]:
    if signal.getsignal(interrupt) == signal.SIG_IGN:
        signal.signal(interrupt, signal.SIG_DFL)


RUNS = itertools.count()


def leaks():
    """Looking for leaks takes a third of what a small command takes under AddressSanitizer: in the short
    form, every fourth does."""
    look = "BITFOLD_SHORT" not in os.environ or next(RUNS) % 4 == 0
    return {} if look else {"ASAN_OPTIONS": "detect_leaks=0"}


def run(*arguments, stdin=b"", env=None, **more):
    """Runs `bitfold ARGUMENTS` to its end; bytes in, a CompletedProcess of bytes out."""
    if "stdin" not in more and not hasattr(stdin, "fileno"):
        more["input"] = stdin
    else:
        more["stdin"] = stdin
    more.setdefault("stdout", subprocess.PIPE)
    environment = {**os.environ, **leaks(), **(env or {})}
    return subprocess.run([BITFOLD, *map(str, arguments)], stderr=subprocess.PIPE,
                          env=environment, timeout=60, **more)


def least_memory():
    """The least limit of --memory, in MiB; a sanitizer takes some of it."""
    error = run("sum", "--memory", "1M", stdin=b"1").stderr.decode()
    return int(error.split(" MiB")[0].split()[-1]) + 1


def header(descr, shape, order="False", version=1):
    """A .npy header with any text in it, fit or unfit."""
    text = ("{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)).encode()
    return npy_prefix(text, version) + text


def npy_prefix(text, version=1):
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length


def root(x):
    """The square root of a Fraction, rounded once to a float."""
    with decimal.localcontext() as context:
        context.prec = 120
        return float((decimal.Decimal(x.numerator) / decimal.Decimal(x.denominator)).sqrt())


def exact(op, values):
    """What the command prints for finite numbers, by rational arithmetic."""
    x = [Fraction(v) for v in values]
    n, total, squares = len(x), sum(x), sum(v * v for v in x)
    variance = squares / n - (total / n) ** 2
    return {"sum": total, "mean": total / n, "var": variance, "std": root(variance),
            "sumsq": squares, "norm": root(squares), "min": min(x), "max": max(x),
            "argmin": x.index(min(x)), "argmax": x.index(max(x))}[op]


def read_png(path):
    """The pixels of an 8-bit RGB file whose rows have no filter."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        if kind == b"IHDR":
            size = struct.unpack(">IIBBBBB", body)
            assert size[2:] == (8, 2, 0, 0, 0), size
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(size[1], 1 + 3 * size[0])
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(size[1], size[0], 3)


class CommandTest(unittest.TestCase):
    """A test with a directory of its own to work in."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="bitfold-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def save(self, name, array, **options):
        np.save(self.path(name), array, **options)
        return self.path(name)

    def drawing(self):
        """The environment of a command that draws: fontconfig keeps what it has found until the end."""
        leaks = self.write("leaks", b"leak:libfontconfig\n")
        return {"LSAN_OPTIONS": "suppressions=%s:print_suppressions=0" % leaks}

    def terminal(self):
        """Both ends of a new terminal: what it shows is read from the first."""
        try:
            return os.openpty()
        except OSError as error:
            self.skipTest("no terminal can be had: %s" % error)

    def shown(self, *arguments, env=None, program=BITFOLD):
        """What a terminal shows of a command that must succeed."""
        here, there = self.terminal()
        child = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                 stdout=there, env=env)
        self.addCleanup(child.kill)

        def mark_the_end():
            try:
                child.wait(60)
            finally:
                os.write(there, b"\0")

        # Some systems lose what was not yet read when the last writer closes a terminal, so this
        # process keeps it open.
        end = threading.Thread(target=mark_the_end)
        end.start()
        data = b""
        while not data.endswith(b"\0"):
            data += os.read(here, 1 << 16)
        end.join()
        os.close(there)
        os.close(here)
        self.assertEqual(child.returncode, 0)
        return data[:-1].decode().replace("\r\n", "\n")

    def result(self, *arguments, **more):
        """The text on standard output of a command that must succeed in silence."""
        done = run(*arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode().rstrip("\n")

    def refused(self, code, message, *arguments, **more):
        """The command must fail so: the exit code, one line, a hint at most, no result."""
        done = run(*arguments, **more)
        error = done.stderr.decode(errors="replace")
        lines = error.splitlines()
        self.assertEqual(done.returncode, code, (arguments, error))
        self.assertIn(message, lines[0])
        self.assertTrue(lines[0].startswith("bitfold"), error)
        self.assertLessEqual(len(lines), 2, error)
        if len(lines) == 2:
            self.assertTrue(lines[1].startswith("hint: "), error)
        if "stdout" not in more:
            self.assertEqual(done.stdout, b"", arguments)
        return error
