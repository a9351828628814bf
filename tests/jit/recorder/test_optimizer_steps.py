"""Training steps in a trace: changing options, optimizers of users, and writes of users between steps."""

import copy

import pytest

import ingot
import private_names  # noqa: F401
from ingot import jit, nn, optim
from ingot.ir.errors import DTypeError
from ingot.optim import optimizer as outside
from side_by_side import numbers, plain, same, vec


def test_a_learning_rate_schedule_compiles_once():
    from ingot import nn, optim

    def run(wrap_step):
        ingot.manual_seed(0)
        net = nn.Linear(3, 2)
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        schedule = optim.lr_scheduler.ExponentialLR(opt, 0.9)

        def step(x):
            opt.zero_grad()
            loss = (net(x) ** 2).sum()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            return loss

        step = wrap_step(step)
        losses = []
        for i in range(10):
            losses.append(plain(step(vec(1.0, 2.0, float(i)))))
            schedule.step()
        return step, losses

    _, want = run(lambda f: f)
    traced, got = run(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 2


def test_an_option_that_changes_becomes_an_input():
    from ingot import optim

    def run(wrap_step):
        w = vec().requires_grad_()
        opt = optim.SGD([w], lr=0.1, weight_decay=0.5)

        def step():
            w.grad = None
            (w * w).sum().backward()
            opt.step()
            return w * 1

        step = wrap_step(step)
        out = []
        for i in range(8):
            opt.param_groups[0]["weight_decay"] = 0.5 / (i + 1)
            out.append(plain(step()))
        return step, out

    _, want = run(lambda f: f)
    traced, got = run(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3


def test_a_leaf_made_inside_collects_its_own_gradient():
    def make():
        w = vec(1.0, 2.0, 3.0).requires_grad_()

        def fn(x):
            w.grad = None
            y = (w.detach() * 1).requires_grad_()
            z = w.detach().requires_grad_()
            (x * y * z).sum().backward()
            (x * w).sum().backward()
            return y.grad + z.grad, w.grad

        return fn

    same(make, lambda i: (vec(float(i), 2.0, 3.0),))


def test_a_step_that_differs_at_its_first_call():
    from ingot import optim

    def run(wrap_step):
        w = vec().requires_grad_()
        w.grad = vec(1.0, 0.5, 0.25)
        opt = optim.SGD([w], lr=0.1, momentum=0.9)

        def step():
            opt.step()
            return w * 1

        step = wrap_step(step)
        out = [plain(step()) for _ in range(4)]
        saved = opt.state_dict()
        saved["param_groups"][0]["lr"] = 0.5
        opt.load_state_dict(saved)
        out += [plain(step()) for _ in range(3)]
        opt.state[w]["momentum_buffer"] = vec(9.0, 9.0, 9.0)
        return out + [plain(step()) for _ in range(3)]

    assert run(jit.trace) == run(lambda f: f)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("traces_closure", [False, True])
def test_steps_of_an_optimizer_with_python_state_run_as_they_are(search, traces_closure):
    """Its steps take Python numbers; only the closure can be traced."""
    def life(wrap, wrap_closure):
        w, got, count = vec().requires_grad_(), [], [0]
        opt = ingot.optim.LBFGS([w], lr=0.5, max_iter=4, line_search_fn=search)

        def closure():
            opt.zero_grad()
            loss = ((w - 1) ** 4).sum()
            loss.backward()
            return loss
        inner = wrap_closure(closure)

        def step(x):
            count[0] += 1
            loss = opt.step(inner)
            return loss * x, loss.item(), count[0]
        step = wrap(step)
        for i in range(12):
            got.append((plain(step(vec(1.0, i))), plain(w), plain(w.grad), count[0]))
        return got, step

    want, _ = life(lambda f: f, lambda f: f)
    with pytest.warns(jit.TracerWarning, match="runs as it is at most calls: its optimizer replaces"):
        got, traced = life(jit.trace, jit.trace if traces_closure else lambda f: f)
    assert got == want
    assert traced.stats()["unrecorded"] >= 8 and not traced.stats()["compiles"]


class Lion(optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), wd=0.1):
        super().__init__(params, {"lr": lr, "betas": betas, "wd": wd})

    @ingot.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = ingot.zeros_like(p)
                mean, (b1, b2) = state["exp_avg"], group["betas"]
                p.data.mul_(1 - group["lr"] * group["wd"])
                p.add_(mean.clone().mul_(b1).add(p.grad, alpha=1 - b1).sign_(), alpha=-group["lr"])
                mean.mul_(b2).add_(p.grad, alpha=1 - b2)


class Muon(optim.Optimizer):
    """Muon, with Adam for vectors, whose steps are counted by an int."""

    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(list(params), {"lr": lr, "momentum": momentum})

    @ingot.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                update = self.orthogonal(p, state, group) if p.ndim == 2 else self.adam(p, state)
                p.add_(update, alpha=-group["lr"])

    def orthogonal(self, p, state, group):
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = ingot.zeros_like(p.grad)
        state["momentum_buffer"].lerp_(p.grad, 1 - group["momentum"])
        x = p.grad.lerp(state["momentum_buffer"], group["momentum"])
        x = x / (x.norm() + 1e-7)
        for _ in range(2):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x

    def adam(self, p, state):
        if len(state) == 0:
            state["exp_avg"], state["exp_avg_sq"], state["step"] = ingot.zeros_like(p), ingot.zeros_like(p), 0
        state["step"] += 1
        state["exp_avg"].lerp_(p.grad, 0.1)
        state["exp_avg_sq"].lerp_(p.grad.square(), 0.01)
        mean, square = state["exp_avg"] / (1 - 0.9 ** state["step"]), state["exp_avg_sq"] / (1 - 0.99 ** state["step"])
        return mean / (square.sqrt() + 1e-8)


class Shampoo(optim.Optimizer):
    """An optimizer with new preconditioners in every second step, and another momentum tensor in each."""

    def __init__(self, params, lr=0.1, momentum=0.9, eps=1e-4, frequency=2):
        super().__init__(params, {"lr": lr, "momentum": momentum, "eps": eps, "frequency": frequency})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                grad, state = p.grad.data, self.state[p]
                if len(state) == 0:
                    state["step"], state["momentum"] = 0, grad.clone()
                    for d, n in enumerate(grad.size()):
                        state[f"pre_{d}"], state[f"inverse_{d}"] = group["eps"] * ingot.eye(n), grad.new(n, n).zero_()
                grad.mul_(1 - group["momentum"]).add_(state["momentum"], alpha=group["momentum"])
                for d, n in enumerate(grad.size()):
                    turned = grad.transpose(0, d).contiguous()
                    rows = turned.view(n, -1)
                    state[f"pre_{d}"].add_(rows @ rows.t())
                    if state["step"] % group["frequency"] == 0:
                        u, s, vh = ingot.linalg.svd(state[f"pre_{d}"])
                        state[f"inverse_{d}"].copy_(u @ s.pow(-1 / p.ndim).diag() @ vh)
                    grad = (state[f"inverse_{d}"] @ rows).view(turned.size()).transpose(0, d)
                state["step"] += 1
                state["momentum"] = grad.clone()
                p.data.add_(state["momentum"], alpha=-group["lr"])


class SAM(optim.Optimizer):
    def __init__(self, params, rho=0.05, lr=0.1):
        super().__init__(params, {"rho": rho, "lr": lr})
        self.base = optim.SGD(self.param_groups, lr=lr, momentum=0.9)
        self.param_groups = self.base.param_groups

    @ingot.no_grad()
    def climb(self):
        norm = ingot.stack([p.grad.norm(p=2) for group in self.param_groups for p in group["params"]]).norm(p=2)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * (group["rho"] / (norm + 1e-12)))

    @ingot.no_grad()
    def step(self, closure=None):
        self.climb()
        self.zero_grad()
        with ingot.enable_grad():
            closure().backward()
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base.step()


