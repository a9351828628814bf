"""The Fourier transform extension of the array API standard, by numpy. It has no gradients."""

import numpy as np

from ...ir.suggestions import unknown_choice
from ..api.register.register import FUNCTIONS
from ..core.device import require
from ..core.tensor import wrap
from ..state.mode import Defaults
from .data_types import checked, named, take_dtype
from .elementwise_functions import without_history

_ONE_AXIS = {"fft": "floating", "ifft": "floating", "rfft": "real floating", "irfft": "floating", "hfft": "floating",
             "ihfft": "real floating"}
_SEVERAL_AXES = {"fftn": "floating", "ifftn": "floating", "rfftn": "real floating", "irfftn": "floating"}

__all__ = sorted([*_ONE_AXIS, *_SEVERAL_AXES, "fftfreq", "fftshift", "ifftshift", "rfftfreq"])


def _input(name, x, category, norm):
    if norm not in ("backward", "ortho", "forward"):
        raise unknown_choice(f"{name}: norm", norm, ("backward", "ortho", "forward"))
    return without_history(name, checked(name, x, category))


def _along_one(name, category):
    fn = getattr(np.fft, name)

    def function(x, /, *, n=None, axis=-1, norm="backward"):
        return wrap(fn(_input(name, x, category, norm), n=n, axis=axis, norm=norm))

    return function


def _along_several(name, category):
    fn = getattr(np.fft, name)

    def function(x, /, *, s=None, axes=None, norm="backward"):
        a = _input(name, x, category, norm)
        if s is not None and axes is None:
            axes = tuple(range(-len(s), 0))
        return wrap(fn(a, s=s, axes=axes, norm=norm))

    return function


for _make, _table in ((_along_one, _ONE_AXIS), (_along_several, _SEVERAL_AXES)):
    for _name, _category in _table.items():
        globals()[_name] = named(_make(_name, _category), _name, f"The transform `{_name}` of arrays of {_category} dtype.")


def _frequencies(fn, n, d, dtype, device):
    if device is not None:
        require(device)
    return wrap(fn(n, d=d).astype(take_dtype(dtype, Defaults.dtype).np))


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Return the frequencies of the elements of an `fft`."""
    return _frequencies(np.fft.fftfreq, n, d, dtype, device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Return the frequencies of the elements of an `rfft`."""
    return _frequencies(np.fft.rfftfreq, n, d, dtype, device)


def _shifted(x, axes, back):
    axes = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    for axis in axes:
        half = x.shape[axis] // 2
        x = FUNCTIONS["roll"](x, -half if back else half, axis)
    return x


def fftshift(x, /, *, axes=None):
    """Move the element of frequency 0 to the middle."""
    return _shifted(checked("fftshift", x, "floating"), axes, False)


def ifftshift(x, /, *, axes=None):
    """Undo `fftshift`."""
    return _shifted(checked("ifftshift", x, "floating"), axes, True)
