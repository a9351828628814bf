"""Lists of tensors on a device: functions of lists, norms, gradients that are cleared, unscaled and averaged, in few launches
and with what one after the other gives."""

import itertools
import math

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.passes.codegen.triton.loops import multi_tensor as codegen
from ingot.runtime.foreach.foreach_functions import UNARY
from ingot.runtime.optim import weight_averaging

SHAPES = [(3,), (64, 16), (), (7, 11), (0,), (1025,), (4, 5, 6), (2048,)]
FLOATS = [ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16]


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed(devices=2) as mock:
        yield mock


def tensors(device, seed=0, kind=ingot.float32, shapes=SHAPES):
    """Numbers between 0.1 and 0.9."""
    random = np.random.default_rng(seed)
    return [ingot.tensor((random.random(s) * 0.8 + 0.1).astype(np.float32)).to(kind).to(device) for s in shapes]


def same(got, want):
    for g, w in zip(got, want, strict=True):
        g, w = g.detach().cpu(), w.detach().cpu()
        assert g.dtype is w.dtype and g.shape == w.shape and g.numpy().tobytes() == w.numpy().tobytes(), f"{g} and {w}"


def lists(*seeds):
    return lambda device, kind: [tensors(device, s, kind) for s in seeds]


def plain(*values):
    return lambda device, kind: list(values)


# (name, its operands, options)
CALLS = [*[(name, plain(), {}) for name in UNARY],
         *[(name, operand, {}) for name in ("add", "sub", "mul", "div") for operand in (lists(1), plain(0.7), plain(3))],
         ("mul", lambda device, kind: [ingot.tensor(0.3).to(kind).to(device)], {}), ("add", lists(1), {"alpha": 2.5}),
         ("sub", lists(1), {"alpha": 2}), ("addcmul", lists(1, 2), {}), ("addcdiv", lists(1, 2), {"value": 0.1}),
         ("lerp", lambda d, k: [tensors(d, 1, k), 0.3], {}), ("lerp", lambda d, k: [tensors(d, 1, k), 0.8], {}),
         ("copy", lists(1), {}), ("zero", plain(), {})]


BY_UNITS = ("exp", "expm1", "sigmoid", "tanh")       # whose last bits are not the CPU's, but those of each tensor by itself


@pytest.mark.parametrize(("name", "operands", "options"), CALLS, ids=lambda x: x if isinstance(x, str) else "")
def test_functions_of_lists(name, operands, options, cuda):
    """Two launches, one for those on whole vectors and one for the others, and one where each of them is new."""
    for kind, ending in itertools.product((ingot.float32, ingot.float64), ("", "_")):
        f = getattr(ingot, f"_foreach_{name}{ending}", None)
        if f is not None:
            want = f(tensors("cpu", 0, kind), *operands("cpu", kind), **options)
            xs, others = tensors("cuda", 0, kind), operands("cuda", kind)
            want = [getattr(x, name)() for x in xs] if name in BY_UNITS else want
            cuda.launches.clear()
            got = f(xs, *others, **options)
            assert len(cuda.launches) == 2, f"{name}{ending} of {kind}"
            same(got, want)
            assert ending or all(x is not g for x, g in zip(xs, got))


LOW = [(name, operands) for name, operands, options in CALLS if not options and name not in ("addcmul", "addcdiv", "lerp")]


@pytest.mark.parametrize("kind", [ingot.bfloat16, ingot.float16], ids=str)
@pytest.mark.parametrize(("name", "operands"), LOW, ids=lambda x: x if isinstance(x, str) else "")
def test_low_precision(name, operands, kind, cuda):
    """Numbers beside it keep their digits, one tensor after the other; all else is rounded once, in the kernel of a list."""
    for ending in ("", "_"):
        f, others = getattr(ingot, f"_foreach_{name}{ending}", None), operands("cuda", kind)
        if f is not None:
            xs = tensors("cuda", 0, kind)
            cuda.launches.clear()
            got = f(xs, *others)
            assert len(cuda.launches) == 2 or isinstance(others[0], (int, float))
            same(got, f(tensors("cpu", 0, kind), *operands("cpu", kind)))


@pytest.mark.parametrize("kind", [ingot.bfloat16, ingot.float16], ids=str)
def test_rows_without_a_list_kernel_run_one_by_one(kind):
    for f, more in ((ingot._foreach_mul_, ([0.1 * i for i in range(len(SHAPES))],)), (ingot._foreach_add, (0.5,))):
        same(f(tensors("cuda", 0, kind), *more), f(tensors("cpu", 0, kind), *more))
    mixed = [a.to(k) for a, k in zip(tensors("cuda"), itertools.cycle(FLOATS))]
    same(ingot._foreach_exp(mixed), [t.exp() for t in mixed])


