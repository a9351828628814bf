"""Every operator has rows, and its parameters vary over them."""

import inspect
from collections import defaultdict

import numpy as np
import pytest

import ingot
from ingot.ir.opdef.op import OPS
from ingot.ir.ops import load_all
from oracle import comparing, files, invariants, packed
from oracle.kinds import KINDS
from oracle.row import Leaf, fill, prepare
from oracle.tensors import flatten
from oracle.test_oracle import fresh

# Operators, and parameters ("operator.parameter"), that PyTorch's results say nothing of.
NOT_COMPARED = {
    "uniform": "each result is a draw",
    "normal": "each result is a draw",
    "standard_gamma": "each result is a draw; `gamma_slope` is its gradient",
    **dict.fromkeys(("unpack_weight", "linear_stored"), "PyTorch has none of these formats: "
                    "tests/ir/reference/test_weight_formats.py compares with a library that does"),
    "host_call": "the user's own function",
    "require": "PyTorch has such checks without a result",
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
    assert not differentiable(OPS[name], found) - {i for args, _ in found for i, a in enumerate(args) if isinstance(a, Leaf)}


def differentiable(op, calls) -> set:
    """Return the positions of arguments that have a gradient."""
    if not op.differentiable or op.name in WITHOUT_GRADIENT:
        return set()
    rules = op.vjp if isinstance(op.vjp, tuple) else (op.vjp,) * max(len(args) for args, _ in calls)
    held = HELD.get(op.name, ((), ""))[0]
    return {i for args, _ in calls for i, a in enumerate(args)
            if i not in held and i < len(rules) and rules[i] is not None and (isinstance(a, Leaf) or is_inexact(a))}


def is_inexact(a) -> bool:
    """Return whether an argument is an array of floats or complex numbers."""
    return isinstance(a, np.ndarray) and a.dtype.kind in "fc"


# Operators with a rule that no row differentiates.
WITHOUT_GRADIENT = {
    "constant": "it has no arguments",
    "ctc_loss_grad": "it has no second derivative",
}
# Arguments that no row differentiates: formulas cannot move them alone, since they are results of other arguments.
HELD = {
    "batch_norm_grad": ((3, 5, 6), "mean and variance are those of the input"),
    "lstm_sequence_grad": ((3, 4, 5, 7, 8, 10), "states, cells and gates are those of the forward pass"),
    "gru_sequence_grad": ((2, 3, 5, 6, 7), "states and gates are those of the forward pass"),
    "pinv_above": ((1, 2), "bounds have no gradient"),
}


def test_exceptions_are_few_and_known():
    assert len(NOT_COMPARED) < 15 > len(WITHOUT_GRADIENT) + len(HELD)
    assert {name.split(".")[0] for name in (*NOT_COMPARED, *WITHOUT_GRADIENT, *HELD)} <= set(OPS)


def reference_results(row) -> dict:
    """Return what the reference of a row's operator gives for numpy arrays, by place."""
    prepared, given = prepare(ingot, [(row.args, row.kwargs), *row.options.get("more", ())])
    transposed, only = row.options.get("turned", ()), row.options.get("only")
    arrays = [np.array(a.transpose() if i in transposed else a) for i, (a, _) in enumerate(given)]
    found = []
    for call in prepared:
        args, kwargs = fill(call, arrays)
        results = OPS[row.target].ref(*args, **kwargs)
        of_tensors = [r if (a := np.asarray(r)).dtype.kind == "V" else ingot.from_numpy(a.copy())
                      for r in (results if isinstance(results, tuple) else (results,))]
        results = tuple(of_tensors) if isinstance(results, tuple) else of_tensors[0]
        if row.target in invariants.TABLE:
            results = invariants.TABLE[row.target](ingot, results, args, kwargs)
        found.append(results if only is None else tuple([results[i] for i in only]))
    return flatten(ingot, found if len(found) > 1 else found[0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(CALLS.keys() - packed.CALLS.keys()))
def test_references_are_those_of_pytorch(name):
    wrong = []
    for row in ROWS:
        if row.kind != "operator" or row.target != name:
            continue
        with np.errstate(all="ignore"):
            found = reference_results(row).items()
        found = {k: v if isinstance(v, np.ndarray) else comparing.as_plain(ingot, v) for k, v in found}
        expected = {k: v for k, v in row.results.items() if k.startswith("out")}
        wrong += [f"{row.name}: {k}: {text}" for k, text in comparing.differences(row, found, expected).items()]
    assert not wrong, "\n".join(wrong)


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
