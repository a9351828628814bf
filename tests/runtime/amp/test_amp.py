"""autocast and GradScaler: dtypes, nesting, gradients, the cast cache, traces, scales."""

from types import SimpleNamespace

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import Tensor, amp, nn
from ingot.ir.opdef.op import AUTOCAST, OPS
from ingot.runtime.amp.autocast_mode import Casting
from ingot.utils import _pytree

F = nn.functional
BF16, F16, F32, F64 = ingot.bfloat16, ingot.float16, ingot.float32, ingot.float64


def dtypes(**fns):
    return {k: f().dtype for k, f in fns.items()}


def test_contractions_run_low():
    x, w, image, kernel = ingot.randn(4, 6), ingot.randn(5, 6), ingot.randn(2, 3, 8, 8), ingot.randn(4, 3, 3, 3)
    q = ingot.randn(2, 2, 5, 8)
    with amp.autocast("cpu"):
        got = dtypes(matmul=lambda: x @ w.T, mm=lambda: ingot.mm(x, w.T), linear=lambda: F.linear(x, w),
                     addmm=lambda: ingot.addmm(ingot.zeros(4, 5), x, w.T), conv=lambda: F.conv2d(image, kernel),
                     transposed=lambda: F.conv_transpose2d(image, ingot.randn(3, 2, 3, 3)),
                     einsum=lambda: ingot.einsum("ij,kj->ik", x, w),
                     attention=lambda: F.scaled_dot_product_attention(q, q, q), rnn=lambda: nn.RNN(6, 3)(x)[0],
                     bmm=lambda: ingot.bmm(q[0], q[0].mT), vectors=lambda: x[0] @ x[1], column=lambda: x @ x[0],
                     rows=lambda: ingot.inner(x, x), vecdot=lambda: ingot.linalg.vecdot(x, x), cov=x.cov, corrcoef=x.corrcoef)
    assert set(got.values()) == {BF16}, got


def _as_single(x, w, square):
    """Return functions whose products keep their dtypes on CPUs under autocast."""
    v, factors = x[0], ingot.linalg.lu_factor(square)
    return {"mv": lambda: x.mv(v), "dot": lambda: v.dot(v), "vdot": lambda: v.vdot(v), "inner": lambda: v.inner(v),
            "tensordot": lambda: ingot.tensordot(x, x, 2), "addmv": lambda: ingot.addmv(x[:, 0], x, v),
            "bilinear": lambda: F.bilinear(x, x, w), "matrix_exp": lambda: ingot.linalg.matrix_exp(square / 4),
            "householder": lambda: ingot.linalg.householder_product(x.T, x[:, 1]),
            "ormqr": lambda: ingot.ormqr(x.T, x[:, 0], x.T), "lu_solve": lambda: ingot.lu_solve(square, *factors),
            "pinv": lambda: ingot.linalg.pinv(x), "lobpcg": lambda: ingot.lobpcg(square, k=1, X=square[:, :1])[0]}


@pytest.mark.parametrize("low", [BF16, F16])
def test_functions_that_keep_float32_on_cpus(low):
    x = ingot.rand(4, 6, generator=ingot.Generator().manual_seed(3))
    functions = _as_single(x, ingot.ones(2, 6, 6), x @ x.T + 4 * ingot.eye(4))
    for name, f in functions.items():
        before = f()
        with amp.autocast("cpu", low):
            assert np.array_equal(before.numpy(), f().numpy()), name


