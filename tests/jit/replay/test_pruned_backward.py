"""Backwards through results of a traced function to a few inputs run, free and check what eager ones do."""

import random

import pytest

import ingot
from ingot import jit
from ingot.ir.errors import AutogradError

F64 = ingot.float64
OPS = {
    "sin": lambda a, b: a.sin(), "exp": lambda a, b: (a * 0.1).exp(), "neg": lambda a, b: -a, "square": lambda a, b: a * a,
    "sum": lambda a, b: a.sum().reshape(1).expand(4), "mean": lambda a, b: a.mean() * ingot.ones(4, dtype=F64),
    "parts": lambda a, b: ingot.cat([a[1:], a[:1]]), "max": lambda a, b: a.max(0)[0] * a,
    "view": lambda a, b: a.view(2, 2).t().reshape(4), "add": lambda a, b: a + b, "mul": lambda a, b: a * b,
}
TARGETS = (None, [0], [1], [2], [0, 1], [1, 2], ["first result"], ["first result", 1])


class Case:
    """A random function of three tensors, and the backwards and writes that follow each call."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.steps = [(r.choice([*OPS]), r.randrange(3 + n), r.randrange(3 + n)) for n in range(r.randint(2, 7))]
        self.outs = [r.randrange(3 + len(self.steps)) for _ in range(r.randint(1, 3))]
        self.writes, self.kind = r.random() < 0.4, r.randrange(3)
        self.acts = [act for _ in range(r.randint(2, 4)) for act in self._acts(r)]

    def _acts(self, r):
        through = [i for i in range(len(self.outs)) if r.random() < 0.6] or [0]
        yield r.choice(["backward", "grad"]), through, r.choice(TARGETS), r.random() < 0.3
        if r.random() < 0.2:
            yield "write", r.randrange(3), None, False

    def function(self, *leaves):
        values = [*leaves]
        if self.writes:
            values[0].add_(1)
        for name, i, j in self.steps:
            values.append(OPS[name](values[i], values[j]))
        return [values[i] for i in self.outs]

    def follow(self, f, call):
        """Return what a call and the backwards after it give, up to the first error."""
        base = [ingot.tensor([0.5 + call, -0.3, 1.2, 0.7 * k], dtype=F64, requires_grad=True) for k in (1, 2, 3)]
        first = base[0] * (2.0 if self.writes else 1.0) if self.writes or self.kind == 0 else base[0]
        outs, log = f(first, *base[1:]), []
        for act in self.acts:
            try:
                log.append(self._act(act, base, outs))
            except AutogradError:
                return [*log, "AutogradError"]
        return log

    def _act(self, act, base, outs):
        how, which, targets, retain = act
        if how == "write":
            with ingot.no_grad():
                base[which].mul_(1.5)
            return None
        taped = [outs[i] for i in which if outs[i].requires_grad]
        loss = sum([(t * float(i + 1)).sum() for i, t in enumerate(taped)])
        inputs = targets and [outs[0] if i == "first result" else base[i] for i in targets]
        if how == "grad":
            found = ingot.autograd.grad(loss, inputs or base, retain_graph=retain, allow_unused=True)
        else:
            loss.backward(inputs=inputs, retain_graph=retain)
            found = [t.grad for t in (*base, *(t for t in inputs or () if not t.is_leaf))]
        return [None if g is None else g.tolist() for g in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seeds", [range(i, i + 30) for i in range(0, 180, 30)], ids=lambda seeds: f"{seeds.start}")
def test_random_functions(seeds):
    for seed in seeds:
        case = Case(seed)
        f = jit.trace(case.function)
        for call in range(3):
            assert case.follow(f, call) == case.follow(case.function, call), (seed, call)


def test_a_second_backward_to_what_the_first_result_does_not_lead_to():
    w = ingot.ones(2, 3, dtype=F64, requires_grad=True)
    u = ingot.tensor([0.3, -0.7, 1.1], dtype=F64, requires_grad=True)

    @jit.trace
    def f(o):
        o.add_(1)
        return u.narrow(0, 0, 1).max(0)[0], u.sin().mean()

    for _ in range(4):
        largest, mean = f(w * 2)
        largest.sum().backward()
        (largest + mean).backward(inputs=[w])
        assert w.grad is None


def test_hooks_on_results_that_lead_elsewhere_do_not_run():
    w, u = ingot.ones(3, requires_grad=True), ingot.ones(3, requires_grad=True)
    f = jit.trace(lambda: (w * 2, u.exp()))
    for _ in range(4):
        seen = []
        a, b = f()
        a.register_hook(lambda g, seen=seen: seen.append("a"))
        b.register_hook(lambda g, seen=seen: seen.append("b"))
        (a.sum() + b.sum()).backward(inputs=[w])
        assert seen == ["a"]


def test_saved_memory_on_another_way_may_be_written():
    w, u = ingot.ones(3, requires_grad=True), ingot.ones(3, requires_grad=True)
    f = jit.trace(lambda: (w * w + u * u).sum())
    for _ in range(4):
        loss = f()
        with ingot.no_grad():
            u.mul_(1.5)
        loss.backward(inputs=[w], retain_graph=True)
        with pytest.raises(AutogradError, match="overwritten"):
            loss.backward()


@pytest.mark.parametrize("of", [0, 1, (0, 1)], ids=str)
@pytest.mark.parametrize("inputs", ["w", "u", "both"])
def test_a_rule_that_raises_does_so_on_the_way_to_its_inputs_alone(inputs, of):
    """`mul` saved x, whose `.data` was then set and written."""
    def function(x, y, w, u):
        first = x * u
        x.data = y.data
        x[..., 0].add_(u[1])
        return first, y * w

    def life(wrap):
        call, found = wrap(function), []
        w, u = (ingot.arange(1.0, 4).requires_grad_() for _ in range(2))
        for i in range(3):
            results = call(ingot.full((2, 3), 0.5 + i), ingot.full((2, 3), 1.5), w, u)
            picked = [results[k] for k in (of if type(of) is tuple else (of,))]
            targets = {"w": [w], "u": [u], "both": [w, u]}[inputs]
            try:
                gradients = ingot.autograd.grad([r.sum() for r in picked], targets, allow_unused=True)
                found.append([g if g is None else g.tolist() for g in gradients])
            except AutogradError:
                found.append("an error")
        return found

    assert life(jit.trace) == life(lambda fn: fn)
