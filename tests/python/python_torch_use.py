"""bitfold.torch.use(): the sums of PyTorch's operators, models and their gradients."""

import itertools
import unittest
import warnings

try:
    import torch

    import bitfold.torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from bitfold.torch import use

DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
F64, F32, F16, BF16 = torch.float64, torch.float32, torch.float16, torch.bfloat16
functional = torch.nn.functional


def wide(shape, dtype=F32, seed=1):
    """Numbers whose sums and products float64 holds exactly, and float32 does not."""
    generator = torch.Generator().manual_seed(seed)
    digits = torch.randint(-99, 100, shape, generator=generator).double()
    return torch.ldexp(digits, torch.randint(-9, 10, shape, generator=generator)).to(dtype)


INDEX = torch.tensor([3, 0, 3, 3, 1, 0, 3, 2])
SPREAD = torch.tensor([[3, 0, 3, 3], [1, 0, 3, 2]])

# Functions of a matrix of 8 x 4 and one of 4 x 4, whose results are sums of exact terms.
SUMS = {
    "sum": lambda x, y: x.sum(),
    "sum dim": lambda x, y: torch.sum(x, 1),
    "sum dims": lambda x, y: torch.sum(x, (0, -1), keepdim=True),
    "sum of no dim": lambda x, y: torch.sum(x, []),
    "sum strided": lambda x, y: x.T[1:, ::2].sum(0),
    "cumsum": lambda x, y: x.cumsum(0),
    "cumsum strided": lambda x, y: torch.cumsum(x.T[1:, ::2], 1),
    "mean": lambda x, y: x.mean(),
    "mean dim": lambda x, y: torch.mean(x, 0, True),
    "norm 1": lambda x, y: torch.linalg.vector_norm(x, 1, 0),
    "dot": lambda x, y: torch.dot(x[:, 0], x[:, 1]),
    "vdot": lambda x, y: torch.vdot(x[:, 0], x[:, 1]),
    "mm": lambda x, y: x @ y,
    "mm of transposed": lambda x, y: torch.mm(x.T, x),
    "mv": lambda x, y: torch.mv(x, y[0]),
    "bmm": lambda x, y: torch.bmm(x.reshape(2, 4, 4), y.expand(2, 4, 4)),
    "einsum": lambda x, y: torch.einsum("ij,kj->ik", x, y),
    "matmul": lambda x, y: x.reshape(2, 4, 4) @ y,
    "index_add": lambda x, y: y.index_add(0, INDEX.to(x.device), x),
    "index_add of columns": lambda x, y: y.T.index_add(1, INDEX.to(x.device), x.T, alpha=2.5),
    "scatter_add": lambda x, y: y.scatter_add(1, SPREAD.to(x.device), x),
    "scatter_reduce": lambda x, y: y.scatter_reduce(0, SPREAD.to(x.device), x, "sum", include_self=False),
    "index_put": lambda x, y: y.index_put((INDEX.to(x.device),), x, accumulate=True),
    "index_put of pairs": lambda x, y: y.index_put(
        (INDEX.to(x.device), -1 - INDEX.to(x.device)), x[:, 0], accumulate=True
    ),
    "index_put of one": lambda x, y: y.index_put((y > 0,), x[0, 0], accumulate=True),
    "trace": lambda x, y: torch.trace(y),
    "nansum": lambda x, y: torch.nansum(x, 0),
    "mse_loss": lambda x, y: functional.mse_loss(x, x.flip(0), reduction="sum"),
}
# Others, whose results are roots, or quotients, or made of several sums.
ROUNDED = {
    "var": lambda x, y: torch.var(x, 0),
    "var of all": lambda x, y: x.var(correction=0),
    "var of two less": lambda x, y: x.var(1, correction=2),
    "std": lambda x, y: torch.std(x, (0, 1), keepdim=True),
    "var_mean": lambda x, y: torch.var_mean(x, 1),
    "std_mean": lambda x, y: torch.std_mean(x, 1, correction=0),
    "norm": lambda x, y: x.norm(),
    "norm dim": lambda x, y: torch.norm(x, dim=0),
    "norm of matrix": lambda x, y: torch.linalg.norm(x),
    "norm inf": lambda x, y: torch.linalg.vector_norm(x, torch.inf),
    "addmm": lambda x, y: torch.addmm(y[0], x, y, beta=0.5, alpha=2),
    "addmm without": lambda x, y: torch.addmm(y[0] * torch.nan, x, y, beta=0),
    "addmv": lambda x, y: torch.addmv(x[:, 0], x, y[0]),
    "baddbmm": lambda x, y: torch.baddbmm(y, x.reshape(2, 4, 4), y.expand(2, 4, 4)),
    "addbmm": lambda x, y: torch.addbmm(y, x.reshape(2, 4, 4), y.expand(2, 4, 4)),
    "linear": lambda x, y: functional.linear(x, y, y[0]),
    "scatter mean": lambda x, y: y.scatter_reduce(0, SPREAD.to(x.device), x, "mean"),
    "scatter max": lambda x, y: y.scatter_reduce(0, SPREAD.to(x.device), x, "amax"),
    "softmax": lambda x, y: torch.softmax(x * 0.01, 1),
    "log_softmax": lambda x, y: torch.log_softmax(x, 0),
    "logsumexp": lambda x, y: torch.logsumexp(x, 0),
    "layer_norm": lambda x, y: functional.layer_norm(x, (4,), y[0], y[1]),
    "group_norm": lambda x, y: functional.group_norm(x, 2, y[0], y[1]),
    "batch_norm": lambda x, y: functional.batch_norm(x, None, None, y[0], y[1], training=True),
    "rms_norm": lambda x, y: functional.rms_norm(x, (4,)),
    "cross_entropy": lambda x, y: functional.cross_entropy(x, INDEX.to(x.device), y[0].abs()),
    "attention": lambda x, y: functional.scaled_dot_product_attention(*[x.reshape(2, 4, 4) * 0.01] * 3),
    "cross_entropy of pixels": lambda x, y: functional.cross_entropy(x.reshape(2, 4, 4), INDEX[:8].reshape(2, 4).to(x.device)),
    "weight_norm": lambda x, y: torch._weight_norm(x, y[:, :1].repeat(2, 1), 0),
    "renorm": lambda x, y: torch.renorm(x, 2, 0, 1.0),
    "dist": lambda x, y: torch.dist(x, x.flip(0)),
    "soft_margin_loss": lambda x, y: functional.soft_margin_loss(x * 0.001, x.sign()),
    "multilabel_margin_loss": lambda x, y: functional.multilabel_margin_loss(x, SPREAD.repeat(4, 1).to(x.device)),
    "batch_norm of statistics": lambda x, y: functional.batch_norm(x, y[0], y[1].abs(), y[2], y[3]),
    "embedding": lambda x, y: functional.embedding(INDEX.to(x.device), y),
    "prod": lambda x, y: (x * 0.1).prod(0),
}


