"""The types of the module. Docstrings are in the module."""

import builtins
import os
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from datetime import timedelta
from typing import Any, Literal, NamedTuple, NoReturn, Protocol, TypedDict, TypeVar, overload

from typing_extensions import Buffer, Self, TypeAlias, Unpack

__version__: str

# ---- arrays --------------------------------------------------------------------------------------

class _HasArray(Protocol):
    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...

class _HasArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> Any: ...

class _HasCudaArrayInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...

class _HasDlpack(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> Any: ...

class _HasArrowArray(Protocol):
    def __arrow_c_array__(self, *args: Any, **kwargs: Any) -> Any: ...

class _HasArrowDeviceArray(Protocol):
    def __arrow_c_device_array__(self, *args: Any, **kwargs: Any) -> Any: ...

class _MakesArrowArray(Protocol):
    def __arrow_array__(self, *args: Any, **kwargs: Any) -> Any: ...

class _HasRead(Protocol):
    def read(self) -> str | bytes: ...

class _HasArrowStream(Protocol):
    def __arrow_c_stream__(self, *args: Any, **kwargs: Any) -> Any: ...

# Numbers, of which an array is made.
_Numbers: TypeAlias = (
    float | Sequence[float] | Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]]
)

# An object with memory, or numbers.
_ArrayLike: TypeAlias = (
    _Numbers
    | Buffer
    | _HasArray
    | _HasArrayInterface
    | _HasCudaArrayInterface
    | _HasDlpack
    | _HasArrowArray
    | _HasArrowDeviceArray
    | _HasArrowStream
    | _MakesArrowArray
)

# A table of pandas, Polars or pyarrow.
class _Table(Protocol):
    @property
    def columns(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, int]: ...

# A new array of the caller's kind: numpy.ndarray, torch.Tensor, cupy.ndarray or Result.
_Array: TypeAlias = Any

class _NumpyDtype(Protocol):
    @property
    def str(self) -> builtins.str: ...

class _TorchDtype(Protocol):
    @property
    def is_floating_point(self) -> bool: ...

# "f64", "float64", "f8", "<f8", numpy.dtype("f8"), numpy.float64, torch.float64
_Dtype: TypeAlias = str | type | _NumpyDtype | _TorchDtype
_Column: TypeAlias = _ArrayLike | Sequence[str | bytes | None]
_Keys: TypeAlias = _Column | Sequence[_Column]

# ---- options -------------------------------------------------------------------------------------

_Operation: TypeAlias = Literal[
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "skew",
    "kurtosis",
    "norm",
    "sumsq",
    "min",
    "max",
    "argmin",
    "argmax",
]
_PairOperation: TypeAlias = Literal[
    "dot", "cov", "corr", "slope", "intercept", "r2", "wmean", "wvar", "wstd"
]
_StateOperation: TypeAlias = Literal[_Operation, _PairOperation, "describe"]
_Nan: TypeAlias = Literal["propagate", "skip", "error"]
_Null: TypeAlias = Literal["error", "skip"]
_Overflow: TypeAlias = Literal["error", "wrap"]
_Method: TypeAlias = Literal[
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
]
_Number: TypeAlias = int | float
_Exact: TypeAlias = _Number | Any  # with a scale a decimal.Decimal: Any, so that others need no
                                   # cast
_Axis: TypeAlias = int | Sequence[int]

def check() -> None: ...

class _Rules(TypedDict, total=False):
    nan: _Nan
    out_dtype: _Dtype | None
    ddof: float
    correction: float | None
    bias: bool | None
    overflow: _Overflow
    scale: int
    reliability: bool
    check: Literal["now", "later"]

class _Options(_Rules, total=False):
    dtype: _Dtype | None
    null: _Null
    context: Context | None

class _OfMany(_Options, total=False):
    out: _ArrayLike | None
    fits: bool  # True: the result is a pair of arrays
    empty: _Number | None

class _Where(_Options, total=False):
    where: _ArrayLike

class _OfManyWhere(_OfMany, total=False):
    where: _ArrayLike

class _Weights(_Where, total=False):
    weights: _ArrayLike | None

class _OfManyWeights(_OfManyWhere, total=False):
    weights: _ArrayLike | None

class _OfManyWithWeights(_OfMany, total=False):
    weights: _ArrayLike | None

class _LineOptions(_Rules, total=False):
    null: _Null
    context: Context | None
    where: _ArrayLike

class _AverageOptions(_LineOptions, total=False):
    out: _ArrayLike | None

class _Initial(_Where, total=False):
    initial: _Exact | None

class _OfManyInitial(_OfManyWhere, total=False):
    initial: _Exact | None

# ---- reductions ----------------------------------------------------------------------------------

_Result = TypeVar("_Result", covariant=True)

