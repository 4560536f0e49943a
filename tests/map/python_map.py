"""Element-wise operations: against NumPy for every pair of dtypes, against fractions where NumPy
rounds twice or has no such operation; the same bits on every instruction set and on a GPU.
Builds: release, asan (full)."""

import math
import unittest
import warnings
from fractions import Fraction

import numpy as np

import bitfold
import devices

HELD = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip
FLOATS = {"f16": (10, 5), "bf16": (7, 8), "f32": (23, 8), "f64": (52, 11)}
INTS = [name for name in HELD if name[0] in "iu"]
UFUNCS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide,
    "min": np.minimum, "max": np.maximum, "neg": np.negative, "abs": np.absolute, "sqrt": np.sqrt,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
CONTEXTS = devices.contexts((1, 3))
SIZE = 1500


def values(rng, name, n=SIZE):
    """Any bits at all, among them NaNs, infinities, zeros and ordinary numbers."""
    if name == "bool":
        return rng.integers(0, 2, n).astype(bool)
    x = rng.integers(0, 256, n * np.dtype(HELD[name]).itemsize, dtype=np.uint8).view(HELD[name])
    if name in FLOATS:
        specials = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5]
        x[::7] = rng.choice(specials, x[::7].size)
        x[3::11] = rng.normal(size=x[3::11].size)
    return x


def as_bits(x):
    """The bytes, with every NaN the canonical one."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), np.abs(np.array(np.nan, x.dtype)), x).astype(x.dtype)
    return x.tobytes()


def run(op, *inputs, **options):
    """The result on the first context, having seen that the others give the same bytes."""
    results = []
    for context in CONTEXTS:
        results.append(np.asarray(bitfold.map(op, *inputs, context=context, **options)))
    for each in results[1:]:
        assert each.tobytes() == results[0].tobytes(), (op, "differs between contexts")
    return results[0]


def to_fraction(form, bits):
    """The number that bits are: a Fraction, or a float if it is not finite."""
    fraction, exponent = FLOATS[form]
    sign = -1 if bits >> (fraction + exponent) & 1 else 1
    field, low = bits >> fraction & (2**exponent - 1), bits & (2**fraction - 1)
    if field == 2**exponent - 1:
        return math.nan if low else sign * math.inf
    scale = 2 - 2 ** (exponent - 1) - fraction
    magnitude = low | (2**fraction if field else 0)
    return sign * magnitude * Fraction(2) ** (scale + max(field - 1, 0))


def from_fraction(form, x, negative_zero=False):
    """The bits of x, rounded to nearest, ties to even."""
    fraction, exponent = FLOATS[form]
    sign = (x < 0 or (x == 0 and negative_zero)) << (fraction + exponent)
    x = abs(x)
    least = 2 - 2 ** (exponent - 1) - fraction
    e = least
    while x / Fraction(2) ** e >= 2 ** (fraction + 1):
        e += max(1, math.frexp(float(min(x / Fraction(2) ** e, 2**1000)))[1] - fraction - 1)
    m = round(x / Fraction(2) ** e)  # to even
    field = 0 if m < 2**fraction and e == least else e - least + 1
    bits = (field << fraction) + m - (2**fraction if field else 0)
    return sign | min(bits, (2**exponent - 1) << fraction)


class Promotion(unittest.TestCase):
    """The dtype of a result is NumPy's, but i64 with u64 is refused."""

    def test_every_pair(self):
        for a in HELD:
            for b in HELD:
                if {a, b} == {"i64", "u64"}:
                    with self.assertRaises(bitfold.DtypeError):
                        bitfold.result_dtype("add", a, b)
                    continue
                expected = np.promote_types(HELD[a], HELD[b])
                self.assertEqual(HELD[bitfold.result_dtype("add", a, b)], expected, (a, b))
                self.assertEqual(bitfold.result_dtype("lt", a, b), "bool")

    def test_bf16_meets_the_others_as_f16_does(self):
        expected = {"bool": "bf16", "i8": "bf16", "u8": "bf16", "i16": "f32", "u16": "f32",
                    "i32": "f64", "u32": "f64", "i64": "f64", "u64": "f64", "f16": "f32",
                    "bf16": "bf16", "f32": "f32", "f64": "f64"}  # fmt: skip
        for other, result in expected.items():
            self.assertEqual(bitfold.result_dtype("mul", "bf16", other), result)
            self.assertEqual(bitfold.result_dtype("mul", other, "bf16"), result)

    def test_plain_numbers_are_weak(self):
        for a in HELD:
            with_int = {"bool": "i64"}.get(a, a)
            with_float = a if a in FLOATS else "f64"
            for order in (0, 1):
                pair = lambda kind: (a, kind) if order else (kind, a)
                self.assertEqual(bitfold.result_dtype("add", *pair(int)), with_int)
                self.assertEqual(bitfold.result_dtype("add", *pair(float)), with_float)
        self.assertEqual(bitfold.result_dtype("add", int, int), "i64")
        self.assertEqual(bitfold.result_dtype("add", int, float), "f64")

    def test_plain_numbers_must_fit(self):
        x = np.ones(3, np.int8)
        self.assertEqual(run("add", x, 100).tolist(), [101] * 3)
        for overflow in ("error", "wrap", "saturate"):
            with self.assertRaisesRegex(bitfold.RangeError, "300 does not fit i8"):
                bitfold.map("add", x, 300, overflow=overflow)
        self.assertEqual(run("div", x, 300).dtype, np.float64)
        self.assertEqual(run("mul", np.ones(1, np.float16), 1e6)[0], np.inf)

    def test_integers_of_div_and_sqrt_become_floats(self):
        for name in [*INTS, "bool"]:
            self.assertEqual(bitfold.result_dtype("div", name, name), "f64")
            expected = np.sqrt(np.ones(1, HELD[name])).dtype
            self.assertEqual(HELD[bitfold.result_dtype("sqrt", name)], expected)

    def test_the_order_of_inputs_makes_no_difference(self):
        for names in (("i8", "u8", "f16"), ("i64", "u64", "f64"), ("bool", "i16", "bf16")):
            results = {
                bitfold.result_dtype("fma", *(names[i] for i in order))
                for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
            }
            self.assertEqual(len(results), 1, names)


