"""Dot products of tiles: their dtypes, and how a dot multiplies and adds."""

from dataclasses import dataclass

from .....ir import dtype as dt


@dataclass(frozen=True)
class Kinds:
    """The dtypes of a product: of its factors, and what its sums are rounded to."""

    x: dt.DType
    y: dt.DType
    z: dt.DType

    @property
    def short(self) -> str:
        """What tells them from others."""
        return "_".join(dict.fromkeys([self.x.short, self.y.short, self.z.short]))


def kinds_of(dtype) -> Kinds:
    """Those of a product of one dtype."""
    return dtype if type(dtype) is Kinds else Kinds(dtype, dtype, dtype)


FAST = "fast"     # products of float8 whose sums have as few bits as the chip keeps


def stated_dot(dtype, precision: str) -> str:
    """What a dot of a dtype must be told: how float32 is multiplied, that float64 is summed in float64, and that sums of float8
    are added to those before in float32."""
    if dtype is dt.float64:
        return ", out_dtype=tl.float64"
    if dtype in dt.FLOAT8:
        return "" if precision == FAST else ", max_num_imprecise_acc=BK"
    return f', input_precision="{precision}"' if dtype is dt.float32 else ""
