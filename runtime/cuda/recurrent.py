"""Recurrent layers on a device: one step is a graph of a product and fused kernels, run for one step after the other.

Every launch goes into the stream without waiting, so that in a traced step all of them are part of one CUDA graph. Gradients
of weights are products over all steps at once.
"""

import functools
from typing import Any

from ...ir import dtype as dt
from ...ir.aval import Aval
from ...ir.graph import Builder
from ...ir.ops import elementwise as ew
from ...ir.ops import recurrent as rc
from ...ir.ops.linalg import matmul
from ...ir.ops.reduce import sum_
from ...ir.ops.shape import cat, expand, permute, reshape, slice_
from ...passes import pipeline
from ...passes.kernel_body import LOW
from ..device_array import DeviceArray
from . import transfer
from .eager import contiguous, run, run_into
from .program import DeviceGraph, empty


def _wide(x):
    """Gates of 16-bit floats are computed in float32."""
    return ew.cast(x, dtype=dt.float32) if x.dtype in LOW else x


def _narrow(x, like):
    return x if x.dtype is like.dtype else ew.cast(x, dtype=like.dtype)


def _columns(x, parts):
    n = x.shape[1] // parts
    return [slice_(x, dim=1, start=i * n, stop=(i + 1) * n, step=1) for i in range(parts)]


def _carried(mask, new, old):
    """The new state where a step is real, else the one before."""
    if mask is None:
        return new
    return ew.where(expand(reshape(mask, shape=(*mask.shape, 1)), shape=new.shape), new, old)


def _through(x, weights):
    return matmul(x, permute(weights, dims=(1, 0)))


# One step of each layer: (z, mask, states, weights) -> (results of the step, of which the first are the states).


def _rnn_step(z, mask, h, w_hh, *, activation):
    a = ew.add(_wide(z), _wide(_through(h, w_hh)))
    return (_carried(mask, _narrow(ew.tanh(a) if activation == "tanh" else ew.maximum(a, 0.0), z), h),)


def _lstm_step(z, mask, h, c, w_hh, w_hr):
    i, f, g, o = _columns(ew.add(_wide(z), _wide(_through(h, w_hh))), 4)
    i, f, g, o = ew.sigmoid(i), ew.sigmoid(f), ew.tanh(g), ew.sigmoid(o)
    new_c = ew.add(ew.mul(f, _wide(c)), ew.mul(i, g))
    new_h = _narrow(ew.mul(o, ew.tanh(new_c)), z)
    new_h = new_h if w_hr is None else _through(new_h, w_hr)
    gates = cat(*[_narrow(x, z) for x in (i, f, g, o)], dim=1)
    return _carried(mask, new_h, h), _carried(mask, _narrow(new_c, z), c), gates


def _gru_step(z, mask, h, w_hh, b_hh):
    a = _wide(_through(h, w_hh))
    if b_hh is not None:
        a = ew.add(a, expand(reshape(_wide(b_hh), shape=(1, *b_hh.shape)), shape=a.shape))
    (zr, zu, zn), (ar, au, m) = _columns(_wide(z), 3), _columns(a, 3)
    r, u, old = ew.sigmoid(ew.add(zr, ar)), ew.sigmoid(ew.add(zu, au)), _wide(h)
    n = ew.tanh(ew.add(zn, ew.mul(r, m)))
    new = ew.add(n, ew.mul(u, ew.sub(old, n)))
    gates = cat(*[_narrow(x, z) for x in (r, u, n, m)], dim=1)
    return _carried(mask, _narrow(new, z), h), gates


_STEPS = {rc.rnn_sequence: (_rnn_step, 1), rc.lstm_sequence: (_lstm_step, 2), rc.gru_sequence: (_gru_step, 1)}


def _aval(x):
    return None if x is None else Aval(tuple(map(int, x.shape)), dt.from_numpy(x.dtype))


@functools.lru_cache(512)
def _graph(make, avals, params) -> DeviceGraph:
    """The graph of `make(*values, **params)`, ready to run; None among the avals stands for nothing."""
    b = Builder(make.__name__.strip("_"))
    values = [a if a is None else b.input(f"x{i}", a) for i, a in enumerate(avals)]
    return DeviceGraph(pipeline.run(b.finish(make(*values, **dict(params))), pipeline.PIPELINE), run_into)