@pytest.mark.parametrize("low", [BF16, F16])
@pytest.mark.parametrize("name", ["addmm", "addbmm", "baddbmm"])
def test_sums_with_products_are_rounded_once(name, low):
    """The sums have the dtype of low operands."""
    x = ingot.rand(2, 5, 5, generator=ingot.Generator().manual_seed(1))
    first = x if name == "baddbmm" else x[0]
    operands = (first, x[0], x[1]) if name == "addmm" else (first, x, x)
    with amp.autocast("cpu", low):
        found = getattr(ingot, name)(*operands, alpha=0.3, beta=1.7)
    expected = getattr(ingot, name)(*[t.to(low) for t in operands], alpha=0.3, beta=1.7)
    assert found.dtype is low and (found == expected).all()


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell])
@pytest.mark.parametrize("weights", [F32, BF16])
@pytest.mark.parametrize("input_dtype", [F32, BF16])
@pytest.mark.parametrize("state", [None, F32, BF16])
def test_gates_end_in_the_dtype_of_their_state_on_cpus(make, weights, input_dtype, state):
    model, shape = make(6, 3).to(weights), (2, 3) if "Cell" in make.__name__ else (1, 2, 3)
    h = None if state is None else ingot.zeros(shape, dtype=state)
    hx = h if h is None or "GRU" in make.__name__ else (h, h)
    x = ingot.rand(2, 6, dtype=input_dtype) if "Cell" in make.__name__ else ingot.rand(5, 2, 6, dtype=input_dtype)
    with amp.autocast("cpu"):
        got = model(x, hx)
    flat = _pytree.tree_leaves(got)
    assert {t.dtype for t in flat} == {input_dtype if state is None else state}
    if weights is F32 and input_dtype is F32 and state in (None, F32):
        assert np.array_equal(flat[0].detach().numpy(), _pytree.tree_leaves(model(x, hx))[0].detach().numpy())


def test_wide_operators_run_in_float32_and_others_as_they_come():
    low, single, double = ingot.rand(4, 6).bfloat16(), ingot.rand(4, 6), ingot.rand(4, 6, dtype=F64)
    target = ingot.zeros(4, dtype=ingot.int64)
    with amp.autocast("cpu"):
        wide = dtypes(prod=lambda: low.prod(), cdist=lambda: ingot.cdist(low, low), quantile=lambda: low.quantile(0.5),
                      loss=lambda: F.cross_entropy(low, target), nll=lambda: F.nll_loss(low, target),
                      mse=lambda: F.mse_loss(low, single), smooth=lambda: F.smooth_l1_loss(low, low))
        assert set(wide.values()) == {F32}, wide
        same = dtypes(relu=lambda: low.relu(), add=lambda: low + low, mul=lambda: low * 2.0, gelu=lambda: F.gelu(low),
                      exp=lambda: low.exp(), log=lambda: low.log(), pow=lambda: low ** 3, softmax=lambda: low.softmax(-1),
                      sum=lambda: low.sum(), cumsum=lambda: low.cumsum(0), norm=lambda: low.norm(), mean=lambda: low.mean(1))
        assert set(same.values()) == {BF16}, same
        assert ingot.stft(low.reshape(24), 8, return_complex=True).dtype is ingot.complex64
        assert (low + single).dtype is F32 and (double @ double.T).dtype is F64 and double.exp().dtype is F64
        assert (ingot.ones(2, 2, dtype=ingot.int64) @ ingot.ones(2, 2, dtype=ingot.int64)).dtype is ingot.int64


