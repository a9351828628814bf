"""Collectives with gradients: they return new tensors, and their gradients are collectives in turn."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.nn import all_gather as all_gather
from ingot.distributed.nn import all_reduce as all_reduce
from ingot.distributed.nn import all_to_all as all_to_all
from ingot.distributed.nn import all_to_all_single as all_to_all_single
from ingot.distributed.nn import broadcast as broadcast
from ingot.distributed.nn import gather as gather
from ingot.distributed.nn import reduce as reduce
from ingot.distributed.nn import reduce_scatter as reduce_scatter
from ingot.distributed.nn import scatter as scatter
