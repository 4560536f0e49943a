"""Communicators (bf_comm): ranks merge states, histograms and groups, and add arrays exactly."""

import ctypes
import weakref
from ctypes import CFUNCTYPE, POINTER, byref, c_int, c_int64, c_size_t, c_void_p

from ._arrays import NAMES, View, dtype_in, new_like
from ._dtypes import FLOATS
from ._library import (
    LEGACY_STREAM, Array, ArgumentError, DtypeError, _default_context, check, lib, native, sized, whole,
)  # fmt: skip

_EXCHANGE = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_int64), c_void_p, POINTER(c_int64))
_ADD = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int64)
_GATHER = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int64)


class _Carrier(ctypes.Structure):
    """bf_carrier"""

    _fields_ = [
        ("size", c_size_t), ("rank", c_int), ("ranks", c_int), ("arg", c_void_p),
        ("exchange", _EXCHANGE), ("add", _ADD), ("gather", _GATHER), ("merge", c_void_p),
        ("destroy", c_void_p),
    ]  # fmt: skip


_ARRAYS = POINTER(Array), POINTER(Array)
_SIGNATURES = {
    "create": (c_int, c_void_p, POINTER(_Carrier), POINTER(c_void_p)),
    "create_local": (c_int, POINTER(c_void_p), c_int, POINTER(c_void_p)),
    "destroy": (None, c_void_p),
    "merge_states": (c_int, c_void_p, POINTER(c_void_p), c_int),
    "merge_histogram": (c_int, c_void_p, c_void_p),
    "merge_many": (c_int, c_void_p, c_void_p),
    "merge_quantiles": (c_int, c_void_p, c_void_p),
    "exchange_groups": (c_int, c_void_p, c_void_p),
    "allreduce": (c_int, c_void_p, *_ARRAYS),
    "reduce_scatter": (c_int, c_void_p, *_ARRAYS),
    "reduce": (c_int, c_void_p, *_ARRAYS, c_int),
    "linked": (c_int, c_void_p),
    "allreduce_async": (c_int, c_void_p, *_ARRAYS),
    "reduce_scatter_async": (c_int, c_void_p, *_ARRAYS),
}  # fmt: skip
lib.declare({f"bf_comm_{name}": types for name, types in _SIGNATURES.items()})
lib.declare({"bf_context_set_stream": (c_int, c_void_p, c_void_p)})


def _memory(pointer, size):
    """Returns bytes of the library's memory as a memoryview, which is valid during the call."""
    held = (ctypes.c_char * size).from_address(pointer) if size else bytearray()
    return memoryview(held).cast("B")


def _context_of(gpu):
    from . import Context

    return Context(f"cuda:{gpu}")


def _destroy(handle, context):
    """Destroys a communicator. Its argument keeps the context alive until then."""
    lib.bf_comm_destroy(handle)


