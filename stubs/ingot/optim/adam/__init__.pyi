"""Adam, AdamW, NAdam, RAdam and Adamax."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.optim import Adam as Adam
from ingot.optim import AdamW as AdamW
from ingot.optim import Adamax as Adamax
from ingot.optim import NAdam as NAdam
from ingot.optim import RAdam as RAdam

def averages(s: _t.Any, g: _t.Any, n: _t.Any) -> None:
    """Update the running averages of the gradient and its square."""
def weights_of(betas: _t.Any) -> _b.dict[_t.Any, _t.Any]:
    """Return the weights of both running averages."""
