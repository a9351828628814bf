"""`ingot.distributed.algorithms.join`: ranks with different numbers of batches."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.algorithms import Join as Join
from ingot.distributed.algorithms import JoinHook as JoinHook
from ingot.distributed.algorithms import Joinable as Joinable
