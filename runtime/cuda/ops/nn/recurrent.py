"""Recurrent layers on a device: one launch a time step (`triton/sequence/recurrent.py`), and one more for a projection.

Launches enter the stream without waiting, so a traced step has them all in one CUDA graph.
"""

from dataclasses import dataclass, replace
from typing import Any

from .....ir import dtype as dt
from .....ir.graph.graph import Builder
from .....ir.opdef.aval import Aval
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core.reduce import sum_
from .....ir.ops.core.shape import expand, full, permute, reshape, slice_
from .....ir.ops.linalg.products import matmul
from .....ir.ops.nn import recurrent as rc
from .....ir.ops.nn.recurrent import plus
from .....passes import pipelines
from .....passes.codegen.recurrent_cells import CELLS
from .....passes.codegen.triton.ir.source import NUMBER, POINTER
from .....passes.codegen.triton.sequence import recurrent as text
from .....passes.rewrite import pass_manager
from ....core.device_array import DeviceArray
from ...compiler import copies, precision
from ...compiler.kernels import prepared
from ...driver import context as contexts
from ...driver import streams
from ...driver.driver_state import driver_lru_cache
from ...graph.eager import contiguous, run, run_into
from ...graph.program import DeviceGraph
from ...memory.arrays import empty, used


def _aval(x):
    return None if x is None else Aval(tuple(map(int, x.shape)), dt.from_numpy(x.dtype))


@driver_lru_cache(512)
def _graph(make, avals, params) -> DeviceGraph:
    """Return the graph of `make(*values, **params)`, ready to run; avals may be None."""
    b = Builder(make.__name__.strip("_"))
    values = [a if a is None else b.input(f"x{i}", a) for i, a in enumerate(avals)]
    return DeviceGraph(pass_manager.run(b.finish(make(*values, **dict(params))), pipelines.PIPELINE), run_into)


def _computed(make, arrays, params=(), destinations=()) -> list:
    """Return the results of a graph on arrays; results with an array in `destinations` are written there."""
    graph = _graph(make, tuple([_aval(a) for a in arrays]), tuple(params))
    there = {v: p for v, p in zip(graph.graph.outputs, destinations) if p is not None}
    results = graph.run([a for a in arrays if a is not None], there)
    for i, p in enumerate(destinations):
        if p is not None and results[i] is not p:
            copies.write(p, results[i])
            results[i] = p
    return results


def _at(x, t):
    return None if x is None else x.look(x.shape[1:], x.strides[1:], t * x.strides[0])


def _fits(inputs) -> bool:
    there = [x for x in inputs if x is not None]
    return all(isinstance(x, DeviceArray) and x.size for x in there)


def _plain(xs) -> list[Any]:
    return [None if x is None else contiguous(x) for x in xs]


# Forward steps.


@dataclass(frozen=True)
class Layer:
    """Arrays of a layer by their names in kernels; None for missing ones."""

    name: str
    arrays: dict
    reverse: bool

    @property
    def kind(self) -> dt.DType:
        return dt.from_numpy(self.arrays["w"].dtype)

    @property
    def projected(self) -> bool:
        return self.arrays.get("w_hr") is not None

    @property
    def turns(self) -> list:
        """(step, step before, step after) in reading order; -1 for none."""
        order = range(len(self.arrays["y"]))[::-1 if self.reverse else 1]
        return list(zip(order, [-1, *order], [*order[1:], -1]))

    def how(self, batch, **more) -> text.Step:
        kind, products = self.kind, precision.of_recurrent()
        products = products if kind is dt.float32 else "ieee"
        return text.Step(self.name, kind, products, self.arrays["mask"] is not None, self.projected,
                         form=text.form_of(kind, products, batch), **more)


def _stepper(source, how, gates, arrays, sizes):
    """Return a function that launches a step (step, step before, step after); `sizes` are (batch, hidden, depth)."""
    given = [arrays[p.name] for p in source.parameters if p.kind == POINTER]
    device = given[0].device
    stream = streams.current(device).handle
    tile, warps, stages = text.tiles(how, gates, sizes, contexts.context(device).processors)
    launch = tuple(zip(text.TILE, tile)), warps, text.grid(tile, *sizes[:2])
    made = prepared(source, given, dict(zip(text.SIZES, sizes)), launch, stages)
    addresses = [used(a, stream) for a in given]
    wanted = [text.STEPS.index(p.name) for p in source.parameters if p.kind == NUMBER]
    return lambda *turn: made(device, stream, [*addresses, *[turn[i] for i in wanted]], {})


