"""Loading of checkpoints into state dicts, in place."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.checkpoint import load as load
from ingot.distributed.checkpoint import load_state_dict as load_state_dict
