"""The reductions of bitfold.torch beside fractions: values, gradients, batches, torch.compile, out=."""

import itertools
import unittest
from fractions import Fraction

try:
    import torch

    import bitfold.torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

import bitfold
from oracle import root_to, round_to

ops = torch.ops.bitfold
DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
F64, F32, F16, BF16 = torch.float64, torch.float32, torch.float16, torch.bfloat16
FORMATS = {F64: "f64", F32: "f32", F16: "f16", BF16: "bf16"}
PAIRS = ["dot", "average", "covariance", "correlation"]
OF_SUMS = ["sum", "mean", "var", "std", "norm", "skew", "kurtosis", *PAIRS]
WITHOUT_HALVES = ["correlation", "skew", "kurtosis"]
ALL = [*OF_SUMS, "min", "max"]


def awkward(shape, dtype, seed):
    """Numbers of few digits and many exponents; of an even seed few numbers, whose sums are often between
    two halves, or a little beside that."""
    generator = torch.Generator().manual_seed(seed)
    digits = torch.randint(-9, 10, shape, generator=generator).double()
    exponents = torch.randint(-12, 1, shape, generator=generator)
    few = torch.tensor([1, 1, 1, 2.0**-11, 2.0**-8, 2.0**-10, 2.0**-24, -(2.0**-24), 0]).double()
    chosen = few[torch.randint(len(few), shape, generator=generator)]
    return (torch.ldexp(digits, exponents) if seed % 2 else chosen).to(dtype)


def exact(op, lines, dtype, correction=1):
    """The value of a reduction of lists of numbers, rounded once. correction: of skew and kurtosis 1 without bias."""
    form = FORMATS[dtype]
    x, *y = [[Fraction(each) for each in line] for line in lines]
    n = len(x)
    if op in ("min", "max"):
        return {"min": min, "max": max}[op](lines[0])
    if op == "sum":
        return round_to(total(x), form)
    if op == "norm":
        return root_to(total(a * a for a in x), form)
    if op == "dot":
        return round_to(total(a * b for a, b in zip(x, *y)), form)
    if op == "average":
        weights = y[0]
        least = 0 if sum(weights) else n
    else:
        weights = [1] * n
        least = correction if op in ("var", "std", "covariance") else 0
    if n <= least:
        return float("nan")
    mean = total(a * b for a, b in zip(x, weights)) / sum(weights)
    if op in ("mean", "average"):
        return round_to(mean, form)
    if op in ("skew", "kurtosis"):
        return shape(op, [a - mean for a in x], form, correction == 0)
    if op in ("covariance", "correlation"):
        return joint(op, [a - mean for a in x], [b - total(y[0]) / n for b in y[0]], form, correction)
    var = total((a - mean) ** 2 for a in x) / (n - correction)
    return root_to(var, form) if op == "std" else round_to(var, form)


def total(numbers):
    return sum(numbers, Fraction(0))


def signed_root(square, sign, form):
    return -root_to(square, form) if sign < 0 else root_to(square, form)


def joint(op, x, y, form, correction):
    product = total(a * b for a, b in zip(x, y))
    if op == "covariance":
        return round_to(product / (len(x) - correction), form)
    divisor = total(a * a for a in x) * total(b * b for b in y)
    return signed_root(product**2 / divisor, product, form) if divisor else float("nan")


def shape(op, apart, form, bias):
    """The skewness or kurtosis of what is apart from its mean."""
    n = len(apart)
    second, third, fourth = (total(a**k for a in apart) / n for k in (2, 3, 4))
    if second == 0 or (not bias and n < (3 if op == "skew" else 4)):
        return float("nan")
    if op == "skew":
        factor = 1 if bias else Fraction(n * (n - 1), (n - 2) ** 2)
        return signed_root(third**2 / second**3 * factor, third, form)
    excess = fourth / second**2 - 3
    return round_to(excess if bias else ((n + 1) * excess + 6) * (n - 1) / ((n - 2) * (n - 3)), form)