class _Reduction(Protocol[_Result]):
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        axis: None = None,
        keepdims: Literal[False] = False,
        **options: Unpack[_Options],
    ) -> _Result: ...
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        axis: _Axis | None = None,
        keepdims: bool = False,
        **options: Unpack[_OfMany],
    ) -> _Array: ...

class _WithWhere(Protocol[_Result]):
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        axis: None = None,
        keepdims: Literal[False] = False,
        **options: Unpack[_Where],
    ) -> _Result: ...
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        axis: _Axis | None = None,
        keepdims: bool = False,
        **options: Unpack[_OfManyWhere],
    ) -> _Array: ...

class _WithWeights(Protocol[_Result]):
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        axis: None = None,
        keepdims: Literal[False] = False,
        **options: Unpack[_Weights],
    ) -> _Result: ...
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        axis: _Axis | None = None,
        keepdims: bool = False,
        **options: Unpack[_OfManyWeights],
    ) -> _Array: ...

class _WithInitial(Protocol[_Result]):
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        axis: None = None,
        keepdims: Literal[False] = False,
        **options: Unpack[_Initial],
    ) -> _Result: ...
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        axis: _Axis | None = None,
        keepdims: bool = False,
        **options: Unpack[_OfManyInitial],
    ) -> _Array: ...

sum: _WithInitial[_Exact]
prod: _WithInitial[_Number]
mean: _WithWeights[float]
var: _WithWeights[float]
std: _WithWeights[float]
skew: _WithWhere[float]
kurtosis: _WithWhere[float]
norm: _WithWhere[float]
sumsq: _WithWhere[_Exact]
min: _WithInitial[_Exact]
max: _WithInitial[_Exact]
argmin: _Reduction[int]
argmax: _Reduction[int]

@overload
def dot(
    a: _ArrayLike,
    b: _ArrayLike,
    axis: None = None,
    keepdims: Literal[False] = False,
    **options: Unpack[_Options],
) -> _Exact: ...
@overload
def dot(
    a: _ArrayLike,
    b: _ArrayLike,
    axis: _Axis | None = None,
    keepdims: bool = False,
    **options: Unpack[_OfMany],
) -> _Array: ...

class _OfPairs(Protocol):
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        y: _ArrayLike,
        axis: None = None,
        keepdims: Literal[False] = False,
        **options: Unpack[_Where],
    ) -> float: ...
    @overload
    def __call__(
        self,
        x: _ArrayLike,
        y: _ArrayLike,
        axis: _Axis | None = None,
        keepdims: bool = False,
        **options: Unpack[_OfManyWhere],
    ) -> _Array: ...

covariance: _OfPairs
correlation: _OfPairs

