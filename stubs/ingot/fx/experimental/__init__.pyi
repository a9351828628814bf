"""`ingot.fx.experimental.proxy_tensor`: make_fx, the graph of a function run on example inputs, in public functions."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.fx.experimental import proxy_tensor as proxy_tensor
from ingot.fx.experimental import symbolic_shapes as symbolic_shapes

def get_proxy_mode() -> None:
    """Return None: recordings run on real tensors, so no mode traces with fake ones."""
def make_fx(f: _c.Callable[..., _t.Any], decomposition_table: _t.Any = None,
            tracing_mode: _b.str = 'real', *, pre_dispatch: _b.bool = False,
            record_module_stack: _b.bool = False) -> _c.Callable[..., _t.Any]:
    """Return a function of example inputs that returns the GraphModule of `f` for such inputs. Nodes call ingot's public
    functions, one for each call of the program."""
