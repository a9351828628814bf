"""`ingot.utils.deterministic`: a switch without effect. Memory of new tensors is always zeroed."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b

fill_uninitialized_memory: _b.bool
