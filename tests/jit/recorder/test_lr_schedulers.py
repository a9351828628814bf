"""Learning rate schedules that step in a traced function: reads see the rates of the call."""

import copy
import itertools
import threading

import pytest

import ingot
from ingot import jit, nn, optim
from ingot.optim import lr_scheduler as L
from ingot.optim.swa_utils import SWALR
from side_by_side import plain

pytestmark = pytest.mark.filterwarnings("ignore:lr_scheduler.step")


class Halves(L.LRScheduler):
    """A user schedule that changes a list, a text and a flag."""

    def __init__(self, optimizer):
        self.seen, self.phase, self.is_late = [], "early", False
        super().__init__(optimizer)

    def get_lr(self):
        self.is_late = self.last_epoch > 3
        self.phase = "late" if self.last_epoch > 5 else "early"
        lr = [g["lr"] * (0.5 if self.last_epoch % 3 == 2 else 1.0) for g in self.optimizer.param_groups]
        self.seen.append(lr[0])
        return lr


class Rates:
    """A callable with state."""

    def __init__(self):
        self.calls = 0

    def __call__(self, epoch):
        self.calls += 1
        return 0.9 ** self.calls


SCHEDULES = {
    "step": lambda o: L.StepLR(o, 3, 0.5), "milestones": lambda o: L.MultiStepLR(o, [2, 5], 0.5),
    "exponential": lambda o: L.ExponentialLR(o, 0.9), "cosine": lambda o: L.CosineAnnealingLR(o, 5),
    "restarts": lambda o: L.CosineAnnealingWarmRestarts(o, 3, 2), "linear": lambda o: L.LinearLR(o, 0.1, total_iters=4),
    "constant": lambda o: L.ConstantLR(o, total_iters=3), "polynomial": lambda o: L.PolynomialLR(o, 6),
    "lambda": lambda o: L.LambdaLR(o, lambda s: 0.9 ** s), "callable": lambda o: L.LambdaLR(o, Rates()),
    "multiplicative": lambda o: L.MultiplicativeLR(o, lambda s: 0.95), "cyclic": lambda o: L.CyclicLR(o, 0.01, 0.1, 3),
    "one cycle": lambda o: L.OneCycleLR(o, 0.1, total_steps=20), "averages": lambda o: SWALR(o, 0.01, anneal_epochs=4),
    "plateau": lambda o: L.ReduceLROnPlateau(o, patience=1, factor=0.5, threshold=0.5),
    "sequence": lambda o: L.SequentialLR(o, [L.LinearLR(o, 0.1, total_iters=3), L.CosineAnnealingLR(o, 5)], [3]),
    "chained": lambda o: L.ChainedScheduler([L.ConstantLR(o, total_iters=3), L.ExponentialLR(o, 0.9)]), "own": Halves}


def last_rate(opt, schedule):
    return schedule.get_last_lr()


def in_the_group(opt, schedule):
    return opt.param_groups[0]["lr"]


def of_a_loop(opt, schedule):
    return [(g["lr"], g.get("momentum")) for g in opt.param_groups]


def computed(opt, schedule):
    return ingot.ones(3) * schedule.get_last_lr()[0] + 2 * opt.param_groups[0]["lr"]


def compared(opt, schedule):
    return "high" if schedule.get_last_lr()[0] > 0.06 else "low"


def whole_state(opt, schedule):
    return {k: v for k, v in schedule.state_dict().items() if isinstance(v, (int, float)) and type(v) is not bool}


READS = [last_rate, in_the_group, of_a_loop, computed, compared, whole_state]


def settings(opt, schedule):
    """Return all that a schedule and its optimizer hold, as plain data."""
    kept = [{k: v for k, v in s.__dict__.items() if k not in ("optimizer", "_schedulers", "lr_lambdas", "_scale_fn_ref")
             and not callable(v)} for s in (schedule, *getattr(schedule, "_schedulers", ()))]
    calls = [getattr(f, "calls", None) for f in getattr(schedule, "lr_lambdas", ())]
    return repr(kept), calls, repr([{k: v for k, v in g.items() if k != "params"} for g in opt.param_groups])


