"""Operators of the user's: what their schemas say, and that eager mode, traces, gradients and batches see the same of them."""

from collections.abc import Sequence

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot import Tensor, func, jit, library

NS = "tried"


def rand(*shape, seed=0, grad=True):
    return ingot.tensor(np.random.default_rng(seed).standard_normal(shape)).requires_grad_(grad)


@library.custom_op("tried::sine", mutates_args=())
def sine(x: Tensor, n: float = 1.0) -> Tensor:
    """The sine, by numpy."""
    return ingot.from_numpy(np.sin(x.numpy()) * n)


sine.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.n, None),
                       setup_context=lambda ctx, given, output: (ctx.save_for_backward(given[0]), vars(ctx).update(n=given[1])))
sine.register_fake(lambda x, n=1.0: ingot.empty_like(x))


@library.custom_op("tried::moments", mutates_args=())
def moments(x: Tensor, *, power: int) -> tuple[Tensor, Tensor]:
    a = x.numpy()
    return ingot.tensor(a ** power), ingot.tensor((a ** (power - 1)).sum())


def keep(ctx, inputs, keyword_only_inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.power = keyword_only_inputs["power"]


def back_of_moments(ctx, g, h):
    x, p = ctx.saved_tensors[0], ctx.power
    return g * p * x ** (p - 1) + h * (p - 1) * x ** (p - 2)


library.register_autograd("tried::moments", back_of_moments, setup_context=keep)
library.register_fake("tried::moments", lambda x, *, power: (ingot.empty_like(x), x.new_empty(())))


@library.custom_op("tried::weighted", mutates_args=())
def weighted(xs: Sequence[Tensor], by: list[float], bias: Tensor | None = None) -> Tensor:
    total = sum(x.numpy() * b for x, b in zip(xs, by))
    return ingot.tensor(total if bias is None else total + bias.numpy())


def back_of_weighted(ctx, g):
    assert ctx.needs_input_grad[0] == [True, True] and ctx.needs_input_grad[1] is False
    return [g * b for b in ctx.by], None, g if ctx.needs_input_grad[2] else None


weighted.register_autograd(back_of_weighted, setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]))
weighted.register_fake(lambda xs, by, bias=None: ingot.empty_like(xs[0]))


@library.custom_op("tried::halves", mutates_args=())
def halves(x: Tensor) -> list[Tensor]:
    a = x.numpy()
    return [ingot.tensor(a[:1] * 2), ingot.tensor(a[1:] * 3)]


halves.register_autograd(lambda ctx, grads: ingot.cat([grads[0] * 2, grads[1] * 3]))
halves.register_fake(lambda x: [ingot.empty_like(x[:1]), ingot.empty_like(x[1:])])

LIB = library.Library("tried", "FRAGMENT")
LIB.define("cube(Tensor x) -> Tensor")
LIB.impl("cube", lambda x: x * x * x, "CompositeImplicitAutograd")
LIB.define("twice(Tensor x, float by=2.0) -> Tensor")
LIB.impl("twice", lambda x, by=2.0: ingot.from_numpy(x.numpy() * by), "CPU")
LIB._register_fake("twice", lambda x, by=2.0: ingot.empty_like(x))


class Twice(ingot.autograd.Function):
    @staticmethod
    def forward(ctx, x, by=2.0):
        ctx.by = by
        return ingot.ops.tried.twice(x, by)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.by, None


LIB.impl("twice", Twice.apply, "Autograd")

# name: (operator, arguments, keywords, the same made of ingot's operators)
OPERATORS = {
    "by numpy": (sine, lambda: (rand(3, 2), 0.5), {}, lambda x, n: x.sin() * n),
    "defaults": (sine, lambda: (rand(4),), {}, lambda x: x.sin()),
    "two results, keywords": (moments, lambda: (rand(3),), {"power": 3}, lambda x, power: (x ** 3, (x ** 2).sum())),
    "lists": (weighted, lambda: ([rand(2), rand(2, seed=1)], [2.0, 3.0]), {}, lambda xs, by: xs[0] * 2 + xs[1] * 3),
    "one that may be None": (weighted, lambda: ([rand(2), rand(2, seed=1)], [2.0, 3.0], rand(2, seed=2)), {},
                             lambda xs, by, bias: xs[0] * 2 + xs[1] * 3 + bias),
    "a list of results": (halves, lambda: (rand(3),), {}, lambda x: [x[:1] * 2, x[1:] * 3]),
    "made of operators": (ingot.ops.tried.cube, lambda: (rand(3),), {}, lambda x: x * x * x),
    "gradients by a key": (ingot.ops.tried.twice.default, lambda: (rand(3), 4.0), {}, lambda x, by: x * 4.0),
}


