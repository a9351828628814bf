"""`ingot.distributed.elastic.multiprocessing.errors`: errors of a process, in a file for the launcher."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot.distributed.elastic import multiprocessing as multiprocessing

def record(fn: _t.Any = None, error_handler: _t.Any = None) -> _t.Any:
    """Decorate a program's main function: its errors are written to the file in TORCHELASTIC_ERROR_FILE, and raised."""