class Numpy(unittest.TestCase):
    """Bits and dtypes are NumPy's, up to the NaN's sign and payload."""

    def test_every_operation_of_every_pair(self):
        rng = np.random.default_rng(1)
        for op, ufunc in UFUNCS.items():
            for a in HELD:
                for b in HELD if ufunc.nin == 2 else [None]:
                    self.check(rng, op, ufunc, a, b)

    def check(self, rng, op, ufunc, a, b):
        inputs = [values(rng, name) for name in (a, b) if name]
        if op == "div" and a not in FLOATS and b not in FLOATS:
            inputs[1][inputs[1] == 0] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = None if {a, b} == {"i64", "u64"} else ufunc(*inputs)
            except TypeError:
                expected = None
        if expected is None:
            with self.assertRaises(bitfold.DtypeError, msg=(op, a, b)):
                bitfold.map(op, *inputs, overflow="wrap")
            return
        if op in ("min", "max"):  # NumPy takes either zero
            first = np.signbit if op == "min" else lambda x: ~np.signbit(x)
            with np.errstate(all="ignore"):
                x, y = (each.astype(expected.dtype) for each in inputs)
            zeros = (x == 0) & (y == 0)
            expected = np.where(zeros & first(x), x, np.where(zeros, y, expected))
        result = run(op, *inputs, overflow="wrap")
        self.assertEqual(result.dtype, expected.dtype, (op, a, b))
        self.assertEqual(result.tobytes(), as_bits(expected), (op, a, b))

    def test_casts(self):
        rng = np.random.default_rng(2)
        for a in HELD:
            for b in HELD:
                x = values(rng, a)
                if a in FLOATS and b in INTS:
                    x = x[np.isfinite(x)].astype(np.float64)
                    info = np.iinfo(HELD[b])
                    x = x[(np.trunc(x) >= info.min) & (x < info.max)].astype(HELD[a])
                    overflow = "error"
                else:
                    overflow = "wrap"
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = x.astype(HELD[b])
                result = run("cast", x, to=b, overflow=overflow)
                self.assertEqual(result.tobytes(), as_bits(expected), (a, b))

    def test_every_layout(self):
        rng = np.random.default_rng(3)
        x, y = rng.normal(size=(40, 50, 3)), rng.normal(size=(40, 50, 3)).astype(np.float32)
        for a in (x, x[::-1], x[:, ::2], x.transpose(2, 1, 0), np.asfortranarray(x), x[..., 1:2]):
            for b in (y, y[:, ::-1], y[:, 1::2], y.transpose(2, 1, 0), y[3], y[:, :1], y[0, 0, 0]):
                try:
                    expected = a - b
                except ValueError:
                    with self.assertRaises(bitfold.ShapeError):
                        bitfold.map("sub", a, b)
                    continue
                self.assertEqual(run("sub", a, b).tobytes(), expected.tobytes())
                out = np.zeros((*expected.shape, 2))[..., 0]
                bitfold.map("sub", a, b, out=out)
                self.assertEqual(out.tobytes(), expected.tobytes())
                turned = np.asfortranarray(np.zeros(expected.shape))
                bitfold.map("sub", a, b, out=turned)
                self.assertEqual(turned.tobytes(), expected.tobytes())

    def test_large_arrays(self):
        rng = np.random.default_rng(4)
        n = 5_000_001
        for dtype in (np.float32, np.float64):
            memory = np.zeros(n + 20, dtype)
            x, y = (rng.normal(size=n).astype(dtype) for _ in range(2))
            for start in (0, 1, 13):
                out = memory[start : start + n]
                bitfold.map("add", x, y, out=out)
                self.assertEqual(out.tobytes(), (x + y).tobytes())
            self.assertEqual(np.asarray(bitfold.map("lt", x, y)).tobytes(), (x < y).tobytes())
        whole = rng.integers(-(2**31), 2**31, n)
        self.assertEqual(
            np.asarray(bitfold.map("cast", whole, to="i32")).tobytes(),
            whole.astype(np.int32).tobytes(),
        )


