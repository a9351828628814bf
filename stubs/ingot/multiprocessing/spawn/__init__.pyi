"""Start of several processes on one function, with their errors."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.multiprocessing import ProcessContext as ProcessContext
from ingot.multiprocessing import ProcessContext as _ProcessContext
from ingot.multiprocessing import ProcessException as ProcessException
from ingot.multiprocessing import ProcessExitedException as ProcessExitedException
from ingot.multiprocessing import ProcessRaisedException as ProcessRaisedException
from ingot.multiprocessing import spawn as spawn
from ingot.multiprocessing import start_processes as start_processes

SpawnContext = _ProcessContext
