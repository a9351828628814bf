"""Gradients that a traced function sets, and gradients of all kinds that it finds on leaves."""

import itertools

import pytest

import ingot
from ingot import Tensor, jit
from ingot.ir.errors import IngotError

rows: ingot.Tensor


def the_same(w, v):
    w.grad = w.grad


def of_another(w, v):
    v.grad = w.grad


def swapped(w, v):
    w.grad, v.grad = v.grad, w.grad


def detached(w, v):
    w.grad = w.grad.detach()


def detached_of_another(w, v):
    v.grad = w.grad.detach()


def view_of_another(w, v):
    v.grad = w.grad.view(2, 2)


def turned(w, v):
    v.grad = w.grad.t()


def data_of_another(w, v):
    v.grad = w.grad.data


def copied(w, v):
    v.grad = w.grad.clone()


def scaled(w, v):
    v.grad = w.grad * 2


def one_for_both(w, v):
    w.grad = v.grad = w.grad * 2


def one_memory_for_both(w, v):
    w.grad = w.grad * 2
    v.grad = w.grad.view(2, 2)


def moved(w, v):
    v.grad, w.grad = w.grad, None


def values_of_the_leaf(w, v):
    w.grad = w.data


def set_and_written(w, v):
    v.grad = w.grad
    v.grad.mul_(2)


def written_and_set(w, v):
    w.grad.mul_(2)
    v.grad = w.grad


def from_outside(w, v):
    v.grad = rows[1]
    v.grad.add_(1)


def repeated_from_outside(w, v):
    v.grad = rows[0, :, :1].expand(2, 2)


def from_outside_and_more(w, v):
    w.grad = rows[0]
    (w * v).sum().backward()


def with_history(w, v):
    w.grad = v * 2


def the_other_leaf(w, v):
    w.grad = v


def differentiable(w, v):
    (w * w * v).sum().backward(create_graph=True)


def put_aside(w, v):
    kept, w.grad = w.grad, None
    (w * v).sum().backward()
    w.grad = kept


def put_aside_and_added(w, v):
    kept, w.grad = w.grad, None
    (w * v).sum().backward()
    w.grad = kept.add_(w.grad)


def by_name(w, v):
    setattr(v, "grad", w.grad * 2)  # noqa: B010
    Tensor.__setattr__(w, "grad", None)


def switched_by_name(w, v):
    setattr(w, "requires_grad", False)  # noqa: B010
    setattr(v, "data", w.data * 2)  # noqa: B010
    w.requires_grad = True


SETS = (the_same, of_another, swapped, detached, detached_of_another, view_of_another, turned, data_of_another, copied, scaled,
        one_for_both, one_memory_for_both, moved, values_of_the_leaf, set_and_written, written_and_set, from_outside,
        repeated_from_outside, from_outside_and_more, with_history, the_other_leaf, differentiable, put_aside,
        put_aside_and_added, by_name, switched_by_name)


def seen(t, known) -> tuple:
    """All that can be seen of a gradient; `known` numbers the tensors met so far."""
    if t is None:
        return ()
    number, _ = known.setdefault(id(t), (len(known), t))
    place = t.untyped_storage().data_ptr()
    same_memory = [n for n, other in known.values() if other.untyped_storage().data_ptr() == place]
    return number, t.tolist(), t.stride(), t.requires_grad, t.is_leaf, t._version, t._base is None, same_memory


def leaf(*values):
    return ingot.tensor(values).reshape(2, 2).requires_grad_()


def life_of_sets(wrap, program, place, between):
    global rows
    rows = ingot.arange(8.0).reshape(2, 2, 2)
    w, v, found, known = leaf(1.0, 2.0, 3.0, 4.0), leaf(5.0, 7.0, 9.0, 2.0), [], {id(rows): (0, rows)}

    def renew():
        w.grad, v.grad = ingot.full((2, 2), 0.5), ingot.arange(4.0).reshape(2, 2)

    def step(x, *leaves):
        program(*leaves or (w, v))
        return x * 2

    renew()
    step = wrap(step)
    for _ in range(4):
        if between == "backward":
            (w * v).sum().backward()
        if between == "new ones" or w.grad is None:
            renew()
        step(ingot.ones(2), *((w, v) if place == "argument" else ()))
        found.append([seen(t.grad, known) for t in (w, v)])
    return found


