"""Padding modules."""

from ...api.nn.spatial_arguments import per_dim
from .. import functional as F
from ..base.module import Module

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
           "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _Pad(Module):
    """Padding on both sides of the last `rank` dims: one number, or (low, high) of the last dim first."""

    _repr_fields = "padding"
    rank = 0
    mode = "constant"
    value: float | None = None

    def __init__(self, padding):
        super().__init__()
        self.padding = per_dim(padding, 2 * self.rank, type(self).__name__, "padding")

    def forward(self, input):
        return F.pad(input, self.padding, self.mode, self.value)


class _ConstantPad(_Pad):
    _repr_fields = "padding= value="

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value


def _family(name: str, base: type, mode: str, what: str) -> tuple:
    """Return the padding modules of one mode for one, two and three dims."""
    return tuple(type(f"{name}{rank}d", (base,), {"rank": rank, "mode": mode, "__module__": __name__,
                                                 "__doc__": f"{what} around the last {rank} dim{'s' * (rank > 1)}."})
                 for rank in (1, 2, 3))


class _ZeroPad(_Pad):
    value = 0.0


ConstantPad1d, ConstantPad2d, ConstantPad3d = _family("ConstantPad", _ConstantPad, "constant", "A constant")
ZeroPad1d, ZeroPad2d, ZeroPad3d = _family("ZeroPad", _ZeroPad, "constant", "Zeros")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _family("ReflectionPad", _Pad, "reflect", "The inside, mirrored,")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _family("ReplicationPad", _Pad, "replicate", "The edges, repeated,")
CircularPad1d, CircularPad2d, CircularPad3d = _family("CircularPad", _Pad, "circular", "The other side")