def under(f, *arguments):
    with use(), warnings.catch_warnings():
        warnings.simplefilter("error")
        return f(*arguments)


def flat(made):
    return list(made) if isinstance(made, tuple) else [made]


class Torch(unittest.TestCase):
    def equal(self, found, expected):
        self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
        self.assertTrue(torch.equal(found, expected), (found, expected))

    def close(self, found, expected, tolerance):
        self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
        found, expected = found.double(), expected.double()
        self.assertTrue(
            torch.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True), (found, expected)
        )


class Operators(Torch):
    def test_sums_are_exact(self):
        differ = 0
        for device, (name, f) in itertools.product(DEVICES, SUMS.items()):
            for seed in range(5):
                x, y = wide((8, 4), seed=seed).to(device), wide((4, 4), seed=seed + 9).to(device)
                with self.subTest(name=name):
                    expected = f(x.double(), y.double()).float()
                    self.equal(under(f, x, y), expected)
                    differ += not torch.equal(f(x, y), expected)
        self.assertGreater(differ, 20)  # PyTorch's own are not

    def test_the_order_of_terms_does_not_matter(self):
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(64, 16, generator=generator) * 2.0 ** torch.randint(-9, 3, (64, 16), generator=generator)
        order, differ = torch.randperm(64, generator=generator), 0
        back = torch.argsort(order)
        for device, (name, f) in itertools.product(DEVICES, ANY_ORDER.items()):
            for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
                with self.subTest(name=name, mode=mode), mode():
                    one, other = x.to(device), x[order].to(device)

                    def placed(made):
                        """What is in the places of rows, put back."""
                        for d, n in enumerate(made.shape):
                            made = made.index_select(d, back.to(device)) if n == 64 else made
                        return made

                    self.equal(placed(under(f, other)), under(f, one))
                    differ += not torch.equal(placed(f(other)), f(one))
        self.assertGreater(differ, 20)  # for PyTorch it does

    def test_halves_are_rounded_once(self):
        x = torch.tensor([1, 2.0**-11, 2.0**-24], dtype=F16)
        self.assertEqual(under(torch.sum, x).item(), 1 + 2.0**-10)
        x = torch.tensor([1, 2.0**-8, 2.0**-40], dtype=BF16)
        one = torch.ones(3, dtype=BF16)
        self.assertEqual(under(torch.dot, x, one).item(), 1 + 2.0**-7)
        self.assertEqual(under(torch.mm, x[None], one[:, None]).item(), 1 + 2.0**-7)
        at = torch.zeros(2, dtype=torch.int64)
        self.assertEqual(under(lambda: x[:1].index_add(0, at, x[1:])).item(), 1 + 2.0**-7)
        self.assertEqual(under(lambda: x[:1].clone().scatter_add_(0, at, x[1:])).item(), 1 + 2.0**-7)

    def test_results_are_as_those_of_torch(self):
        tolerances = {F64: 1e-12, F32: 1e-4, F16: 4e-3, BF16: 4e-2}
        for device, (name, f) in itertools.product(DEVICES, {**SUMS, **ROUNDED}.items()):
            for dtype, tolerance in tolerances.items():
                scale = 0.001 if dtype == F16 else 1
                x, y = ((wide(s, F64) * scale).to(dtype).to(device) for s in ((8, 4), (4, 4)))
                with self.subTest(name=name, dtype=dtype):
                    try:
                        expected = f(x, y)
                    except RuntimeError as error:  # PyTorch has none of this dtype
                        self.assertIn("not implemented", str(error))
                        continue
                    # Some kernels of PyTorch's for GPUs are precise to a float only.
                    precise = f(x.double().cpu(), y.double().cpu())
                    for a, b, c in zip(*map(flat, (under(f, x, y), expected, precise))):
                        top = max(1.0, float(c.abs().nan_to_num().max()))
                        self.close(a.cpu(), c.to(b.dtype), tolerance * top)
                        self.assertEqual((a.shape, a.dtype, a.device), (b.shape, b.dtype, b.device))

    def test_of_nothing_and_of_one(self):
        for shape in ((0, 3), (3, 0), (0, 0)):
            x = torch.zeros(shape)
            for f in (
                torch.sum, torch.mean, torch.var, lambda x: x.sum(0), lambda x: x.mean(1), lambda x: x.norm(),
                lambda x: x @ x.T, lambda x: x.T @ x, lambda x: x.std(0), lambda x: torch.softmax(x, 1),
            ):  # fmt: skip
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # var() of one row or none
                    expected = f(x)
                    with use():
                        self.close(f(x), expected, 0)
        x, at = torch.tensor(2.0), torch.tensor(0)
        self.equal(under(lambda: x.index_add(0, at, x)), torch.tensor(4.0))
        self.equal(under(lambda: x.scatter_add(0, at, x)), torch.tensor(4.0))
        self.equal(under(lambda: x.sum(0)), x)
        self.equal(under(lambda: x.norm()), x)

    def test_out(self):
        x, y, at, wider = wide((8, 4)), wide((4, 4), seed=2), SPREAD, torch.empty(4, dtype=F64)
        for f, *arguments in (
            (torch.sum, x, 0), (torch.mean, x, 0, True), (torch.mm, x, y),
            (torch.bmm, x[None], y[None]), (torch.mv, x, y[0]), (torch.dot, x[0], x[1]), (torch.vdot, x[0], x[1]),
            (torch.addmm, x, x, y), (torch.addmv, x[:, 0], x, y[0]), (torch.addbmm, y, y[None], y[None]),
            (torch.baddbmm, y[None], y[None], y[None]), (torch.index_add, y, 0, INDEX, x),
            (torch.scatter_add, y, 1, at, x), (torch.scatter_reduce, y, 0, at, x, "sum"), (torch.var, x, 0),
            (torch.std, x, 0), (torch.linalg.vector_norm, x), (torch.norm, x, 2, 0),
        ):  # fmt: skip
            with self.subTest(f=f):
                options = {"dim": 1} if f in (torch.var, torch.std) and arguments.pop() == 0 else {}
                expected = under(lambda: f(*arguments, **options))
                for out in (torch.full_like(expected, 7), torch.full((*expected.shape, 2), 7.0)[..., 0]):
                    self.assertIs(under(lambda: f(*arguments, **options, out=out)), out)
                    self.equal(out, expected)
        out = torch.empty(0)
        under(lambda: torch.sum(x, 0, out=out))
        self.equal(out, x.double().sum(0).float())
        for f, of in ((torch.sum, bitfold.sum), (torch.mean, bitfold.mean)):
            self.equal(under(lambda: f(x, 0, out=wider)), of(x, axis=0))
        self.equal(under(lambda: torch.var(x, 0, out=wider)), bitfold.var(x, axis=0, ddof=1))
        with use(), self.assertRaises(RuntimeError):
            torch.mm(y, y, out=y.double())

    def test_in_place(self):
        x, y = wide((8, 4)), wide((4, 4), seed=2)
        for f in (
            lambda y, x: y.index_add_(0, INDEX, x), lambda y, x: y.scatter_add_(0, SPREAD, x),
            lambda y, x: y.index_put_((INDEX,), x, accumulate=True),
            lambda y, x: y.scatter_reduce_(0, SPREAD, x, "sum"), lambda y, x: y.addmm_(x.T, x, beta=0),
            lambda y, x: y.addbmm_(x.T[None], x[None], beta=0), lambda y, x: y[0].addmv_(x.T, x[:, 0], beta=0),
            lambda y, x: y[None].baddbmm_(x.T[None], x[None], beta=0),
        ):  # fmt: skip
            target, expected = torch.zeros(4, 8)[:, ::2].copy_(y), y.double()
            self.equal(under(f, target, x), f(expected, x.double()).float())
            self.equal(target, expected.float())

    def test_sums_cast_first(self):
        x = torch.tensor([1, 2**24, 2**25 + 1])
        self.equal(under(lambda: x.sum(dtype=F32)), torch.tensor(2.0**24 + 2.0**25 + 1).float())
        self.equal(under(lambda: torch.tensor([1e20, 1, -1e20]).sum(dtype=F64)).round(), torch.tensor(1.0, dtype=F64))
        self.equal(under(lambda: x.sum()), x.sum())

    def test_what_is_not_taken(self):
        x = torch.tensor([1 + 2j, 3])
        self.equal(under(torch.sum, x), x.sum())
        self.equal(under(lambda: torch.arange(5).sum()), torch.tensor(10))
        self.equal(under(lambda: torch.zeros(2, dtype=torch.int64).index_add(0, INDEX[1:2], INDEX[:1])), torch.tensor([3, 0]))
        sparse = torch.eye(3).to_sparse()
        self.equal(under(lambda: torch.sparse.sum(sparse)), torch.tensor(3.0))
        under(lambda: INDEX.cumsum(0))
        for f in (
            lambda x: x.logcumsumexp(0), lambda x: functional.avg_pool2d(x[None], 2),
            lambda x: torch.softmax(x, 0, out=x), lambda x: torch.linalg.inv(x + torch.eye(4)),
        ):  # fmt: skip
            with use(), self.assertWarnsRegex(UserWarning, "PyTorch's, whose sums"):
                f(torch.ones(4, 4))

    def test_errors_are_those_of_torch(self):
        x = torch.ones(2, 3)
        for error, f in (
            (RuntimeError, lambda: x @ x), (IndexError, lambda: x.sum(2)), (RuntimeError, lambda: x.sum((0, 0))),
            (RuntimeError, lambda: torch.bmm(x[None], x.T.expand(2, 3, 2))),
            (RuntimeError, lambda: torch.mm(x, x.T.double())),
            (RuntimeError, lambda: x.index_add(0, torch.tensor([0]), x[:1].double())),
            (RuntimeError, lambda: x.index_add(0, torch.tensor([0]), x)),
            (RuntimeError, lambda: x.scatter_add(0, torch.tensor([[7]]), x)),
            (RuntimeError, lambda: x.index_add(0, torch.tensor([2]), x[:1])),
            (IndexError, lambda: x.index_put((torch.tensor([2]),), x[:1], accumulate=True)),
        ):  # fmt: skip
            with self.assertRaises(error):
                f()
            with use(), self.assertRaises((error, bitfold.Error)):
                f()

    def test_it_ends(self):
        x = torch.tensor([1e8, 1, -1e8] * 50)
        before = [torch.backends.mkldnn.enabled, torch.backends.cudnn.enabled]
        with self.assertRaises(KeyError):
            with use():
                self.assertEqual(x.sum().item(), 50)
                raise KeyError
        self.assertEqual([torch.backends.mkldnn.enabled, torch.backends.cudnn.enabled], before)
        self.assertNotEqual(x.sum().item(), 50)
        with use(), use():
            self.assertEqual(x.sum().item(), 50)

        @use()
        def total(x):
            return x.sum()

        self.assertEqual([total(x).item(), total(x).item()], [50, 50])

    def test_compiled_functions(self):
        x = torch.tensor([1e8, 1, -1e8] * 50)

        def total(x):
            return (x * 1).sum()

        compiled = torch.compile(total, backend="aot_eager")
        outside = compiled(x)
        with use():
            self.assertEqual(compiled(x).item(), 50)
        self.equal(compiled(x), outside)

        @torch.compile(backend="aot_eager")
        def within(x):
            with use():
                return (x * 1).sum()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is not traced
            self.assertEqual(within(x).item(), 50)


