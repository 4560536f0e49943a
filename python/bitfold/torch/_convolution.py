"""Convolutions and their gradients as products of matrices."""

import math

import torch

from ._exact import Fibres, reduce


def matmul(a, b):
    """The matrices are read in place: along steps of 0 they are as large as all products together."""
    shape = [*a.shape[:-1], b.shape[-1], a.shape[-1]]
    a, b = a.unsqueeze(-2).expand(shape), b.mT.unsqueeze(-3).expand(shape)
    return reduce("dot", Fibres(shape, [-1]), [a, b], a.dtype)


class Convolution:
    """The form of one: stride, padding and dilation of each dimension, and the groups of channels. A weight
    has the shape (outer channels, inner channels of a group, *kernel)."""

    def __init__(self, weight, stride, padding, dilation, groups):
        self.weight, self.kernel, self.groups = weight, weight.shape[2:], groups
        n = len(self.kernel)
        of_each = [list(given) * (n if len(given) == 1 else 1) for given in (stride, padding, dilation)]
        self.stride, self.padding, self.dilation = of_each

    def reach(self):
        return [d * (k - 1) for d, k in zip(self.dilation, self.kernel)]

    def outer_size(self, inner):
        sizes = zip(inner, self.padding, self.reach(), self.stride)
        return [(n + 2 * p - r - 1) // s + 1 for n, p, r, s in sizes]

    def inner_size(self, outer, more):
        sizes = zip(outer, self.padding, self.reach(), self.stride, more)
        return [(n - 1) * s - 2 * p + r + 1 + o for n, p, r, s, o in sizes]

    def columns(self, x, size):
        """What the kernel meets at each place of the result: (groups, places, channels and kernel)."""
        x = torch.nn.functional.pad(x, [p for each in reversed(self.padding) for p in (each, each)])
        steps, n = x.stride(), len(size)
        moves = [t * s for t, s in zip(steps[2:], self.stride)] + [t * d for t, d in zip(steps[2:], self.dilation)]
        met = x.as_strided([*x.shape[:2], *size, *self.kernel], [*steps[:2], *moves], x.storage_offset())
        met = met.unflatten(1, (self.groups, x.shape[1] // self.groups))
        met = met.permute(1, 0, *range(3, 3 + n), 2, *range(3 + n, 3 + 2 * n))
        return met.reshape(self.groups, len(x) * math.prod(size), self.weight[0].numel())

    def outer(self, x, size):
        """The convolution of x, of this size."""
        weight = self.weight.reshape(self.groups, -1, self.weight[0].numel())
        made = matmul(self.columns(x, size), weight.mT)
        made = made.reshape(self.groups, len(x), math.prod(size), weight.shape[1])
        return made.permute(1, 0, 3, 2).reshape(len(x), len(self.weight), *size)

    def inner(self, y, size):
        """The transposed convolution of y, of this size: the gradient of what outer() takes."""
        apart = y.new_zeros([*y.shape[:2], *((n - 1) * s + 1 for n, s in zip(y.shape[2:], self.stride))])
        apart[(..., *(slice(None, None, s) for s in self.stride))] = y
        before = [r - p for r, p in zip(self.reach(), self.padding)]
        after = [n - m - b + r for n, m, b, r in zip(size, apart.shape[2:], before, self.reach())]
        apart = torch.nn.functional.pad(apart, [p for each in zip(before[::-1], after[::-1]) for p in each])
        weight = self.weight.unflatten(0, (self.groups, -1)).transpose(1, 2).flatten(0, 1)
        weight = weight.flip(list(range(2, weight.ndim)))
        return Convolution(weight, [1], [0], self.dilation, self.groups).outer(apart, size)

    def weights(self, x, y):
        """The gradient of the weight, where y is that of outer(x)."""
        places = y.unflatten(1, (self.groups, -1)).flatten(3).permute(1, 2, 0, 3).flatten(2)
        return matmul(places, self.columns(x, y.shape[2:])).reshape(self.weight.shape)


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    form = Convolution(weight, stride, padding, dilation, groups)
    if transposed:
        made = form.inner(x, form.inner_size(x.shape[2:], output_padding))
    else:
        made = form.outer(x, form.outer_size(x.shape[2:]))
    return made if bias is None else made + bias.reshape([-1] + [1] * len(form.kernel))


def convolution_backward(
    grad, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):  # fmt: skip
    form, size = Convolution(weight, stride, padding, dilation, groups), x.shape[2:]
    of_x = of_weight = of_bias = None
    if output_mask[0]:
        of_x = form.outer(grad, size) if transposed else form.inner(grad, size)
    if output_mask[1]:
        of_weight = form.weights(grad, x) if transposed else form.weights(x, grad)
    if output_mask[2]:
        of_bias = reduce("sum", Fibres(grad.shape, [0, *range(2, grad.ndim)]), [grad], grad.dtype)
    return of_x, of_weight, of_bias
