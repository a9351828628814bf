"""Whole training steps on the mock driver: nothing runs on the host, and nothing is copied from the device.

After the first runs, a step is one CUDA graph, one upload, and copies of its arguments and results.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
import mock_cuda_triton
from ingot import jit, nn
from ingot.ao import quantization
from ingot.nn import functional as F
from ingot.runtime.cuda.graph import eager

HOST: list = []        # names of operators that ran on the host
REAL = eager.on_host


def logged(op, inputs, params, device):
    HOST.append(op.name)
    return REAL(op, inputs, params, device)


mock_cuda_triton.relabelled(logged)     # (traces do not watch installed packages)


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    with mock_cuda.installed() as mock:
        HOST.clear()
        monkeypatch.setattr(eager, "on_host", logged)
        yield mock


class Block(nn.Module):
    """A residual block as ResNet-18 has them."""

    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer)
        self.conv2, self.norm2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer)
        self.skip = nn.Identity() if stride == 1 else nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False),
                                                                    nn.BatchNorm2d(outer))

    def forward(self, x):
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + self.skip(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(11, 8), nn.Embedding(5, 8)
        self.norm, self.into, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 8))
        self.head = nn.Linear(8, 11)

    def forward(self, x):
        b, s = x.shape
        h = self.tokens(x) + self.positions(ingot.arange(s, device=x.device))
        q, k, v = self.into(self.norm(h)).view(b, s, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        h = h + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, 8))
        return self.head(h + self.mlp(h)).reshape(b * s, 11)


class Sequence(nn.Module):
    def __init__(self, layer, **options):
        super().__init__()
        self.tokens = nn.Embedding(11, 6, padding_idx=0)
        self.layers = layer(6, 5, 1, batch_first=True, **options)
        self.head = nn.Linear(10 if options.get("bidirectional") else 5, 11)

    def forward(self, x):
        return self.head(self.layers(self.tokens(x))[0]).reshape(-1, 11)


class Spectral(nn.Module):
    """Weights of frequencies, as Fourier neural operators have them; a long convolution; positions as rotations."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(ingot.randn(4, 5, dtype=ingot.complex64) * 0.3)
        self.filter = nn.Parameter(ingot.randn(4, 16) * 0.3)
        self.log_rate = nn.Parameter(ingot.randn(4))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        n = x.shape[-1]
        low = ingot.fft.rfft(x)[..., :5] * self.weight
        x = x + ingot.fft.irfft(F.pad(low, (0, n // 2 - 4)), n)
        x = x + ingot.fft.irfft(ingot.fft.rfft(x, 2 * n) * ingot.fft.rfft(self.filter, 2 * n), 2 * n)[..., :n]
        pairs = ingot.view_as_complex(x.transpose(1, 2).reshape(len(x), n, 2, 2))
        angles = ingot.outer(ingot.arange(n, device=x.device).float(), self.log_rate[:2].exp())
        rotated = ingot.view_as_real(pairs * ingot.polar(ingot.ones_like(angles), angles)).flatten(2)
        poles = ingot.exp(ingot.complex(-self.log_rate.exp(), self.log_rate)[:, None] * ingot.arange(n, device=x.device) * 0.1)
        return self.head((rotated.transpose(1, 2) * poles.real + poles.abs()).flatten(1))


def rounded():
    """A network that trains with rounded weights and inputs, batch norm in its convolution."""
    net = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Flatten(),
                        nn.Linear(64, 10))
    net.qconfig = quantization.get_default_qat_qconfig()
    return quantization.prepare_qat(quantization.fuse_modules_qat(net, ["0", "1", "2"], inplace=True), inplace=True)


def tokens():
    return ingot.randint(0, 11, (2, 3)), ingot.randint(0, 11, (6,))


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 10)),
            lambda: (ingot.randn(4, 6), ingot.randint(0, 10, (4,)))),
    "cnn": (lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
                            nn.Linear(36, 10)),
            lambda: (ingot.randn(3, 1, 8, 8), ingot.randint(0, 10, (3,)))),
    "rounded": (rounded, lambda: (ingot.randn(3, 1, 8, 8), ingot.randint(0, 10, (3,)))),
    "gpt": (Gpt, lambda: (ingot.randint(0, 11, (2, 5)), ingot.randint(0, 11, (10,)))),
    "spectral": (Spectral, lambda: (ingot.randn(3, 4, 16), ingot.randint(0, 10, (3,)))),
    "lstm": (lambda: Sequence(nn.LSTM), tokens),
    "gru": (lambda: Sequence(nn.GRU, bidirectional=True), tokens),
    "rnn": (lambda: Sequence(nn.RNN), tokens),
    "resnet": (lambda: nn.Sequential(nn.Conv2d(3, 4, 7, 2, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                                     Block(4, 4, 1), Block(4, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)),
               lambda: (ingot.randn(2, 3, 16, 16), ingot.randint(0, 10, (2,)))),
}
OPTIMIZERS = {"adamw": lambda p: ingot.optim.AdamW(p, lr=1e-2), "sgd": lambda p: ingot.optim.SGD(p, lr=0.05, momentum=0.9)}