@pytest.mark.parametrize("low", [BF16, F16])
def test_functions_that_run_in_float32_on_cpus(low):
    line, plane, volume = (ingot.rand(1, 2, *(8,) * n).to(low) for n in (1, 2, 3))
    found, indices = F.max_pool2d(plane, 2, return_indices=True)

    def border(x, mode):
        return lambda: F.pad(x, (1, 1) * (x.ndim - 2), mode=mode)

    wide = {"trace": lambda: plane[0, 0].trace(), "avg": lambda: F.avg_pool3d(volume, 2),
            "max": lambda: F.max_pool3d(volume, 2), "adaptive avg": lambda: F.adaptive_avg_pool3d(volume, 2),
            "adaptive max": lambda: F.adaptive_max_pool3d(volume, 2), "unpool": lambda: F.max_unpool2d(found, indices, 2),
            "fractional": lambda: F.fractional_max_pool2d(plane, 2, output_size=3),
            "fake quantised": lambda: ingot.fake_quantize_per_tensor_affine(plane, 0.5, 0, 0, 255),
            "neighbouring channels": lambda: F.local_response_norm(plane, 2),
            **{f"mirrored {x.ndim}": border(x, "reflect") for x in (line, plane)},
            **{f"repeated {x.ndim}": border(x, "replicate") for x in (line, plane, volume)}}
    as_they_come = {"planes": lambda: F.avg_pool2d(plane, 2), "maxima of planes": lambda: F.max_pool2d(plane, 2),
                    "zeros": lambda: F.pad(line, (1, 1)), "around": lambda: F.pad(line, (1, 1), mode="circular"),
                    "mirrored volume": border(volume, "reflect"),
                    "channels of lines": lambda: F.local_response_norm(line, 2)}
    with amp.autocast("cpu", low):
        wide_results, low_results = dtypes(**wide), dtypes(**as_they_come)
    assert set(wide_results.values()) == {F32} and set(low_results.values()) == {low}, (wide_results, low_results)
    assert set(dtypes(**wide).values()) == {low}


def test_more_operators_run_in_float32_on_gpus():
    """Read the declarations of records, without a device: arguments of the kind "cuda" need none."""
    x = ingot.ones(3, dtype=F16)
    there = SimpleNamespace(type="cuda")
    for device, wanted in ((x.device, F16), (there, F32)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Tensor, "device", device)
            seen = {name: Casting({"cuda": F16, "cpu": BF16}, caches=False).cast(OPS[name], (x,))[0].dtype
                    for name in ("exp", "sum", "softmax", "cumsum", "pow", "vector_norm")}
        assert set(seen.values()) == {wanted}, (device, seen)


def test_matrices_times_vectors_run_low_on_gpus():
    x = ingot.ones(3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tensor, "device", SimpleNamespace(type="cuda"))
        casting = Casting({"cuda": F16}, caches=False)
        assert [casting.cast(OPS[name], (x, x))[0].dtype for name in ("mv", "dot")] == [F16, F32]


def test_the_kinds_of_operators_do_not_overlap():
    ingot.__all__  # noqa: B018  (loads every operator)
    kinds = [{name for name, op in OPS.items() if trait in op.traits} for trait in AUTOCAST]
    assert all(kinds) and len(set.union(*kinds)) == sum(map(len, kinds))


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_autocast_leaves_other_operators_alone(kind, monkeypatch):
    """Calls of other operators take short paths without autocast."""
    ingot.__all__  # noqa: B018  (loads every operator)
    monkeypatch.setattr(Tensor, "device", SimpleNamespace(type=kind))
    casting = Casting({"cpu": BF16, "cuda": F16}, caches=False)
    args = tuple([ingot.ones(2).to(dtype) for dtype in (F32, F16, BF16)])
    for op in OPS.values():
        assert op.is_autocast or casting.cast(op, args) is args, op.name


def test_contexts_nest_and_end():
    x = ingot.randn(3, 3)
    assert not ingot.is_autocast_enabled("cpu")
    with amp.autocast("cpu"):
        assert ingot.is_autocast_enabled("cpu") and ingot.get_autocast_dtype("cpu") is BF16
        with amp.autocast("cpu", dtype=F16):
            assert (x @ x).dtype is F16
            with amp.autocast("cpu", enabled=False):
                assert (x @ x).dtype is F32 and not ingot.is_autocast_enabled("cpu")
            assert (x @ x).dtype is F16
        assert (x @ x).dtype is BF16
        with pytest.raises(KeyError), ingot.autocast("cpu", F16):
            raise KeyError
        assert (x @ x).dtype is BF16
    assert (x @ x).dtype is F32
    again = amp.autocast("cpu")
    with again, again:
        assert (x @ x).dtype is BF16
    assert (x @ x).dtype is F32 and ingot.get_autocast_dtype("cpu") is BF16


