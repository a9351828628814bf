"""The meta device: shapes, dtypes and strides of results are those of the CPU; there are no elements."""

import copy

import pytest

import ingot
from ingot import nn

F = nn.functional


def meta(x):
    """Return the same without elements."""
    return x.to("meta") if isinstance(x, ingot.Tensor) else x


def like(t):
    return tuple(t.shape), t.dtype, t.stride(), t.requires_grad


X = ingot.arange(12.0).view(3, 4)

CALLS = {
    "elementwise": lambda x: (x + 1) * x / x.exp(),
    "a number on the host": lambda x: x * ingot.tensor(2.0),
    "comparison": lambda x: x > 0,
    "where": lambda x: ingot.where(x > 0, x, -x),
    "cast": lambda x: x.half(),
    "sum": lambda x: x.sum(0, keepdim=True),
    "std": lambda x: x.std(),
    "max": lambda x: x.max(1)[1],
    "softmax": lambda x: x.softmax(-1),
    "sort": lambda x: x.sort(dim=0).values,
    "topk": lambda x: x.topk(2).indices,
    "product": lambda x: x @ x.T,
    "einsum": lambda x: ingot.einsum("ij,kj->ik", x, x),
    "cat": lambda x: ingot.cat([x, x], 1),
    "transposed": lambda x: x.T,
    "part": lambda x: x[1:, ::2],
    "row": lambda x: x[..., 1],
    "diagonal": lambda x: x.diagonal(),
    "expanded": lambda x: x.expand(2, 3, 4),
    "reshaped": lambda x: x.T.reshape(2, 6),
    "indexed": lambda x: x[:, [0, 2, 2]],
    "gathered": lambda x: x.gather(1, x.long() % 4),
    "scan": lambda x: x.cumsum(1),
    "written": lambda x: x.clone().fill_(2).add_(x).normal_(),
    "written in part": lambda x: x.clone().index_fill_(0, meta(ingot.tensor([1])) if x.is_meta else ingot.tensor([1]), 3.0),
    "conv": lambda x: F.conv2d(x.view(1, 1, 3, 4), x.view(2, 1, 2, 3), padding=1),
    "norm": lambda x: F.layer_norm(x, (4,)),
    "attention": lambda x: F.scaled_dot_product_attention(*[x.view(1, 3, 2, 2)] * 3),
    "loss": lambda x: F.cross_entropy(x, x[:, 0].long() % 4),
    "resized": lambda x: F.interpolate(x[None, None], scale_factor=2.0),
    "factors": lambda x: ingot.linalg.qr(x).Q,
    "spectrum": lambda x: ingot.fft.rfft(x),
    "like": lambda x: ingot.randn_like(x),
    "new": lambda x: x.new_ones(5),
    "copied": copy.deepcopy,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_results_are_like_those_on_the_cpu(call):
    there = call(meta(X))
    assert there.is_meta and like(there) == like(call(X))


MODULES = {
    "convolutions": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                                           nn.Flatten(), nn.Linear(8, 5)), (2, 3, 9, 9)),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    "recurrent": (lambda: nn.GRU(4, 6, 2), (7, 2, 4)),
}


@pytest.mark.parametrize("make, shape", MODULES.values(), ids=MODULES)
def test_modules_are_built_run_and_trained_on_meta(make, shape):
    with ingot.device("meta"):
        net = make()
        x = ingot.randn(shape)
    here = make()
    assert all(like(p) == like(q) and p.is_meta for p, q in zip(net.state_dict().values(), here.state_dict().values()))
    y, want = net(x), here(ingot.randn(shape))
    y, want = (y[0], want[0]) if isinstance(y, tuple) else (y, want)
    assert like(y) == like(want) and y.is_meta
    y.sum().backward()
    assert all(p.grad.is_meta and p.grad.shape == p.shape for p in net.parameters())
    ingot.optim.AdamW(net.parameters()).step()
    net.load_state_dict(here.state_dict(), assign=True)
    assert all(a is b or ingot.equal(a, b) for a, b in zip(net.state_dict().values(), here.state_dict().values()))
    assert all(type(p) is nn.Parameter and p.requires_grad for p in net.parameters())


def test_no_memory_is_taken():
    with ingot.device("meta"):
        net = nn.Linear(1 << 20, 1 << 20)               # 4 TiB
    assert net.weight.numel() == 1 << 40 and net(ingot.empty(2, 1 << 20, device="meta")).shape == (2, 1 << 20)
    assert ingot.ones(1 << 30, 1 << 20, device="meta").nbytes == 1 << 52


def test_reading_elements_raises():
    x = meta(X)
    for ask in (x.tolist, x.cpu, lambda: bool(x.sum() > 0), lambda: x[x > 0], nn.Linear(2, 2).to("meta").cpu):
        with pytest.raises(NotImplementedError, match="no elements"):
            ask()
    traced = ingot.jit.trace(lambda x: x + 1)
    assert traced(x).shape == x.shape
    with pytest.raises(NotImplementedError, match="without jit"):
        traced(x)
    for mixed in (lambda: x + X, lambda: x @ X.T, lambda: ingot.cat([x, X]), lambda: nn.Linear(X.shape[1], 2)(x),
                  lambda: nn.functional.layer_norm(x, X.shape[1:], X[0])):
        with pytest.raises(ingot.IngotError, match="on one device"):
            mixed()
    assert x[ingot.tensor([0, 0])].shape == (2, *X.shape[1:])
    with pytest.raises(RuntimeError):
        x @ x
    with pytest.raises(RuntimeError, match="does not fit"):
        x.T.view(-1)


def test_moving_there_and_back_again():
    net = nn.Linear(2, 3).to("meta")
    assert repr(net.weight) == "Parameter containing:\ntensor(..., device='meta', size=(3, 2), requires_grad=True)"
    with pytest.warns(UserWarning, match="assign=True"):
        net.load_state_dict(nn.Linear(2, 3).state_dict())
    assert net.weight.is_meta
    weight = net.weight
    assert net.to_empty(device="cpu").weight.device.type == "cpu" and net.weight is weight and net.weight.shape == (3, 2)
    assert ingot.empty_like(meta(X), device="cpu").shape == X.shape
    assert str(ingot.empty(2, device="meta:0").device) == "meta"


def test_an_ensemble_runs_over_a_module_without_elements():
    models = [nn.Linear(2, 3) for _ in range(4)]
    base = copy.deepcopy(models[0]).to("meta")
    params, buffers = ingot.func.stack_module_state(models)
    x = ingot.randn(5, 2)
    found = ingot.vmap(lambda p, b, x: ingot.func.functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, x)
    assert ingot.allclose(found, ingot.stack([m(x) for m in models]))
