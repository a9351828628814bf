"""Functions of the API on tensors of a CUDA device, on the mock driver: what they give, where, and what they raise."""

import io

import numpy as np
import pytest

import ingot
import mock_cuda
from distribution_table import ROWS
from ingot import nn
from ingot.ir.errors import ArgumentError, DeviceError, ShapeError
from ingot.nn import functional as F
from ingot.runtime.cuda.graph import eager


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed() as mock:
        yield mock


def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, (tuple, list)) else [x]


def agree(f, tolerance=1e-4):
    """Holds f(device) to what it gives on the CPU, after the same seed."""
    found = []
    for device in ("cpu", "cuda"):
        ingot.manual_seed(3)
        found.append(flat(f(device)))
    assert len(found[0]) == len(found[1])
    for want, got in zip(*found):
        assert got.device.type == "cuda" and got.dtype is want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=tolerance, atol=tolerance)


def numbers(device, *shape):
    return ingot.linspace(-2.0, 3.0, int(np.prod(shape))).reshape(shape).to(device)


def whole(device, *values):
    return ingot.tensor(values).to(device)


FUNCTIONS = {
    "hann_window": lambda d: [ingot.hann_window(7, device=d), ingot.signal.windows.gaussian(6, device=d)],
    "stft": lambda d: ingot.view_as_real(ingot.stft(numbers(d, 60), 16, return_complex=True)),
    "istft": lambda d: ingot.istft(ingot.stft(numbers(d, 64), 16, return_complex=True), 16),
    "pdist": lambda d: F.pdist(numbers(d, 4, 3)),
    "combinations": lambda d: ingot.combinations(numbers(d, 4)),
    "vander": lambda d: [ingot.vander(numbers(d, 4)), ingot.linalg.vander(numbers(d, 4))],
    "cholesky_inverse": lambda d: ingot.cholesky_inverse(ingot.eye(3, device=d) * 2),
    "histogram": lambda d: ingot.histogram(numbers(d, 20), 4),
    "nonzero_static": lambda d: ingot.nonzero_static(numbers(d, 3, 4) > 0, size=4),
    "segment_reduce": lambda d: ingot.segment_reduce(numbers(d, 6), "sum", lengths=whole(d, 2, 1, 3)),
    "masked": lambda d: [ingot.masked.mean(numbers(d, 3, 4), 1),
                         ingot.masked.var(numbers(d, 3, 4), 1, mask=numbers(d, 3, 4) > 0)],
    "one_hot": lambda d: [F.one_hot(whole(d, 1, 0, 3), 5), F.one_hot(whole(d, 1, 0, 3))],
    "multinomial": lambda d: [ingot.multinomial(numbers(d, 2, 6).abs(), 4, r) for r in (False, True)],
    "svd_lowrank": lambda d: ingot.svd_lowrank(numbers(d, 6, 4).cos(), 2)[1],
    "gumbel_softmax": lambda d: F.gumbel_softmax(numbers(d, 3, 4), hard=True),
    "fractional_max_pool2d": lambda d: F.fractional_max_pool2d(numbers(d, 1, 2, 6, 6), 2, (3, 3), return_indices=True),
    "multi_margin_loss": lambda d: F.multi_margin_loss(numbers(d, 3, 4), whole(d, 1, 0, 3)),
    "embedding_bag of rows": lambda d: [F.embedding_bag(whole(d, 1, 3, 2, 0).reshape(2, 2), numbers(d, 5, 3), mode=m)
                                        for m in ("sum", "mean", "max")],
    "embedding_bag by offsets": lambda d: [F.embedding_bag(whole(d, 1, 3, 2, 0), numbers(d, 5, 3), whole(d, 0, 3, 3), mode=m)
                                           for m in ("sum", "mean", "max")],
    "attention with more keys": lambda d: nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True).to(d)(
        *[numbers(d, 3, 2, 4)] * 3, key_padding_mask=ingot.zeros(2, 3, dtype=ingot.bool, device=d)),
    "adaptive softmax": lambda d: tuple(nn.AdaptiveLogSoftmaxWithLoss(16, 9, [3, 5]).to(d)(
        numbers(d, 4, 16), whole(d, 0, 4, 8, 2))),
    "pad_sequence": lambda d: nn.utils.rnn.pad_sequence([numbers(d, 3), numbers(d, 2)]),
    "indices on the host": lambda d: [numbers(d, 4, 3)[ingot.tensor([2, 0])], numbers(d, 4, 3)[[1, 2], [0, 1]],
                                      numbers(d, 4, 3)[:, ingot.tensor([True, False, True])],
                                      numbers(d, 4, 3)[ingot.tensor([1, 2]), ingot.tensor([0, 0])]],
    "writes at indices": lambda d: [
        written(numbers(d, 4, 3), i) for i in (ingot.tensor([2, 0]), whole(d, 2, 0), [1, 3])],
    "sums of turned arrays": lambda d: [numbers(d, 2, 3, 4).permute(1, 0, 2).sum(), numbers(d, 2, 3, 4).mT.amax()],
    "small integers and numbers": lambda d: [
        x for kind in (ingot.uint8, ingot.int8, ingot.int16) for t in (whole(d, 0, 1, 5, 9).to(kind),)
        for x in (t + 2, t * 3, t.clamp(1, 4), t == 5, t // 2, t.masked_fill(t == 1, 7))],
    "whole quotients": lambda d: [f(whole(d, -7, -1, 0, 5, 9), b) for b in (2, -3, whole(d, 1, -2, 3, 4, -5)) for f in (
        ingot.floor_divide, ingot.remainder, ingot.fmod, lambda a, b: ingot.div(a, b, rounding_mode="trunc"))],
    "a number by integers": lambda d: [7 // whole(d, 2, -3, 4).reshape(3, 1), 7 % whole(d, 2, -3, 4),
                                       whole(d, 2, 3)[0] // whole(d, 1, 2)],
    "empty tensors": lambda d: [x for t in (ingot.zeros(0, 3, device=d),) for x in (
        t.sum(0), t.prod(), t.mean(), (t > 1).all(1), (t == 0).any(), t.softmax(1), t.exp() + 1, t.argmax(1), t.cumsum(0),
        t.nonzero(), t[t > 0], t @ ingot.zeros(3, 2, device=d), t.T @ t, t.sort(0)[0])],
    "nothing to reduce": lambda d: [f(numbers(d, 3)[1]) for f in (ingot.all, ingot.any, ingot.argmax, ingot.argmin)],
    "jacobians": lambda d: [
        f(lambda x: (x * x.sum()).sin())(numbers(d, 3)) for f in (ingot.func.jacrev, ingot.func.jacfwd)] + [
        ingot.func.hessian(lambda x: x.tanh().prod())(numbers(d, 3)),
        ingot.autograd.functional.jacobian(lambda x: x ** 2, numbers(d, 3)),
        ingot.autograd.functional.hessian(lambda x: x.tanh().prod(), numbers(d, 3)),
        ingot.autograd.functional.jvp(lambda x: x.exp(), numbers(d, 3), numbers(d, 3))[1]],
    "out grows": lambda d: grown(numbers(d, 2, 3)),
    "sparse": lambda d: [s.to_dense() for s in (
        ingot.sparse_coo_tensor([[0, 1], [2, 0]], numbers(d, 2), (2, 3)),
        ingot.sparse_csr_tensor([0, 1, 2], [1, 0], numbers(d, 2)),
        ingot.sparse_coo_tensor(whole(d, 0, 1).repeat(2, 1), [1.0, 2.0], device=d))],
    "sparse matrices": lambda d: [y for make in (
        lambda t: t.to_sparse(), lambda t: t.to_sparse_csr(), lambda t: t.to_sparse_csc(), lambda t: t.to_sparse_bsr((2, 1)))
        for a in (make(numbers("cpu", 4, 3).relu()).to(d),) for y in (
            a @ numbers(d, 3, 2), numbers(d, 2, 4) @ a, (a * 2 + a).sin().to_dense(), a.sum(), a.t().to_dense(),
            (a @ a.t()).to_dense(), make(a.to_dense()).to_dense(), *product_gradients(a, numbers(d, 3, 2)))],
    "numbers beside complex": lambda d: [ingot.view_as_real(x) for z in (ingot.view_as_complex(numbers(d, 3, 2)),) for x in (
        ingot.where(z.real > 0, 0, z), z.masked_fill(z.real > 0, 2j), z * 2, 1 - z)],
    "numbers that low precision rounds": lambda d: [
        y.float() for kind in (ingot.bfloat16, ingot.float16) for x in (numbers(d, 40).to(kind),)
        for y in (x + 8.396163, 8.396163 - x, x * 0.1, 0.1 / x, x.clamp(max=2.71), x.masked_fill(x > 1, 0.1), x % 0.3)],
    "lazy modules": lambda d: nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d()).to(d)(numbers(d, 1, 2, 5, 5)),
    "affine_grid": lambda d: F.affine_grid(numbers(d, 1, 2, 3), (1, 1, 3, 2)),
    "orthogonal": lambda d: nn.utils.parametrizations.orthogonal(nn.Linear(3, 3).to(d))(numbers(d, 2, 3)),
    "flex_attention": lambda d: nn.attention.flex_attention.flex_attention(
        *[numbers(d, 1, 2, 4, 8)] * 3, score_mod=lambda s, b, h, q, k: s + (q - k).abs() * 0.1 * (h + 1)),
    "batches of what is there": lambda d: [x for batch in ingot.utils.data.DataLoader(
        ingot.utils.data.TensorDataset(numbers(d, 4, 2), whole(d, 0, 1, 2, 3)), batch_size=2) for x in batch],
    "borders": lambda d: [F.pad(numbers(d, 2, 3, 4, 5), (2, 1, 1, 2), mode=m) for m in ("reflect", "replicate", "circular")],
}


def product_gradients(a, x):
    leaf, x = a.detach().clone().requires_grad_(), x.requires_grad_()
    (leaf @ x).square().sum().backward()
    return leaf.grad.to_dense(), x.grad


def written(x, index):
    x[index] = 7.0
    x[index, :2] += 1
    x[index] = ingot.tensor(2)
    x[index, 1] = [3.0, 4.0]
    return x


def grown(x):
    out = ingot.empty(0, device=x.device)
    ingot.exp(x, out=out)
    more = x.clone().resize_(3, 3)
    return [out, more]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_equal_the_cpu(name):
    agree(FUNCTIONS[name])


@pytest.mark.drawn
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.family}-{'-'.join(r.args)}")
def test_distributions_draw_the_numbers_of_the_cpu(row):
    def queried(device):
        given = {k: v if isinstance(v, int) else ingot.tensor(v).to(device) for k, v in row.args.items()}
        d = getattr(ingot.distributions, row.family)(**given, **row.fixed)
        found = [d.sample((3,)), *[d.log_prob(ingot.tensor(v).to(device)) for v in row.values]]
        return [*found, *([d.entropy()] if row.entropy else [])]

    agree(queried, 2e-4)


