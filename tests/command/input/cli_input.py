"""Inputs: .npy of every kind, raw data, pipes; and everything that is refused."""
import bz2
import gzip
import io
import os
import shlex
import shutil
import sqlite3
import subprocess
import tarfile
import threading
import time
import zipfile

import numpy as np

from command import BITFOLD, DTYPES, RAW_NAMES, CommandTest, header, npy_prefix, run
from documents import shell

REFUSED = {
    "'|O'": "object arrays", "'<U3'": "string", "'|S3'": "string", "'<M8[25s]'": "times are read in",
    "'<m8[s]'": "differences", "'<c16'": "complex", "'<f16'": "long double", "'|V8'": "void",
    "[('a', '<f4'), ('b', '<f4')]": "structured", "'<f4x'": "float widths", "'x'": "unknown dtype",
}
BAD_HEADERS = {
    b"{'descr': '<f8', 'fortran_order': False, }": "missing",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'more': 1}": "unknown key",
    b"{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}": "True or False",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3)}": "comma in the shape",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': [3]}": "no shape",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}": "no extent",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} x": "no end",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,": "at: its end",
    b"": "no {",
    b"\0" * 64: "no {",
}
OVERFLOWS = ["(4611686018427387904,)", "(4294967296, 4294967296)", "(9" + "9" * 30 + ",)",
             "(1152921504606846976,)", "(4294967296, 0x0)"]


def zipped(name):
    """A zip archive of one file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr(name, "1\n2\n")
    return out.getvalue()


def tarred(name):
    """A tar archive of one file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        info = tarfile.TarInfo(name)
        info.size = 4
        t.addfile(info, io.BytesIO(b"1\n2\n"))
    return out.getvalue()


# Formats that are not read: the first bytes, as their own specifications have them, and the program
# that the hint names.
CONTAINERS = {
    "a Parquet file": (b"PAR1\x15\x04\x15\x30\x15\x2e\x4c\x15\x06\x15\0", "duckdb"),
    "an Arrow or Feather file": (b"ARROW1\0\0\xff\xff\xff\xff\x78\0\0\0", "python3"),
    "a Feather file": (b"FEA1\0\0\0\0\1\0\0\0\0\0\0\0", "python3"),
    "a stream of Arrow": (b"\xff\xff\xff\xff\x78\0\0\0\x10\0\0\0\0\0\x0a\0", "python3"),
    "an Avro file": (b"Obj\1\4\x14avro.codec\x08null", "fastavro"),
    "an SQLite database": (b"SQLite format 3\0\x10\0\1\1\0\x40", "sqlite3"),
    "a DuckDB database": (b"\x82\xe8 &\xa6\xc0'\xcbDUCK\x43\0\0\0\0\0\0\0", "duckdb"),
    "an old Office file (.xls)": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16), "in2csv"),
    "a MATLAB file": (b"MATLAB 5.0 MAT-file Platform: posix", "python3"),
    "a NetCDF file": (b"CDF\2\0\0\0\0\0\0\0\x0a\0\0\0\1", "python3"),
    "a FITS file": (b"SIMPLE  =                    T / conforms to FITS", "python3"),
    "a safetensors file": (b'\x40\0\0\0\0\0\0\0{"a":{"dtype":"F64","shape":[4]', "python3"),
    "compressed by bzip2": (bz2.compress(b"1\n2\n", 1), "bzip2"),
    "compressed by lz4": (b"\x04\x22\x4d\x18\x64\x40\xa7\x04\0\0\x80" b"1\n2\n\0\0\0\0"
                          b"\x5e\xf3\x4d\x7e", "lz4"),
    "compressed by lzip": (b"LZIP\1\x0c" + bytes(20), "lzip"),
    "compressed by compress": (b"\x1f\x9d\x90\x31\x14\xc8\x50\0", "gzip"),
    "a tar archive": (tarred("a.csv"), "tar"),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c\0\4" + bytes(20), "7z"),
    "a zip archive": (zipped("a.csv"), "unzip"),
    "an Office file (.xlsx)": (zipped("xl/workbook.xml"), "xlsx2csv"),
    "an OpenDocument file (.ods)": (zipped("mimetype"), "python3"),
}