def life(wrap, make, read, optimizer=optim.SGD, order="after", calls=14, sizes=(4,)):
    ingot.manual_seed(2)
    net = nn.Linear(3, 2)
    opt = optimizer(net.parameters(), lr=0.1, **({"momentum": 0.9} if optimizer is optim.SGD else {}))
    schedule, log = make(opt), []

    def stepped(loss):
        schedule.step(*([loss.item()] if isinstance(schedule, L.ReduceLROnPlateau) else ()))

    def step(x):
        found = []
        if order == "first":
            stepped((net(x) ** 2).mean())
        if order == "around":
            found.append(read(opt, schedule))
        loss = ((net(x) - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if order in ("after", "around"):
            stepped(loss)
        found.append(read(opt, schedule))
        log.append(found)
        return loss, found
    step, got = wrap(step), []
    for i in range(calls):
        got.append((plain(step(ingot.full((sizes[i % len(sizes)], 3), (i % 4) / 3 + 0.1))), plain(net.weight.detach()),
                    settings(opt, schedule), plain(log)))
    return got, step


def compare(make, read, most=3, **how):
    want, _ = life(lambda f: f, make, read, **how)
    got, traced = life(jit.trace, make, read, **how)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a == b, i
    assert traced.stats()["compiles"] <= most, traced.stats()["misses"]


@pytest.mark.parametrize("order", ["after", "first", "around"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_that_are_read_are_those_of_the_call(name, order):
    """Numbers of a schedule are read in every way, one after the other."""
    for read in READS[::2 if order == "first" else 1]:
        compare(SCHEDULES[name], read, most=8 if name == "own" else 6, order=order)


@pytest.mark.parametrize("name", ["cosine", "one cycle", "plateau", "sequence"])
def test_text_of_rates(name):
    def printed(opt, schedule):
        print(f"{schedule.get_last_lr()[0]:.4f} at {schedule.last_epoch}")
        return 0
    compare(SCHEDULES[name], printed)


@pytest.mark.parametrize("name", ["exponential", "one cycle"])
@pytest.mark.parametrize("optimizer", [optim.AdamW, optim.RMSprop, optim.NAdam])
def test_optimizers(name, optimizer):
    for order in ("first", "around"):
        compare(SCHEDULES[name], in_the_group, optimizer=optimizer, order=order, most=4)


def test_batches_of_other_sizes():
    compare(SCHEDULES["cosine"], last_rate, sizes=(4, 7, 4, 2, 9), most=6)


def run_both(program, calls=12, most=None):
    found = []
    for wrap in (lambda f: f, jit.trace):
        ingot.manual_seed(4)
        net = nn.Linear(3, 2)
        opt = optim.SGD(net.parameters(), lr=0.1)
        step, look = program(net, opt)
        step = wrap(step)
        got = []
        for i in range(calls):
            try:
                result = plain(step(ingot.full((2, 3), (i % 3) / 2.0 + 0.1)))
            except ValueError as e:
                result = str(e)
            got.append((result, plain(net.weight.detach()), opt.param_groups[0]["lr"], look()))
        found.append(got)
    for i, (a, b) in enumerate(zip(*found)):
        assert a == b, i
    assert most is None or step.stats()["compiles"] <= most, step.stats()["misses"]


def fit(net, opt, x):
    loss = ((net(x) - 1) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss


def two_steps(net, opt):
    s = L.ExponentialLR(opt, 0.9)

    def step(x):
        first = fit(net, opt, x)
        s.step()
        second = fit(net, opt, x)
        s.step()
        return first, second, s.get_last_lr()
    return step, lambda: settings(opt, s)


def two_schedules(net, opt):
    a, b = L.ExponentialLR(opt, 0.9), L.LambdaLR(opt, lambda e: 1 / (1 + e % 4))

    def step(x):
        loss = fit(net, opt, x)
        a.step()
        between = opt.param_groups[0]["lr"]
        b.step()
        return loss, between, a.get_last_lr(), b.get_last_lr()
    return step, lambda: (settings(opt, a), settings(opt, b))


def of_two_optimizers(net, opt):
    other = optim.Adam([nn.Parameter(ingot.ones(2))], lr=0.3)
    a, b = L.CosineAnnealingLR(opt, 17), L.StepLR(other, 3)

    def step(x):
        loss = fit(net, opt, x)
        a.step()
        b.step()
        return loss, b.get_last_lr()[0] / a.get_last_lr()[0]
    return step, lambda: (settings(opt, a), settings(other, b))


def on_some_calls(net, opt):
    s, n = L.ExponentialLR(opt, 0.9), [0]

    def step(x):
        n[0] += 1
        loss = fit(net, opt, x)
        if n[0] % 3 == 0:
            s.step()
        return loss, s.get_last_lr()[0], s.last_epoch
    return step, lambda: settings(opt, s)


def by_the_data(net, opt):
    s = L.ExponentialLR(opt, 0.9)

    def step(x):
        loss = fit(net, opt, x)
        s.step()
        rate = s.get_last_lr()[0]
        if loss > 0.9:
            s.step()
        return loss, rate, s.get_last_lr()
    return step, lambda: settings(opt, s)


def rate_changed_before(net, opt):
    s, n = L.ExponentialLR(opt, 0.9), [0]

    def step(x):
        n[0] += 1
        for g in opt.param_groups:
            g["lr"] = g["lr"] * 0.97
            g["weight_decay"] = 0.01 * n[0]
        loss = fit(net, opt, x)
        s.step()
        return loss, s.get_last_lr(), opt.param_groups[0]["lr"]
    return step, lambda: settings(opt, s)


def rate_changed_after(net, opt):
    s = L.StepLR(opt, 3, 0.5)

    def step(x):
        loss = fit(net, opt, x)
        s.step()
        for g in opt.param_groups:
            g["lr"] = max(g["lr"] * 0.9, 0.02)
        return loss, opt.param_groups[0]["lr"], s.get_last_lr()
    return step, lambda: settings(opt, s)


def rate_changed_unread(net, opt):
    s = L.StepLR(opt, 3, 0.5)

    def step(x):
        loss = fit(net, opt, x)
        opt.param_groups[0]["lr"] *= 0.95
        s.step()
        return loss
    return step, lambda: settings(opt, s)


def up_to_its_end(net, opt):
    s = L.OneCycleLR(opt, 0.1, total_steps=8, cycle_momentum=False)

    def step(x):
        loss = fit(net, opt, x)
        s.step()
        return loss, s.get_last_lr()[0]
    return step, lambda: settings(opt, s)


def epochs_that_are_given(net, opt):
    s, n = L.CosineAnnealingWarmRestarts(opt, 4), [0]

    def step(x):
        n[0] += 1
        loss = fit(net, opt, x)
        s.step(n[0] / 3)
        return loss, s.get_last_lr()[0]
    return step, lambda: (settings(opt, s), n[0])


def checkpoints(net, opt):
    s, kept = L.ExponentialLR(opt, 0.9), {}

    def step(x):
        kept["before"] = copy.deepcopy(s.state_dict())
        loss = fit(net, opt, x)
        s.step()
        kept["after"] = s.state_dict()
        return loss, s.state_dict()["last_epoch"]
    return step, lambda: (settings(opt, s), repr(kept))


def read_without_a_step(net, opt):
    s = L.ExponentialLR(opt, 0.9)

    def step(x):
        loss = fit(net, opt, x)
        return loss, s.get_last_lr()[0], s.last_epoch

    def look():
        s.step()
        return settings(opt, s)
    return step, look


def rate_that_is_a_tensor(net, opt):
    rate = ingot.tensor(0.1)
    opt = optim.SGD(net.parameters(), lr=rate)
    s = L.ExponentialLR(opt, 0.9)

    def step(x):
        loss = fit(net, opt, x)
        s.step()
        return loss, s.get_last_lr()[0] * 2, opt.param_groups[0]["lr"] + 1
    return step, lambda: (rate.item(), opt.param_groups[0]["lr"] is rate, s.last_epoch, s.get_last_lr()[0] is rate)


def counted_by_its_function(net, opt):
    calls = []
    s = L.LambdaLR(opt, lambda e: (calls.append(e), 0.9 ** e)[1])

    def step(x):
        loss = fit(net, opt, x)
        s.step()
        return loss, s.get_last_lr()[0]
    return step, lambda: (settings(opt, s)[1:], len(calls))


@pytest.mark.parametrize("program, most", [
    (two_steps, 2), (two_schedules, 3), (of_two_optimizers, 3), (on_some_calls, 5), (by_the_data, 4), (rate_changed_before, 4),
    (rate_changed_after, 5), (rate_changed_unread, 3), (up_to_its_end, None), (epochs_that_are_given, 3), (checkpoints, 4),
    (read_without_a_step, 3), (rate_that_is_a_tensor, 3), (counted_by_its_function, 3)],
    ids=lambda v: getattr(v, "__name__", ""))
def test_steps_of_schedules_within_a_step(program, most):
    run_both(program, most=most)


def test_other_threads_see_plain_rates_while_a_call_is_recorded():
    """The same holds where the call fails."""
    net = nn.Linear(3, 2)
    opt = optim.SGD(net.parameters(), lr=0.1)
    s = L.ExponentialLR(opt, 0.5)

    @jit.trace
    def step(x):
        s.step()
        s.get_last_lr()
        raise KeyError("lost")

    for n in range(1, 4):
        with pytest.raises(KeyError):
            step(ingot.ones(2, 3))
        assert [type(v) for v in s.get_last_lr()] == [float] and type(s.last_epoch) is int
        assert opt.param_groups[0]["lr"] == 0.1 * 0.5 ** n and s.last_epoch == n


def test_threads_that_replay_at_once():
    """Each thread has a net, an optimizer and a schedule."""
    def work(results, i):
        ingot.manual_seed(i)
        net = nn.Linear(3, 2)
        opt = optim.SGD(net.parameters(), lr=0.1)
        s = L.CosineAnnealingLR(opt, 9)

        def step(x):
            loss = fit(net, opt, x)
            s.step()
            return loss, s.get_last_lr()[0]
        traced = jit.trace(step)
        results[i] = [plain(traced(ingot.ones(2, 3) * n))[1] for n in range(12)]

    together: dict = {}
    threads = [threading.Thread(target=work, args=(together, i)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    alone: dict = {}
    work(alone, 0)
    assert all(found == alone[0] for found in together.values()) and len(together) == 4


def test_host_functions_of_tensors_take_batches_of_any_size():
    """A host function that returns tensors is the same one in each recording."""
    calls = itertools.count()

    @jit.host
    def scaled(x, factor):
        next(calls)
        return x.sum() * factor

    traced = jit.trace(lambda x: scaled(x * 2, 3.0) + x.mean())
    for n in range(2, 12):
        x = ingot.arange(n, dtype=ingot.float32)
        assert traced(x).item() == ((x * 2).sum() * 3 + x.mean()).item()
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


class Descent(optim.Optimizer):
    """A user's optimizer that counts its steps for each parameter."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1, "momentum": 0.9})

    @ingot.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["step"] = state.get("step", 0) + 1
                p.sub_(p.grad * group["lr"] / (1 - group["momentum"] ** state["step"]))


@pytest.mark.parametrize("name", ["none", "lambda", "plateau", *[
    pytest.param(name, marks=pytest.mark.slow) for name in SCHEDULES if name not in ("lambda", "plateau", "own")]])
def test_own_optimizers_and_operators(name):
    """A counter and a rate change at each step; three recordings serve all."""
    def life(wrap):
        ingot.manual_seed(0)
        double = jit.host(lambda x: x * 2)
        net = nn.Linear(3, 2)
        opt = Descent(net.parameters())
        schedule = SCHEDULES[name](opt) if name != "none" else None

        def step(x):
            opt.zero_grad()
            loss = net(x).square().mean() + double(x.detach()).mean()
            loss.backward()
            opt.step()
            if schedule is not None:
                schedule.step(*[loss] if name == "plateau" else [])
            return loss
        step, got = wrap(step), []
        for i in range(20):
            loss = step(ingot.full((4, 3), (i % 4) / 3 + 0.1))
            got.append((plain(loss.detach()), plain(net.weight.detach()), opt.param_groups[0]["lr"]))
        return got, step

    want, _ = life(lambda f: f)
    got, traced = life(jit.trace)
    assert got == want
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]