# Functions of a matrix of 64 rows of 16, whose results keep their bits when the rows change their order.
ANY_ORDER = {
    "layer_norm": lambda x: functional.layer_norm(x.T, (64,)),
    "rms_norm": lambda x: functional.rms_norm(x.T, (64,)),
    "group_norm": lambda x: functional.group_norm(x.T[None], 4),
    "batch_norm": lambda x: functional.batch_norm(x, None, None, training=True),
    "softmax": lambda x: torch.softmax(x, 0),
    "log_softmax": lambda x: torch.log_softmax(x, 0),
    "logsumexp": lambda x: torch.logsumexp(x, 0),
    "mse_loss": lambda x: functional.mse_loss(x, x * 0.9),
    "l1_loss": lambda x: functional.l1_loss(x, x * 0.9),
    "huber_loss": lambda x: functional.huber_loss(x, x * 0.9),
    "smooth_l1_loss": lambda x: functional.smooth_l1_loss(x, x * 0.9),
    "soft_margin_loss": lambda x: functional.soft_margin_loss(x, x.sign()),
    "binary_cross_entropy": lambda x: functional.binary_cross_entropy(x.sigmoid(), x.sigmoid()),
    "with logits": lambda x: functional.binary_cross_entropy_with_logits(x, x.sigmoid()),
    "cross_entropy": lambda x: functional.cross_entropy(x, x.argmax(1)),
    "kl_div": lambda x: functional.kl_div(x, x.sigmoid(), reduction="batchmean"),
    "cosine_similarity": lambda x: functional.cosine_similarity(x, x.sin(), 0),
    "bilinear": lambda x: functional.bilinear(x.T, x.T, (x[:, :1] @ x[:, :1].T)[None]),
    "attention": lambda x: functional.scaled_dot_product_attention(x[None, :4, :] * 0 + 1, x[None], x[None]),
    "nansum": lambda x: torch.nansum(x, 0),
    "norm": lambda x: torch.norm(x, dim=0),
    "dist": lambda x: torch.dist(x, x * 0.9),
    "std": lambda x: x.std(0, unbiased=False),
    "einsum": lambda x: torch.einsum("ij,ik->jk", x, x),
    "cov": lambda x: torch.cov(x.T),
}


