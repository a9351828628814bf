"""Tensors on a CUDA device, on the mock driver: moving, making, views, writes, gradients, training eager and traced, copying,
pickling, DLPack, printing, and errors that say which device.
"""

import copy
import gc
import pickle

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed() as mock:
        yield mock


def test_to_and_back():
    x = ingot.randn(3, 4)
    y = x.to("cuda")
    assert y.device == ingot.device("cuda:0") and y.is_cuda and not y.is_cpu and y.get_device() == 0
    assert y.to("cuda") is y and y.cuda() is y and x.cpu() is x
    assert ingot.equal(y.cpu(), x) and y.to(x).device.type == "cpu"
    assert y.to("cpu", ingot.float64).dtype is ingot.float64 and x.to("cuda", ingot.float16).dtype is ingot.float16
    assert y.dtype is x.dtype and y.shape == x.shape and y.stride() == x.stride() and len(y) == 3


@pytest.mark.parametrize("make", [
    lambda **k: ingot.tensor([1.0, 2.0], **k), lambda **k: ingot.zeros(2, **k), lambda **k: ingot.ones(2, 3, **k),
    lambda **k: ingot.full((2,), 7, **k), lambda **k: ingot.arange(5, **k), lambda **k: ingot.linspace(0, 1, 5, **k),
    lambda **k: ingot.eye(3, **k), lambda **k: ingot.rand(4, **k), lambda **k: ingot.randn(4, **k),
    lambda **k: ingot.randint(0, 9, (4,), **k), lambda **k: ingot.randperm(6, **k), lambda **k: ingot.empty(0, **k),
    lambda **k: ingot.as_tensor(np.arange(3), **k), lambda **k: ingot.tril_indices(3, 3, **k),
    lambda **k: ingot.logspace(0, 1, 3, **k),
    lambda **k: ingot.zeros_like(ingot.ones(2), **k), lambda **k: ingot.ones(1).new_full((2,), 3, **k),
    lambda **k: ingot.rand_like(ingot.ones(2), **k), lambda **k: ingot.scalar_tensor(3.0, **k)])
def test_makers_take_a_device(make):
    ingot.manual_seed(3)
    want = make()
    ingot.manual_seed(3)
    got = make(device="cuda")
    assert got.is_cuda and want.is_cpu
    np.testing.assert_array_equal(got.cpu().numpy(), want.numpy())
    ingot.manual_seed(3)
    with ingot.device("cuda"):
        assert make().is_cuda
    assert ingot.ones(1).is_cpu


def test_like_another_tensor():
    x = ingot.ones(2, 3, device="cuda")
    for y in (ingot.zeros_like(x), ingot.rand_like(x), x.new_zeros(2), x.new_tensor([1.0]), ingot.empty_like(x), x.clone()):
        assert y.is_cuda


def test_random_numbers_have_the_bits_of_the_cpu():
    for draw in (lambda d: ingot.rand(500, device=d), lambda d: ingot.rand(50, device=d, dtype=ingot.bfloat16),
                 lambda d: ingot.randint(-5, 10 ** 12, (300,), device=d),
                 lambda d: ingot.rand(40, device=d, dtype=ingot.float64),
                 lambda d: ingot.nn.functional.dropout(ingot.ones(30, 7, device=d), 0.3),
                 lambda d: ingot.empty(20, device=d).uniform_(2, 3),
                 lambda d: ingot.bernoulli(ingot.full((50,), 0.3, device=d))):
        ingot.manual_seed(11)
        want = draw("cpu")
        ingot.manual_seed(11)
        got = draw("cuda")
        assert got.is_cuda
        np.testing.assert_array_equal(got.cpu().float().numpy(), want.float().numpy())
    ingot.manual_seed(11)
    want = ingot.randn(200)
    ingot.manual_seed(11)
    np.testing.assert_allclose(ingot.randn(200, device="cuda").cpu().numpy(), want.numpy(), rtol=1e-6)


