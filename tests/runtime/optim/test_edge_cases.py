"""Edge cases of optimizers: differentiable steps, complex numbers, maximised losses, other states."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import optim

GRADIENT = ingot.tensor([0.3, -0.7], dtype=ingot.float64)
SMOOTH = {"SGD": {"momentum": 0.9, "weight_decay": 0.1}, "Adam": {"eps": 0.5}, "AdamW": {"eps": 0.5}, "NAdam": {"eps": 0.5},
          "RAdam": {}, "Adagrad": {"eps": 0.5}, "Adadelta": {"eps": 0.5}, "RMSprop": {"eps": 0.5}, "ASGD": {}}


def stepped(name, start, gradient):
    """Return a parameter after a step from `start`."""
    p = start.clone()
    p.grad = gradient.clone()
    getattr(optim, name)([p], lr=0.1, differentiable=True, **SMOOTH[name]).step()
    return p


@pytest.mark.filterwarnings("ignore:.*not a leaf")
@pytest.mark.parametrize("name", SMOOTH)
def test_differentiable_steps_have_gradients(name):
    start, gradient = (ingot.tensor(v, dtype=ingot.float64, requires_grad=True) for v in ([1.0, 2.0], [0.3, -0.7]))
    assert ingot.autograd.gradcheck(lambda s, g: stepped(name, s, g), (start, gradient), atol=1e-5)


def test_arguments_without_parameters_are_refused_with_advice():
    net = ingot.nn.Sequential(ingot.nn.Linear(2, 2))
    gone = net.parameters()
    optim.SGD(gone, lr=0.1)
    for given, message in ((gone, "a generator that was read before"),
                           (net, r"params\[0\] is Linear; pass the \.parameters\(\) of a module"),
                           (net[0], r"pass its \.parameters")):
        with pytest.raises((ValueError, TypeError), match=message):
            optim.SGD(given, lr=0.1)
    for given in ([[1.0]], [3], GRADIENT, {"a": 1}, 3):
        with pytest.raises((ValueError, TypeError)) as refusal:
            optim.SGD(given, lr=0.1)
        assert ".parameters" not in str(refusal.value), given


def test_other_steps_take_leaves_only():
    with pytest.raises(ValueError, match="leaf tensors"):
        optim.SGD([GRADIENT.clone().requires_grad_() * 2], lr=0.1)
    leaf = GRADIENT.clone().requires_grad_()
    leaf.grad = GRADIENT
    with pytest.raises(RuntimeError, match="a leaf tensor that requires grad was written in place"):
        optim.SGD([leaf], lr=0.1, differentiable=True).step()


def test_adagrad_begins_with_its_sum_for_each_part_of_a_complex_number():
    pair = ingot.tensor([1.0, 2.0], requires_grad=True)
    whole = ingot.tensor([1 + 2j]).requires_grad_()
    pair.grad, whole.grad = ingot.tensor([0.3, -0.7]), ingot.tensor([0.3 - 0.7j])
    for p in (pair, whole):
        optim.Adagrad([p], lr=0.1, initial_accumulator_value=0.2).step()
    np.testing.assert_allclose(ingot.view_as_real(whole.detach())[0].numpy(), pair.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_climbs_as_it_descends(search):
    ends = []
    for sign, options in ((1, {}), (-1, {"maximize": True})):
        p = ingot.tensor([-1.2, 1.0], dtype=ingot.float64, requires_grad=True)
        opt = optim.LBFGS([p], lr=0.5, max_iter=8, line_search_fn=search, **options)

        def closure(p=p, opt=opt, sign=sign):
            opt.zero_grad()
            loss = ((1 - p[0]) ** 2 + 2 * (p[1] - p[0] ** 2) ** 2) * sign
            loss.backward()
            return loss

        opt.step(closure)
        ends.append(p.tolist())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("most, calls", [(1, 2), (2, 3), (3, 4), (6, 7), (10, 11)])
def test_line_searches_stop_at_pytorchs_points(most, calls):
    """The search ends at most one call after the limit: the first point of a line is always evaluated."""
    p, count = ingot.full((3000,), 5.0, dtype=ingot.float64, requires_grad=True), 0
    opt = optim.LBFGS([p], lr=0.001, max_iter=3, max_eval=most, line_search_fn="strong_wolfe")

    def closure():
        nonlocal count
        count += 1
        opt.zero_grad()
        loss = (p ** 2).sum()
        loss.backward()
        return loss

    opt.step(closure)
    assert count == calls


def test_lbfgs_goes_on_with_a_state_as_pytorch_writes_it():
    ends = []
    for foreign in (False, True):
        p = ingot.tensor([-1.2, 1.0], dtype=ingot.float64, requires_grad=True)

        def new_optimizer(p=p):
            return optim.LBFGS([p], lr=0.5, max_iter=3)

        opt = new_optimizer()

        def closure(p=p):
            p.grad = None
            loss = (1 - p[0]) ** 2 + 2 * (p[1] - p[0] ** 2) ** 2
            loss.backward()
            return loss

        opt.step(closure)
        if foreign:
            state = opt.state_dict()
            own = state["state"][0]
            saved_names = ("func_evals", "n_iter", "d", "t", "old_dirs", "old_stps", "prev_flat_grad")
            numbers = {"ro": [ingot.tensor(r, dtype=ingot.float64) for r in own["ro"]],
                       "H_diag": ingot.tensor(own["H_diag"], dtype=ingot.float64), "al": [None] * 100, "prev_loss": 1.0}
            state["state"][0] = {name: own[name] for name in saved_names} | numbers
            opt = new_optimizer()
            opt.load_state_dict(state)
        opt.step(closure)
        ends.append(p.detach().numpy())
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-12)


def test_muon_rates_of_tall_and_wide_matrices():
    norms = {}
    for rule in ("original", "spectral_unclamped"):
        for rows, cols in ((2, 8), (8, 2)):
            p = ingot.zeros(rows, cols, requires_grad=True)
            p.grad = ingot.linspace(-1, 1, 16).reshape(rows, cols) ** 2
            optim.Muon([p], lr=0.1, adjust_lr_fn=rule).step()
            norms[rule, rows] = float(p.detach().norm())
    assert norms["original", 8] == norms["spectral_unclamped", 8]
    np.testing.assert_allclose(norms["spectral_unclamped", 2], norms["original", 2] / 2, rtol=1e-6)


def test_states_hold_saved_values_only():
    p = GRADIENT.clone().requires_grad_()
    p.grad = GRADIENT
    opt = optim.SGD([p], lr=0.1)
    opt.step()
    assert opt.state_dict()["state"] == {}
    with pytest.raises(ValueError, match="complex parameters"):
        optim.SparseAdam([ingot.zeros(2, dtype=ingot.complex64, requires_grad=True)])


class Wrapped(optim.Optimizer):
    """An optimizer around another one, without Optimizer's `__init__`, as in some libraries."""

    def __init__(self, inner):
        self.inner = inner

    param_groups = property(lambda self: self.inner.param_groups)

    def step(self, closure=None):
        return self.inner.step(closure)


