"""Losses of logits with sharded classes."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.tensor.parallel import loss_parallel as loss_parallel
