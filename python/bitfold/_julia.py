"""Julia and Mandelbrot sets: julia() and palette_colors()."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p

from ._arrays import View, dtype_name, new_array, new_like, writable
from ._library import DTYPES, Array, ArgumentError, check, lib, sized, whole


class _Params(ctypes.Structure):
    """bf_julia_params"""

    _fields_ = [
        ("size", c_size_t), ("dtype", c_int), ("mandelbrot", c_int), ("width", c_int64),
        ("height", c_int64), ("iterations", c_int64), ("c_re", c_double), ("c_im", c_double),
        ("center_re", c_double), ("center_im", c_double), ("scale", c_double),
        ("escape", c_double),
    ]  # fmt: skip


lib.bf_julia_params_fill.argtypes = [POINTER(_Params)]
lib.bf_julia_params_fill.restype = c_int
lib.bf_julia.argtypes = [c_void_p, POINTER(_Params), c_int64, c_int64, POINTER(Array)]
lib.bf_julia.restype = c_int
lib.bf_palette_from_name.argtypes = [c_char_p]
lib.bf_palette_from_name.restype = c_int
lib.bf_palette_colors.argtypes = [c_int, c_int64, c_void_p, c_int64, c_void_p]
lib.bf_palette_colors.restype = c_int


def julia(width=1000, height=1000, c=-0.8 + 0.156j, *, mandelbrot=False, center=0j, scale=1.5,
          iterations=200, escape=1000, dtype="f32", x=0, y=0, out=None, context=None):
    """Returns the count of each pixel, an array of u16, height x width: the number, from 0, of the
    step after which its orbit escapes, or `iterations` if it does not. The counts are the same on
    every machine.

    out: an array of two dimensions in any memory, also a GPU's. It gets the part of the picture that
    begins at pixel (x, y) and has its shape.

    Errors: ArgumentError (a picture without pixels, or 0 or more than 65535 iterations).

    >>> bitfold.sum(bitfold.julia(40, 30))
    35214
    """
    from . import _default_context

    params = sized(_Params)
    check(lib.bf_julia_params_fill(byref(params)))
    name = dtype_name(dtype)
    if name not in ("f32", "f64"):
        raise ArgumentError(f"dtype is 'f32' or 'f64', not {dtype!r}")
    c, center = complex(c), complex(center)
    params.dtype, params.mandelbrot = DTYPES[name], bool(mandelbrot)
    params.width, params.height, params.iterations = whole(width), whole(height), whole(iterations)
    params.c_re, params.c_im, params.center_re, params.center_im = c.real, c.imag, center.real, center.imag
    params.scale, params.escape = scale, escape
    if out is None:
        if not (0 < width < 2**31 and 0 < height < 2**31):
            raise ArgumentError(f"a picture has 1 to 2147483647 pixels a side, not {width} x {height}")
        out = new_array("u16", [height - y, width - x])
    context = context or _default_context()
    to = writable(out, None)
    context._call(
        lib.bf_julia, context._handle, byref(params), whole(x), whole(y), byref(to.array)
    )
    return out


def palette_colors(palette, counts, iterations=200):
    """Returns red, green, blue and alpha of each count: an array of u8 with the shape of counts and
    a last dimension of 4. palette: "classic", "gray", "fire", "ocean" or "rainbow". counts:
    contiguous u16.

    Errors: ArgumentError (no such palette; counts that are not contiguous u16).

    >>> bitfold.palette_colors("fire", bitfold.julia(40, 30)).shape
    (30, 40, 4)
    """
    view = View(counts, None).array
    shape = list(view.shape[: view.ndim])
    if view.dtype != DTYPES["u16"]:
        raise ArgumentError("counts are u16")
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(view.strides[: view.ndim])):
        if extent > 1 and stride != expected:
            raise ArgumentError("counts are contiguous")
        expected *= extent
    rgba = new_like(counts, "u8", [*shape, 4])
    number = lib.bf_palette_from_name(palette.encode())
    if number < 0:
        raise ArgumentError(f"there is no palette {palette!r}")
    to = View(rgba).array.data
    check(lib.bf_palette_colors(number, whole(iterations), view.data, expected, to))
    return rgba