class Patched(Wrapped):
    """A wrapper that asks for its hooks itself."""

    def __init__(self, inner):
        self.inner = inner
        self._patch_step_function()


@pytest.mark.parametrize("kind", [Wrapped, Patched])
def test_an_optimizer_around_another_takes_hooks_and_schedules(kind):
    weight = ingot.ones(2, requires_grad=True)
    around, seen = kind(optim.SGD([weight], lr=1.0)), []
    around.register_step_post_hook(lambda *_: seen.append("stepped"))
    schedule = optim.lr_scheduler.StepLR(around, step_size=1, gamma=0.5)
    for _ in range(2):
        weight.sum().backward()
        around.step()
        schedule.step()
        weight.grad = None
    assert weight.tolist() == [-0.5, -0.5] and seen == ["stepped"] * 2 and schedule.get_last_lr() == [0.25]


def test_lbfgs_takes_no_step_at_zero_gradient():
    p = ingot.ones(2).requires_grad_()
    opt = optim.LBFGS([p], tolerance_grad=-1.0)

    def closure():
        opt.zero_grad()
        loss = (p - 1).square().sum()
        loss.backward()
        return loss

    assert opt.step(closure).item() == 0 and p.tolist() == [1, 1] and opt.state[p]["func_evals"] == 1


