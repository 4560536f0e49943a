"""Exact sums over the ranks of torch.distributed (bitfold.torch), where PyTorch is installed: two processes."""

import datetime
import os
import sys
import tempfile
import unittest

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as multiprocessing

    import bitfold.torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

import bitfold

RANKS = 2
FLOATS = torch.float64, torch.float32, torch.float16, torch.bfloat16


def parts(shape, dtype, ranks=RANKS):
    """What each rank gives, and the exact sum of two such parts."""
    generator = torch.Generator().manual_seed(7)
    numbers = [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(ranks)]
    given = [(x * 3).to(dtype) for x in numbers]
    return given, (given[0].double() + given[1].double()).to(dtype)  # a double has the sum of two halves


def equal(found, expected):
    expected = expected.to(found.device)
    assert found.dtype == expected.dtype and torch.equal(found, expected), (found, expected)


def each_size(rank, device):
    for dtype in FLOATS:
        for shape in ((1,), (3, 5), (4099,), (300_001,)):
            given, total = parts(shape, dtype)
            mine = given[rank].to(device).clone()
            equal(torch.ops.bitfold.allreduce(mine), total)
            equal(mine, given[rank])
            bitfold.torch.all_reduce(mine)
            equal(mine, total)
            parameter = torch.nn.Parameter(given[rank].to(device).clone())
            bitfold.torch.all_reduce(parameter)
            equal(parameter.detach(), total)


def orders_do_not_show(rank, device):
    """1e20 + 1 - 1e20 over ranks, and within what a rank gives."""
    comm = bitfold.Comm.of_torch()
    mine = torch.tensor([[1e20, 1.0], [1.0, -1e20]] if rank else [[-1e20, 1e20], [0, 3.0]], dtype=torch.float64)
    made = comm.allreduce(mine.to(device), terms=True)
    assert made.tolist() == [1.0, 4.0], made


def integers_wait(rank, device):
    big = torch.full((3,), 2**62, device=device)
    try:
        bitfold.torch.all_reduce(big)
        raise AssertionError("no overflow")
    except bitfold.RangeError:
        pass
    small = torch.arange(5, device=device)
    bitfold.torch.all_reduce(small)
    equal(small, torch.arange(5) * RANKS)


def work_under_way_is_seen(rank, device):
    if device.type == "cpu":
        return
    n = 1 << 20
    for i in range(50):
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(300_000 * (1 + rank))
            x = torch.full((n,), float(i + rank), device=device)
            bitfold.torch.all_reduce(x)
            y = x + 1
            del x
            other = torch.full((n,), -1.0, device=device)
            equal(y, torch.full((n,), 2.0 * i + 2))
            del other


def graphs_hold_sums(rank, device):
    if not bitfold.torch._ranks._comm_of(None, device).linked:
        return
    x, side, graph = torch.zeros(1000, device=device), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    bitfold.torch.all_reduce(x)
    with torch.cuda.stream(side):
        torch.ops.bitfold.allreduce(x)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=side):
        made = torch.ops.bitfold.allreduce(x)
    for i in range(5):
        x.fill_(i + rank)
        graph.replay()
        torch.cuda.synchronize()
        equal(made, torch.full((1000,), 2.0 * i + 1))


def gradients(rank, device):
    x = torch.tensor([1.0, 2], device=device, requires_grad=True)
    (torch.ops.bitfold.allreduce(x) * (rank + 1)).sum().backward()
    equal(x.grad, torch.tensor([3.0, 3.0]))


def models_agree(rank, device):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)).to(device)
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    wrapped.register_comm_hook(None, bitfold.torch.allreduce_hook)
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(rank)).to(device)
    wrapped(x).square().sum().backward()
    made = torch.cat([p.grad.flatten() for p in model.parameters()])
    own = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)).to(device)
    own.load_state_dict(model.state_dict())
    own(x).square().sum().backward()
    mine = torch.cat([p.grad.flatten() for p in own.parameters()])
    equal(made, torch.ops.bitfold.allreduce(mine) / RANKS)


def ranks_that_disagree_learn_of_it(rank, device):
    """On GPUs later, of which the communicator is of no use then."""
    comm = bitfold.Comm.of_torch()
    x = torch.ones(100 + rank, device=device)
    try:
        comm.allreduce(x)
        comm.check()
        raise AssertionError("nothing was noticed")
    except bitfold.CommError:
        pass


WORKS = [
    each_size, orders_do_not_show, integers_wait, work_under_way_is_seen, graphs_hold_sums, gradients,
    models_agree, ranks_that_disagree_learn_of_it,
]  # fmt: skip


def run(rank, kind, path):
    device = torch.device(kind)
    if kind == "cuda":
        device = torch.device("cuda", rank % torch.cuda.device_count())
        torch.cuda.set_device(device)
    alone = kind == "cuda" and torch.cuda.device_count() >= RANKS  # NCCL wants a GPU for each rank
    dist.init_process_group(
        "nccl" if alone else "gloo", init_method=f"file://{path}", rank=rank, world_size=RANKS,
        timeout=datetime.timedelta(seconds=60),
    )  # fmt: skip
    assert bitfold.torch._ranks._comm_of(None, device).linked == alone
    for work in WORKS:
        try:
            work(rank, device)
        except BaseException:
            print(f"{work.__name__}, rank {rank}, {kind}", file=sys.stderr, flush=True)
            raise
    dist.destroy_process_group()


class Ranks(unittest.TestCase):
    def test_on_hosts(self):
        self.run_on("cpu")

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_on_gpus(self):
        self.run_on("cuda")

    def run_on(self, kind):
        with tempfile.TemporaryDirectory() as folder:
            multiprocessing.spawn(run, (kind, os.path.join(folder, "store")), nprocs=RANKS)

    def test_other_operations_are_refused(self):
        with self.assertRaisesRegex(bitfold.ArgumentError, "adds"):
            bitfold.torch.all_reduce(torch.ones(1), dist.ReduceOp.MAX)
