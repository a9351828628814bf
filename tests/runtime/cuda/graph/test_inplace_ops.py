"""Operations in place on a device: the bits of the same operation out of place, in the same memory, in one launch."""

import pytest

import ingot
import mock_cuda
from ingot.runtime.cuda.graph import inplace_ops
from tests.runtime.core.test_inplace import ACTIVATIONS, SHARED, TABLE, filled
from tests.runtime.nn.layers.test_norm import STATISTICS, check_statistics

FLOATS = ["float32", "bfloat16"]
SIZES = [(), (7,), (3, 40)]
RUNS = 5            # the first work it out, one is noted, the others repeat


@pytest.fixture(scope="module")
def cuda():
    with mock_cuda.installed() as mock:
        yield mock


def drawn(shape, dtype, seed=0, low=0.05):
    ingot.manual_seed(seed)
    host = (ingot.rand(shape, dtype=ingot.float64) * (0.98 - low) + low).to(dtype=getattr(ingot, dtype))
    return host.to("cuda")


def on_device(rest, shape, dtype):
    return [r.to("cuda") if isinstance(r, ingot.Tensor) else r for r in filled(rest, shape, dtype)]


def same(a, b):
    return a.dtype is b.dtype and a.shape == b.shape and a.cpu().numpy().tobytes() == b.cpu().numpy().tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "rest", "options"), TABLE, ids=str)
def test_bits_and_memory(name, rest, options, dtype, cuda):
    for shape in SIZES:
        others = on_device(rest, shape, dtype)
        for _ in range(RUNS):
            x = drawn(shape, dtype)
            want = getattr(x, name)(*others, **options)
            place, version = x.data_ptr(), x._version
            assert getattr(x, name + "_")(*others, **options) is x
            assert same(x, want) and x.data_ptr() == place and x._version == version + 1, f"{name}_ of {shape}"


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name, cuda):
    for _ in range(RUNS):
        x = drawn((3, 40), "float32", low=-2.0)
        want, version = ACTIVATIONS[name](x, inplace=False), x._version
        assert ACTIVATIONS[name](x, inplace=True) is x
        assert same(x, want) and x._version == version + 1


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name", ["add", "mul", "sub", "abs", "neg", "bitwise_and", "bitwise_not", "clamp"])
def test_integers(name, dtype, cuda):
    x, y = ((drawn((70,), "float32", s) * 100).to(getattr(ingot, dtype)) for s in (1, 2))
    for rest in {"abs": [()], "neg": [()], "bitwise_not": [()], "clamp": [(3, 50)]}.get(name, [(y,), (3,)]):
        for _ in range(RUNS):
            z = x.clone()
            try:
                want = getattr(x, name)(*rest)
            except ingot.IngotError:
                with pytest.raises(ingot.IngotError):
                    getattr(z, name + "_")(*rest)
                continue
            if want.dtype is x.dtype:
                assert same(getattr(z, name + "_")(*rest), want)


@pytest.mark.parametrize("write", ["add", "mul", "copysign"])
@pytest.mark.parametrize("name", SHARED)
def test_operands_that_share_memory(name, write, cuda):
    for _ in range(RUNS):
        x = drawn((6, 6), "float32")
        twin = x.clone()
        (a, b), (c, d) = SHARED[name](x), SHARED[name](twin)
        want = getattr(c.clone(), write)(d.clone())
        getattr(a, write + "_")(b)
        assert same(a, want)


def test_operands_that_are_laid_out_otherwise(cuda):
    x, row = drawn((4, 10), "float32"), drawn((10,), "float32", 1)
    for other in (row, row.to(ingot.float64), row.to(ingot.float16), ingot.tensor(3), row.reshape(1, 10).expand(4, 10)):
        for _ in range(RUNS):
            want = x + other
            if want.dtype is x.dtype:
                assert same(x.clone().add_(other), want)
    with pytest.raises(ingot.IngotError):
        row.clone().add_(x)
    for _ in range(RUNS):
        view = drawn((10, 4), "float32").T
        want = view * x
        assert same(view.mul_(x).contiguous(), want.contiguous())


def test_histories_are_preserved(cuda):
    for _ in range(RUNS):
        w, x = drawn((10,), "float32").requires_grad_(), drawn((10,), "float32", 1)
        x.mul_(w)
        x.sigmoid_()
        found, = ingot.autograd.grad(x.sum(), [w])
        want, = ingot.autograd.grad((drawn((10,), "float32", 1) * w).sigmoid().sum(), [w])
        assert same(found, want)
        saved = drawn((10,), "float32", 2)
        y = w * saved
        saved.sigmoid_()
        with pytest.raises(ingot.IngotError, match=r"in place|overwritten"):
            y.sum().backward()


@pytest.mark.parametrize("write", [lambda x, y: x.add_(y), lambda x, y: x.mul_(0.5), lambda x, y: x.add_(y, alpha=0.1),
                                   lambda x, y: x.sigmoid_(), lambda x, y: x.lerp_(y, 0.1), lambda x, y: x.clamp_(0, 1)])
def test_one_launch_and_no_memory(write, cuda):
    """A write that is done beside and copied would pass the tests above."""
    x, y = drawn((1000,), "float32"), drawn((1000,), "float32", 1)
    for _ in range(RUNS):
        ingot.cuda.synchronize()
        before, allocations = len(cuda.launches), ingot.cuda.memory_stats()["allocation.all.allocated"]
        write(x, y)
        ingot.cuda.synchronize()
        assert len(cuda.launches) == before + 1
        assert ingot.cuda.memory_stats()["allocation.all.allocated"] == allocations


def test_statistics_of_batches_move_in_place(cuda):
    bn, x = ingot.nn.BatchNorm1d(5), ingot.randn(8, 5)
    there = ingot.nn.BatchNorm1d(5).to("cuda")
    place = there.running_var.data_ptr()
    for _ in range(RUNS):
        bn(x), there(x.to("cuda"))
    assert there.running_var.data_ptr() == place and there.num_batches_tracked.item() == RUNS
    ingot.testing.assert_close(there.running_var.cpu(), bn.running_var)
    ingot.testing.assert_close(there.running_mean.cpu(), bn.running_mean)


@pytest.mark.parametrize("name", STATISTICS)
def test_running_statistics_update_in_any_layout(name, cuda):
    for momentum in (0.1, 1):
        for _ in range(RUNS):
            check_statistics(name, ingot.float32, momentum, "cuda")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_counter_may_be_elsewhere(device, cuda):
    layer = ingot.nn.BatchNorm1d(3).to(device)
    layer.num_batches_tracked = layer.num_batches_tracked.to("cpu" if device == "cuda" else "cuda")
    for n in range(1, RUNS):
        layer(ingot.randn(4, 3, device=device))
        assert layer.num_batches_tracked.item() == n and layer.running_mean.cpu().abs().sum().item() > 0


def test_statistics_and_counter_are_one_list(cuda):
    """One call for the three of them, however many launches that is."""
    layer, x = ingot.nn.BatchNorm1d(5).to("cuda"), ingot.randn(8, 5).to("cuda")
    called, run = [], inplace_ops.launch_cache.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inplace_ops.launch_cache, "run", lambda op, *rest, **more: called.append(op) or run(op, *rest, **more))
        layer(x)
    over = [op for op in called if isinstance(op, (inplace_ops.InPlace, inplace_ops.InPlaceEach))]
    assert len(over) == 1 and [op.name for op, _ in over[0].each] == ["blend", "blend", "add"]
