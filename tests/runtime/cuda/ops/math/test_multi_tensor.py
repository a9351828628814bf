"""Optimizers on a device: one launch for many parameters, with the bits of a launch for each and of the CPU."""

import itertools
from math import ceil

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.ops.math import multi_tensor
from ingot.runtime.foreach import lists

FLAGS = [dict(zip(("weight_decay", "momentum", "dampening", "nesterov"), v)) for v in
         itertools.product((0, 0.1), (0, 0.9), (0, 0.5), (False, True))]
SGD = [("SGD", f) for f in FLAGS if not f["nesterov"] or (f["momentum"] and not f["dampening"])]
ADAMS = [(name, {"amsgrad": a, "weight_decay": w}) for name in ("Adam", "AdamW") for a in (False, True) for w in (0, 0.1)]
OPTIMIZERS = [*SGD, *ADAMS, ("Adam", {"maximize": True})]
SHAPES = [(3,), (64, 16), (), (7, 11), (0,), (1024,), (1025,), (4, 5, 6), (2, 0), (33,), (2048,), (1,), (127,)]
STEPS = 3


@pytest.fixture
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


@pytest.fixture
def one_by_one(monkeypatch):
    """Return a function that makes every row run alone."""
    return lambda: monkeypatch.setattr(multi_tensor, "_sorted", lambda rows: (rows, {}))


def drawn(shapes, kind=np.float32, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype(kind) for shape in shapes]


def trained(name, options, devices, shapes=SHAPES, kind=np.float32, before_last=lambda: None, tensors=None):
    """The parameters after some steps, as arrays; the last step launches what comes after `before_last()`."""
    tensors = tensors or (lambda array, device: ingot.tensor(array, device=device))
    params = [tensors(a, d).requires_grad_() for a, d in zip(drawn(shapes, kind), itertools.cycle(devices))]
    opt = getattr(ingot.optim, name)(params, lr=0.05, **options)
    for i in range(STEPS):
        for p, g in zip(params, drawn(shapes, kind, 1 + i)):
            p.grad = ingot.tensor(g, device=p.device)
        if i == STEPS - 1:
            before_last()
        opt.step()
    return [p.detach().cpu().numpy() for p in params]


def same(got, want):
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape and g.tobytes() == w.tobytes(), f"{g.shape}: {g} and {w}"


def updates(cuda):
    """The launches that update parameters."""
    return [launch for launch in cuda.launches if launch["name"].startswith(("adam", "sgd"))]


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=str)
def test_bits_of_the_cpu_and_of_a_launch_each(name, options, kind, cuda, one_by_one):
    count = len(SHAPES) - 2                 # (two are empty)
    got = trained(name, options, ["cuda"], kind=kind, before_last=cuda.launches.clear)
    assert len(updates(cuda)) == 2, "those that lie on whole vectors, and the others"
    one_by_one()
    each = trained(name, options, ["cuda"], kind=kind, before_last=cuda.launches.clear)
    assert len(updates(cuda)) == count
    same(got, each)
    same(got, trained(name, options, ["cpu"], kind=kind))


@pytest.mark.parametrize("name", ["Adagrad", "NAdam", "ASGD", "AdamW"])
def test_numbers_of_a_state_stay_on_the_host_whatever_the_default_device_is(name, cuda):
    with ingot.device("cuda"):
        got = trained(name, {}, ["cuda"])
        same(got, trained(name, {}, ["cpu"]))
    same(got, trained(name, {}, ["cuda"]))


@pytest.mark.parametrize("count", [1, 2, 3, 15, 16, 17, 18, 31, 32, 33, 40])
def test_any_number_of_parameters(count, cuda):
    for sizes, name in ((lambda i: 1 + 2 * i, "Adam"), (lambda i: 4 + 4 * i, "SGD")):
        shapes = [(sizes(i),) for i in range(count)]
        got = trained(name, {}, ["cuda"], shapes, before_last=cuda.launches.clear)
        assert len(cuda.launches) == ceil(count / multi_tensor.ARRAYS)
        same(got, trained(name, {}, ["cpu"], shapes))


def test_large_ones_have_a_launch_each(cuda, monkeypatch):
    monkeypatch.setattr(multi_tensor, "ALONE", 2048)
    got = trained("Adam", {}, ["cuda"], before_last=cuda.launches.clear)
    assert sorted(launch["name"] for launch in cuda.launches) == ["adam", "adam_many", "adam_many"]
    same(got, trained("Adam", {}, ["cpu"]))


def test_new_sizes_reuse_compiled_code(cuda):
    trained("Adam", {}, ["cuda"])
    before = [v for v in compiler.binaries() if v.source.name == "adam_many"]
    trained("Adam", {}, ["cuda"], [(5 * n + 1,) for n in range(20)])
    trained("Adam", {}, ["cuda"], [(8 * n + 4,) for n in range(20)])
    assert before == [v for v in compiler.binaries() if v.source.name == "adam_many"] and len(before) == 2


def flat_views(array, device):
    """A parameter in the middle of a larger piece of memory, between whole vectors."""
    flat = ingot.full((array.size + 5,), 7.0, device=device)
    view = flat[1:1 + array.size].view(array.shape)
    view.copy_(ingot.tensor(array, device=device))
    return view.detach()


def transposed(array, device):
    """A parameter of which elements do not follow each other."""
    x = ingot.tensor(array, device=device)
    return x.T.contiguous().T if x.ndim == 2 else x


@pytest.mark.parametrize("tensors", [flat_views, transposed])
def test_views(tensors, cuda):
    got = trained("Adam", {}, ["cuda"], tensors=tensors)
    same(got, trained("Adam", {}, ["cpu"]))


