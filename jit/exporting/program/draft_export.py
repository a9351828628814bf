"""`export.draft_export`: report everything that prevents an export, at once, and export the rest."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ....ir.errors import IngotError
from ...errors.errors import ExportError, PinnedSize
from ..capture import treespec
from ..capture.capture import capture, state_of
from ..capture.example_inputs import arguments_of

__all__ = ["DraftExportReport", "FailureReport", "FailureType"]


class FailureType(Enum):
    """Kind of an obstacle to an export."""

    DATA_DEPENDENT_ERROR = auto()       # Python reads a value that depends on the arguments, or draws random numbers
    GUARD_ADDED = auto()                # the code fixes a size declared as dynamic


@dataclass
class FailureReport:
    """One obstacle, in words."""

    failure_type: FailureType
    data: dict = field(default_factory=dict)
    xfail: bool = False

    def __str__(self):
        return f"{self.failure_type.name}: {self.data['message']}"


@dataclass
class DraftExportReport:
    """All obstacles to an export as it was requested."""

    failures: list

    def successful(self) -> bool:
        return not self.failures

    def __str__(self):
        if not self.failures:
            return "nothing is in the way of an export"
        return "\n".join([f"{len(self.failures)} things are in the way of an export:", *[f"  {i}. {f}" for i, f in
                                                                                  enumerate(self.failures, 1)]])


def drafted(export, fn, example, sizes) -> tuple:
    """Return (the program, or None; the report). Sizes that the code fixes are fixed."""
    failures: list = []
    while True:
        try:
            return export(sizes), DraftExportReport(failures)
        except PinnedSize as e:
            failures.append(FailureReport(FailureType.GUARD_ADDED, {"message": str(e), "size": e.name}))
            sizes = {i: {d: text for d, text in dims.items() if e.name not in text} for i, dims in sizes.items()}
        except ExportError as e:
            found = dict.fromkeys(_all_of(fn, example) or [str(e)])
            failures += [FailureReport(FailureType.DATA_DEPENDENT_ERROR, {"message": message}) for message in found]
            return None, DraftExportReport(failures)


def _all_of(fn, example) -> list:
    given = arguments_of(fn, example)
    args, kwargs = treespec.rebuild(given.structure, given.tensors)
    found: list = []
    state = state_of(fn)
    try:
        with state.restored():
            capture(fn, args, kwargs, given.tensors, None, state, failures=found)
    except IngotError as e:
        found += [] if found else [str(e)]
    return found


class NoModel:
    """Placeholder for the model of a draft without a program."""

    def __init__(self, report: DraftExportReport):
        self._report = report

    def __getattr__(self, name: str) -> Any:
        raise ExportError(f"there is no program of this draft: {self._report}")

    def __call__(self, *args, **kwargs):
        raise ExportError(f"there is no program of this draft: {self._report}")