class Lookahead(optim.Optimizer):
    """An optimizer around another one; every third step goes back half the way."""

    def __init__(self, params, k=3):
        super().__init__(params, {"k": k})
        self.base, self.count = optim.Adam(self.param_groups[0]["params"], lr=0.05), 0

    def step(self, closure=None):
        self.base.step()
        self.count += 1
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "slow" not in state:
                    state["slow"] = p.data.clone()
                if self.count % group["k"] == 0:
                    state["slow"].add_(p.data - state["slow"], alpha=0.5)
                    p.data.copy_(state["slow"])


class Counted(optim.Adam):
    """A user class over ingot's Adam."""

    def step(self, closure=None):
        super().step(closure)
        self.size = sum(state["exp_avg"].abs().sum() for state in self.state.values())


# The optimizer, and how often its step may be recorded: for the first step, the next one, and for counters that are seen
# to move; further paths are named.
OPTIMIZERS = {
    "lion": (Lion, 2),
    "muon": (Muon, 3),
    "shampoo": (Shampoo, 5),                                        # two paths
    "sam": (SAM, 3),
    "lookahead": (Lookahead, 5),                                    # two paths
    "a subclass of adam": (Counted, 2),
}


def net(depth):
    ingot.manual_seed(3)
    return nn.Sequential(*[m for _ in range(depth) for m in (nn.Linear(4, 4), nn.Tanh())])