def _computed(make, arrays, params=(), places=()) -> list:
    """The results of a graph on arrays; those for which `places` has an array are written there."""
    graph = _graph(make, tuple([_aval(a) for a in arrays]), tuple(params))
    there = {v: p for v, p in zip(graph.graph.outputs, places) if p is not None}
    results = graph.run([a for a in arrays if a is not None], there)
    for i, p in enumerate(places):
        if p is not None and results[i] is not p:
            transfer.write(p, results[i])
            results[i] = p
    return results


def _at(x, t):
    """A step of a sequence, without copying."""
    return None if x is None else x.look(x.shape[1:], x.strides[1:], t * x.strides[0])


def _order(steps, reverse):
    return range(steps - 1, -1, -1) if reverse else range(steps)


def _fits(inputs) -> bool:
    there = [x for x in inputs if x is not None]
    return all(isinstance(x, DeviceArray) and x.size for x in there)


def forward(op):
    """A layer along time."""
    make, count = _STEPS[op]

    def run_forward(inputs, params, device):
        if not _fits(inputs):
            return NotImplemented
        z, mask, *rest = _plain(inputs)
        states, weights = rest[:count], rest[count:]
        shapes = [a.shape for a in _results(op, inputs, params)]
        outs = [empty(device, s, z.dtype) for s in shapes]
        named = [(k, v) for k, v in params.items() if k != "reverse"]
        for t in _order(len(z), params["reverse"]):
            made = _computed(make, [_at(z, t), _at(mask, t), *states, *weights], named, [_at(o, t) for o in outs])
            states = made[:count]
        return tuple(outs) if len(outs) > 1 else outs[0]

    return run_forward


def _results(op, inputs, params):
    found = op.infer(*[_aval(x) for x in inputs], **params)
    return found if type(found) is tuple else (found,)


def lstm_states(inputs, params, device):
    """All states, and the last cells."""
    found: Any = forward(rc.lstm_sequence)(inputs, params, device)
    return found if found is NotImplemented else (found[0], _last(found[1], params["reverse"]))


def _last(x, reverse):
    return _at(x, 0 if reverse else len(x) - 1).copy()


def gru_states(inputs, params, device):
    """All states."""
    found: Any = forward(rc.gru_sequence)(inputs, params, device)
    return found if found is NotImplemented else found[0]


# Gradients: the record's own gradient of a sequence of one step, from the last step that was made to the first.


def _whole(x):
    """A step as a sequence."""
    return None if x is None else reshape(x, shape=(1, *x.shape))


def _arriving(upstream, carried):
    return _whole(carried if upstream is None else ew.add(upstream, carried))


def _rnn_back(gy, carried, y, mask, before, w_hh, *, activation):
    dz, dh, _ = rc.rnn_sequence_grad(_arriving(gy, carried), _whole(y), _whole(mask), before, w_hh, activation=activation,
                                     reverse=False)
    return reshape(dz, shape=dz.shape[1:]), dh


def _lstm_back(gy, gc, gg, carried_h, carried_c, y, cells, gates, mask, before, cells_before, w_hh, w_hr):
    dz, dh, dc, _, *projection = rc.lstm_sequence_grad(
        _arriving(gy, carried_h), _arriving(gc, carried_c), _whole(gg), _whole(y), _whole(cells), _whole(gates), _whole(mask),
        before, cells_before, w_hh, w_hr, reverse=False)
    return reshape(dz, shape=dz.shape[1:]), dh, dc, *projection


def _gru_back(gy, gg, carried, y, gates, mask, before, w_hh, b_hh):
    dz, dh, *_ = rc.gru_sequence_grad(_arriving(gy, carried), _whole(gg), _whole(y), _whole(gates), _whole(mask), before, w_hh,
                                      b_hh, reverse=False)
    return reshape(dz, shape=dz.shape[1:]), dh


def _weights(dz, before):
    """The gradient of weights from (T, B, out) and (T, B, in)."""
    rows = dz.shape[0] * dz.shape[1]
    across = permute(reshape(dz, shape=(rows, dz.shape[2])), dims=(1, 0))
    return (matmul(across, reshape(before, shape=(rows, before.shape[2]))),)


