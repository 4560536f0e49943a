"""Arrays in other files: members of .npz archives, and datasets of HDF5.
Builds: release, asan."""
import gzip
import io
import struct
import tempfile
import unittest
import zipfile

import numpy as np

from command import DTYPES, SANITIZED, SHORT, CommandTest, header, run
from memory import LIMIT, SHARE, MemoryTest

try:
    import h5py
except ImportError:
    h5py = None

HDF5_NAMES = ["libhdf5%s.so%s" % (kind, version) for kind in ["", "_serial"]
              for version in ["", ".103", ".200", ".310", ".320"]]
COMMANDS = ["sum", "argmax", "median", "describe", "sort", "top -n 3", "count -n 4",
            "hist --bins 5 --tsv", "sum --axis 0", "max --axis 1", "prod --axis 0,1", "map neg -o -",
            "sum --offset 100 --count 217", "mean -j3", "sum --memory 64M -j2", "unique --count"]


def random_array(shape=(40, 37), dtype="f8"):
    return (np.random.default_rng(5).normal(size=shape) * 100).astype(dtype)


def library_is_missing():
    with tempfile.NamedTemporaryFile(suffix=".h5") as f:
        h5py.File(f.name, "w").close()
        return b"libhdf5 is not on this machine" in run("sum", f.name).stderr


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


class Containers(CommandTest):
    def same(self, member, array, commands=COMMANDS):
        """The commands give of a member what they give of the same array in a file of its own."""
        for command in commands:
            got = run(*command.split(), member)
            self.assertEqual((got.returncode, got.stderr), (0, b""), (command, member))
            self.assertEqual(got.stdout.replace(member.encode(), b"X"),
                             self.of_a_file(array, command), (command, member))

    known = {}

    def of_a_file(self, array, command):
        """What a command says of an array in a file, which it calls X; asked once."""
        key = npy(array), command
        if key not in self.known:
            name = self.save("same.npy", array)
            want = run(*command.split(), name)
            self.assertEqual(want.returncode, 0, want.stderr)
            self.known[key] = want.stdout.replace(name.encode(), b"X")
        return self.known[key]

    def check_sums(self, name, arrays):
        """The sums of members whose elements are whole numbers."""
        members = ["%s:%s" % (name, path) for path in arrays]
        want = ["%d\t%s" % (sum(map(int, x.ravel())), m) for x, m in zip(arrays.values(), members)]
        self.assertEqual(self.result("sum", *members).splitlines(), want)


def every_dtype():
    """Arrays by a name, of each dtype in both byte orders."""
    arrays = {}
    for dtype in DTYPES:
        x = np.arange(-3, 40).astype(dtype).reshape(1, 43)
        arrays.update({dtype: x, dtype + "big": x.astype(x.dtype.newbyteorder(">"))})
    return arrays


