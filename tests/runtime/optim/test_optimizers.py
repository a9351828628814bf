"""Optimizers and schedules: trajectories against numpy and PyTorch, state, groups, hooks."""

import copy
import importlib
import math
import warnings

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import jit, nn, optim
from ingot.ir.errors import IngotError
from ingot.optim import lr_scheduler as sched
from ingot.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from ingot.runtime.state.mode import tls
from ingot.runtime.state.recorder import NullRecorder

OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.05}),
    "sgd_momentum": ("SGD", {"lr": 0.02, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "sgd_nesterov": ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True}),
    "sgd_maximize": ("SGD", {"lr": 1e-4, "maximize": True}),
    "adam": ("Adam", {"lr": 0.02}),
    "adam_decay": ("Adam", {"lr": 0.02, "betas": (0.8, 0.95), "weight_decay": 0.05, "amsgrad": True}),
    "adamw": ("AdamW", {"lr": 0.02, "weight_decay": 0.1}),
    "nadam": ("NAdam", {"lr": 0.02}),
    "nadam_decoupled": ("NAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.05, "weight_decay": 0.01}),
    "adamax": ("Adamax", {"lr": 0.02, "weight_decay": 0.01}),
    "adadelta": ("Adadelta", {"lr": 1.0, "weight_decay": 0.01}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "initial_accumulator_value": 0.1}),
    "rmsprop": ("RMSprop", {"lr": 0.01}),
    "rmsprop_centered": ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.9, "weight_decay": 0.01}),
    "rprop": ("Rprop", {"lr": 0.01}),
    "asgd": ("ASGD", {"lr": 0.05, "t0": 20, "weight_decay": 0.01}),
    "adafactor": ("Adafactor", {"lr": 0.01, "weight_decay": 0.01}),
}


def problem():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 4)), rng.standard_normal(4), rng.standard_normal((16, 6)), rng.standard_normal((16, 4))


def run_ingot(name, options, steps, lr_schedule=None):
    w0, b0, x, y = problem()
    w, b = (ingot.tensor(a).requires_grad_() for a in (w0, b0))
    x, y = ingot.tensor(x), ingot.tensor(y)
    opt = getattr(optim, name)([w, b], **options)
    for _ in range(steps):
        opt.zero_grad()
        ((x @ w + b - y) ** 2).mean().backward()
        opt.step()
    return w.detach().numpy(), b.detach().numpy()


@pytest.mark.peer
@pytest.mark.parametrize("key", sorted(OPTIMIZERS))
def test_hundred_steps_follow_pytorch(key):
    torch = pytest.importorskip("torch")
    name, options = OPTIMIZERS[key]
    w0, b0, x, y = (torch.tensor(a) for a in problem())
    w, b = w0.clone().requires_grad_(), b0.clone().requires_grad_()
    torch.set_default_dtype(torch.float64)   # the dtype of its counts and rates
    try:
        opt = getattr(torch.optim, name)([w, b], **options)
        for _ in range(100):
            opt.zero_grad()
            ((x @ w + b - y) ** 2).mean().backward()
            opt.step()
    finally:
        torch.set_default_dtype(torch.float32)
    got = run_ingot(name, options, 100)
    tol = 1e-7   # both in float64, but products associate differently
    np.testing.assert_allclose(got[0], w.detach().numpy(), rtol=tol, atol=tol)
    np.testing.assert_allclose(got[1], b.detach().numpy(), rtol=tol, atol=tol)


def test_adam_is_the_textbook_loop():
    w, grads = np.array([1.0, -2.0]), [np.array([0.5, -1.0]), np.array([0.1, 3.0]), np.array([-0.7, 0.0])]
    p = ingot.tensor(w).requires_grad_()
    opt = optim.Adam([p], lr=0.1)
    m = v = np.zeros(2)
    for t, g in enumerate(grads, 1):
        p.grad = ingot.tensor(g)
        opt.step()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - 0.1 * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
    np.testing.assert_allclose(p.detach().numpy(), w, rtol=1e-12)


@pytest.mark.parametrize("key", sorted(OPTIMIZERS))
def test_a_restored_state_goes_on_as_if_nothing_happened(key):
    name, options = OPTIMIZERS[key]

    def steps(p, opt, n):
        for i in range(n):
            opt.zero_grad()
            ((p * (i + 1)).sin() ** 2).sum().backward()
            opt.step()

    start = np.random.default_rng(1).standard_normal((3, 2))
    p = ingot.tensor(start).requires_grad_()
    opt = getattr(optim, name)([p], **options)
    steps(p, opt, 5)
    q = ingot.tensor(p.detach().numpy().copy()).requires_grad_()
    other = getattr(optim, name)([q], **options)
    other.load_state_dict(copy.deepcopy(opt.state_dict()))
    steps(p, opt, 5)
    steps(q, other, 5)
    np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())


