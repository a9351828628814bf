"""Recurrent layers over a whole sequence, one operator each.

The input is projected before (one large product), so an operator takes `z` (T, B, gates * H) and the recurrent weights. A mask
(T, B) selects the real steps of each sequence: at the others the state is carried on, so that reversed runs over padded
sequences start at each one's own end. Results are in time order whichever way the sequence is read. The activated gates are
results for the gradient rules; `lstm_states` and `gru_states` are the same layers for inference. Gradients are operators of
their own, with bodies written step by step; they take None for a result without a gradient.
"""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import Composite, Template, op
from ...opdef.param_checks import check_choice, check_flag, check_operand
from ...reference import scalar_functions
from ...symbols.symbolic import hint
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.batching import all_repeated, joined, parted
from ..core.pointwise import in_single
from ..core.shape import cat, expand, full, permute, reshape, select, slice_
from ..linalg.products import matmul, transpose_last

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}      # of each layer, by the name of its kernel


def order(steps, reverse):
    """Return the steps in reading order."""
    return range(steps - 1, -1, -1) if reverse else range(steps)


def carry(live, new, old):
    """Return the new state where a step is real, else the old one."""
    return new if live is None else np.where(live[:, None], new, old)


# Gradients.


def at_step(x, t):
    """Return the values of one step."""
    return select(x, dim=0, index=t)


def stacked(xs):
    """Stack values of steps along time."""
    return cat(*[reshape(x, shape=(1, *x.shape)) for x in xs], dim=0)


def states_before(states, start, reverse):
    """Return the state that each step started from, for all steps."""
    steps = states.shape[0]
    first = reshape(start, shape=(1, *start.shape))
    if steps == 1:
        return first
    if reverse:
        return cat(slice_(states, dim=0, start=1, stop=steps, step=1), first, dim=0)
    return cat(first, slice_(states, dim=0, start=0, stop=steps - 1, step=1), dim=0)


def split(x, parts):
    """Split x (B, parts * H) into its parts."""
    n = x.shape[1] // parts
    return [slice_(x, dim=1, start=i * n, stop=(i + 1) * n, step=1) for i in range(parts)]


def parts_of(x, parts):
    """Split as `split` does; None gives None for each part."""
    return [None] * parts if x is None else split(x, parts)


def divide(mask, t, gradient):
    """Return (gradient that goes into the step, gradient that bypasses it)."""
    if mask is None:
        return gradient, None
    live = at_step(mask, t)
    live = expand(reshape(live, shape=(*live.shape, 1)), shape=gradient.shape)
    return ew.where(live, gradient, 0.0), ew.where(live, 0.0, gradient)


def plus(a, b):
    """Return the sum of the operands that are not None."""
    return a if b is None else b if a is None else ew.add(a, b)


def arrived(upstream, t, carried, like):
    """Return a state's gradient at a step: from outside (None: nothing) plus from later steps."""
    found = plus(None if upstream is None else at_step(upstream, t), carried)
    return full(like, shape=like.shape, value=0, dtype=dt.of(like)) if found is None else found


def logistic(gradient, out):
    """Return the gradient through a sigmoid whose result is `out`."""
    return ew.mul(gradient, ew.mul(out, ew.sub(1.0, out)))


def hyperbolic(gradient, out):
    """Return the gradient through a tanh whose result is `out`."""
    return ew.mul(gradient, ew.sub(1.0, ew.mul(out, out)))


def weight_gradient(dz, before):
    """Return the gradient of weights (out, in) from (T, B, out) and (T, B, in)."""
    rows = dz.shape[0] * dz.shape[1]
    return matmul(permute(reshape(dz, shape=(rows, dz.shape[2])), dims=(1, 0)), reshape(before, shape=(rows, before.shape[2])))


def in_time_order(parts, reverse):
    """Stack results of the backward walk (which runs against the reading order) along time."""
    return stacked(parts if reverse else parts[::-1])


# Whole batches of samples: their sequences beside each other.


def _in_one_batch(size, args, held, time, states):
    """Return a layer's operands with all samples in one batch; None if weights differ between samples.

    States (size, B, H) become (size * B, H), values of steps (size, T, B, H) become (T, size * B, H).
    """
    if any(held[time + states:]):
        return None
    full = all_repeated(size, args[:time + states], held)
    steps = [None if x is None else permute(x, dims=(1, 0, *range(2, len(x.shape)))) for x in full[:time]]
    steps = [None if x is None else reshape(x, shape=(x.shape[0], size * x.shape[2], *x.shape[3:])) for x in steps]
    return [*steps, *[None if x is None else joined(x) for x in full[time:]], *args[time + states:]]