class Npz(Containers):
    def savez(self, name="x.npz", deflated=False, **arrays):
        (np.savez_compressed if deflated else np.savez)(self.path(name), **arrays)
        return self.path(name)

    def zip(self, members, name="x.npz", method=zipfile.ZIP_STORED, **more):
        with zipfile.ZipFile(self.path(name), "w", method) as z:
            for member, data in members:
                with z.open(member, "w", **more) as f:
                    f.write(data)
        return self.path(name)

    def test_members_are_as_files_of_their_own(self):
        a = random_array()
        for deflated in [False, True]:
            name = self.savez(deflated=deflated, a=a, b=np.arange(9))
            self.same(name + ":a", a)
            self.same(name + ":a.npy", a, ["sum"])
            self.same(name + ":b", np.arange(9), ["sum"])

    def test_every_dtype_and_order(self):
        for deflated in [False, True]:
            arrays = every_dtype()
            arrays["fortran"] = np.asfortranarray(np.round(random_array((5, 7, 3))))
            arrays["scalar"], arrays["empty"] = np.array(7, "f4"), np.zeros((3, 0))
            name = self.savez(deflated=deflated, **arrays)
            self.check_sums(name, arrays)
            self.same(name + ":fortran", arrays["fortran"], COMMANDS[:8] + ["map neg -o -", "sum --axis 1"])

    def test_a_member_alone_needs_no_name(self):
        a = random_array()
        self.same(self.savez(a=a), a, ["sum", "sum --axis 0"])
        self.same(self.savez(deflated=True, a=a), a, ["sum", "sum --axis 0"])
        name = self.zip([("README", b"text"), ("d/a.npy", npy(a))])
        self.same(name, a, ["sum"])
        self.same(name + ":d/a", a, ["sum"])

    def test_of_several_one_must_be_named(self):
        name = self.savez(a=random_array(), b=np.arange(3))
        error = self.refused(3, "it holds 2 arrays: a, b", "sum", name)
        self.assertIn("hint: name one of them: bitfold sum %s:a" % name, error)
        self.refused(3, name + ":c: it holds no array c: there are a, b", "sum", name + ":c")
        self.refused(3, "it holds no array", "sum", name + ":")
        many = self.savez(**{"x%03d" % i: np.arange(1) for i in range(300)})
        error = self.refused(3, "it holds 300 arrays: x000, x001", "sum", many)
        self.assertRegex(error, r", x\d+, \.\.\.\n")

    def test_names_stand_for_the_member_everywhere(self):
        a, b = random_array((500,)), np.arange(500) % 7
        name = self.savez(a=a, b=b, w=np.ones(500), o=np.array([0, 100, 500]))
        x = dict(zip("abwo", [self.save(c + ".npy", v) for c, v in
                              [("a", a), ("b", b), ("w", np.ones(500)), ("o", np.array([0, 100, 500]))]]))
        for command in ["dot {a} {a}", "group {b} --sum {a} --count",
                        "sum --offsets {o} {a}", "sum --index {b} --slots 7 {a}",
                        "join {b} {b}", "sum -e a*b {a} {b}", "hist --weights {w} --bins 3 --tsv {a}",
                        "map add {a} {b} -o -"]:
            got, want = [run(*command.format(**{c: y(c) for c in "abwo"}).split())
                         for y in [lambda c: "%s:%s" % (name, c), lambda c: x[c]]]
            self.assertEqual((want.returncode, got.stdout), (0, want.stdout), (command, want.stderr))
        shown = self.result("sum", name + ":a", name + ":w")
        self.assertEqual(shown.splitlines()[1], "500\t%s:w" % name)
        self.assertIn('"file":"%s:a"' % name, self.result("sum", "--json", name + ":a"))

    def test_a_file_of_the_whole_name_is_that_file(self):
        name = self.savez(a=np.arange(4))
        self.write("x.npz:a", b"70\n")
        self.assertEqual(self.result("sum", name + ":a"), "70")
        self.assertEqual(self.result("sum", name + ":a.npy"), "6")
        self.refused(1, "cannot open", "sum", self.path("none.npz:a"))
        self.refused(1, "cannot open", "sum", self.save("y.npy", np.arange(3)) + ":a")

    def test_standard_input_is_a_file_or_refused(self):
        name = self.savez(a=np.arange(4))
        with open(name, "rb") as f:
            self.assertEqual(run("sum", stdin=f).stdout, b"6\n")
            f.seek(0)
            data = f.read()
        error = self.refused(3, "as a file, not as a stream", "sum", stdin=data)
        self.assertIn("hint: save it, and name the file: bitfold sum FILE", error)
        self.refused(3, "as a file, not as a stream", "sum", self.write("x.gz", gzip.compress(data)))
        empty = self.zip([])
        self.refused(3, "it holds no arrays", "sum", empty)
        with open(empty, "rb") as f:
            self.refused(3, "as a file, not as a stream", "sum", stdin=f.read())

    def test_archives_of_more_than_32_bits(self):
        a = random_array()
        for method in [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]:
            name = self.zip([("a.npy", npy(a)), ("b.npy", npy(a[:3]))], method=method, force_zip64=True)
            self.same(name + ":a", a, ["sum"])
            self.same(name + ":b", a[:3], ["sum"])
        with open(self.zip([("a.npy", npy(a))]), "rb") as f:
            data = f.read()
        at, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
        entry = data[at:end]
        wide = (entry[:20] + b"\xff" * 8 + entry[28:30] + struct.pack("<H", 28) + entry[32:42] +
                b"\xff" * 4 + entry[46:] + struct.pack("<HHQQQ", 1, 24, len(npy(a)), len(npy(a)), 0))
        end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(wide), at)
        locator = struct.pack("<4sIQI", b"PK\6\7", 0, at + len(wide), 1)
        name = self.write("wide.npz", data[:at] + wide + end64 + locator + b"PK\5\6" + bytes(4) +
                          b"\xff" * 12 + struct.pack("<H", 3) + b"abc")
        with np.load(name) as z:
            self.assertTrue((z["a"] == a).all())
        self.same(name, a, ["sum"])

    def test_what_is_no_array_of_numbers_is_refused(self):
        for method, why in [(zipfile.ZIP_BZIP2, "by a method that is not read"),
                            (zipfile.ZIP_LZMA, "by a method that is not read")]:
            self.refused(3, why, "sum", self.zip([("a.npy", npy(np.arange(9)))], method=method))
        name = self.zip([("a.npy", npy(np.arange(9))), ("t.csv", b"1\n2\n" * 9)])
        error = self.refused(3, "not a .npy file", "sum", name + ":t.csv")
        self.assertIn("unzip -p", error)
        self.refused(3, "string arrays", "sum",
                     self.savez(a=np.array(["a"])))
        self.refused(2, "--column is for text", "sum", "--column", "a", self.savez(a=np.arange(3)))

    def test_what_the_header_says_and_the_archive_must_agree(self):
        for method in [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]:
            for shape, why in [("(3,)", "longer than its header says: 32 bytes of data, not 24"),
                               ("(5,)", "shorter than its header says: 32 bytes of data, not 40"),
                               ("(1000000000000,)", "shorter than its header says")]:
                data = header("'<f8'", shape) + np.arange(4.0).tobytes()
                self.refused(3, why, "sum", self.zip([("a.npy", data)], method=method))

    def test_no_damage_gives_another_answer(self):
        a = np.arange(40.0)
        for deflated in [False, True]:
            with open(self.savez(deflated=deflated, a=a), "rb") as f:
                data = f.read()
            step = 11 if SHORT else 3
            for at in range(1, len(data), step):
                for damaged in [data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:], data[:at]]:
                    done = run("sum", self.write("bad.npz", damaged))
                    self.assertIn(done.returncode, [0, 3], (at, done.stderr))
                    self.assertTrue(done.returncode == 3 or done.stdout == b"780\n", at)
                    self.assertEqual(done.stderr.count(b"\n") > 0, done.returncode == 3)
        at = data.index(b"PK\1\2")
        for field, value in [(20, 2**32 - 2), (24, 2**32 - 2), (42, 2**32 - 2), (24, 3), (20, 3)]:
            lies = data[:at + field] + struct.pack("<I", value) + data[at + field + 4:]
            self.refused(3, "", "sum", self.write("bad.npz", lies))

    def test_a_wrong_crc_is_an_error(self):
        for deflated in [False, True]:
            name = self.savez(deflated=deflated, a=np.arange(40.0))
            with open(name, "rb") as f:
                data = bytearray(f.read())
            at = data.index(b"PK\1\2")
            data[at + 16] ^= 1
            for command in ["sum", "sort", "sum --axis 0", "median"]:
                self.refused(3, "the data are damaged: they have not the CRC", *command.split(),
                             self.write("bad.npz", bytes(data)))

    def test_checkpoints_are_bound_to_the_member(self):
        name = self.savez(a=np.arange(40.0), b=np.arange(40.0))
        self.result("sum", "--checkpoint", self.path("work"), name + ":a")
        packed = self.savez("y.npz", deflated=True, a=np.arange(40.0))
        self.refused(2, "cannot be read from the middle on", "sum", "--checkpoint",
                     self.path("work"), packed)

    def test_an_input_is_not_written_over(self):
        name = self.savez(a=np.arange(4.0))
        self.refused(2, "", "sum", "--axis", "0", name + ":a", "-o", name)


