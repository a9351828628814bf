"""Quantised dtypes by name, which no tensor of ingot has, and quantisation schemes."""

from ....ir.dtype import NAMED, complex32
from ....ir.package_name import in_full
from .register import FUNCTIONS


class qscheme(str):
    """Quantisation scheme: number of scales, and position of zero. It equals its own name as text."""

    __slots__ = ()

    def __repr__(self):
        return in_full(self)


per_tensor_affine, per_tensor_symmetric = qscheme("per_tensor_affine"), qscheme("per_tensor_symmetric")
per_channel_affine, per_channel_symmetric = qscheme("per_channel_affine"), qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
PER_TENSOR = (per_tensor_affine, per_tensor_symmetric)
PER_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)
SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)

FUNCTIONS |= NAMED | {"chalf": complex32, "qscheme": qscheme}
FUNCTIONS |= {str(scheme): scheme for scheme in (*PER_TENSOR, *PER_CHANNEL)}
