"""The text of values, against the shortest decimals of Python and NumPy."""

import ctypes
import math
import unittest

import numpy as np

from bitfold import _library


class Text(unittest.TestCase):
    """bf_value_format against Python's and NumPy's shortest decimals."""

    def format(self, **held):
        value = _library.Value()
        ((name, number),) = held.items()
        value.dtype = {"f64": 13, "f32": 12, "bits": 10}[name]
        setattr(value.as_, name, number)
        text = ctypes.create_string_buffer(_library.VALUE_TEXT)
        _library.lib.bf_value_format(value, text)
        return text.value.decode()

    def test_f64_is_repr(self):
        rng = np.random.default_rng(9)
        bits = rng.integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
        decimal = np.round(rng.normal(0, 1e6, 2000), 3)
        powers = [*(2.0**k for k in range(-1074, 1024)), *(float(f"1e{k}") for k in range(-323, 309))]
        near = [math.nextafter(x, to) for x in powers for to in (0, math.inf)]
        special = [0.0, -0.0, math.inf, -math.inf, math.nan]
        for x in [*bits.tolist(), *decimal.tolist(), *powers, *near, *special]:
            expected = repr(x)[:-2] if repr(x).endswith(".0") else repr(x)
            self.assertEqual(self.format(f64=x), expected)

    def test_f32_and_f16_have_numpy_s_digits(self):
        rng = np.random.default_rng(10)
        singles = rng.integers(0, 2**32, 5000, dtype=np.uint32).view(np.float32)
        halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16)[::7]
        for x in [*singles, *halves]:
            if np.isfinite(x):
                held = {"f32": x} if x.dtype == "f4" else {"bits": int(x.view("u2"))}
                found = self.format(**held)
                self.assertEqual(
                    np.format_float_scientific(np.float64(found), trim="-"),
                    np.format_float_scientific(x, trim="-"),
                )
