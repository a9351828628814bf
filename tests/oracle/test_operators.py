"""Every operator has rows, and its parameters vary over them."""

import inspect
from collections import defaultdict

import numpy as np
import pytest

import ingot
from ingot.ir.op import OPS
from ingot.ir.ops import load_all
from oracle import comparing, files
from oracle.kinds import KINDS
from oracle.row import Leaf
from oracle.test_oracle import fresh

# Operators, and parameters ("operator.parameter"), that PyTorch's results say nothing of.
NOT_COMPARED = {
    "uniform": "each result is a draw",
    "normal": "each result is a draw",
    "standard_gamma": "each result is a draw; `gamma_slope` is its gradient",
    "host_call": "the user's own function",
    "place.device": "a machine without accelerators has one device",
    "place.source": "a machine without accelerators has one device",
    "pack_filters.size": "the kernel says how long its weight is (`oracle/packed.py`)",
    "pack_turned.elements": "the kernel says how long its weight is (`oracle/packed.py`)",
    "pack_recurrent.size": "the kernel says how long its weight is (`oracle/packed.py`)",
}
load_all()
ROWS = files.read(files.FOLDER / "operators.xz")[1]


def calls() -> dict:
    """Return {operator: its calls (arguments, parameters) in all rows}."""
    found = defaultdict(list)
    for row in ROWS:
        if row.kind == "operator":
            found[row.target] += [(row.args, row.kwargs), *row.options.get("more", ())]
    return found


def parameters(op) -> set:
    """Return the parameters of an operator: what its shape rule, its reference or its body takes by name."""
    functions = [f for f in (op.infer, op.ref, getattr(op.lower, "body", None)) if inspect.isroutine(f)]
    named = [p for f in functions for p in inspect.signature(f).parameters.values() if p.kind is p.KEYWORD_ONLY
             and not callable(p.default)]
    return {p.name for p in named} | op.numbers


CALLS = calls()


@pytest.mark.parametrize("name", sorted(OPS))
def test_operators_are_compared_twice_with_other_parameters_and_shapes(name):
    if name in NOT_COMPARED:
        assert name not in CALLS
        return
    found = CALLS[name]
    assert len(found) >= 2 and sum(row.target == name for row in ROWS) >= 2, "two rows"
    for parameter in parameters(OPS[name]):
        values = {repr(params.get(parameter)) for _, params in found}
        assert len(values) >= 2 or f"{name}.{parameter}" in NOT_COMPARED, f"{parameter} is always {values}"
    shapes = {tuple([np.shape(a.array if isinstance(a, Leaf) else a) for a in args]) for args, _ in found}
    assert len(shapes) >= 2 or "random" in OPS[name].traits, "shapes"          # a key has two numbers
    if OPS[name].differentiable and name not in WITHOUT_GRADIENT:
        assert any(isinstance(a, Leaf) for args, _ in found for a in args), "gradients"


# Operators with a rule that no row differentiates.
WITHOUT_GRADIENT = {
    "constant": "it has no arguments",
    "ctc_loss_grad": "it has no second derivative",
}


def test_exceptions_are_few_and_known():
    assert len(NOT_COMPARED) + len(WITHOUT_GRADIENT) < 15
    assert {name.split(".")[0] for name in (*NOT_COMPARED, *WITHOUT_GRADIENT)} <= OPS.keys()


PROGRAMS = [row for row in ROWS if row.kind == "program"]


@pytest.mark.parametrize("row", PROGRAMS, ids=[row.target for row in PROGRAMS])
def test_compiled_graphs_hold_the_operators_that_passes_make(row):
    made = []

    def wrap(body, **_):
        made.append(ingot.jit.trace(body))

        def call(*tensors):
            made[0](*map(fresh, tensors))
            return made[0](*tensors)

        return call

    found = {k: comparing.as_plain(ingot, v) for k, v in KINDS["program"](ingot, row, wrap).items()}
    assert not comparing.differences(row, found, row.results)
    there = {node.op.name for job in made[0]._jobs() for node in job.steps[-1].graph.nodes}
    assert set(row.options["holds"]) <= there, sorted(there)
