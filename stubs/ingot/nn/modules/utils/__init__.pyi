"""`nn.modules.utils`: arguments given as one number or one per dimension, and prefixes in state dicts."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t

def consume_prefix_in_state_dict_if_present(state_dict: _t.Any, prefix: _t.Any) -> None:
    """Remove a prefix such as "module." from the names of a state dict, in place."""