def test_views_share_memory_and_writes_reach_them():
    x = ingot.arange(24.0, device="cuda").reshape(4, 6)
    want = ingot.arange(24.0).reshape(4, 6)
    for t in (x, want):
        t[1:3, ::2] = 0
        t.T[5] += 10
        t.view(2, 2, 6)[1, 0].mul_(2)
        t.diagonal().fill_(-1)
        t[:, 4].copy_(t[:, 0])
    assert ingot.equal(x.cpu(), want)
    assert x.T.reshape(24).tolist() == want.T.reshape(24).tolist()
    assert x.view(ingot.int32).cpu().tolist() == want.view(ingot.int32).tolist()
    assert x[1][2].item() == want[1][2].item() and bool(x[0, 0] < 0) and int(x[1, 1]) == -1


def test_writes_between_devices():
    x, y = ingot.zeros(2, 3, device="cuda"), ingot.arange(6.0).reshape(2, 3)
    x.copy_(y)
    assert x.tolist() == y.tolist()
    y.zero_()
    y.T.copy_(x.T)
    assert x.tolist() == y.tolist()
    with pytest.raises(RuntimeError, match=r"got tensors on cpu and cuda:0; move one with \.to\(\)"):
        x + y
    with pytest.raises(RuntimeError, match=r"matmul got tensors on cpu and cuda:0"):
        y @ x.T
    assert (x + ingot.tensor(2.0)).tolist() == (y + 2).tolist(), "0-d host tensors count as numbers"


def test_numbers_do_not_compile_again(cuda):
    x = ingot.ones(100, device="cuda")
    x * 2.5
    loaded = cuda.calls["cuModuleLoadData"]
    for f in (0.1, 3.0, -7.25):
        assert ingot.equal((x * f).cpu(), ingot.ones(100) * f)
    assert cuda.calls["cuModuleLoadData"] == loaded
    low = ingot.full((9,), 1.5, dtype=ingot.bfloat16, device="cuda")
    for f in (0.1, 0.7):
        assert ingot.equal((low * f).cpu(), low.cpu() * f)
        loaded = loaded if f == 0.7 else cuda.calls["cuModuleLoadData"]
    assert cuda.calls["cuModuleLoadData"] == loaded


def test_errors_of_numpy_reads_suggest_cpu():
    x = ingot.ones(2, device="cuda")
    with pytest.raises(TypeError, match=r"call \.cpu\(\) first"):
        x.numpy()
    with pytest.raises(TypeError, match=r"\.cpu\(\)"):
        np.asarray(x)
    assert x.numpy(force=True).tolist() == [1, 1]
    assert repr(x) == "tensor([1., 1.], device='cuda:0')"
    assert "requires_grad=True" in repr(x.requires_grad_())


def test_gradients_flow_through_moves():
    w = ingot.randn(3, 4, requires_grad=True)
    x = ingot.randn(5, 3)
    (x.cuda() @ w.cuda()).tanh().sum().backward()
    got, w.grad = w.grad, None
    (x @ w).tanh().sum().backward()
    assert got.is_cpu
    np.testing.assert_allclose(got.numpy(), w.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_second_order_gradients():
    x = ingot.tensor([0.3, -1.2, 2.0], device="cuda", requires_grad=True)
    g, = ingot.autograd.grad((x.sin() * x ** 3).sum(), x, create_graph=True)
    h, = ingot.autograd.grad(g.sum(), x)
    v = x.detach().cpu().double()
    want = -v.sin() * v ** 3 + 6 * v ** 2 * v.cos() + 6 * v * v.sin()
    np.testing.assert_allclose(h.cpu().numpy(), want.numpy(), rtol=1e-4)


def test_zeros_of_a_backward_are_filled_once(cuda):
    """Statistics of norms have no gradients: zeros of one shape stand for all of them, in each backward."""
    nets = [ingot.nn.Sequential(*[ingot.nn.BatchNorm1d(n) for n in (5, 5, 5, 5)]).to(device) for device in ("cpu", "cuda")]
    x = ingot.arange(40.0).reshape(8, 5).sin()
    for _ in range(2):
        before = cuda.calls.get("cuMemsetD8Async", 0)
        for net in nets:
            net(x.to(net[0].weight.device)).square().sum().backward()
        assert cuda.calls["cuMemsetD8Async"] == before + 1
        for p, q in zip(*[net.parameters() for net in nets]):
            np.testing.assert_allclose(q.grad.cpu().numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-5)


def network():
    ingot.manual_seed(0)
    nn = ingot.nn
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.2), nn.Linear(16, 4))