class Comm:
    """Ranks: processes or threads that each hold a part of the data. Every rank makes the same calls,
    in the same order. They fail on all ranks or on none.

    exchange(to, sizes, into, into_sizes) sends the next sizes[r] bytes of `to` to each rank r, and
    receives into_sizes[r] bytes from each into `into`, in the order of the ranks. `to` and `into` are
    memoryviews of bytes, the sizes lists of ints. gather(mine, all), which may be None, receives
    `mine` of every rank in `all`. add(words), which may be None, replaces a memoryview of i64 by the
    sums over all ranks.

    Comm() is one rank alone. of_mpi4py() and of_torch() make one of their communicators, local() those
    of threads.

    On GPUs that are `linked`, sums of tensors of floats by allreduce and reduce_scatter are enqueued on the
    stream on which PyTorch works, and nothing waits for them: every rank gives tensors on its GPU, of one
    shape and dtype. Ranks that do not agree, or that take no part, make the next call of this communicator
    raise CommError, or check().

    >>> ranks = bitfold.Comm.local([bitfold.Context(device="cpu")])
    >>> ranks[0].allreduce(numpy.array([1.0, 2]))
    array([1., 2.])
    """

    def __init__(self, exchange=None, rank=0, ranks=1, *, gather=None, add=None, context=None):
        carrier = sized(_Carrier)
        carrier.rank, carrier.ranks = whole(rank, c_int), whole(ranks, c_int)
        self._start(context)
        self._carry(carrier, exchange, gather, add)
        self.rank, self.ranks = carrier.rank, carrier.ranks
        self._context._call(
            lib.bf_comm_create, self._context._handle, byref(carrier), byref(self._handle)
        )

    def _start(self, context):
        self._context = context or _default_context()
        self._handle, self._stream = c_void_p(), None
        weakref.finalize(self, _destroy, self._handle, self._context)

    def _carry(self, carrier, exchange, gather, add):
        """Makes functions of the library's of Python's. An exception fails the call, which raises it."""
        context = self._context

        def guarded(function, *arguments):
            try:
                function(*arguments)
                return 0
            except BaseException as error:
                context._raised = error
                return 1

        def exchange_bytes(_, to, to_sizes, into, into_sizes):
            sizes = to_sizes[: carrier.ranks], into_sizes[: carrier.ranks]
            return guarded(
                exchange, _memory(to, sum(sizes[0])), sizes[0], _memory(into, sum(sizes[1])), sizes[1]
            )

        def gather_bytes(_, mine, everything, size):
            return guarded(gather, _memory(mine, size), _memory(everything, size * carrier.ranks))

        def add_words(_, words, count):
            return guarded(add, _memory(words, 8 * count).cast("q"))

        if exchange is not None:
            carrier.exchange = _EXCHANGE(exchange_bytes)
        if gather is not None:
            carrier.gather = _GATHER(gather_bytes)
        if add is not None:
            carrier.add = _ADD(add_words)
        self._carrier = carrier  # keeps the functions alive

    @classmethod
    def local(cls, contexts):
        """Returns a communicator for each of these contexts: threads of this process use one each."""
        contexts = list(contexts)
        handles = (c_void_p * len(contexts))(*(context._handle.value for context in contexts))
        made = (c_void_p * len(contexts))()
        check(lib.bf_comm_create_local(handles, len(contexts), made))
        comms = []
        for rank, context in enumerate(contexts):
            comm = cls.__new__(cls)
            comm._start(context)
            comm._handle.value = made[rank]
            comm.rank, comm.ranks = rank, len(contexts)
            comms.append(comm)
        return comms

    @classmethod
    def of_mpi4py(cls, mpi, context=None):
        """Returns the communicator of the ranks of an mpi4py communicator."""

        def exchange(to, sizes, into, into_sizes):
            mpi.Alltoallv([to, sizes, _begins(sizes), "B"], [into, into_sizes, _begins(into_sizes), "B"])

        def add(words):
            total = memoryview(bytearray(words.nbytes)).cast("q")
            mpi.Allreduce([words, "q"], [total, "q"])
            words[:] = total

        return cls(
            exchange, mpi.Get_rank(), mpi.Get_size(), add=add, context=context,
            gather=lambda mine, everything: mpi.Allgather([mine, "B"], [everything, "B"]),
        )  # fmt: skip

    @classmethod
    def of_torch(cls, group=None, context=None):
        """Returns the communicator of a process group of torch.distributed (None: the default one).
        The arrays may be on GPUs. Of a group that takes no tensors in host memory, as NCCL's, a group of
        gloo with the same ranks is made, and its context, if none is given, is the current GPU's."""
        import torch
        import torch.distributed as dist

        devices = dict(part.split(":") for part in dist.get_backend_config(group).split(","))
        if "cpu" not in devices:
            ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
            group = dist.new_group(ranks, backend="gloo", use_local_synchronization=True)
            context = context or _context_of(torch.cuda.current_device())

        def tensor(memory, dtype=torch.uint8):
            return torch.frombuffer(memory, dtype=dtype) if len(memory) else torch.empty(0, dtype=dtype)

        def exchange(to, sizes, into, into_sizes):
            dist.all_to_all_single(tensor(into), tensor(to), into_sizes, sizes, group=group)

        def gather(mine, everything):
            parts = list(tensor(everything).chunk(dist.get_world_size(group)))
            dist.all_gather(parts, tensor(mine), group=group)

        return cls(
            exchange, dist.get_rank(group), dist.get_world_size(group), gather=gather, context=context,
            add=lambda words: dist.all_reduce(tensor(words, torch.int64), group=group),
        )  # fmt: skip

    def __repr__(self):
        return f"Comm(rank={self.rank}, ranks={self.ranks})"

    def merge(self, *objects):
        """Merges states, many States, histograms and the passes of Quantiles: each becomes that of the
        data of all ranks. States travel in one message; many States of sums on linked GPUs are added there.
        Ordered states (argmin, describe, ...) have neighbouring indices: seek()."""
        from . import Histogram, Quantiles, State, States

        merges = {
            Histogram: lib.bf_comm_merge_histogram,
            States: lib.bf_comm_merge_many,
            Quantiles: lib.bf_comm_merge_quantiles,
        }
        states = [x for x in objects if isinstance(x, State)]
        others = [x for x in objects if isinstance(x, tuple(merges))]
        if len(states) + len(others) < len(objects):
            raise ArgumentError("states and histograms can be merged; groups are exchanged")
        if states or not objects:
            handles = (c_void_p * len(states))(*(state._handle.value for state in states))
            self._context._call(lib.bf_comm_merge_states, self._handle, handles, len(states))
        for x in others:
            self._context._call_with(x._context, merges[type(x)], self._handle, x._handle)

    def exchange(self, groups):
        """Shares the groups of all ranks out by the hash of their keys: each key ends on one rank, with
        all of its rows. Returns the groups. Their keys are numbers."""
        if groups._names is not None:
            raise DtypeError(f"groups of {groups.key} are not exchanged: their numbers differ from rank to rank")
        self._context._call_with(
            groups._context, lib.bf_comm_exchange_groups, self._handle, groups._handle
        )
        return groups

    def allreduce(self, x, out=None, *, terms=False, dtype=None):
        """Returns the sum of an array over all ranks, element by element: exact, and rounded once.

        terms: x is several arrays, one after another along its first dimension, all of which are
        added. out: the array to write, which may be x itself; None: a new one.
        """
        enqueued = None if terms or dtype else self._enqueue(lib.bf_comm_allreduce_async, x, out)
        if enqueued is not None:
            return enqueued
        view, into, out = self._arrays(x, out, terms, dtype)
        self._context._call(
            lib.bf_comm_allreduce, self._handle, byref(view.array), byref(into.array)
        )
        return out

    def reduce(self, x, out=None, root=0, *, terms=False, dtype=None):
        """Does the same for rank `root` alone; returns None on the others."""
        if self.rank != root:
            self._context._call(
                lib.bf_comm_reduce, self._handle, byref(View(x, dtype).array), None, whole(root, c_int)
            )
            return None
        view, into, out = self._arrays(x, out, terms, dtype)
        self._context._call(
            lib.bf_comm_reduce, self._handle, byref(view.array), byref(into.array), whole(root, c_int)
        )
        return out

    def reduce_scatter(self, x, out, *, dtype=None):
        """Writes rank r's part of the sums, the r-th of equal parts, to out. Returns it."""
        if dtype is None and self._enqueue(lib.bf_comm_reduce_scatter_async, x, out) is not None:
            return out
        view, into, out = self._arrays(x, out, False, dtype)
        self._context._call(
            lib.bf_comm_reduce_scatter, self._handle, byref(view.array), byref(into.array)
        )
        return out

    @property
    def linked(self):
        """Whether the GPUs of all ranks are linked, so that sums can be enqueued."""
        return bool(lib.bf_comm_linked(self._handle))

    def check(self):
        """Waits for the sums that were enqueued, and raises what went wrong."""
        self._context._call(lib.bf_context_synchronize, self._context._handle)

    def _enqueue(self, function, x, out):
        """Enqueues a sum of tensors on the stream of their library. Returns out, or None: it waits, as sums
        of integers do, which may not fit, or the arrays are others."""
        if not self.linked or native is None:
            return None
        arrays, owners = (Array(), Array()), []
        for each, array in zip((x, out), arrays):
            if each is None:
                each = out = new_like(x, NAMES[arrays[0].dtype], arrays[0].shape[: arrays[0].ndim])
            found = native.read_on_stream(each, array)
            if found is None or NAMES[array.dtype] not in FLOATS:
                return None
            owners.append(found)
        with self._context._lock:
            if owners[0][1] != self._stream:
                stream = owners[0][1] or LEGACY_STREAM
                self._context._check(lib.bf_context_set_stream(self._context._handle, stream))
                self._stream = owners[0][1]
            self._context._check(function(self._handle, *map(byref, arrays)))
        return out

    def _arrays(self, x, out, terms, dtype):
        """Returns the views of both arrays, and the second, which is new if out is None."""
        view = View(x, dtype)
        if out is None:
            out = new_like(x, view.dtype, view.array.shape[int(terms) : view.array.ndim])
        into = View(out, view.dtype if dtype else dtype_in(view.dtype))
        if into.readonly:
            raise ArgumentError("out is read-only")
        return view, into, out


def _begins(sizes):
    begins, at = [], 0
    for size in sizes:
        begins.append(at)
        at += size
    return begins
