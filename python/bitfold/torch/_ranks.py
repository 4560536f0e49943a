"""Exact sums over the ranks of torch.distributed: those of its process groups."""

import torch
import torch.distributed as dist

import bitfold

from ._operators import define

_comms: dict = {}


def _comm_of(group, device):
    """Returns the communicator of a process group (None: the default one) for tensors on such devices, which
    its ranks make together."""
    group = dist.group.WORLD if group is None else group
    if (group, device.type) not in _comms:
        context = bitfold.Context(f"cuda:{device.index}") if device.type == "cuda" else None
        _comms[group, device.type] = bitfold.Comm.of_torch(group, context)
    return _comms[group, device.type]


def all_reduce(tensor, op=dist.ReduceOp.SUM, group=None):
    """Replaces a tensor by the sum over the ranks of a group (None: all), element by element: exact, and
    rounded once. It takes the place of torch.distributed.all_reduce.

    The tensor is contiguous. On GPUs the sum of floats is enqueued on the current stream.

    Errors: ArgumentError (another op), CommError (ranks disagree: on a GPU at the next call).
    """
    if op != dist.ReduceOp.SUM:
        raise bitfold.ArgumentError(f"all_reduce adds, and has no {op}")
    tensor = tensor.detach()  # shares the memory and has no gradient
    _comm_of(group, tensor.device).allreduce(tensor, out=tensor)


def allreduce_hook(group, bucket):
    """A communication hook for DistributedDataParallel that averages gradients: their exact sum over the ranks,
    rounded once, and then divided.

        model.register_comm_hook(None, bitfold.torch.allreduce_hook)
    """
    gradients = bucket.buffer()
    all_reduce(gradients, group=group)
    gradients.div_(dist.get_world_size(group))
    done = torch.futures.Future(devices=[gradients.device] if gradients.is_cuda else [])
    done.set_result(gradients)
    return done


def _group_of(name):
    return dist.distributed_c10d._resolve_process_group(name) if name else None


def _keep(ctx, inputs, output):
    ctx.group = inputs[1]


define(
    "allreduce", '(Tensor x, str group="") -> Tensor',
    lambda x, group="": _comm_of(_group_of(group), x.device).allreduce(x.detach().contiguous()),
    lambda x, group="": torch.empty_like(x, memory_format=torch.contiguous_format),
    lambda ctx, grad: (torch.ops.bitfold.allreduce(grad, ctx.group), None), _keep,
)  # fmt: skip
