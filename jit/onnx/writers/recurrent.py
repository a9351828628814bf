"""Writers of recurrent layers: ONNX's own layers where they do the same, else a scan of steps."""

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.core.shape import select
from ....ir.ops.linalg.products import linear
from ....ir.ops.nn import recurrent as rc
from .graph_writer import emits


def _projection(w, z):
    """Return (input, weight, bias) if a linear layer, read by nothing else, computes whole sequences' gates; else None."""
    item = w.root.made_by.get(z)
    if item is None or item.op is not linear or item.inputs[0].ndim != 3 or z in w.names:
        return None
    return item.inputs


def _only_end(w, states, reverse):
    def is_end(item):
        end = 0 if reverse else states.shape[0] - 1
        return item is not None and item.op is select and item.params["dim"] == 0 and item.params["index"] == end

    return all(is_end(item) for item in w.root.used_by.get(states, ()))


def _gates(w, name, order, size):
    """Return gates in another order, with a leading dimension for the direction."""
    if order != sorted(order):
        parts = [w.slice(name, [g * size], [(g + 1) * size], [0]) for g in order]
        name = w.node("Concat", *parts, axis=0)
    return w.unsqueeze(name, [0])


def _biases(w, b, rb, order, size, dtype):
    """Return both biases in ONNX's order, side by side; None if there are none."""
    if b is None and rb is None:
        return None
    rows = len(order) * size
    none = np.zeros((1, rows), dtype.np)
    parts = [w.const(none, "zeros") if v is None else _gates(w, w.name(v), order, size) for v in (b, rb)]
    return w.node("Concat", *parts, axis=1)


def _whole(w, kind, projection, w_hh, rb, order, states, reverse, outputs, **attributes):
    """Write ONNX's own layer; return all states (T, B, H), then the last ones (B, size)."""
    x, weight, b = projection
    size = w_hh.shape[0] // len(order)
    given = [w.name(x), _gates(w, w.name(weight), order, size), _gates(w, w.name(w_hh), order, size),
             _biases(w, b, rb, order, size, x.dtype), None, *[w.unsqueeze(w.name(s), [0]) for s in states]]
    made = w.node(kind, *given, outputs=outputs, hidden_size=size, direction="reverse" if reverse else "forward", **attributes)
    return w.squeeze(made[0], [1]), [w.squeeze(m, [0]) for m in made[1:]]


def _stepwise(w, z, mask, starts, step, gives, reverse):
    """Return a scan of `step(writer, gates, states) -> (states, others)` over (T, B, gates); masked steps pass states on."""
    names = [w.name(s) for s in starts]
    sequences = [w.name(z)] + ([] if mask is None else [w.name(mask)])
    if z.shape[0] == 1:
        new, others = _masked(w, step, names, [w.squeeze(n, [0]) for n in sequences])
        return [w.unsqueeze(n, [0]) for n in (*new, *others)]
    state_types = [(s.dtype, [None, None]) for s in starts]
    slices = [(z.dtype, [None, None])] + ([] if mask is None else [(dt.bool_, [None])])

    def body(v, states, parts):
        new, others = _masked(v, step, states, parts)
        return new, [*new, *others]

    types = (state_types, slices, [*state_types, *[(z.dtype, [None, None])] * gives])
    return w.scan(names, sequences, types, body, axis=0, reverse=reverse)[len(names):]


def _masked(v, step, states, parts):
    new, others = step(v, parts[0], states)
    if len(parts) == 2:
        live = v.unsqueeze(parts[1], [1])
        new = [v.node("Where", live, n, s) for n, s in zip(new, states)]
    return new, others


def _split(v, name, size, count):
    return [v.slice(name, [i * size], [(i + 1) * size], [1]) for i in range(count)]


@emits(rc.rnn_sequence)
def _rnn(w, item, z, mask, h, w_hh, *, activation, reverse):
    projection = _projection(w, z)
    act = "Tanh" if activation == "tanh" else "Relu"
    if projection is not None and mask is None:
        return _whole(w, "RNN", projection, w_hh, None, [0], [h], reverse, 1 + 1, activations=[act])[0]
    transposed = w.transpose(w.name(w_hh), (1, 0))

    def step(v, gates, states):
        return [v.node(act, v.node("Add", gates, v.node("MatMul", states[0], transposed)))], []

    return _stepwise(w, z, mask, [h], step, 0, reverse)[0]