def training(name, device, optimizer, count=6, traced=False, before_last=lambda: None):
    """(loss, accuracy) of each step, and the network."""
    ingot.manual_seed(0)
    make, data = MODELS[name]
    net = make().to(device)
    opt = OPTIMIZERS[optimizer](net.parameters())

    def step(x, y):
        opt.zero_grad()
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return loss, (logits.argmax(-1) == y).float().mean()

    step = jit.trace(step) if traced else step
    ingot.manual_seed(5)
    found = []
    for i in range(count):
        x, y = (t.to(device) for t in data())
        if i == count - 1:
            before_last()
        found.append(step(x, y))
        schedule = opt.param_groups[0]
        schedule["lr"] *= 0.9
    return [(a.item(), b.item()) for a, b in found], net, opt


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_is_one_graph(name, cuda):
    counted: dict = {}

    def start():
        counted.update(cuda.calls, launches=len(cuda.launches), sent=cuda.sent)

    def spent(call):
        return cuda.calls.get(call, 0) - counted.get(call, 0)

    optimizer = "sgd" if name in ("gru", "rnn", "cnn", "gpt") else "adamw"
    want, there, _ = training(name, "cpu", optimizer)
    got, here, opt = training(name, "cuda", optimizer, traced=True, before_last=lambda: (start(), HOST.clear()))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6, err_msg=name)
    assert not HOST, f"ran on the host: {sorted(set(HOST))}"
    assert len(cuda.launches) == counted["launches"], "launches beside the graph"
    assert spent("cuGraphLaunch") == 1 and spent("cuMemcpyHtoDAsync_v2") <= 1
    assert cuda.sent - counted["sent"] <= 32 * len(list(here.parameters())) + 256, "a few numbers for each parameter"
    assert spent("cuMemcpyDtoDAsync_v2") <= 4, "parameters are written in place, small results travel together"
    for (path, a), b in zip(here.named_parameters(), there.parameters()):
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), rtol=1e-3, atol=2e-5, err_msg=path)
        np.testing.assert_allclose(a.grad.cpu().numpy(), b.grad.numpy(), rtol=1e-3, atol=2e-5, err_msg=f"gradient of {path}")
    if optimizer == "adamw":
        assert {float(s["step"]) for s in opt.state.values()} == {6.0} and all(s["step"].is_cpu for s in opt.state.values())


@pytest.mark.parametrize("name", ["gpt", "resnet", "gru", "rounded"])
def test_eager_steps_stay_on_the_device(name):
    want, *_ = training(name, "cpu", "adamw", 2)
    got, *_ = training(name, "cuda", "adamw", 2)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert not HOST, f"ran on the host: {sorted(set(HOST))}"


def test_nothing_but_reading_waits(cuda):
    """Steps without looking at results never synchronise, from the first replay on."""
    def start():
        before.append(cuda.calls.get("cuStreamSynchronize", 0))

    before: list = []
    training("mlp", "cuda", "adamw", 6, True, start)
    assert cuda.calls["cuStreamSynchronize"] - before[0] <= 13, "6 losses, 6 accuracies, one look at words"


def test_results_survive_later_steps():
    f = jit.trace(lambda x, w: ((x @ w).sum(), x * 2, (x @ w).tanh()))
    w = ingot.randn(5, 2000, device="cuda")
    seen = []
    for i in range(6):
        x = ingot.full((3, 5), float(i), device="cuda")
        seen.append((i, f(x, w)))
    for i, (a, b, c) in seen:
        x = ingot.full((3, 5), float(i))
        np.testing.assert_allclose(a.item(), (x @ w.cpu()).sum().item(), rtol=1e-4)
        assert b.tolist() == (x * 2).tolist()
        np.testing.assert_allclose(c.cpu().numpy(), (x @ w.cpu()).tanh().numpy(), rtol=1e-4, atol=1e-6)


