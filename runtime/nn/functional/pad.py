"""Padding in all its modes."""

from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.nn.resample import border_pad
from ....ir.suggestions import unknown_choice
from ...api.nn.convolution import edges, pad_constant
from ...api.register.register import memoised
from ...api.register.type_promotion import wide_on_cpus

_MODES = ("constant", "reflect", "replicate", "circular")


def _check_border(input, low, high, mode):
    for n, lo, hi in zip(input.shape, low, high):
        most = n - 1 if mode == "reflect" else n
        if mode != "replicate" and (lo or hi) and (lo > most or hi > most):
            raise ShapeError(f"pad with mode '{mode}' of {input.aval}: padding ({lo}, {hi}) must be at most {most} for a "
                             f"dimension of size {n}")


@memoised
def pad(input, pad, mode="constant", value=None):
    """Pad the last dims; `pad` is (low, high) of the last dim, then of the one before, and so on. Mode "constant" pads with
    `value` (default 0), "reflect" mirrors without the edge, "replicate" repeats the edge, "circular" wraps around."""
    if mode not in _MODES:
        raise unknown_choice("pad: mode", mode, _MODES)
    if mode == "constant":
        return pad_constant(input, pad, 0 if value is None else value, "pad")
    if value is not None and value != 0:
        raise ArgumentError(f"pad: mode '{mode}' takes no value, got {value}")
    low, high = edges(input, pad, "pad")
    pairs = len(pad) // 2
    if not 1 <= pairs <= 3 or input.ndim not in (pairs + 1, pairs + 2):
        raise ShapeError(f"pad with mode '{mode}' is over the last 1 to 3 dimensions of [N, C, *spatial] or [C, *spatial], got "
                         f"{input.aval} and pad {tuple(pad)}")
    _check_border(input, low, high, mode)
    if mode == "replicate" or (mode == "reflect" and pairs < 3):
        input = wide_on_cpus(input)
    return border_pad(input, low=low, high=high, mode=mode)
