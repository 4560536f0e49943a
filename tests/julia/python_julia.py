"""The module's julia and palette_colors: counts of a plain loop, parts, refusals."""

import unittest

import bitfold
import numpy as np


def plain(width, height, c, iterations, dtype):
    T = dtype
    unit = T(max(1, width // 2))
    x = T(1.5) * (np.arange(width) - width // 2).astype(T) / unit
    y = T(1.5) * (np.arange(height) - height // 2).astype(T) / unit
    re, im = np.broadcast_arrays(x[None, :], y[:, None])
    count = np.full(re.shape, iterations, np.uint16)
    with np.errstate(all="ignore"):
        inside = np.ones(re.shape, bool)
        for i in range(iterations):
            re, im = (re * re - im * im) + T(c.real), (im * re + re * im) + T(c.imag)
            count[inside & (re * re + im * im > T(1000))] = i
            inside &= count == iterations
    return count


class Julia(unittest.TestCase):
    def test_counts(self):
        for name, dtype in ("f32", np.float32), ("f64", np.float64):
            expected = plain(121, 90, -0.4 + 0.6j, 77, dtype)
            found = np.asarray(bitfold.julia(121, 90, -0.4 + 0.6j, iterations=77, dtype=name))
            self.assertEqual(found.dtype, np.uint16)
            self.assertTrue((found == expected).all())

    def test_a_part_of_a_picture(self):
        whole = np.asarray(bitfold.julia(100, 80, mandelbrot=True, center=-0.5))
        part = np.zeros((40, 60), np.uint16)
        into = part[::-1, 1::2]
        bitfold.julia(100, 80, mandelbrot=True, center=-0.5, x=7, y=5, out=into)
        self.assertTrue((into == whole[5:45, 7:37]).all())
        self.assertFalse(part[:, ::2].any())

    def test_colors(self):
        counts = np.array([[200, 3], [0, 199]], np.uint16)
        colors = np.asarray(bitfold.palette_colors("classic", counts))
        self.assertEqual(colors.tolist(), [[[255, 0, 0, 255], [0, 0, 0, 255]], [[0, 0, 0, 255]] * 2])

    def test_refusals(self):
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.julia(0, 5)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.julia(5, 5, float("nan"))
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.julia(5, 5, iterations=0)
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.palette_colors("no such", np.zeros(1, np.uint16))
        with self.assertRaises(bitfold.Error):
            bitfold.julia(5, 5, out=np.zeros((6, 6), np.uint16))
