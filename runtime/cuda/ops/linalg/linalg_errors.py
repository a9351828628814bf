"""Errors of singular matrices, as PyTorch raises them.

The host waits for the status. During captures, and in plans for files, it cannot: then a status word raises at the next read
(`status_words.py`).
"""

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
    """Raise if a matrix of an operator's argument has no factors: its info is not 0."""
    found = _read(info, name)
    if found is not None and found.any():
        raise LinAlgError(f"{name} of a matrix of shape {shape}: {what}")


def require_info(name: str, info: DeviceArray, what: str):
    """Raise for the first matrix of a batch without factors, with its position."""
    found = _read(info, name)
    if found is not None:
        systems.require_info(name, found, what)


def _read(info, name):
    """Return the numbers, or None if they are checked later."""
    if not (pools.is_capturing() or thread.plans):
        return transfer.to_host(info)
    note(info, name)
    return None


def note(found: DeviceArray, name: str):
    """Set an operator's status word if one of some numbers is positive."""
    constants, warps, grid = flat_blocks(found.size)
    how = (*constants, ("SLOT", status_words.slot(name))), warps, grid
    launch(found.device, check_values(dt.int32, "fault"), (found, status_words.words(found.device)), {"TOTAL": found.size}, how)
