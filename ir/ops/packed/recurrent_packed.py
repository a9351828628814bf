"""Recurrent layers with weights in their kernels' order, for programs that call a layer many times; without gradients.

A pass makes these operators. A packed weight is a flat array in an order known to the kernel alone: `kernel`, (layer, lanes),
names it for the operators that pack and read; for the references it is the flat weight, filled up to its size.
"""

from ...errors import ShapeError
from ...opdef.op import NO_GRAD, Template, op
from ...opdef.param_checks import check_choice, check_flag, check_sizes
from ..nn import recurrent as plain
from .blocked import pack_filters


def _infer_pack(w, *, kernel, size):
    check_sizes((size,), "size")
    if w.ndim != 2 or size < w.size:
        raise ShapeError(f"pack_recurrent: {size} elements are too few for the weight {w}")
    return w.with_shape((size,))


pack_recurrent = op("pack_recurrent", infer=_infer_pack, ref=pack_filters.ref, vjp=NO_GRAD, lower=Template("layout"),
                    traits=("exact", "packs"),
                    doc="The recurrent weights of a layer in the order in which `kernel` reads them.")


def _infer(z, mask, h, c, w, bias, *, kernel, reverse):
    check_flag(reverse, "reverse")
    check_choice(kernel[0], tuple(plain.GATES), "the layer of a kernel")
    batch, hidden = z.shape[1], h.shape[1]
    wide = plain.GATES[kernel[0]] * hidden
    if z.shape[2] != wide or h.shape[0] != batch or w.ndim != 1 or w.shape[0] < wide * hidden:
        raise ShapeError(f"recurrent_packed: a {kernel[0]} of the input {z}, the state {h} and the packed weights {w}")
    y = z.with_shape((z.shape[0], batch, hidden))
    return (y,) if c is None else (y, c)


def _run(z, mask, h, c, w, bias, *, kernel, reverse):
    name, hidden = kernel[0], h.shape[1]
    wide = plain.GATES[name] * hidden
    w = w[:wide * hidden].reshape(wide, hidden)
    if name == "lstm":
        return plain.lstm_states.ref(z, mask, h, c, w, None, reverse=reverse)
    if name == "gru":
        return (plain.gru_states.ref(z, mask, h, w, bias, reverse=reverse),)
    return (plain.rnn_sequence.ref(z, mask, h, w, activation=name.removeprefix("rnn_"), reverse=reverse),)


recurrent_packed = op("recurrent_packed", infer=_infer, ref=_run, vjp=NO_GRAD, lower=Template("recurrent"),
                      flops=plain.layer_flops,
                      doc="A recurrent layer with packed weights: (all states,), and the last cells of an LSTM.")

OPERATORS = frozenset((pack_recurrent, recurrent_packed))
