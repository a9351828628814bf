"""The functions of `ingot.linalg` that are also `ingot.*` and methods of Tensor."""

from .. import linalg
from .register import api

for _name, _function in (("norm", linalg.general_norm), ("det", linalg.det), ("slogdet", linalg.slogdet),
                         ("logdet", linalg.logdet), ("inverse", linalg.inv), ("pinverse", linalg.pinv),
                         ("matrix_power", linalg.matrix_power), ("matrix_exp", linalg.matrix_exp)):
    api(name=_name)(_function)


@api()
def cholesky(input, upper=False, *, out=None):
    """The lower triangular factor of symmetric positive matrices (or its transpose)."""
    return linalg.cholesky(input, upper=upper, out=out)