def name_by_index(op):
    return "index_add" if op == "sum" else f"index_{op}"


class Torch(unittest.TestCase):
    def equal(self, found, expected):
        self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
        self.assertTrue(torch.equal(found.nan_to_num(12345), expected.nan_to_num(12345)), (found, expected))


class Values(Torch):
    def check(self, op, found, dtype, lines, correction):
        expected = [exact(op, line, dtype, correction) for line in lines]
        made = torch.tensor(expected, dtype=F64).to(dtype).reshape(found.shape)
        self.equal(found.cpu(), made)

    def cases(self):
        """Arrays of each dtype, and the dtype to which results are rounded."""
        for dtype, out in (
            (F64, F64), (F64, F32), (F32, F32), (F32, F64), (F16, F16), (F16, F32), (BF16, BF16),
            (BF16, F64),
        ):  # fmt: skip
            for device, seed in itertools.product(DEVICES, range(4)):
                x, y = (awkward((4, 6, 3), dtype, seed + k).to(device) for k in (0, 10))
                yield x, y, out

    def options(self, op, out):
        """The options of calls, each with its correction."""
        if op in ("min", "max"):
            return [({}, 1)]
        if op in WITHOUT_HALVES and out not in (F64, F32):
            return []
        if op in ("var", "std", "covariance"):
            return [({"dtype": out, "correction": c}, c) for c in (0, 1)]
        if op in ("skew", "kurtosis"):
            return [({"dtype": out, "bias": bias}, int(not bias)) for bias in (True, False)]
        return [({"dtype": out}, 1)]

    def test_along_dimensions(self):
        for (x, y, out), op in itertools.product(self.cases(), ALL):
            for dim, keepdim in itertools.product((None, [0], [-2], [2, 0]), (False, True)):
                arrays = [x, y] if op in PAIRS else [x]
                dims = sorted(range(3) if dim is None else (d % 3 for d in dim))
                rest = [d for d in range(3) if d not in dims]
                lines = [a.permute(*rest, *dims).flatten(len(rest)) for a in arrays] if rest else [
                    a.flatten() for a in arrays
                ]
                lines = list(zip(*(a.reshape(-1, a.shape[-1]).tolist() for a in lines)))
                for options, correction in self.options(op, out):
                    with self.subTest(op=op, dtype=x.dtype, out=out, dim=dim):
                        found = getattr(ops, op)(*arrays, dim, keepdim, **options)
                        shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d in rest]
                        self.assertEqual(list(found.shape), shape)
                        of = x.dtype if op in ("min", "max") else out
                        self.check(op, found, of, lines, correction)

    def test_by_index_and_by_segments(self):
        index, offsets = torch.tensor([2, 0, 2, 2, 0, 4, 2, 0, 4, 4]), torch.tensor([1, 4, 4, 8, 9])
        for dtype, out in ((F64, F64), (F32, F32), (F16, F16), (BF16, BF16), (BF16, F32)):
            for device, op, seed in itertools.product(DEVICES, ALL, range(3)):
                x, y = (awkward((10, 2), dtype, seed + k).to(device) for k in (0, 10))
                arrays = [x, y] if op in PAIRS else [x]
                extreme = op in ("min", "max")
                for options, correction in self.options(op, out):
                    options = {"empty": 0.0} if extreme else options
                    of = dtype if extreme else out
                    with self.subTest(op=op, dtype=dtype, out=out):
                        found = getattr(ops, name_by_index(op))(5, index.to(device), *arrays, **options)
                        rows = [torch.nonzero(index == slot).flatten() for slot in range(5)]
                        self.rows(op, found, of, arrays, rows, correction)
                        found = getattr(ops, f"segment_{op}")(*arrays, offsets.to(device), **options)
                        rows = [torch.arange(a, b) for a, b in zip(offsets[:-1], offsets[1:])]
                        self.rows(op, found, of, arrays, rows, correction)

    def rows(self, op, found, dtype, arrays, rows, correction):
        lines = [
            [a.cpu()[of, column].tolist() for a in arrays] for of in rows for column in range(2)
        ]
        if op in ("min", "max"):
            lines = [line if line[0] else [[0.0]] for line in lines]
        self.check(op, found, dtype, lines, correction)

    def test_a_half_is_rounded_once(self):
        for dtype, tie in ((F16, 2.0**-11), (BF16, 2.0**-8)):
            for device, least, sign in itertools.product(DEVICES, (2.0**-24, 2.0**-20), (-1, 0, 1)):
                x = torch.tensor([1, tie, sign * least], dtype=dtype, device=device)
                expected = 1 + 2 * tie * (sign > 0)
                self.assertEqual(ops.sum(x, dtype=dtype).item(), expected)
                rows = torch.stack([x, x], 1)
                self.assertEqual(ops.sum(rows, 0, dtype=dtype).tolist(), [expected] * 2)
                self.assertEqual(ops.dot(x, torch.ones_like(x), dtype=dtype).item(), expected)
                index = torch.zeros(3, dtype=torch.int64, device=device)
                self.assertEqual(ops.index_add(1, index, x, dtype=dtype).item(), expected)
                for weights in ([1, 1, 1, -2], [-1, -1, -1, 2]):
                    weights = torch.tensor(weights, dtype=dtype, device=device)
                    more = torch.cat([x, torch.zeros_like(x[:1])])
                    self.assertEqual(ops.average(more, weights, dtype=dtype).item(), expected)
        for op, x, expected in (
            ("var", [-0.03125, 0.125, -1, -(2.0**-24)], 0.2027587890625),
            ("var", [3, 0.125, 3, 2.0**-23], 2.158203125),
            ("std", [3, 1.5, 2.0**-10, 2.0**-10, 2.0**-23], 1.2001953125),
            ("norm", [2.0**-11, -1, -(2.0**-5), -(2.0**-24)], 1.0009765625),
        ):
            self.assertEqual(exact(op, [x], F16, 0), expected)
            options = {"dtype": F16} if op == "norm" else {"dtype": F16, "correction": 0}
            for device in DEVICES:
                x = torch.tensor(x, dtype=F16, device=device)
                self.assertEqual(getattr(ops, op)(x, **options).item(), expected)
                self.assertEqual(getattr(ops, op)(x.unsqueeze(1), 0, True, **options).item(), expected)
                index = torch.ones(len(x), dtype=torch.int64, device=device)
                self.assertEqual(getattr(ops, f"index_{op}")(2, index, x, **options)[1].item(), expected)
        for dtype, x, y, expected in (
            (F16, [1, 1, 2.0**-23, 0.125], [-(2.0**-5), -(2.0**-24), 1.5, 3], -0.50732421875),
            (F16, [0, -(2.0**-5), 3, 2.0**-24], [-(2.0**-24), 0.125, 1, -(2.0**-24)], 0.54052734375),
            (BF16, [1, 0, -(2.0**-100), 0], [4, -(2.0**-5), 0, 0], 0.75390625),
        ):
            self.assertEqual(exact("covariance", [x, y], dtype, 0), expected)
            for device in DEVICES:
                x, y = (torch.tensor(each, dtype=dtype, device=device) for each in (x, y))
                self.assertEqual(ops.covariance(x, y, correction=0, dtype=dtype).item(), expected)
                index, options = torch.ones(4, dtype=torch.int64, device=device), {"correction": 0, "dtype": dtype}
                self.assertEqual(ops.index_covariance(2, index, x, y, **options)[1].item(), expected)
        top = torch.finfo(F16).max
        self.assertEqual(ops.sum(torch.tensor([top, 16], dtype=F16), dtype=F16).item(), torch.inf)
        self.assertEqual(ops.sum(torch.tensor([top, 16, -(2**-24)], dtype=F16), dtype=F16).item(), top)
        x = torch.tensor([torch.inf, 1, torch.nan], dtype=BF16)
        self.assertEqual(ops.sum(x[:2], dtype=BF16).item(), torch.inf)
        self.assertTrue(ops.mean(x, dtype=BF16).isnan())

    def test_integers(self):
        x = torch.tensor([[2**62, 2**62 - 1, 1], [3, 4, -5]])
        self.equal(ops.sum(x - 1, 1), torch.tensor([2**63 - 3, -1]))
        self.equal(ops.sum(x, 1, dtype=F32), torch.tensor([2.0**63, 2.0]))
        self.equal(ops.mean(x[1]), torch.tensor(2 / 3, dtype=F64))
        self.equal(ops.max(x, 0), torch.tensor([2**62, 2**62 - 1, 1]))
        self.equal(ops.dot(x[1], x[1]), torch.tensor(50))
        with self.assertRaises(bitfold.RangeError):
            ops.sum(torch.tensor([2**63], dtype=torch.uint64))
        with self.assertRaisesRegex(bitfold.ArgumentError, "not rounded to torch.float16"):
            ops.sum(x, dtype=F16)
        self.equal(ops.average(x[1], torch.tensor([1, 1, 2])), torch.tensor(-0.75, dtype=F64))
        self.equal(ops.covariance(x[1], x[1]), ops.var(x[1]))
        self.equal(ops.correlation(x[1], -x[1]), torch.tensor(-1.0, dtype=F64))

    def test_what_is_refused(self):
        x = torch.ones(3, dtype=F16)
        for op in WITHOUT_HALVES:
            with self.assertRaisesRegex(bitfold.ArgumentError, f"{op} of torch.float16 is not rounded"):
                getattr(ops, op)(*([x, x] if op in PAIRS else [x]), dtype=F16)
        for op in PAIRS:
            with self.assertRaisesRegex(bitfold.DtypeError, "torch.float16 and torch.int32: the tensors have one"):
                getattr(ops, op)(x, x.int())
            with self.assertRaises(bitfold.ShapeError):
                getattr(ops, op)(x, x[:2])

    def test_empty_and_strided(self):
        for op in OF_SUMS:
            x = torch.zeros(0, 3)
            found = getattr(ops, op)(*([x, x] if op in PAIRS else [x]), 0)
            nan = 0.0 if op in ("sum", "norm", "dot") else torch.nan
            self.equal(found, torch.full((3,), nan))
        for op in ("min", "max"):
            with self.assertRaises(bitfold.EmptyError):
                getattr(ops, op)(torch.zeros(0, 3), 0)
            self.equal(getattr(ops, op)(torch.zeros(0, 3), 0, empty=7), torch.full((3,), 7.0))
        x = awkward((8, 9), F32, 1)
        for op, y in itertools.product(ALL, (x.T, x[::2, 1::3], x[:, :1].expand(8, 5), x.flip(0))):
            arrays = [y, y] if op in PAIRS else [y]
            same = [each.clone(memory_format=torch.contiguous_format) for each in arrays]
            self.equal(getattr(ops, op)(*arrays, 0), getattr(ops, op)(*same, 0))


