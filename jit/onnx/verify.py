"""Comparison of a model with its function, at the example's sizes, at others, and where conditions of the recording break.

ONNX cannot check conditions at run time, so a model must be right where they do not hold.
"""

import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...ir.errors import IngotError
from ...ir.process_state import float_errors
from ...ir.symbols.substitute import condition_check
from ...ir.tracebacks import user_level
from ...runtime.core.tensor import wrap
from ..errors.errors import ExportError, at
from .model import from_onnx

_TOLERANCE = {2: 2e-2, 4: 1e-3, 8: 1e-6}     # relative to the largest value of a result, by bytes of a real float
_MOST = 8                                    # most conditions to break, and attempts at each
_ATTEMPTS = 400
_TRIED = (*range(2, 66), 127, 128, 129)


@dataclass(frozen=True)
class Check:
    """Tensors, expected arrays, a reason why the model may differ (end of a message), and whether it may."""

    tensors: list
    wanted: list
    why: str
    may_fail: bool


class Trials:
    """Cached results of a `Subject`'s function for its example and at other sizes of the dynamic dims."""

    def __init__(self, subject, free):
        self.subject, self.free = subject, free
        self.results: dict = {}           # sizes -> (tensors, results of the function)

    def run(self, sizes: dict) -> tuple:
        key = tuple(sizes.values())
        if key not in self.results:
            self.results[key] = self._ran(self.subject.at(sizes, self.free))
        return self.results[key]

    def _ran(self, tensors) -> tuple:
        """Return (tensors, results); zeros replace repeated integers if these are indices out of range or out of order."""
        try:
            return tensors, self.subject.results(tensors)
        except Exception:
            zeros = [wrap(np.zeros_like(t._a)) if t._a.dtype.kind in "iu" else t for t in tensors]
            try:
                return zeros, self.subject.results(zeros)
            except Exception:
                pass
            raise

    def runs(self, sizes: dict) -> bool:
        try:
            self.run(sizes)
        except Exception:
            return False
        return True

    def checks(self, tried, conditions: dict) -> list:
        """Return the checks of a model: at the example's sizes, those of `tried`, and some that break conditions."""
        tests = [(line, self._test(condition), condition) for condition, line in list(conditions.items())[:_MOST]]
        broken = [next(filter(self.runs, self._breaking(test)), None) for _, test, _ in tests]
        every = [self.free.sizes, *tried, *[sizes for sizes in broken if sizes is not None]]
        runs = {tuple(sizes.values()): sizes for sizes in every if self.runs(sizes)}
        ones = [sizes for sizes in self.free.ones if tuple(sizes.values()) not in runs and self.runs(sizes)]
        made = [(*self.run(sizes), self._why(sizes, tests), sizes in ones) for sizes in (*runs.values(), *ones)]
        return [Check(tensors, wanted, why, may_fail) for tensors, wanted, why, may_fail in made]

    def _test(self, condition: str) -> Callable:
        check = condition_check((condition,), self.free.names.values())

        def holds(sizes) -> bool:
            try:
                return bool(check(*sizes.values()))
            except (ArithmeticError, ValueError):
                return False

        return holds

    def _breaking(self, test) -> Iterator:
        """Return a few sizes that break a condition; most differ from the recording's in one size."""
        base, rng = self.free.base, random.Random(0)
        near = ({**base, name: n} for n in _TRIED for name in base)
        far = ({name: rng.choice(_TRIED) for name in base} for _ in range(_ATTEMPTS))
        return itertools.islice((sizes for sizes in itertools.chain(near, far) if not test(sizes)), _MOST)

    @staticmethod
    def _why(sizes, tests) -> str:
        """Return a text about the first condition that does not hold for sizes."""
        for line, test, condition in tests:
            if not test(sizes):
                return f"; it does the same for all sizes, and the code{at(line)} asks whether {condition}"
        return ""


def compare(checks: list, source):
    """Raise if a model differs from the function. At sizes of 1, which may broadcast, warn instead."""
    if not checks:
        return
    model = from_onnx(source)
    for check in checks:
        fault = _fault(model, check)
        if fault and not check.may_fail:
            raise ExportError(fault)
        if fault:
            warnings.warn(f"{fault}; it is good for sizes of 2 and more", stacklevel=user_level())


def _fault(model, check) -> str:
    """Return a text about what is wrong with a model's results, or ""."""
    shapes = [tuple(t.shape) for t in check.tensors]
    try:
        with float_errors(all="ignore"):
            found = model.compute(*check.tensors)
    except IngotError as e:
        return "" if check.may_fail else f"the exported model fails for inputs of shapes {shapes}{check.why}: {e}"
    for name, a, b in zip(model.output_names, found if isinstance(found, tuple) else (found,), check.wanted):
        difference = _difference(a._a, b)
        if difference:
            return (f"the exported model does not give what eager gives: its output {name!r} for inputs of shapes {shapes} "
                    f"{difference}{check.why}")
    return ""


def _difference(a, b) -> str:
    """Return a text about how an array differs from the expected one, or ""."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"is {a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
    if a.dtype.kind in "iub":
        return "" if np.array_equal(a, b) else f"differs in {int((a != b).sum())} of {a.size} elements"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    size = a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1)
    finite = np.isfinite(y)
    allowed = _TOLERANCE[size] * max(1e-3, float(np.abs(y[finite]).max(initial=0)))
    same = (x == y) | (np.isnan(x) & np.isnan(y)) | (finite & (np.abs(x - y) <= allowed))
    if same.all():
        return ""
    with float_errors(all="ignore"):
        gaps = np.abs(x - y)[~same]
    most = gaps.max() if np.isfinite(gaps).all() else "nan or inf"
    return f"differs by up to {most} (allowed: {allowed})"