class Containers(CommandTest):
    def hinted(self, what, *arguments, **more):
        """The command that is said to read it, as words."""
        error = self.refused(3, "it is %s" % what, *arguments, **more)
        line = error.splitlines()[1][len("hint: "):]
        self.assertIn(" | bitfold %s " % arguments[0], line)
        self.assertNotIn("raw", line)
        return shlex.split(line)

    def test_are_named_with_a_command_that_reads_them(self):
        for what, (head, program) in CONTAINERS.items():
            for name in ["x", "x.npy"]:
                words = self.hinted(what, "sum", self.write(name, head))
                self.assertIn(self.path(name), " ".join(words))
                self.assertEqual(words[0], program)
                if program == "python3":
                    compile(words[2], what, "exec")

    def test_are_known_in_pipes_and_compressed_and_in_every_format_but_raw(self):
        for what, (head, _) in CONTAINERS.items():
            self.assertIn("FILE", " ".join(self.hinted(what, "sum", stdin=head)))
            words = self.hinted(what, "count", self.write("x.gz", gzip.compress(head)))
            self.assertIn("FILE", " ".join(words))
            self.hinted(what, "describe", "--format", "text", self.write("x", head))
            self.hinted(what, "group", "--by", "a", "--count", self.write("x", head))
            self.assertEqual(self.result("sum", "--format", "raw", "--dtype", "u8", stdin=head),
                             str(sum(head)))

    def test_a_name_that_a_shell_would_not_take_as_it_is_stays_out_of_the_command(self):
        for name in ["a b", "it's", '"', "$(x)", "a;b"]:
            words = self.hinted("compressed by bzip2", "sum", self.write(name, bz2.compress(b"1")))
            self.assertEqual(words[:3], ["bzip2", "-dc", "FILE"])
        words = self.hinted("a zip archive", "sum", self.write("x", zipped("*$(x)")))
        self.assertEqual(words[:4], ["unzip", "-p", self.path("x"), "|"])

    def test_text_that_begins_like_them_is_text(self):
        for name in ["PAR1", "ORC", "BZh9", "DUCK", "Obj", "CDF", "PK", "LZIP", "SIMPLE", "MATLAB"]:
            for text in ["%s,b\n1,2\n3,4\n", "%s\n1\n2\n"]:
                self.result("sum", "--column", name, stdin=(text % name).encode())

    def test_the_commands_work(self):
        database = sqlite3.connect(self.path("x.db"))
        database.executescript("create table NAME(a); insert into NAME values (1), (2);")
        database.close()
        for what, name in [("a zip archive", "x.zip"), ("compressed by bzip2", "x.bz2"),
                           ("a tar archive", "x.tar"), ("compressed by lz4", "x.lz4")]:
            self.write(name, CONTAINERS[what][0])
        os.symlink(os.path.abspath(shutil.which(BITFOLD)), self.path("bitfold"))
        for name in ["x.db", "x.zip", "x.bz2", "x.tar", "x.lz4"]:
            error = run("sum", name, cwd=self.dir).stderr.decode()
            line = error.splitlines()[1][len("hint: "):]
            if shutil.which(shlex.split(line)[0]):
                done = shell(line, self.dir, stderr=subprocess.PIPE)
                self.assertEqual((done.stdout, done.stderr), ("3\n", ""), line)


