"""Functions without a gradient rule: backward through their results raises by name; all else is unchanged."""

import pytest

import ingot
from ingot import func, jit
from ingot.ir.errors import AutogradError

SQUARE = ingot.tensor([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]], dtype=ingot.float64)
ONES = ingot.ones(3, dtype=ingot.float64)
EDGES = ingot.tensor([0.0, 1.0, 2.0], dtype=ingot.float64)

# Functions of three numbers, by the name in the error.
CALLS = [
    ("unique", ingot.unique), ("unique", lambda x: ingot.unique(x, return_inverse=True)[0]),
    ("unique", lambda x: ingot.unique(x[:, None], dim=0, return_counts=True)[0]),
    ("unique_consecutive", ingot.unique_consecutive), ("unique_consecutive", lambda x: x.unique_consecutive(dim=0)),
    ("histogram", lambda x: ingot.histogram(x, 3)[0]),
    ("histogram", lambda x: ingot.histogram(x, EDGES, weight=ONES)[0]),
    ("histogramdd", lambda x: ingot.histogramdd(x[:, None], [3])[0]),
    ("ldl_factor", lambda x: ingot.linalg.ldl_factor(SQUARE + x.diag())[0]),
    ("ldl_factor", lambda x: ingot.linalg.ldl_factor_ex(SQUARE + x.diag())[0]),
    ("ldl_solve", lambda x: ingot.linalg.ldl_solve(*ingot.linalg.ldl_factor(SQUARE), x[:, None])),
    ("geqrf", lambda x: ingot.geqrf(SQUARE + x.diag())[1]),
    ("binomial", lambda x: ingot.binomial(ONES, x)), ("zeta", lambda x: ingot.special.zeta(x + 2, ONES)),
]
IDS = [f"{i} {name}" for i, (name, _) in enumerate(CALLS)]


def numbers(**kwargs):
    return ingot.tensor([0.25, 0.5, 0.75], dtype=ingot.float64, **kwargs)


@pytest.mark.parametrize(("name", "f"), CALLS, ids=IDS)
@pytest.mark.parametrize("way", ["backward", "grad", "beside", "func", "jvp", "traced"])
def test_gradients_through_them_are_refused(name, f, way):
    def run(x):
        return (f(x).sum() + x.sum()) if way == "beside" else f(x).sum()

    ways = {
        "backward": lambda x: run(x).backward(), "beside": lambda x: run(x).backward(),
        "grad": lambda x: ingot.autograd.grad(run(x), x),
        "func": lambda x: func.grad(run)(x.detach()), "jvp": lambda x: func.jvp(run, (x.detach(),), (x.detach(),)),
        "traced": lambda x: jit.trace(run)(x).backward(),
    }
    with pytest.raises(AutogradError, match=f"^{name} has no gradient rule"):
        ways[way](numbers(requires_grad=True))


@pytest.mark.parametrize(("name", "f"), CALLS, ids=IDS)
def test_values_are_those_without_gradients(name, f):
    found = []
    for x in (numbers(), numbers(requires_grad=True)):
        ingot.manual_seed(0)
        found.append(f(x))
    assert found[1].tolist() == found[0].tolist()
    assert not found[0].requires_grad and found[1].requires_grad
    with ingot.no_grad():
        assert not f(numbers(requires_grad=True)).requires_grad


def test_other_results_and_arguments_go_on_as_before():
    x = numbers(requires_grad=True)
    _, where, counts = ingot.unique(x, return_inverse=True, return_counts=True)
    assert not where.requires_grad and not counts.requires_grad
    ingot.histogram(ONES, EDGES, weight=x)[0].sum().backward()      # sums of weights have a rule
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_heaviside_takes_its_value_at_zero():
    x, v = ingot.tensor([-1.0, 0, 2], requires_grad=True), ingot.tensor([0.5, 0.25, 4], requires_grad=True)
    ingot.heaviside(x, v).sum().backward()
    assert x.grad.tolist() == [0, 0, 0] and v.grad.tolist() == [0, 1, 0]