def life(make, wrap, depth=1, calls=12):
    """Return losses, parameters and state of several steps."""
    model = net(depth)
    opt = make(model.parameters())

    def step(x):
        def closure():
            return (model(x) - 1).square().mean()
        loss = closure()
        loss.backward()
        opt.step(closure) if isinstance(opt, SAM) else opt.step()
        opt.zero_grad()
        return loss

    step, got = wrap(step), []
    for i in range(calls):
        loss = step(ingot.arange(12, dtype=ingot.float32).view(3, 4) / (i + 1))
        state = [numbers(dict(opt.state[p])) for p in model.parameters()]
        got.append((plain(loss.detach()), [plain(p.detach()) for p in model.parameters()], state))
    return got, step


@pytest.mark.parametrize("depth", [1, 20])
@pytest.mark.parametrize("case", OPTIMIZERS)
def test_steps_of_own_optimizers_are_replayed(case, depth):
    make, recordings = OPTIMIZERS[case]
    expected, _ = life(make, lambda step: step, depth)
    got, traced = life(make, jit.trace, depth)
    assert got == expected
    assert traced.stats()["compiles"] <= recordings, traced.stats()["misses"]


class Noting(optim.SGD):
    """An optimizer that writes into its state what its next step may or may not read."""

    def __init__(self, params, note, use=lambda state, p: None):
        super().__init__(params, lr=0.1)
        self.note, self.use = note, use

    @ingot.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            self.use(self.state[p], p)
            self.state[p]["note"] = self.note(self.state[p], p)
        super().step()


def scaled_by_the_last(state, p):
    if "note" in state:
        p.mul_(state["note"].mean().tanh() + 1)


NOTES = {
    "a new tensor": (lambda state, p: p.grad.clone(), lambda state, p: None, 2),
    "a new tensor, read in the next step": (lambda state, p: p.grad.clone(), scaled_by_the_last, 3),
    "the one before, in a list": (lambda state, p: [*state.get("note", [])[-1:], p.grad.clone()], lambda state, p: None, 5),
    "a number": (lambda state, p: state.get("note", 0) + 1, lambda state, p: None, 3),
    "a float": (lambda state, p: state.get("note", 0.5) * 0.5, lambda state, p: None, 3),
    "text": (lambda state, p: f"step of {list(p.shape)}", lambda state, p: None, 2),
    "a dictionary": (lambda state, p: {"square": p.grad.square(), "n": p.ndim}, lambda state, p: None, 5),
    "the gradient": (lambda state, p: p.grad, lambda state, p: None, 3),
}