def calls(op, more=0):
    """Calls of all operators of a reduction, of 7 rows of 3 columns: pairs of the operator and a function
    of the arrays that gives its arguments. Each result is of three elements or more: of fewer there is no shape."""
    index, offsets = torch.tensor([1, 0, 1, 1, 0, 0, 1]), torch.tensor([1, 4, 7])
    along = [([], False), ([0], False), ([-1], True), ([1, 0], False)]
    found = [
        (getattr(ops, op), lambda *arrays, given=given: (*arrays, given[0] or None, given[1]))
        for given in along
    ]
    found.append((getattr(ops, name_by_index(op)), lambda *arrays: (2, index, *arrays)))
    found.append((getattr(ops, f"segment_{op}"), lambda *arrays: (*arrays, offsets)))
    return found


def inputs(op, dtype=F64):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(7, 3, generator=generator, dtype=dtype) for _ in range(1 + (op in PAIRS))]


class Operators(Torch):
    def each(self):
        """All operators, and another form of those that have one."""
        forms = [(op, {}) for op in ALL] + [("std", {"correction": 0}), ("covariance", {"correction": 0})]
        for op, options in [*forms, ("skew", {"bias": False})]:
            for function, arguments in calls(op):
                with self.subTest(op=str(function)):
                    yield op, function, arguments, options

    def test_gradients(self):
        for op, function, arguments, options in self.each():
            arrays = [x.requires_grad_() for x in inputs(op)]

            def f(*arrays):
                return function(*arguments(*arrays), **options)

            self.assertTrue(torch.autograd.gradcheck(f, arrays))
            self.assertTrue(torch.autograd.gradgradcheck(f, arrays))

    def test_gradients_are_those_of_torch(self):
        x = torch.tensor([[1.0, 2, 2], [0, 3, 3], [1, 1, 1]], dtype=F64)
        for op, of_torch in (
            ("sum", torch.sum), ("mean", torch.mean), ("var", torch.var), ("std", torch.std),
            ("norm", torch.linalg.vector_norm), ("min", torch.amin), ("max", torch.amax),
        ):  # fmt: skip
            for dim in (None, 0, 1):
                if dim is None and op in ("min", "max"):
                    continue
                a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
                getattr(ops, op)(a, dim).sum().backward()
                of_torch(b, **({} if dim is None else {"dim": dim})).sum().backward()
                self.assertTrue(torch.allclose(a.grad, b.grad, rtol=1e-14), (op, dim, a.grad, b.grad))
        for op, name in (("min", "amin"), ("max", "amax")):
            a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
            index = torch.tensor([1, 1, 0])
            getattr(ops, f"index_{op}")(2, index, a).sum().backward()
            others = torch.full((2, 3), 50.0, dtype=F64)
            spread = index.unsqueeze(1).expand(3, 3)
            others.scatter_reduce(0, spread, b, name, include_self=False).sum().backward()
            self.equal(a.grad, b.grad)

    def test_gradients_of_halves_have_their_dtype(self):
        for op, function, arguments, options in self.each():
            arrays = [x.requires_grad_() for x in inputs(op, BF16)]
            function(*arguments(*arrays), **options).sum().backward()
            for x in arrays:
                self.assertEqual(x.grad.dtype, BF16)

    def test_they_are_well_formed(self):
        for op, function, arguments, options in self.each():
            arrays = [x.requires_grad_() for x in inputs(op)]
            torch.library.opcheck(function.default, arguments(*arrays), options)
            plain = arguments(*inputs(op))
            out = torch.empty_like(function(*plain, **options))
            torch.library.opcheck(function.out, plain, {**options, "out": out})

    def test_out(self):
        for op, function, arguments, options in self.each():
            plain = arguments(*inputs(op))
            expected = function(*plain, **options)
            out = torch.full((*expected.shape, 2), 7.0, dtype=F64)[..., 0]
            function(*plain, **options, out=out)
            self.equal(out, expected)
            with self.assertRaisesRegex(RuntimeError, "out has the shape"):
                function(*plain, **options, out=torch.empty(9, dtype=F64))
            with self.assertRaisesRegex(RuntimeError, "torch.float32, not"):
                function(*plain, **options, out=torch.empty_like(expected, dtype=F32))
        with self.assertRaisesRegex(RuntimeError, "out= has no gradient"):
            ops.sum(torch.ones(3).requires_grad_(), out=torch.empty(()))

    def test_batches(self):
        generator = torch.Generator().manual_seed(3)
        for op, function, arguments, options in self.each():
            arrays = [torch.randn(5, 7, 3, generator=generator, dtype=F64) for _ in inputs(op)]

            def f(*arrays):
                return function(*arguments(*arrays), **options)

            for at in (0, 2):
                moved = [x.movedim(0, at) for x in arrays]
                self.equal(torch.vmap(f, at)(*moved), torch.stack([f(*each) for each in zip(*arrays)]))
            x = arrays[0].requires_grad_()
            (found,) = torch.autograd.grad(torch.vmap(f)(*arrays).square().sum(), x)
            (expected,) = torch.autograd.grad(sum(f(*each).square().sum() for each in zip(*arrays)), x)
            self.assertTrue(torch.allclose(found, expected))
            made = f(*(each[0] for each in arrays))
            ways = torch.eye(made.numel(), dtype=F64).reshape(-1, *made.shape)
            (found,) = torch.autograd.grad(made, x, ways, is_grads_batched=True, retain_graph=True)
            each = [torch.autograd.grad(made, x, way, retain_graph=True)[0] for way in ways]
            self.equal(found, torch.stack(each))
        x, y = torch.randn(5, 4, generator=generator), torch.randn(4, generator=generator)
        self.equal(torch.vmap(ops.dot, (0, None))(x, y), torch.stack([ops.dot(row, y) for row in x]))

    def test_batches_of_indices(self):
        index = torch.tensor([[0, 1, 1, 0], [2, 2, 2, 2], [1, 0, 2, 1]])
        x = awkward((3, 4, 2), F32, 1)
        for op, values in itertools.product(("sum", "mean", "var"), (x, x[0])):
            function = getattr(ops, name_by_index(op))
            found = torch.vmap(lambda i, v: function(3, i, v), (0, 0 if values is x else None))(index, values)
            each = [function(3, i, v) for i, v in zip(index, values if values is x else [values] * 3)]
            self.equal(found, torch.stack(each))
        with self.assertRaisesRegex(bitfold.ArgumentError, "is -1"):
            torch.vmap(lambda i: ops.index_add(2, i, x[0]))(index)
        with self.assertRaisesRegex(NotImplementedError, "offsets"):
            torch.vmap(lambda o: ops.segment_sum(x[0], o))(torch.tensor([[0, 2], [0, 3]]))

    def test_compiled_functions_give_the_same(self):
        for backend in ("eager", "aot_eager"):
            for op, function, arguments, options in self.each():
                torch._dynamo.reset()
                arrays = [x.requires_grad_() for x in inputs(op)]

                def step(*arrays):
                    return (function(*arguments(*arrays), **options) * 2).exp()

                compiled = torch.compile(step, backend=backend, fullgraph=True)
                found, expected = compiled(*arrays), step(*arrays)
                self.equal(found, expected)
                gradients = [torch.autograd.grad(made.sum(), arrays) for made in (found, expected)]
                for a, b in zip(*gradients):
                    self.equal(a, b)

    def test_compiled_with_out_and_of_any_size(self):
        @torch.compile(backend="aot_eager", fullgraph=True, dynamic=True)
        def step(x, index, out):
            ops.sum(x, 0, out=out)
            return out + 1, ops.index_mean(x.shape[1], index, x), ops.median(x, 0)

        for n in (4, 5, 9):
            x, index, out = awkward((n, 3), F32, n), torch.arange(n) % 3, torch.empty(3)
            one, two, three = step(x, index, out)
            self.equal(out, ops.sum(x, 0))
            self.equal(one, out + 1)
            self.equal(two, ops.index_mean(3, index, x))
            self.equal(three, ops.median(x, 0))

    def test_compiled_by_inductor(self):
        def step(x, index):
            found = ops.index_add(4, index, torch.relu(x)) * ops.var(x, 0, True) + ops.max(x, 1).mean()
            return found, ops.segment_mean(x, torch.tensor([0, 7, 30]))

        x, index = awkward((50, 3), F32, 1), torch.arange(50) % 4
        try:
            torch.compile(lambda x: x + 1, fullgraph=True)(x)
        except Exception as error:  # no compiler
            self.skipTest(f"inductor does not run: {type(error).__name__}")
        for a, b in zip(torch.compile(step, fullgraph=True)(x, index), step(x, index)):
            self.equal(a, b)
