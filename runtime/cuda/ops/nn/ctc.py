"""Connectionist temporal classification on a device."""


from .....ir import dtype as dt
from .....ir.opdef.aval import Aval
from .....ir.ops.core import elementwise as ew
from .....ir.ops.nn.ctc import ctc_loss, ctc_loss_grad
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.sequence import ctc as text
from ....core.device_array import DeviceArray
from ...compiler.kernels import launch
from ...graph.eager import contiguous, run
from ...memory import status_words
from ...memory.arrays import empty

_BLOCK = 128                        # threads of a program of gradients
_LANES, _MOST_WARPS = 128, 16       # states of a warp


def losses(inputs, params, device):
    """Return -log of the probability of each target."""
    kind, arrays = _operands(ctc_loss, inputs, params)
    if kind is None:
        return NotImplemented
    log_probs, targets, lengths, counts = arrays
    out = empty(device, log_probs.shape[1:2], text.wide(kind).np)
    if out.size:
        sizes, how = _sizes(log_probs, targets, params)
        source = text.sequences(kind, dt.from_numpy(targets.dtype), targets.ndim == 2, False)
        launch(device, source, (log_probs, targets, lengths, counts, status_words.words(device), out), sizes, how)
    return _rounded(out, kind)


def gradients(inputs, params, device):
    """Return the gradients of the losses with respect to log probabilities."""
    kind, arrays = _operands(ctc_loss_grad, inputs, params)
    if kind is None:
        return NotImplemented
    g, log_probs, targets, lengths, counts = arrays
    out = empty(device, log_probs.shape, text.wide(kind).np)
    if not out.size:
        return _rounded(out, kind)
    sizes, how = _sizes(log_probs, targets, params)
    how_targets = dt.from_numpy(targets.dtype), targets.ndim == 2
    states = dict(how[0])["STATES"]
    shares = empty(device, (*log_probs.shape[:2], states), text.wide(kind).np)
    arrays = log_probs, targets, lengths, counts, status_words.words(device), g, shares
    launch(device, text.sequences(kind, *how_targets, True), arrays, sizes, how)
    steps, count, _ = log_probs.shape
    constants = ("AT_ONCE", text.AT_ONCE), ("STATES", states), ("BLOCK", _BLOCK)
    launch(device, text.taken(kind, *how_targets), (shares, targets, lengths, counts, out), sizes,
           (constants, 4, (-(-steps // _BLOCK) * count, 1, 1)))
    return _rounded(out, kind)


def _operands(op, inputs, params) -> tuple:
    """Return (the dtype of log probabilities, arrays as kernels read them), or None for the host."""
    if not all(isinstance(x, DeviceArray) for x in inputs):
        return None, ()
    op.infer(*[Aval(x.shape, dt.from_numpy(x.dtype)) for x in inputs], **params)
    return dt.from_numpy(inputs[-4].dtype), [contiguous(x) for x in inputs]


def _sizes(log_probs, targets, params) -> tuple:
    """Return (sizes, (constants, warps, grid)) of a launch over sequences. Targets longer than their input have no
    alignment."""
    steps, count, classes = log_probs.shape
    most = min(steps, targets.shape[-1])
    states = power_of_two(max(2, 2 * most + 1))
    sizes = {"T": steps, "N": count, "C": classes, "S": targets.shape[-1], "BLANK": params["blank"], "MOST": most}
    constants = ("AT_ONCE", text.AT_ONCE), ("STATES", states), ("SLOT", status_words.slot(ctc_loss.name))
    return sizes, (constants, max(1, min(_MOST_WARPS, states // _LANES)), (count, 1, 1))


def _rounded(out, kind):
    return out if text.wide(kind) is kind else run(ew.cast, (out,), {"dtype": kind})


OPERATORS = {ctc_loss: losses, ctc_loss_grad: gradients}