OPTIMIZERS = {"adamw": lambda p: ingot.optim.AdamW(p, lr=1e-2), "sgd": lambda p: ingot.optim.SGD(p, lr=0.1, momentum=0.9),
              "rmsprop": lambda p: ingot.optim.RMSprop(p, lr=1e-2)}


def trained(device, traced, optimizer):
    net = network().to(device)
    opt = OPTIMIZERS[optimizer](net.parameters())
    x = ingot.linspace(-1, 1, 48, device=device).reshape(8, 6)
    y = (ingot.arange(8, device=device) % 4)

    def step(x, y):
        opt.zero_grad()
        loss = ingot.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        ingot.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return loss

    step = jit.trace(step) if traced else step
    ingot.manual_seed(5)
    losses = [step(x, y).item() for _ in range(4)]
    assert all(p.device.type == device and p.grad.device.type == device for p in net.parameters())
    return losses


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_gives_the_losses_of_the_cpu(optimizer, traced):
    np.testing.assert_allclose(trained("cuda", traced, optimizer), trained("cpu", False, optimizer), rtol=1e-4)


def test_a_trace_serves_both_devices(cuda):
    @jit.trace
    def f(x, y):
        return (x * y + x.exp()).softmax(-1) * 2.0

    x, y = ingot.randn(4, 5), ingot.randn(4, 5)
    for _ in range(3):
        want = f(x, y)
        before = len(cuda.launches)
        got = f(x.cuda(), y.cuda())
        launched = len(cuda.launches) - before
        assert got.is_cuda
        np.testing.assert_allclose(got.cpu().numpy(), want.numpy(), rtol=1e-5, atol=1e-7)
    assert launched == 1, "one fused kernel"


def test_a_trace_sees_a_module_move():
    net = ingot.nn.Linear(3, 2)
    f = jit.trace(lambda x: net(x).relu())
    x = ingot.randn(4, 3)
    want = [f(x) for _ in range(2)][-1]
    net.cuda()
    for _ in range(3):
        np.testing.assert_allclose(f(x.cuda()).detach().cpu().numpy(), want.detach().numpy(), rtol=1e-5, atol=1e-6)
    net.cpu()
    assert ingot.equal(f(x), want)


def test_copies_and_pickles():
    x = ingot.nn.Parameter(ingot.arange(6.0, device="cuda").reshape(2, 3))
    x.sum().backward()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is ingot.nn.Parameter and y.is_cuda and y.requires_grad and y.tolist() == x.tolist()
        with ingot.no_grad():
            y.zero_()
    assert x.sum().item() == 15 and copy.deepcopy(x).grad is None
    leaf = x.detach().requires_grad_()
    leaf.sum().backward()
    assert copy.deepcopy(leaf).grad.tolist() == leaf.grad.tolist()
    t = x.detach()
    same = copy.copy(t)
    same[0, 0] = 9
    assert t[0, 0].item() == 9
    assert copy.deepcopy(t).is_cuda and pickle.loads(pickle.dumps(t)).is_cuda


def test_state_dicts_travel(tmp_path):
    net = network().cuda()
    path = tmp_path / "net.pt"
    ingot.save(net.state_dict(), path)
    other = network()
    other.load_state_dict(ingot.load(path, map_location="cpu"))
    for a, b in zip(net.parameters(), other.parameters()):
        assert b.is_cpu and ingot.equal(a.cpu(), b)
    net.load_state_dict(other.state_dict())
    assert all(p.is_cuda for p in net.parameters())


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.bfloat16, ingot.int64, ingot.bool, ingot.complex64], ids=str)
def test_dlpack_both_ways(dtype):
    x = ingot.arange(6).reshape(2, 3).to(dtype).cuda()
    assert x.__dlpack_device__() == (2, 0)
    y = ingot.from_dlpack(Exporter(x))
    assert y.is_cuda and y.dtype is x.dtype and y.stride() == x.stride() and y.cpu().tolist() == x.cpu().tolist()
    y.zero_()
    assert not x.cpu().to(ingot.bool).any()
    z = ingot.from_dlpack(Exporter(x.T))
    assert z.shape == (3, 2)
    del x, z
    gc.collect()
    assert y.cpu().to(ingot.bool).any().item() is False, "the memory lives as long as the tensor"
    del y
    gc.collect()
    assert ingot.cuda.memory_allocated() == 0


