"""Interpreter of PTX, Triton's output, on numpy: for tests, and to count the work of a GPU.

    launch(ptx, grid, threads, shared, parameters, {address: array of bytes})
    counts = counted(ptx, grid, threads, shared, parameters, programs)
"""

from .counts import SECTOR, Counts, counted
from .faults import Fault
from .machine import launch

__all__ = ["SECTOR", "Counts", "Fault", "counted", "launch"]