def test_parameters_side_by_side_in_one_memory(cuda):
    """They share memory, and no element: one launch does for them."""
    sizes, results = [5, 8, 16, 3, 100], []
    for device in ("cpu", "cuda"):
        whole, slopes = (ingot.tensor(a, device=device) for a in drawn([(132,), (132,)]))
        params = [p.detach().requires_grad_() for p in whole.split(sizes)]
        for p, g in zip(params, slopes.split(sizes)):
            p.grad = g
        opt = ingot.optim.SGD(params, lr=0.1)
        cuda.launches.clear()
        opt.step()
        results.append(whole.cpu().numpy())
    assert len(cuda.launches) == 2
    same(results[1:], results[:1])


def test_devices_and_streams(cuda):
    """Each device has its own launches, in the stream that is current there; gradients may go as soon as they are asked for."""
    want = trained("Adam", {}, ["cpu"])
    streams = [ingot.cuda.Stream(device=d) for d in (0, 1)]
    cuda.launches.clear()
    with ingot.cuda.stream(streams[0]), ingot.cuda.stream(streams[1]):
        same(trained("Adam", {}, ["cuda:0", "cuda:1"]), want)
    assert {launch["stream"] for launch in updates(cuda)} == {s.cuda_stream for s in streams}
    assert len(updates(cuda)) == STEPS * 4


def test_memory_of_another_stream_stays_until_the_update_has_run(cuda):
    arrays, slopes = drawn([(64,)] * 5), drawn([(64,)] * 5, seed=1)
    one, other = ingot.cuda.Stream(), ingot.cuda.Stream()
    with ingot.cuda.stream(one):
        params = [ingot.tensor(a, device="cuda").requires_grad_() for a in arrays]
        for p, g in zip(params, slopes):
            p.grad = ingot.tensor(g, device="cuda")
    one.synchronize()
    opt = ingot.optim.SGD(params, lr=0.1)
    with ingot.cuda.stream(other):
        opt.step()
    opt.zero_grad()
    with ingot.cuda.stream(one):
        held = [ingot.full((64,), 1e9, device="cuda") for _ in range(8)]
    one.synchronize()               # while the update waits
    other.synchronize()
    assert len(held) == 8 and len(updates(cuda)) == 1
    same([p.detach().cpu().numpy() for p in params], [a - g * np.float32(0.1) for a, g in zip(arrays, slopes)])


def added(k, x, y):
    return x + y


def doubled(k, x):
    return x + x


def test_rows_that_meet_run_in_order(cuda):
    """A tensor that is written twice, or written and then read, cannot be in one launch with itself."""
    x, y, z = (ingot.tensor([1.0, 2.0, 3.0, 4.0], device="cuda") for _ in range(3))
    cuda.launches.clear()
    lists.sweep_each(doubled, [((x,), ()), ((y,), ()), ((x,), ())], [])
    assert x.tolist() == [4, 8, 12, 16] and y.tolist() == [2, 4, 6, 8]
    lists.sweep_each(added, [((x,), (y,)), ((z,), (x,))], [])
    assert x.tolist() == [6, 12, 18, 24] and z.tolist() == [7, 14, 21, 28]
    lists.sweep_each(doubled, [((z[:2],), ()), ((z[1:],), ())], [])
    assert z.tolist() == [14, 56, 42, 56]
    assert len(cuda.launches) == 7 and not any("many" in launch["name"] for launch in cuda.launches)


def test_parameters_with_one_gradient(cuda):
    results = []
    for device in ("cpu", "cuda"):
        params = [ingot.tensor(a, device=device).requires_grad_() for a in drawn([(40,), (40,)])]
        params[0].grad = params[1].grad = ingot.tensor(drawn([(40,)], seed=1)[0], device=device)
        ingot.optim.AdamW(params).step()
        results.append([p.detach().cpu().numpy() for p in params])
    same(*results)


@pytest.mark.parametrize("kinds", [(np.float32,), (np.float64,), (np.float32, np.float64)], ids=["f32", "f64", "both"])
@pytest.mark.parametrize("devices", [["cuda"], ["cuda:0", "cuda:1"], ["cuda", "cpu"]], ids=str)
def test_clipping(devices, kinds, cuda):
    """By a norm that lies on the device, and by a value; no large number is one too many."""
    def clipped(devices, how, *args):
        found = []
        for a, d, kind in zip(drawn(SHAPES), itertools.cycle(devices), itertools.cycle(kinds)):
            p = ingot.zeros(*a.shape, device=d, dtype=ingot.from_numpy(np.zeros(0, kind)).dtype).requires_grad_()
            p.grad = ingot.tensor(a.astype(kind), device=d)
            found.append(p)
        getattr(ingot.nn.utils, how)(found, *args)
        return [p.grad.cpu().numpy() for p in found]

    for how, *args in (("clip_grads_with_norm_", 2.0, ingot.tensor(40.0)), ("clip_grad_value_", 0.5),
                       ("clip_grad_value_", 1e300)):
        there = [a.to(devices[0]) if isinstance(a, ingot.Tensor) else a for a in args]
        want = clipped(["cpu"], how, *args)
        cuda.launches.clear()
        same(clipped(devices, how, *there), want)
        launches = [launch for launch in cuda.launches if launch["name"].startswith(("_scaled", "_clamp"))]
        assert 1 <= len(launches) <= 2 * len(kinds) * len({d for d in devices if d != "cpu"})


def test_a_number_in_memory_of_an_update_alone(cuda):
    x, n = ingot.tensor([1.0, 2.0, 3.0], device="cuda"), ingot.tensor(0.5, device="cuda")
    lists.sweep_each(added, [((x,), ())], [n._a])
    assert x.tolist() == [1.5, 2.5, 3.5]