def test_tensors_that_share_memory_are_written_in_order():
    found = []
    for device in ("cpu", "cuda"):
        x = ingot.arange(12.0).to(device)
        ingot._foreach_add_([x[:8], x[4:], x], [x[4:], x[:8], x])
        y = ingot.arange(12.0).to(device)
        ingot._foreach_mul_([y, y, y], 2)
        found.append([x, y])
    same(*found)


def test_histories_go_on():
    found = []
    for device in ("cpu", "cuda"):
        xs = [t.requires_grad_() for t in tensors(device)]
        made = ingot._foreach_mul(ingot._foreach_exp(xs), 2.0)
        norms = ingot._foreach_norm([x for x in xs if x.numel()])
        (sum(m.sum() for m in made) + sum(norms)).backward()
        found.append([x.grad for x in xs])
    for got, want in zip(*found):
        np.testing.assert_allclose(got.cpu().numpy(), want.cpu().numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="leaf"):
        ingot._foreach_mul_([t.requires_grad_() for t in tensors("cuda")], 2.0)


def test_writes_are_noticed():
    xs = tensors("cuda")
    w = ingot.ones(3, device="cuda", requires_grad=True)
    y = (w * xs[0]).sum()
    ingot._foreach_mul_(xs, 2.0)
    with pytest.raises(RuntimeError, match="_foreach_mul_"):
        y.backward()


# Norms.

LONG = [*SHAPES, (codegen.PART,), (codegen.PART + 1,), (3 * codegen.PART - 5,)]


@pytest.mark.parametrize("kind", FLOATS, ids=str)
@pytest.mark.parametrize("order", [1, 2, 3, 0.5, 0, math.inf])
def test_norms(order, kind, cuda):
    shapes = [s for s in LONG if 0 not in s] if order == math.inf else LONG
    want = ingot._foreach_norm(tensors("cpu", 0, kind, shapes), order)
    xs = tensors("cuda", 0, kind, shapes)
    cuda.launches.clear()
    got = ingot._foreach_norm(xs, order)
    few = len(cuda.launches)
    assert few == 3 if order in (1, 2) else few < 3 * len(shapes)
    step = {2: 1e-2, 4: 1e-6, 8: 1e-14}[kind.itemsize] if kind is not ingot.float16 else 2e-3
    for g, w in zip(got, want, strict=True):
        assert g.dtype is w.dtype and g.shape == ()
        np.testing.assert_allclose(g.double().item(), w.double().item(), rtol=step)
    alone = [ingot._foreach_norm([x, xs[0]], order)[0] for x in xs]
    if order in (1, 2):
        same(got, alone)            # whatever lies beside it


