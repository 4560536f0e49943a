"""Trains one small model to the same bits on 1, 2 or 4 ranks, by a communication hook for PyTorch's
DistributedDataParallel that adds gradients exactly.

    torchrun --nproc-per-node 1 examples/torch_ddp.py
    torchrun --nproc-per-node 2 examples/torch_ddp.py
    torchrun --nproc-per-node 4 examples/torch_ddp.py --cuda

Each run prints the same hash of the parameters. A step has 4 micro-batches, whatever the ranks are:
each rank computes the gradients of 4 / ranks of them, one by one, and gives them as so many terms.
The sum of all 4 terms is exact and rounded once, so it does not depend on which rank had which term.

This does not make sums inside of a layer exact. Ranks that share one layer (tensor parallelism) add
partial sums that are rounded already, so their number shows. Nor does it make PyTorch's kernels
deterministic, or equal on different devices.
"""

import argparse
import hashlib
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import bitfold

MICRO_BATCHES = 4  # a step has so many, on all ranks together


class ExactGradients:
    """The state of a hook that averages the gradients of a step's micro-batches over all ranks."""

    def __init__(self, comm, micro_batches):
        self.comm = comm
        self.micro_batches = micro_batches  # all ranks have so many
        self.terms = {}  # parameter: its gradients so far in this step
        self.last = False  # this is the rank's last micro-batch of the step

    def average(self, bucket):
        """The hook: keeps the gradients of a bucket; in the last micro-batch, gives the average of all."""
        gradients = bucket.buffer()
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients()):
            self.terms.setdefault(parameter, []).append(gradient.detach().clone().flatten())
        if self.last:  # DDP may have moved parameters between buckets since the first micro-batch
            columns = [self.terms.pop(parameter) for parameter in bucket.parameters()]
            terms = torch.stack([torch.cat(row) for row in zip(*columns)])
            gradients.copy_(self.add(terms).to(gradients.device) / self.micro_batches)
        done = torch.futures.Future()
        done.set_result(gradients)
        return done

    def add(self, terms):
        """Returns the exact sum of the first dimension of a tensor, over all ranks."""
        dtype = "bf16" if terms.dtype == torch.bfloat16 else None
        held = terms.view(torch.int16) if dtype else terms
        out = torch.empty_like(held[0])
        if held.is_cuda:  # read and written where they are
            self.comm.allreduce(held, out=out, terms=True, dtype=dtype)
        else:
            self.comm.allreduce(held.numpy(), out=out.numpy(), terms=True, dtype=dtype)
        return out.view(terms.dtype)


def main():
    parser = argparse.ArgumentParser(description="Train to the same bits on any number of ranks.")
    parser.add_argument("--cuda", action="store_true", help="rank r uses GPU r")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()

    dist.init_process_group("cpu:gloo,cuda:nccl" if options.cuda else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if MICRO_BATCHES % ranks:
        raise SystemExit(f"{MICRO_BATCHES} micro-batches are not shared out equally by {ranks} ranks")
    number = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", number) if options.cuda else torch.device("cpu")
    if options.cuda:
        torch.cuda.set_device(device)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # as PyTorch asks of CUDA
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    torch.manual_seed(0)

    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU(),
        torch.nn.Linear(128, 1),
    ).to(device)  # fmt: skip
    context = bitfold.Context(device=f"cuda:{number}" if options.cuda else "cpu")
    group = dist.new_group(backend="gloo")  # bitfold's ranks agree in host memory
    comm = bitfold.Comm.of_torch(group, context=context)
    hook = ExactGradients(comm, MICRO_BATCHES)
    wrapped = DistributedDataParallel(model, device_ids=[number] if options.cuda else None)
    wrapped.register_comm_hook(hook, ExactGradients.average)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    data = torch.Generator().manual_seed(1)  # all ranks draw the same batches
    mine = range(rank * MICRO_BATCHES // ranks, (rank + 1) * MICRO_BATCHES // ranks)
    for _ in range(options.steps):
        x = torch.randn(MICRO_BATCHES, 32, 64, generator=data).to(device)
        y = x.sin().sum(2, keepdim=True)
        for i in mine:
            hook.last = i == mine[-1]
            optimizer.zero_grad(set_to_none=True)  # a bucket holds one micro-batch's gradients
            torch.nn.functional.mse_loss(wrapped(x[i]), y[i]).backward()
        optimizer.step()

    parameters = torch.cat([p.detach().flatten() for p in model.parameters()]).cpu()
    if rank == 0:
        digest = hashlib.sha256(parameters.numpy().tobytes()).hexdigest()[:16]
        print(f"{ranks} ranks: parameters {digest} after {options.steps} steps")
    del comm, hook
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