def _project(hidden, mask, before, w_hr):
    """Return the projected state, or the state before for masked steps."""
    made = matmul(hidden, permute(w_hr, dims=(1, 0)))
    return (made if mask is None else ew.where(_spread(mask, made), made, before),)


def _spread(mask, like):
    return expand(reshape(mask, shape=(*mask.shape, 1)), shape=like.shape)


def _forward(layer: Layer, keeps=True):
    cell, arrays = CELLS[layer.name], dict(layer.arrays)
    z, h, y = arrays["z"], arrays["h"], arrays["y"]
    batch, hidden, depth = z.shape[1], z.shape[2] // cell.gates, h.shape[1]
    if layer.projected:
        arrays["hidden"] = empty(z.device, (batch, hidden), z.dtype)
    how = layer.how(batch, keeps=keeps, biased=arrays.get("bias") is not None)
    if text.pays_to_transpose(how.kind, how.precision, (batch, hidden, depth), cell.gates, len(y)):
        w = arrays["w"]
        how, arrays["w"] = replace(how, transposed=True), contiguous(w.transpose(1, 0))
    if how.hands:
        arrays["exact"] = empty(z.device, (batch, hidden), how.wide.np)
    step = _stepper(text.forward(how), how, cell.gates, arrays, (batch, hidden, depth))
    for turn in layer.turns:
        step(*turn)
        if layer.projected:
            t, before, _ = turn
            old = None if arrays["mask"] is None else h if before < 0 else _at(y, before)
            _computed(_project, [arrays["hidden"], _at(arrays["mask"], t), old, arrays["w_hr"]], (), [_at(y, t)])


def _results(op, inputs, params, device) -> list:
    found = op.infer(*[_aval(x) for x in inputs], **params)
    return [empty(device, a.shape, a.dtype.np) for a in (found if type(found) is tuple else (found,))]


def _layers(op, names, results, cell=None, keeps=True):
    """Return the runner of an operator with these names of operands and results."""

    def run_forward(inputs, params, device):
        if not _fits(inputs):
            return NotImplemented
        inputs = _plain(inputs)
        outs = _results(op, inputs, params, device)
        arrays = dict(zip((*names, *results), (*inputs, *outs)))
        _forward(Layer(cell or f"rnn_{params['activation']}", arrays, params["reverse"]), keeps)
        return tuple(outs) if len(outs) > 1 else outs[0]

    return run_forward


# Backward steps.


def _backward(layer: Layer) -> tuple:
    """Return (dz, da, dh, dc, gradients of projected states) of all steps and of the first states."""
    cell, arrays, projected = CELLS[layer.name], dict(layer.arrays), layer.projected
    h, w = arrays["h"], arrays["w"]
    batch, hidden = h.shape[0], w.shape[0] // cell.gates
    device, turns = h.device, layer.turns
    given = () if projected else tuple(n for n in ("gy",) if arrays[n] is not None)
    how = layer.how(batch, given=(*given, *[n for n in ("gc", "gg") if arrays.get(n) is not None]))
    arrays["dz"] = empty(device, (len(turns), batch, w.shape[0]), h.dtype)
    arrays["da"] = empty(device, arrays["dz"].shape, h.dtype) if cell.apart else arrays["dz"]
    arrays["dc"] = empty(device, (batch, hidden), how.wide.np) if cell.has_cells else None
    arrays["dh"] = empty(device, (batch, hidden), how.wide.np) if how.passes else None
    arrays["dy"] = empty(device, (len(turns), *h.shape), h.dtype) if projected else None
    if projected:
        step = _stepper(text.backward(how), how, 0, arrays | {"w": arrays["w_hr"]}, (batch, hidden, h.shape[1]))
    else:
        step = _stepper(text.backward(how), how, 0, arrays, (batch, hidden, w.shape[0]))
    past = arrays["dh"]
    for t, before, after in turns[::-1]:
        if projected:
            slopes = None if after < 0 else _at(arrays["da"], after)
            found = _computed(_arrived, [_at(arrays["gy"], t), slopes, w, past, _at(arrays["mask"], t)], [("batch", batch)],
                              [_at(arrays["dy"], t)])
            past = found[1] if len(found) > 1 else None
        step(t, before, after)
    dh, = _computed(_before_all, [_at(arrays["da"], turns[0][0]), w, past])
    dc = arrays["dc"]
    if dc is not None and dc.dtype != h.dtype:
        dc = run(ew.cast, (dc,), {"dtype": layer.kind})
    return arrays["dz"], arrays["da"], dh, dc, arrays["dy"]