@pytest.mark.parametrize("case", NOTES)
def test_state_entries_of_a_step_are_side_effects(case):
    note, use, recordings = NOTES[case]

    def make(params):
        return Noting(params, note, use)

    expected, _ = life(make, lambda step: step)
    got, traced = life(make, jit.trace)
    assert got == expected
    assert traced.stats()["compiles"] <= recordings, traced.stats()["misses"]


def test_a_refusal_prints_no_parameters():
    with pytest.warns(ingot.jit.TracerWarning, match=r"state\[<Parameter of shape \[4, 4\]>\]") as said:
        life(lambda params: Noting(params, lambda state, p: object()), jit.trace)
    assert "requires_grad" not in str(said[0].message)


class Signed(optim.Optimizer):
    """An optimizer written against the parts of `torch.optim.optimizer`."""

    def __init__(self, params, lr=0.1, foreach=None, fused=None, differentiable=False):
        super().__init__(params, {"lr": lr, "foreach": foreach, "fused": fused, "differentiable": differentiable})

    @outside._use_grad_for_differentiable
    def step(self, closure=None):
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            grads = [p.grad for p in params]
            fused, foreach = outside._default_to_fused_or_foreach(params, group["differentiable"], group["fused"])
            assert not foreach and fused == bool(group["fused"])
            signed(params, grads, lr=outside._get_value(group["lr"]))


@outside._disable_dynamo_if_unsupported()
def signed(params, grads, lr):
    outside._view_as_real(params, grads)
    for p, g in zip(params, grads):
        p.add_(g.sign(), alpha=-lr)


@pytest.mark.parametrize("lr", [0.1, ingot.tensor(0.1)])
@pytest.mark.parametrize("fused", [None, True])
def test_optimizers_built_from_private_helpers(lr, fused):
    def life(wrap):
        p = nn.Parameter(ingot.tensor([1.0, -2.0, 3.0]))
        opt = Signed([p], lr, fused=fused)

        def step(x):
            opt.zero_grad()
            (p * x).square().sum().backward()
            opt.step()

        step = wrap(step)
        for i in range(4):
            step(vec(1.0, i + 1.0, 2.0))
        return plain(p.detach())

    assert life(jit.trace) == life(lambda step: step)


def test_private_helpers_choose_by_parameters():
    ones = [ingot.ones(2), None]
    assert outside._default_to_fused_or_foreach(ones, False, use_fused=True) == (True, False)
    assert outside._default_to_fused_or_foreach(ones, True, use_fused=True) == (False, False)
    assert outside._default_to_fused_or_foreach([ingot.arange(2)], False, use_fused=True) == (False, False)
    assert "cpu" not in outside._get_capturable_supported_devices()
    assert outside._get_scalar_dtype() is ingot.float32 and outside._to_scalar(ingot.ones(1)).shape == ()
    outside._device_dtype_check_for_fused(ones[0])
    with pytest.raises(DTypeError, match="are copies"):
        outside._view_as_real([ingot.ones(2, dtype=ingot.complex64)], [ingot.ones(2, dtype=ingot.complex64)])
    with pytest.raises(DTypeError, match="fused=True"):
        outside._device_dtype_check_for_fused(ingot.arange(2))


def test_differentiable_steps_record_gradients():
    x = ingot.tensor([2.0], requires_grad=True)
    p = x * 1
    opt = Signed([ingot.zeros(1)], differentiable=True)
    opt.param_groups[0]["params"] = [p]
    p.grad = x * 3
    opt.step()
    assert p.requires_grad and not p.is_leaf


L = optim.lr_scheduler


