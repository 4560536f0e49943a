"""Python objects as bf_array, without a copy: by the buffer protocol, __array_interface__, DLPack, the
Arrow C interfaces or, for memory on a GPU, __cuda_array_interface__."""

import ctypes
import functools
import math
import operator
import struct
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_ssize_t, c_void_p, py_object

from ._dtypes import BY_KIND, KIND_OF_CODE, LONG_NAMES, NAMES, SIZES, dtype_in, dtype_name, is_foreign, names_foreign
from ._exchange import ARROW, CUDA, KEEP, _call, arrow_of, read_arrow, read_dlpack
from ._lists import is_list, memory_of, wide_ints
from ._times import TimesError, are_times
from ._result import TYPESTR, Result, new_result
from ._library import DTYPES, I192, LEGACY_STREAM, MAX_DIMS, VALUE_TEXT, Array, ArgumentError, DeviceError, DtypeError, RangeError, ShapeError, Value, _local, lib, native, whole


class _Buffer(ctypes.Structure):
    """Py_buffer"""

    _fields_ = [
        ("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t),
        ("readonly", c_int), ("ndim", c_int), ("format", c_char_p), ("shape", POINTER(c_ssize_t)),
        ("strides", POINTER(c_ssize_t)), ("suboffsets", POINTER(c_ssize_t)), ("internal", c_void_p),
    ]  # fmt: skip


_STRIDED_WITH_FORMAT = 0x001C  # PyBUF_RECORDS_RO: strides and format; may be read-only
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [py_object, POINTER(_Buffer), c_int]
_get_buffer.restype = c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [POINTER(_Buffer)]
_release_buffer.restype = None


class View:
    """An object's memory as a bf_array, in `array`. The memory stays valid while the view exists. What
    no bf_array can say, another byte order and strides of no whole elements, is copied. null: what
    becomes of Arrow's NULLs, "error" or "skip" (None: "error", and the caller has no other choice); of
    KEEP, `valid` is an array of bools, or None if there are no NULLs. decimals: Arrow's are taken, as i64
    or i128 in units of 10^-scale; `scale` is None of all others. Objects of NumPy that are ints are copied,
    as i128, and so are lists and numbers of Python. waits=False: memory of a GPU is ready after wait()."""

    def __init__(self, x, dtype=None, null=None, decimals=False, waits=True):
        self._buffer = self.valid = self.scale = self._unready = None
        self._waits = waits
        self._object = x  # keeps the memory alive; an interface does not
        if null not in (None, "error", "skip", KEEP):
            raise ArgumentError(f"null is 'error' or 'skip', not {null!r}")
        if dtype is not None or not self._read_natively(x):
            self._read(x, dtype, null, decimals)

    def _read_natively(self, x):
        """Reads what bitfold._native can read: an array of NumPy itself, of the usual layouts and dtypes, and
        a tensor of PyTorch. If a GPU has its memory, waits for the stream on which PyTorch works now."""
        if native is None:
            return False
        array = Array()
        found, stream = native.read(x, array), None
        if found is None:
            found, stream = native.read_on_stream(x, array) or (None, None)
        if found is None:
            return False
        if stream is not None:
            self._wait_for({"stream": stream or LEGACY_STREAM, "data": (array.data, False)})
        self.array, self.dtype, (self.readonly, self._owner) = array, NAMES[array.dtype], found
        return True

    def _read(self, x, dtype, null, decimals):
        named = getattr(getattr(x, "dtype", None), "name", None)  # ml_dtypes' are void but for this
        wanted = "bf16" if dtype is None and named == "bfloat16" else dtype and dtype_name(dtype)
        refuse_hidden(x)
        if wanted is None and _is_bf16(x):
            wanted = "bf16"
        interface = _cuda_interface(x)
        on_gpu = interface is not None and ("stream" in interface or not hasattr(x, "__dlpack__"))
        if is_list(x):
            read = self._from_list
        elif on_gpu:
            self._wait_for(interface)
            read = self._from_interface
        elif self._acquire(x):
            read = self._from_buffer
        elif hasattr(x, "__array_interface__"):
            read, interface = self._from_interface, x.__array_interface__
        else:
            read, interface = self._from_exchange, (x, null, decimals)
        pointer, name, size, shape, strides, foreign = read(interface, wanted)
        if name != wanted and wanted is not None:
            foreign = foreign or (size == 1 or name is None) and names_foreign(dtype)
            name, size, shape, strides = _reinterpret(name, wanted, size, shape, strides)
        self.dtype = name
        if foreign or not _are_whole(shape, strides, size):
            if on_gpu:
                raise DtypeError("data of another byte order, or of odd strides, on a GPU: copy them there")
            self.array, self._owner = _copied(pointer, name, shape, strides, foreign)
            self.readonly = True  # what is written to a copy is lost
        else:
            self.array = _array(pointer, name, size, shape, strides)

    def __del__(self):
        if self._buffer is not None:
            _release_buffer(self._buffer)

    def _wait_for(self, interface):
        self._unready = interface
        if self._waits:
            self.wait()

    def wait(self):
        """Waits until the memory is ready."""
        if self._unready is not None:
            _wait_for(self._unready)

    def _acquire(self, x):
        """Takes the object's buffer, if it has one."""
        buffer = _Buffer()
        try:
            _get_buffer(x, buffer, _STRIDED_WITH_FORMAT)
        except (BufferError, TypeError, ValueError) as error:
            if any(hasattr(x, name) for name in _OTHER_WAYS):
                return False
            if isinstance(error, TypeError):
                raise DtypeError(
                    f"{type(x).__name__!r} has no memory to read: numpy.asarray() may make an array of it"
                ) from None
            raise
        self._buffer = buffer
        self.readonly = bool(buffer.readonly)
        return True

    def _from_list(self, _, wanted):
        name, address, shape, self._owner = memory_of(self._object, wanted)
        self.readonly = True
        return address, name, SIZES[name], shape, _contiguous(shape, SIZES[name]), False

    def _from_exchange(self, source, _):
        """Reads an object of pandas, whose __array__ keeps a NaN what it is; or one of Arrow; or of
        DLPack; or what else makes an array of itself."""
        x, null, decimals = source
        if _library_of(x) == "pandas" and hasattr(type(x), "array"):
            x = x.array  # where a Series or an Index has its values
        arrow = None if _is_plain(x) else arrow_of(x)
        if arrow is not None:
            array, self._owner, self.valid, self.scale = read_arrow(arrow, null, NAMES, SIZES)
            if self.scale is not None and not decimals:
                raise DtypeError("a column of decimals, which this call does not take: cast it")
            self.readonly = True
        elif hasattr(x, "__dlpack__"):
            kind, number = x.__dlpack_device__()
            stream = _stream_to_wait_for(number) if kind == CUDA else None
            array, self.readonly, self._owner = read_dlpack(x, stream)
            if stream is not None:
                _wait_for({"stream": stream, "data": (array.data, False)})
        else:
            refuse_missing(x)
            made = x.__array__()
            refuse_rounded(x, made)
            return self._from_inner(made)
        name = NAMES[array.dtype]
        strides = [step * SIZES[name] for step in array.strides[: array.ndim]]
        return array.data, name, SIZES[name], array.shape[: array.ndim], strides, False

    def _from_inner(self, inner):
        self._owner = inner
        if not self._acquire(inner):
            raise DtypeError(f"{type(inner).__name__!r} has no memory to read")
        return self._from_buffer(None, None)

    def _from_buffer(self, _, wanted):
        buffer = self._buffer
        shape = buffer.shape[: buffer.ndim] if buffer.ndim else []
        if buffer.format == b"O":
            return self._from_objects(shape)
        strides = _contiguous(shape, buffer.itemsize)
        if buffer.strides:
            strides = buffer.strides[: buffer.ndim]
        text, size = (buffer.format or b"B").decode(), buffer.itemsize
        if size == 0 and text.lstrip("<>=!@") in KIND_OF_CODE:
            size = struct.calcsize(text)  # ctypes of Python 3.9 does not say it of an array without elements
        name, foreign = _format_name(text, size, wanted)
        return buffer.buf, name, size, shape, strides, foreign

    def _from_objects(self, shape):
        objects = _numpy().ravel(getattr(self, "_owner", self._object))  # their buffers are NumPy's alone
        self._owner = _ints_of_objects(objects.tolist())
        self.readonly = True
        return ctypes.addressof(self._owner), "i128", 16, shape, _contiguous(shape, 16), False

    def _from_interface(self, interface, wanted):
        self.readonly = interface["data"][1] if isinstance(interface.get("data"), tuple) else True
        self._interface = interface
        if not isinstance(interface.get("data"), tuple) or interface.get("mask") is not None:
            raise ArgumentError("an array interface without a plain data pointer, or with a mask")
        text, shape = interface["typestr"], list(interface["shape"])
        name = None if wanted and text[1:] == f"V{SIZES[wanted]}" else dtype_name(text)
        size = SIZES[name or wanted]
        strides = interface.get("strides") or _contiguous(shape, size)
        if len(strides) != len(shape):
            raise ArgumentError(f"an array interface of {len(shape)} extents and {len(strides)} strides")
        foreign = is_foreign(text[0], size)
        return interface["data"][0], name, size, shape, list(strides), foreign


def _ints_of_objects(objects):
    """Returns ints of Python as 128 bits each."""
    for each in objects:
        if type(each) is not int:
            raise DtypeError(
                f"objects of type {type(each).__name__!r} are no ints, and not supported: pyarrow.array() makes a"
                " column of objects that are decimals"
            )
    return wide_ints(objects)


_OTHER_WAYS = "__array_interface__", *ARROW, "__arrow_array__", "__dlpack__", "__array__"


def _is_bf16(x):
    """Whether x is an array of NumPy of bfloat16, which its buffer does not name."""
    return _library_of(x) == "numpy" and getattr(getattr(x, "dtype", None), "name", "") == "bfloat16"


def _dtypes_of(x):
    return list(x.dtypes) if hasattr(type(x), "dtypes") else [getattr(x, "dtype", None)]


def _is_plain(x):
    """Whether x is an object of pandas whose values are NumPy's: others may have NULLs."""
    return _library_of(x) == "pandas" and all(map(_is_numpys_dtype, _dtypes_of(x)))


def _is_numpys_dtype(dtype):
    kind = type(dtype)
    return kind.__module__.split(".")[0] == "numpy" or kind.__name__ in ("NumpyEADtype", "PandasDtype")


def refuse_rounded(x, made):
    """Refuses a table in whose one array integers of 64 bits have become floats."""
    dtypes = _dtypes_of(x)
    wide = any(getattr(dtype, "kind", "") in ("i", "u") and dtype.itemsize == 8 for dtype in dtypes)
    if wide and made.dtype.kind == "f":
        names = ", ".join(sorted({str(dtype) for dtype in dtypes}))
        raise DtypeError(f"columns of {names}: no dtype holds them all, so give one of them")


def refuse_missing(x):
    """Refuses missing values of which __array__ makes NaNs, in a dtype that may not hold the others."""
    if all(map(_is_numpys_dtype, _dtypes_of(x))) or not callable(getattr(x, "isna", None)):
        return
    missing = x.isna().__array__()
    if missing.any():
        raise ArgumentError(
            f"{missing.sum()} of {missing.size} elements are missing, and {type(x).__name__!r} gives no Arrow"
            " column that says which: give dropna()"
        )


def refuse_hidden(x):
    """Refuses objects whose values are not in their memory alone."""
    mask = getattr(x, "mask", None)
    if mask is not None and not callable(mask):  # pandas has a method of this name
        raise ArgumentError("a masked array: give compressed(), filled() or data, which have no mask")
    dtype = getattr(x, "dtype", None)
    if are_times(x):
        raise TimesError(f"this call does not take times: {dtype or x.type}")
    if getattr(dtype, "kind", None) == "c":
        raise DtypeError(f"data of dtype {x.dtype} are not supported")
    if type(dtype).__name__ == "SparseDtype":  # pandas
        raise DtypeError(f"sparse data ({dtype}): give their dense form, numpy.asarray()")
    if hasattr(x, "is_neg") and x.is_neg():  # PyTorch: a view that is negated when it is read
        raise ArgumentError("a tensor with its negative bit set: give resolve_neg()")


def _cuda_interface(x):
    """Returns the interface of an array on a GPU, or None: bfloat16 has no name there, but in DLPack. An
    object may raise an error of its own, as a tensor that requires grad does."""
    try:
        interface = x.__cuda_array_interface__
    except (AttributeError, KeyError):
        return None
    is_raw = interface["typestr"][1:] == "V2" and hasattr(x, "__dlpack__")
    return None if is_raw else interface


@functools.lru_cache(maxsize=None)
def _driver():
    try:
        return ctypes.CDLL("libcuda.so.1")  # an array's owner has loaded it
    except OSError as error:
        raise DeviceError(f"no driver to wait for a GPU's array with: {error}") from None


def _stream_to_wait_for(gpu):
    """Returns a stream of this thread on a GPU, where nothing works: a library that makes an array ready there says so
    of its own stream alone."""
    found = _local.__dict__.setdefault("ready", {})
    if gpu not in found:
        driver, device, context, stream = _driver(), c_int(), c_void_p(), c_void_p()
        failed = (
            driver.cuDeviceGet(byref(device), c_int(gpu))
            or driver.cuDevicePrimaryCtxRetain(byref(context), device)
            or driver.cuCtxPushCurrent_v2(context)
        )
        if not failed:
            failed = driver.cuStreamCreate(byref(stream), 1)  # it does not wait for the default stream
            driver.cuCtxPopCurrent_v2(byref(context))
        if failed:
            raise DeviceError(f"no stream can be made on cuda:{gpu}: CUDA error {failed}")
        found[gpu] = stream.value
    return found[gpu]


def _wait_for(interface):
    """Waits for the stream that the interface names, as its protocol requires; None: for no stream.
    Versions before 3 name no stream, so this waits for all: what has DLPack, too, comes by that. The array's owner need not wait for
    bitfold, whose calls have ended when they return."""
    stream = interface.get("stream", "all")
    if stream == 0:
        raise ArgumentError("__cuda_array_interface__: stream 0 has no one meaning")
    if stream is None or not interface["data"][0]:
        return
    driver, owner = _driver(), c_void_p()
    driver.cuPointerGetAttribute(byref(owner), 1, c_void_p(interface["data"][0]))
    if owner:
        driver.cuCtxPushCurrent_v2(owner)
    failed = driver.cuCtxSynchronize() if stream == "all" else driver.cuStreamSynchronize(
        c_void_p(stream)
    )
    if owner:
        driver.cuCtxPopCurrent_v2(byref(owner))
    if failed:
        raise DeviceError(f"the array's stream cannot be waited for: CUDA error {failed}")


def _format_name(text, size, wanted):
    order, code = (text[0], text[1:]) if text[:1] in ("<", ">", "=", "!", "@") else ("@", text)
    kind = KIND_OF_CODE.get(code)
    name = BY_KIND.get(f"{kind}{size}")
    is_raw = code.lstrip("0123456789") == "x"
    if name is None and not (is_raw and wanted and SIZES[wanted] == size):
        raise DtypeError(f"data of format {text!r} are not supported")
    return name, is_foreign(">" if order == "!" else order, size)


def _reinterpret(name, wanted, size, shape, strides):
    """Returns the same memory as dtype `wanted`: raw elements (name None), bf16 in 16-bit integers, or
    any dtype in bytes."""
    if name not in (None, "u8", "i8") and (wanted != "bf16" or name not in ("u16", "i16")):
        raise DtypeError(f"the data are {name}: dtype={wanted!r} converts nothing")
    if SIZES[wanted] == size:
        return wanted, size, shape, strides
    if size != 1 or len(shape) != 1 or (strides[0] != 1 and shape[0] > 1):
        raise DtypeError(f"dtype={wanted!r} fits data of its own size or contiguous bytes only")
    count, rest = divmod(shape[0], SIZES[wanted])
    if rest:
        raise ShapeError(f"{shape[0]} bytes are not a whole number of {wanted} elements")
    return wanted, SIZES[wanted], [count], [SIZES[wanted]]


def _contiguous(shape, size):
    strides = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= extent
    return strides


def _are_whole(shape, strides, size):
    """Whether the strides, in bytes, are of whole elements, where there are several."""
    return all(extent < 2 or stride % size == 0 for extent, stride in zip(shape, strides))


def _copied(pointer, name, shape, strides, foreign):
    """Returns a copy of elements of any strides and byte order, and its memory."""
    size = SIZES[name]
    how = _copied_by_numpy if _numpy() and pointer else _copied_by_bytes
    address, memory = how(pointer or 0, name, shape, strides, foreign)
    return _array(address, name, size, shape, _contiguous(shape, size)), memory


class _Memory:
    """Memory for NumPy."""

    def __init__(self, **interface):
        self.__array_interface__ = {"version": 3, **interface}


def _copied_by_numpy(pointer, name, shape, strides, foreign):
    kind, other = TYPESTR[name][1:], ">" if sys.byteorder == "little" else "<"
    memory = _Memory(
        data=(pointer, True), shape=tuple(shape), strides=tuple(strides),
        typestr=(other if foreign else "=") + kind,
    )  # fmt: skip
    made = _numpy().array(memory, "=" + kind, order="C")
    return made.__array_interface__["data"][0], made


def _copied_by_bytes(pointer, name, shape, strides, foreign):
    """Copies by the library, ten times slower: the bytes are an array with one more dimension, which lies
    backwards if the order is the other one."""
    from ._map import copy_array

    size = SIZES[name]
    memory = ctypes.create_string_buffer(max(math.prod(shape) * size, 1))
    address, bytes_of = ctypes.addressof(memory), [*shape, size]
    given = _array(
        pointer + (size - 1 if foreign else 0), "u8", 1, bytes_of, [*strides, -1 if foreign else 1]
    )
    copy_array(given, _array(address, "u8", 1, bytes_of, _contiguous(bytes_of, 1)))
    return address, memory


def _array(pointer, name, size, shape, strides):
    if len(shape) > MAX_DIMS:
        raise ShapeError(f"{len(shape)} dimensions; bitfold takes up to {MAX_DIMS}")
    array = Array(pointer, DTYPES[name], len(shape))
    for i, (extent, stride) in enumerate(zip(shape, strides)):
        step = stride // size if extent > 1 else 1  # with fewer than two elements it is never used
        if not (-(1 << 63) <= step < 1 << 63 and extent < 1 << 63):  # ctypes takes it modulo 2^64
            raise ShapeError(f"{extent} elements, {stride} bytes apart: no memory is so large")
        array.shape[i] = extent
        array.strides[i] = step
    return array


def to_python(value):
    """Returns a bf_value as bool, int or float; of a scale as the decimal that it stands for."""
    held = value.as_
    if value.scale:
        from decimal import Decimal  # it takes long to load

        text = ctypes.create_string_buffer(VALUE_TEXT)
        lib.bf_value_format(byref(value), text)
        return Decimal(text.value.decode())
    if value.dtype == I192:
        return int.from_bytes(bytes(held.i192), sys.byteorder, signed=True)
    name = NAMES[value.dtype]
    if name == "f64":
        return held.f64
    if name == "f32":
        return held.f32
    if name == "f16":
        return struct.unpack("e", struct.pack("H", held.bits))[0]
    if name == "bf16":
        return struct.unpack("f", struct.pack("I", held.bits << 16))[0]
    if name == "bool":
        return bool(held.i64)
    return held.u64 if name.startswith("u") else held.i64


@functools.lru_cache(maxsize=None)
def _numpy():
    """Returns the module, imported when first needed, or None if it is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def new_array(name, shape):
    """Returns memory for results that are of no caller's kind: a NumPy array, or a Result if NumPy is not
    installed. In NumPy's bf16 is u16, with the same bits."""
    numpy = _numpy()
    return new_result(name, shape) if numpy is None else numpy.empty(shape, TYPESTR[name])


def parts_of(name):
    """Returns what bitfold._native makes arrays of NumPy or CuPy with: their type, a function, dtypes by number, and
    a function that gives the number of the current GPU."""
    library = sys.modules[name]
    dtypes = {DTYPES[name]: library.dtype(text) for name, text in TYPESTR.items()}
    device = library.cuda.runtime.getDevice if name == "cupy" else None
    return library.ndarray, library.empty, dtypes, device


# ---- memory for results ---------------------------------------------------------------------------

lib.bf_memory_copy.restype = c_int
lib.bf_memory_copy.argtypes = [c_void_p, c_void_p, c_void_p, ctypes.c_size_t]


def _library_of(x):
    """The name of the library that an array is of."""
    return type(x).__module__.split(".")[0]


def _new_torch(device, bf16, name, shape):
    import torch

    long_name = bf16 if name == "bf16" else next(l for l, n in LONG_NAMES.items() if n == name)
    return torch.empty(shape, dtype=getattr(torch, long_name), device=device)


def _new_cupy(device, name, shape):
    import cupy

    with device:
        return cupy.empty(shape, TYPESTR[name])


def is_numpys(x):
    """Whether results for the caller of x are NumPy's: x is of NumPy or pandas, or has an interface of
    NumPy's and none of Arrow's, or is a list, or there is no x."""
    if x is None or is_list(x) or _library_of(x) in ("numpy", "pandas"):
        return True
    is_arrow = any(hasattr(x, name) for name in ARROW)
    return not is_arrow and any(hasattr(x, name) for name in _OF_NUMPY)


_OF_NUMPY = "__array_interface__", "__cuda_array_interface__", "__array__"


def maker_of(x):
    """Returns a function of a dtype's name and a shape that makes arrays of the kind of x: of CuPy or
    PyTorch, where x has its memory; of NumPy; or a Result, which all others can take."""
    kind = _library_of(x)
    if kind == "torch":  # the bits of bf16 may be in an int16
        bf16 = "bfloat16" if str(x.dtype) == "torch.bfloat16" else "int16"
        return functools.partial(_new_torch, x.device, bf16)
    if kind == "cupy":
        return functools.partial(_new_cupy, x.device)
    return new_array if is_numpys(x) else new_result


def new_like(x, name, shape):
    """Makes an array of dtype `name` of the kind of x."""
    return maker_of(x)(name, shape)


def copied_like(x, name, shape, address):
    """Makes an array of the kind of x, of elements in the host's memory."""
    target, size = Target(x, name, shape), SIZES[name]
    for extent in shape:
        size *= extent
    _call(lib.bf_memory_copy, target.array.data, address, size)
    return target.made


def objects_of(made):
    """Returns an array of NumPy's of what the elements of a Result are; without NumPy, the Result."""
    numpy = _numpy()
    if numpy is None:
        return made
    objects = numpy.empty(made.shape, object)
    objects[...] = made.tolist()
    return objects


def first_of(made, n):
    """The first n elements of an array; of few, without the memory of the others."""
    cut = made[:n]
    copy = getattr(cut, "clone", None) or getattr(cut, "copy", None)  # tensors have one; a memoryview has none
    return cut if 2 * n > len(made) or not copy else copy()


class Target:
    """An array for results, and its memory as a bf_array: `out`, or a new one. scale: that of decimals (None: they
    are none). Decimals and i128 are a Result; for a caller of NumPy's, an array of objects is made of them."""

    def __init__(self, x, name, shape, scale=None, out=None):
        self._name, self._objects, self._out = name, False, out
        if out is not None:
            self._made, self._view = out, writable(out, name, scale)
            self.array = self._view.array
            extents = self.array.shape[: self.array.ndim]
            if extents != list(shape):
                raise ShapeError(f"the result has shape {list(shape)}, the output {extents}")
            return
        if scale or name == "i128":
            self._made = new_result(name, shape, scale=scale or 0)
            self._objects = is_numpys(x)
            self.array = self._made._array()
        else:
            self._made = new_like(x, name, shape)
            self._view = View(self._made, dtype_in(name))
            self.array = self._view.array

    @property
    def made(self):
        """The array, when it is filled."""
        return self._for_caller(self._made)

    def first(self, n):
        """Its first n elements."""
        return self._for_caller(first_of(self._made, n))

    def _for_caller(self, made):
        return objects_of(made) if self._objects else made

    def result(self, number=False):
        """The array. Of no dimensions and in the host's memory it is a number; a tensor of PyTorch or
        an array of CuPy, which may be on a GPU, only if `number`."""
        if self._out is not None:
            return self._out
        on_host = _library_of(self._made) not in ("torch", "cupy")
        return self._number() if self.array.ndim == 0 and (on_host or number) else self.made

    def _number(self):
        """The only element as a bool, int or float."""
        held = self._made.item() if hasattr(self._made, "item") else self._made[()]
        if self._name in ("bf16", "f16") and isinstance(held, int):
            bits = Value(DTYPES[self._name])
            bits.as_.bits = held & 0xFFFF
            return to_python(bits)
        return held


def writable(out, name, scale=None):
    """Returns a view of an array that results of dtype `name` (None: of any) are written to."""
    if scale or name == "i128" or are_times(out):
        raise DtypeError("no out takes results that are decimals, i128 or times")
    view = View(out, dtype_in(name))
    if view.readonly:
        raise ArgumentError("out is read-only")
    if name not in (None, view.dtype):
        raise DtypeError(f"the result is {name}, the output {view.dtype}")
    return view


def in_units(number, name, scale=None):
    """Returns a number in units of 10^-scale, for a dtype `name` of integers."""
    if not scale or name.startswith("f"):
        return number
    from fractions import Fraction  # it takes long to load

    units = Fraction(number) * 10**scale
    if units.denominator != 1:
        raise ArgumentError(f"{number} has more than {scale} digits behind the point")
    return units.numerator


def value_of(number, name, scale=None):
    """Returns a number as a bf_value of dtype `name`; of a scale, an integer in units of 10^-scale."""
    value, number = Value(DTYPES[name]), in_units(number, name, scale)
    if name == "i128":
        value.dtype = I192
        value.as_.i192 = (ctypes.c_uint64 * 3).from_buffer_copy(
            operator.index(number).to_bytes(24, sys.byteorder, signed=True)
        )
    elif name == "f64":
        value.as_.f64 = number
    elif name == "f32":
        value.as_.f32 = number
    elif name == "f16":
        (value.as_.bits,) = struct.unpack("H", struct.pack("e", number))
    elif name == "bf16":
        (bits,) = struct.unpack("I", struct.pack("f", number))
        is_nan = number != number
        value.as_.bits = 0x7FC0 if is_nan else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    elif name in ("u64", "u32", "u16", "u8"):
        value.as_.u64 = whole(number, ctypes.c_uint64)
    else:
        value.as_.i64 = whole(number)
    return value
