"""Modules as functions of their parameters and buffers."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.func import functional_call as functional_call
from ingot.func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from ingot.func import stack_module_state as stack_module_state

def swapped_tensors(module: _t.Any, values: _b.dict[_t.Any, _t.Any], tie_weights: _b.bool = True,
                    strict: _b.bool = False) -> _t.Any:
    """Replace tensors of a module inside a `with` block."""
