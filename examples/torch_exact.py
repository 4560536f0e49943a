"""Trains a small model of PyTorch several times, on different threads and devices and in different orders
of the data, and prints a hash of its gradients and of its parameters: first as PyTorch adds, then under
bitfold.torch.use(), where all runs are the same.

    python examples/torch_exact.py

The order of a batch does not change what its gradients are, only how their terms are added. PyTorch's own
hashes differ wherever its sums depend on that. A GPU takes part where there is one.
"""

import argparse
import contextlib
import hashlib

try:
    import torch

    import bitfold.torch
except ImportError as error:
    raise SystemExit(f"this example needs PyTorch and bitfold: {error}")

WORDS, WIDTH, BATCH = 50, 16, 512


def hash_of(tensors):
    data = torch.cat([x.detach().cpu().flatten() for x in tensors])
    return hashlib.sha256(data.numpy().tobytes()).hexdigest()[:16]


def train(device, threads, order, steps):
    """Returns the hashes of the last gradients of the embedding, by index, and of all parameters."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(WORDS, WIDTH), torch.nn.Linear(WIDTH, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(1)
    for _ in range(steps):
        words = torch.randint(WORDS, (BATCH,), generator=data)[order].to(device)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(words).squeeze(1), words / WORDS).backward()
        optimizer.step()
    return hash_of([model[0].weight.grad]), hash_of(model.parameters())


def main():
    parser = argparse.ArgumentParser(description="Train to the same bits on any threads and devices.")
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps

    forward = torch.arange(BATCH)
    runs = [("cpu", 1, forward), ("cpu", 2, forward), ("cpu", 2, forward.flip(0))]
    if torch.cuda.is_available():
        runs += [("cuda", 1, forward), ("cuda", 1, forward.flip(0))]
    for name, mode in (("PyTorch", contextlib.nullcontext), ("bitfold.torch.use()", bitfold.torch.use)):
        print(f"{name}:")
        found = set()
        for device, threads, order in runs:
            with mode():
                gradients, parameters = train(device, threads, order, steps)
            found.add((gradients, parameters))
            way = "" if order is forward else ", the batch reversed"
            print(f"  gradients {gradients}, parameters {parameters}: {device}, {threads} threads{way}")
        print("  all are the same" if len(found) == 1 else f"  {len(found)} different results")


if __name__ == "__main__":
    main()