class Npy(CommandTest):
    def test_every_dtype_version_and_byte_order_reads(self):
        for dtype in DTYPES:
            for order in "<>":
                x = np.arange(100).astype(np.dtype(dtype).newbyteorder(order))
                for version in [(1, 0), (2, 0), (3, 0)]:
                    with open(self.path("x.npy"), "wb") as f:
                        np.lib.format.write_array(f, x, version=version)
                    want = str(99 if dtype == "bool" else 4950)
                    self.assertEqual(self.result("sum", self.path("x.npy")), want)

    def test_headers_that_numpy_reads(self):
        data = np.arange(6.0).tobytes()
        for text in [b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }   \n",
                     b'{"shape":(6,),"descr":"float64","fortran_order":False}',
                     b" { u'descr' : 'f8' , 'shape' :\n( 3 ,2 , ) , 'fortran_order': True }\n",
                     b"{'descr': '=f8', 'fortran_order': False, 'shape': (1,6)}"]:
            name = self.write("x.npy", npy_prefix(text) + text + data)
            if b"L" not in text:
                self.assertEqual(np.load(name).sum(), 15)
            self.assertEqual(self.result("sum", name), "15")

    def test_scalar_and_empty_shapes(self):
        self.assertEqual(self.result("sum", self.save("s.npy", np.float32(2.5))), "2.5")
        empty = self.save("e.npy", np.zeros((3, 0)))
        self.assertEqual(self.result("sum", empty), "0")
        self.assertEqual(self.result("mean", empty), "nan")
        self.refused(3, "no value: the input is empty", "max", empty)

    def test_dtypes_that_are_no_numbers_are_refused(self):
        for descr, reason in REFUSED.items():
            name = self.write("x.npy", header(descr, "(1,)") + bytes(64))
            self.refused(3, reason, "sum", name)

    def test_bf16_is_what_dtype_says_it_is(self):
        bits = np.array([1.5, -2.25, 0.25], "f4").view("u4") >> 16
        for descr in ["<V2", "|V2", "<u2", ">u2", "bfloat16"]:
            stored = bits.astype(">u2" if descr[0] == ">" else "<u2")
            name = self.write("x.npy", header("'%s'" % descr, "(3,)") + stored.tobytes())
            self.assertEqual(self.result("sum", "--dtype", "bf16", name), "-0.5")
            with open(name, "rb") as f:
                self.assertEqual(self.result("sort", "--dtype", "bf16", stdin=f.read()),
                                 "-2.25\n0.25\n1.5")
            if descr[1:] == "V2":
                error = self.refused(3, "void dtypes are not supported", "sum", name)
                self.assertIn("hint: --dtype bf16", error)
                self.refused(3, "void dtypes", "sum", "--dtype", "f16", name)
        self.assertEqual(self.result("sum", name), "-0.5") # the name says it
        for other in ["i2", "f2", "f4"]:
            self.refused(2, "--dtype is for text", "sum", "--dtype", "bf16",
                         self.save("o.npy", np.ones(2, other)))

    def test_bad_headers_are_refused(self):
        for text, reason in BAD_HEADERS.items():
            name = self.write("x.npy", npy_prefix(text) + text + bytes(64))
            self.refused(3, reason, "sum", name)
        for shape in OVERFLOWS:
            name = self.write("x.npy", header("'<f8'", shape))
            self.refused(3, "", "sum", name)
        name = self.write("x.npy", header("'<f8'", OVERFLOWS[0]))
        self.refused(3, "the size overflows", "sum", name)
        self.refused(3, "too many dimensions", "sum",
                     self.write("x.npy", header("'|u1'", "(" + "1, " * 65 + ")") + b"\0"))

    def test_damaged_files_are_refused(self):
        good = header("'<f8'", "(3,)") + bytes(24)
        self.refused(3, "shorter than its header says: 23 bytes", "sum",
                     self.write("x.npy", good[:-1]))
        self.refused(3, "ends within it", "sum", self.write("x.npy", good[:30]))
        self.refused(3, "ends within it", "sum", self.write("x.npy", good[:7]))
        self.refused(3, "it is empty", "sum", self.write("x.npy", b""))
        self.refused(3, "does not begin with \\x93NUMPY", "sum", self.write("x.npy", b"1 2 3\n"))
        self.refused(3, "version", "sum", self.write("x.npy", b"\x93NUMPY\x09\0" + good[8:]))
        absurd = b"\x93NUMPY\x02\0\xff\xff\xff\x7f{"
        self.refused(3, "length is absurd", "sum", self.write("x.npy", absurd))
        error = self.refused(3, "x.bin:1: a NUL byte", "sum", self.write("x.bin", bytes(8)))
        self.assertIn("hint: numbers without a header need --format raw", error)

    def test_bytes_behind_the_data_are_ignored(self):
        data = header("'<f8'", "(3,)") + np.arange(3.0).tobytes() + b"more"
        self.assertEqual(self.result("sum", self.write("x.npy", data)), "3")
        self.assertEqual(self.result("sum", stdin=data), "3")


class FortranOrder(CommandTest):
    def test_indices_are_those_of_c_order(self):
        x = np.random.default_rng(1).integers(0, 1000, (7, 11, 5))
        for dtype in [">i4", "<f8", "i2"]:
            name = self.save("x.npy", np.asfortranarray(x.astype(dtype)))
            for op in ["argmin", "argmax"]:
                want = str(getattr(np, op)(x))
                self.assertEqual(self.result(op, name), want)
                with open(name, "rb") as f:
                    self.assertEqual(self.result(op, stdin=f.read()), want)
            self.assertEqual(self.result("sum", name), str(x.sum()))

    def test_a_selection_counts_in_c_order(self):
        x = np.arange(24).reshape(4, 6)
        name = self.save("x.npy", np.asfortranarray(x))
        self.assertEqual(self.result("sum", "--offset", 5, "--count", 9, name),
                         str(x.ravel()[5:14].sum()))
        self.assertEqual(self.result("argmax", "--offset", 5, "--count", 9, name), "13")

    def test_dot_pairs_elements_by_their_index(self):
        x, y = np.random.default_rng(2).integers(0, 99, (2, 300, 200))
        c, f = self.save("c.npy", x), self.save("f.npy", np.asfortranarray(y))
        want = str((x * y).sum())
        self.assertEqual(self.result("dot", c, f), want)
        self.assertEqual(self.result("dot", f, c), want)
        with open(c, "rb") as stream:
            self.assertEqual(self.result("dot", "-", f, stdin=stream.read()), want)
        self.refused(3, "shapes do not match", "dot", c, self.save("t.npy", x.T))
        self.refused(3, "dtypes do not match", "dot", c, self.save("d.npy", x * 1.0))


