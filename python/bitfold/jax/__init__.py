"""Functions of JAX arrays, for jax.jit, jax.grad and jax.vmap.

    >>> import jax, bitfold.jax
    >>> jax.jit(bitfold.jax.sum)(jax.numpy.array([1e8, 1, -1e8]))
    Array(1., dtype=float32)

They are targets of JAX's FFI, on CPUs and on GPUs of CUDA, and give the same bits everywhere: the exact value,
rounded once.

    sum          (x, axis=None, keepdims=False, *, dtype=None)
    dot          (a, b, axis=None, keepdims=False, *, dtype=None), of one shape and dtype
    index_add    (m, index, values, *, dtype=None): the sums of the rows of each of m slots; row i is in slot
                 index[i]. An index that is no slot is an error
    segment_sum  (data, segment_ids, num_segments, *, dtype=None): the same as jax.ops.segment_sum has it. Rows
                 whose index is no segment are left out
    sort         (x, axis=-1, *, descending=False); -0 is before +0, and NaN is greater than all others

Without dtype, sums of float64 are float64, and of other floats float32; dtype is one of these two. Sums of
integers and bools have the 64 bits, or the 32 bits, that JAX's integers have (jax_enable_x64), and one that
does not fit is an error. axis, m and num_segments are static.

What is wrong with shapes and dtypes raises bitfold's exceptions when JAX traces the call; what is wrong with the
data raises jax.errors.JaxRuntimeError when it runs. All functions have gradients of any order in reverse mode, whose
own sums are exact, too.

On a GPU, calls go to XLA's stream. Sums of floats are enqueued, along axes and by segment_sum, and so are dot of
floats and sort along the last axis, which waits for a first pass over more than 2^20 floats. All else waits for
that stream: sums of integers, index_add and sort along other axes. XLA captures none of them in a command buffer.
An array that is sharded over devices is gathered first.
"""

from ._functions import dot, index_add, segment_sum, sort, sum

__all__ = ["dot", "index_add", "segment_sum", "sort", "sum"]