class Memory(MemoryTest):
    """What is larger than memory, in parts."""

    def setUp(self):
        super().setUp()
        self.x = np.random.default_rng(1).integers(-9, 9, (2048 // SHARE, 4096)).astype("f8")

    def commands(self, name, limit):
        for command in ["sum", "sum --axis 0", "argmin --axis 1", "describe"][:: 2 if SANITIZED else 1]:
            self.same(*command.split(), name, limit=limit)

    def test_npz(self):
        for save in [np.savez, np.savez_compressed]:
            save(self.path("x.npz"), self.x)
            self.commands(self.path("x.npz"), LIMIT)
        np.savez_compressed(self.path("x.npz"), np.asfortranarray(self.x))
        self.same("sum", "--axis", "1", self.path("x.npz"))

    def test_hdf5(self):
        if h5py is None or library_is_missing():
            self.skipTest("needs python3-h5py and libhdf5")
        for options in [{}, dict(chunks=(64, 64), compression="gzip"), dict(chunks=(256, 16))]:
            with h5py.File(self.path("x.h5"), "w") as f:
                f.create_dataset("x", data=self.x, **options)
            self.commands(self.path("x.h5"), LIMIT + 24)


@unittest.skipIf(h5py is None, "needs python3-h5py")
class Hdf5(Containers):
    def make(self, name="x.h5", userblock=0, **datasets):
        """A file of datasets: arrays, or arrays with the options of create_dataset."""
        with h5py.File(self.path(name), "w", userblock_size=userblock) as f:
            for path, data in datasets.items():
                data, options = data if isinstance(data, tuple) else (data, {})
                f.create_dataset(path.replace("__", "/"), data=data, **options)
        return self.path(name)

    def setUp(self):
        super().setUp()
        if library_is_missing():
            self.skipTest("needs libhdf5")

    def test_datasets_are_as_files_of_their_own(self):
        a = random_array()
        packed = dict(compression="gzip", shuffle=True)
        name = self.make(a=a, g__h__c=(a, dict(chunks=(7, 5))), z=(a, dict(chunks=(11, 37), **packed)),
                         f=(a, dict(chunks=(3, 4), fletcher32=True)))
        for path in [":/a", ":a", ":/g/h/c", ":/z", ":f"]:
            self.same(name + path, a, COMMANDS if path in [":/a", ":/z"] else ["sum", "sum --axis 0"])

    def test_every_dtype_and_order(self):
        for options in [{}, dict(chunks=(1, 5)), dict(chunks=(1, 43), compression="gzip")]:
            arrays = every_dtype()
            self.check_sums(self.make(**{n: (x, options) for n, x in arrays.items()}), arrays)

    def test_every_shape_is_read_in_c_order(self):
        for shape in [(1,), (1000,), (3, 1, 5), (4, 5, 6, 2), (2,) * 8, (300, 2), (2, 300)]:
            x = np.arange(np.prod(shape)).reshape(shape).astype("i4")
            chunks = tuple(max(1, n // 2 + n % 2) for n in shape)
            name = self.make(x=(x, dict(chunks=chunks, compression="gzip")), y=x)
            for axis in range(len(shape)):
                self.same(name + ":x", x, ["sum --axis %d" % axis])
            self.same(name + ":x", x, ["argmax", "sort"])
            self.same(name + ":y", x, ["argmax", "map neg -o -"])
        none = np.zeros((0, 3))
        name = self.make(s=np.float32(2.5), e=none, c=(none, dict(chunks=(2, 2), maxshape=(None, 3))))
        for path, want in [("s", "2.5"), ("e", "0"), ("c", "0")]:
            self.assertEqual(self.result("sum", "%s:%s" % (name, path)), want)

    def test_blocks_smaller_than_a_row_of_chunks(self):
        x = np.arange(600 * 12000, dtype="i4").reshape(600, 12000)
        name = self.make(x=(x, dict(chunks=(600, 100), compression="gzip", compression_opts=1)))
        got = self.result("sum", "--axis", "1", "--memory", "64M", "-j2", name)
        self.assertEqual(got.split(), [str(n) for n in x.sum(axis=1, dtype="i8")])
        self.refused(3, "cannot read chunks of 28800000 bytes: that takes more than its share of "
                     "--memory", "sum", "--memory", "64M", "-j2", self.make(x=(x, dict(chunks=x.shape))))

    def test_what_was_never_written_is_the_fill_value(self):
        with h5py.File(self.path("x.h5"), "w") as f:
            f.create_dataset("c", (100, 10), "i4", chunks=(10, 10), fillvalue=7)[3] = 1
            f.create_dataset("u", (100, 10), "i4", fillvalue=7)
        self.assertEqual(self.result("sum", self.path("x.h5:c")), str(7 * 990 + 10))
        self.assertEqual(self.result("sum", self.path("x.h5:u")), "7000")

    def test_a_dataset_of_numbers_alone_needs_no_name(self):
        name = self.make(g__x=np.arange(5), note="text")
        self.assertEqual(self.result("sum", name), "10")
        with open(name, "rb") as f:
            self.assertEqual(run("sum", stdin=f).stdout, b"10\n")
            f.seek(0)
            self.refused(3, "it is an HDF5 file, which bitfold reads as a file, not as a stream",
                         "sum", stdin=f.read())

    def test_of_several_one_must_be_named(self):
        name = self.make(a=np.arange(5), g__b=np.arange(6))
        error = self.refused(3, "it holds 2 datasets: /a, /g/b", "sum", name)
        self.assertIn("hint: name one of them: bitfold sum %s:/a" % name, error)
        for path in ["/c", "/g", "", "a/b"]:
            self.refused(3, "there are /a, /g/b", "sum", "%s:%s" % (name, path))
        self.assertEqual(self.result("dot", name + ":a", name + ":/a"), "30")

    def test_links_in_circles_are_no_other_datasets(self):
        with h5py.File(self.path("x.h5"), "w") as f:
            f["a"] = np.arange(5)
            f["same"] = f["a"]
            f["g/up"], f["g/gone"] = h5py.SoftLink("/"), h5py.SoftLink("/nothing")
            f["elsewhere"] = h5py.ExternalLink(self.path("none.h5"), "/x")
            f["h/self"], f["h/root"] = f["g"], f["/"]
        self.assertEqual(self.result("sum", self.path("x.h5")), "10")
        self.assertEqual(self.result("sum", self.path("x.h5:h/root/g/up/same")), "10")

    def test_matlab_files_of_hdf5(self):
        name = self.make("x.mat", userblock=512, x=np.arange(5.0), y=(np.arange(6), dict(chunks=(2,))))
        with open(name, "r+b") as f:
            f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
        self.assertEqual(self.result("sum", name + ":x", name + ":y"),
                         "10\t%s:x\n15\t%s:y" % (name, name))

    def test_elements_that_are_no_numbers_are_refused(self):
        kinds = {"strings": np.array([b"a", b"b"]), "compounds": np.zeros(3, "c16"),
                 "floats of another format": np.zeros(3, np.longdouble)}
        for why, data in kinds.items():
            self.refused(3, "the elements are " + why, "sum", self.make(x=data) + ":x")
        with h5py.File(self.path("x.h5"), "w") as f:
            f.create_dataset("e", data=[0, 1], dtype=h5py.enum_dtype({"RED": 0, "BLUE": 1}, "i1"))
            f.create_dataset("n", data=h5py.Empty("f8"))
        self.refused(3, "the elements are enumerations", "sum", self.path("x.h5:e"))
        self.refused(3, "has no elements and no shape", "sum", self.path("x.h5:n"))
        name = self.make(x=np.arange(3), y=np.arange(3))
        self.refused(2, "--column is for text: this is an HDF5 dataset", "sum", "--column", "a", name + ":x")

    def test_a_missing_library_is_named_with_its_package(self):
        name = self.make(x=np.arange(3))
        for library in HDF5_NAMES:
            self.write(library, b"")
        done = run("sum", name, env={"LD_LIBRARY_PATH": self.path("")})
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"an HDF5 file, and libhdf5 is not on this machine\nhint: install", done.stderr)

    def test_damaged_files_are_errors(self):
        name = self.make(x=(np.arange(4000.0), dict(chunks=(1000,), compression="gzip", fletcher32=True)))
        with open(name, "rb") as f:
            data = f.read()
        for at in range(0, len(data), 997 if SHORT else 211):
            done = run("sum", self.write("bad.h5", data[:at]))
            self.assertIn(done.returncode, [0, 3])
            if at > 12:
                self.assertEqual(done.returncode, 3, at)
            done = run("sum", self.write("bad.h5", data[:at] + b"\xff\0\xff" + data[at + 3:]))
            self.assertIn(done.returncode, [0, 3])
        self.refused(3, "HDF5's library cannot read it: ", "sum", self.write("bad.h5", data[:-500]))