class Halved(optim.Optimizer):
    """An optimizer with half-precision state, which loading would cast."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr, "added": 1})

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("added", 2)
        for state in self.state.values():
            state["mean"] = state["mean"].half()

    @ingot.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state.setdefault("mean", ingot.zeros_like(p, dtype=ingot.float16)).lerp_(p.grad.half(), 0.5)
                p.sub_(state["mean"].float(), alpha=group["lr"])


def test_loading_calls_setstate_of_user_classes():
    p = ingot.ones(3, requires_grad=True)
    p.grad = ingot.ones(3)
    opt, other = Halved([p]), Halved([p])
    opt.step()
    saved = opt.state_dict()
    del saved["param_groups"][0]["added"]
    seen = []
    other.register_load_state_dict_post_hook(lambda o: seen.append(o))
    other.load_state_dict(saved)
    assert other.state[p]["mean"].dtype is ingot.float16 and other.param_groups[0]["added"] == 2 and seen == [other]
    assert other.param_groups[0]["params"][0] is p and len(copy.deepcopy(other)._hooks) == 6


def test_muon_orthogonalises_its_update():
    g = np.random.default_rng(2).standard_normal((5, 3))
    p = ingot.zeros(5, 3, dtype=ingot.float64).requires_grad_()
    p.grad = ingot.tensor(g)
    optim.Muon([p], lr=1.0, weight_decay=0.0, momentum=0.0, nesterov=False).step()
    singular = np.linalg.svd(p.detach().numpy() / math.sqrt(5 / 3), compute_uv=False)
    assert (singular > 0.6).all() and (singular < 1.3).all(), singular
    with pytest.raises(IngotError, match="two dimensions"):
        optim.Muon([ingot.zeros(3).requires_grad_()])


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum_of_rosenbrock(line_search):
    p = ingot.tensor([-1.2, 1.0], dtype=ingot.float64).requires_grad_()
    opt = optim.LBFGS([p], lr=0.1 if line_search is None else 1.0, max_iter=200 if line_search is None else 60,
                      line_search_fn=line_search)

    def closure():
        opt.zero_grad()
        loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    for _ in range(10):
        opt.step(closure)
    np.testing.assert_allclose(p.detach().numpy(), [1, 1], atol=1e-3)


@pytest.mark.peer
@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_follows_pytorch(line_search):
    torch = pytest.importorskip("torch")
    ends = []
    for module in (torch, ingot):
        p = module.tensor([-1.2, 1.0], dtype=module.float64).requires_grad_()
        opt = module.optim.LBFGS([p], lr=0.5, max_iter=8, line_search_fn=line_search)

        def closure(p=p, opt=opt):
            opt.zero_grad()
            loss = (1 - p[0]) ** 2 + 2 * (p[1] - p[0] ** 2) ** 2
            loss.backward()
            return loss

        for _ in range(3):
            opt.step(closure)
        ends.append(p.detach().numpy())
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-7, atol=1e-9)


def test_groups_have_options_of_their_own():
    a, b, c = (ingot.ones(2).requires_grad_() for _ in range(3))
    opt = optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
    opt.add_param_group({"params": [c], "lr": 1.0})
    for p in (a, b, c):
        p.grad = ingot.ones(2)
    opt.step()
    np.testing.assert_allclose([p.detach().numpy()[0] for p in (a, b, c)], [0.9, 0.5, 0.0], rtol=1e-6)
    assert "\n\nParameter Group 2\n" in repr(opt) and "\n\nParameter Group 0" not in repr(opt)
    with pytest.raises(IngotError, match="more than one parameter group"):
        opt.add_param_group({"params": [a]})


def test_bad_arguments_are_refused():
    p = ingot.ones(2).requires_grad_()
    with pytest.raises(ValueError, match="lr must be at least 0"):
        optim.Adam([p], lr=-1)
    with pytest.raises(ValueError, match="empty list"):
        optim.SGD([], lr=1)
    with pytest.raises(TypeError, match="one tensor"):
        optim.SGD(p, lr=1)
    with pytest.raises(ValueError, match="leaf"):
        optim.SGD([p * 2], lr=1)
    with pytest.raises(ValueError, match="nesterov"):
        optim.SGD([p], lr=1, nesterov=True)
    with pytest.raises(ValueError, match="parameter groups"):
        optim.SGD([p], lr=1).load_state_dict(optim.SGD([{"params": [p]}, {"params": []}], lr=1).state_dict())


def test_hooks_and_closures_run():
    p = ingot.ones(1).requires_grad_()
    opt = optim.SGD([p], lr=0.1)
    seen = []
    opt.register_step_pre_hook(lambda *_: seen.append("pre"))
    handle = opt.register_step_post_hook(lambda *_: seen.append("post"))

    def closure():
        seen.append("closure")
        opt.zero_grad()
        loss = (p * 3).sum()
        loss.backward()
        return loss

    assert opt.step(closure).item() == 3
    handle.remove()
    opt.step()
    assert seen == ["pre", "closure", "post", "pre"]
    opt.zero_grad(set_to_none=False)
    assert p.grad.item() == 0
    opt.zero_grad()
    assert p.grad is None


@pytest.mark.parametrize("around", [lambda f: f, jit.trace], ids=["eager", "traced"])
def test_zeroed_gradients_stay_the_same_tensors(around):
    p, flat = ingot.ones(2).requires_grad_(), ingot.zeros(4)
    opt = optim.SGD([p], lr=0.5)

    @around
    def step(x):
        opt.zero_grad(set_to_none=False)
        (p * x).sum().backward()
        opt.step()

    g = p.grad = flat[1:3]
    for i in range(3):
        step(ingot.ones(2) * (i + 1))
    assert p.grad is g and g.tolist() == [3.0, 3.0] and flat.tolist() == [0.0, 3.0, 3.0, 0.0] and p.tolist() == [-2.0, -2.0]
    (p ** 2).sum().backward(create_graph=True)
    opt.zero_grad(set_to_none=False)
    assert p.grad is not g and not p.grad.requires_grad and p.grad.tolist() == [0.0, 0.0]


class Own(optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @ingot.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad, alpha=group["lr"])


class Derived(Own):
    def step(self, closure=None):
        return super().step(closure)


@pytest.mark.parametrize("around", [lambda f: f, jit.trace], ids=["eager", "traced"])
@pytest.mark.parametrize(("kind", "levels"), [(optim.SGD, 1), (Own, 1), (Derived, 2)])
def test_steps_of_every_optimizer_run_hooks(kind, levels, around):
    p = ingot.ones(1).requires_grad_()
    opt = kind([p], lr=0.5)

    @around
    def step():
        p.grad = ingot.ones(1)
        opt.step()

    for _ in range(2):
        step()
    def tenfold(o, args, kwargs):
        p.data.mul_(10.0)

    def one_more(o, args, kwargs):
        p.data.add_(1.0)

    with opt.register_step_post_hook(tenfold), register_optimizer_step_pre_hook(one_more):
        for _ in range(2):
            step()
    step()
    value = 0.0
    for _ in range(2):
        value = (value + levels - 0.5) * 10.0 ** levels
    assert p.item() == value - 0.5


def test_hooks_before_a_step_may_change_its_arguments():
    p = ingot.ones(1).requires_grad_()
    p.grad, opt, seen = ingot.ones(1), optim.SGD([p], lr=0.5), []
    with opt.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 7})):
        assert opt.step() == 7
    with opt.register_step_pre_hook(lambda o, args, kwargs: 3), pytest.raises(TypeError, match="got int"):
        opt.step()
    with register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append((o, args, sorted(kwargs)))):
        opt.step(closure=lambda: 8)
    assert seen == [(opt, (opt,), ["closure"])]


def test_a_parameter_named_twice_is_updated_twice():
    p = ingot.ones(1).requires_grad_()
    with pytest.warns(UserWarning, match="twice") as seen:
        opt = optim.SGD([p, p], lr=0.25)
    assert seen[0].filename == __file__
    p.grad = ingot.ones(1)
    opt.step()
    assert p.item() == 0.5
    with pytest.raises(ValueError, match="more than one parameter group"):
        opt.add_param_group({"params": [p]})


SCHEDULES = {
    "lambda": lambda m, o: m.LambdaLR(o, lambda e: 0.9 ** e),
    "multiplicative": lambda m, o: m.MultiplicativeLR(o, lambda e: 0.9),
    "step": lambda m, o: m.StepLR(o, 3, 0.5),
    "multistep": lambda m, o: m.MultiStepLR(o, [2, 5, 5], 0.3),
    "constant": lambda m, o: m.ConstantLR(o, 0.25, 4),
    "linear": lambda m, o: m.LinearLR(o, 0.25, 0.8, 6),
    "exponential": lambda m, o: m.ExponentialLR(o, 0.8),
    "polynomial": lambda m, o: m.PolynomialLR(o, 7, 2.0),
    "cosine": lambda m, o: m.CosineAnnealingLR(o, 5, 0.01),
    "warm": lambda m, o: m.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "cyclic": lambda m, o: m.CyclicLR(o, 0.01, 0.2, 3, 4, mode="triangular2"),
    "cyclic_exp": lambda m, o: m.CyclicLR(o, 0.01, 0.2, 3, mode="exp_range", gamma=0.9),
    "onecycle": lambda m, o: m.OneCycleLR(o, 0.5, total_steps=20),
    "onecycle3": lambda m, o: m.OneCycleLR(o, 0.5, epochs=4, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"),
    "sequential": lambda m, o: m.SequentialLR(o, [m.ConstantLR(o, 0.1, 2), m.ExponentialLR(o, 0.9)], [4]),
    "chained": lambda m, o: m.ChainedScheduler([m.ConstantLR(o, 0.1, 2), m.ExponentialLR(o, 0.9)]),
}


def rates(module, schedule, steps=18):
    p = module.ones(2).requires_grad_()
    opt = module.optim.SGD([p], lr=0.4, momentum=0.5)
    s = schedule(module.optim.lr_scheduler, opt)
    out = []
    for _ in range(steps):
        out.append((opt.param_groups[0]["lr"], opt.param_groups[0]["momentum"], s.get_last_lr()[0]))
        opt.step()
        s.step()
    return out


@pytest.mark.peer
@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_schedules_follow_pytorch(name):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = rates(torch, SCHEDULES[name])
    np.testing.assert_allclose(rates(ingot, SCHEDULES[name]), want, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_a_restored_schedule_goes_on(name):
    def fresh():
        opt = optim.SGD([ingot.ones(2).requires_grad_()], lr=0.4, momentum=0.5)
        return opt, SCHEDULES[name](sched, opt)

    opt, s = fresh()
    for _ in range(7):
        opt.step()
        s.step()
    other, t = fresh()
    other.load_state_dict(opt.state_dict())
    t.load_state_dict(copy.deepcopy(s.state_dict()))
    for _ in range(6):
        for o, schedule in ((opt, s), (other, t)):
            o.step()
            schedule.step()
        assert other.param_groups[0]["lr"] == opt.param_groups[0]["lr"]


def test_plateau_lowers_the_rate_when_nothing_improves():
    opt = optim.SGD([ingot.ones(2).requires_grad_()], lr=1.0)
    s = sched.ReduceLROnPlateau(opt, patience=2, factor=0.1, cooldown=1)
    seen = []
    for metric in (5, 4, 4, 4, 4, 4, 4, 4, 4, 4):
        s.step(metric)
        seen.append(opt.param_groups[0]["lr"])
    np.testing.assert_allclose(seen, [1, 1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01])


def test_stepping_the_schedule_first_is_said():
    opt = optim.SGD([ingot.ones(2).requires_grad_()], lr=1.0)
    s = sched.StepLR(opt, 2)
    with pytest.warns(UserWarning, match="before optimizer.step"):
        s.step()


def test_training_a_small_network_works():
    ingot.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    x = ingot.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    y = ingot.tensor([[0.0], [1], [1], [0]])
    opt = optim.Adam(model.parameters(), lr=0.05)
    for _ in range(150):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
    assert loss.item() < 1e-2, loss.item()


class Watcher(NullRecorder):
    """A recorder that ignores all events and makes learning rates tensors."""

    @property
    def optimizers(self):
        return self

    def options(self, group):
        return group | {"lr": ingot.tensor(group["lr"], dtype=ingot.float64)}


@pytest.mark.parametrize("key", sorted(set(OPTIMIZERS) - {"radam"}))
def test_steps_under_a_recorder_read_no_numbers_and_agree(key, monkeypatch):
    name, options = OPTIMIZERS[key]
    reads = []
    watcher = Watcher()
    watcher.__dict__["read"] = lambda t, how, value: reads.append(how)

    def listen(recorder):
        monkeypatch.setattr(tls.m, "recorder", recorder)
        tls.m.refresh()

    def run(recorder):
        p = ingot.tensor(np.random.default_rng(3).standard_normal((3, 2))).requires_grad_()
        opt = getattr(optim, name)([p], **options)
        for i in range(4):
            p.grad = ingot.tensor(np.random.default_rng(i).standard_normal((3, 2)))
            listen(recorder)
            opt.step()
            listen(None)
        return p.detach().numpy()

    np.testing.assert_allclose(run(watcher), run(None), rtol=1e-12)
    assert not reads, f"{name} read {reads} from tensors; each read is a guard that a trace must check"


FORMS = {       # lists of the functional form by state name, and its options by the class's names
    "adam": (("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), {"amsgrad": True}),
    "adamw": (("exp_avg", "exp_avg_sq", None), {"weight_decay": 0.1}),
    "adamax": (("exp_avg", "exp_inf"), {}), "nadam": (("exp_avg", "exp_avg_sq", "mu_product"), {}),
    "radam": (("exp_avg", "exp_avg_sq"), {"weight_decay": 0.1}), "adadelta": (("square_avg", "acc_delta"), {}),
    "adagrad": (("sum",), {"lr_decay": 0.1}),
    "rmsprop": (("square_avg", "grad_avg", "momentum_buffer"), {"centered": True, "momentum": 0.5}),
    "rprop": (("prev", "step_size"), {}), "asgd": (("ax", "mu", "eta"), {}),
    "sgd": (("momentum_buffer",), {"momentum": 0.9, "nesterov": True}),
}
_SPLIT = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}


@pytest.mark.parametrize("name", FORMS)
def test_optimizers_as_functions_of_lists(name):
    """The functional form steps on lists as the class does."""
    states, options = FORMS[name]
    cls = next(c for n, c in vars(ingot.optim).items() if n.lower() == name and isinstance(c, type))
    function = getattr(importlib.import_module("ingot.optim._functional"), name)
    assert getattr(importlib.import_module(f"ingot.optim.{name}"), name) is function
    params = [ingot.randn(3, 2).requires_grad_(), ingot.randn(4).requires_grad_()]
    own = [p.detach().clone().requires_grad_() for p in params]
    optimizer = cls(params, maximize=True, **options)
    counted = name != "sgd"
    lists = None
    for _ in range(3):
        for p, q in zip(params, own):
            p.grad = ingot.randn_like(p)
            q.grad = p.grad.clone()
        optimizer.step()
        if lists is None:                                   # the first step makes the state
            state = [optimizer.state[p] for p in params]
            lists = [[s[n].clone() for s in state] if n else [] for n in states]
            lists += [[s["step"].clone() for s in state]] if counted else []
            for p, q in zip(params, own):
                q.detach().copy_(p.detach())
            continue
        group = {k: v for k, v in optimizer.param_groups[0].items() if k != "params"}
        for packed, parts in _SPLIT.items():
            if packed in group:
                group.update(zip(parts, group.pop(packed)))
        unknown = {"initial_accumulator_value"} | ({"decoupled_weight_decay"} if name == "adamw" else set()) | (
            {"lr"} if name == "rprop" else set())
        function(own, [q.grad for q in own], *lists, **{k: v for k, v in group.items() if k not in unknown})
    assert all(ingot.equal(p, q) for p, q in zip(params, own))
    for n, held in zip((*states, *(["step"] if counted else [])), lists):
        assert n is None or all(ingot.equal(optimizer.state[p][n], t) for p, t in zip(params, held))


def test_functional_forms_create_states_and_refuse_unknown_options():
    sgd = importlib.import_module("ingot.optim.sgd").sgd
    p, buffers = ingot.ones(2, requires_grad=True), [None]
    sgd([p], [ingot.ones(2)], buffers, lr=0.5, momentum=0.9, dampening=0, weight_decay=0, nesterov=False, maximize=False)
    assert buffers[0].tolist() == [1, 1] and p.tolist() == [0.5, 0.5]
    sgd([p], [None], buffers, lr=0.5)
    assert p.tolist() == [0.5, 0.5]
    with pytest.raises(TypeError, match="speed"):
        sgd([p], [None], buffers, lr=0.5, speed=3)
    with pytest.raises(TypeError, match="missing a required argument: 'lr'"):
        sgd([p], [None], buffers)
    adamax, lists = importlib.import_module("ingot.optim.adamax").adamax, ([None], [None], [None])
    with pytest.raises(TypeError, match="amsgrad"):
        adamax([p], [None], *lists, beta1=0.9, beta2=0.99, lr=0.5, weight_decay=0, eps=1e-8, amsgrad=True)
    with pytest.raises(ValueError, match="1 lists"):
        sgd([p], [None], lr=0.5)
    with pytest.raises(ValueError, match="unscaled"):
        sgd([p], [None], buffers, lr=0.5, found_inf=ingot.ones(1))
