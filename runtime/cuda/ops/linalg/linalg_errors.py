"""Errors of singular matrices, as PyTorch raises them.

The host waits for the status. During captures, and in plans for files, it cannot: then a status word raises at the next read
(`status_words.py`).
"""

from .....ir.errors import LinAlgError
from .....ir.ops.linalg import triangular as systems
from ....core.device_array import DeviceArray
from ...compiler.flat_launches import check_values
from ...driver.driver_state import thread
from ...memory import pools, transfer
from .triangular import takes


def require(info: DeviceArray, name: str, shape, what: str):
    """Raise if a matrix of an operator's argument has no factors: its info is not 0."""
    status = _read(info, name)
    if status is not None and status.any():
        raise LinAlgError(f"{name} of a matrix of shape {list(shape)}: {what}")


def require_info(name: str, info: DeviceArray, what: str):
    """Raise for the first matrix of a batch without factors, with its position."""
    status = _read(info, name)
    if status is not None:
        systems.require_info(name, status, what)


def _read(info, name):
    """Return the numbers, or None if they are checked later."""
    if not (pools.is_capturing() or thread.plans):
        return transfer.to_host(info)
    check_values(info, "fault", name)
    return None


def raising(name: str, compute, what: str):
    """Return the operator that raises for matrices without factors; `compute(*inputs)` returns (result, info)."""
    def run(inputs, params, device):
        if not takes(*inputs):
            return NotImplemented
        result, info = compute(*inputs)
        require(info, name, inputs[0].shape, what)
        return result

    return run


def checking(name: str, compute, what: str):
    """Return the operator that gives the info too, and raises only with `check`."""
    def run(inputs, params, device):
        if not takes(*inputs):
            return NotImplemented
        result, info = compute(*inputs)
        if params["check"]:
            require_info(name, info, what)
        return result, info

    return run