def _sample_by_sample(x, size):
    if len(x.shape) == 2:
        return parted(x, size)
    steps, rows, width = x.shape
    return permute(reshape(x, shape=(steps, size, rows // size, width)), dims=(1, 0, 2, 3))


def batch_of_sequences(time, states):
    """Return the vmap rule of a layer with `time` operands per step, then `states` states, then weights.

    Weights must be one for all samples, else the samples run one by one.
    """

    def rule(size, op, args, held, params):
        operands = _in_one_batch(size, args, held, time, states)
        if operands is None:
            return NotImplemented
        found = op(*operands, **params)
        return tuple([_sample_by_sample(f, size) for f in found]) if type(found) is tuple else _sample_by_sample(found, size)

    return rule


def batch_of_gradients(time, states, of_weights):
    """Return the vmap rule of a layer's gradients; weight gradients are per sample.

    They come from of_weights(size, *operands, dz, **params), with the sequences of all samples joined.
    """

    def rule(size, op, args, held, params):
        operands = _in_one_batch(size, args, held, time, states)
        if operands is None:
            return NotImplemented
        found = op(*operands, **params)[:1 + states]
        return (*[_sample_by_sample(f, size) for f in found], *of_weights(size, *operands, found[0], **params))

    return rule


def each_weight_gradient(size, dz, before):
    """Return the gradients of the samples' weights (size, out, in) from (T, size * B, out) and (T, size * B, in)."""
    dz, before = (_sample_by_sample(x, size) for x in (dz, before))
    dz, before = (reshape(x, shape=(size, x.shape[1] * x.shape[2], x.shape[3])) for x in (dz, before))
    return matmul(transpose_last(dz), before)


def each_bias_gradient(size, dz):
    """Return the sums over steps and sequences of each sample."""
    return rd.sum_(_sample_by_sample(dz, size), dim=(1, 2), keepdim=False)


def _check(name, z, mask, states, w_hh, gates):
    """Check all operands; return the batch and hidden sizes."""
    if not z.dtype.is_floating_point:
        raise DTypeError(f"{name} takes floating point types, got {z}; cast with .to()")
    if w_hh.ndim != 2 or z.ndim != 3 or z.shape[2] != w_hh.shape[0] or w_hh.shape[0] % gates:
        raise ShapeError(f"{name} takes inputs (T, B, {gates} * H) and weights ({gates} * H, ...), got {z} and {w_hh}")
    hidden = w_hh.shape[0] // gates
    if mask is not None and (mask.shape != z.shape[:2] or mask.dtype is not dt.bool_):
        raise ShapeError(f"{name} of {z} takes a mask [T, B] of bool, got {mask}")
    for what, state, size in states:
        if state.shape != (z.shape[1], size):
            raise ShapeError(f"{name}: the state {what} must have shape ({z.shape[1]}, {size}), got {state}")
        if state.dtype is not z.dtype:
            raise DTypeError(f"{name} takes one dtype, got an input {z} and a state {state}")
    if w_hh.dtype is not z.dtype:
        raise DTypeError(f"{name} takes one dtype, got an input {z} and weights {w_hh}")
    return z.shape[1], hidden


def _square(name, w_hh, gates):
    """Return the hidden size of weights (gates * H, H)."""
    if w_hh.ndim != 2 or w_hh.shape[0] != gates * w_hh.shape[1]:
        raise ShapeError(f"{name} takes weights ({gates} * H, H), got {w_hh}")
    return w_hh.shape[1]


def _check_steps(name, x):
    """Raise if there is no step, whose gradients nothing could be stacked from."""
    if hint(x.shape[0]) < 1:
        raise ShapeError(f"{name} needs steps, got {x}")


def _check_results(name, x, given):
    """Check the results of a layer, and the gradients that arrive at them: (value or None, size of its last dim) each."""
    for v, size in given:
        if v is not None:
            check_operand(v, (*x.shape[:2], size), x.dtype, f"{name}: a result or its gradient")


def layer_flops(args, outs, params):
    """Return the flops of the recurrent products over all steps."""
    return 2 * prod(args[0].shape) * args[2].shape[-1]


def _grad_flops(args, outs, params):
    return 4 * prod(outs[0].shape) * outs[1].shape[-1]


# The plain recurrent layer.


def _infer_rnn(z, mask, h, w_hh, *, activation, reverse):
    check_choice(activation, ("tanh", "relu"), "activation")
    check_flag(reverse, "rnn_sequence: reverse")
    batch, hidden = _check("rnn_sequence", z, mask, [("h", h, _square("rnn_sequence", w_hh, 1))], w_hh, 1)
    return z.with_shape((z.shape[0], batch, hidden))


def times(h, w_hh):
    """Return the recurrent product of references."""
    return h @ w_hh.T


def run_rnn(z, mask, h, w_hh, *, activation, reverse, product=times):
    """Return all states, in numpy."""
    act = np.tanh if activation == "tanh" else lambda x: np.maximum(x, 0)
    y = np.empty(z.shape, z.dtype)
    for t in order(len(z), reverse):
        h = y[t] = carry(None if mask is None else mask[t], act(z[t] + product(h, w_hh)), h)
    return y


def _infer_rnn_grad(gy, y, mask, h, w_hh, *, activation, reverse):
    _infer_rnn(y, mask, h, w_hh, activation=activation, reverse=reverse)
    _check_results("rnn_sequence_grad", y, [(gy, y.shape[2])])
    _check_steps("rnn_sequence_grad", y)
    return y, h, w_hh


def _rnn_grad(gy, y, mask, h, w_hh, *, activation, reverse):
    carried, dzs = None, []
    for t in order(y.shape[0], not reverse):
        inside, past = divide(mask, t, arrived(gy, t, carried, h))
        out = at_step(y, t)
        dz = hyperbolic(inside, out) if activation == "tanh" else ew.where(ew.gt(out, 0.0), inside, 0.0)
        carried = plus(matmul(dz, w_hh), past)
        dzs.append(dz)
    dz = in_time_order(dzs, reverse)
    return dz, carried, weight_gradient(dz, states_before(y, h, reverse))


def _rnn_each_weight(size, gy, y, mask, h, w_hh, dz, *, activation, reverse):
    return [each_weight_gradient(size, dz, states_before(y, h, reverse))]


rnn_sequence_grad = op("rnn_sequence_grad", infer=_infer_rnn_grad, ref=in_single(_rnn_grad), vjp=derived_vjp(_rnn_grad),
                       saves=range(1, 6), lower=Composite(_rnn_grad), flops=_grad_flops,
                       batch=batch_of_gradients(3, 1, _rnn_each_weight),
                       doc="The gradients of rnn_sequence for the input, the first state and the weights.")


def _rnn_vjp(g, y, z, mask, h, w_hh, *, activation, reverse, needs):
    dz, dh, dw = rnn_sequence_grad(g, y, mask, h, w_hh, activation=activation, reverse=reverse)
    return dz, None, dh, dw


rnn_sequence = op("rnn_sequence", infer=_infer_rnn, ref=in_single(run_rnn), vjp=_rnn_vjp, saves=(0, 2, 3, 4),
                  lower=Template("recurrent"), traits=("autocast_low",), flops=layer_flops,
                  batch=batch_of_sequences(2, 1),
                  doc="h = act(z + h @ w_hh.T) along time; all states.")

# LSTM.


def _infer_lstm(z, mask, h, c, w_hh, w_hr, *, reverse):
    check_flag(reverse, "lstm_sequence: reverse")
    if w_hh.ndim != 2 or (w_hr is not None and (w_hr.ndim != 2 or w_hr.dtype is not w_hh.dtype)):
        raise ShapeError(f"lstm_sequence takes matrices of weights of one dtype, got {w_hh} and {w_hr}")
    hidden = w_hh.shape[0] // 4
    out = hidden if w_hr is None else w_hr.shape[0]
    if w_hh.shape[1] != out or (w_hr is not None and w_hr.shape[1] != hidden):
        raise ShapeError(f"lstm_sequence: weights {w_hh} and projection {w_hr} do not fit together")
    _check("lstm_sequence", z, mask, [("h", h, out), ("c", c, hidden)], w_hh, 4)
    steps, batch = z.shape[:2]
    return tuple(z.with_shape((steps, batch, n)) for n in (out, hidden, 4 * hidden))


def run_lstm(z, mask, h, c, w_hh, w_hr, *, reverse, product=times):
    """Return all states, cells and gates, in numpy."""
    steps, batch, hidden = len(z), z.shape[1], c.shape[1]
    y = np.empty((steps, batch, h.shape[1]), z.dtype)
    cells, gates = np.empty((steps, batch, hidden), z.dtype), np.empty(z.shape, z.dtype)
    for t in order(steps, reverse):
        a = z[t] + product(h, w_hh)
        gates[t] = scalar_functions.sigmoid(a)
        gates[t, :, 2 * hidden:3 * hidden] = np.tanh(a[:, 2 * hidden:3 * hidden])
        i, f, g, o = np.split(gates[t], 4, axis=1)
        new_c = f * c + i * g
        new_h = o * np.tanh(new_c)
        live = None if mask is None else mask[t]
        h = y[t] = carry(live, new_h if w_hr is None else new_h @ w_hr.T, h)
        c = cells[t] = carry(live, new_c, c)
    return y, cells, gates


def _lstm_step(gradients, gates, cell, before, w_hr):
    """Return one step's gradients: (dz, gradient of the cell before, hidden, gradient of hidden)."""
    dh, dc, dgates = gradients
    i, f, g, o = split(gates, 4)
    di, df, dg, do = parts_of(dgates, 4)
    squashed = ew.tanh(cell)
    d_hidden = dh if w_hr is None else matmul(dh, w_hr)
    dc = ew.add(dc, hyperbolic(ew.mul(d_hidden, o), squashed))
    dz = cat(logistic(plus(ew.mul(dc, g), di), i), logistic(plus(ew.mul(dc, before), df), f),
             hyperbolic(plus(ew.mul(dc, i), dg), g), logistic(plus(ew.mul(d_hidden, squashed), do), o), dim=1)
    return dz, ew.mul(dc, f), ew.mul(o, squashed)


def _infer_lstm_grad(gy, gc, gg, y, cells, gates, mask, h, c, w_hh, w_hr, *, reverse):
    out, hidden, width = (v.shape[2] for v in _infer_lstm(gates, mask, h, c, w_hh, w_hr, reverse=reverse))
    _check_results("lstm_sequence_grad", gates, [(gy, out), (y, out), (gc, hidden), (cells, hidden), (gg, width)])
    _check_steps("lstm_sequence_grad", gates)
    return (gates, h, c, w_hh) if w_hr is None else (gates, h, c, w_hh, w_hr)


def _lstm_grad(gy, gc, gg, y, cells, gates, mask, h, c, w_hh, w_hr, *, reverse):
    cells_before = states_before(cells, c, reverse)
    carried_h = carried_c = None
    dzs, dhs, hiddens = [], [], []
    for t in order(gates.shape[0], not reverse):
        dh, past_h = divide(mask, t, arrived(gy, t, carried_h, h))
        dc, past_c = divide(mask, t, arrived(gc, t, carried_c, c))
        given = dh, dc, None if gg is None else at_step(gg, t)
        dz, dc, hidden = _lstm_step(given, at_step(gates, t), at_step(cells, t), at_step(cells_before, t), w_hr)
        carried_h, carried_c = plus(matmul(dz, w_hh), past_h), plus(dc, past_c)
        for log, value in ((dzs, dz), (dhs, dh), (hiddens, hidden)):
            log.append(value)
    dz = in_time_order(dzs, reverse)
    found = dz, carried_h, carried_c, weight_gradient(dz, states_before(y, h, reverse))
    if w_hr is None:
        return found
    return *found, weight_gradient(in_time_order(dhs, reverse), in_time_order(hiddens, reverse))


def _lstm_each_weight(size, gy, gc, gg, y, cells, gates, mask, h, c, w_hh, w_hr, dz, *, reverse):
    return [each_weight_gradient(size, dz, states_before(y, h, reverse))]


def _batch_lstm_grad(size, op, args, held, params):
    """With a projection, its body goes step by step."""
    return NotImplemented if args[-1] is not None else _batch_lstm_plain(size, op, args, held, params)


_batch_lstm_plain = batch_of_gradients(7, 2, _lstm_each_weight)
lstm_sequence_grad = op("lstm_sequence_grad", infer=_infer_lstm_grad, ref=in_single(_lstm_grad), vjp=derived_vjp(_lstm_grad),
                        saves=range(1, 12), lower=Composite(_lstm_grad), flops=_grad_flops, batch=_batch_lstm_grad,
                        doc="The gradients of lstm_sequence for the input, the first states, the weights and the projection.")


def _lstm_vjp(g, out, z, mask, h, c, w_hh, w_hr, *, reverse, needs):
    dz, dh, dc, dw, *projection = lstm_sequence_grad(*g, *out, mask, h, c, w_hh, w_hr, reverse=reverse)
    return dz, None, dh, dc, dw, projection[0] if projection else None


lstm_sequence = op("lstm_sequence", infer=_infer_lstm, ref=in_single(run_lstm), vjp=_lstm_vjp, saves=(0, 2, 3, 4, 5, 6),
                   lower=Template("recurrent"), traits=("autocast_low", "gaps", "rescued"), flops=layer_flops,
                   batch=batch_of_sequences(2, 2),
                   doc="LSTM along time, gates (input, forget, cell, output); all states, cells and activated gates.")



def _infer_lstm_states(z, mask, h, c, w_hh, w_hr, *, reverse):
    return _infer_lstm(z, mask, h, c, w_hh, w_hr, reverse=reverse)[0], c


def _lstm_states(z, mask, h, c, w_hh, w_hr, *, reverse):
    y, cells, _ = run_lstm(z, mask, h, c, w_hh, w_hr, reverse=reverse)
    return y, cells[0 if reverse else -1]


def _lstm_states_vjp(g, out, z, mask, h, c, w_hh, w_hr, *, reverse, needs):
    recorded = lstm_sequence(z, mask, h, c, w_hh, w_hr, reverse=reverse)
    gy, last = g
    gc = None if last is None else _at_end(last, z.shape[0], reverse)
    return _lstm_vjp((gy, gc, None), recorded, z, mask, h, c, w_hh, w_hr, reverse=reverse, needs=needs)


def _at_end(last, steps, reverse):
    last = reshape(last, shape=(1, *last.shape))
    if steps == 1:
        return last
    others = full(last, shape=(steps - 1, *last.shape[1:]), value=0, dtype=dt.of(last))
    return cat(last, others, dim=0) if reverse else cat(others, last, dim=0)


lstm_states = op("lstm_states", infer=_infer_lstm_states, ref=in_single(_lstm_states), vjp=_lstm_states_vjp, saves=range(1, 7),
                 lower=Template("recurrent"), traits=("autocast_low", "gaps"), flops=layer_flops,
                 batch=batch_of_sequences(2, 2),
                 doc="LSTM along time, where gradients will hardly be asked for: all states, and the last cells.")

# GRU.


def _infer_gru(z, mask, h, w_hh, b_hh, *, reverse):
    check_flag(reverse, "gru_sequence: reverse")
    batch, hidden = _check("gru_sequence", z, mask, [("h", h, _square("gru_sequence", w_hh, 3))], w_hh, 3)
    if b_hh is not None and (b_hh.shape != w_hh.shape[:1] or b_hh.dtype is not z.dtype):
        raise ShapeError(f"gru_sequence of {z} takes a bias of its dtype and of shape ({w_hh.shape[0]},), got {b_hh}")
    return z.with_shape((z.shape[0], batch, hidden)), z.with_shape((z.shape[0], batch, 4 * hidden))


def run_gru(z, mask, h, w_hh, b_hh, *, reverse, product=times):
    """Return all states and gates, in numpy."""
    steps, batch, hidden = len(z), z.shape[1], h.shape[1]
    y, gates = np.empty((steps, batch, hidden), z.dtype), np.empty((steps, batch, 4 * hidden), z.dtype)
    for t in order(steps, reverse):
        a = product(h, w_hh)
        if b_hh is not None:
            a = a + b_hh
        both = scalar_functions.sigmoid(z[t, :, :2 * hidden] + a[:, :2 * hidden])
        r, u, m = both[:, :hidden], both[:, hidden:], a[:, 2 * hidden:]
        n = np.tanh(z[t, :, 2 * hidden:] + r * m)
        gates[t] = np.concatenate((both, n, m), axis=1)
        h = y[t] = carry(None if mask is None else mask[t], n + u * (h - n), h)
    return y, gates


def _gru_step(dh, dgates, gates, before):
    """Return one step's gradients: (of z, of the recurrent product, of the state before)."""
    r, u, n, m = split(gates, 4)
    dr, du, dn, dm = parts_of(dgates, 4)
    dn = hyperbolic(plus(ew.mul(dh, ew.sub(1.0, u)), dn), n)
    du = logistic(plus(ew.mul(dh, ew.sub(before, n)), du), u)
    dr = logistic(plus(ew.mul(dn, m), dr), r)
    dm = plus(ew.mul(dn, r), dm)
    return cat(dr, du, dn, dim=1), cat(dr, du, dm, dim=1), ew.mul(dh, u)


def _infer_gru_grad(gy, gg, y, gates, mask, h, w_hh, b_hh, *, reverse):
    dz = gates.with_shape((*gates.shape[:2], 3 * _square("gru_sequence_grad", w_hh, 3)))
    hidden = _infer_gru(dz, mask, h, w_hh, b_hh, reverse=reverse)[0].shape[2]
    _check_results("gru_sequence_grad", dz, [(gy, hidden), (y, hidden), (gg, 4 * hidden), (gates, 4 * hidden)])
    _check_steps("gru_sequence_grad", gates)
    return (dz, h, w_hh) if b_hh is None else (dz, h, w_hh, b_hh)


def _gru_grad(gy, gg, y, gates, mask, h, w_hh, b_hh, *, reverse):
    before = states_before(y, h, reverse)
    carried, dzs, das = None, [], []
    for t in order(gates.shape[0], not reverse):
        dh, past = divide(mask, t, arrived(gy, t, carried, h))
        dz, da, direct = _gru_step(dh, None if gg is None else at_step(gg, t), at_step(gates, t), at_step(before, t))
        carried = plus(ew.add(matmul(da, w_hh), direct), past)
        dzs.append(dz)
        das.append(da)
    da = in_time_order(das, reverse)
    found = in_time_order(dzs, reverse), carried, weight_gradient(da, before)
    return found if b_hh is None else (*found, rd.sum_(da, dim=(0, 1), keepdim=False))


def _gru_each_weight(size, gy, gg, y, gates, mask, h, w_hh, b_hh, dz, *, reverse):
    """The recurrent product reaches the new gate through the reset gate."""
    hidden = h.shape[1]
    reset = slice_(gates, dim=2, start=0, stop=hidden, step=1)
    new = slice_(dz, dim=2, start=2 * hidden, stop=3 * hidden, step=1)
    given = None if gg is None else slice_(gg, dim=2, start=3 * hidden, stop=4 * hidden, step=1)
    da = cat(slice_(dz, dim=2, start=0, stop=2 * hidden, step=1), plus(ew.mul(new, reset), given), dim=2)
    found = [each_weight_gradient(size, da, states_before(y, h, reverse))]
    return found if b_hh is None else [*found, each_bias_gradient(size, da)]


gru_sequence_grad = op("gru_sequence_grad", infer=_infer_gru_grad, ref=in_single(_gru_grad), vjp=derived_vjp(_gru_grad),
                       saves=range(1, 9), lower=Composite(_gru_grad), flops=_grad_flops,
                       batch=batch_of_gradients(5, 1, _gru_each_weight),
                       doc="The gradients of gru_sequence for the input, the first state, the weights and the bias.")


def _gru_vjp(g, out, z, mask, h, w_hh, b_hh, *, reverse, needs):
    dz, dh, dw, *bias = gru_sequence_grad(*g, *out, mask, h, w_hh, b_hh, reverse=reverse)
    return dz, None, dh, dw, bias[0] if bias else None


gru_sequence = op("gru_sequence", infer=_infer_gru, ref=in_single(run_gru), vjp=_gru_vjp, saves=(0, 2, 3, 4, 5),
                  lower=Template("recurrent"), traits=("autocast_low", "gaps", "rescued"), flops=layer_flops,
                  batch=batch_of_sequences(2, 1),
                  doc="GRU along time, gates (reset, update, new); all states, and activated gates with the new gate's "
                      "recurrent product.")


def _infer_gru_states(z, mask, h, w_hh, b_hh, *, reverse):
    return _infer_gru(z, mask, h, w_hh, b_hh, reverse=reverse)[0]


def _gru_states_vjp(g, out, z, mask, h, w_hh, b_hh, *, reverse, needs):
    recorded = gru_sequence(z, mask, h, w_hh, b_hh, reverse=reverse)
    return _gru_vjp((g, None), recorded, z, mask, h, w_hh, b_hh, reverse=reverse, needs=needs)


gru_states = op("gru_states", infer=_infer_gru_states, ref=in_single(lambda *args, reverse: run_gru(*args, reverse=reverse)[0]),
                vjp=_gru_states_vjp, saves=range(1, 6), lower=Template("recurrent"), traits=("autocast_low",),
                flops=layer_flops, batch=batch_of_sequences(2, 1),
                doc="GRU along time, where gradients will hardly be asked for: all states.")
