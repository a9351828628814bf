"""Text of tensors, in PyTorch's format."""

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import DTypeError
from ...ir.suggestions import unknown_choice
from ..state.mode import Defaults, tls
from ..state.switches import Switch
from .device_array import DeviceArray
from .node import label_of
from .tensor import Tensor


class Options(NamedTuple):
    """Options of printed numbers."""

    precision: int = 4
    threshold: float = 1000         # more elements than this are summarised
    edgeitems: int = 3              # and then so many are shown at either end of each dimension
    linewidth: int = 80
    sci_mode: bool | None = None    # None: scientific notation where the range of values asks for it


options = Switch("how tensors print", Options())
PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None) -> None:
    """Set how tensors print: a profile ("default", "short" or "full") first, then the options given by name."""
    if profile is not None and profile not in PROFILES:
        raise unknown_choice("profile", profile, PROFILES)
    named = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen = {**PROFILES.get(profile, {}), **{name: value for name, value in named.items() if value is not None}}
    options.set(options.peek()._replace(**chosen, sci_mode=sci_mode))


class Reals:
    """Formatter of floating point numbers: one notation and one width for a whole tensor."""

    def __init__(self, values):
        self.whole, self.scientific, self.width = True, False, 1
        shown = values[np.isfinite(values) & (values != 0)]
        if not shown.size:
            return
        self.whole = bool((shown == np.ceil(shown)).all())
        largest, smallest = np.abs(shown).max(), np.abs(shown).min()
        wide = largest / smallest > 1000 or largest > 1e8 or (not self.whole and smallest < 1e-4)
        self.scientific = wide if options.peek().sci_mode is None else options.peek().sci_mode
        self.width = max(len(self.text(v)) for v in shown.tolist())

    def text(self, v: float) -> str:
        if self.scientific:
            return f"{v:.{options.peek().precision}e}"
        if self.whole:
            return f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
        return f"{v:.{options.peek().precision}f}"

    def __call__(self, v) -> str:
        return self.text(v).rjust(self.width)


class Complexes:
    """Formatter of complex numbers: real and imaginary parts each by their own rule."""

    def __init__(self, values):
        values = values.astype(np.complex128)       # limits are compared as those of real numbers are
        self.real, self.imag = Reals(values.real), Reals(values.imag)
        self.width = self.real.width + self.imag.width + 2

    def __call__(self, v) -> str:
        sign = "" if v.imag < 0 or (v.imag == 0 and math.copysign(1, v.imag) < 0) else "+"
        return f"{self.real(v.real)}{sign}{self.imag(v.imag).lstrip()}j"


class Others:
    """Formatter of integers and bools."""

    def __init__(self, values):
        self.width = max((len(str(v)) for v in values.tolist()), default=0)

    def __call__(self, v) -> str:
        return str(v).rjust(self.width)


def formatter(values):
    """Return the formatter for an array of numbers."""
    kind = {"f": Reals, "c": Complexes}.get(values.dtype.kind, Others)
    return kind(values.reshape(-1))


def _ends(a):
    """Return an array without the middle of every long dimension."""
    edge = options.peek().edgeitems
    for axis in range(a.ndim):
        if a.shape[axis] > 2 * edge:
            a = np.concatenate([a.take(range(edge), axis), a.take(range(-edge, 0), axis)], axis)
    return a


def _summarised_rows(items, short):
    """Return the rows to show, with None where some are left out."""
    edge = options.peek().edgeitems
    return [*items[:edge], None, *items[len(items) - edge:]] if short and len(items) > 2 * edge else list(items)


def _vector(a, indent, fmt, short) -> str:
    cells = [" ..." if v is None else fmt(v) for v in _summarised_rows(a.tolist(), short)]
    per_line = max(1, int((options.peek().linewidth - indent) / max(1, fmt.width + 2)))
    lines = [", ".join(cells[i:i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _text(a, indent, fmt, short) -> str:
    if a.ndim == 0:
        return fmt(a.item())
    if a.ndim == 1:
        return _vector(a, indent, fmt, short)
    rows = ["..." if r is None else _text(r, indent + 1, fmt, short) for r in _summarised_rows(a, short)]
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def array_text(a, indent: int = 0) -> str:
    """Return the numbers of an array in nested brackets."""
    if not a.size:
        return "[]"
    if a.dtype.isbuiltin == 2:      # bfloat16, float8
        a = a.astype(np.float32)
    short = a.size > options.peek().threshold
    shown = _ends(a) if short else a
    if shown.dtype.kind == "f":
        shown = shown.astype(np.float64)
    return _text(a, indent, formatter(shown), short)


def is_implied(d) -> bool:
    """Return whether a dtype needs no mention."""
    complex_default = dt.complex128 if Defaults.dtype is dt.float64 else dt.complex64
    return d in (Defaults.dtype, dt.int64, dt.bool_, complex_default)


def _suffixes(t) -> list:
    found = []
    if t.is_meta or (not t._a.size and t.ndim != 1):
        found.append(f"size={tuple(t.shape)}")
    if (t.dtype is not Defaults.dtype) if t.is_meta or not t._a.size else not is_implied(t.dtype):
        found.append(f"dtype={t.dtype!r}")
    if t._a.__class__ is DeviceArray:
        found.insert(0, f"device='{t.device}'")
    if not t.is_leaf:
        found.append(f"grad_fn=<{label_of(t._node)}>")
    elif t.requires_grad:
        found.append("requires_grad=True")
    return found


def closed(text, suffixes, indent, apart=False) -> str:
    """Return the text with its suffixes, broken before a suffix that is too long for the line, or before the first one if
    `apart`."""
    last = len(text) - text.rfind("\n") + 1
    for s in suffixes:
        if last + len(s) + 2 > options.peek().linewidth or (apart and s is suffixes[0]):
            text += ",\n" + " " * indent + s
            last = indent + len(s)
        else:
            text += ", " + s
            last += len(s) + 2
    return text + ")"


def part_text(name: str, t: Tensor, indent: int) -> str:
    """Return the text of a part of a composite tensor."""
    if tls.m.recorder is not None:
        tensor_text(t)          # a recording holds for what that says
    head = f"{name}=tensor("
    text = "..." if t.is_meta else array_text(t.cpu()._a, indent + len(head))
    size = "" if t.numel() and not t.is_meta else f", size={tuple(t.shape)}"
    return f"{head}{text}{size})"


def tensor_text(t: Tensor) -> str:
    """Return repr() and str() of a tensor."""
    a = t._a.numpy() if t._a.__class__ is DeviceArray and not t.is_meta else t._a
    head = f"{'tensor' if t._own_class is None else t._own_class.__name__}("
    shown = "..." if t.is_meta else array_text(a, len(head))
    text = closed(head + shown, _suffixes(t), len(head))
    recorder = tls.m.recorder
    if recorder is not None:
        recorder.read(t, "repr", text)
    return text


def _format(self, spec) -> str:
    recorder = tls.m.recorder
    mark = None if recorder is None else recorder.formatted(self, spec, sys._getframe(1))
    if mark is not None:
        return mark
    if self.ndim and spec:
        raise DTypeError(f"the format {spec!r} takes one number, got {self.aval}; index it, or use item() or tolist()")
    return str(self) if self.ndim else self.item().__format__(spec)


Tensor.__repr__ = tensor_text
Tensor.__format__ = _format
