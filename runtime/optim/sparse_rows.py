"""What optimizers need to update only those rows of a parameter that a sparse gradient names."""

import numpy as np

from ..state import tls
from ..tensor import Tensor
from ..writes import check_writable


def rows_of(g) -> tuple:
    """The places of a sparse gradient, each once, as numpy takes them (a tuple), and the values there."""
    g = g.coalesce()
    return tuple(g.indices()._a), g.values()._a


def put_rows(dst: Tensor, at: tuple, values) -> None:
    """Writes values at some places of a parameter or a state."""
    check_writable(dst, tls.m, "step")
    dst._a[at] = values
    dst._storage.wrote("step")


def group_number(option, values):
    """An option of a parameter group (a number, or a tensor of one) as a number of the dtype that it will meet."""
    return np.asarray(float(option), values.dtype)[()]
