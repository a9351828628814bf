"""Format of a checkpoint folder: a file for each rank that wrote, and an index with the place of each value."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.checkpoint import DefaultLoadPlanner as DefaultLoadPlanner
from ingot.distributed.checkpoint import DefaultSavePlanner as DefaultSavePlanner
from ingot.distributed.checkpoint import FileSystemReader as FileSystemReader
from ingot.distributed.checkpoint import FileSystemWriter as FileSystemWriter
from ingot.distributed.checkpoint import Stateful as Stateful