def test_more_arrays_than_a_launch_combines(cuda):
    xs = [ingot.full((n % 7,), float(n), device="cuda") for n in range(codegen.LISTED + 30)]
    cuda.launches.clear()
    got = ingot._foreach_norm(xs, 1)
    parts = sum(-(-len([x for x in xs if x.numel() and (x.numel() % 4 == 0) == even]) // 16) for even in (False, True))
    assert len(cuda.launches) == parts + 2
    assert [g.item() for g in got] == [float(n * (n % 7)) for n in range(len(xs))]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("order", [2.0, 1.0, math.inf, 3.0])
def test_clipping_by_norm(order, traced, cuda):
    found, counts = [], []
    for device in ("cpu", "cuda"):
        ps = [t.requires_grad_() for t in tensors(device, shapes=[s for s in LONG if 0 not in s])]

        def step(n, ps=ps):
            for p in ps:
                p.grad = p.detach() * n
            return nn.utils.clip_grad_norm_(ps, 1.5, order)

        run = jit.trace(step) if traced else step
        for i in range(4):
            cuda.launches.clear()
            total = run(ingot.tensor(1.0 + i).to(device))
            counts.append(len(cuda.launches))
        found.append([total, *[p.grad for p in ps]])
    for got, want in zip(*found):
        np.testing.assert_allclose(got.cpu().numpy(), want.cpu().numpy(), rtol=2e-6)
    assert counts[5] < (2 if traced else 3) * len(LONG)


@pytest.mark.parametrize("kind", [ingot.bfloat16, ingot.float16], ids=str)
def test_clipping_in_low_precision(kind, cuda):
    found = []
    for device in ("cpu", "cuda"):
        ps = [t.requires_grad_() for t in tensors(device, kind=kind)]
        for p in ps:
            p.grad = p.detach() * 4
        cuda.launches.clear()
        nn.utils.clip_grads_with_norm_(ps, 1.0, ingot.tensor(3.0).to(device))
        found.append([p.grad for p in ps])
    same(*found)
    assert len(cuda.launches) < len(ps)


@pytest.mark.parametrize("wrong", [math.inf, math.nan, None])
def test_unscaling_in_a_traced_step(wrong, cuda):
    found = []
    for device in ("cpu", "cuda"):
        ps = [t.requires_grad_() for t in tensors(device)]
        opt, scaler = ingot.optim.SGD(ps, lr=0.5), ingot.amp.GradScaler(device, init_scale=4.0)

        def step(n, ps=ps, opt=opt, scaler=scaler):
            for p in ps:
                p.grad = scaler.scale(p.detach() * n)
            scaler.unscale_(opt)
            scaler.step(opt)
            scaler.update()

        run = jit.trace(step)
        for n in (1.0, 2.0, wrong, 3.0, 2.0):
            if n is not None:
                run(ingot.tensor(n).to(device))
        found.append([*ps, ingot.tensor(scaler.get_scale())])
    same(*found)


@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan, None])
@pytest.mark.parametrize("place", [0, 3, -1])
def test_unscaling(wrong, place, cuda):
    """A scaler finds what is not finite in any gradient, and divides all."""
    for kinds in ((ingot.float32,), (ingot.float32, ingot.bfloat16)):
        found = []
        for device in ("cpu", "cuda"):
            ps = [t.to(k).requires_grad_() for t, k in zip(tensors(device, shapes=LONG), itertools.cycle(kinds))]
            opt, scaler = ingot.optim.SGD(ps, lr=0.5), ingot.amp.GradScaler(device, init_scale=4.0)
            scaler.scale(ingot.ones((), device=device))
            for p in ps:
                p.grad = p.detach() * 4
            if wrong is not None:
                ps[place].grad.view(-1)[-1] = wrong
            cuda.launches.clear()
            scaler.unscale_(opt)
            count = len(cuda.launches)
            scaler.step(opt)
            scaler.update()
            found.append([*[p.grad for p in ps], *ps, ingot.tensor(scaler.get_scale())])
        same(*found)
        assert len(kinds) > 1 or count < 2 * len(LONG) / 2


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("average", [lambda: weight_averaging.get_ema_multi_avg_fn(0.9), weight_averaging.get_swa_multi_avg_fn],
                         ids=["ema", "mean"])
def test_gradients_set_to_zero_and_averages(average, traced, cuda):
    found, counts = [], []
    for device in ("cpu", "cuda"):
        net = nn.Sequential(*[nn.Linear(8, 8) for _ in range(6)])
        for p, a in zip(net.parameters(), tensors("cpu", 3, shapes=[(8, 8), (8,)] * 6)):
            p.data.copy_(a)
        net = net.to(device)
        mean = weight_averaging.AveragedModel(net, multi_avg_fn=average())
        opt = ingot.optim.SGD(net.parameters(), lr=0.1)

        def step(x, net=net, opt=opt):
            opt.zero_grad(set_to_none=False)
            net(x).square().sum().backward()
            opt.step()

        run = jit.trace(step) if traced else step
        for i in range(4):
            run(ingot.full((2, 8), 0.1 * i).to(device))
            cuda.launches.clear()
            mean.update_parameters(net)
            counts.append(len(cuda.launches))
        net.zero_grad(set_to_none=False)
        assert all(p.grad is not None and not p.grad.any() for p in net.parameters())
        found.append([*net.parameters(), *mean.module.parameters()])
    for want, got in zip(*found):
        np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=1e-5, atol=1e-7)
    assert counts[-1] <= 3


def test_devices_apart():
    """Tensors of two devices have their own launches, and norms that meet on the first one."""
    xs = [t.to(f"cuda:{i % 2}") for i, t in enumerate(tensors("cpu"))]
    same(ingot._foreach_sqrt(xs), ingot._foreach_sqrt(tensors("cpu")))
    total = nn.utils.get_total_norm(xs)
    np.testing.assert_allclose(total.item(), nn.utils.get_total_norm(tensors("cpu")).item(), rtol=1e-6)