# Parameter and momentum after each of three steps of PyTorch 2.13: the first gradient becomes the momentum, and dampening
# starts with the second.
DAMPENED = {
    "dampening": ({"momentum": 0.5, "dampening": 0.25}, [
        ([0.5, -4.0], [1.0, 4.0]), ([-0.5, -4.25], [2.0, 0.5]), ([-1.0, -7.375], [1.0, 6.25])]),
    "all of it": ({"momentum": 0.5, "dampening": 1.0}, [
        ([0.5, -4.0], [1.0, 4.0]), ([0.25, -5.0], [0.5, 2.0]), ([0.125, -5.5], [0.25, 1.0])]),
    "with decay": ({"momentum": 0.5, "dampening": 0.25, "weight_decay": 0.5}, [
        ([0.25, -3.5], [1.5, 3.0]), ([-0.921875, -2.84375], [2.34375, -1.3125]),
        ([-1.3349609375, -4.982421875], [0.826171875, 4.27734375])]),
    "upwards": ({"momentum": 0.5, "dampening": 0.25, "maximize": True}, [
        ([1.5, 0.0], [-1.0, -4.0]), ([2.5, 0.25], [-2.0, -0.5]), ([3.0, 3.375], [-1.0, -6.25])]),
    "no momentum": ({"momentum": 0.0, "dampening": 0.25}, [([0.5, -4.0], None), ([-0.5, -3.0], None), ([-0.5, -7.0], None)]),
}
WAYS = {"eager": {}, "one by one": {"foreach": False}, "at once": {"foreach": True}, "traced": {}, "loaded": {}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DAMPENED)
def test_dampening_leaves_the_first_gradient_as_it_is(name, way):
    options, want = DAMPENED[name]
    p = ingot.nn.Parameter(ingot.tensor([1.0, -2.0], dtype=ingot.float64))
    optimizer = optim.SGD([p], lr=0.5, **options, **WAYS[way])

    def step(gradient):
        p.grad = gradient
        optimizer.step()

    run = ingot.jit.trace(step) if way == "traced" else step
    for gradient, (place, momentum) in zip(([1.0, 4.0], [2.0, -2.0], [0.0, 8.0]), want):
        run(ingot.tensor(gradient, dtype=ingot.float64))
        buffer = optimizer.state[p].get("momentum_buffer")
        assert p.tolist() == place and (None if buffer is None else buffer.tolist()) == momentum
        if way == "loaded":
            state, optimizer = optimizer.state_dict(), optim.SGD([p], lr=0.5)
            optimizer.load_state_dict(state)


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "SparseAdam"])
def test_sparse_gradients_on_a_device_may_name_a_row_twice(name):
    def values_after(device):
        p = ingot.arange(8.0).reshape(4, 2).to(device).requires_grad_()
        indices, rows = ingot.tensor([[2, 0, 2]]), ingot.tensor([[0.5, 1.0], [0.25, -1.0], [0.125, 2.0]])
        optimizer = getattr(optim, name)([p], lr=0.25)
        for _ in range(3):
            p.grad = ingot.sparse_coo_tensor(indices.to(device), rows.to(device), (4, 2))
            optimizer.step()
        return p.detach().cpu().numpy()

    with mock_cuda.installed():
        np.testing.assert_allclose(values_after("cuda"), values_after("cpu"), rtol=1e-6)


@pytest.mark.parametrize("name", ["ASGD", "NAdam", "Adam"])
def test_loaded_states_of_scalar_parameters_keep_their_numbers(name):
    def ends(device):
        p = ingot.tensor(2.0, device=device, requires_grad=True)
        optimizer = getattr(optim, name)([p], lr=0.25)
        for i in range(4):
            if i == 2:
                saved, optimizer = optimizer.state_dict(), getattr(optim, name)([p], lr=0.25)
                optimizer.load_state_dict(saved)
            p.grad = ingot.tensor(i + 0.5, device=device)
            optimizer.step()
        numbers = {k: v.device.type for k, v in optimizer.state[p].items() if k in ("step", "eta", "mu", "mu_product")}
        return p.item(), numbers

    with mock_cuda.installed():
        assert ends("cuda") == (pytest.approx(ends("cpu")[0], rel=1e-6), ends("cpu")[1])


def test_host_limits_of_clamp_apply_on_devices():
    x = ingot.tensor([0.5, -2.0, 3.0])
    low, high = ingot.tensor(-1.0), ingot.tensor(1.5)
    with mock_cuda.installed():
        for limits in ((low, high), (low, None), (None, high), (low, 1.0)):
            there = x.to("cuda").clamp(*limits)
            assert there.is_cuda and there.tolist() == x.clamp(*limits).tolist()


def test_step_sizes_that_change_reach_traced_steps_on_a_device():
    def ends(device, wrap):
        p = ingot.tensor(2.0, device=device, requires_grad=True)
        optimizer = optim.Rprop([p], lr=0.25)

        def step(g):
            p.grad = g
            optimizer.step()
            return p.detach().clone()

        call, seen = wrap(step), []
        for i in range(6):
            if i == 3:
                optimizer.param_groups[0]["step_sizes"] = (0.125, 0.25)
            seen.append(call(ingot.tensor(1.5, device=device)).item())
        return seen

    with mock_cuda.installed():
        assert ends("cuda", ingot.jit.trace) == pytest.approx(ends("cpu", lambda f: f), rel=1e-6)
