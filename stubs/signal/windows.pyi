"""The names of `ingot.signal.windows`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

import builtins
from typing import Any

from ..runtime.signal.windows import exponential as exponential
from ..runtime.signal.windows import gaussian as gaussian
from ..runtime.signal.windows import general_cosine as general_cosine
from ..runtime.signal.windows import general_hamming as general_hamming
from ..runtime.signal.windows import kaiser as kaiser

def bartlett(M, *, sym: builtins.bool = True, dtype=None, layout=..., device=None,
             requires_grad: builtins.bool = False) -> Any:
    """Return a triangle that is 0 at its ends."""
def blackman(M, *, sym: builtins.bool = True, dtype=None, layout=..., device=None,
             requires_grad: builtins.bool = False) -> Any:
    """Return a sum of two cosines with small side lobes."""
def cosine(M, *, sym: builtins.bool = True, dtype=None, layout=..., device=None,
           requires_grad: builtins.bool = False) -> Any:
    """Return half a sine."""
def hamming(M, *, sym: builtins.bool = True, dtype=None, layout=..., device=None,
            requires_grad: builtins.bool = False) -> Any:
    """Return a raised cosine that is 0.08 at its ends."""
def hann(M, *, sym: builtins.bool = True, dtype=None, layout=..., device=None, requires_grad: builtins.bool = False) -> Any:
    """Return a raised cosine that is 0 at its ends."""
def nuttall(M, *, sym: builtins.bool = True, dtype=None, layout=..., device=None,
            requires_grad: builtins.bool = False) -> Any:
    """Return a sum of three cosines with very small side lobes."""