def train(wrap, prepare, calls=10):
    ingot.manual_seed(3)
    net = nn.Linear(3, 2)
    step, look = prepare(net)
    step, got = wrap(step), []
    for i in range(calls):
        x = ingot.arange(6, dtype=ingot.float32).view(2, 3) / (i + 1)
        got.append((plain(step(x, 0.1 / (i + 1)).detach()), numbers(look()), [plain(p.detach()) for p in net.parameters()]))
    return got, step


def fit(net, opt, x):
    opt.zero_grad()
    loss = ((net(x) - 1) ** 2).mean()
    loss.backward()
    opt.step()
    return loss


def rate_as_an_argument(net):
    opt = optim.SGD(net.parameters(), lr=1.0, momentum=0.9)

    def step(x, lr):
        for group in opt.param_groups:
            group["lr"] = lr * 0.5
        return fit(net, opt, x)
    return step, lambda: opt.param_groups[0]["lr"]


def rate_of_adam_as_a_constant(net):
    opt = optim.AdamW(net.parameters(), lr=1.0)

    def step(x, lr):
        for group in opt.param_groups:
            group["lr"] = 0.01
        return fit(net, opt, x)
    return step, lambda: opt.param_groups[0]["lr"]


def rates_of_several(net):
    class Trainer:
        def __init__(self):
            self.optimizers = [optim.SGD([p], lr=1.0) for p in net.parameters()]

        def step(self, x, lr):
            loss = ((net(x) - 1) ** 2).mean()
            for o in self.optimizers:
                o.zero_grad()
            loss.backward()
            for o in self.optimizers:
                for group in o.param_groups:
                    group["lr"] = lr * 2
                o.step()
            return loss
    trainer = Trainer()
    return trainer.step, lambda: [o.param_groups[0]["lr"] for o in trainer.optimizers]


def rate_after_the_step(net):
    opt = optim.SGD(net.parameters(), lr=0.1)

    def step(x, lr):
        loss = fit(net, opt, x)
        opt.param_groups[0]["lr"] *= 0.9
        return loss
    return step, lambda: opt.param_groups[0]["lr"]


def momentum_encoder(net):
    slow, opt = copy.deepcopy(net).requires_grad_(False), optim.SGD(net.parameters(), lr=0.1)

    def step(x, lr):
        with ingot.no_grad():
            for q, k in zip(net.parameters(), slow.parameters()):
                k.data = k.data * 0.9 + q.data * 0.1
        return fit(net, opt, x) + slow(x).mean()
    return step, lambda: [p.clone() for p in slow.parameters()]


def data_of_what_was_stepped(net):
    opt = optim.SGD(net.parameters(), lr=0.1)
    olds: list = []

    def step(x, lr):
        loss = fit(net, opt, x)
        for p in net.parameters():
            p.data = p.data * 0.99
        return loss

    def look():
        olds.append(net.weight.detach())
        return [o.clone() for o in olds]
    return step, look


def data_shared_with_another(net):
    other = nn.Linear(3, 2)

    def step(x, lr):
        other.weight.data = net.weight.data
        with ingot.no_grad():
            net.weight.mul_(0.9)
        return (other(x) ** 2).mean()
    return step, lambda: other.weight.detach().clone()


def data_swapped(net):
    other = nn.Linear(3, 2)

    def step(x, lr):
        a, b = net.weight.data, other.weight.data
        net.weight.data, other.weight.data = b, a
        return (other(x) - net(x)).mean()
    return step, lambda: other.weight.detach().clone()


@pytest.mark.parametrize("prepare, most", [
    (rate_as_an_argument, 4), (rates_of_several, 4),
    (rate_of_adam_as_a_constant, 4), (rate_after_the_step, 4), (momentum_encoder, 2),
    (data_of_what_was_stepped, 2), (data_shared_with_another, 3), (data_swapped, 2)],
    ids=lambda v: getattr(v, "__name__", ""))
def test_training_steps_that_write(prepare, most):
    want, _ = train(lambda f: f, prepare)
    got, traced = train(jit.trace, prepare)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a == b, i
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


