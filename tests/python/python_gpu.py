"""CuPy arrays and PyTorch tensors in a GPU's memory: taken as they are, with the bits of the CPU.

Skipped without a GPU, and of each of the two without it.
"""

import concurrent.futures
import importlib
import itertools
import unittest
from unittest import mock

import numpy as np

import bitfold
import devices
import generate
from bitfold._arrays import View
from device_column import DeviceColumn
from oracle import DTYPES, OPS, same

CLASSIC = ("i8", "i16", "i32", "i64", "u8", "f16", "f32", "f64")  # PyTorch had these in its first years
GIB = 1 << 30
SPIN = """
extern "C" __global__ void spin(long long clocks) {
    const long long start = clock64();
    while (clock64() - start < clocks) {}
}
"""


def outcome(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except bitfold.Error as error:
        return type(error)


class Tensor:
    """An object with nothing but DLPack."""

    def __init__(self, x):
        self.__dlpack__, self.__dlpack_device__ = x.__dlpack__, x.__dlpack_device__


class Interface:
    """An object with nothing but the CUDA array interface."""

    def __init__(self, x):
        self.__cuda_array_interface__ = x.__cuda_array_interface__


class OnGpu(unittest.TestCase):
    """Tests of arrays that a module makes on the GPU."""

    name = None

    @classmethod
    def setUpClass(cls):
        if not devices.gpus():
            raise unittest.SkipTest("no GPU")
        try:
            cls.module = importlib.import_module(cls.name)
        except ImportError as error:
            raise unittest.SkipTest(str(error))
        cls.cpu = bitfold.Context(device="cpu")
        cls.gpu = bitfold.Context(device="cuda")

    def check(self, on_gpu, on_host, **options):
        """Every operation on both, the GPU's array twice: by an explicit context and by "auto"."""
        for op in OPS:
            function = getattr(bitfold, op)
            count = 2 if op == "dot" else 1
            expected = outcome(function, *[on_host] * count, context=self.cpu, **options)
            for context in (self.gpu, None):
                found = outcome(function, *[on_gpu] * count, context=context, **options)
                what = f"{op} of {on_host.dtype} {on_host.shape}: {found!r}, not {expected!r}"
                self.assertTrue(same(found, expected), what)


    def check_kinds(self, make, kind):
        """Results are arrays of the module, in the GPU's memory."""
        for of_python, of_keys in ((np.asarray, np.asarray), (make, make)):
            x, keys = of_python(np.array([5.0, 3, 9, 3])), of_keys(np.array([2, 1, 2, 1]))
            groups = bitfold.Groups("i64", [("sum", "f64")]).absorb(keys, x)
            table = bitfold.Table("i64", "i64").insert(keys, keys)
            found = [
                bitfold.sort(x), bitfold.argsort(x), *bitfold.top(x, 2), *bitfold.unique(x),
                bitfold.quantile(x, [0.5]), bitfold.map("add", x, 1.0), *bitfold.histogram(x, 3),
                *bitfold.histogram(x, 3, weights=x), *bitfold.histogram(x, 3, density=True),
                bitfold.bincount(keys), *groups.list(), groups.result(0), *groups.result(0, fits=True),
                *bitfold.join(keys, keys), *table.find(keys), table.count(keys), table.contains(keys),
                *table.export(like=x), bitfold.sum(x, axis=0, keepdims=True),
                bitfold.index_add(3, keys, x), *bitfold.group_median(keys, x),
            ]  # fmt: skip
            if of_python is np.asarray:
                expected = found
        for each, other in zip(found, expected):
            self.assertIsInstance(each, kind)
            self.assertTrue(each.device == x.device)
            self.assertEqual(each.tolist(), other.tolist())


class Cupy(OnGpu):
    name = "cupy"

    def test_every_dtype(self):
        rng = np.random.default_rng(1)
        for dtype in DTYPES:
            options = {"dtype": dtype} if dtype in ("bool", "bf16") else {}
            for n in (0, 1, 33, 1000, 4097, 70_001):
                x = generate.values(rng, dtype, n)
                self.check(self.module.asarray(x), x, **options)

    def test_every_layout(self):
        rng = np.random.default_rng(2)
        x = rng.normal(size=(13, 17, 19))
        y = self.module.asarray(x)
        layouts = (
            lambda a: a.T, lambda a: a[::-1, :, ::3], lambda a: a[3], lambda a: a[:, 5],
            lambda a: a[..., 2:3], lambda a: a.transpose(1, 0, 2)[:, ::-2], lambda a: a[:, :0],
        )  # fmt: skip
        for layout in layouts:
            self.check(layout(y), layout(x))
        self.check(self.module.asfortranarray(y), np.asfortranarray(x))
        self.check(self.module.broadcast_to(y[0], (5, 17, 19)), np.broadcast_to(x[0], (5, 17, 19)))

    def test_work_of_another_stream_is_waited_for(self):
        for i in range(20):
            with self.module.cuda.Stream(non_blocking=True):
                x = self.module.full(1 << 25, i, dtype="f8")
                x += 1
                self.assertEqual(bitfold.sum(x, context=self.gpu), (i + 1) << 25)

    def test_memory_is_read_before_it_is_used_again(self):
        spin = self.module.RawKernel(SPIN, "spin")
        stream, n = self.module.cuda.Stream(non_blocking=True), 100_000
        with stream:
            for i in range(1000):
                spin((1,), (1,), (300_000,))
                x = self.module.full(n, i, dtype="f4")
                found = bitfold.sum((Tensor, Interface)[i % 2](x), context=self.gpu)
                address = x.data.ptr
                del x  # CuPy's pool gives the memory to the next array
                other = self.module.full(n, -1, dtype="f4")
                self.assertEqual((found, other.data.ptr), (i * n, address))
                del other

    def test_results_are_of_its_kind(self):
        self.check_kinds(self.module.asarray, self.module.ndarray)

    def test_dlpack_alone(self):
        streams = [self.module.cuda.Stream(non_blocking=True) for _ in range(2)]
        context = bitfold.Context("cuda", stream=streams[0].ptr)
        for i in range(20):
            with streams[1]:
                x = self.module.full(1 << 25, i, dtype="f8")
                x += 1
                self.assertEqual(View(Tensor(x)).array.data, x.data.ptr)
                self.assertEqual(bitfold.sum(Tensor(x), context=context), (i + 1) << 25)

    def test_columns_of_arrow_are_waited_for(self):
        streams = [self.module.cuda.Stream(non_blocking=True) for _ in range(2)]
        on_stream = bitfold.Context("cuda", stream=streams[0].ptr)
        event = self.module.cuda.Event(disable_timing=True)
        for i in range(20):
            with streams[1]:
                x = self.module.full(1 << 25, i, dtype="f8")
                x += 1
                event.record()
            column = DeviceColumn(x.data.ptr, x.size, device_type=2, event=event.ptr)
            for context in (on_stream, self.gpu, None):
                self.assertEqual(bitfold.sum(column, context=context), (i + 1) << 25)
        self.assertEqual(View(column).array.data, x.data.ptr)

    def test_nulls_of_columns_of_arrow(self):
        x, bits = self.module.arange(8.0), self.module.asarray([0b11011101], dtype="u1")
        column = DeviceColumn(x.data.ptr, 8, device_type=2, valid=bits.data.ptr)
        for null in ("error", "skip"):
            with self.assertRaisesRegex(bitfold.ArgumentError, "2 of 8 elements are NULL"):
                bitfold.sum(column, null=null)
        bits[0] = 0xFF
        self.module.cuda.Device().synchronize()
        self.assertEqual(bitfold.sum(column), 28)

    def test_map_writes_where_it_is_told(self):
        x = np.random.default_rng(3).normal(size=(300, 5)).astype("f4")
        y = self.module.asarray(x)
        out = self.module.zeros((5, 300), dtype="f4")
        for a, b, into in ((y, y, out.T), (y, 2.5, out.T), (y, x, y)):
            host = lambda each: each.get() if hasattr(each, "get") else each
            expected = np.multiply(host(a), host(b))
            self.assertIs(bitfold.map("mul", a, b, out=into, context=self.gpu), into)
            np.testing.assert_array_equal(host(into), expected)


    def test_what_cannot_fail_is_not_waited_for(self):
        cupy = self.module
        x, spin = cupy.arange(6000.0).reshape(2, 3000), cupy.RawKernel(SPIN, "spin")
        slots, columns = cupy.arange(3000) % 7, cupy.ascontiguousarray(x.T)
        cupy.cuda.Device().synchronize()

        def calls():
            made = bitfold.index_add(7, slots, columns, check="later")
            return [bitfold.sum(x, axis=1), bitfold.argmax(x[:, ::2], axis=1), made, *bitfold.histogram(x, 4, (0, 6000)),
                    bitfold.cumulative_sum(x, axis=0), bitfold.rolling(x, 2).sum()]

        for stream in (cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.null):
            with stream:
                calls()
                stream.synchronize()
                spin((1,), (1,), (400_000_000,))
                made, event = calls(), cupy.cuda.Event()
                event.record()
                self.assertFalse(event.done, "a call waited")
                event.synchronize()
                self.assertIsInstance(made[0], cupy.ndarray)
                self.assertEqual(made[0].tolist(), [4498500.0, 13498500.0])
                self.assertEqual(made[1].tolist(), [1499, 1499])
                self.assertEqual(made[2].sum().item(), 17997000.0)
                self.assertEqual(made[3].tolist(), [1500] * 4)
                self.assertEqual(made[4].tolist(), [0, 1500, 3000, 4500, 6000])
                for found in made[5:]:
                    self.assertEqual(found[1].tolist(), [2.0 * i + 3000 for i in range(3000)])
        with self.assertRaisesRegex(bitfold.ArgumentError, "index 5 is 5, outside 0 to 4"):
            bitfold.index_add(5, slots, cupy.ones(3000), check="later")
            bitfold.check()

    def test_streams_do_not_wait_for_each_other(self):
        cupy, spin = self.module, self.module.RawKernel(SPIN, "spin")
        x, streams, events = cupy.arange(6000.0).reshape(2, 3000), [], []
        cupy.cuda.Device().synchronize()
        for i in range(3):
            streams.append(cupy.cuda.Stream(non_blocking=True))
            with streams[i]:  # a kernel's first launch in a context waits
                spin((1,), (1,), (1,))
                bitfold.sum(x, axis=1)
        cupy.cuda.Device().synchronize()
        for i, stream in enumerate(streams):
            with stream:
                spin((1,), (1,), ((2 - i) * 400_000_000,))
                made = bitfold.sum(x, axis=1)
                events.append(cupy.cuda.Event())
                events[i].record()
        events[2].synchronize()
        self.assertEqual(made.tolist(), [4498500.0, 13498500.0])
        self.assertFalse(events[1].done, "a call waited for that of another stream")
        events[1].synchronize()
        self.assertFalse(events[0].done, "a call waited for that of another stream")
        cupy.cuda.Device().synchronize()

    def test_streams_come_and_go(self):
        """CuPy destroys a stream with its object, while its work goes on; and a new one may get its handle. All
        arrays are kept: CuPy gives memory by handles."""
        cupy, spin = self.module, self.module.RawKernel(SPIN, "spin")
        arrays, made, kept = [], [], [cupy.cuda.Stream(non_blocking=True) for _ in range(20)]
        slots = cupy.zeros(2, "i8")
        cupy.cuda.Device().synchronize()
        for i in range(200):
            stream = kept[i % 20] if i % 3 else cupy.cuda.Stream(non_blocking=i % 2 == 0)
            with stream:
                spin((1,), (1,), (1_000_000,))
                arrays.append(cupy.full((2, 3000), i, "f8"))
                made.append(bitfold.sum(arrays[i], axis=1))
                made.append(bitfold.index_add(1, slots, arrays[i], check="later"))
            del stream
        bitfold.check()
        cupy.cuda.Device().synchronize()
        for i, found in enumerate(zip(made[::2], made[1::2])):
            self.assertEqual([each.ravel()[0].item() for each in found], [3000.0 * i, 2.0 * i])

    def test_arrays_of_two_libraries(self):
        torch = importlib.import_module("torch")
        x, index = self.module.arange(12.0), torch.arange(12, device="cuda") % 3
        self.assertEqual(bitfold.index_add(3, index, x).tolist(), [18, 22, 26])


class Torch(OnGpu):
    name = "torch"

    def test_every_dtype(self):
        rng = np.random.default_rng(4)
        for dtype in CLASSIC:
            for n in (1, 100, 4097, 70_001):
                x = generate.values(rng, dtype, n)
                self.check(self.module.from_numpy(x).cuda(), x)

    def test_results_are_of_its_kind(self):
        self.check_kinds(lambda x: self.module.from_numpy(x).cuda(), self.module.Tensor)

    def test_half_precision_of_two_kinds(self):
        x = self.module.randn(5000, device="cuda")
        half, brain = x.to(self.module.float16), x.to(self.module.bfloat16)
        self.check(half, half.cpu().numpy())
        bits = brain.view(self.module.int16)
        self.check(bits, bits.cpu().numpy(), dtype="bf16")
        exact = float(brain.double().max())
        self.assertEqual(bitfold.max(bits, dtype="bf16", context=self.gpu), exact)
        self.assertEqual(bitfold.max(brain, context=self.gpu), exact)
        self.assertEqual(View(brain).array.data, brain.data_ptr())
        self.assertEqual(bitfold.sort(brain).dtype, brain.dtype)

    def test_views(self):
        x = self.module.randn(40, 50, 6, device="cuda", dtype=self.module.float64)
        for view in (x.permute(2, 0, 1), x[3:, ::2], x[0, 0].expand(9, 6), x[..., 1]):
            self.check(view, view.cpu().numpy())

    def test_work_of_another_stream_is_waited_for(self):
        for i in range(20):
            with self.module.cuda.stream(self.module.cuda.Stream()):
                x = self.module.full((1 << 25,), float(i), device="cuda")
                x += 1
                self.assertEqual(bitfold.sum(x, context=self.gpu), (i + 1) << 25)

    def test_memory_is_read_before_it_is_used_again(self):
        stream, n = self.module.cuda.Stream(), 100_000
        ways = (
            lambda x: bitfold.sum(Tensor(x), context=self.gpu),
            lambda x: bitfold.sum(Interface(x), context=self.gpu), bitfold.sum,
            lambda x: bitfold.sum(x.reshape(10, -1), axis=1)[0] * 10, lambda x: bitfold.sort(x)[0] * n,
        )  # fmt: skip
        with self.module.cuda.stream(stream):
            for i, way in itertools.product(range(1000), ways):
                self.module.cuda._sleep(300_000)
                x = self.module.full((n,), float(i), device="cuda")
                found, address = way(x), x.data_ptr()
                del x  # PyTorch's cache gives the memory to the next tensor of the stream
                other = self.module.full((n,), -1.0, device="cuda")
                self.assertEqual((float(found), other.data_ptr()), (i * n, address))
                del other

    def test_what_cannot_fail_is_not_waited_for(self):
        torch = self.module
        streams, events = [torch.cuda.Stream() for _ in range(3)], []
        x = torch.arange(6000.0, device="cuda").reshape(2, 3000)

        def calls():
            found = [bitfold.sum(x, axis=1), bitfold.var(x, axis=0), bitfold.argmax(x, axis=1)]
            found += [bitfold.sum(x.to(torch.int32), axis=1), bitfold.dot(x, x, axis=0)]
            found.append(bitfold.dot(x.to(torch.int32), x.to(torch.int32), axis=1, check="later"))
            found += [bitfold.sort(-x), bitfold.argsort(-x), bitfold.sort(-x.to(torch.int64), descending=True)]
            found += [bitfold.cumulative_sum(x, axis=1), bitfold.cumulative_max(x, axis=0, reverse=True)]
            found.append(bitfold.cumulative_sum(x.to(torch.int64), axis=0, exclusive=True, check="later"))
            found += [bitfold.rolling(x, 2).mean(), bitfold.rolling(x, 7, axis=1, min_count=1).count()]
            found += [*bitfold.histogram(x, 3, (0, 4500)), *bitfold.histogram(x.to(torch.int16), [0, 5.5, 100, 1000])]
            return [*found, bitfold.median(x, axis=1), bitfold.quantile(x, [0.25, 1], axis=1)]

        for stream in streams:  # a kernel's first launch in a context waits
            with torch.cuda.stream(stream):
                calls()
        torch.cuda.synchronize()
        for i, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                torch.cuda._sleep((2 - i) * 400_000_000)
                made = calls()
                events.append(torch.cuda.Event())
                events[-1].record()
                if i < 2:
                    self.assertFalse(events[-1].query(), "the call waited")
        events[2].synchronize()
        self.assertFalse(events[1].query(), "a call waited for that of another stream")
        events[1].synchronize()
        self.assertFalse(events[0].query(), "a call waited for that of another stream")
        torch.cuda.synchronize()
        found = [each.tolist() for each in made]
        self.assertEqual(found[0], [4498500.0, 13498500.0])
        self.assertEqual(found[1], [2250000.0] * 3000)
        self.assertEqual(found[2:4], [[2999, 2999], [4498500, 13498500]])
        self.assertEqual(found[4], [float(i * i + (i + 3000) ** 2) for i in range(3000)])
        self.assertEqual(found[5], [sum(i * i for i in range(k, k + 3000)) for k in (0, 3000)])
        self.assertEqual(found[6], [[float(-i) for i in range(k + 2999, k - 1, -1)] for k in (0, 3000)])
        self.assertEqual(found[7], [[*range(2999, -1, -1)]] * 2)
        self.assertEqual(found[8], [[-i for i in range(k, k + 3000)] for k in (0, 3000)])
        self.assertEqual(found[9], [[float(v) for v in itertools.accumulate(range(k, k + 3000))] for k in (0, 3000)])
        self.assertEqual(found[10], [[float(i) for i in range(3000, 6000)]] * 2)
        self.assertEqual(found[11], [[0] * 3000, [*range(3000)]])
        self.assertEqual(found[12][1], [i + 1500.0 for i in range(3000)])
        self.assertEqual(found[13], [[1.0, 2, 3, 4, 5, 6, *[7.0] * 2994]] * 2)
        self.assertEqual(found[14:16], [[1500, 1500, 1501], [0, 1500, 3000, 4500]])
        self.assertEqual(found[16:18], [[6, 94, 901], [0, 5.5, 100, 1000]])
        self.assertEqual(found[18:], [[1499.5, 4499.5], [[749.75, 3749.75], [2999, 5999]]])

    def test_enqueued_sorts_keep_the_bits_of_nans(self):
        torch, rng = self.module, np.random.default_rng(6)
        for dtype, bits in (("f16", "i2"), ("f32", "i4"), ("f64", "i8"), ("i32", "i4"), ("u8", "u1")):
            for shape in ((1,), (1000,), (7, 301), (3, 1), (1 << 20,), ((1 << 20) + 1,), (2, (1 << 20) + 5)):
                x = generate.values(rng, dtype, int(np.prod(shape)))
                if dtype[0] == "f":
                    for nan in (np.nan, -np.array(np.nan, x.dtype)):
                        x[rng.integers(0, x.size, 1 + x.size // 9)] = nan
                x = x.reshape(shape)
                y = torch.from_numpy(x).cuda()
                for function, descending in itertools.product((bitfold.sort, bitfold.argsort), (False, True)):
                    found = function(y, descending=descending).cpu().numpy()
                    expected = function(x, descending=descending)
                    bits_of = bits if function is bitfold.sort else "i8"
                    np.testing.assert_array_equal(found.view(bits_of), expected.view(bits_of))

    def capture(self, calls):
        """Returns a graph of calls, and what they make in it. All have been made before."""
        torch = self.module
        side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for call in calls:
                call()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=side):
            made = [call() for call in calls]
        return graph, made

    def test_graphs_hold_calls(self):
        torch, _ = self.module, importlib.import_module("bitfold.torch")  # its operators
        x = torch.zeros(50, 400, device="cuda", dtype=torch.float64)
        calls = [
            lambda: bitfold.sum(x, axis=0), lambda: bitfold.var(x, axis=1), lambda: bitfold.max(x, axis=0),
            lambda: torch.ops.bitfold.mean(x, [1]) * 2, lambda: torch.ops.bitfold.index_add(7, slots, x),
            lambda: torch.ops.bitfold.dot(x, x, [1]), lambda: bitfold.dot(x, x, axis=0),
            lambda: bitfold.segment_max(x, ends, check="later"), lambda: torch.ops.bitfold.cumsum(x.T, 1),
            lambda: torch.ops.bitfold.cumprod((x > 2.5) + 1, 1, True), lambda: torch.ops.bitfold.cummax(x, 0),
            lambda: bitfold.rolling(x, 9, axis=1, min_count=1).var(), lambda: bitfold.rolling(x, 3, min_count=1).max(),
            lambda: bitfold.sort(x), lambda: bitfold.argsort(x, descending=True), lambda: bitfold.median(x, axis=1),
            lambda: bitfold.quantile(x, [0.1, 0.5, 1], axis=(0, 1)), lambda: bitfold.sort(x.to(torch.bfloat16)),
            lambda: torch.ops.bitfold.sort(x, 0)[0], lambda: torch.ops.bitfold.median(x, [0]),
            lambda: torch.ops.bitfold.quantile(x.T, [0.3], 0), lambda: torch.ops.bitfold.argsort(x.to(torch.int8), 0),
            lambda: torch.ops.bitfold.histogram(x.T, 9000, -3, 3), lambda: bitfold.histogram(x, 7, (-1.5, 2))[0],
            lambda: bitfold.histogram(x.to(torch.float32), 5, (0, 1))[1],
        ]  # fmt: skip
        slots, ends = torch.arange(50, device="cuda") % 7, torch.tensor([0, 20, 50], device="cuda")
        graph, made = self.capture(calls)
        for seed in range(5):
            x.copy_(torch.from_numpy(np.random.default_rng(seed).normal(size=(50, 400))))
            graph.replay()
            torch.cuda.synchronize()
            for each, call in zip(made, calls):
                self.assertTrue(torch.equal(each, call()))

    def test_graphs_hold_long_sorts(self):
        torch, rng = self.module, np.random.default_rng(5)
        x = torch.zeros((1 << 20) + 77, device="cuda")
        calls = [
            lambda: bitfold.sort(x), lambda: bitfold.argsort(x), lambda: bitfold.median(x, axis=0),
            lambda: bitfold.quantile(x, [i / 15 for i in range(16)], axis=0),
            lambda: bitfold.sort(x.to(torch.float16), descending=True), lambda: bitfold.sort(x.view(torch.int32)),
        ]  # fmt: skip
        graph, made = self.capture(calls)
        for nans in (0, 100):
            data = rng.normal(size=x.numel()).astype("f4")
            data.view("i4")[rng.integers(0, data.size, nans)] = rng.integers(0x7F800001, 0x7FFFFFFF, nans)
            x.copy_(torch.from_numpy(data))
            graph.replay()
            torch.cuda.synchronize()
            for each, call in zip(made, calls):
                self.assertEqual(each.cpu().numpy().tobytes(), call().cpu().numpy().tobytes())

    def test_contexts_of_streams_come_and_go(self):
        """A thread has few contexts. A graph runs when the one that captured it is gone, and errors are kept."""
        torch = self.module
        x, places = torch.ones(50, 400, device="cuda"), torch.tensor([0, 5], device="cuda")
        streams, graph = [torch.cuda.Stream() for _ in range(6)], torch.cuda.CUDAGraph()
        calls = [lambda: bitfold.sum(x, axis=1), lambda: bitfold.var(x, axis=0), lambda: bitfold.histogram(x, 9, (-2, 2))[0]]
        torch.cuda.synchronize()

        def work():
            with torch.cuda.stream(streams[0]):
                for call in calls:
                    call()
            torch.cuda.synchronize()
            with torch.cuda.graph(graph, stream=streams[0]):
                made = [call() for call in calls]
            with torch.cuda.stream(streams[1]):
                bitfold.index_add(5, places, torch.ones(2, device="cuda"), check="later")
            for stream in streams[2:]:
                with torch.cuda.stream(stream):
                    torch.cuda._sleep(10_000_000)
                    y = torch.full((3, 50), 2.0, device="cuda")
                    self.assertEqual(bitfold.sum(y, axis=1).tolist(), [100.0] * 3)
            with self.assertRaisesRegex(bitfold.ArgumentError, "index 1 is 5"):
                bitfold.check()
            return made

        with mock.patch.object(bitfold._library, "_MOST_STREAMS", 3), concurrent.futures.ThreadPoolExecutor(1) as pool:
            made = pool.submit(work).result()
        for seed in range(3):
            x.copy_(torch.from_numpy(np.random.default_rng(seed).normal(size=(50, 400))))
            graph.replay()
            torch.cuda.synchronize()
            for each, call in zip(made, calls):
                self.assertTrue(torch.equal(each, call()))

    def test_what_data_make_fail(self):
        torch = self.module
        with self.assertRaisesRegex(bitfold.RangeError, "does not fit i64"):
            bitfold.sum(torch.full((3, 2), 2**62, device="cuda"), axis=0)
        with self.assertRaisesRegex(bitfold.ArgumentError, "index 1 is 5"):
            bitfold.index_add(5, torch.tensor([0, 5], device="cuda"), torch.ones(2, device="cuda"))
        with self.assertRaises(bitfold.NanError):
            bitfold.sum(torch.full((3, 2), torch.nan, device="cuda"), axis=0, nan="error")
        with self.assertRaises(bitfold.EmptyError):
            bitfold.max(torch.zeros(0, 2, device="cuda"), axis=0)
        wide = torch.full((3, 2), 2**31 - 1, device="cuda", dtype=torch.int32)
        self.assertEqual(bitfold.sum(wide, axis=0).tolist(), [3 * (2**31 - 1)] * 2)

    def test_what_data_make_fail_later(self):
        torch = self.module
        ones, wide = torch.ones(3, 2, device="cuda"), torch.full((3, 2), 2**62, device="cuda")
        places, more = torch.tensor([0, 5, 1], device="cuda"), torch.tensor([0, 2, 9], device="cuda")
        torch.cuda.synchronize()
        failing = [
            (bitfold.RangeError, "result 0 does not fit i64", lambda: bitfold.sum(wide, axis=0, check="later")),
            (bitfold.ArgumentError, "index 1 is 5", lambda: bitfold.index_add(5, places, ones, check="later")),
            (bitfold.ArgumentError, "index 1 is 5", lambda: bitfold.index_prod(5, places, ones, check="later")),
            (bitfold.ArgumentError, "offset 2 is 9", lambda: bitfold.segment_var(ones, more, check="later")),
            (bitfold.NanError, "NaN", lambda: bitfold.mean(ones / 0 * 0, axis=0, nan="error", check="later")),
            (bitfold.EmptyError, "result 4", lambda: bitfold.index_max(6, places, ones, check="later")),
            (bitfold.EmptyError, "result 0", lambda: bitfold.max(ones[:0], axis=0, check="later")),
            (bitfold.RangeError, "of a prefix does not fit i64", lambda: bitfold.cumulative_sum(wide, axis=0, check="later")),
            (bitfold.NanError, "NaN", lambda: bitfold.rolling(ones / 0 * 0, 2, min_count=0, nan="error", check="later").sum()),
            (bitfold.NanError, "NaN", lambda: bitfold.cumulative_max(ones / 0 * 0, axis=0, nan="error", check="later")),
        ]  # fmt: skip
        for kind, text, call in failing:
            self.assertEqual(call().shape[-1], 2)
            with self.assertRaisesRegex(kind, text):
                bitfold.check()
            bitfold.check()  # it is reported once
            call()
            torch.cuda.synchronize()
            with self.assertRaisesRegex(kind, text):
                bitfold.sum(ones)
            self.assertEqual(bitfold.sum(ones), 6)
        event = torch.cuda.Event()
        for cycles in 1, 1_000_000_000:  # a kernel that is loaded may wait for all others
            torch.cuda._sleep(cycles)
            made = [
                bitfold.index_add(6, places, ones, check="later"), bitfold.segment_max(ones, more[:2], check="later"),
                bitfold.sum(wide // 4, axis=0, check="later"),
            ]  # fmt: skip
        event.record()
        self.assertFalse(event.query(), "a call waited")
        bitfold.check()
        self.assertTrue(event.query())
        found = [each.tolist() for each in made]
        self.assertEqual(found[0], [[1, 1], [1, 1], [0, 0], [0, 0], [0, 0], [1, 1]])
        self.assertEqual(found[1:], [[[1, 1]], [3 * 2**60] * 2])

    def test_threads_with_streams(self):
        torch, x = self.module, self.module.arange(5000.0, device="cuda").reshape(50, 100)
        torch.cuda.synchronize()

        def work(_):
            with torch.cuda.stream(torch.cuda.Stream()):
                return [bitfold.sum(x * k, axis=0).sum().item() for k in range(50)]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for found in pool.map(work, range(16)):
                self.assertEqual(found, [12497500.0 * k for k in range(50)])

    def test_a_context_takes_a_stream(self):
        stream = self.module.cuda.Stream()
        for device in ("cuda", "auto"):
            context = bitfold.Context(device, stream=stream.cuda_stream)
            with self.module.cuda.stream(stream):
                x = self.module.full((1 << 25,), 2.0, device="cuda")
                self.assertEqual(bitfold.sum(x, context=context), 2 << 25)

    def test_more_elements_than_32_bits_count(self):
        if self.module.cuda.mem_get_info()[0] < 40 * GIB:
            self.skipTest("too little memory on the GPU")
        n = (1 << 32) + 1
        x = self.module.zeros(n, device="cuda", dtype=self.module.uint8)
        x[1] = x[n - 1] = 1
        found = [getattr(bitfold, op)(x, context=self.gpu) for op in ("sum", "max", "argmax")]
        self.assertEqual(found, [2, 1, 1])
        counts, _ = bitfold.histogram(x, 2, range=(0, 1), context=self.gpu)
        self.assertEqual(counts.tolist(), [n - 2, 2])
        index = x.to(self.module.int32)
        self.assertEqual(bitfold.index_add(2, index, x, context=self.gpu).tolist(), [0, 2])
        ends = bitfold.sort(x, context=self.gpu)[-3:]
        self.assertEqual(ends.tolist(), [0, 1, 1])

    def test_no_copy_is_made(self):
        if self.module.cuda.mem_get_info()[0] < 6 * GIB:
            self.skipTest("too little memory on the GPU")
        x = self.module.ones(4 * GIB, device="cuda", dtype=self.module.uint8)
        for op in ("sum", "min", "argmax", "var"):
            getattr(bitfold, op)(x[:1000], context=self.gpu)
            before = self.module.cuda.mem_get_info()[0]
            getattr(bitfold, op)(x, context=self.gpu)
            self.assertGreater(self.module.cuda.mem_get_info()[0], before - GIB // 4)
        self.assertEqual(bitfold.sum(x, context=self.gpu), 4 * GIB)

    def test_states_absorb_tensors(self):
        x = self.module.randn(100_000, device="cuda", dtype=self.module.float64)
        for op in ("sum", "var", "argmin", "prod", "describe"):
            states = []
            for context, data in ((self.gpu, x), (self.cpu, x.cpu().numpy())):
                state = bitfold.State(op, "f64", context)
                for begin in range(0, len(data), 33_333):
                    state.absorb(data[begin : begin + 33_333])
                states.append(state.save())
            self.assertEqual(states[0], states[1], op)

    def test_windows(self):
        rng = np.random.default_rng(8)
        x = rng.normal(size=(30, 3000))
        x[3, ::50] = np.nan
        days = np.cumsum(rng.integers(0, 3, 3000))
        y, keys = self.module.asarray(x).cuda(), self.module.asarray(days).cuda()
        for options in (
            {"window": 100, "axis": 1}, {"window": 7, "center": True, "step": 3, "nan": "skip"},
            {"on": days, "span": 12, "axis": 1, "nan": "skip"}, {"on": keys, "span": 12, "axis": 1},
        ):  # fmt: skip
            of_host = {**options, "on": days} if "on" in options else options
            of_ranks = () if "on" in options else ("median",)
            for op in ("sum", "mean", "var", "std", "min", "max", "count", *of_ranks):
                expected = getattr(bitfold.rolling(x, context=self.cpu, **of_host), op)()
                for context in (self.gpu, None):
                    found = getattr(bitfold.rolling(y, context=context, **options), op)()
                    self.assertTrue(found.device == y.device)
                    self.assertEqual(found.cpu().numpy().tobytes(), expected.tobytes(), (op, options))
        for options in ({"window": 2049, "axis": 1}, {"on": keys, "span": 12, "axis": 1}):
            with self.assertRaisesRegex(bitfold.DeviceError, "quantiles of windows"):
                bitfold.rolling(y, **options).median()

    def test_the_data_choose_the_device(self):
        context = bitfold.Context()
        self.assertEqual(bitfold.sum(np.ones(10), context=context), 10)
        self.assertEqual(context.device, "cpu")
        self.assertEqual(bitfold.sum(self.module.ones(10, device="cuda"), context=context), 10)
        self.assertTrue(context.device.startswith("cuda:"))
        with self.assertRaisesRegex(bitfold.DeviceError, "cuda"):
            bitfold.sum(self.module.ones(10, device="cuda"), context=self.cpu)

    def test_what_is_no_number_is_refused(self):
        x = self.module.zeros(3, dtype=self.module.complex64, device="cuda")
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(x, context=self.gpu)


del OnGpu  # its subclasses alone are tests
