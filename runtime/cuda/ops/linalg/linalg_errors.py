"""Errors of matrices that have no factors, as PyTorch raises them: the host waits for what the kernels found. Where a graph
is captured, or planned for a file, it cannot; there a status word says so, and the error comes when values are next read
(`status_words.py`)."""

from .....ir import dtype as dt
from .....ir.errors import LinAlgError
from .....ir.ops.linalg import triangular as systems
from .....passes.codegen.triton.index.value_checks import check_values
from ....core.device_array import DeviceArray
from ...compiler.kernels import launch
from ...driver.driver_state import thread
from ...memory import pools, status_words, transfer
from ..index.sorting import flat_blocks


def require(info: DeviceArray, name: str, shape, what: str):
    """Raise if one of the matrices of an operator's argument has no factors: its info is not 0."""
    found = _read(info, name)
    if found is not None and found.any():
        raise LinAlgError(f"{name} of a matrix of shape {shape}: {what}")


def require_info(name: str, info: DeviceArray, what: str):
    """Raise for the first matrix of a batch that has no factors, saying where it went wrong."""
    found = _read(info, name)
    if found is not None:
        systems.require_info(name, found, what)


def _read(info, name):
    """Return the numbers, or None where they will be judged later."""
    if not (pools.is_capturing() or thread.plans):
        return transfer.to_host(info)
    note(info, name)
    return None


def note(found: DeviceArray, name: str):
    """Has an operator's status word say whether one of some numbers is positive."""
    constants, warps, grid = flat_blocks(found.size)
    how = (*constants, ("SLOT", status_words.slot(name))), warps, grid
    launch(found.device, check_values(dt.int32, "fault"), (found, status_words.words(found.device)), {"TOTAL": found.size}, how)