SCHEDULES = {
    "exponential": lambda o: L.ExponentialLR(o, 0.9), "cosine": lambda o: L.CosineAnnealingLR(o, 5),
    "plateau": lambda o: L.ReduceLROnPlateau(o, patience=0, factor=0.5, threshold=0.5),
    "sequence": lambda o: L.SequentialLR(o, [L.LinearLR(o, 0.1, total_iters=3), L.CosineAnnealingLR(o, 5)], [3]),
    "restarts": lambda o: L.CosineAnnealingWarmRestarts(o, 3), "cycle": lambda o: L.OneCycleLR(o, max_lr=0.1, total_steps=20),
    "lambda": lambda o: L.LambdaLR(o, lambda s: 0.9 ** s),
    "chained": lambda o: L.ChainedScheduler([L.ExponentialLR(o, 0.9), L.StepLR(o, 2)])}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("optimizer", [optim.SGD, optim.AdamW])
def test_a_schedule_inside_steps_at_every_call(name, optimizer):
    def prepare(net):
        opt = optimizer(net.parameters(), lr=0.1)
        schedule = SCHEDULES[name](opt)

        def step(x, lr):
            loss = fit(net, opt, x)
            schedule.step(*([loss] if name == "plateau" else []))
            return loss
        return step, lambda: (opt.param_groups[0]["lr"], schedule.get_last_lr())
    want, _ = train(lambda f: f, prepare)
    got, traced = train(jit.trace, prepare)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a == b, i
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


@pytest.mark.parametrize("new", [lambda p: ingot.zeros(5), lambda p: p.data.double(), lambda p: p.data.t().contiguous().t()])
def test_data_of_another_kind(new):
    """It is refused for a parameter."""
    def life(wrap):
        p, got = ingot.ones(3, 2), []

        def fn(x):
            p.data = new(p)
            return x * 2 + p.sum()
        fn = wrap(fn)
        for _ in range(4):
            try:
                got.append((plain(fn(vec())), plain(p), p.stride()))
            except jit.TraceError as e:
                assert "is a view" in str(e)        # which it is from the call before on
                got.append(None)
        return got
    assert all(a is None or a == b for a, b in zip(life(jit.trace), life(lambda f: f)))
    weight = nn.Parameter(ingot.ones(3, 2))

    def fn(x):
        weight.data = new(weight)
        return x
    with pytest.raises(jit.TraceError, match=r"sets \.data"):
        jit.trace(fn)(vec())


@pytest.mark.parametrize("is_inside", [True, False])
def test_gradients_after_data_was_set(is_inside):
    def life(wrap):
        ingot.manual_seed(1)
        net, got = nn.Linear(3, 2), []
        opt = optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            for p in net.parameters():
                p.data = p.data.clamp(-0.3, 0.3)
            loss = (net(x) ** 2).mean()
            if is_inside:
                opt.zero_grad()
                loss.backward()
                opt.step()
            return loss
        step = wrap(step)
        for i in range(6):
            kept = net.weight.detach()
            loss = step(ingot.arange(6, dtype=ingot.float32).view(2, 3) / (i + 1))
            if not is_inside:
                opt.zero_grad()
                loss.backward()
                opt.step()
            got.append((plain(loss.detach()), plain(net.weight.detach()), plain(net.weight.grad), plain(kept)))
        return got
    assert life(jit.trace) == life(lambda f: f)


def test_data_on_one_branch():
    p = ingot.zeros(3)

    def fn(x):
        if x.sum() > 5:
            p.data = p.data + x
        return p * 2
    traced, q = jit.trace(fn), []
    for i in range(8):
        before = p.clone()
        got = plain(traced(vec(1.0 * i, 1.0, 1.0)))
        after = p.clone()
        p.data = before
        assert got == plain(fn(vec(1.0 * i, 1.0, 1.0))) and plain(after) == plain(p)
        q.append(plain(p))
    assert len(set(q)) > 2
