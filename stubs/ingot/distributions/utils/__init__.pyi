"""Parameters of distributions: broadcasting, and both forms of probabilities."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor

def broadcast_all(*values: _t.Any) -> _b.tuple[_t.Any, ...]:
    """Return tensors and numbers as tensors of one shape; numbers take the dtype of the first tensor."""
def clamp_probs(probs: _Tensor | _b.complex) -> _t.Any:
    """Limit probabilities to the dtype's precision from 0 and 1, so that their logarithms are finite."""

class lazy_property:
    """Property that is computed on first use, with gradients on, then an attribute."""
    wrapped: _t.Any
    def __get__(self, instance: _t.Any, owner: _t.Any = None) -> _t.Any: ...
    def __init__(self, wrapped: _t.Any) -> None: ...

def logits_to_probs(logits: _Tensor | _b.complex, is_binary: _b.bool = False) -> _t.Any:
    """Return the probabilities of log-odds, or of unnormalised log-probabilities."""
def probs_to_logits(probs: _Tensor | _b.complex, is_binary: _b.bool = False) -> _t.Any:
    """Return the log-odds, or the log-probabilities, of probabilities."""
def tril_matrix_to_vec(mat: _t.Any, diag: _t.Any = 0) -> _t.Any:
    """Return the entries of a lower triangle, row by row."""
def vec_to_tril_matrix(vec: _t.Any, diag: _t.Any = 0) -> _t.Any:
    """Return a lower triangular matrix from its entries, row by row."""