class LinregressResult(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    rsquared: Any

def linregress(
    x: _ArrayLike,
    y: _ArrayLike,
    axis: _Axis | None = None,
    keepdims: bool = False,
    *,
    dtype: _Dtype | None = None,
    **options: Unpack[_LineOptions],
) -> LinregressResult: ...
@overload
def average(
    a: _ArrayLike,
    axis: None = None,
    weights: _ArrayLike | None = None,
    returned: Literal[False] = False,
    *,
    keepdims: Literal[False] = False,
    dtype: _Dtype | None = None,
    **options: Unpack[_AverageOptions],
) -> float: ...
@overload
def average(
    a: _ArrayLike,
    axis: _Axis | None = None,
    weights: _ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
    dtype: _Dtype | None = None,
    **options: Unpack[_AverageOptions],
) -> Any: ...

def cov(
    m: _ArrayLike | _Table,
    y: _ArrayLike | _Table | None = None,
    rowvar: bool = True,
    *,
    fweights: _ArrayLike | None = None,
    aweights: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    context: Context | None = None,
    **options: Unpack[_Rules],
) -> Any: ...
def corrcoef(
    x: _ArrayLike | _Table,
    y: _ArrayLike | _Table | None = None,
    rowvar: bool = True,
    *,
    fweights: _ArrayLike | None = None,
    aweights: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    context: Context | None = None,
    **options: Unpack[_Rules],
) -> Any: ...
def vecdot(
    a: _ArrayLike, b: _ArrayLike, *, axis: _Axis = -1, **options: Unpack[_OfMany]
) -> _Array: ...

@overload
def count_nonzero(
    x: _ArrayLike,
    axis: None = None,
    keepdims: Literal[False] = False,
    *,
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> int: ...
@overload
def count_nonzero(
    x: _ArrayLike,
    axis: _Axis | None = None,
    keepdims: bool = False,
    *,
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> _Array: ...

class Description(NamedTuple):
    n: int
    nan: int
    inf: int
    min: _Exact | None
    argmin: int | None
    max: _Exact | None
    argmax: int | None
    sum: _Exact
    mean: float | None
    std: float | None

@overload
def describe(
    x: _Table,
    *,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
    **options: Unpack[_Rules],
) -> dict[Any, Description]: ...
@overload
def describe(
    x: _ArrayLike,
    *,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
    **options: Unpack[_Rules],
) -> Description: ...

# ---- many at once --------------------------------------------------------------------------------

class _OfSegments(Protocol):
    def __call__(
        self, x: _ArrayLike, offsets: _ArrayLike, **options: Unpack[_OfMany]
    ) -> _Array: ...

class _ByIndex(Protocol):
    def __call__(
        self, m: int, index: _ArrayLike, values: _ArrayLike, **options: Unpack[_OfMany]
    ) -> _Array: ...

class _SegmentsOfWeights(Protocol):
    def __call__(
        self, x: _ArrayLike, offsets: _ArrayLike, **options: Unpack[_OfManyWithWeights]
    ) -> _Array: ...

class _ByIndexWithWeights(Protocol):
    def __call__(
        self, m: int, index: _ArrayLike, values: _ArrayLike, **options: Unpack[_OfManyWithWeights]
    ) -> _Array: ...

segment_sum: _OfSegments
segment_prod: _OfSegments
segment_mean: _SegmentsOfWeights
segment_var: _SegmentsOfWeights
segment_std: _SegmentsOfWeights
segment_skew: _OfSegments
segment_kurtosis: _OfSegments
segment_norm: _OfSegments
segment_sumsq: _OfSegments
segment_min: _OfSegments
segment_max: _OfSegments
segment_argmin: _OfSegments
segment_argmax: _OfSegments
index_add: _ByIndex
index_prod: _ByIndex
index_mean: _ByIndexWithWeights
index_var: _ByIndexWithWeights
index_std: _ByIndexWithWeights
index_skew: _ByIndex
index_kurtosis: _ByIndex
index_norm: _ByIndex
index_sumsq: _ByIndex
index_min: _ByIndex
index_max: _ByIndex
index_argmin: _ByIndex
index_argmax: _ByIndex
def segment_covariance(
    x: _ArrayLike, y: _ArrayLike, offsets: _ArrayLike, **options: Unpack[_OfMany]
) -> _Array: ...
def segment_correlation(
    x: _ArrayLike, y: _ArrayLike, offsets: _ArrayLike, **options: Unpack[_OfMany]
) -> _Array: ...
def index_covariance(
    m: int, index: _ArrayLike, x: _ArrayLike, y: _ArrayLike, **options: Unpack[_OfMany]
) -> _Array: ...
def index_correlation(
    m: int, index: _ArrayLike, x: _ArrayLike, y: _ArrayLike, **options: Unpack[_OfMany]
) -> _Array: ...
def segment_dot(
    a: _ArrayLike, b: _ArrayLike, offsets: _ArrayLike, **options: Unpack[_OfMany]
) -> _Array: ...
def index_dot(
    m: int, index: _ArrayLike, a: _ArrayLike, b: _ArrayLike, **options: Unpack[_OfMany]
) -> _Array: ...
def reduce_runs(
    op: _Operation,
    keys: _ArrayLike,
    x: _ArrayLike,
    *,
    pairs: bool = False,
    dtype: _Dtype | None = None,
    context: Context | None = None,
    fits: bool = False,
    empty: _Number | None = None,
    **options: Unpack[_Rules],
) -> tuple[_Array, ...]: ...  # first, results and, with fits, what fits

# ---- states --------------------------------------------------------------------------------------

class _Mergeable:
    def __iadd__(self, other: Self) -> Self: ...
    def __add__(self, other: Self) -> Self: ...
    def merge(self, other: Self) -> Self: ...
    def save(self) -> bytes: ...
    @classmethod
    def load(cls, data: Buffer, context: Context | None = None) -> Self: ...

class StateInfo(NamedTuple):
    op: str
    dtype: str
    count: int  # type: ignore[assignment]
    nan: int
    inf: int
    next: int
    scale: int

class State(_Mergeable):
    def __init__(
        self,
        op: _StateOperation,
        dtype: _Dtype,
        context: Context | None = None,
        scale: int = 0,
    ) -> None: ...
    def absorb(
        self,
        x: _ArrayLike,
        y: _ArrayLike | None = None,
        *,
        dtype: _Dtype | None = None,
        null: _Null = "error",
    ) -> Self: ...
    def absorb_shards(
        self,
        x: Sequence[_ArrayLike],
        y: Sequence[_ArrayLike] | None = None,
        *,
        dtype: _Dtype | None = None,
    ) -> Self: ...
    def retract(self, other: Self) -> Self: ...
    def __isub__(self, other: Self) -> Self: ...
    def seek(self, index: int) -> Self: ...
    def result(
        self, op: _StateOperation | None = None, **options: Unpack[_Rules]
    ) -> Any: ...  # a number, or a Description
    def info(self) -> StateInfo: ...
    def words(self) -> _Array: ...
    def set_words(self, words: Buffer, parts: int = 1) -> Self: ...

class States(_Mergeable):
    op: str
    dtype: str
    def __init__(
        self,
        op: _StateOperation,
        dtype: _Dtype,
        count: int,
        context: Context | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def absorb(
        self,
        x: _ArrayLike,
        axis: _Axis | None = None,
        *,
        y: _ArrayLike | None = None,
        dtype: _Dtype | None = None,
        null: _Null = "error",
    ) -> Self: ...
    def absorb_segments(
        self,
        x: _ArrayLike,
        offsets: _ArrayLike,
        *,
        y: _ArrayLike | None = None,
        dtype: _Dtype | None = None,
        null: _Null = "error",
    ) -> Self: ...
    def absorb_index(
        self,
        x: _ArrayLike,
        index: _ArrayLike,
        *,
        y: _ArrayLike | None = None,
        dtype: _Dtype | None = None,
        null: _Null = "error",
    ) -> Self: ...
    def seek(self, index: int | Sequence[int]) -> Self: ...
    def append(self, other: States) -> Self: ...
    def clear(self) -> Self: ...
    def result(
        self,
        shape: Sequence[int] | None = None,
        *,
        op: _StateOperation | None = None,
        like: _ArrayLike | None = None,
        fits: bool = False,
        empty: _Number | None = None,
        **options: Unpack[_Rules],
    ) -> Any: ...
    def counts(self) -> _Array: ...

# ---- order ---------------------------------------------------------------------------------------

def sort(
    x: _ArrayLike,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    nan: _Nan = "propagate",
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
def argsort(
    x: _ArrayLike,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    nan: _Nan = "propagate",
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> _Array: ...
def cumulative_sum(
    x: _ArrayLike,
    *,
    axis: int | None = None,
    include_initial: bool = False,
    exclusive: bool = False,
    reverse: bool = False,
    nan: _Nan = "propagate",
    overflow: Literal["error", "wrap"] = "error",
    out_dtype: _Dtype | None = None,
    offsets: _ArrayLike | None = None,
    by: _ArrayLike | None = None,
    after: State | States | None = None,
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    check: Literal["now", "later"] = "now",
    context: Context | None = None,
) -> _Array: ...
def cumulative_prod(
    x: _ArrayLike,
    *,
    axis: int | None = None,
    include_initial: bool = False,
    exclusive: bool = False,
    reverse: bool = False,
    overflow: Literal["error", "wrap"] = "error",
    offsets: _ArrayLike | None = None,
    by: _ArrayLike | None = None,
    after: State | States | None = None,
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    check: Literal["now", "later"] = "now",
    context: Context | None = None,
) -> _Array: ...
def cumulative_min(
    x: _ArrayLike,
    *,
    axis: int | None = None,
    exclusive: bool = False,
    reverse: bool = False,
    nan: _Nan = "propagate",
    empty: float | None = None,
    offsets: _ArrayLike | None = None,
    by: _ArrayLike | None = None,
    after: State | States | None = None,
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    check: Literal["now", "later"] = "now",
    context: Context | None = None,
) -> _Array: ...
def cumulative_max(
    x: _ArrayLike,
    *,
    axis: int | None = None,
    exclusive: bool = False,
    reverse: bool = False,
    nan: _Nan = "propagate",
    empty: float | None = None,
    offsets: _ArrayLike | None = None,
    by: _ArrayLike | None = None,
    after: State | States | None = None,
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    check: Literal["now", "later"] = "now",
    context: Context | None = None,
) -> _Array: ...
# A span of times is a difference of times, such as numpy.timedelta64.
_Span: TypeAlias = float | timedelta | _HasArrayInterface

class Rolling:
    def __init__(
        self,
        x: _ArrayLike,
        window: int | None,
        on: _ArrayLike | None,
        span: _Span | None,
        min_count: int | None,
        center: bool,
        step: int,
        axis: int,
        nan: _Nan,
        dtype: _Dtype | None,
        check: Literal["now", "later"],
        context: Context | None,
    ) -> None: ...
    def sum(self, *, out_dtype: _Dtype | None = None) -> _Array: ...
    def mean(self, *, out_dtype: _Dtype | None = None) -> _Array: ...
    def var(self, *, ddof: Literal[0, 1] = 0, out_dtype: _Dtype | None = None) -> _Array: ...
    def std(self, *, ddof: Literal[0, 1] = 0, out_dtype: _Dtype | None = None) -> _Array: ...
    def skew(self, *, ddof: Literal[0, 1] = 0, out_dtype: _Dtype | None = None) -> _Array: ...
    def kurtosis(self, *, ddof: Literal[0, 1] = 0, out_dtype: _Dtype | None = None) -> _Array: ...
    def covariance(self, y: _ArrayLike, *, ddof: Literal[0, 1] = 1, out_dtype: _Dtype | None = None) -> _Array: ...
    def correlation(self, y: _ArrayLike, *, out_dtype: _Dtype | None = None) -> _Array: ...
    def min(self) -> _Array: ...
    def max(self) -> _Array: ...
    def median(self) -> _Array: ...
    def quantile(self, q: float | Iterable[float], *, method: _Method = "linear") -> _Array: ...
    def count(self) -> _Array: ...

def expanding(
    x: _ArrayLike,
    *,
    min_count: int = 1,
    axis: int = 0,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    check: Literal["now", "later"] = "now",
    context: Context | None = None,
) -> Rolling: ...
def rolling(
    x: _ArrayLike,
    window: int | None = None,
    *,
    on: _ArrayLike | None = None,
    span: _Span | None = None,
    min_count: int | None = None,
    center: bool = False,
    step: int = 1,
    axis: int = 0,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    check: Literal["now", "later"] = "now",
    context: Context | None = None,
) -> Rolling: ...
def sort_rows(
    keys: _ArrayLike,
    *payloads: _ArrayLike,
    descending: bool = False,
    nan: _Nan = "propagate",
    context: Context | None = None,
) -> None: ...
def segment_sort(
    x: _ArrayLike,
    offsets: _ArrayLike,
    *,
    descending: bool = False,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> _Array: ...
def segment_argsort(
    x: _ArrayLike,
    offsets: _ArrayLike,
    *,
    descending: bool = False,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> _Array: ...
def rank(
    x: _ArrayLike,
    axis: int | None = -1,
    *,
    method: Literal["average", "min", "max", "dense", "ordinal"] = "average",
    descending: bool = False,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> _Array: ...
def top(
    x: _ArrayLike,
    k: int,
    axis: int | None = -1,
    *,
    largest: bool = True,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> tuple[_Array, _Array]: ...
@overload
def median(
    x: _ArrayLike,
    axis: None = None,
    keepdims: Literal[False] = False,
    *,
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    out: None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> float: ...
@overload
def median(
    x: _ArrayLike,
    axis: _Axis | None = None,
    keepdims: bool = False,
    *,
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
@overload
def quantile(
    x: _ArrayLike,
    q: float,
    axis: None = None,
    keepdims: Literal[False] = False,
    *,
    method: _Method = "linear",
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    out: None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Number: ...
@overload
def quantile(
    x: _ArrayLike,
    q: float | Iterable[float],
    axis: _Axis | None = None,
    keepdims: bool = False,
    *,
    method: _Method = "linear",
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
@overload
def percentile(
    x: _ArrayLike,
    q: float,
    axis: None = None,
    keepdims: Literal[False] = False,
    *,
    method: _Method = "linear",
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    out: None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Number: ...
@overload
def percentile(
    x: _ArrayLike,
    q: float | Iterable[float],
    axis: _Axis | None = None,
    keepdims: bool = False,
    *,
    method: _Method = "linear",
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    out: _ArrayLike | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
def segment_median(
    x: _ArrayLike,
    offsets: _ArrayLike,
    *,
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
def segment_quantile(
    x: _ArrayLike,
    q: float | Iterable[float],
    offsets: _ArrayLike,
    *,
    method: _Method = "linear",
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
def index_median(
    m: int,
    index: _ArrayLike,
    values: _ArrayLike,
    *,
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
def index_quantile(
    m: int,
    index: _ArrayLike,
    values: _ArrayLike,
    q: float | Iterable[float],
    *,
    method: _Method = "linear",
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
def group_median(
    keys: _ArrayLike,
    values: _ArrayLike,
    *,
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> tuple[_Array, _Array]: ...
def group_quantile(
    keys: _ArrayLike,
    values: _ArrayLike,
    q: float | Iterable[float],
    *,
    method: _Method = "linear",
    nan: _Nan = "propagate",
    empty: _Number | None = None,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> tuple[_Array, _Array]: ...
def nth(
    x: _ArrayLike,
    n: int | Sequence[int],
    axis: _Axis | None = -1,
    keepdims: bool = False,
    *,
    descending: bool = False,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
def searchsorted(
    sorted: _ArrayLike,
    x: _ArrayLike,
    side: Literal["left", "right"] = "left",
    *,
    descending: bool = False,
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> _Array: ...
def is_sorted(
    x: _ArrayLike,
    *,
    descending: bool = False,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> bool: ...
def unique(
    x: _Keys,
    *,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> tuple[_Array, _Array]: ...

class _UniqueInverse(NamedTuple):
    values: _Array
    inverse_indices: _Array

class _UniqueAll(NamedTuple):
    values: _Array
    indices: _Array
    inverse_indices: _Array
    counts: _Array

def unique_inverse(
    x: _ArrayLike,
    *,
    nan: Literal["propagate", "error"] = "propagate",
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> _UniqueInverse: ...
def unique_all(
    x: _ArrayLike,
    *,
    nan: Literal["propagate", "error"] = "propagate",
    dtype: _Dtype | None = None,
    context: Context | None = None,
) -> _UniqueAll: ...

class _UniqueCounts(NamedTuple):
    values: _Array
    counts: _Array

def unique_counts(
    x: _Keys,
    *,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _UniqueCounts: ...
def unique_values(
    x: _Keys,
    *,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...
def mode(
    x: _ArrayLike,
    *,
    nan: _Nan = "propagate",
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> tuple[_Number, int]: ...

class Sorter:
    dtype: str
    def __init__(
        self,
        dtype: _Dtype,
        *,
        different: bool = False,
        beside: bool = False,
        descending: bool = False,
        nan: _Nan = "propagate",
        memory: int = 0,
        context: Context | None = None,
    ) -> None: ...
    def add(
        self, x: _ArrayLike, beside: _ArrayLike | None = None, *, null: _Null = "error"
    ) -> Self: ...
    def __len__(self) -> int: ...
    def next(self, n: int) -> Any: ...  # an array, or two
    def __iter__(self) -> Iterator[Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

class QuantilesInfo(NamedTuple):
    dtype: str
    to: str
    results: int
    pass_: int
    done: bool
    count: int  # type: ignore[assignment]
    all: int
    nan: int
    scale: int

class Quantiles(_Mergeable):
    def __init__(
        self,
        dtype: _Dtype,
        q: float | Sequence[float] | None = None,
        *,
        method: _Method = "linear",
        nan: _Nan = "propagate",
        empty: _Number | None = None,
        scale: int = 0,
        context: Context | None = None,
    ) -> None: ...
    def absorb(
        self, x: _ArrayLike, *, dtype: _Dtype | None = None, null: _Null = "error"
    ) -> Self: ...
    def next(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    def result(self) -> Any: ...  # a number, or a list of them
    def info(self) -> QuantilesInfo: ...

# ---- element-wise operations ---------------------------------------------------------------------

_MapOperation: TypeAlias = Literal[
    "add",
    "sub",
    "mul",
    "div",
    "min",
    "max",
    "fma",
    "neg",
    "abs",
    "sqrt",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "cast",
]

def map(
    op: _MapOperation,
    *inputs: _ArrayLike | _Number,
    out: _ArrayLike | None = None,
    to: _Dtype | None = None,
    overflow: Literal["error", "wrap", "saturate"] = "error",
    dtype: _Dtype | Sequence[_Dtype | None] | None = None,
    context: Context | None = None,
) -> Any: ...  # out, or a new array
def evaluate(
    text: str,
    *arrays: _ArrayLike | Mapping[str, _ArrayLike],
    out: _ArrayLike | None = None,
    overflow: Literal["error", "wrap", "saturate"] = "error",
    context: Context | None = None,
    **named: _ArrayLike,
) -> Any: ...  # out, or a new array
def reduce_expression(
    op: _Operation,
    text: str,
    *arrays: _ArrayLike | Mapping[str, _ArrayLike],
    nan: _Nan = "propagate",
    out_dtype: _Dtype | None = None,
    ddof: int = 0,
    overflow: Literal["error", "wrap"] = "error",
    context: Context | None = None,
    **named: _ArrayLike,
) -> Any: ...  # an int, a float or a bool
def result_dtype(op: _MapOperation, *dtypes: _Dtype | type[int] | type[float]) -> str: ...

# ---- histograms ----------------------------------------------------------------------------------

_Bins: TypeAlias = int | Literal["auto", "sturges"] | Iterable[float] | Buffer
_Range: TypeAlias = tuple[float, float] | Sequence[float]

def histogram(
    a: _ArrayLike,
    bins: _Bins = 10,
    range: _Range | None = None,
    weights: _ArrayLike | None = None,
    density: bool = False,
    *,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> tuple[_Array, _Array]: ...
def bincount(
    x: _ArrayLike,
    minlength: int = 0,
    *,
    dtype: _Dtype | None = None,
    null: _Null = "error",
    context: Context | None = None,
) -> _Array: ...

class HistogramInfo(NamedTuple):
    dtype: str
    weights: str | None
    edges: str
    bins: int
    count: int  # type: ignore[assignment]
    below: int
    above: int
    nan: int

class Histogram(_Mergeable):
    def __init__(
        self,
        dtype: _Dtype,
        bins: _Bins = 10,
        range: _Range | None = None,
        weights: _Dtype | None = None,
        context: Context | None = None,
    ) -> None: ...
    @classmethod
    def of(
        cls,
        x: _ArrayLike,
        bins: _Bins = 10,
        range: _Range | None = None,
        weights: _ArrayLike | None = None,
        *,
        dtype: _Dtype | None = None,
        null: _Null = "error",
        context: Context | None = None,
    ) -> Self: ...
    def absorb(
        self,
        x: _ArrayLike,
        weights: _ArrayLike | None = None,
        *,
        dtype: _Dtype | None = None,
        null: _Null = "error",
    ) -> Self: ...
    def retract(self, other: Self) -> Self: ...
    def __isub__(self, other: Self) -> Self: ...
    def clear(self) -> Self: ...
    def info(self) -> HistogramInfo: ...
    @property
    def below(self) -> int: ...
    @property
    def above(self) -> int: ...
    @property
    def nan(self) -> int: ...
    @property
    def counts(self) -> _Array: ...
    @property
    def edges(self) -> _Array: ...
    def weights(self) -> _Array: ...
    def density(self) -> _Array: ...

# ---- groups, joins and tables --------------------------------------------------------------------

class Groups(_Mergeable):
    key: str | builtins.list[str]
    aggregates: builtins.list[tuple[str, str]]
    def __init__(
        self,
        key: _Dtype | Sequence[_Dtype],
        aggregates: Iterable[tuple[str, _Dtype]] = (),
        seed: int = 0,
        context: Context | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def rows(self) -> int: ...
    def absorb(self, keys: _Keys, *values: _ArrayLike, null: _Null = "error") -> Self: ...
    def retract(self, other: Self) -> Self: ...
    def __isub__(self, other: Self) -> Self: ...
    def clear(self) -> None: ...
    def list(self) -> tuple[Any, _Array]: ...
    def result(self, which: int, *, fits: bool = False, **options: Unpack[_Rules]) -> _Array: ...
    def result_list(self, which: int, **options: Unpack[_Rules]) -> builtins.list[_Exact]: ...
    def shares(self, which: int, **options: Unpack[_Rules]) -> builtins.list[float]: ...

def join(
    a: _Keys,
    b: _Keys,
    seed: int = 0,
    context: Context | None = None,
    dtype: _Dtype | None = None,
) -> tuple[_Array, _Array]: ...

_Key: TypeAlias = _Number | str | bytes | tuple[_Number | str | bytes, ...]

class Table(_Mergeable):
    key: str | builtins.list[str]
    value: str | None
    duplicates: str
    def __init__(
        self,
        key: _Dtype | Sequence[_Dtype],
        value: _Dtype | None = None,
        duplicates: Literal["first", "last", "min", "max", "add", "keep"] = "first",
        reserve: int = 0,
        seed: int = 0,
        context: Context | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def insert(self, keys: _Keys, values: _ArrayLike | None = None) -> Self: ...
    def find(self, keys: _Keys) -> tuple[_Array, _Array]: ...
    def contains(self, keys: _Keys) -> _Array: ...
    def count(self, keys: _Keys) -> _Array: ...
    def find_all(self, keys: _Keys) -> tuple[_Array, _Array]: ...
    def erase(self, keys: _Keys) -> int: ...
    def export(self, like: _ArrayLike | None = None) -> tuple[Any, _Array | None]: ...
    def clear(self) -> None: ...
    def reserve(self, entries: int) -> None: ...
    def __contains__(self, key: _Key) -> bool: ...
    def __getitem__(self, key: _Key) -> Any: ...
    def __delitem__(self, key: _Key) -> None: ...
    def add(self, key: _Key, value: _Key | None = None) -> None: ...
    def copy(self, context: Context | None = None) -> Table: ...

# ---- pictures ------------------------------------------------------------------------------------

def julia(
    width: int = 1000,
    height: int = 1000,
    c: complex = ...,
    *,
    mandelbrot: bool = False,
    center: complex = 0j,
    scale: float = 1.5,
    iterations: int = 200,
    escape: float = 1000,
    dtype: Literal["f32", "f64"] = "f32",
    x: int = 0,
    y: int = 0,
    out: _ArrayLike | None = None,
    context: Context | None = None,
) -> Any: ...  # out, or a new array
def palette_colors(
    palette: Literal["classic", "gray", "fire", "ocean", "rainbow"],
    counts: _ArrayLike,
    iterations: int = 200,
) -> _Array: ...

# ---- results -------------------------------------------------------------------------------------

class Result:
    dtype: str
    shape: tuple[int, ...]
    scale: int
    @property
    def ndim(self) -> int: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __setitem__(self, key: Any, value: Any) -> NoReturn: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def tolist(self) -> Any: ...
    def copy(self) -> Result: ...

# ---- tables of text ------------------------------------------------------------------------------

class Column:
    name: str
    dtype: str
    scale: int
    nulls: int
    def __init__(
        self,
        name: str,
        dtype: str,
        n: int,
        buffers: tuple[int | None, ...],
        owner: Any,
        scale: int = 0,
        nulls: int = 0,
    ) -> None: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, i: Any) -> Any: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def tolist(self) -> builtins.list[Any]: ...
    def to_numpy(self) -> Any: ...

class Columns(Mapping[str, Column]):
    rows: int
    def __init__(self, columns: Iterable[Column], rows: int) -> None: ...
    def __getitem__(self, name: str) -> Column: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def keys(self) -> KeysView[str]: ...
    def values(self) -> ValuesView[Column]: ...
    def items(self) -> ItemsView[str, Column]: ...
    def get(self, key: str, default: Any = None) -> Any: ...
    def columns(self) -> builtins.list[Column]: ...
    def to_dict(self) -> dict[str, builtins.list[Any]]: ...

_Path: TypeAlias = str | bytes | os.PathLike[str] | _HasRead
_Names: TypeAlias = str | int | Sequence[str | int]
_Operations: TypeAlias = str | Sequence[str | float]

def read_csv(
    path: _Path | Sequence[_Path],
    columns: _Names | None = None,
    where: str | None = None,
    *,
    text: _Names | None = None,
    number: _Names | None = None,
    null: str | Iterable[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    comment: str | None = None,
    skip_lines: int | None = None,
    encoding: str | None = None,
    escape: str | None = None,
    thousands: str | None = None,
    decimal: str | None = None,
    lax: bool = False,
    format: str | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
) -> Columns: ...
def group(
    data: _Path | Sequence[_Path] | Mapping[str, Any] | _HasArrowStream,
    by: str | Sequence[str],
    *,
    where: str | None = None,
    null: _Null = "error",
    context: Context | None = None,
    **aggregates: _Operations,
) -> Columns: ...

class Dictionary(_Mergeable):
    def __init__(self, context: Context | None = None) -> None: ...
    def __len__(self) -> int: ...
    def encode(self, *columns: _Column) -> _Array: ...
    def find(self, *columns: _Column) -> _Array: ...
    def keys(self, numbers: _ArrayLike | None = None) -> Any: ...

# ---- where calls run -----------------------------------------------------------------------------

def isas() -> list[str]: ...

class Context:
    def __init__(
        self,
        device: str = "auto",
        isa: str = "auto",
        threads: int = 0,
        stream: int | None = None,
        memory: int = 0,
        spill: str | os.PathLike[str] | None = None,
    ) -> None: ...
    @property
    def device(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def isa(self) -> str: ...
    @property
    def threads(self) -> int: ...
    def watch(self, tick: Callable[[int], object] | None, every: float = 0.1) -> None: ...

class Comm:
    rank: int
    ranks: int
    @property
    def linked(self) -> bool: ...
    def check(self) -> None: ...
    def __init__(
        self,
        exchange: Callable[[memoryview, list[int], memoryview, list[int]], object] | None = None,
        rank: int = 0,
        ranks: int = 1,
        *,
        gather: Callable[[memoryview, memoryview], object] | None = None,
        add: Callable[[memoryview], object] | None = None,
        context: Context | None = None,
    ) -> None: ...
    @classmethod
    def local(cls, contexts: Iterable[Context]) -> list[Self]: ...
    @classmethod
    def of_mpi4py(cls, mpi: Any, context: Context | None = None) -> Self: ...
    @classmethod
    def of_torch(cls, group: Any = None, context: Context | None = None) -> Self: ...
    def merge(self, *objects: State | States | Histogram | Quantiles) -> None: ...
    def exchange(self, groups: Groups) -> Groups: ...
    def allreduce(
        self,
        x: _ArrayLike,
        out: _ArrayLike | None = None,
        *,
        terms: bool = False,
        dtype: _Dtype | None = None,
    ) -> _Array: ...
    def reduce(
        self,
        x: _ArrayLike,
        out: _ArrayLike | None = None,
        root: int = 0,
        *,
        terms: bool = False,
        dtype: _Dtype | None = None,
    ) -> _Array: ...
    def reduce_scatter(
        self, x: _ArrayLike, out: _ArrayLike, *, dtype: _Dtype | None = None
    ) -> _Array: ...

# ---- errors --------------------------------------------------------------------------------------

class Error(Exception):
    status: int
    message: str
    def __init__(self, message: str) -> None: ...

class ArgumentError(Error, ValueError): ...
class DtypeError(Error, TypeError): ...
class ShapeError(Error, ValueError): ...
class RangeError(Error, OverflowError): ...
class NanError(Error, ValueError): ...
class EmptyError(Error, ValueError): ...
class OutOfMemoryError(Error, MemoryError): ...
class StateError(Error, ValueError): ...
class DeviceError(Error, RuntimeError): ...
class CancelledError(Error): ...
class CommError(Error, RuntimeError): ...
class FileError(Error, OSError): ...
