"""Functions of the array API standard that make arrays."""

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ..api.register.register import FUNCTIONS
from ..core.device import require
from ..core.tensor import Tensor, wrap
from ..interop import tensor_protocols
from ..state.mode import Defaults
from .data_types import default_complex, named, take_dtype

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace",
           "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]


def _sizes(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _require_device(device):
    if device is not None:
        require(device)


def _number_dtype(*values):
    """Return the default dtype for some Python numbers."""
    if all(isinstance(v, bool) for v in values):
        return dt.bool_
    if any(isinstance(v, complex) for v in values):
        return default_complex()
    return dt.int64 if all(isinstance(v, int) for v in values) else Defaults.dtype


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """Return an array of a number, nested sequences, a buffer or an array; a copy if asked for or needed."""
    _require_device(device)
    take_dtype(dtype)
    if isinstance(obj, Tensor):
        target = dtype or obj.dtype
        if copy is False and target is not obj.dtype:
            raise ArgumentError(f"asarray: converting {obj.dtype.name} to {target} needs a copy")
        return obj.to(target, copy=bool(copy))
    if isinstance(obj, np.ndarray) or not isinstance(obj, (bool, int, float, complex, list, tuple)):
        return _from_memory(obj, dtype, copy)
    if copy is False:
        raise ArgumentError("asarray: Python numbers and sequences cannot be taken without a copy")
    return FUNCTIONS["tensor"](obj, dtype=dtype)


def _from_memory(obj, dtype, copy):
    if hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray):
        t = tensor_protocols.from_dlpack(obj)
    else:
        t = wrap(np.asarray(obj))
        dt.from_numpy(t._a.dtype)
    return asarray(t, dtype=dtype, copy=copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """Return an array over the memory of any object that speaks DLPack."""
    return tensor_protocols.from_dlpack(x, device=device, copy=copy)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Return evenly spaced numbers in [start, stop)."""
    _require_device(device)
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ArgumentError("arange: step must not be 0")
    d = take_dtype(dtype, _number_dtype(int(start) if isinstance(start, bool) else start, stop, step))
    if (stop - start) * step <= 0:
        return zeros(0, dtype=d)
    return FUNCTIONS["arange"](start, stop, step, dtype=d)


def empty(shape, *, dtype=None, device=None):
    """Return an uninitialised array."""
    return zeros(shape, dtype=dtype, device=device)


def _of_shape(name, doc):
    def fn(shape, *, dtype=None, device=None):
        _require_device(device)
        return FUNCTIONS[name](_sizes(shape), dtype=take_dtype(dtype, Defaults.dtype))

    return named(fn, name, doc)


zeros, ones = _of_shape("zeros", "Return an array of zeros."), _of_shape("ones", "Return an array of ones.")


def full(shape, fill_value, *, dtype=None, device=None):
    """Return an array of one value."""
    _require_device(device)
    return FUNCTIONS["full"](_sizes(shape), fill_value, dtype=take_dtype(dtype, _number_dtype(fill_value)))


def _like(create, name, doc):
    def fn(x, /, *, dtype=None, device=None):
        return create(x.shape, dtype=dtype or x.dtype, device=device)

    return named(fn, name, doc)


empty_like = _like(empty, "empty_like", "Return an uninitialised array with the shape of another.")
zeros_like = _like(zeros, "zeros_like", "Return an array of zeros with the shape of another.")
ones_like = _like(ones, "ones_like", "Return an array of ones with the shape of another.")


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """Return an array of one value with the shape of another."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Return ones on the k-th diagonal of a matrix, zeros elsewhere."""
    _require_device(device)
    d, cols = take_dtype(dtype, Defaults.dtype), n_rows if n_cols is None else n_cols
    rows, k = FUNCTIONS["arange"](n_rows).reshape(-1, 1), min(max(k, -n_rows), cols)
    return FUNCTIONS["eq"](FUNCTIONS["sub"](FUNCTIONS["arange"](cols), rows), k).to(d)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """Return `num` evenly spaced numbers from start to stop, which may be left out."""
    _require_device(device)
    complex_ = isinstance(start, complex) or isinstance(stop, complex)
    d = take_dtype(dtype, default_complex() if complex_ else Defaults.dtype)
    if num < 0:
        raise ArgumentError(f"linspace: num must not be negative, got {num}")
    exact = np.linspace(start, stop, num, endpoint=endpoint, dtype=np.complex128 if d.is_complex else np.float64)
    return wrap(exact.astype(d.np))


def meshgrid(*arrays, indexing="xy") -> list[Tensor]:
    """Return coordinate matrices of one-dimensional arrays."""
    if len({a.dtype for a in arrays}) > 1:
        raise DTypeError("meshgrid takes arrays of one dtype")
    return list(FUNCTIONS["meshgrid"](*arrays, indexing=indexing)) if arrays else []


def _triangle(name, doc):
    def fn(x, /, *, k=0):
        return FUNCTIONS[name](x, k)

    return named(fn, name, doc)


tril = _triangle("tril", "Return the lower triangle of matrices, zeros above the k-th diagonal.")
triu = _triangle("triu", "Return the upper triangle of matrices, zeros below the k-th diagonal.")
