"""Arrays with __cuda_array_interface__: the protocol without a GPU, then CuPy and PyTorch on one."""

import importlib
import unittest
from unittest import mock

import numpy as np

import bitfold


class CudaInterface:
    """The host's memory, offered as a GPU's: what bitfold makes of the protocol, without a GPU."""

    def __init__(self, x, **changes):
        self._x = x
        self.__cuda_array_interface__ = {
            "version": 3, "shape": x.shape, "typestr": x.dtype.str, "strides": x.strides,
            "data": (x.ctypes.data, False), "stream": None, **changes,
        }  # fmt: skip


class Driver:
    """What of the driver is called to wait, and the streams that it has made."""

    def __init__(self):
        self.made, self.waited = [], []

    def cuStreamCreate(self, stream, flags):
        self.made.append(77 + len(self.made))
        stream._obj.value = self.made[-1]
        return 0

    def cuStreamSynchronize(self, stream):
        self.waited.append(stream.value)
        return 0

    def cuCtxSynchronize(self):
        self.waited.append("all")
        return 0

    def __getattr__(self, name):
        if name not in (
            "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
            "cuPointerGetAttribute",
        ):  # fmt: skip
            raise AttributeError(name)
        return lambda *arguments: 0


class CudaTensor:
    """The host's memory, offered as a GPU's by DLPack."""

    def __init__(self, x, version=None):
        self._x, self.streams = x, []
        if version:
            self.__cuda_array_interface__ = {
                "version": version, "shape": x.shape, "typestr": x.dtype.str, "data": (x.ctypes.data, False),
                **({"stream": 5} if version > 2 else {}),
            }  # fmt: skip

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream, **options):
        self.streams.append(stream)
        return self._x.__dlpack__()


class CudaArrays(unittest.TestCase):
    def test_a_stream_of_ours_is_waited_for(self):
        """What has no stream of its own is made ready on one of ours; nothing else is waited for."""
        driver, x = Driver(), np.arange(5.0)
        with mock.patch("bitfold._arrays._driver", lambda: driver), mock.patch("bitfold._arrays._local", mock.Mock()):
            for tensor in (CudaTensor(x), CudaTensor(x, 2), CudaTensor(x)):
                self.assertEqual(bitfold.sum(tensor), 10.0)
                self.assertEqual(tensor.streams, [77])
            self.assertEqual((driver.made, driver.waited), ([77], [77] * 3))
            self.assertEqual(bitfold.sum(CudaTensor(x, 3)), 10.0)
            self.assertEqual(bitfold.sum(CudaInterface(x, stream=9)), 10.0)
            self.assertEqual(driver.waited[3:], [5, 9])
            without = CudaInterface(x, version=2)
            del without.__cuda_array_interface__["stream"]
            self.assertEqual(bitfold.sum(without), 10.0)
            self.assertEqual(driver.waited[5:], ["all"])

    def test_the_interface_is_read_in_place(self):
        x = np.arange(60, dtype="<f4").reshape(3, 4, 5)
        for each in (x, x.T, x[:, ::2], x[:0]):
            self.assertEqual(bitfold.sum(CudaInterface(each)), float(each.sum()))
        self.assertEqual(bitfold.sum(CudaInterface(x, strides=None)), float(x.sum()))
        bits = np.full(7, 0x3FC0, np.uint16)
        self.assertEqual(bitfold.sum(CudaInterface(bits, typestr="<V2"), dtype="bf16"), 10.5)

    def test_out_is_written_in_place(self):
        x, out = np.arange(5.0), np.zeros(5)
        bitfold.map("add", CudaInterface(x), 1, out=CudaInterface(out))
        self.assertEqual(list(out), [1, 2, 3, 4, 5])
        with self.assertRaisesRegex(bitfold.ArgumentError, "read-only"):
            bitfold.map("neg", x, out=CudaInterface(out, data=(out.ctypes.data, True)))

    def test_what_the_protocol_forbids_is_refused(self):
        x = np.ones(3)
        with self.assertRaisesRegex(bitfold.ArgumentError, "stream 0"):
            bitfold.sum(CudaInterface(x, stream=0))
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.sum(CudaInterface(x, mask=x))
        with self.assertRaises(bitfold.DtypeError):
            bitfold.sum(CudaInterface(x, typestr="<c16"))

    def test_a_tensor_that_is_negated_when_read_is_refused(self):
        tensor = CudaInterface(np.ones(3))
        tensor.is_neg = lambda: False
        self.assertEqual(bitfold.sum(tensor), 3.0)
        tensor.is_neg = lambda: True
        with self.assertRaisesRegex(bitfold.ArgumentError, "resolve_neg"):
            bitfold.sum(tensor)

    def test_an_object_may_refuse(self):
        class Grad:
            @property
            def __cuda_array_interface__(self):
                raise RuntimeError("requires grad")

        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            bitfold.sum(Grad())

    def test_only_a_gpu_has_streams(self):
        with self.assertRaises(bitfold.ArgumentError):
            bitfold.Context("cpu", stream=1)

    def gpu_module(self, name):
        try:
            bitfold.Context(device="cuda")
            return importlib.import_module(name)
        except (bitfold.DeviceError, ImportError) as error:
            self.skipTest(str(error))

    def test_cupy(self):
        cupy = self.gpu_module("cupy")
        x = np.random.default_rng(1).normal(size=(100, 333))
        y = cupy.asarray(x)
        for op in ("sum", "std", "argmin", "prod"):
            run = getattr(bitfold, op)
            self.assertEqual(run(y), run(x))
            self.assertEqual(run(y.T[::3]), run(x.T[::3]))
        out = cupy.empty_like(y)
        bitfold.map("mul", y, 3.0, out=out)
        np.testing.assert_array_equal(out.get(), x * 3)
        with cupy.cuda.Stream(non_blocking=True):
            late = cupy.zeros(1 << 26)
            late += 1
            self.assertEqual(bitfold.sum(late), 1 << 26)

    def test_torch(self):
        torch = self.gpu_module("torch")
        x = torch.randn(100, 333, device="cuda", dtype=torch.float64)
        self.assertEqual(bitfold.sum(x), bitfold.sum(x.cpu().numpy()))
        self.assertEqual(bitfold.sum(x.T[::3]), bitfold.sum(x.T[::3].cpu().numpy()))
        half = x.to(torch.bfloat16)
        self.assertEqual(bitfold.max(half, dtype="bf16"), half.max().item())
        out = torch.empty_like(x)
        bitfold.map("sqrt", x.abs(), out=out)
        self.assertTrue(torch.equal(out, x.abs().sqrt()))
        negated = torch.complex(x, x).conj().imag
        with self.assertRaisesRegex(bitfold.ArgumentError, "resolve_neg"):
            bitfold.sum(negated)
        self.assertEqual(bitfold.sum(negated.resolve_neg()), -bitfold.sum(x))
        with self.assertRaises(RuntimeError):
            bitfold.sum(x.requires_grad_())