def test_decorators_and_switches():
    x = ingot.randn(3, 3)

    @amp.autocast("cpu", dtype=F16)
    def f(a):
        """Multiplies."""
        return a @ a

    assert f(x).dtype is F16 and (x @ x).dtype is F32 and f.__doc__ == "Multiplies."
    ingot.set_autocast_enabled("cpu", True)
    try:
        assert (x @ x).dtype is BF16 and ingot.is_autocast_cpu_enabled()
    finally:
        ingot.set_autocast_enabled("cpu", False)
    assert (x @ x).dtype is F32


def test_threads_have_their_own_autocast():
    import threading
    seen = []
    with amp.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(ingot.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert seen == [False]


def test_arguments_are_checked():
    for wrong in (None, ingot.device("cpu")):
        with pytest.raises(ValueError, match="device_type"):
            amp.autocast(wrong)
    with pytest.raises(TypeError, match="takes a function, got Tensor"):
        amp.autocast("cpu")(ingot.ones(2))
    with pytest.raises(RuntimeError, match="unknown device_type 'quantum'"):
        amp.autocast("quantum")
    with pytest.warns(UserWarning, match="only in bfloat16 and float16"), amp.autocast("cpu", dtype=F64):
        assert (ingot.ones(2, 2) @ ingot.ones(2, 2)).dtype is F32
    if not ingot.cuda.is_available():
        with pytest.warns(UserWarning, match="no cuda device"), ingot.cuda.amp.autocast():
            assert not ingot.is_autocast_enabled()
        with pytest.warns(UserWarning, match="no cuda device"):
            assert ingot.cuda.amp.GradScaler().scale(ingot.ones(1)).item() == 1


# Gradients.


def small():
    ingot.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 36, 3))


def test_gradients_arrive_in_the_dtype_of_the_parameters():
    m, x, y = small(), ingot.randn(8, 1, 8, 8), ingot.arange(8) % 3
    F.cross_entropy(m(x), y).backward()
    want = [p.grad for p in m.parameters()]
    m.zero_grad()
    with amp.autocast("cpu"):
        out = m(x)
        loss = F.cross_entropy(out, y)
    loss.backward()
    assert out.dtype is BF16 and loss.dtype is F32
    for p, g in zip(m.parameters(), want):
        assert p.grad.dtype is F32
        np.testing.assert_allclose(p.grad.numpy(), g.numpy(), atol=0.05 * float(g.abs().max()) + 1e-3)


def test_backward_inside_autocast_equals_backward_outside():
    x = ingot.randn(4, 3)

    def gradient(inside):
        ingot.manual_seed(1)
        m = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
        with amp.autocast("cpu"):
            loss = m(x).float().square().sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        return [p.grad.tolist() for p in m.parameters()]

    assert gradient(True) == gradient(False)


def test_parameters_are_cast_once_and_anew_when_they_change():
    w = ingot.randn(3, 3, requires_grad=True)
    x = ingot.randn(2, 3)
    with amp.autocast("cpu"):
        first, second = F.linear(x, w), F.linear(x, w)
        assert first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0]
        with ingot.no_grad():
            free = F.linear(x, w)
            w.add_(1.0)
        assert not free.requires_grad
        third = F.linear(x, w)
        assert third.requires_grad and not ingot.equal(first, third)
    third.float().sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), np.tile(x.numpy().sum(0), (3, 1)), rtol=0.02, atol=0.02)
    with amp.autocast("cpu", cache_enabled=False):
        a, b = F.linear(x, w), F.linear(x, w)
        assert a.grad_fn.next_functions[1][0] is not b.grad_fn.next_functions[1][0]