def _gru_weights(dz, gates, gg, before, *, biased):
    """Of the recurrent product the new gate's part arrives through the reset gate."""
    hidden = before.shape[2]
    part = lambda x, i: slice_(x, dim=2, start=i * hidden, stop=(i + 1) * hidden, step=1)
    dm = ew.mul(part(dz, 2), part(gates, 0))
    da = cat(part(dz, 0), part(dz, 1), dm if gg is None else ew.add(dm, part(gg, 3)), dim=2)
    return (*_weights(da, before), *((sum_(da, dim=(0, 1), keepdim=False),) if biased else ()))


def _before(states, start, reverse):
    """The state that each step started from, in the order of time."""
    made = empty(states.device, states.shape, states.dtype)
    steps, size = len(states), states.strides[0]
    rest = (steps - 1, *states.shape[1:])
    if steps > 1:
        transfer.write(made.look(rest, made.strides, 0 if reverse else size), states.look(rest, states.strides, size * reverse))
    transfer.write(_at(made, steps - 1 if reverse else 0), start)
    return made


def _zeros(like):
    return like.backend.filled(like.shape, like.dtype, 0, like.device)


def _plain(xs) -> list[Any]:
    return [None if x is None else contiguous(x) for x in xs]


def rnn_grad(inputs, params, device):
    """The gradients for the input, the first state and the weights."""
    gy, y, mask, h, w_hh = _plain(inputs) if _fits(inputs) else [None] * 5
    if y is None:
        return NotImplemented
    before, dz, dh = _before(y, h, params["reverse"]), empty(device, y.shape, y.dtype), _zeros(h)
    named = [("activation", params["activation"])]
    for t in _order(len(y), not params["reverse"]):
        given = [_at(gy, t), dh, _at(y, t), _at(mask, t), _at(before, t), w_hh]
        _, dh = _computed(_rnn_back, given, named, [_at(dz, t)])
    return dz, dh, *_computed(_weights, [dz, before])


def lstm_grad(inputs, params, device):
    """The gradients for the input, the first states, the weights and the projection."""
    if not _fits(inputs):
        return NotImplemented
    gy, gc, gg, y, cells, gates, mask, h, c, w_hh, w_hr = _plain(inputs)
    before, cells_before = _before(y, h, params["reverse"]), _before(cells, c, params["reverse"])
    dz, dh, dc, dw_hr = empty(device, gates.shape, gates.dtype), _zeros(h), _zeros(c), None
    for t in _order(len(gates), not params["reverse"]):
        arrived, made = [_at(x, t) for x in (gy, gc, gg)], [_at(x, t) for x in (y, cells, gates, mask, before, cells_before)]
        _, dh, dc, *step = _computed(_lstm_back, [*arrived, dh, dc, *made, w_hh, w_hr], (), [_at(dz, t)])
        if step:
            dw_hr = step[0] if dw_hr is None else run(ew.add, (dw_hr, step[0]), {})
    found = dz, dh, dc, *_computed(_weights, [dz, before])
    return found if w_hr is None else (*found, dw_hr)


def gru_grad(inputs, params, device):
    """The gradients for the input, the first state, the weights and the bias."""
    if not _fits(inputs):
        return NotImplemented
    gy, gg, y, gates, mask, h, w_hh, b_hh = _plain(inputs)
    before, dh = _before(y, h, params["reverse"]), _zeros(h)
    dz = empty(device, (*y.shape[:2], w_hh.shape[0]), y.dtype)
    for t in _order(len(y), not params["reverse"]):
        given = [_at(gy, t), _at(gg, t), dh, *[_at(x, t) for x in (y, gates, mask, before)], w_hh, b_hh]
        _, dh = _computed(_gru_back, given, (), [_at(dz, t)])
    return dz, dh, *_computed(_gru_weights, [dz, gates, gg, before], [("biased", b_hh is not None)])


OPERATORS = {op: forward(op) for op in _STEPS} | {
    rc.lstm_states: lstm_states, rc.gru_states: gru_states, rc.rnn_sequence_grad: rnn_grad, rc.lstm_sequence_grad: lstm_grad,
    rc.gru_sequence_grad: gru_grad}
