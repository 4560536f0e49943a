"""The functions of JAX (bitfold.jax), where it is installed: values, gradients, batches, errors."""

import itertools
import os
import threading
import unittest
from fractions import Fraction

# Two devices of the CPU; and of a GPU no more memory than is needed.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
try:
    import jax
except ImportError:
    raise unittest.SkipTest("JAX is not installed") from None
import bitfold.jax

if bitfold._library.native is None:
    raise unittest.SkipTest("what of the module is written in C was not built")

import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads

import bitfold
import generate
from oracle import FLOATS, INTS, as_f64, round_to


def devices():
    try:
        return [jax.devices("cpu")[0], jax.devices("cuda")[0]]
    except RuntimeError:
        return jax.devices("cpu")[:1]


DEVICES = devices()
HAS_GPU = len(DEVICES) > 1
LONG = {"bool": "bool", "bf16": "bfloat16", **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
        **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)}, **{f"f{n}": f"float{n}" for n in (16, 32, 64)}}  # fmt: skip
INDEX = np.array([3, 0, 3, 3, 1, 0, 3, 3, 1, 1, 0, 0])
KINDS = [generate.cancelling, generate.spread, generate.subnormal, generate.ties]


def held(x, name):
    """An array of the generator as JAX has it."""
    return x.view(jnp.bfloat16) if name == "bf16" else x.astype(bool) if name == "bool" else x


def fractions(x):
    """The elements, as exact numbers."""
    with np.errstate(invalid="ignore"):
        return np.vectorize(Fraction, otypes=[object])(np.asarray(x, np.float64 if x.dtype.kind in "Vf" else object))


def rounded(sums, dtype):
    """Exact sums, each rounded once."""
    form = {"float32": "f32", "float64": "f64"}[np.dtype(dtype).name]
    return np.vectorize(lambda q: round_to(Fraction(q), form), otypes=[np.float64])(sums).astype(dtype)


def with_x64(on):
    """The test is run with jax_enable_x64 as it says."""

    def decorate(test):
        def run(self):
            before = jax.config.jax_enable_x64
            jax.config.update("jax_enable_x64", on)
            try:
                test(self)
            finally:
                jax.config.update("jax_enable_x64", before)

        return run

    return decorate


