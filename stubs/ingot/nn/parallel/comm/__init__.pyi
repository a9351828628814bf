"""Differentiable transfers between devices: broadcast, scatter, gather, sums."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.cuda.comm import broadcast as broadcast
from ingot.cuda.comm import broadcast_coalesced as broadcast_coalesced
from ingot.cuda.comm import gather as gather
from ingot.cuda.comm import reduce_add as reduce_add
from ingot.cuda.comm import reduce_add_coalesced as reduce_add_coalesced
from ingot.cuda.comm import scatter as scatter