@pytest.mark.parametrize("between", ["nothing", "backward", "new ones"])
@pytest.mark.parametrize("place", ["argument", "outside"])
@pytest.mark.parametrize("program", SETS, ids=lambda f: f.__name__)
def test_a_gradient_that_is_set_is_the_tensor_of_eager_mode(program, place, between):
    assert life_of_sets(jit.trace, program, place, between) == life_of_sets(lambda f: f, program, place, between)


above = ingot.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
KINDS = {
    "none": lambda: None,
    "row-major": lambda: ingot.arange(4.0).reshape(2, 2),
    "transposed": lambda: ingot.arange(4.0).reshape(2, 2).t(),
    "rows expanded": lambda: ingot.tensor([[1.0], [2.0]]).expand(2, 2),
    "number expanded": lambda: ingot.tensor(2.0).expand(2, 2),
    "history": lambda: (above * above).reshape(2, 2),
    "leaf": lambda: ingot.arange(4.0).reshape(2, 2).requires_grad_(),
    "gaps": lambda: ingot.arange(8.0).reshape(2, 4)[:, ::2],
    "view": lambda: ingot.arange(8.0)[4:].view(2, 2),
}
READS = {
    "accumulated": lambda w, x: (w * x).sum().backward(),
    "used": lambda w, x: w.grad * x,
    "used with the leaf": lambda w, x: (w.grad * w).sum(),
    "written": lambda w, x: [w.grad.mul_(2)].clear(),
    "cleared": lambda w, x: [w.grad.zero_()].clear(),
    "strides": lambda w, x: x * w.grad.stride()[0],
    "requires_grad": lambda w, x: x + w.grad.requires_grad,
    "differentiable": lambda w, x: (w * w * x).sum().backward(create_graph=True),
    "asked for": lambda w, x: x if w.grad is None else x * 2,
    "returned": lambda w, x: w.grad,
    "row": lambda w, x: w.grad[0],
    "detached": lambda w, x: w.grad.detach(),
    "scaled": lambda w, x: scaled(w, w),
}


def gradient_above(t, w) -> list:
    """Return the gradients of a backward from a tensor, once the leaf's own gradient is put aside."""
    if t is None or not t.requires_grad:
        return []
    kept, w.grad, above.grad = w.grad, None, None
    try:
        t.sum().backward(retain_graph=True)
        return [None if x is None else x.tolist() for x in (above.grad, w.grad)]
    except IngotError as error:
        return [type(error).__name__]
    finally:
        w.grad = kept


def life_of_kinds(wrap, program, kinds, place):
    w, found = leaf(1.0, 2.0, 3.0, 4.0), []

    def step(x, *leaves):
        return program(*leaves or (w,), x)

    step = wrap(step)
    for kind in kinds:
        known, w.grad = {}, KINDS[kind]()
        seen(w.grad, known)
        try:
            made = step(ingot.tensor([[1.0, 1.0], [2.0, 3.0]]), *((w,) if place == "argument" else ()))
        except jit.TraceError:
            raise
        except Exception as error:
            found.append((type(error).__name__, str(error)))
            continue
        found.append([(seen(t, known), gradient_above(t, w)) for t in (made, w.grad)])
    return found


@pytest.mark.drawn
@pytest.mark.parametrize("first, then", [*itertools.permutations(KINDS, 2)])
@pytest.mark.parametrize("place", ["argument", "outside"])
@pytest.mark.parametrize("name", READS)
def test_a_gradient_counts_by_its_kind(name, place, first, then):
    kinds = first, first, then, then, first
    try:
        found = life_of_kinds(jit.trace, READS[name], kinds, place)
    except jit.TraceError as error:
        assert "history" in (first, then) and "writes in place to a view from outside" in str(error)
    else:
        assert found == life_of_kinds(lambda f: f, READS[name], kinds, place)
