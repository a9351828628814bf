"""Split and join of nested containers of tensors over devices."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.nn.parallel import gather as gather
from ingot.nn.parallel import scatter as scatter

def scatter_kwargs(inputs: _t.Any, kwargs: _t.Any, target_gpus: _t.Any, dim: _t.Any = 0) -> _b.tuple[_t.Any, ...]:
    """Split positional and keyword arguments per device, padded to equal counts."""
