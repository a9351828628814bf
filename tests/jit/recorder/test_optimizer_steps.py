"""Training steps in a trace: changing options of optimizers, gradients of leaves, steps that run uncompiled."""

import pytest

import ingot
from ingot import jit
from side_by_side import plain, same, vec


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


def test_a_step_whose_first_time_is_special():
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
