"""The doors before torch.ops.bitfold: they give what the functions behind them give, and who traces, batches or
differentiates a call sees it.

Builds: release."""

import itertools
import unittest

try:
    import torch

    import bitfold.torch
    from bitfold.torch import _doors
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import bitfold

ops = torch.ops.bitfold
DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
FLOATS = torch.float64, torch.float32, torch.float16, torch.bfloat16
DTYPES = *FLOATS, torch.int64, torch.int32, torch.uint8, torch.int8, torch.bool
REDUCTIONS = "sum", "mean", "var", "std", "norm", "min", "max", "dot"
AS_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def refuse(*arguments, **options):
    raise AssertionError(f"left to Python: {arguments}, {options}")


def words(x):
    return x.dtype, x.shape, x.device.type, x.contiguous().view(AS_WORDS[x.element_size()]).tolist()


def outcome(function, *arguments, **options):
    """The bits of what a call gives, or its exception."""
    try:
        made = function(*arguments, **options)
    except Exception as error:
        return type(error), str(error)
    return [words(x) for x in made] if isinstance(made, tuple) else words(made)


def tensors(device):
    """Tensors of every dtype and layout, with NaN, -0 and infinities where there are any."""
    generator = torch.Generator().manual_seed(1)
    for dtype, shape in itertools.product(DTYPES, ((), (0,), (1,), (7,), (3, 4), (4, 0), (2, 5, 3))):
        x = (torch.rand(shape, generator=generator) * 100 - 50 * dtype.is_signed).to(dtype)
        if dtype in FLOATS and x.numel() > 6:
            x.view(-1)[1:4] = torch.tensor([-0.0, torch.nan if x.numel() > 7 else 1, torch.inf])
        x = x.to(device)
        yield x
        if x.ndim > 1:
            yield from (x.mT, x[::2, ::2])


def options_of(op, x):
    """The options of reductions."""
    yield {}
    if op not in ("min", "max"):
        yield from ({"dtype": dtype} for dtype in (torch.float64, torch.float32, x.dtype))
    if op in ("var", "std"):
        yield from ({"correction": each, "dtype": torch.float64} for each in (0, 1, 2))


def parts(x, op):
    """The tensors of a reduction, and what says which rows go where."""
    pair = [x, x.flip(0) if x.ndim else x] if op == "dot" else [x]
    n = len(x) if x.ndim else 0
    offsets = torch.tensor([0, n // 2, n], device=x.device)
    return pair, torch.arange(n, device=x.device) * 7 % 4, offsets


def calls(x):
    """Calls of operators: their names, arguments and options."""
    for op in REDUCTIONS:
        pair, index, offsets = parts(x, op)
        for options, dim in itertools.product(options_of(op, x), (None, [0], [-1], [0, -1], [])):
            yield op, (*pair, dim, dim == [0]), options
        if x.ndim and op != "dot":
            yield f"segment_{op}", (*pair, offsets), {}
            yield "index_add" if op == "sum" else f"index_{op}", (4, index, *pair), {}
    for dim, flag in itertools.product((0, -1), (False, True)):
        yield from ((name, (x, dim, flag), {}) for name in ("sort", "argsort", "cummin", "cummax"))
        yield from ((name, (x, dim, flag, not flag), {}) for name in ("cumsum", "cumprod"))
        yield "cumsum", (x, dim), {"reverse": flag, "dtype": x.dtype if flag else torch.float32}


@unittest.skipUnless(_doors.behind, "bitfold._native is not built, or PyTorch is another")
class Doors(unittest.TestCase):
    def test_they_give_what_is_behind_them(self):
        for device in DEVICES:
            some = 1 if device == "cpu" else 3  # each call of a GPU is waited for thrice
            for i, x in enumerate(tensors(device)):
                for name, arguments, options in itertools.islice(calls(x), i % some, None, some):
                    expected = outcome(_doors.behind[name][0], *arguments, **options)
                    for context in (torch.no_grad, torch.inference_mode):
                        with context():
                            found = outcome(getattr(ops, name), *arguments, **options)
                        if (name, x.dtype) == ("sort", torch.bfloat16):
                            continue  # PyTorch, which takes the elements, gives their NaNs other bits
                        self.assertEqual(found, expected, (name, arguments, options))

    def test_calls_on_floats_are_not_left_to_python(self):
        native = bitfold._library.native
        for device, dtype in itertools.product(DEVICES, FLOATS):
            x = torch.arange(12, device=device).to(dtype).reshape(4, 3)
            for name, (function, *row) in _doors.behind.items():
                if name == "cumprod":
                    continue
                pair = [x, x] if name.endswith("dot") else [x]
                before = (4, torch.arange(4, device=device) % 3) if name.startswith("index_") else ()
                after = (torch.tensor([0, 1, 4], device=device),) if name.startswith("segment_") else ()
                if name in ("sort", "argsort", "cumsum", "cummin", "cummax"):
                    after = (-1,)
                arguments = (*before, *pair, *after)
                found = outcome(native.Function(native, refuse, *row), *arguments)
                self.assertEqual(found, outcome(function, *arguments), name)

    def test_who_looks_at_calls_sees_them(self):
        seen = []

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, arguments=(), options=None):
                seen.append(function)
                return function(*arguments, **(options or {}))

        for device in DEVICES:
            x = torch.rand(3, 4, device=device)
            plain = ops.sum(x, [0])  # the door has taken a call by now
            with Mode():
                found = ops.sum(x, [0])
            self.assertEqual((words(found), seen.pop()), (words(plain), ops.sum.default))
            traced = make_fx(lambda x: ops.sort(x)[0])(x)
            self.assertIn(ops.sort.default, [node.target for node in traced.graph.nodes])
            with FakeTensorMode() as mode:
                fake = ops.cumsum(mode.from_tensor(x), 0)
                self.assertEqual((type(fake), fake.shape), (torch._subclasses.FakeTensor, x.shape))
            batched = torch.vmap(ops.sum)(x)
            self.assertEqual(words(batched), words(ops.sum(x, [1])))
            for context in (torch.no_grad, torch.inference_mode):
                with context():
                    self.assertEqual(words(ops.sum(x, [0])), words(plain))

    def test_gradients_flow_after_calls_without_any(self):
        for device in DEVICES:
            x = torch.rand(3, 4, device=device)
            ops.sum(x, [0])
            x.requires_grad_()
            ops.sum(x, [0]).pow(2).sum().backward()
            self.assertTrue(torch.allclose(x.grad, 2 * x.detach().sum(0).expand(3, 4)))
            with torch.no_grad():
                self.assertFalse(ops.sum(x, [0]).requires_grad)
            self.assertEqual(words(ops.var(x, [1]).detach()), words(ops.var(x.detach(), [1])))
            negative = torch._neg_view(torch.ones(3, device=device))
            self.assertEqual(ops.sum(negative).item(), -3)

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_what_may_fail_is_captured(self):
        x, index = torch.arange(6, device="cuda"), torch.tensor([0, 1, 0, 2, 1, 0], device="cuda")
        ops.index_add(3, index, x), ops.sum(x, [0])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            made = ops.index_add(3, index, x), ops.sum(x, [0]), ops.cumsum(x, 0)
        x += 1
        graph.replay()
        self.assertEqual([each.tolist() for each in made], [[10, 7, 4], 21, [1, 3, 6, 10, 15, 21]])
        bitfold.check()


if __name__ == "__main__":
    unittest.main()