def test_an_integer_divided_by_zero_is_raised_when_values_are_read():
    a, b = whole("cuda", 1, 2), whole("cuda", 1, 0)
    c = a // b
    with pytest.raises(ArgumentError, match=r"floor_divide: integer division by zero, on cuda:0"):
        c.tolist()
    assert (a // 2).tolist() == [0, 1]
    with pytest.raises(ArgumentError, match="remainder: integer division by zero"):
        a % 0
    with pytest.raises(ArgumentError, match="repeat_interleave: counts must not be negative"):
        ingot.repeat_interleave(whole("cuda", 3, -1)).tolist()


def _waiting() -> int:
    """Bytes that were given back and are not free yet."""
    stats = ingot.cuda.memory_stats()
    return stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"]


def test_memory_with_record_stream_waits_for_the_stream(cuda):
    x, side = ingot.arange(300.0, device="cuda"), ingot.cuda.Stream()
    side.wait_stream(ingot.cuda.current_stream())
    address = x.data_ptr()
    with ingot.cuda.stream(side):
        y = x + 1
    x.record_stream(side)
    del x
    others = [ingot.empty(300, device="cuda") for _ in range(4)]
    assert all(t.data_ptr() != address for t in others)
    assert _waiting() == 1536 and len(others) == 4
    ingot.cuda.synchronize()
    assert _waiting() == 0 and y[1].item() == 2
    with pytest.raises(DeviceError, match="record_stream is for tensors on a device"):
        ingot.ones(1).record_stream(side)


def test_no_view_reaches_beyond_memory():
    for device in ("cpu", "cuda"):
        with pytest.raises(ShapeError, match=r"reaches element 13 of a storage of 10 elements"):
            numbers(device, 10).as_strided((2, 2), (1, 2), 10)


def test_functions_that_read_values_take_device_tensors():
    x = numbers("cuda", 2, 3)
    ingot.testing.assert_close(x, x.cpu() + 0, check_device=False)
    with pytest.raises(AssertionError, match="cuda:0 != cpu"):
        ingot.testing.assert_close(x, x.cpu())
    with pytest.raises(AssertionError, match="Mismatched elements: 6 / 6"):
        ingot.testing.assert_close(x, x + 1)
    assert x.share_memory_() is x
    with pytest.raises(RuntimeError, match=r"input 0 is on cuda:0.*move it with \.cpu\(\)"):
        ingot.autograd.gradcheck(ingot.sin, x.double().requires_grad_())


OPTIMIZERS = [("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True}), ("AdamW", {}), ("NAdam", {}),
              ("RMSprop", {"centered": True}), ("Adagrad", {}),
              ("Adadelta", {}), ("ASGD", {}), ("Rprop", {}), ("Adafactor", {}),
              ("LBFGS", {"max_iter": 2})]


@pytest.mark.parametrize("through_a_file", [False, True], ids=["copied", "loaded"])
@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=[n for n, _ in OPTIMIZERS])
def test_training_goes_on_from_a_state(name, options, through_a_file):
    """The state was saved on the CPU, or on the device; where parameters are, it comes."""
    def trained(before, after):
        ingot.manual_seed(0)
        net = nn.Linear(3, 2)
        losses, state = [], None
        for device in (before, after):
            net = net.to(device)
            opt = getattr(ingot.optim, name)(net.parameters(), lr=0.05, **options)
            if state is not None:
                opt.load_state_dict(state)

            def closure(net=net, opt=opt, device=device):
                opt.zero_grad()
                loss = (net(numbers(device, 4, 3)) ** 2).mean()
                loss.backward()
                return loss

            losses += [opt.step(closure).item() for _ in range(2)]
            state = opt.state_dict()
            if through_a_file:
                file = io.BytesIO()
                ingot.save(state, file)
                file.seek(0)
                state = ingot.load(file)
        return losses

    want = trained("cpu", "cpu")
    for before, after in (("cuda", "cuda"), ("cpu", "cuda"), ("cuda", "cpu")):
        np.testing.assert_allclose(trained(before, after), want, rtol=1e-3, err_msg=f"{before} to {after}")


def test_load_respects_map_location(tmp_path):
    path = tmp_path / "x.pt"
    ingot.save({"there": ingot.ones(2, device="cuda"), "here": ingot.ones(2), "net": nn.Linear(2, 2).cuda().state_dict()}, path)

    def map_location_of(**how):
        found = ingot.load(path, **how)
        return [x.device.type for x in (found["there"], found["here"], found["net"]["weight"])]

    assert map_location_of() == ["cuda", "cpu", "cuda"]
    assert map_location_of(map_location="cpu") == map_location_of(map_location=ingot.device("cpu")) == ["cpu"] * 3
    assert map_location_of(map_location="cuda") == map_location_of(map_location=lambda t, location: t.cuda()) == ["cuda"] * 3
    assert map_location_of(map_location={"cuda:0": "cpu"}) == map_location_of(map_location=lambda t, location: t) == ["cpu"] * 3
    assert map_location_of(map_location=lambda t, location: None) == ["cuda", "cpu", "cuda"]
    net = nn.Sequential(nn.Linear(2, 2)).cuda()
    ingot.save(net, tmp_path / "net.pt")
    assert next(ingot.load(tmp_path / "net.pt").parameters()).is_cuda
    loaded = ingot.load(tmp_path / "net.pt", map_location="cpu")
    assert type(loaded[0].weight) is nn.Parameter and loaded[0].weight.is_cpu and loaded[0].weight.requires_grad


def test_device_tensors_load_without_a_device(tmp_path):
    with mock_cuda.installed(devices=2):
        ingot.save(ingot.ones(2, device="cuda:1"), tmp_path / "x.pt")
        assert str(ingot.load(tmp_path / "x.pt").device) == "cuda:1"
    assert ingot.load(tmp_path / "x.pt").is_cpu
    with pytest.raises(DeviceError, match=r"there is no device cuda:1: this machine has 1"):
        ingot.load(tmp_path / "x.pt", map_location="cuda:1")


def test_interpolation_in_a_step_is_part_of_its_graph(cuda):
    """Tables of places are uploaded once, and live as long as the graph that reads them."""
    from_host = ingot.runtime.cuda.graph.eager.Host.calls
    def enlarged(x):
        return F.interpolate(F.pad(x, (1, 1, 1, 1), mode="reflect"), scale_factor=2, mode="bilinear").relu().sum(1)

    f = ingot.jit.trace(enlarged)
    for step in range(6):
        x = numbers("cpu", 1, 2, 4, 4) + step
        want = enlarged(x)
        if step == 5:
            ingot.runtime.cuda.ops.nn.linear_maps._tables.clear()
        np.testing.assert_allclose(f(x.cuda()).cpu().numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
    assert cuda.calls["cuGraphLaunch"] >= 2 and ingot.runtime.cuda.graph.eager.Host.calls == from_host


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 1)), ((7, 33), (33,)), ((4,), (4,)), ((3, 0), (0, 2))],
                         ids=str)
def test_products_of_integers(dtype, shapes, monkeypatch):
    """They wrap as the CPU's do, on the device."""
    def refused(op, *_):
        raise AssertionError(f"{op.name} runs on the host")

    monkeypatch.setattr(eager, "on_host", refused)
    for _ in range(4):
        x, y = ((ingot.rand(s) * 200).to(ingot.int64).to(getattr(ingot, dtype)) for s in shapes)
        want, got = x @ y, x.to("cuda") @ y.to("cuda")
        assert got.dtype is want.dtype and got.tolist() == want.tolist()