def _lstm_layer(w, h, c, w_hh, reverse, projection):
    all_states, (_, last) = _whole(w, "LSTM", projection, w_hh, None, [0, 3, 1, 2], [h, c], reverse, 3)
    return all_states, last


def _lstm_steps(w, z, mask, h, c, w_hh, w_hr, reverse, gives):
    """Return a scan of steps: all states and cells, and the gates if they are wanted."""
    size = c.shape[1]
    transposed = w.transpose(w.name(w_hh), (1, 0))
    narrowed = None if w_hr is None else w.transpose(w.name(w_hr), (1, 0))

    def step(v, gates, states):
        before, cell = states
        i, f, g, o = _split(v, v.node("Add", gates, v.node("MatMul", before, transposed)), size, 4)
        i, f, g, o = v.node("Sigmoid", i), v.node("Sigmoid", f), v.node("Tanh", g), v.node("Sigmoid", o)
        cell = v.node("Add", v.node("Mul", f, cell), v.node("Mul", i, g))
        hidden = v.node("Mul", o, v.node("Tanh", cell))
        hidden = hidden if narrowed is None else v.node("MatMul", hidden, narrowed)
        return [hidden, cell], [v.node("Concat", i, f, g, o, axis=1)] * gives

    return _stepwise(w, z, mask, [h, c], step, gives, reverse)


@emits(rc.lstm_sequence)
def _lstm(w, item, z, mask, h, c, w_hh, w_hr, *, reverse):
    _, cells, gates = item.outputs
    projection = _projection(w, z)
    if projection is not None and mask is None and w_hr is None and not w.is_used(gates) and _only_end(w, cells, reverse):
        all_states, w.ends[cells] = _lstm_layer(w, h, c, w_hh, reverse, projection)
        return all_states, None, None
    return _lstm_steps(w, z, mask, h, c, w_hh, w_hr, reverse, 1)


@emits(rc.lstm_states)
def _lstm_states(w, item, z, mask, h, c, w_hh, w_hr, *, reverse):
    projection = _projection(w, z)
    if projection is not None and mask is None and w_hr is None:
        return _lstm_layer(w, h, c, w_hh, reverse, projection)
    all_states, cells = _lstm_steps(w, z, mask, h, c, w_hh, w_hr, reverse, 0)
    end = 0 if reverse else z.shape[0] - 1
    return all_states, w.squeeze(w.slice(cells, [end], [end + 1], [0]), [0])


def _gru_layer(w, h, w_hh, b_hh, reverse, projection):
    return _whole(w, "GRU", projection, w_hh, b_hh, [1, 0, 2], [h], reverse, 2, linear_before_reset=1)[0]


def _gru_steps(w, z, mask, h, w_hh, b_hh, reverse, gives):
    """Return a scan of steps: all states, and the gates if they are wanted."""
    size = h.shape[1]
    transposed = w.transpose(w.name(w_hh), (1, 0))
    bias = None if b_hh is None else w.name(b_hh)

    def step(v, gates, states):
        before = states[0]
        a = v.node("MatMul", before, transposed)
        a = a if bias is None else v.node("Add", a, bias)
        (zr, zu, zn), (ar, au, m) = _split(v, gates, size, 3), _split(v, a, size, 3)
        r, u = v.node("Sigmoid", v.node("Add", zr, ar)), v.node("Sigmoid", v.node("Add", zu, au))
        n = v.node("Tanh", v.node("Add", zn, v.node("Mul", r, m)))
        new = v.node("Add", n, v.node("Mul", u, v.node("Sub", before, n)))
        return [new], [v.node("Concat", r, u, n, m, axis=1)] * gives

    return _stepwise(w, z, mask, [h], step, gives, reverse)


@emits(rc.gru_sequence)
def _gru(w, item, z, mask, h, w_hh, b_hh, *, reverse):
    projection = _projection(w, z)
    if projection is not None and mask is None and not w.is_used(item.outputs[1]):
        return _gru_layer(w, h, w_hh, b_hh, reverse, projection), None
    return _gru_steps(w, z, mask, h, w_hh, b_hh, reverse, 1)


@emits(rc.gru_states)
def _gru_states(w, item, z, mask, h, w_hh, b_hh, *, reverse):
    projection = _projection(w, z)
    if projection is not None and mask is None:
        return _gru_layer(w, h, w_hh, b_hh, reverse, projection)
    return _gru_steps(w, z, mask, h, w_hh, b_hh, reverse, 0)[0]