def _arrived(gy, slopes, w, past, mask, *, batch):
    """Return the gradient of a projected state into its step, and the one that bypasses it."""
    whole = plus(plus(gy, None if slopes is None else matmul(slopes, w)), past)
    whole = full(w, shape=(batch, w.shape[1]), value=0, dtype=w.dtype) if whole is None else whole
    if mask is None:
        return (whole,)
    live = _spread(mask, whole)
    return ew.where(live, whole, 0.0), ew.where(live, 0.0, whole)


def _before_all(slopes, w, past):
    made = matmul(slopes, w)
    if past is None:
        return (made,)
    wide = past.dtype
    found = ew.add(made if made.dtype is wide else ew.cast(made, dtype=wide), past)
    return (found if made.dtype is wide else ew.cast(found, dtype=made.dtype),)


def _weights(slopes, before, *, biased=False):
    """Return the gradients of weights, from (T, B, out) and (T, B, in), and of a bias."""
    rows = slopes.shape[0] * slopes.shape[1]
    across = permute(reshape(slopes, shape=(rows, slopes.shape[2])), dims=(1, 0))
    found = matmul(across, reshape(before, shape=(rows, before.shape[2])))
    return (found, *((sum_(slopes, dim=(0, 1), keepdim=False),) if biased else ()))


def _projection_weights(dy, gates, cells):
    hidden = cells.shape[2]
    out = slice_(gates, dim=2, start=3 * hidden, stop=4 * hidden, step=1)
    return _weights(dy, ew.mul(out, ew.tanh(cells)))


def _before(states, start, reverse):
    made = empty(states.device, states.shape, states.dtype)
    steps, size = len(states), states.strides[0]
    rest = (steps - 1, *states.shape[1:])
    if steps > 1:
        copies.write(made.look(rest, made.strides, 0 if reverse else size), states.look(rest, states.strides, size * reverse))
    copies.write(_at(made, steps - 1 if reverse else 0), start)
    return made


def _gradients(names, cell=None):
    """Return the runner of a gradient with these names of operands: of the input, the first states, the weights, and what else
    the layer has: the bias, or the projection."""

    def run_backward(inputs, params, device):
        if not _fits(inputs):
            return NotImplemented
        arrays = dict(zip(names, _plain(inputs)))
        dz, da, dh, dc, dy = _backward(Layer(cell or f"rnn_{params['activation']}", arrays, params["reverse"]))
        before, is_biased = _before(arrays["y"], arrays["h"], params["reverse"]), arrays.get("bias") is not None
        states = (dh,) if dc is None else (dh, dc)
        projection = [] if dy is None else _computed(_projection_weights, [dy, arrays["gates"], arrays["cells"]])
        return dz, *states, *_computed(_weights, [da, before], [("biased", is_biased)]), *projection

    return run_backward


_LSTM, _GRU = ("z", "mask", "h", "c", "w", "w_hr"), ("z", "mask", "h", "w", "bias")
OPERATORS = {
    rc.rnn_sequence: _layers(rc.rnn_sequence, ("z", "mask", "h", "w"), ("y",)),
    rc.lstm_sequence: _layers(rc.lstm_sequence, _LSTM, ("y", "cells", "gates"), "lstm"),
    rc.lstm_states: _layers(rc.lstm_states, _LSTM, ("y", "cells"), "lstm", False),
    rc.gru_sequence: _layers(rc.gru_sequence, _GRU, ("y", "gates"), "gru"),
    rc.gru_states: _layers(rc.gru_states, _GRU, ("y",), "gru", False),
    rc.rnn_sequence_grad: _gradients(("gy", "y", "mask", "h", "w")),
    rc.lstm_sequence_grad: _gradients(("gy", "gc", "gg", "y", "cells", "gates", "mask", "h", "c", "w", "w_hr"), "lstm"),
    rc.gru_sequence_grad: _gradients(("gy", "gg", "y", "gates", "mask", "h", "w", "bias"), "gru")}