class RawAndPipes(CommandTest):
    def test_raw_data_of_every_dtype(self):
        for dtype, name in RAW_NAMES.items():
            x = (np.arange(50) % 2).astype(dtype)
            raw = ["--format", "raw", "--dtype", name]
            self.assertEqual(self.result("sum", *raw, self.write("x", x.tobytes())), "25")
            self.assertEqual(self.result("sum", *raw, stdin=x.tobytes()), "25")
        bf16 = (np.array([1.5, -2.25], "f4").view("u4") >> 16).astype("u2")
        self.assertEqual(self.result("sum", "--format", "raw", "--dtype", "bf16",
                                     stdin=bf16.tobytes()), "-0.75")

    def test_raw_data_of_an_odd_size_are_refused(self):
        raw = ["sum", "--format", "raw", "--dtype", "f64"]
        self.refused(3, "not a whole number of elements", *raw, self.write("x", bytes(17)))
        self.refused(3, "not a whole number of elements", *raw, stdin=bytes(17))
        self.assertEqual(self.result(*raw, self.write("x", b"")), "0")
        self.assertEqual(self.result(*raw, "-", stdin=b""), "0")

    def test_offset_and_count_select_elements(self):
        x = np.arange(100.0)
        name, raw = self.save("x.npy", x), ["--format", "raw", "--dtype", "f64"]
        for first, count in [(0, 100), (10, 20), (99, 1), (100, 0), (0, 0)]:
            part = ["--offset", first, "--count", count]
            want = str(int(x[first:first + count].sum()))
            self.assertEqual(self.result("sum", *part, name), want)
            self.assertEqual(self.result("sum", *part, *raw, stdin=x.tobytes()), want)
        for part in [["--offset", 101], ["--offset", 90, "--count", 11], ["--count", 2**62]]:
            self.refused(3, "100 elements", "sum", *part, name)
        self.refused(3, "past the end", "sum", "--offset", 101, *raw, stdin=x.tobytes())
        self.refused(3, "too short", "sum", "--count", 101, *raw, stdin=x.tobytes())
        self.assertEqual(self.result("argmax", "--offset", 7, name), "99")

    def test_a_pipe_longer_than_any_buffer(self):
        x = np.random.default_rng(3).integers(-9, 9, 3_000_000).astype("i4")
        data = header("'<i4'", "(3000000,)") + x.tobytes()
        self.assertEqual(self.result("sum", stdin=data), str(x.sum()))
        self.assertEqual(self.result("argmin", stdin=data), str(x.argmin()))
        self.refused(3, "shorter than its header says", "sum", stdin=data[:-1])
        with open(self.write("x.npy", data), "rb") as f:
            self.assertEqual(self.result("sum", stdin=f), str(x.sum()))

    def test_a_terminal_ends_once(self):
        for text, want in [(b"1\n2\n", "3"), (b"1\n" * 40, "40")]:
            here, there = self.terminal()
            child = subprocess.Popen([BITFOLD, "sum", "-"], stdin=there, stdout=subprocess.PIPE)
            os.write(here, text + b"\x04")
            self.addCleanup(child.kill)
            out, _ = child.communicate(timeout=20)
            self.assertEqual(out.decode(), want + "\n")
            os.close(here)
            os.close(there)

    def test_a_fifo_is_a_file(self):
        os.mkfifo(self.path("fifo"))
        data = header("'<f8'", "(1000,)") + np.ones(1000).tobytes()
        writer = threading.Thread(target=self.write, args=("fifo", data), daemon=True)
        writer.start()
        self.assertEqual(self.result("sum", self.path("fifo")), "1000")
        writer.join()

    def test_pipes_of_different_lengths_have_no_dot_product(self):
        raw = ["--format", "raw", "--dtype", "f64"]
        name = self.write("x", bytes(8 * 300_000))
        for n, word in [(299_999, "more"), (300_001, "fewer")]:
            self.refused(3, word, "dot", *raw, "-", name, stdin=bytes(8 * n))
        self.assertEqual(self.result("dot", *raw, "-", name, stdin=bytes(8 * 300_000)), "0")

    def test_what_cannot_be_read(self):
        self.refused(1, "it is a directory", "sum", self.dir)
        self.refused(1, "No such file", "sum", self.path("none.npy"))
        if os.getuid() != 0:
            os.chmod(self.save("x.npy", np.ones(3)), 0)
            self.refused(1, "Permission denied", "sum", self.path("x.npy"))
        closed = subprocess.run([BITFOLD, "sum"], stderr=subprocess.PIPE, timeout=60,
                                preexec_fn=lambda: os.close(0))
        self.assertEqual(closed.returncode, 1)
        self.assertIn(b"cannot read", closed.stderr)


