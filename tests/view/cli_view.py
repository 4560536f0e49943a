"""bitfold-view: a window on a virtual screen, driven by its keys and the mouse as a user would.
Builds: release, asan (full), tsan."""
import os
import re
import shutil
import struct
import subprocess
import time
import unittest

import numpy as np

from command import BITFOLD, CommandTest, read_png, run

VIEW = os.path.join(os.path.dirname(os.path.realpath(shutil.which(BITFOLD) or "")), "bitfold-view")
PATIENCE = 60 # seconds; a sanitizer on a busy machine is slow


def need_view():
    if not os.path.exists(VIEW):
        raise unittest.SkipTest("bitfold-view was not built: needs libsdl2-dev")


def options_of(name):
    """The options of `bitfold julia` that a saved picture's name tells."""
    kind, *words = name[:-len(".png")].split("_")
    options = ["--%s=%s" % pair for pair in zip(words[::2], words[1::2])]
    return options + (["--mandelbrot"] if kind == "mandelbrot" else [])


def numbers_of(name, option):
    return [float(x) for x in re.search("_%s_([^_]*)_" % option, name).group(1).split(",")]


class Screen:
    """A virtual screen, whose pixels Xvfb keeps in a file."""

    def __init__(self, test, width, height):
        for tool in ["Xvfb", "xdotool"]:
            if not shutil.which(tool):
                test.skipTest("needs " + tool)
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "%dx%dx24" % (width, height),
             "-fbdir", test.dir, "-nolisten", "tcp", "-noreset"], pass_fds=[write], stderr=subprocess.DEVNULL)
        test.addCleanup(self.end)
        os.close(write)
        with os.fdopen(read) as f:
            number = f.readline().strip()
        if not number:
            test.skipTest("Xvfb does not start here")
        self.memory = test.path("Xvfb_screen0")
        # Without OpenGL, whose threads TSan finds fault with, and without a leak that is not ours.
        quiet = test.write("suppressions", b"leak:libdbus\n")
        self.env = {**os.environ, "DISPLAY": ":" + number, "SDL_VIDEODRIVER": "x11",
                    "SDL_RENDER_DRIVER": "software", "SDL_FRAMEBUFFER_ACCELERATION": "0",
                    "LSAN_OPTIONS": "suppressions=%s:print_suppressions=0" % quiet}

    def end(self):
        self.server.terminate()
        self.server.wait()

    def pixels(self):
        """By the header of XWD files: 25 numbers, colours, rows of blue, green, red and nothing."""
        with open(self.memory, "rb") as f:
            data = f.read()
        head = struct.unpack(">25I", data[:100])
        start, width, height, row, colors = head[0], head[4], head[5], head[12], head[19]
        rows = np.frombuffer(data, np.uint8, row * height, start + 12 * colors).reshape(height, row)
        return rows[:, :4 * width].reshape(height, width, 4)[:, :, 2::-1]

    def xdotool(self, *arguments):
        return subprocess.run(["xdotool", *map(str, arguments)], env=self.env, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def do(self, *arguments):
        self.xdotool(*arguments).check_returncode()


class Driven(CommandTest):
    def setUp(self):
        super().setUp()
        need_view()
        self.screen = Screen(self, 700, 500)
        self.saved = os.path.join(self.dir, "saved")
        os.mkdir(self.saved)

    def start(self, *arguments):
        self.program = subprocess.Popen([BITFOLD, "julia", "--view", *map(str, arguments)],
                                        env=self.screen.env, cwd=self.saved, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.addCleanup(self.program.kill)
        self.until(self.is_open, "no window opens")

    def is_open(self):
        """Whether there is a window; it then has been moved to the corner."""
        move = ["search", "--onlyvisible", "--name", "bitfold", "windowmove", 0, 0]
        return self.screen.xdotool(*move).returncode == 0

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            self.assertIsNone(self.program.poll(), what)
            time.sleep(0.02)

    def shows(self, picture, top=0):
        """The window shows the picture, at least from this row on."""
        height, width, _ = picture.shape
        self.until(lambda: (self.screen.pixels()[top:height, :width] == picture[top:]).all(),
                   "the picture is not on the screen")

    def julia(self, *options):
        out = self.path("expected.png")
        self.assertEqual(self.result("julia", *options, "-o", out), "")
        return out

    def save(self):
        """Presses s; the file must be the one that `bitfold julia` makes with its options, and be
        what the window shows, below what it says."""
        before = set(os.listdir(self.saved))
        self.screen.do("key", "s")
        found = lambda: [n for n in set(os.listdir(self.saved)) - before if n.endswith(".png")]
        self.until(found, "no picture is saved")
        name, = found()
        expected = self.julia(*options_of(name))
        with open(expected, "rb") as a, open(os.path.join(self.saved, name), "rb") as b:
            self.assertEqual(a.read(), b.read(), name)
        picture = read_png(expected)
        self.shows(picture, picture.shape[0] // 2)
        return name

    def quit(self, key="q"):
        """The lines on standard output."""
        self.screen.do("key", key)
        out, error = self.program.communicate(timeout=PATIENCE)
        self.assertEqual((self.program.returncode, error.decode()), (0, ""))
        return out.decode().splitlines()

    def assertView(self, name, center, scale, pixel):
        for found, expected in zip(numbers_of(name, "center"), center):
            self.assertAlmostEqual(found, expected, delta=0.05 * pixel, msg=name)
        self.assertAlmostEqual(*numbers_of(name, "scale"), scale, delta=1e-5 * scale, msg=name)

    def test_a_session(self):
        if b"cannot be written here" in run("julia", "--size=4x4", "-o", self.path("x.png")).stderr:
            self.skipTest("needs libpng")
        self.start("--size", "400x300", "--palette", "fire")
        self.shows(read_png(self.julia("--size", "400x300", "--palette", "fire")))
        names = [self.save()]
        self.assertEqual(names[0], "julia_c_-0.8,0.156_center_0,0_scale_1.5_iter_200_dtype_f32_"
                                   "palette_fire_size_400x300.png")

        self.screen.do("mousemove", 300, 100, "click", "--repeat", 2, 4) # the wheel, away
        names.append(self.save())
        at = np.array([1.5 / 200 * 100, 1.5 / 200 * -50])
        center, scale = at - 0.8 * 0.8 * at, 1.5 * 0.8 * 0.8
        self.assertView(names[1], center, scale, scale / 200)

        self.screen.do("mousedown", 1, "mousemove", 260, 130, "mousemove", 250, 170, "mouseup", 1)
        names.append(self.save())
        center = center - scale / 200 * np.array([250 - 300, 170 - 100])
        self.assertView(names[2], center, scale, scale / 200)

        self.screen.do("key", "Right", "key", "Up", "key", "p", "key", "plus")
        names.append(self.save())
        center = center + scale / 200 * np.array([50, -37])
        self.assertView(names[3], center, scale, scale / 200)
        self.assertIn("_iter_400_dtype_f32_palette_ocean_", names[3])

        self.screen.do("key", "minus", "key", "m")
        names.append(self.save())
        self.assertRegex(names[4], "^mandelbrot_center_-0.6,0_scale_1.5_iter_200_")

        self.screen.do("mousemove", 100, 50, "key", "j")
        names.append(self.save())
        self.assertRegex(names[5], "^julia_c_-1.35,-0.75_center_0,0_scale_1.5_")

        self.screen.do("search", "--name", "bitfold", "windowsize", 500, 200)
        self.shows(read_png(self.julia(*options_of(names[5].replace("400x300", "500x200")))), 150)
        names.append(self.save())
        self.assertIn("_size_500x200.png", names[6])

        self.screen.do("key", "s") # is there already: nothing is overwritten
        self.assertEqual(self.quit(), names)
        self.assertEqual(sorted(os.listdir(self.saved)), sorted(names))

    def test_what_it_says(self):
        self.start("--size", "600x400", "--mandelbrot", "--dtype", "f64")
        options = ["--size", "600x400", "--mandelbrot", "--dtype", "f64"]
        picture = read_png(self.julia(*options))
        self.shows(picture)
        changed = lambda: (self.screen.pixels()[:400, :600] != picture).any(axis=2)
        self.screen.do("key", "i")
        self.until(lambda: changed().any(), "i shows nothing")
        information = changed()
        self.assertFalse(information[100:].any())
        self.screen.do("key", "h")
        self.until(lambda: changed()[100:].any(), "h shows nothing")
        self.screen.do("key", "i", "key", "h")
        self.until(lambda: not changed().any(), "i and h do not end")
        self.assertEqual(self.quit("Escape"), [])
        self.assertEqual(os.listdir(self.saved), [])

    def test_a_picture_that_takes_long_appears_and_is_left(self):
        self.start("--size", "600x400", "--iter", 65535, "-c", "0,0", "--scale", "0.4", "-j", 1,
                   "--isa", "generic")
        red = lambda: (self.screen.pixels()[:400, :600] == [255, 0, 0]).all(axis=2).mean() > 0.9
        self.until(red, "nothing appears")
        self.assertEqual(self.quit(), [])

    def test_a_picture_that_cannot_be_written_is_reported(self):
        self.start("--size", "50x40")
        self.shows(read_png(self.julia("--size", "50x40")))
        os.rmdir(self.saved)
        self.screen.do("key", "s", "key", "q")
        out, error = self.program.communicate(timeout=PATIENCE)
        self.assertEqual((self.program.returncode, out), (1, b""))
        self.assertRegex(error.decode(), "^bitfold julia --view: julia_c_.*: cannot write: ")


class Started(CommandTest):
    def test_without_a_screen(self):
        need_view()
        env = {"SDL_VIDEODRIVER": "x11", "DISPLAY": ""}
        self.refused(4, "no window can be opened", "julia", "--view", env=env)

    def test_what_is_refused(self):
        need_view()
        self.refused(2, "no option: -o", "julia", "--view", "-o", self.path("x.png"))
        self.refused(2, "no option: --frames", "julia", "--vi", "--frames", 3, "--c-path", "0,0:1,1",
                     "-o", self.path("x.png"))
        self.refused(2, "bad operand of --scale", "julia", "--view", "--scale", "x")
        self.refused(2, "unknown palette", "julia", "--view", "--palette", "red")
        done = subprocess.run([VIEW, "--size", "0x0"], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"bitfold julia --view: bad operand of --size", done.stderr)
        self.assertEqual(os.listdir(self.dir), [])

    def test_where_it_is_missing(self):
        alone = self.path("bitfold")
        shutil.copy(shutil.which(BITFOLD), alone)
        done = subprocess.run([alone, "julia", "--view"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "PATH": self.dir})
        self.assertEqual((done.returncode, done.stdout), (4, b""))
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines[0].startswith("bitfold julia: cannot start bitfold-view: "), lines)
        self.assertTrue(lines[1].startswith("hint: "), lines)

    def test_help(self):
        need_view()
        text = subprocess.run([VIEW, "--help=all"], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertTrue(text.startswith("bitfold julia --view [OPTIONS]\n"), text)
        shown = set(re.findall(r"^  .{3} (--[a-z0-9-]+)", text, re.M))
        julia = set(re.findall(r"^  .{3} (--[a-z0-9-]+)", self.result("julia", "--help=all"), re.M))
        self.assertEqual(julia - shown, {"--output", "--format-out", "--json", "--frames", "--c-path", "--view"})
        self.assertEqual(shown - julia, set())
