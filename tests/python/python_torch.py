"""The operators of PyTorch (bitfold.torch), where it is installed: values, gradients, torch.compile."""

import itertools
import unittest

try:
    import torch

    import bitfold.torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

import bitfold

ops = torch.ops.bitfold
DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool]


def random(shape, dtype, device):
    generator = torch.Generator().manual_seed(1)
    numbers = torch.randn(shape, generator=generator, dtype=torch.float64)
    return (numbers * 3).to(dtype).to(device)


class Torch(unittest.TestCase):
    def each(self, dtypes):
        return itertools.product(DEVICES, dtypes)

    def equal(self, found, expected):
        self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
        self.assertTrue(torch.equal(found, expected), (found, expected))

    def test_sums_are_exact(self):
        for device, dtype in self.each(FLOATS + INTEGERS):
            x = random((5, 4, 3), dtype, device)
            dtype_of_sum = ops.sum(x).dtype
            self.assertEqual(dtype_of_sum.is_floating_point, dtype.is_floating_point)
            exact = x.to(torch.float64)  # so few numbers of the shorter dtypes have exact sums
            for dim in (None, [0], [-1], [0, 2], [1, 0, 2]):
                for keepdim in (False, True):
                    expected = exact.sum(dim=dim, keepdim=keepdim)
                    if dtype != torch.float64:
                        self.equal(ops.sum(x, dim, keepdim), expected.to(dtype_of_sum))
                    self.assertTrue(torch.allclose(ops.sum(x, dim, keepdim).double(), expected))
        self.assertEqual(ops.sum(torch.tensor([1e20, 1, -1e20], dtype=torch.float64)).item(), 1.0)
        self.equal(ops.sum(torch.tensor(3)), torch.tensor(3))
        self.equal(ops.sum(torch.zeros(0, 3), [0]), torch.zeros(3))

    def test_dot(self):
        for device, dtype in self.each(FLOATS[:3] + INTEGERS):
            a, b = random((6, 3), dtype, device), random((6, 3), dtype, device).flip(0)
            for dim in (None, [0], [1]):
                expected = (a.double() * b.double()).sum(dim=dim)
                self.assertTrue(torch.allclose(ops.dot(a, b, dim).double(), expected))

    def test_index_add_and_segment_sum(self):
        for device, dtype in self.each(FLOATS + INTEGERS):
            x = random((9, 2), dtype, device)
            index = torch.tensor([3, 0, 3, 3, 1, 0, 3, 3, 1], device=device)
            offsets = torch.tensor([1, 4, 4, 8], device=device)
            exact = x.double()
            by_index = torch.zeros(5, 2, dtype=torch.float64, device=device).index_add(0, index, exact)
            by_segment = torch.stack([exact[1:4].sum(0), exact[4:4].sum(0), exact[4:8].sum(0)])
            self.assertTrue(torch.allclose(ops.index_add(5, index, x).double(), by_index))
            self.assertTrue(torch.allclose(ops.segment_sum(x, offsets).double(), by_segment))

    def test_histogram_and_sort(self):
        for device, dtype in self.each(FLOATS[:2] + INTEGERS[:5]):
            x = random((7, 11), dtype, device)
            counts = torch.histc(x.double().cpu(), 8, -4, 4).to(torch.int64)
            self.equal(ops.histogram(x, 8, -4.0, 4.0).cpu(), counts)
        for device, dtype in self.each(FLOATS + INTEGERS):
            x = random((7, 11), dtype, device)
            for dim, descending in itertools.product((0, 1, -1), (False, True)):
                values, index = ops.sort(x, dim, descending)
                expected = torch.sort(x, dim=dim, descending=descending, stable=True)
                self.equal(values, expected.values)
                self.equal(index, expected.indices)

    def test_order_statistics(self):
        for device, dtype in self.each(FLOATS + INTEGERS):
            x = random((7, 4, 3), dtype, device)
            floats = dtype.is_floating_point
            for dim in (None, [1], [-1], [0, 2]):
                dims = list(range(3)) if dim is None else dim
                for keepdim in (False, True):
                    lines = x.double().movedim(dims, list(range(-len(dims), 0))).flatten(-len(dims))
                    q = torch.tensor([0.0, 0.3, 0.5], dtype=torch.float64, device=device)
                    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
                        found = ops.quantile(x, [0, 0.3, 0.5], dim, keepdim, interpolation=method)
                        expected = torch.quantile(lines, q, -1, interpolation=method)
                        self.assertEqual(found.dtype, torch.float64)
                        self.assertTrue(torch.allclose(found, expected.reshape(found.shape), rtol=1e-15))
                    median = ops.median(x, dim, keepdim)
                    middle = ops.quantile(x, [0.5], dim, keepdim)[0]
                    self.equal(median, middle.to(dtype) if floats else middle)
                self.equal(ops.argsort(x, 1, True), torch.argsort(x, stable=True, dim=1, descending=True))
        with self.assertRaisesRegex(bitfold.ArgumentError, "interpolation 'near'"):
            ops.quantile(torch.ones(3), [0.5], interpolation="near")
        with self.assertRaises(bitfold.EmptyError):
            ops.median(torch.ones(0))
        self.equal(ops.median(torch.tensor(3.0)), torch.tensor(3.0))

    def test_running_sums(self):
        for device, dtype in self.each(FLOATS + INTEGERS):
            x = random((4, 3), dtype, device)
            for dim in (0, 1, -1):
                exact = torch.cumsum(x.double(), dim)  # so few numbers of the shorter dtypes have exact sums
                if dtype != torch.float64:
                    self.equal(ops.cumsum(x, dim), exact.to(torch.cumsum(x, dim).dtype))
                self.assertTrue(torch.allclose(ops.cumsum(x.double(), dim), exact))
                self.equal(ops.cumsum(x, dim, True).flip(dim), ops.cumsum(x.flip(dim), dim))
        big = torch.tensor([1e20, 1, -1e20, 2], dtype=torch.float64)
        self.equal(ops.cumsum(big, 0), torch.tensor([1e20, 1e20, 1, 3], dtype=torch.float64))
        self.assertEqual(ops.cumsum(big.float(), 0, dtype=torch.float64).dtype, torch.float64)
        self.equal(ops.cumsum(torch.tensor(3.0), 0), torch.tensor(3.0))
        with self.assertRaisesRegex(bitfold.ArgumentError, "int32"):
            ops.cumsum(big, 0, dtype=torch.int32)

    def test_running_sums_without_the_element(self):
        for device, dtype in self.each([torch.float32, torch.int32]):
            x = random((4, 3), dtype, device)
            before = torch.cat([torch.zeros_like(x[:1]), x[:-1]])
            self.equal(ops.cumsum(x, 0, False, True), ops.cumsum(before, 0))
            self.equal(ops.cumsum(x, 0, True, True).flip(0), ops.cumsum(x.flip(0), 0, False, True))

    def test_running_products(self):
        for device, dtype in self.each([torch.int8, torch.int64, torch.uint8, torch.bool]):
            x = torch.tensor([[1, 2, 3], [4, 0, 5], [2, 2, 2]], device=device).to(dtype)
            for dim in (0, -1):
                made = torch.cumprod(x, dim)
                self.equal(ops.cumprod(x, dim), made)
                self.equal(ops.cumprod(x.flip(dim), dim, True), made.flip(dim))
        self.equal(ops.cumprod(torch.tensor([3, 4, 5]), 0, False, True), torch.tensor([1, 3, 12]))
        with self.assertRaisesRegex(bitfold.DtypeError, "cumprod of torch.float32"):
            ops.cumprod(torch.ones(3), 0)
        with self.assertRaises(bitfold.RangeError):
            ops.cumprod(torch.full((3,), 2**40), 0)

    def test_running_extremes(self):
        nan = torch.nan
        for (device, dtype), name in itertools.product(self.each(FLOATS + INTEGERS), ("cummin", "cummax")):
            x = random((7, 5), dtype, device)
            for dim in (0, -1):
                made = getattr(torch, name)(x, dim).values
                self.equal(getattr(ops, name)(x, dim), made)
                self.equal(getattr(ops, name)(x.flip(dim), dim, True), made.flip(dim))
        self.equal(ops.cummin(torch.tensor([-0.0, 0.0]), 0).signbit(), torch.tensor([True, True]))
        for x, name in itertools.product(
            ([1.0, 3, 3, 2, 0, 3, 5, -1], [2, nan, 1, nan, 4], [0.0, -0.0, 0.0]), ("cummin", "cummax")
        ):
            a, b = (torch.tensor(x, dtype=torch.float64).requires_grad_() for _ in range(2))
            weights = torch.arange(1.0, len(x) + 1)
            (getattr(ops, name)(a, 0) * weights).nan_to_num().sum().backward()
            (getattr(torch, name)(b, 0).values * weights).nan_to_num().sum().backward()
            self.equal(a.grad, b.grad)

    def test_gradients_of_scans(self):
        x = random((4, 3), torch.float64, "cpu").requires_grad_()
        for name, given in (
            ("cumsum", (0,)), ("cumsum", (1, True)), ("cumsum", (-2, False, True)), ("cumsum", (0, True, True)),
            ("cummin", (0,)), ("cummin", (-1, True)), ("cummax", (1,)), ("cummax", (0, True)),
        ):  # fmt: skip
            function = lambda x: getattr(ops, name)(x, *given)
            self.assertTrue(torch.autograd.gradcheck(function, x))
            self.assertTrue(torch.autograd.gradgradcheck(function, x))
            self.assertTrue(torch.autograd.gradcheck(function, x, check_batched_grad=True))
            expected = torch.stack([function(each) for each in x.detach().unsqueeze(2)])
            self.equal(torch.vmap(function)(x.detach().unsqueeze(2)), expected)
            number = torch.tensor(3.0, requires_grad=True)
            made = getattr(ops, name)(number, 0)
            made.backward()
            self.equal(number.grad, torch.ones(()))
        big = torch.tensor([1e20, 1, -1e20, 2], dtype=torch.float64)
        self.equal(torch.vmap(lambda x: ops.cumsum(x, 0))(big), big)

    def test_order_in_batches(self):
        x = random((5, 4, 3), torch.float64, "cpu")
        for function in (
            lambda x: ops.sort(x, 0)[0], lambda x: ops.sort(x, -1, True)[1], lambda x: ops.argsort(x, 1),
            lambda x: ops.median(x), lambda x: ops.median(x, 0, True), lambda x: ops.quantile(x, [0.3, 0.4], -1),
        ):  # fmt: skip
            expected = torch.stack([function(each) for each in x])
            self.equal(torch.vmap(function)(x), expected)
            self.equal(torch.vmap(function, 2)(x.movedim(0, 2)), expected)
        self.equal(torch.vmap(lambda x: ops.sort(x)[0])(x[0, 0]), x[0, 0])
        self.equal(torch.vmap(lambda x: ops.argsort(x))(x[0, 0]), torch.zeros(3, dtype=torch.int64))

    def test_operators_are_well_formed(self):
        x, y = (random((4, 3), torch.float64, "cpu").requires_grad_() for _ in range(2))
        index, offsets = torch.tensor([0, 2, 0, 1]), torch.tensor([0, 1, 1, 3])
        for op, arguments in (
            (ops.sum, (x, [1], True)), (ops.sum, (x,)), (ops.dot, (x, y, [0])), (ops.dot, (x, x)),
            (ops.index_add, (3, index, x)), (ops.segment_sum, (x, offsets)),
            (ops.histogram, (x.detach(), 4, -1.0, 1.0)), (ops.sort, (x, 0, True)),
            (ops.argsort, (x.detach(),)), (ops.cumsum, (x, 0)), (ops.cumsum, (x, -1, True, True)),
            (ops.cummin, (x, 0)), (ops.cummax, (x, -1, True)), (ops.cumprod, (index, 0)), (ops.median, (x, [1])), (ops.median, (x,)),
            (ops.quantile, (x, [0.1, 0.5], None, True)),
        ):  # fmt: skip
            with self.subTest(op=op):
                torch.library.opcheck(op.default, arguments)

    def test_gradients(self):
        index, offsets = torch.tensor([0, 2, 0, 1]), torch.tensor([1, 2, 2, 4])
        x, y = (random((4, 3), torch.float64, "cpu").requires_grad_() for _ in range(2))
        for function in (
            lambda x: ops.sum(x), lambda x: ops.sum(x, [0]), lambda x: ops.sum(x, [1], True),
            lambda x: ops.index_add(4, index, x), lambda x: ops.segment_sum(x, offsets),
            lambda x: ops.sort(x, 0)[0], lambda x: ops.sort(x, 1, True)[0],
            lambda x: ops.median(x), lambda x: ops.median(x, [0], True), lambda x: ops.median(x, 1),
            lambda x: ops.quantile(x, [0.1, 0.5, 0.6, 1], [0, 1]),
            lambda x: ops.quantile(x, [0.3], 0, True, interpolation="midpoint"),
            lambda x: ops.quantile(x, [0.3, 0.3], 1, interpolation="nearest"),
        ):  # fmt: skip
            self.assertTrue(torch.autograd.gradcheck(function, (x,)))
            self.assertTrue(torch.autograd.gradgradcheck(function, (x,)))
        for dim in (None, [0], [1]):
            self.assertTrue(torch.autograd.gradcheck(lambda a, b: ops.dot(a, b, dim), (x, y)))

    def test_compiled_functions_give_the_same(self):
        def step(x, index):
            scanned = ops.cumsum(ops.cummax(x, 0), 0, False, True) + ops.cumprod(index % 2 + 1, 0)[:1]
            return ops.index_add(4, index, torch.relu(scanned)) * ops.sum(x, [0], True)

        x, index = random((50, 3), torch.float32, "cpu").requires_grad_(), torch.arange(50) % 4
        compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
        found, expected = compiled(x, index), step(x, index)
        self.equal(found, expected)
        self.equal(*(torch.autograd.grad(made.sum(), x)[0] for made in (found, expected)))

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_they_follow_the_current_stream(self):
        n = 1 << 22
        index = torch.arange(n, device="cuda") % 7
        offsets = torch.tensor([0, n // 2, n], device="cuda")
        torch.cuda.synchronize()
        for i, dtype in itertools.product(range(5), (torch.float32, torch.bfloat16, torch.int32)):
            with torch.cuda.stream(torch.cuda.Stream()):
                x = torch.full((n,), 7.0, device="cuda").to(dtype)
                for _ in range(20):  # work that is under way when bitfold is called
                    x = x * 1
                x -= 7 - i
                total, by_index = ops.sum(x), ops.index_add(7, index, x)
                by_segment, dot = ops.segment_sum(x, offsets), ops.dot(x, x)
                counts = ops.histogram(x, 10, -0.5, 9.5) + 0
                values, order = ops.sort(x)
                values, order = values + 0, order + 0  # work that follows
                self.assertEqual(total.item(), i * n)
                self.assertEqual(dot.item(), i * i * n)
                self.equal(by_segment.double(), torch.full((2,), i * n / 2.0, device="cuda").double())
                counted = torch.bincount(index, minlength=7)
                self.equal(by_index.double(), (counted * i).double())
                self.assertEqual(counts.tolist(), [n if b == i else 0 for b in range(10)])
                self.assertTrue(bool((values == i).all()))
                self.equal(order, torch.arange(n, device="cuda"))

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_gradients_on_a_gpu(self):
        x = random((40, 3), torch.float64, "cuda").requires_grad_()
        index = torch.arange(40, device="cuda") % 6
        offsets = torch.tensor([3, 9, 9, 30], device="cuda")
        for function in (
            lambda x: ops.sum(x, [0]), lambda x: ops.dot(x, x * 2, [1]),
            lambda x: ops.index_add(6, index, x), lambda x: ops.segment_sum(x, offsets),
            lambda x: ops.sort(x, 0)[0],
        ):  # fmt: skip
            self.assertTrue(torch.autograd.gradcheck(function, (x,)))

    def test_they_are_deterministic(self):
        before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(True)
        try:
            for device in DEVICES:
                x, index = random((100, 3), torch.float32, device), torch.arange(100, device=device) % 7
                self.equal(ops.index_add(7, index, x), ops.index_add(7, index.flip(0), x.flip(0)))
        finally:
            torch.use_deterministic_algorithms(before)

    def test_errors_are_those_of_bitfold(self):
        with self.assertRaisesRegex(bitfold.ArgumentError, "index 1 is 5"):
            ops.index_add(5, torch.tensor([0, 5]), torch.ones(2))
        with self.assertRaises(bitfold.RangeError):
            ops.sum(torch.full((3,), 2**62))

    def test_arrays_of_torch_come_back_as_such(self):
        for device in DEVICES:
            x = random((4, 3), torch.float32, device)
            self.assertEqual(bitfold.sum(x, axis=0).device, x.device)
            half = x.to(torch.bfloat16)
            self.assertEqual(bitfold.sort(half).dtype, torch.bfloat16)
            self.assertEqual(bitfold.max(half), half.max().item())