class Jax(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1)

    def some(self, name, shape, device=None):
        kinds = KINDS if name in FLOATS else [generate.ints_small]
        n = int(np.prod(shape))
        parts = [kind(self.rng, name, n // len(kinds) + 1) for kind in kinds]
        x = held(self.rng.permutation(np.concatenate(parts))[:n], name)
        x[x == 0] = 0  # the sum of nothing but -0 is -0, which fractions do not have
        return jax.device_put(x.reshape(shape), device or DEVICES[0])

    def equal(self, found, expected):
        """Both have one shape, one dtype and the same bits."""
        found, expected = np.asarray(found), np.asarray(expected)
        self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
        self.assertEqual(found.tobytes(), expected.tobytes(), (found, expected))

    def both(self, function, *arrays):
        """The result of a function, which is the same when it is compiled."""
        found = function(*arrays)
        self.equal(jax.jit(function)(*arrays), found)
        return found

    # ---- values ---------------------------------------------------------------------------------

    def check_sums(self, names, dtypes):
        for device, name, dtype in itertools.product(DEVICES, names, dtypes):
            x = self.some(name, (5, 8, 3), device)
            y = self.some(name, (5, 8, 3), device)
            exact, products = fractions(np.asarray(x)), fractions(np.asarray(x)) * fractions(np.asarray(y))
            expected_dtype = dtype or ("float64" if name == "f64" else "float32")
            axes = (None, 0, -1, (0, 2), (1, 0, 2), ()) if dtype is None else (None, 1)
            for axis, keepdims in itertools.product(axes, (False, True)):
                options = {"axis": axis, "keepdims": keepdims, "dtype": dtype}
                total = self.both(lambda x: bitfold.jax.sum(x, **options), x)
                self.assertEqual(total.devices(), {device})
                self.equal(total, rounded(exact.sum(axis=axis, keepdims=keepdims), expected_dtype))
                dot = self.both(lambda x, y: bitfold.jax.dot(x, y, **options), x, y)
                expected = rounded(products.sum(axis=axis, keepdims=keepdims), expected_dtype)
                self.equal(np.asarray(dot) + 0, expected + 0)  # products of -0 alone are -0

    @with_x64(False)
    def test_sums_of_floats_are_exact(self):
        self.check_sums(FLOATS[:3], [None])

    @with_x64(True)
    def test_sums_of_floats_are_exact_with_64_bits(self):
        self.check_sums(["f64"], [None, "float32"])
        self.check_sums(["bf16", "f32"], [np.float64])

    def check_integers(self, most):
        for device, name in itertools.product(DEVICES, INTS):
            if name[1:] == "64" and most == 32:
                continue
            x = self.some(name, (12, 4), device)
            exact = np.asarray(x).astype(object)
            dtype = np.dtype(("uint" if name[0] == "u" else "int") + str(most))
            self.equal(self.both(bitfold.jax.sum, x), dtype.type(exact.sum()))
            self.equal(self.both(lambda x: bitfold.jax.sum(x, 0), x), exact.sum(axis=0).astype(dtype))
            self.equal(self.both(lambda x: bitfold.jax.dot(x, x, 1), x), (exact * exact).sum(axis=1).astype(dtype))
            by_index = np.zeros((5, 4), object)
            np.add.at(by_index, INDEX, exact)
            self.equal(self.both(lambda x: bitfold.jax.index_add(5, INDEX, x), x), by_index.astype(dtype))
            self.equal(self.both(lambda x: bitfold.jax.segment_sum(x, INDEX, 2), x), by_index[:2].astype(dtype))
            wide = jnp.full((3, 2), jnp.iinfo(dtype).max, dtype, device=device)
            for function in (
                bitfold.jax.sum, lambda x: bitfold.jax.dot(x, x, 0),
                lambda x: bitfold.jax.segment_sum(x, jnp.array([0, 1, 1]), 2),
            ):  # fmt: skip
                for call in (function, jax.jit(function)):
                    with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "bitfold.jax.*does not fit"):
                        call(wide).block_until_ready()

    @with_x64(False)
    def test_sums_of_integers_have_jax_s_32_bits(self):
        self.check_integers(32)

    @with_x64(True)
    def test_sums_of_integers_have_jax_s_64_bits(self):
        self.check_integers(64)

    @with_x64(True)
    def test_sums_by_index_are_exact(self):
        for device, name, width in itertools.product(DEVICES, FLOATS, ((), (2, 3))):
            x = self.some(name, (len(INDEX), *width), device)
            dtype = "float64" if name == "f64" else "float32"
            exact = np.zeros((5, *width), object)
            np.add.at(exact, INDEX, fractions(np.asarray(x)))
            expected = rounded(exact, dtype)
            for kind in (np.uint8, np.uint32, np.int64, np.uint64, np.int32) if name == "f16" else (np.int32,):
                index = jnp.array(INDEX, kind, device=device)
                self.equal(self.both(lambda i, x: bitfold.jax.index_add(5, i, x), index, x), expected)
                self.equal(self.both(lambda i, x: bitfold.jax.segment_sum(x, i, 5), index, x), expected)
            self.equal(bitfold.jax.index_add(0, index[:0], x[:0]), np.zeros((0, *width), dtype))

    def test_rows_of_no_segment_are_left_out(self):
        for device in DEVICES:
            x = jnp.array([1, 2, 4, 8, 16.0], device=device)
            for ids in ([0, -1, 2, 1, 0], [0, -(2**31), 2**31 - 1, 1, 0]):
                ids = jnp.array(ids, device=device)
                self.equal(self.both(lambda i, x: bitfold.jax.segment_sum(x, i, 2), ids, x), np.array([17, 8], "f4"))
            self.equal(bitfold.jax.segment_sum(x, jnp.full(5, -1, device=device), 0), np.zeros(0, "f4"))

    @with_x64(True)
    def test_sorts(self):
        for device, name in itertools.product(DEVICES, FLOATS + INTS):
            x = self.some(name, (6, 11, 2), device)
            order = as_f64(np.asarray(x).view(np.uint16), name) if name == "bf16" else np.asarray(x)
            for axis, descending in itertools.product((0, 1, -1), (False, True)):
                index = np.argsort(order, axis=axis, kind="stable")
                expected = np.take_along_axis(np.asarray(x), np.flip(index, axis) if descending else index, axis)
                found = self.both(lambda x: bitfold.jax.sort(x, axis, descending=descending), x)
                self.equal(np.asarray(found) + 0, expected + 0)  # -0 may be anywhere among zeros
        x = jnp.array([jnp.nan, 1, 0.0, -0.0, -jnp.inf])
        self.equal(bitfold.jax.sort(x), jnp.array([-jnp.inf, -0.0, 0.0, 1, jnp.nan]))

    def test_special_values(self):
        for device in DEVICES:
            x = jnp.array([[jnp.inf, 1], [-0.0, -0.0], [jnp.nan, 1], [jnp.inf, -jnp.inf]], device=device)
            self.equal(bitfold.jax.sum(x, 1)[:2], np.array([np.inf, -0.0], "f4"))
            self.assertTrue(np.isnan(bitfold.jax.sum(x, 1)[2:]).all())
            self.equal(bitfold.jax.sum(jnp.zeros((0, 2), device=device), 0), np.zeros(2, "f4"))
            self.equal(bitfold.jax.sort(x[:0]), x[:0])
        self.equal(bitfold.jax.sum([1e8, 1, -1e8]), np.float32(1))
        self.equal(bitfold.jax.sum(2.5), np.float32(2.5))
        self.equal(bitfold.jax.sum(np.array([0.5, np.nan])), np.float32(np.nan))  # no value changes in 32 bits
        self.equal(bitfold.jax.sum(np.arange(3)), np.int32(3))

    def test_more_dimensions_than_bitfold_has(self):
        x = jnp.arange(2.0**10).reshape([2] * 10)
        self.equal(self.both(lambda x: bitfold.jax.sum(x, (1, 2, 3, 7)), x), np.asarray(x).sum((1, 2, 3, 7)))
        self.equal(bitfold.jax.sort(x, 4, descending=True), np.flip(np.asarray(x), 4))

    # ---- gradients and batches ------------------------------------------------------------------

    FUNCTIONS = [
        lambda x: bitfold.jax.sum(x), lambda x: bitfold.jax.sum(x, 0), lambda x: bitfold.jax.sum(x, -1, True),
        lambda x: bitfold.jax.dot(x, x[::-1]), lambda x: bitfold.jax.dot(x, jnp.sin(x), 1),
        lambda x: bitfold.jax.index_add(4, INDEX, x), lambda x: bitfold.jax.segment_sum(x, INDEX - 1, 2),
        lambda x: bitfold.jax.sort(x, 0), lambda x: bitfold.jax.sort(x, descending=True),
    ]  # fmt: skip

    @with_x64(True)
    def test_gradients(self):
        for device, function in itertools.product(DEVICES, self.FUNCTIONS):
            x = jax.device_put(self.rng.permutation(36).reshape(12, 3) / 7, device)
            check_grads(jax.jit(lambda x: jnp.tanh(function(x / 5))), (x,), 2, ["rev"])
            check_grads(jax.jit(jax.vmap(function)), (jnp.stack([x, x[::-1] + 1]),), 1, ["rev"])

    def test_gradients_have_the_dtype_of_what_they_are_of(self):
        for dtype in (jnp.bfloat16, jnp.float32):
            x = jnp.ones((12, 3), dtype)
            for function in self.FUNCTIONS:
                grad = jax.grad(lambda x: function(x).sum().astype(jnp.float32))(x)
                self.assertEqual((grad.shape, grad.dtype), (x.shape, x.dtype))
        index, x = jnp.array([0, 1, 0]), jnp.array([1.0, 2, 4])
        by_index = jax.grad(lambda x, i: bitfold.jax.index_add(2, i, x)[0] + bitfold.jax.sum(i))
        self.equal(by_index(x, index), np.array([1, 0, 1], "f4"))

    def test_the_sums_of_gradients_are_exact(self):
        x, weights = jnp.zeros((3, 2)), jnp.array([[1e8, 2], [1, 3], [-1e8, 4]])
        for function, expected in (
            (lambda x: bitfold.jax.sum(x, 0), [1, 9]),
            (lambda x: bitfold.jax.index_add(1, jnp.zeros(3, "i4"), x), [[1, 9]]),
            (lambda x: bitfold.jax.segment_sum(x, jnp.zeros(3, "i4"), 1), [[1, 9]]),
        ):
            sums, back = jax.vjp(function, x)
            found = jax.grad(lambda grad: (back(grad)[0] * weights).sum())(jnp.ones_like(sums))
            self.equal(found, np.array(expected, "f4"))

    def test_batches(self):
        for device, function in itertools.product(DEVICES, self.FUNCTIONS):
            x = self.some("f32", (2, 4, 12, 3), device)
            expected = jnp.stack([function(each) for each in x[0]])
            self.equal(jax.vmap(function)(x[0]), expected)
            self.equal(jax.jit(jax.vmap(function, 1))(x[0].swapaxes(0, 1)), expected)
            self.equal(jax.vmap(jax.vmap(function))(x)[0], expected)
        x, index = self.some("f32", (4, 12, 3)), self.rng.integers(0, 5, (4, 12))
        for function in (
            lambda i, x: bitfold.jax.index_add(5, i, x), lambda i, x: bitfold.jax.segment_sum(x, i, 3),
            lambda i, x: bitfold.jax.dot(x, jnp.broadcast_to(i[:, None], x.shape).astype(x.dtype), 0),
        ):  # fmt: skip
            expected = jnp.stack([function(i, each) for i, each in zip(index, x)])
            self.equal(jax.vmap(function)(index, x), expected)
            self.equal(jax.vmap(function, (0, None))(index, x[0])[0], expected[0])
            self.equal(jax.vmap(function, (None, 0))(index[0], x)[0], expected[0])
        wide = jax.vmap(lambda x: bitfold.jax.sum(x, 0))(jnp.arange(24).reshape(4, 3, 2))
        self.equal(wide, np.arange(24, dtype="i4").reshape(4, 3, 2).sum(1, dtype="i4"))

    # ---- how they run ---------------------------------------------------------------------------

    def test_loops_and_branches_of_compiled_programs(self):
        for device in DEVICES:
            x = self.some("f32", (8, 12), device)

            def step(total, row):
                taken = jax.lax.cond(row[0] > 0, bitfold.jax.sum, lambda row: row[0], row)
                return bitfold.jax.sum(jnp.stack([total, taken])), bitfold.jax.sort(row)

            total, rows = jax.jit(lambda x: jax.lax.scan(step, jnp.float32(0), x))(x)
            expected = jnp.float32(0)
            for row in x:
                expected, _ = step(expected, row)
            self.equal(total, expected)
            self.equal(rows, bitfold.jax.sort(x))

    def test_threads_and_devices_give_the_same_bits(self):
        x = self.some("f32", (4, 20000))
        expected, index = np.asarray(bitfold.jax.sum(x, 1)), np.arange(20000) % 7
        by_index = np.asarray(bitfold.jax.index_add(7, index, x[0]))
        function = jax.jit(lambda x: (bitfold.jax.sum(x, 1), bitfold.jax.index_add(7, index, x[0])))
        found = [None] * 8

        def work(i):
            device = [*jax.devices("cpu"), *DEVICES[1:]][i % (2 + HAS_GPU)]
            found[i] = [jax.device_get(function(jax.device_put(x, device))) for _ in range(20)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for results in found:
            for sums, slots in results:
                self.equal(sums, expected)
                self.equal(slots, by_index)

    def test_arrays_over_several_devices(self):
        mesh, spec = jax.sharding.Mesh(np.array(jax.devices("cpu")), ("d",)), jax.sharding.PartitionSpec
        x, y = jnp.array(self.rng.normal(size=(8, 6)), "f4"), jnp.array(self.rng.normal(size=(4, 6)), "f4")
        x = jax.device_put(x, jax.sharding.NamedSharding(mesh, spec("d")))
        y = jax.device_put(y, jax.sharding.NamedSharding(mesh, spec()))
        for function in (lambda x: bitfold.jax.sum(x, 0), bitfold.jax.sum, lambda x: bitfold.jax.sort(x, 0)):
            self.equal(self.both(function, x), function(np.asarray(x)))
        index = jnp.array([1, 0, 1, 1])
        for function in (
            lambda x, y: bitfold.jax.sum(x * y, 1), lambda x, y: bitfold.jax.dot(y, x, 1),
            lambda x, y: bitfold.jax.index_add(2, index, bitfold.jax.sort(x + y)),
            lambda x, y: bitfold.jax.segment_sum(y, (x[:, 0] > 0).astype("i4"), 2),
        ):  # fmt: skip
            mapped = jax.shard_map(function, mesh=mesh, in_specs=(spec("d"), spec()), out_specs=spec("d"))
            found = jax.jit(jax.grad(lambda x, y: (mapped(x, y) ** 2).sum(), (0, 1)))(x, y)
            of_half = jax.jit(jax.grad(lambda x, y: (function(x, y) ** 2).sum(), (0, 1)))
            halves = [of_half(half, np.asarray(y)) for half in np.split(np.asarray(x), 2)]
            self.assertTrue(np.allclose(found[0], np.concatenate([half[0] for half in halves]), atol=1e-5))
            self.assertTrue(np.allclose(found[1], halves[0][1] + halves[1][1], atol=1e-5))

    @unittest.skipUnless(HAS_GPU, "no GPU")
    def test_they_follow_the_stream(self):
        n = 1 << 22
        index = jnp.arange(n, device=DEVICES[1]) % 7

        @jax.jit
        def work(x, i):
            x = jax.lax.fori_loop(0, 20, lambda _, x: x + 1, x) - 20 + i  # work before
            sums = bitfold.jax.sum(x), bitfold.jax.dot(x, x), bitfold.jax.sum(x.reshape(4, -1), 1)
            return *(each + 0 for each in sums), bitfold.jax.segment_sum(x, index, 7) + 0, bitfold.jax.sort(x)[-1]

        for dtype in (jnp.float32, jnp.bfloat16, jnp.int32):
            results = [work(jnp.zeros(n, dtype, device=DEVICES[1]), i) for i in range(5)]
            for i, (total, dot, parts, by_index, last) in enumerate(results):
                self.assertEqual((total, dot, last), (i * n, i * i * n, i))
                self.equal(parts.astype("f4"), np.full(4, i * n / 4, "f4"))
                self.equal(by_index.astype("i4"), (jnp.bincount(index, length=7) * i).astype("i4"))

    # ---- errors ---------------------------------------------------------------------------------

    @with_x64(False)
    def test_errors_of_calls_are_those_of_bitfold(self):
        x, index = jnp.ones((4, 3)), jnp.array([0, 1, 0, 1])
        for error, function in (
            (bitfold.ArgumentError, lambda: bitfold.jax.sum(x, 2)),
            (bitfold.ArgumentError, lambda: bitfold.jax.sum(x, (0, -2))),
            (bitfold.ArgumentError, lambda: bitfold.jax.sum(index, dtype="f32")),
            (bitfold.ArgumentError, lambda: bitfold.jax.index_add(-1, index, x)),
            (bitfold.ArgumentError, lambda: bitfold.jax.segment_sum(x, index, 2**31)),
            (bitfold.ArgumentError, lambda: bitfold.jax.sort(x, 2)),
            (bitfold.DtypeError, lambda: bitfold.jax.sum(x, dtype="f64")),
            (bitfold.DtypeError, lambda: bitfold.jax.sum(x, dtype="f16")),
            (bitfold.DtypeError, lambda: bitfold.jax.sum(x, dtype="i32")),
            (bitfold.DtypeError, lambda: bitfold.jax.sum(x.astype(jnp.complex64))),
            (bitfold.DtypeError, lambda: bitfold.jax.sum(x.astype(jnp.float8_e5m2))),
            (bitfold.DtypeError, lambda: bitfold.jax.sum(np.full(3, 0.1))),
            (bitfold.DtypeError, lambda: bitfold.jax.sum(np.full(3, 2**40))),
            (bitfold.DtypeError, lambda: bitfold.jax.sum(jax.random.key(0))),
            (bitfold.DtypeError, lambda: bitfold.jax.dot(x, x.astype(jnp.int32))),
            (bitfold.DtypeError, lambda: bitfold.jax.index_add(2, index * 1.0, x)),
            (bitfold.DtypeError, lambda: bitfold.jax.segment_sum(x, index > 0, 2)),
            (bitfold.ShapeError, lambda: bitfold.jax.dot(x, x[0])),
            (bitfold.ShapeError, lambda: bitfold.jax.index_add(2, index[1:], x)),
            (bitfold.ShapeError, lambda: bitfold.jax.segment_sum(x, jnp.ones((4, 3), "i4"), 2)),
            (bitfold.ShapeError, lambda: bitfold.jax.index_add(2, 0, 1.0)),
            (bitfold.ShapeError, lambda: bitfold.jax.sort(1.0)),
            (TypeError, lambda: bitfold.jax.index_add(2.0, index, x)),
            (TypeError, lambda: bitfold.jax.sum("x")),
            (TypeError, lambda: jax.jit(lambda m: bitfold.jax.index_add(m, index, x))(2)),
        ):
            with self.assertRaises(error):
                function()

    def test_a_wrong_index_is_an_error(self):
        for device in DEVICES:
            index, x = jnp.array([0, 5, -1], device=device), jnp.ones(3, device=device)
            for function in (bitfold.jax.index_add, jax.jit(bitfold.jax.index_add, static_argnums=0)):
                with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "index_add: index 1 is 5, outside 0 to 4"):
                    function(5, index, x).block_until_ready()
                self.equal(function(6, jnp.abs(index), x), np.array([1, 1, 0, 0, 0, 1], "f4"))

    def test_targets_refuse_what_bitfold_jax_does_not_call(self):
        x, i = np.ones((2, 3), "f4"), np.zeros(2, "i4")
        two, axes = jax.ShapeDtypeStruct((2,), np.float32), np.array([-1])
        like = jax.ShapeDtypeStruct((2, 3), np.float32)
        for name, results, arrays, numbers, reason in (
            ("sum", two, (x,), {}, "no axes"),
            ("sum", two, (x,), {"axes": axes.astype("i4")}, "no axes"),
            ("sum", two, (x,), {"axes": np.int64(-1)}, "no axes"),
            ("sum", two, (x, x), {"axes": axes}, "other arguments"),
            ("sum", two, (x.astype("c8"),), {"axes": axes}, "other arguments"),
            ("sum", like, (x,), {"axes": axes}, "another shape"),
            ("sum", two, (i,), {"axes": axes}, "dtype"),
            ("sum", jax.ShapeDtypeStruct((), np.int32), (i,), {"axes": axes}, "second result"),
            ("sum", two, (np.ones((2,) * 9, "f4"),), {"axes": np.array([-1, -3, -5, -7, -9])}, "alternate"),
            ("dot", two, (x, x[:, :2]), {"axes": axes}, "different shapes"),
            ("index_add", two, (i, x), {}, "one index"),
            ("index_add", like, (i[:1], x), {}, "one index"),
            ("segment_sum", two, (np.int32(0), x), {}, "one index"),
            ("sort", like, (x,), {"axis": np.int64(-3), "descending": np.int64(0)}, "no axis"),
            ("sort", like, (x,), {"axis": np.int64(-1)}, "no axis"),
            ("sort", two, (x,), {"axis": np.int64(-1), "descending": np.int64(0)}, "another shape"),
        ):  # fmt: skip
            arrays = jax.device_put(arrays, DEVICES[0])
            with self.assertRaisesRegex(Exception, f"bitfold.jax.{name}: .*{reason}"):
                jax.block_until_ready(jax.ffi.ffi_call(f"bitfold_{name}", results)(*arrays, **numbers))
