"""julia: counts against a plain computation in NumPy, pictures, frames, terminals, what is refused.
Builds: release, asan (full)."""

import json
import os
import unittest

import numpy as np

from command import CommandTest, read_png, run

GPU = run("julia", "--size", "4x4", "--device", "cuda", "-o", "/dev/null.npy").returncode != 4


def counts(width=1000, height=1000, c=(-0.8, 0.156), iterations=200, escape=1000, center=(0, 0),
           scale=1.5, dtype=np.float32, mandelbrot=False, every=1):
    """Every operation rounded in the dtype, as NumPy does them; of every n-th row."""
    T = dtype
    with np.errstate(all="ignore"):
        unit = T(max(1, width // 2))
        x = T(scale) * (np.arange(width) - width // 2).astype(T) / unit + T(center[0])
        y = T(scale) * (np.arange(height)[::every] - height // 2).astype(T) / unit + T(center[1])
        x, y = np.broadcast_arrays(x[None, :], y[:, None])
        re, im = (np.zeros_like(x), np.zeros_like(y)) if mandelbrot else (x, y)
        a, b = (x, y) if mandelbrot else (T(c[0]), T(c[1]))
        count = np.full(x.shape, iterations, np.uint16)
        inside = np.ones(x.shape, bool)
        for i in range(iterations):
            re, im = (re * re - im * im) + a, (im * re + re * im) + b
            out = inside & (re * re + im * im > T(escape))
            count[out] = i
            inside &= ~out
    return count


class Julia(CommandTest):
    def julia(self, *arguments):
        """The counts that `julia ARGUMENTS` writes, and stays silent."""
        out = self.path("out.npy")
        self.assertEqual(self.result("julia", "-o", out, *arguments), "")
        return np.load(out)

    def picture(self, *arguments, name="out.png"):
        out = self.path(name)
        done = run("julia", "-o", out, *arguments)
        if b"PNG files cannot be written here" in done.stderr:
            self.skipTest("needs libpng")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        return read_png(out)

    def same(self, found, expected):
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertTrue((found == expected).all())

    def test_the_tutorials_picture(self):
        expected = counts()
        self.same(self.julia(), expected)
        for isa in ["generic", "vector", "avx2", "avx512"]:
            for threads in [1, 2, 5]:
                done = run("julia", "-o", self.path("i.npy"), "--isa", isa, "-j", threads)
                if done.returncode != 4:
                    self.same(np.load(self.path("i.npy")), expected)
        inside = (expected == 200)[..., None]
        self.same(self.picture(), (inside * np.array([255, 0, 0])).astype(np.uint8))

    def test_views(self):
        small = ["--size", "131x97"]
        self.same(self.julia(*small, "--dtype", "f64"), counts(131, 97, dtype=np.float64))
        self.same(self.julia(*small, "-c", "0.285,0.01", "--iter", 500),
                  counts(131, 97, c=(0.285, 0.01), iterations=500))
        self.same(self.julia(*small, "--center", "0.1,-0.2", "--scale", "1e-1", "--escape", 4),
                  counts(131, 97, center=(0.1, -0.2), scale=0.1, escape=4))
        for more, escape in ([], 1000), (["--escape", 4], 4), (["--escape", "0.5"], 0.5):
            self.same(self.julia(*small, "--mandelbrot", "--center", "-0.6,0", *more),
                      counts(131, 97, mandelbrot=True, center=(-0.6, 0), escape=escape))
        self.same(self.julia("--size=1x1"), counts(1, 1))
        self.same(self.julia("--size=1x50", "--iter=1"), counts(1, 50, iterations=1))

    def test_palettes(self):
        seen = set()
        for palette in ["classic", "gray", "fire", "ocean", "rainbow"]:
            seen.add(self.picture("--size", "90x60", "--palette", palette).tobytes())
        self.assertEqual(len(seen), 5)

    def test_frames(self):
        self.picture("--size", "40x30", "-c", "0.5,0.5", name="one.png")
        path = ["--frames", 3, "--c-path", "-0.5,0.5:0.5,0.5"]
        done = run("julia", "--size", "40x30", *path, "-o", self.path("f.png"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(sorted(os.listdir(self.dir)),
                         ["f-0000.png", "f-0001.png", "f-0002.png", "one.png"])
        with open(self.path("f-0002.png"), "rb") as a, open(self.path("one.png"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_pictures_in_bands(self):
        wide = self.julia("--size", "40000x1000", "--iter", 20)
        self.same(wide[::100], counts(40000, 1000, iterations=20, every=100))

    def test_json(self):
        out = self.path("a.npy")
        line = self.result("julia", "--size", "20x10", "--json", "-o", out)
        self.assertIn('"c":[-0.8,0.156],', line)
        row = json.loads(line)
        self.assertEqual((row["schema"], row["command"], row["file"], row["width"], row["height"],
                          row["device"]), (1, "julia", out, 20, 10, "cpu"))

    def test_without_a_file_it_draws(self):
        env = {"COLUMNS": "60", "LC_ALL": "C"}
        lines = run("julia", env=env).stdout.decode().splitlines()
        self.assertEqual({len(line) for line in lines}, {60})
        self.assertEqual(len(lines), 30)
        self.assertIn("@", "".join(lines))
        env |= {"LC_ALL": "C.UTF-8", "COLORTERM": "truecolor", "TERM": "xterm"}
        text = run("julia", "--color", "always", env=env).stdout.decode()
        self.assertEqual(text.count("\u2580"), 60 * 30)
        self.assertIn("\x1b[38;2;255;0;0m", text)

    def test_what_is_refused(self):
        out = self.path("x.npy")
        refusals = [("--size", "0x4"), ("--size", "4"), ("--size", "4x4x4"), ("--size", "4x-4"),
                    ("--size", "4294967296x1"),
                    ("--size", "2147483647x2147483647"), ("-c", "1"), ("-c", "nan,0"), ("-c", "inf,0"),
                    ("-c", "1,2,3"), ("--iter", "0"), ("--iter", "65536"), ("--escape", "nan"),
                    ("--escape", "1e39"), ("--scale", "x"), ("--center", "0"),
                    ("--palette", "red"), ("--frames", "2"), ("--dtype", "i32"), ("file",),
                    ("--mandelbrot", "-c", "0,0")]
        for arguments in refusals:
            self.refused(2, "", "julia", *arguments, "-o", out)
            self.assertEqual(os.listdir(self.dir), [])
        self.refused(2, "cannot write this as .jpg", "julia", "-o", self.path("x.jpg"))
        self.refused(2, "no ending of this name", "julia", "-o", self.path("x"))
        self.refused(1, "", "julia", "--size", "4x4", "-o", self.path("no/x.npy"))

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_reported(self):
        os.symlink("/dev/full", self.path("full.npy"))
        self.refused(1, "cannot write", "julia", "--size", "400x400", "-o", self.path("full.npy"))

    @unittest.skipUnless(GPU, "needs a GPU")
    def test_the_same_file_from_a_gpu(self):
        for more in [], ["--dtype", "f64"], ["--mandelbrot", "--escape", "4"]:
            for ending in "png", "npy":
                files = []
                for device in "cpu", "cuda":
                    name = self.path(device + "." + ending)
                    self.assertEqual(self.result("julia", *more, "--device", device, "-o", name), "")
                    with open(name, "rb") as f:
                        files.append(f.read())
                self.assertEqual(files[0], files[1], (more, ending))