class Fused(unittest.TestCase):
    """fma is a * b + c, rounded once: by fractions, of every float format."""

    def numbers(self, rng, form, n):
        fraction, exponent = FLOATS[form]
        width = 1 + fraction + exponent
        bits = rng.integers(0, 2**63, n) >> (63 - width)
        near = (rng.integers(0, 2**63, n) >> (63 - fraction)) & rng.choice([-1, 0, 1, 3], n)
        field = 2 ** (exponent - 1) - 1 + rng.integers(-12, 12, n)
        special = [0, 1, 1 << (width - 1), (2**exponent - 1) << fraction, 2**fraction]
        close = field << fraction | (near & (2**fraction - 1)) | rng.integers(0, 2, n) << (width - 1)
        pick = rng.integers(0, 8, n)
        bits = np.where(pick < 2, bits, close)
        bits = np.where(pick == 7, rng.choice(special, n), bits)
        return [int(x) & (2**width - 1) for x in bits]

    def expected(self, form, a, b, c):
        fraction, exponent = FLOATS[form]
        x, y, z = (to_fraction(form, bits) for bits in (a, b, c))
        sign = (a ^ b) >> (fraction + exponent)
        infinite = (2**exponent - 1) << fraction
        nan = infinite | 1 << (fraction - 1)
        if any(isinstance(v, float) for v in (x, y, z)):
            product = float(x if isinstance(x, float) else (x > 0) - (x < 0))
            product *= float(y if isinstance(y, float) else (y > 0) - (y < 0))
            total = product + (z if isinstance(z, float) else 0.0)
            if math.isnan(total):
                return nan
            return infinite | (total < 0) << (fraction + exponent)
        exact = x * y + z
        both = sign and c >> (fraction + exponent)
        return from_fraction(form, exact, bool(exact == 0 and x * y == 0 and z == 0 and both))

    def test_against_fractions(self):
        rng = np.random.default_rng(5)
        for form, width in (("f16", np.uint16), ("bf16", np.uint16), ("f32", np.uint32),
                            ("f64", np.uint64)):  # fmt: skip
            a, b, c = (self.numbers(rng, form, 4000) for _ in range(3))
            for i in range(0, 4000, 3):  # c near to -a * b, or far below the last bit
                x, y = to_fraction(form, a[i]), to_fraction(form, b[i])
                if not isinstance(x, float) and not isinstance(y, float):
                    c[i] = from_fraction(form, -x * y * Fraction(2) ** int(rng.choice([0, -60, 9])))
            arrays = [np.array(v, width) for v in (a, b, c)]
            if form != "bf16":
                arrays = [x.view(HELD[form]) for x in arrays]
            result = run("fma", *arrays, dtype=[form] * 3).view(width).tolist()
            for i, got in enumerate(result):
                want = self.expected(form, a[i], b[i], c[i])
                self.assertEqual(got, want, (form, hex(a[i]), hex(b[i]), hex(c[i])))

    def test_half_formats_are_rounded_once(self):
        """129/128 * 192/128 is a tie between two bf16: a third term far below decides, which
        neither f32 nor f64 would see."""
        for tiny, expected in ((2.0**-120, 0x3FC2), (0.0, 0x3FC2), (-(2.0**-120), 0x3FC1)):
            bits = [0x3F81, 0x3FC0, from_fraction("bf16", Fraction(tiny))]
            inputs = [np.array([each], np.uint16) for each in bits]
            self.assertEqual(run("fma", *inputs, dtype=["bf16"] * 3).tolist(), [expected])

    def test_bf16_arithmetic(self):
        rng = np.random.default_rng(6)
        a, b = (self.numbers(rng, "bf16", 3000) for _ in range(2))
        for op, exact in (("add", lambda x, y: x + y), ("mul", lambda x, y: x * y),
                          ("div", lambda x, y: x / y)):  # fmt: skip
            pair = [np.array(v, np.uint16) for v in (a, b)]
            result = run(op, *pair, dtype=["bf16"] * 2).tolist()
            for i, got in enumerate(result):
                x, y = to_fraction("bf16", a[i]), to_fraction("bf16", b[i])
                if isinstance(x, float) or isinstance(y, float) or x == 0 or y == 0:
                    continue
                self.assertEqual(got, from_fraction("bf16", exact(x, y)), (op, a[i], b[i]))

    def test_casts_to_half_formats_are_rounded_once(self):
        rng = np.random.default_rng(7)
        for form in ("f16", "bf16"):
            ties = [to_fraction(form, bits) for bits in self.numbers(rng, form, 2000)]
            ties = [x for x in ties if not isinstance(x, float)]
            least = Fraction(2) ** (2 - 2 ** (FLOATS[form][1] - 1) - FLOATS[form][0])
            x = np.array([float(v + least * Fraction(v != 0, 2)) for v in ties]
                         + [float(v * (1 + Fraction(1, 2**FLOATS[form][0] * 2))) for v in ties])
            x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
            got = run("cast", x, to=form).view(np.uint16).tolist()
            for value, bits in zip(x.tolist(), got):
                want = from_fraction(form, Fraction(value), math.copysign(1, value) < 0)
                self.assertEqual(bits, want, (form, value.hex()))


