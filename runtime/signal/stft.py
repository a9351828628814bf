"""Short-time Fourier transforms: spectra of overlapping windows, and the inverse."""

from ...ir.errors import ArgumentError, DTypeError, ShapeError
from ...ir.ops.core import complex_numbers as co
from ...ir.ops.math import fourier as fo
from ...ir.ops.nn.resample import border_pad
from ...ir.suggestions import unknown_choice
from ..api.math.reductions import holds_anywhere
from ..api.register.register import FUNCTIONS, api
from ..api.register.type_promotion import single_in_autocast
from ..api.views.ranges import arange
from ..api.views.tensor_factories import ones, zeros
from ..core.tensor import Tensor


def _window(window, win_length, n_fft, like, device):
    """Return the window, padded on both sides to the size of the transform."""
    n = n_fft if win_length is None else win_length
    if not 0 < n <= n_fft:
        raise ArgumentError(f"win_length must be in 1 .. n_fft ({n_fft}), got {n}")
    if window is None:
        window = ones(n, dtype=like, device=device)
    if window.ndim != 1 or window.shape[0] != n:
        raise ShapeError(f"the window must be a vector of {n} numbers, got {window.aval}")
    before = (n_fft - n) // 2
    return FUNCTIONS["constant_pad_nd"](window, (before, n_fft - n - before)) if n < n_fft else window


def _extended(x, by, mode):
    """Pad rows on both sides."""
    n = x.shape[-1]
    if mode == "constant":
        return FUNCTIONS["constant_pad_nd"](x, (by, by))
    if mode not in ("reflect", "replicate", "circular"):
        raise unknown_choice("stft: pad_mode", mode, ("constant", "reflect", "replicate", "circular"))
    if mode == "reflect" and by >= n:
        raise ShapeError(f"stft: a row of {n} numbers cannot be reflected to {by} more on each side; use center=False")
    if mode == "circular" and by > n:           # more than once around
        return FUNCTIONS["index_select"](x, 1, arange(-by, n + by, device=x.device).remainder(n))
    return border_pad(x, low=(0, by), high=(0, by), mode=mode)


@api(checked=True)
@single_in_autocast
def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    """Return the spectra of windows of n_fft numbers, hop_length apart: (..., frequencies, windows)."""
    if return_complex is None and not input.dtype.is_complex:
        raise ArgumentError("stft needs return_complex=True (or False, for pairs of real and imaginary parts)")
    if input.ndim not in (1, 2):
        raise ShapeError(f"stft takes a vector or a batch of vectors, got {input.aval}")
    hop = n_fft // 4 if hop_length is None else hop_length
    if hop < 1:
        raise ArgumentError(f"hop_length must be positive, got {hop}")
    x = input if input.ndim == 2 else input.unsqueeze(0)
    if align_to_window and center:
        raise ArgumentError("stft: align_to_window goes with center=False, where the first window begins at the first number")
    if center:
        x = _extended(x, n_fft // 2, pad_mode)
    elif align_to_window and win_length is not None:        # pad with zeros where the window extends beyond the numbers
        before = (n_fft - win_length) // 2
        x = FUNCTIONS["constant_pad_nd"](x, (before, n_fft - win_length - before))
    if x.shape[-1] < n_fft:
        raise ShapeError(f"stft: windows of {n_fft} numbers do not fit into {x.shape[-1]}")
    frames = x.unfold(-1, n_fft, hop) * _window(window, win_length, n_fft, co.PARTS.get(x.dtype, x.dtype), x.device)
    norm = "ortho" if normalized else "backward"
    halves = not (x.dtype.is_complex or frames.dtype.is_complex) if onesided is None else onesided
    if halves:
        spectra = fo.rfft(frames, dim=frames.ndim - 1, norm=norm)
    else:
        whole = frames if frames.dtype.is_complex else frames.to(co.WHOLES[frames.dtype])
        spectra = fo.fft(whole, dim=(frames.ndim - 1,), inverse=False, norm=norm)
    found = spectra.transpose(1, 2)
    found = found if input.ndim == 2 else found.squeeze(0)
    return found if return_complex is not False else FUNCTIONS["view_as_real"](found)


@api(checked=True)
def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):
    """Return the best approximation to numbers whose `stft` has these spectra."""
    if not input.dtype.is_complex:
        raise DTypeError(f"istft takes complex numbers, as stft gives them, got {input.aval}")
    if input.ndim not in (2, 3):
        raise ShapeError(f"istft takes complex (frequencies, windows), or a batch of these, got {input.aval}")
    hop = n_fft // 4 if hop_length is None else hop_length
    spectra = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)
    count, have = spectra.shape[1:]
    norm = "ortho" if normalized else "backward"
    onesided = have != n_fft if onesided is None else onesided
    if have != (n_fft // 2 + 1 if onesided else n_fft):
        raise ShapeError(f"istft with n_fft={n_fft} does not take {have} frequencies")
    if return_complex:
        if onesided:
            raise ArgumentError(f"istft: complex numbers have {n_fft} frequencies, not {have}; pass return_complex=False")
        frames = fo.fft(spectra, dim=(2,), inverse=True, norm=norm)
    else:
        frames = fo.irfft(spectra[:, :, :n_fft // 2 + 1], dim=2, n=n_fft, norm=norm)
    shape = _window(window, win_length, n_fft, frames.dtype, frames.device)
    total = n_fft + hop * (count - 1)
    starts, inside = (arange(n, device=frames.device) for n in (count, n_fft))
    at = (starts.unsqueeze(1) * hop + inside).reshape(-1)
    sums = _added(frames * shape, at, total)
    weight = _added((shape * shape).expand(1, count, n_fft), at, total)
    start = n_fft // 2 if center else 0
    stop = total - (n_fft // 2 if center else 0) if length is None else min(start + length, total)
    weight = weight[:, start:stop]
    if holds_anywhere(weight.abs() <= 1e-11):
        raise ArgumentError("istft: the windows do not cover all numbers; their squares add up to 0 somewhere")
    found = sums[:, start:stop] / weight
    if length is not None and length > stop - start:
        found = FUNCTIONS["constant_pad_nd"](found, (0, length - (stop - start)))
    return found if input.ndim == 3 else found.squeeze(0)


def _added(frames: Tensor, at, total: int):
    """Add up windows at their offsets."""
    start = zeros(frames.shape[0], total, dtype=frames.dtype, device=frames.device)
    return FUNCTIONS["index_add"](start, 1, at, frames.reshape(frames.shape[0], -1))
