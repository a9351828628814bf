"""Parameters of distributions: broadcasting, and both forms of probabilities."""

import functools
from operator import attrgetter

from ...ir.errors import ArgumentError
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import enable_grad
from ..core.tensor import Tensor
from ..state.mode import Defaults

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]


def broadcast_all(*values) -> tuple:
    """Return tensors and numbers as tensors of one shape; numbers take the dtype of the first tensor."""
    if not all(isinstance(v, (Tensor, int, float)) for v in values):
        raise ArgumentError("distributions take numbers and tensors as parameters, got "
                            + ", ".join(type(v).__name__ for v in values))
    kind = next((v.dtype for v in values if isinstance(v, Tensor)), Defaults.dtype)
    here = next((v.device for v in values if isinstance(v, Tensor)), None)
    tensors = [v if isinstance(v, Tensor) else FUNCTIONS["tensor"](v, dtype=kind, device=here) for v in values]
    return tuple(FUNCTIONS["broadcast_tensors"](*tensors))


def clamp_probs(probs):
    """Limit probabilities to the dtype's precision from 0 and 1, so that their logarithms are finite."""
    eps = FUNCTIONS["finfo"](probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits, is_binary=False):
    """Return the probabilities of log-odds, or of unnormalised log-probabilities."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs, is_binary=False):
    """Return the log-odds, or the log-probabilities, of probabilities."""
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


def _standard_normal(shape, dtype, device):
    """Draw standard normal numbers."""
    return FUNCTIONS["randn"](shape, dtype=dtype, device=device)


def _sum_rightmost(value, dim):
    """Return the sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


class lazy_property(functools.cached_property):
    """Property that is computed on first use, with gradients on, then an attribute."""

    def __init__(self, wrapped):
        super().__init__(wrapped)
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.attrname or self.wrapped.__name__, value)
        return value


def forwarded(owner, *names):
    """Return properties that read the attributes `names` of an attribute."""
    return [property(attrgetter(f"{owner}.{name}")) for name in names]


def where(condition, x, y):
    """Return x where a condition holds, else y."""
    return FUNCTIONS["where"](condition, x, y)


def as_values(value, like):
    """Return a number as a tensor like the parameters of a distribution; other values as they are."""
    return FUNCTIONS["full_like"](like, value) if isinstance(value, (int, float)) else value


def tril_matrix_to_vec(mat, diag=0):
    """Return the entries of a lower triangle, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ArgumentError(f"diag must be between {-n} and {n - 1}, got {diag}")
    rows, columns = FUNCTIONS["tril_indices"](n, n, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec, diag=0):
    """Return a lower triangular matrix from its entries, row by row."""
    count = vec.shape[-1]
    n = int((-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2)
    rows, columns = FUNCTIONS["tril_indices"](n, n, diag, device=vec.device)
    if rows.numel() != count:
        raise ArgumentError(f"{count} entries do not fill the lower triangle of a square matrix")
    empty = FUNCTIONS["zeros"]((*vec.shape[:-1], n * n), dtype=vec.dtype, device=vec.device)
    where = (rows * n + columns).expand(vec.shape)
    return empty.scatter(-1, where, vec).reshape(*vec.shape[:-1], n, n)