class Integers(unittest.TestCase):
    """Every policy, by Python's integers."""

    OPS = {
        "add": lambda a, b, c: a + b, "sub": lambda a, b, c: a - b, "mul": lambda a, b, c: a * b,
        "fma": lambda a, b, c: a * b + c, "neg": lambda a, b, c: -a, "abs": lambda a, b, c: abs(a),
    }  # fmt: skip

    def numbers(self, rng, name, n=400):
        info = np.iinfo(HELD[name])
        special = [v for v in (info.min, info.min + 1, -1, 0, 1, 2, info.max) if info.min <= v]
        pick = rng.integers(0, 2 * len(special), n)
        x = [special[p] if p < len(special) else int(v) for p, v in zip(pick, values(rng, name, n))]
        return [v >> int(rng.integers(0, info.bits)) if rng.random() < 0.5 else v for v in x]

    def test_policies(self):
        rng = np.random.default_rng(8)
        for name in INTS:
            info = np.iinfo(HELD[name])
            for op, exact in self.OPS.items():
                columns = [self.numbers(rng, name) for _ in range(3)]
                inputs = [np.array(x, HELD[name]) for x in columns[: 3 if op == "fma" else 2]]
                inputs = inputs[:1] if op in ("neg", "abs") else inputs
                want = [exact(*row) for row in zip(*columns)]
                wrapped = [(v - info.min) % 2**info.bits + info.min for v in want]
                near = [min(max(v, info.min), info.max) for v in want]
                self.assertEqual(run(op, *inputs, overflow="wrap").tolist(), wrapped, (op, name))
                self.assertEqual(run(op, *inputs, overflow="saturate").tolist(), near, (op, name))
                self.check_error(op, name, inputs, [v == w for v, w in zip(want, near)], near)

    def check_error(self, op, name, inputs, fits, expected):
        if all(fits):
            self.assertEqual(run(op, *inputs).tolist(), expected)
            return
        place = fits.index(False)
        for context in CONTEXTS:
            message = f"the result at index {place} does not fit {name}$"
            with self.assertRaisesRegex(bitfold.RangeError, message):
                bitfold.map(op, *inputs, context=context)
        self.assertEqual(run(op, *(x[:place] for x in inputs)).tolist(), expected[:place])

    def test_the_first_failure_is_found_among_many_threads(self):
        x = np.zeros(3_000_000, np.int16)
        x[1_234_567:] = 32767
        for context in CONTEXTS:
            with self.assertRaisesRegex(bitfold.RangeError, "index 1234567 "):
                bitfold.map("add", x, 1, context=context)

    def test_the_index_is_that_of_c_order(self):
        x = np.asfortranarray(np.zeros((30, 40), np.int8))
        x[2, 1] = x[1, 30] = 127
        with self.assertRaisesRegex(bitfold.RangeError, "index 70 "):
            bitfold.map("add", x, 1)

    def test_casts_of_floats(self):
        x = np.array([1.9, -1.9, 127.99, -128.99, 128, -129, np.inf, -np.inf, np.nan, 1e30])
        self.assertEqual(run("cast", x[:4], to="i8").tolist(), [1, -1, 127, -128])
        near = [1, -1, 127, -128, 127, -128, 127, -128, 0, 127]
        self.assertEqual(run("cast", x, to="i8", overflow="saturate").tolist(), near)
        for dtype in (np.float16, np.float32, np.float64):
            for value in (128, -129, np.inf, np.nan):
                with self.assertRaisesRegex(bitfold.RangeError, "the value at index 1 does not fit i8"):
                    bitfold.map("cast", np.array([0, value], dtype), to="i8")
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.map("cast", x, to="i8", overflow="wrap")
        big = np.array([2.0**63, -(2.0**63), 2.0**64, np.nextafter(2.0**64, 0), -0.99])
        self.assertEqual(
            run("cast", big, to="i64", overflow="saturate").tolist(),
            [2**63 - 1, -(2**63), 2**63 - 1, 2**63 - 1, 0],
        )
        self.assertEqual(
            run("cast", big, to="u64", overflow="saturate").tolist(),
            [2**63, 0, 2**64 - 1, 2**64 - 2048, 0],
        )

    def test_division_by_zero(self):
        x = np.array([1, 2, 3], np.int32)
        for y in (np.array([1, 0, 0], np.int32), np.array([True, False, True])):
            with self.assertRaisesRegex(bitfold.ArgumentError, "division by zero at index 1$"):
                bitfold.map("div", x, y)
        with self.assertRaisesRegex(bitfold.ArgumentError, "division by zero at index 0$"):
            bitfold.map("div", x, 0)
        self.assertEqual(run("div", x, 0.0).tolist(), [math.inf] * 3)
        self.assertEqual(run("div", x, 2).tolist(), [0.5, 1.0, 1.5])


