"""Values that a traced call saved for its backward, when the memory where they lie is written after the call.

A replay does not copy what lies in memory that outlives it: it watches that memory. A value may lie in several places, one of
which belongs to the call alone, or to another result.
"""

import itertools

import pytest

import ingot
from ingot import jit
from outcomes import outcome

f64 = ingot.float64


def into_new(x, w):
    y, z = (x * w).exp(), ingot.zeros(3, dtype=f64)
    z.copy_(y)
    return y, z, z * w


def over_both(x, w):
    y = x * w
    z = ingot.zeros(3, dtype=f64)
    z.copy_(y)
    return y * y, z * z, y, z


def written_view(x, w):
    y = x * w
    v = y[1:]
    v.mul_(w[1:] + 3)
    return y, v.sin() * v, v[None]


def written_view_of_input(x, w):
    v = x.view(3, 1)[1:]
    v.copy_((w * w)[1:, None])
    v.add_(1)
    return (v.sin() * v)[..., 0], v[0]


def hook_on_a_written_view(x, w):
    y = x * w
    v = y.view(-1)
    v.register_hook(lambda g: g * v.detach())
    v.copy_(v * 2)
    return v[None], (v * 1)[None]


FUNCTIONS = {
    "a written view": written_view,
    "a written view of an argument": written_view_of_input,
    "a hook that reads a written view": hook_on_a_written_view,
    "a result of a write, and a factor": lambda x, w: (x.mul_(w).exp_(), x * w)[1:],
    "a result, and the same elsewhere": into_new,
    "two results": over_both,
    "an argument, and a copy": lambda x, w: (x.copy_((x * w).exp()), (x * w).sum()),
    "an argument twice": lambda x, w: (x * w, x.detach() * w.exp()),
    "a view": lambda x, w: (x.mul_(w).exp_(), x[1:] * w[1:])[1:],
}
WRITES = {
    "nothing": lambda t: None,
    "a write": lambda t: t.mul_(2),
    "a write without history": lambda t: ingot.no_grad()(t.mul_)(2),
    "a part": lambda t: ingot.no_grad()(t[..., :1].mul_ if t.ndim else t.mul_)(3),
    "an unseen write": lambda t: t.data.mul_(2),
}


def ended(run):
    """Return a result, or the type of an error: messages name other places."""
    kind, found = outcome(run)
    return found[0] if kind == "error" else found


def gradients(wrap, name, which, write, roots) -> list:
    w, found = ingot.tensor([0.5, -1.25, 2.0], dtype=f64, requires_grad=True), []
    f = wrap(FUNCTIONS[name])
    for i in range(3):
        x = ingot.arange(3.0, dtype=f64) + i
        tensors = [x, *f(x, w)]
        WRITES[write](tensors[which % len(tensors)])
        taken = [t for k, t in enumerate(tensors) if k in roots and t.requires_grad]
        found.append([ended(lambda t=t: ingot.autograd.grad(t.sum(), w, retain_graph=True)) for t in taken])
    return found


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_write_after_the_call_gives_the_gradient_of_eager_or_raises(name, write):
    for which, roots in itertools.product(range(4), [(0, 1, 2, 3, 4), (3, 2, 1, 0)]):
        want = gradients(lambda f: f, name, which, write, roots)
        got = gradients(jit.trace, name, which, write, roots)
        for i, (a, b) in enumerate(zip(got, want)):
            if write == "an unseen write":          # a replay may refuse to follow it
                a = [y if x == "AutogradError" else x for x, y in zip(a, b)]
            assert a == b, (which, roots, i)


class Saving(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.x = x
        return x * 2

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 + x + ctx.x.sin()


# Of a view and the leaf in whose memory it lies.
OVER_ONE_MEMORY = {
    "a function": lambda a, w: (Saving.apply(a) * 1, w),
    "functions of both": lambda a, w: (Saving.apply(a) * 1, Saving.apply(w) * 1),
    "a hook": lambda a, w: hooked(a, w),
    "operators": lambda a, w: (a.sin() * a, w * w),
    "operators on parts": lambda a, w: (a * w[:1], a.exp() * w[1:]),
    "the leaf last": lambda a, w: (Saving.apply(w[:1] * 1) + a, a * 2),
}


def hooked(a, w):
    y = a * 2
    y.register_hook(lambda g: g * a.detach() + w.detach()[:1])
    return y * 1, w


@pytest.mark.parametrize("is_passed", [False, True])
@pytest.mark.parametrize("write", ["nothing", "an unseen write", "a write without history", "a part"])
@pytest.mark.parametrize("name", OVER_ONE_MEMORY)
def test_inputs_over_one_memory_are_saved_there(name, write, is_passed):
    def life(wrap):
        w, found = ingot.tensor([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]], dtype=f64, requires_grad=True), []
        f = wrap(OVER_ONE_MEMORY[name] if is_passed else lambda a: OVER_ONE_MEMORY[name](a, w))
        for _ in range(3):
            w.grad, (a, _) = None, w.split(1)
            results = f(a, w) if is_passed else f(a)
            WRITES[write](w)
            found.append(ended(lambda results=results: sum([t.sum() for t in results]).backward()))
            found.append(None if w.grad is None else w.grad.tolist())
        return found

    assert life(jit.trace) == life(lambda f: f)
