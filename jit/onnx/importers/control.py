"""Importers of ONNX control flow. Python decides, as in a traced function; bodies are programs of their own."""

from functools import partial

import numpy as np

from ....ir.errors import FileError
from ....runtime.core.tensor import Tensor
from .registry import ing, onnx_op, onnx_ops, to_host, to_tensor, whole_axis

MOST_TURNS = 1 << 62


def _truth(x) -> bool:
    return bool(np.asarray(to_host(x)).reshape(-1)[0])


@onnx_op("If", raw=True)
def _branch(call, condition):
    branches = [partial(call.graphs[name].run, [], call.scope) for name in ("then_branch", "else_branch")]
    if isinstance(condition, Tensor):
        return tuple(ing.cond(condition, *branches))
    return tuple(branches[not _truth(condition)]())


@onnx_op("Loop", raw=True)
def _loop(call, most=None, condition=None, *carried):
    body = call.graphs["body"]
    turns = MOST_TURNS if most is None else int(np.asarray(to_host(most)).reshape(-1)[0])
    going = condition is None or _truth(condition)
    state, outputs, turn = list(carried), [], 0
    while going and turn < turns:
        found = body.run([np.array(turn, np.int64), np.array(True), *state], call.scope)
        going = _truth(found[0])
        state = found[1:1 + len(carried)]
        outputs.append(found[1 + len(carried):])
        turn += 1
    scans = len(body.outputs) - 1 - len(carried)
    if scans and not outputs:
        raise FileError(f"a Loop of graph {body.name!r} makes no turn, so the shape of what it collects is unknown")
    return (*state, *[ing.stack([to_tensor(o[i]) for o in outputs]) for i in range(scans)])


@onnx_op("Scan", since=9, raw=True)
def scan(call, *inputs):
    """Run a graph over slices of its inputs."""
    body, count = call.graphs["body"], call.need("num_scan_inputs")
    if not 0 < count <= len(inputs):
        raise FileError(f"num_scan_inputs of a Scan of graph {body.name!r} is {count}, and the node has {len(inputs)} inputs")
    states = list(inputs[:len(inputs) - count])
    sequences = [to_tensor(x) for x in inputs[len(inputs) - count:]]
    axes = call.get("scan_input_axes") or [0] * count
    backwards = call.get("scan_input_directions") or [0] * count
    axes = [whole_axis(a, x.ndim) for a, x in zip(axes, sequences)]
    length, outputs = sequences[0].shape[axes[0]], []
    for t in range(length):
        slices = [x.select(a, length - 1 - t if back else t) for x, a, back in zip(sequences, axes, backwards)]
        found = body.run([*states, *slices], call.scope)
        states, made = found[:len(states)], found[len(states):]
        outputs.append(made)
    if length:
        return (*states, *_collected(call, outputs))
    blank = [ing.zeros([n for i, n in enumerate(x.shape) if i != a], dtype=x.dtype) for x, a in zip(sequences, axes)]
    once = [body.run([*states, *blank], call.scope)[len(states):]]      # results of one turn, for their shapes
    return (*states, *[y.narrow(a, 0, 0) for y, a in zip(_collected(call, once), _output_axes(call, once))])


def _output_axes(call, outputs):
    axes = call.get("scan_output_axes") or [0] * len(outputs[0])
    return [whole_axis(a, len(x.shape) + 1) for a, x in zip(axes, outputs[0])]


def _collected(call, outputs):
    """Yield each result of the turns, stacked along its axis in its order."""
    count = len(outputs[0])
    axes, backwards = _output_axes(call, outputs), call.get("scan_output_directions") or [0] * count
    for i in range(count):
        parts = [to_tensor(o[i]) for o in outputs]
        yield ing.stack(parts[::-1] if backwards[i] else parts, axes[i])


# Optional values and lists of tensors.


@onnx_op("OptionalGetElement", raw=True)
def _optional_element(call, x=None):
    if x is None:
        raise FileError("operator OptionalGetElement got nothing")
    return x


def _place(position, count):
    at = int(np.asarray(to_host(position)).reshape(-1)[0])
    return at + count if at < 0 else at


@onnx_op("SequenceInsert", raw=True)
def _sequence_insert(call, xs, x, position=None):
    at = len(xs) if position is None else _place(position, len(xs))
    return [*xs[:at], to_tensor(x), *xs[at:]]


@onnx_op("SequenceErase", raw=True)
def _sequence_erase(call, xs, position=None):
    at = len(xs) - 1 if position is None else _place(position, len(xs))
    return [*xs[:at], *xs[at + 1:]]


@onnx_op("SplitToSequence", raw=True)
def _sequence_split(call, x, sizes=None):
    x = to_tensor(x)
    axis = whole_axis(call.get("axis", 0), x.ndim)
    n = x.shape[axis]
    if sizes is None:
        parts = [x.narrow(axis, i, 1) for i in range(n)]
        return parts if call.get("keepdims", 1) else [p.squeeze(axis) for p in parts]
    given = np.asarray(to_host(sizes))
    each = int(given.reshape(-1)[0])
    counts = [int(v) for v in given] if given.ndim else [min(each, n - i) for i in range(0, n, each)]
    starts = np.cumsum([0, *counts])
    return [x.narrow(axis, int(s), c) for s, c in zip(starts, counts)]


onnx_ops({
    "Optional": lambda call, x=None: x,
    "OptionalHasElement": lambda call, x=None: np.array(x is not None),
    "SequenceEmpty": lambda call: [],
    "SequenceConstruct": lambda call, *xs: [to_tensor(x) for x in xs],
    "SequenceAt": lambda call, xs, position: xs[_place(position, len(xs))],
    "SequenceLength": lambda call, xs: np.array(len(xs), np.int64),
    "ConcatFromSequence":
        lambda call, xs: ing.stack(xs, call.need("axis")) if call.get("new_axis", 0) else ing.cat(xs, call.need("axis")),
}, raw=True)