# ---- models ---------------------------------------------------------------------------------------


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(20, 8, padding_idx=3)
        self.linear = torch.nn.Linear(8, 5)

    def forward(self, words):
        return self.linear(self.embedding(words))


class Models(Torch):
    def gradients(self, model, x, loss=None):
        model.zero_grad()
        made = model(x)
        made = made[0] if isinstance(made, tuple) else made
        (made.square().sum() if loss is None else loss(made)).backward()
        return [p.grad.clone() for p in model.parameters()]

    def test_gradients_do_not_depend_on_the_order(self):
        for device, dtype in itertools.product(DEVICES, (F32, F64, BF16)):
            torch.manual_seed(1)
            model = Words().to(device).to(dtype)
            words = torch.randint(0, 20, (200,), device=device)
            order = torch.randperm(200)
            found = [under(self.gradients, model, each) for each in (words, words[order], words.flip(0))]
            for others in found[1:]:
                for a, b in zip(found[0], others):
                    self.equal(a, b)
            self.assertEqual(found[0][0][3].abs().max().item(), 0)  # it is the padding
            for a, b in zip(found[0], self.gradients(model, words)):
                self.assertTrue(torch.allclose(a.double(), b.double(), rtol=0.05, atol=1))

    def test_gradients_of_layers_do_not_depend_on_the_order(self):
        nn = torch.nn
        order = torch.randperm(32, generator=torch.Generator().manual_seed(2))
        for device, layer in itertools.product(DEVICES, (
            nn.LayerNorm(16), nn.BatchNorm1d(16), nn.GroupNorm(4, 16), nn.RMSNorm(16), nn.PReLU(),
            nn.Sequential(nn.Unflatten(1, (4, 4)), nn.Conv1d(4, 3, 2), nn.ConvTranspose1d(3, 2, 2)),
            nn.Sequential(nn.Unflatten(1, (4, 4)), nn.LSTM(4, 5, batch_first=True)),
            nn.Sequential(nn.Unflatten(1, (4, 4)), nn.GRU(4, 5, batch_first=True)),
            nn.Sequential(nn.Unflatten(1, (4, 4)), nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)),
        )):  # fmt: skip
            torch.manual_seed(1)
            model, x = nn.Sequential(nn.Linear(7, 16), layer).to(device), torch.randn(32, 7)
            with self.subTest(layer=str(layer), device=device):
                one, other = (under(self.gradients, model, each.to(device)) for each in (x, x[order]))
                for a, b in zip(one, other):
                    self.equal(a, b)

    def test_gradients_do_not_depend_on_threads(self):
        torch.manual_seed(2)
        model, x = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Linear(32, 8)), torch.randn(300, 64)
        threads, found = torch.get_num_threads(), []
        try:
            for n in (1, 2, 5):
                torch.set_num_threads(n)
                found.append(under(self.gradients, model, x))
        finally:
            torch.set_num_threads(threads)
        for others in found[1:]:
            for a, b in zip(found[0], others):
                self.equal(a, b)

    def test_layers(self):
        """No layer's sums are left to PyTorch, and gradients are close to PyTorch's, by its kernels."""
        torch.manual_seed(3)
        for model, x in (
            (torch.nn.LSTM(4, 6, 2), torch.randn(5, 3, 4)), (torch.nn.GRU(4, 6), torch.randn(5, 3, 4)),
            (torch.nn.RNN(4, 6), torch.randn(5, 3, 4)),
            (torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), torch.randn(2, 5, 8)),
            (torch.nn.MultiheadAttention(8, 2), None), (torch.nn.LayerNorm(4), torch.randn(7, 4)),
            (torch.nn.BatchNorm1d(4), torch.randn(7, 4)), (torch.nn.GroupNorm(2, 4), torch.randn(7, 4, 3)),
            (torch.nn.RMSNorm(4), torch.randn(7, 4)), (torch.nn.Bilinear(4, 4, 3), None),
            (torch.nn.PReLU(), torch.randn(9)), (torch.nn.Conv2d(3, 4, 3, padding="same"), torch.randn(2, 3, 5, 5)),
            (torch.nn.ConvTranspose1d(3, 4, 3, 2), torch.randn(3, 5)),
        ):  # fmt: skip
            with self.subTest(model=str(model)):
                if x is None:
                    q = torch.randn(5, 3, 8) if isinstance(model, torch.nn.MultiheadAttention) else torch.randn(7, 4)
                    call = torch.nn.Module()
                    call.inner, call.forward = model, lambda x: call.inner(*[x] * (3 if x.ndim == 3 else 2))
                    model, x = call, q
                state = {name: value.clone() for name, value in model.state_dict().items()}
                expected = self.gradients(model, x)
                moved = {name: value.clone() for name, value in model.state_dict().items()}
                model.load_state_dict(state)
                found = under(self.gradients, model, x)
                for a, b in zip(found, expected):
                    self.close(a, b, 1e-4)
                for name, value in model.state_dict().items():
                    self.close(value, moved[name], 1e-6)

    def test_convolutions(self):
        forms = itertools.product((1, 2, 3), (1, 3), (0, 2), (1, 2), (1, 2), (False, True))
        for n, stride, padding, dilation, groups, transposed in forms:
            name = ("conv_transpose" if transposed else "conv") + f"{n}d"
            options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
            if transposed and stride > 1:
                options["output_padding"] = 1
            for batch in (2, 0):
                x = wide((batch, 4, *(7, 6, 8)[:n])).requires_grad_()
                weight = wide(((4, 3) if transposed else (6, 4 // groups)) + (3, 2, 3)[:n], seed=5).requires_grad_()

                def parts(x, weight):
                    made = getattr(functional, name)(x, weight, **options)
                    return [made, *torch.autograd.grad(made.sum(), (x, weight))]

                with self.subTest(name=name, batch=batch, **options):
                    expected = parts(x.double(), weight.double())
                    for a, b in zip(under(parts, x, weight), expected):
                        self.equal(a, b.float())

    def test_losses(self):
        torch.manual_seed(4)
        x, y = torch.randn(9, 4), torch.rand(9, 4)
        for loss in (
            lambda x: functional.mse_loss(x, y), lambda x: functional.l1_loss(x, y),
            lambda x: functional.huber_loss(x, y), lambda x: functional.smooth_l1_loss(x, y),
            lambda x: functional.binary_cross_entropy_with_logits(x, y),
            lambda x: functional.binary_cross_entropy(x.sigmoid(), y),
            lambda x: functional.kl_div(x, y), lambda x: functional.poisson_nll_loss(x, y),
            lambda x: functional.cross_entropy(x, torch.arange(9) % 4),
            lambda x: functional.multi_margin_loss(x, torch.arange(9) % 4),
        ):  # fmt: skip
            model = torch.nn.Linear(4, 4)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = self.gradients(model, x, loss)
                with use():
                    found = self.gradients(model, x, loss)
            for a, b in zip(found, expected):
                self.close(a, b, 1e-5)

    def test_training(self):
        def trained(order):
            torch.manual_seed(5)
            model, words = Words(), torch.randint(0, 20, (64,))
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            for _ in range(5):
                self.gradients(model, words[order])
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            return [p.detach() for p in model.parameters()]

        found = [under(trained, order) for order in (torch.arange(64), torch.arange(64).flip(0))]
        for a, b in zip(*found):
            self.equal(a, b)

    def test_transforms(self):
        x = wide((5, 4))
        exact = x.double()
        self.equal(under(torch.vmap(torch.sum), x), exact.sum(1).float())
        self.equal(under(torch.vmap(lambda a: a @ a), x), (exact * exact).sum(1).float())
        self.equal(under(torch.func.grad(lambda a: (a @ a.T).sum()), x), (2 * exact.sum(0)).float().expand(5, 4))
        layer = torch.nn.Linear(4, 3)

        def checkpointed():
            layer.zero_grad()
            made = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
            made.sum().backward()
            return layer.weight.grad.clone()

        self.equal(under(checkpointed), exact.sum(0).float().expand(3, 4))