class ShrinkingFile(CommandTest):
    """dot of a file and a FIFO: while the command waits for the FIFO, the file becomes shorter."""

    N = 1 << 20

    def start(self, *names):
        self.write("x.npy", header("'<f8'", "(%d,)" % self.N) + bytes(8 * self.N))
        return self.start_command("dot", *map(self.path, names))

    def start_command(self, *arguments):
        os.mkfifo(self.path("fifo"))
        return subprocess.Popen([BITFOLD, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def wait_until_open(self, process):
        files = "/proc/%d/fd" % process.pid
        name = os.path.realpath(self.path("x.npy"))
        while name not in [os.path.realpath(os.path.join(files, fd)) for fd in os.listdir(files)]:
            self.assertIsNone(process.poll())
            time.sleep(0.001)

    def shrink(self, size):
        os.truncate(self.path("x.npy"), os.path.getsize(self.path("x.npy")) - size)

    def check(self, process):
        out, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (1, b""), error)
        self.assertIn(b"x.npy: cannot read: the file became shorter meanwhile\n", error)

    def test_by_half_is_an_error(self):
        process = self.start("x.npy", "fifo")
        self.wait_until_open(process)
        with open(self.path("fifo"), "wb") as fifo:
            self.shrink(4 * self.N)
            fifo.write(header("'<f8'", "(%d,)" % self.N) + bytes(8 * self.N))
        self.check(process)

    def test_by_less_than_a_page_is_an_error(self):
        process = self.start("fifo", "x.npy")
        with open(self.path("fifo"), "wb") as fifo:
            fifo.write(header("'<f8'", "(%d,)" % self.N))
            fifo.flush()
            self.wait_until_open(process)
            self.shrink(8)
            fifo.write(bytes(8 * self.N))
        self.check(process)

    def test_is_an_error_on_the_library_s_threads(self):
        data = header("'<f8'", "(%d,)" % self.N) + bytes(8 * self.N)
        name, fifo, out = self.write("x.npy", data), self.path("fifo"), self.path("out.npy")
        group, add = ["group", name, "--sum", fifo], ["map", "add", name, fifo, "-o", out]
        for command in [group, add] * 4:  # sometimes the main thread is the first to notice
            self.write("x.npy", data)
            process = self.start_command(*command, "-j2")
            with open(fifo, "wb") as values:  # the command opens it after its first file
                self.shrink(4 * self.N)
                values.write(data)
            self.check(process)
            os.unlink(fifo)
        self.assertFalse(os.path.exists(out))

    def start_text(self):
        name = self.write("x.npy", b"1.5\n" * self.N)
        return self.start_command("dot", "--format", "text", name, self.path("fifo"))

    def test_of_text_is_an_error(self):
        process = self.start_text()
        with open(self.path("fifo"), "wb") as fifo:
            self.shrink(2 * self.N)
            fifo.write(b"1\n")
        self.check(process)

    def test_before_a_join_is_an_error(self):
        data = header("'<i8'", "(%d,)" % self.N) + np.arange(self.N).tobytes()
        name, fifo = self.write("x.npy", data), self.path("fifo")
        process = self.start_command("join", name, fifo)
        with open(fifo, "wb") as values:
            self.shrink(8)
            values.write(header("'<i8'", "(1,)") + bytes(8))
        self.check(process)

    def test_a_file_that_grows_is_read_as_it_was(self):
        process = self.start_text()
        with open(self.path("fifo"), "wb") as fifo:
            with open(self.path("x.npy"), "ab") as f:
                f.write(b"1e9\n" * 10)
            fifo.write(b"2\n" * self.N)
        out, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, error), (0, b"%d\n" % (3 * self.N), b""))