def test_an_index_out_of_range_in_a_replay_is_raised():
    table = ingot.randn(4, 3, device="cuda")
    f = jit.trace(lambda i, y: F.cross_entropy(table[i] * 2, y))
    good, bad = ingot.tensor([0, 1], device="cuda"), ingot.tensor([0, 7], device="cuda")
    for _ in range(5):
        f(good, good).item()
    with pytest.raises(IndexError, match="out of range"):
        f(bad, good).item()
    with pytest.raises(IndexError, match="out of range"):
        f(good, bad).item()
    assert f(good, good).item() == f(good, good).item()


def test_host_tensors_in_a_traced_step_stay_on_the_host():
    count, rate = ingot.zeros(()), ingot.tensor(0.5)
    w = ingot.ones(3, device="cuda")

    @jit.trace
    def step(x):
        count.add_(1)
        w.sub_(x * (rate / (1 + count)))
        return count * 2

    want = np.ones(3)
    for i in range(1, 6):
        assert step(ingot.full((3,), 2.0, device="cuda")).item() == 2 * i
        want = want - 2 * 0.5 / (1 + i)
        np.testing.assert_allclose(w.cpu().numpy(), want, rtol=1e-5)
    assert count.is_cpu and count.item() == 5


def test_host_values_that_no_kernel_can_write_in_place():
    """A host tensor that is rewritten across its elements, and a host value that goes into the device."""
    mirrored, count = ingot.arange(3.0), ingot.zeros(())
    w, seen = ingot.ones(3, device="cuda"), ingot.zeros((), device="cuda")

    @jit.trace
    def step(x):
        count.add_(1)
        mirrored.copy_(mirrored.flip(0) + count)
        w.add_(x * count)
        seen.copy_(count * 2)
        return (w * 2).sum(), count + 1

    want, n, total = np.arange(3.0), 0.0, np.ones(3)
    for i in range(6):
        a, b = step(ingot.full((3,), float(i), device="cuda"))
        n += 1
        want, total = want[::-1] + n, total + i * n
        np.testing.assert_array_equal(mirrored.numpy(), want, f"call {i}")
        np.testing.assert_array_equal(w.cpu().numpy(), total, f"call {i}")
        assert (count.item(), seen.item(), a.item(), b.item()) == (n, 2 * n, 2 * total.sum(), n + 1)


@pytest.mark.parametrize("write", [lambda s: s.mul_(2), lambda s: s.copy_(s * 0 + s * 2), lambda s: s.copy_(1 / (s + 1))],
                         ids=["in place", "copied", "reciprocal"])
def test_the_device_reads_a_host_value_before_the_host_overwrites_it(write):
    """Each call multiplies by the value that the call before left, and leaves another."""
    def values(device):
        state, x = ingot.tensor(1.0, dtype=ingot.float64), ingot.ones(3, dtype=ingot.float64, device=device)

        @jit.trace
        def step(x):
            before = state.to(ingot.float64, copy=True)
            write(state)
            return x * before

        return [step(x).cpu().tolist() for _ in range(5)] + [state.item()]

    assert values("cuda") == values("cpu")


NETWORKS = {
    "linear": lambda: nn.Linear(3, 4),
    "several results": lambda: Heads(),
    "norms": lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)),
}


class Heads(nn.Module):
    """Two results, of which a loss may take one."""

    def __init__(self):
        super().__init__()
        self.body, self.one, self.two = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 5)

    def forward(self, x):
        x = F.relu(self.body(x))
        return self.one(x), self.two(x).tanh()


@pytest.mark.parametrize("name", NETWORKS)
def test_backward_that_comes_after_a_traced_network(name):
    """Only the network is traced, as code that was written for a compiler of models does it; sizes change on the way."""
    def training(device, traced):
        ingot.manual_seed(0)
        net = NETWORKS[name]().to(device)
        run, opt, seen = jit.trace(net) if traced else net, ingot.optim.SGD(net.parameters(), lr=0.01), []
        for i, n in enumerate((6, 6, 9, 5, 6, 11, 6)):
            x = ingot.randn(n, 3, generator=ingot.Generator().manual_seed(i)).to(device)
            results = run(x)
            results = results if type(results) is tuple else (results,)
            opt.zero_grad()
            sum(y.square().sum() for y in results[:1 + i % 2]).backward()
            opt.step()
            seen += [t.detach().cpu().clone().numpy() for t in (*results, *net.parameters())]
        return seen, run

    want, _ = training("cpu", False)
    got, run = training("cuda", True)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert run.stats()["compiles"] == 2 and not HOST, (run.stats()["misses"], HOST)