def test_functions_of_ones_own():
    seen = {}

    class Product(ingot.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen["on"] = ingot.is_autocast_enabled("cpu")
            return (g @ b.T).to(a.dtype), (a.T @ g).to(b.dtype)

    class Careful(ingot.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", cast_inputs=F32)
        def forward(ctx, a):
            seen["dtype"], seen["inside"] = a.dtype, ingot.is_autocast_enabled("cpu")
            return a * 1

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen["careful"] = ingot.is_autocast_enabled("cpu")
            return g

    x = ingot.randn(3, 3, requires_grad=True)
    with amp.autocast("cpu"):
        y = Product.apply(x, x)
        z = Careful.apply(y)
    assert y.dtype is BF16 and z.dtype is F32 and seen["dtype"] is F32 and not seen["inside"]
    z.sum().backward()
    assert seen["on"] and not seen["careful"] and x.grad.dtype is F32


def test_checkpoints_run_again_under_the_same_autocast():
    m, x = nn.Linear(3, 3), ingot.randn(2, 3, requires_grad=True)
    with amp.autocast("cpu"):
        y = ingot.utils.checkpoint.checkpoint(m, x, use_reentrant=False)
    y.float().sum().backward()
    assert y.dtype is BF16 and x.grad is not None


# Traces.


def test_traces_follow_autocast():
    m, x = nn.Linear(4, 4), ingot.randn(2, 4)
    f = ingot.jit.trace(lambda v: m(v).relu())
    for _ in range(2):
        assert f(x).dtype is F32
        with amp.autocast("cpu"):
            assert f(x).dtype is BF16 and ingot.equal(f(x), m(x).relu())
        with amp.autocast("cpu", dtype=F16):
            assert f(x).dtype is F16
    assert f.stats()["compiles"] == 3


@pytest.mark.parametrize("dtype", [BF16, F16])
def test_training_steps_traced_as_eager(dtype):
    def run(wrap):
        ingot.manual_seed(3)
        m = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
        optimizer = ingot.optim.SGD(m.parameters(), lr=0.1)
        scaler = amp.GradScaler("cpu", init_scale=2.0 ** 20, growth_interval=3)

        def step(x, y):
            optimizer.zero_grad()
            with amp.autocast("cpu", dtype=dtype):
                loss = F.mse_loss(m(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss

        f = wrap(step)
        return [(f(ingot.randn(8, 4), ingot.randn(8, 1)).item(), scaler.get_scale()) for _ in range(12)]

    assert run(lambda f: f) == run(ingot.jit.trace)


def returned(scaler, loss, log):
    return loss, scaler.get_scale()


def logged(scaler, loss, log):
    log.append({"scale": scaler.get_scale(), "loss": loss.item()})
    return loss


def compared(scaler, loss, log):
    return loss * 2 if scaler.get_scale() < 64 else loss


def computed_with(scaler, loss, log):
    return ingot.tensor(scaler.get_scale()) + loss / scaler.get_scale()


def looked_at(scaler, loss, log):
    return loss * (type(scaler.get_scale()) is float)


@pytest.mark.parametrize(("use", "most"), [(returned, 2), (logged, 2), (compared, 3), (computed_with, 2), (looked_at, 20)])
def test_the_scale_in_a_trace_is_a_number_that_was_read(use, most):
    def run(wrap):
        ingot.manual_seed(0)
        m, seen = nn.Linear(4, 1), []
        opt, scaler = ingot.optim.SGD(m.parameters(), lr=0.01), amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)

        def step(x):
            loss = m(x).pow(2).mean()
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            return use(scaler, loss, seen)
        f, got = wrap(step), []
        for _ in range(12):
            found = f(ingot.randn(8, 4))
            got.append([v.item() if isinstance(v, ingot.Tensor) else v for v in (found if type(found) is tuple else [found])])
        return got, seen, f

    got, seen, traced = run(ingot.jit.trace)
    assert (got, seen) == run(lambda f: f)[:2]
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


# GradScaler.


def scaled(init=8.0, **options):
    p = nn.Parameter(ingot.ones(2))
    return p, ingot.optim.SGD([p], lr=1.0), amp.GradScaler("cpu", init_scale=init, **options)


def test_scaled_steps_are_plain_steps():
    p, optimizer, scaler = scaled()
    loss = scaler.scale((p * ingot.tensor([0.25, 0.5])).sum())
    assert loss.item() == 6
    loss.backward()
    assert p.grad.tolist() == [2, 4]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.75, 0.5] and scaler.get_scale() == 8


def test_unscaling_first_lets_gradients_be_clipped():
    p, optimizer, scaler = scaled()
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_([p], 0.5)
    scaler.step(optimizer)
    np.testing.assert_allclose(p.detach().numpy(), 1 - 0.5 / 2 ** 0.5, rtol=1e-4)
    with pytest.raises(RuntimeError, match="since the last update"):
        scaler.step(optimizer)
    scaler.update()


def test_overflow_skips_the_step_and_halves_the_scale():
    p, optimizer, scaler = scaled(growth_interval=2)
    for bad, want in ((np.inf, 4), (np.nan, 2), (1.0, 2), (1.0, 4), (1.0, 4), (np.inf, 2), (1.0, 2), (1.0, 4)):
        optimizer.zero_grad()
        before = p.tolist()
        scaler.scale((p * bad).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == want
        assert (p.tolist() == before) == (not np.isfinite(bad))


def test_scaler_state_and_settings():
    p, optimizer, scaler = scaled(growth_interval=5)
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 5, "_growth_tracker": 1}
    other = amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state
    scaler.update(3.0)
    assert scaler.get_scale() == 3
    scaler.update(ingot.tensor([2.0]))
    assert scaler.get_scale() == 2
    with pytest.raises(RuntimeError, match="No inf checks"):
        scaler.update()
    with pytest.raises(RuntimeError, match="empty"):
        other.load_state_dict({})
    off = amp.GradScaler("cpu", enabled=False)
    assert off.state_dict() == {} and off.get_scale() == 1 and off.scale([p])[0] is p
    for bad in ({"growth_factor": 1.0}, {"backoff_factor": 1.5}):
        with pytest.raises(ValueError, match="factor"):
            amp.GradScaler("cpu", **bad)


# (init_scale, growth_factor, backoff_factor, growth_interval), steps with good, inf or nan gradients, the scale and the count
# of good steps after each, as in PyTorch 2.13. The scale stops before it is infinite.
SCALES = {
    "every second step grows": ((1.0, 2.0, 0.5, 2), "ggggig", [(1, 1), (2, 0), (2, 1), (4, 0), (2, 0), (2, 1)]),
    "growth up to infinity": ((2.0 ** 126, 2.0, 0.5, 1), "ggg", [(2.0 ** 127, 0)] * 3),
    "overflow at the end": ((2.0 ** 127, 2.0, 0.5, 1), "ggig", [(2.0 ** n, 0) for n in (127, 127, 126, 127)]),
    "counts at the end": ((2.0 ** 127, 2.0, 0.5, 3), "ggggg", [(2.0 ** 127, n) for n in (1, 2, 0, 1, 2)]),
    "a factor of 1.5": ((3e38, 1.5, 0.5, 2), "ggggi", [
        *[(3.0000000054977558e+38, n) for n in (1, 0, 1, 0)], (1.5000000027488779e+38, 0)]),
    "a large factor": ((1e30, 1e5, 0.1, 1), "ggg", [(1.0000000409184788e+35, 0)] * 3),
    "a factor that just fits": ((2.0 ** 100, 2.0 ** 28, 0.5, 1), "gig", [(2.0 ** n, 0) for n in (100, 99, 127)]),
    "overflow between": ((1.0, 3.0, 0.25, 3), "ggiggggg", [
        (1, 1), (1, 2), (0.25, 0), (0.25, 1), (0.25, 2), (0.75, 0), (0.75, 1), (0.75, 2)]),
    "down to zero": ((2.0 ** -148, 2.0, 0.5, 1), "iig", [(2.0 ** -149, 0), (0, 0), (0, 0)]),
    "usual": ((65536.0, 2.0, 0.5, 2000), "gni", [(65536, 1), (32768, 0), (16384, 0)]),
    "factors that float32 rounds": ((0.1, 1.1, 0.9, 1), "gigi", [
        (0.10999999940395355, 0), (0.0989999994635582, 0), (0.10890000313520432, 0), (0.09801000356674194, 0)]),
}


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("name", SCALES)
def test_scales_grow_and_shrink_as_pytorchs_do(name, traced):
    (init, growth, backoff, interval), steps, want = SCALES[name]
    p, optimizer, scaler = scaled(init, growth_factor=growth, backoff_factor=backoff, growth_interval=interval)

    def step(gradient):
        p.grad = gradient
        scaler.step(optimizer)
        scaler.update()

    run = ingot.jit.trace(step) if traced else step
    for kind, (scale, count) in zip(steps, want, strict=True):
        run(ingot.full((2,), {"g": 1.0, "i": np.inf, "n": np.nan}[kind]))
        assert scaler.get_scale() == scale
        assert scaler.state_dict() == {"scale": scale, "growth_factor": growth, "backoff_factor": backoff,
                                       "growth_interval": interval, "_growth_tracker": count}


@pytest.mark.parametrize("count, after", [
    (2, [(8, 3), (16, 0), (16, 1)]), (3, [(16, 0), (16, 1), (16, 2)]), (9, [(8, 10), (8, 11), (8, 12)])])
def test_a_loaded_scaler_counts_on(count, after):
    """A count beyond a shorter interval does not grow the scale, as in PyTorch."""
    p, optimizer, scaler = scaled(growth_interval=4)
    scaler.load_state_dict({**scaler.state_dict(), "_growth_tracker": count})
    for want in after:
        p.grad = ingot.ones(2)
        scaler.step(optimizer)
        scaler.update()
        assert (scaler.get_scale(), scaler.state_dict()["_growth_tracker"]) == want
    scaler.set_growth_interval(6)
    assert scaler.state_dict()["growth_interval"] == scaler.get_growth_interval() == 6
    p.grad = ingot.tensor([1.0, np.inf])
    scaler.step(optimizer)
    scaler.update()
    assert (scaler.get_scale(), scaler.state_dict()["_growth_tracker"]) == (want[0] / 2, 0)


def test_several_optimizers_and_losses():
    (p, first, scaler), q = scaled(), nn.Parameter(ingot.ones(1))
    second = ingot.optim.SGD([q], lr=1.0)
    losses = scaler.scale([p.sum(), (q * np.inf).sum()])
    for loss in losses:
        loss.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert p.tolist() == [0, 0] and q.tolist() == [1] and scaler.get_scale() == 4
    half = nn.Parameter(ingot.ones(1).half())
    half.sum().backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.step(ingot.optim.SGD([half], lr=1.0))


F = nn.functional
LOSSES = {
    "mse_loss": F.mse_loss, "l1_loss": F.l1_loss, "smooth_l1_loss": F.smooth_l1_loss, "huber_loss": F.huber_loss,
    "soft_margin_loss": F.soft_margin_loss, "poisson_nll_loss": F.poisson_nll_loss,
    "kl_div": lambda a, b: F.kl_div(a, b, reduction="batchmean"),
    "hinge_embedding_loss": F.hinge_embedding_loss, "binary_cross_entropy": F.binary_cross_entropy,
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
    "gaussian_nll_loss": lambda a, b: F.gaussian_nll_loss(a, b, b),
    "multilabel_soft_margin_loss": F.multilabel_soft_margin_loss,
    "margin_ranking_loss": lambda a, b: F.margin_ranking_loss(a, b, ingot.ones_like(a)),
    "cosine_embedding_loss": lambda a, b: F.cosine_embedding_loss(a, b, ingot.ones(len(a))),
    "triplet_margin_loss": lambda a, b: F.triplet_margin_loss(a, b, a.flip(0)),
    "multi_margin_loss": lambda a, b: F.multi_margin_loss(a, ingot.tensor([0, 2, 1])),
    "multilabel_margin_loss": lambda a, b: F.multilabel_margin_loss(a, ingot.tensor([[0, 2, -1], [1, -1, 0], [2, -1, 0]])),
    "cross_entropy": lambda a, b: F.cross_entropy(a, ingot.tensor([0, 2, 1])),
    "cross_entropy of probabilities": lambda a, b: F.cross_entropy(a, b.float().softmax(1)),
    "nll_loss": lambda a, b: F.nll_loss(a, ingot.tensor([0, 2, 1])),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_run_in_float32(name):
    ingot.manual_seed(1)
    a, b = (ingot.rand(3, 3).bfloat16() for _ in range(2))
    expected = LOSSES[name](a.float(), b.float())
    assert LOSSES[name](a, b).dtype is ingot.bfloat16
    with ingot.autocast("cpu", dtype=ingot.bfloat16):
        for _ in range(3):
            found = LOSSES[name](a, b)
            assert found.dtype is ingot.float32
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def test_a_layer_with_slopes_runs_low():
    net = nn.Sequential(nn.Linear(4, 3), nn.PReLU(3), nn.Linear(3, 2))
    with ingot.autocast("cpu", dtype=ingot.bfloat16):
        out = net(ingot.randn(5, 4))
    out.float().sum().backward()
    assert out.dtype is ingot.bfloat16 and net[1].weight.grad.dtype is ingot.float32
    with pytest.raises(TypeError, match="one dtype"):
        F.prelu(ingot.ones(2, 3).bfloat16(), net[1].weight)


SINGLE = {
    "inv": ingot.linalg.inv, "det": ingot.linalg.det, "cholesky": ingot.linalg.cholesky, "svdvals": ingot.linalg.svdvals,
    "eigvalsh": ingot.linalg.eigvalsh, "qr": lambda x: ingot.linalg.qr(x)[1], "solve": lambda x: ingot.linalg.solve(x, x[:, 0]),
    "pinv": ingot.linalg.pinv, "matrix_rank": ingot.linalg.matrix_rank, "rfft": lambda x: ingot.fft.rfft(x).real,
    "fft2": lambda x: ingot.fft.fft2(x).real, "quantile": lambda x: ingot.quantile(x, 0.3),
    "polar": lambda x: ingot.polar(x, x).real,
    "view_as_complex": lambda x: ingot.view_as_complex(x.reshape(-1, 2).clone()).real,
}


@pytest.mark.parametrize("name", SINGLE)
def test_operators_without_low_precision_run_in_float32(name):
    x = (ingot.rand(4, 4) * 0.25 + 2 * ingot.eye(4)).bfloat16()
    x = ((x + x.mT) / 2).requires_grad_()
    with ingot.autocast("cpu", dtype=ingot.bfloat16):
        found = SINGLE[name](x)
    np.testing.assert_allclose(found.detach().numpy(), SINGLE[name](x.float()).detach().numpy(), rtol=1e-5, atol=1e-6)
    if found.requires_grad:
        found.sum().backward()
        assert x.grad.dtype is ingot.bfloat16 and x.grad.isfinite().all()


def test_clearing_the_cache_inside_of_autocast():
    w = ingot.ones(2, 2, requires_grad=True)
    with ingot.autocast("cpu"):
        first = ingot.ones(2, 2) @ w
        ingot.clear_autocast_cache()
        assert (ingot.ones(2, 2) @ w).tolist() == first.tolist()
