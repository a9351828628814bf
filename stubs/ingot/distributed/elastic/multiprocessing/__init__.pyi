"""`ingot.distributed.elastic.multiprocessing.errors`: errors of a process, in a file for the launcher."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.elastic import record as record
from ingot.distributed.elastic.multiprocessing import errors as errors