class Memory(unittest.TestCase):
    def test_in_place(self):
        for n in (5, 1000, 3_000_000):
            for context in CONTEXTS:
                x = np.arange(n, dtype=np.float64)
                bitfold.map("add", x, x, out=x, context=context)
                self.assertTrue((x == 2 * np.arange(n)).all())
                y = np.arange(n, dtype=np.int32)
                bitfold.map("sub", 7, y, out=y, context=context)
                self.assertTrue((y == 7 - np.arange(n)).all())

    def test_in_place_with_strides(self):
        x = np.arange(60.0).reshape(6, 10)
        view = x[::2, ::-3]
        bitfold.map("mul", view, 2, out=view)
        expected = np.arange(60.0).reshape(6, 10)
        expected[::2, ::-3] *= 2
        self.assertTrue((x == expected).all())

    def test_other_overlap_is_refused(self):
        x = np.zeros(100)
        for a, out in ((x[:50], x[1:51]), (x[:50], x[::2]), (x[::-1], x), (x[50:], x[49:99])):
            with self.assertRaisesRegex(bitfold.ArgumentError, "overlap"):
                bitfold.map("neg", a, out=out)
        with self.assertRaisesRegex(bitfold.ArgumentError, "overlap"):
            bitfold.map("cast", x.view(np.int64)[:50], out=x.view(np.int32)[:50])
        bitfold.map("neg", x[:50], out=x[50:])
        same = np.lib.stride_tricks.as_strided(x, (4, 4), (8, 8), writeable=True)
        with self.assertRaisesRegex(bitfold.ArgumentError, "overlap each other"):
            bitfold.map("neg", np.zeros((4, 4)), out=same)

    def test_the_output_must_fit(self):
        x = np.zeros(4, np.float32)
        with self.assertRaisesRegex(bitfold.DtypeError, "the result is f32, the output f64"):
            bitfold.map("neg", x, out=np.zeros(4))
        with self.assertRaises(bitfold.ShapeError):
            bitfold.map("neg", x, out=np.zeros(5, np.float32))
        with self.assertRaisesRegex(bitfold.ArgumentError, "read-only"):
            bitfold.map("neg", x.view(np.uint8), out=bytes(16))

    def test_empty(self):
        self.assertEqual(run("add", np.zeros((3, 0)), np.zeros((3, 1))).shape, (3, 0))

    def test_bools_are_any_byte(self):
        x = np.array([0, 1, 2, 255], np.uint8)
        for op, expected in (("add", [0, 1, 1, 1]), ("mul", [0, 1, 1, 1]), ("abs", [0, 1, 1, 1])):
            inputs = [x] * (1 if op == "abs" else 2)
            self.assertEqual(run(op, *inputs, dtype=["bool"] * len(inputs)).tolist(),
                             [bool(v) for v in expected])  # fmt: skip
        self.assertEqual(run("cast", x, to="i32", dtype="bool").tolist(), [0, 1, 1, 1])
        self.assertEqual(run("eq", x, x[::-1], dtype=["bool"] * 2).tolist(),
                         [False, True, True, False])  # fmt: skip