def leaves(args):
    return [t for a in args for t in (a if isinstance(a, list) else [a]) if isinstance(t, Tensor)]


def outcome(call, args, kwargs):
    """Results and gradients as lists."""
    outs = call(*args, **kwargs)
    outs = [outs] if isinstance(outs, Tensor) else list(outs)
    grads = ingot.autograd.grad([(o * o).sum() for o in outs], leaves(args))
    return [t.tolist() for t in (*outs, *grads)]


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_computes_the_same_eager_traced_and_checked(name):
    op, make, kwargs, meant = OPERATORS[name]
    expected = outcome(meant, make(), kwargs)
    for got, want in zip(outcome(op, make(), kwargs), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    traced = jit.trace(lambda args, kwargs: op(*args, **kwargs))
    step = jit.trace(lambda args, kwargs: (out := op(*args, **kwargs), ingot.autograd.grad(
        [(o * o).sum() for o in ([out] if isinstance(out, Tensor) else out)], leaves(args))))
    for seed in (0, 7):
        args = [a + seed if isinstance(a, Tensor) else a for a in make()]
        args = [a.detach().requires_grad_() if isinstance(a, Tensor) else a for a in args]
        want = outcome(op, args, kwargs)
        assert outcome(lambda *a, **k: traced(a, k), args, kwargs) == want
        outs, grads = step(args, kwargs)
        assert [t.tolist() for t in ([outs] if isinstance(outs, Tensor) else [*outs]) + [*grads]] == want
    assert traced.stats()["compiles"] == step.stats()["compiles"] == 1
    assert set(library.opcheck(op, make(), kwargs).values()) == {"SUCCESS"}


def test_gradients_twice_and_of_batches():
    x = rand(3)
    assert ingot.autograd.gradcheck(sine, (x,)) and ingot.autograd.gradgradcheck(sine, (x,))
    batch = rand(4, 3)

    def f(x):
        return (sine(x, 2.0) * x).sum()

    meant = func.vmap(func.grad(lambda x: (x.sin() * 2 * x).sum()))(batch.detach())
    assert ingot.allclose(func.vmap(func.grad(f))(batch.detach()), meant)
    func.vmap(f)(batch).sum().backward()
    assert ingot.allclose(batch.grad, meant)
    assert ingot.allclose(func.vmap(lambda x: moments(x, power=2)[1])(batch.detach()), batch.detach().sum(1))


def test_a_rule_for_batches_gets_them_whole():
    seen = []

    @library.custom_op("tried::plus", mutates_args=())
    def plus(x: Tensor, y: Tensor, n: int) -> Tensor:
        return ingot.tensor(x.numpy() + y.numpy() * n)

    @library.register_vmap("tried::plus")
    def rule(info, in_dims, x, y, n):
        seen.append((info.batch_size, in_dims, x.shape, y.shape))
        return plus(x.movedim(in_dims[0], 0), y, n), 0

    x, y = rand(3, 4, grad=False), rand(3, seed=1, grad=False)
    got = func.vmap(plus, in_dims=(1, None, None))(x, y, 2)
    assert got.tolist() == (x.T + y * 2).tolist() and seen == [(4, (0, None, None), (4, 3), (3,))]


# Writing.

@library.custom_op("tried::fill", mutates_args={"out"})
def fill(x: Tensor, out: Tensor) -> None:
    out.numpy()[...] = x.numpy() + 1


LIB.define("bump_(Tensor(a!) x, float by) -> Tensor(a!)")
LIB.impl("bump_", lambda x, by: x.add_(by), "CompositeExplicitAutograd")
LIB.define("log_into(Tensor x, Tensor(a!)[] logs) -> Tensor")
LIB.impl("log_into", lambda x, logs: sum(t.copy_(x.sum()) for t in logs) / 2 + x, "")


def through_views(x):
    y = x * 1
    part = y[1:]
    fill(part * 2, part)
    fill(y, y.view(2, 2).reshape(4).clone())
    return y + x


def passed_on(x):
    y = x * 2
    z = ingot.ops.tried.bump_(y, 3.0)
    assert z is y
    return z + y, ingot.ops.tried.bump_(x, 1.0)


def into_list(x):
    logs = [ingot.zeros(()), ingot.ones(())]
    out = ingot.ops.tried.log_into(x, logs)
    return out, logs[0] + logs[1], x


@pytest.mark.parametrize("f", [through_views, passed_on, into_list])
def test_what_an_operator_writes_is_seen_eager_and_traced(f):
    traced = jit.trace(f)
    with ingot.no_grad():
        for seed in range(3):
            a, b = rand(4, seed=seed, grad=False), rand(4, seed=seed, grad=False)
            want, got = f(a), traced(b)
            assert [t.tolist() for t in (*want, a)] == [t.tolist() for t in (*got, b)]
    assert traced.stats()["compiles"] == 1


def test_writing_counts_for_gradients_and_shared_memory():
    x = rand(3)
    y = x * 1
    z = y * y
    with ingot.no_grad():
        fill(x, y)
    with pytest.raises(RuntimeError, match=r"tried::fill"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="no_grad"):
        fill(x, x * 1)
    with pytest.raises(jit.TraceError, match="share"):
        jit.trace(lambda t: fill(t, t[:]))(rand(3, grad=False))
    with pytest.raises(RuntimeError, match="batch"):
        func.vmap(lambda t: fill(t, t * 1))(rand(2, 3, grad=False))


# Schemas and registering.

def typed(x: Tensor, y: Tensor | None, n: int = 3, *, eps: float = 1e-5, w: list[Tensor], s: str = "a",
          d: ingot.dtype = ingot.float32, at: ingot.device | None = None) -> tuple[Tensor, Tensor]:
    raise NotImplementedError


def numbers(x: Sequence[int], y: list[float], z: int | float | bool, k: list[int] | None = None,
            xs: list[Tensor | None] | None = None) -> list[Tensor]:
    raise NotImplementedError


@pytest.mark.parametrize("function, written, text", [
    (typed, (), '(Tensor x, Tensor? y, SymInt n=3, *, float eps=1e-05, Tensor[] w, str s="a", ScalarType d=float32, '
                'Device? at=None) -> (Tensor, Tensor)'),
    (typed, ("x", "w"), '(Tensor(a0!) x, Tensor? y, SymInt n=3, *, float eps=1e-05, Tensor(a4!)[] w, str s="a", '
                        'ScalarType d=float32, Device? at=None) -> (Tensor, Tensor)'),
    (numbers, "unknown", "(SymInt[] x, float[] y, Scalar z, SymInt[]? k=None, Tensor(a4!)?[]? xs=None) -> Tensor[]"),
    (numbers, (), "(SymInt[] x, float[] y, Scalar z, SymInt[]? k=None, Tensor?[]? xs=None) -> Tensor[]"),
])
def test_schemas_are_read_off_annotations(function, written, text):
    assert library.infer_schema(function, mutates_args=written) == text
    op = library.custom_op("tried::schemas", function, mutates_args=written)
    assert op._schema.text == text
    assert library.custom_op("tried::schemas", function, mutates_args=op._schema.written, schema=text)


def bare(x):
    return x


def mixed(x: dict) -> Tensor:
    raise NotImplementedError


def silent(x: Tensor):
    return x


@library.custom_op("tried::aliased", mutates_args=())
def aliased(x: Tensor) -> Tensor:
    return x[1:]


@library.custom_op("tried::odd", mutates_args=())
def odd(x: Tensor) -> Tensor:
    return 3


@library.custom_op("tried::sly", mutates_args=())
def sly(x: Tensor) -> Tensor:
    x.add_(1)
    return x * 2


@library.custom_op("tried::elsewhere", mutates_args=(), device_types="cuda")
def elsewhere(x: Tensor) -> Tensor:
    return x * 1


@pytest.mark.parametrize("call, words", [
    (lambda: library.custom_op("tried::bare", bare, mutates_args=()), "no annotation"),
    (lambda: library.custom_op("tried::mixed", mixed, mutates_args=()), "dict"),
    (lambda: library.custom_op("tried::silent", silent, mutates_args=()), "annotation for its result"),
    (lambda: library.custom_op("tried::typed", typed, mutates_args="z"), "does not take"),
    (lambda: library.custom_op("tried::typed", typed, mutates_args="n"), "only tensors"),
    (lambda: library.custom_op("typed", typed, mutates_args=()), "namespace::name"),
    (lambda: library.custom_op("aten::typed", typed, mutates_args=()), "namespace of your own"),
    (lambda: library.define("tried::alias", "(Tensor(a) x) -> Tensor(a)"), "views"),
    (lambda: LIB.define("cube(Tensor x) -> Tensor"), "already"),
    (lambda: LIB.define("cube Tensor"), "no schema"),
    (lambda: LIB.impl("cube", bare, "Sparse"), "no dispatch key"),
    (lambda: library.register_fake("tried::nothing", bare), "no operator"),
    (lambda: ingot.ops.tried.nothing, "no operator tried::nothing"),
    (lambda: ingot.ops.load_library("x.so"), "custom_op"),
    (lambda: fill.register_autograd(bare), "write"),
    (lambda: sine(), "missing"),
    (lambda: sine(3.0), "argument x is float"),
    (lambda: sine(ingot.ones(1), ingot.ones(1)), "argument n is Tensor"),
    (lambda: aliased(ingot.ones(3)), "view"),
    (lambda: odd(ingot.ones(3)), "returned int"),
    (lambda: elsewhere(ingot.ones(3)), "no kernel for tensors on cpu"),
    (lambda: library.opcheck(sly, (ingot.ones(3),), test_utils="test_schema"), "wrote its argument x"),
    (lambda: library.opcheck(sly, (ingot.ones(3),), test_utils="test_faketensor"), "no function for shapes"),
    (lambda: library.opcheck(sly, (rand(3),), test_utils="test_autograd_registration"), "no rule"),
    (lambda: library.opcheck(sly, (), test_utils="test_all"), "among"),
    (lambda: library.get_ctx(), "while they run"),
    (lambda: sly(rand(3)).sum().backward(), "no rule for gradients"),
    (lambda: jit.export(lambda x: sine(x), (ingot.ones(3),), "never.ingot"), "sine|host"),
])
def test_errors_name_the_fault(call, words):
    with pytest.raises((ingot.IngotError, TypeError, AttributeError, OSError), match=words):
        call()


def test_a_function_for_autocast_stands_before_all_others():
    low = library.Library("lowered", "DEF")
    low.define("twice(Tensor x) -> Tensor")
    low.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    keys = ingot._C.DispatchKeySet(ingot._C.DispatchKey.AutocastCPU)

    def cast(x):
        with ingot._C._ExcludeDispatchKeyGuard(keys):
            return ingot.ops.lowered.twice(x.bfloat16())

    low.impl("twice", cast, "AutocastCPU")
    low.impl("twice", bare, "AutocastCUDA")
    assert ingot.ops.lowered.twice(ingot.ones(2)).dtype is ingot.float32
    with ingot.autocast("cpu"):
        assert ingot.ops.lowered.twice(ingot.ones(2)).dtype is ingot.bfloat16
    low._destroy()


def test_checks_return_errors_and_functions_for_shapes_may_know_no_sizes():
    @library.custom_op("tried::positive", mutates_args=())
    def positive(x: Tensor) -> Tensor:
        return ingot.tensor(x.numpy()[x.numpy() > 0])

    positive.register_fake(lambda x: x.new_empty(library.get_ctx().new_dynamic_size()))
    x = rand(5, grad=False)
    assert library.opcheck(positive, (x,), test_utils="test_faketensor") == {"test_faketensor": "SUCCESS"}
    positive.register_fake(lambda x: ingot.empty_like(x, dtype=ingot.int64))
    found = library.opcheck(positive, (x,), raise_exception=False)
    assert "int64" in str(found["test_faketensor"]) and found["test_schema"] == "SUCCESS"


def test_kernels_may_change_and_autocast_casts():
    @library.custom_op("tried::named", mutates_args=())
    def named(x: Tensor) -> Tensor:
        return x * 1

    traced = jit.trace(lambda x: named(x))
    x = rand(2, grad=False).float()
    assert traced(x).tolist() == x.tolist()
    named.register_kernel("cpu")(lambda x: x * 2)
    assert traced(x).tolist() == named(x).tolist() == (x * 2).tolist()
    library.register_autocast(named, "cpu", ingot.bfloat16)
    with ingot.autocast("cpu"):
        assert named(x).dtype is ingot.bfloat16
    assert named(x).dtype is ingot.float32


def test_a_library_takes_away_what_it_defined():
    lib = library.Library("passing", "DEF")
    assert lib.define("one(Tensor x) -> Tensor") == "one" and lib.define("one.again(Tensor x, int n) -> Tensor")
    lib.impl("one.again", lambda x, n: x * n, "CPU")
    assert ingot.ops.passing.one.again(ingot.ones(1), 3).item() == 3.0
    assert ingot.ops.passing.one.overloads() == ["default", "again"] and dir(ingot.ops.passing) == ["one"]
    lib._destroy()
    assert not hasattr(ingot.ops.passing, "one")


@pytest.mark.parametrize("tags, stored", [
    ((), []), (None, []), (ingot.Tag.core, [ingot.Tag.core]),
    ((ingot.Tag.needs_fixed_stride_order, ingot.Tag.out), [ingot.Tag.needs_fixed_stride_order, ingot.Tag.out])])
def test_tags_are_stored(tags, stored):
    name = f"tagged::f{len(stored)}{tags is None}"
    op = library.custom_op(name, lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor", tags=tags)
    assert op.tags == [*stored, ingot.Tag.pt2_compliant_tag] and op(ingot.ones(2)).tolist() == [1, 1]
    library.define(f"{name}_defined", "(Tensor x) -> Tensor", tags=tags or ())
    lib = library.Library(name.replace("::", "_"), "DEF")
    lib.define("g(Tensor x) -> Tensor", tags=tags or ())
    assert getattr(ingot.ops.tagged, f"{name[8:]}_defined").default.tags == getattr(ingot.ops, lib.ns).g.tags == stored
    for wrong in ("core", 3, ["core"]):
        with pytest.raises(TypeError, match="takes tags of"):
            library.define(f"{name}_wrong", "(Tensor x) -> Tensor", tags=wrong)


@library.custom_op("tried::squared", mutates_args=())
def squared(x: Tensor) -> Tensor:
    return x * x


squared.register_autograd(lambda ctx, g: 2 * g * ctx.saved_tensors[0],
                          setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))


@library.custom_op("tried::count", mutates_args=("seen",))
def counted(seen: Tensor, x: Tensor) -> Tensor:
    seen += 1
    return x + 1


class Momentum(ingot.optim.Optimizer):
    """An optimizer with a step counter of Python."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        with ingot.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["n"], state["mean"] = 0, ingot.zeros_like(p)
                    state["n"] += 1
                    state["mean"].mul_(0.9).add_(p.grad, alpha=0.1)
                    p.add_(state["mean"] / (1 - 0.9 ** state["n"]), alpha=-group["lr"])


@pytest.mark.parametrize("scheduled", [False, True])
def test_numbers_that_change_beside_an_operator_cost_few_recordings(scheduled):
    def life(wrap):
        ingot.manual_seed(0)
        net, seen = ingot.nn.Linear(4, 4), ingot.zeros(1)
        opt = Momentum(net.parameters(), 0.01)
        schedule = ingot.optim.lr_scheduler.CosineAnnealingLR(opt, 50)

        def step(x):
            loss = squared(net(counted(seen, x))).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if scheduled:
                schedule.step()
            return loss
        step = wrap(step)
        losses = [step(ingot.randn(2, 4)).item() for _ in range(30)]
        return losses, seen.item(), step
    *got, step = life(jit.trace)
    *want, _ = life(lambda f: f)
    assert got == [pytest.approx(want[0], rel=1e-5), want[1]]
    assert step.stats()["compiles"] <= 4 and step.stats()["unrecorded"] == 0, step.stats()["misses"]