class Exporter:
    """Another library's array."""

    def __init__(self, t):
        self.t = t

    def __dlpack__(self, *, stream=None):
        return self.t.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.t.__dlpack_device__()


def test_capsules_are_consumed_once():
    x = ingot.ones(3, device="cuda")
    capsule = x.__dlpack__()
    del capsule
    with pytest.raises(BufferError, match="cannot be exported"):
        x.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match="requires grad"):
        x.requires_grad_().__dlpack__()


def test_data_loaders_pin_memory():
    data = ingot.utils.data.TensorDataset(ingot.arange(8.0), ingot.arange(8))
    for x, y in ingot.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
        assert x.is_pinned() and x.to("cuda", non_blocking=True).cpu().tolist() == y.tolist()


def test_traced_steps_replay_as_one_graph(cuda):
    """After the first runs a step is one launch of a graph, whatever its inputs, learning rate and random draws."""
    def losses(device, traced):
        net = network().to(device)
        opt = ingot.optim.AdamW(net.parameters(), lr=1e-2)

        def step(x, y):
            opt.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            opt.step()
            return loss

        step = jit.trace(step) if traced else step
        ingot.manual_seed(2)
        found = []
        for i in range(8):
            opt.param_groups[0]["lr"] = 1e-2 / (i + 1)
            before = len(cuda.launches), cuda.calls.get("cuGraphLaunch", 0)
            x = ingot.linspace(-1, 1 + i, 48, device=device).reshape(8, 6)
            found.append(step(x, x[:, :4] * 0.5))
            replays.append((len(cuda.launches) - before[0], cuda.calls.get("cuGraphLaunch", 0) - before[1]))
        return [t.item() for t in found]

    replays: list = []
    want = losses("cpu", False)
    replays.clear()
    got = losses("cuda", True)
    np.testing.assert_allclose(got, want, rtol=1e-4)
    assert [graphs for _, graphs in replays][-2:] == [1, 1] and replays[-1][0] < replays[1][0], replays


def test_results_of_replays_are_apart(cuda):
    f = jit.trace(lambda x: ((x + 1).sum(0), (x * 2).softmax(-1)))
    seen = []
    for i in range(6):
        seen.append(f(ingot.full((4, 5), float(i), device="cuda")))
    assert cuda.calls["cuGraphLaunch"] >= 1
    for i, (a, b) in enumerate(seen):
        assert a.tolist() == [4.0 * (i + 1)] * 5 and abs(b.sum().item() - 4) < 1e-5


def test_host_operators_are_not_captured(cuda):
    f = jit.trace(lambda x: (ingot.linalg.svdvals(x) + 1).exp())
    for _ in range(5):
        x = ingot.randn(5, 5) * 0.1 + ingot.eye(5)
        np.testing.assert_allclose(f(x.cuda()).cpu().numpy(), (ingot.linalg.svdvals(x) + 1).exp().numpy(), rtol=1e-4)
    assert "cuGraphLaunch" not in cuda.calls


@pytest.mark.parametrize("size", [5, 40000], ids=["few", "many"])
def test_gradients_are_added_up(size):
    """In place; of many numbers, too, where processors have a kernel for it."""
    x = ingot.ones(size, device="cuda", requires_grad=True)
    pointers = set()
    for n in (2.0, 3.0, 4.0):
        (x * n).sum().backward()
        pointers.add(x.grad.data_ptr())
    assert len(pointers) == 1 and ingot.equal(x.grad.cpu(), ingot.full((size,), 9.0))
    shared = (x * 2.0).exp()
    g, = ingot.autograd.grad((shared + shared * 2.0 + shared * 3.0).sum(), x)
    want = ingot.ones(size, requires_grad=True)
    shared = (want * 2.0).exp()
    assert ingot.equal(g.cpu(), ingot.autograd.grad((shared + shared * 2.0 + shared * 3.0).sum(), want)[0])
