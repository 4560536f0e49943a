"""Times sums over the ranks of torch.distributed, as PyTorch's users call them: microseconds a call, of bitfold and of
NCCL, which take turns.

    PYTHONPATH=python BITFOLD_LIBRARY=build/release/libbitfold.so torchrun --nproc-per-node 2 bench/allreduce_torch.py

A time is that of the slowest rank, of calls that follow each other on a stream; the median of turns is shown."""

import os
import statistics

import torch
import torch.distributed as dist

import bitfold.torch

TURNS = 11
SIZES = [3, 10, 13, 16, 20, 22, 24, 27, 30]  # powers of two, in bytes


def microseconds(call, x, count):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    dist.barrier()
    torch.cuda.synchronize()
    begin.record()
    for _ in range(count):
        call(x)
    end.record()
    end.synchronize()
    took = torch.tensor([begin.elapsed_time(end) / count * 1e3], device=x.device)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return took.item()


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    calls = bitfold.torch.all_reduce, dist.all_reduce
    if dist.get_rank() == 0:
        print("| bytes | dtype | bitfold | NCCL |")
        print("|---|---|---|---|")
    for dtype in (torch.float32, torch.bfloat16):
        for log in SIZES:
            x = torch.zeros((1 << log) // dtype.itemsize, device="cuda", dtype=dtype)
            count = max(2, min(50, (1 << 30) >> log))
            for call in calls:
                microseconds(call, x, 2)
            turns = [[microseconds(call, x, count) for call in calls] for _ in range(TURNS)]
            shown = " | ".join(f"{statistics.median(each):.1f}" for each in zip(*turns))
            if dist.get_rank() == 0:
                print(f"| 2^{log} | {str(dtype)[6:]} | {shown} |", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
