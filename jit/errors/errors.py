"""Errors of tracing. Their messages name what was found, a way out, and at the end file, line and function."""

from collections.abc import Callable
from typing import NamedTuple

from ...ir.errors import IngotError
from ...ir.source_location import place_text
from ...runtime.state.mode import tls

REFUSED = "this function cannot be traced: "


class Position(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int
    function: str

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.function.rpartition(".")[2]

    def of(self, text: str) -> str:
        """Return the text with the file, line and function that it does not name yet."""
        if f"in {self.function}]" in text:
            return text
        line = place_text(self)
        return f"{text} [in {self.function}]" if line in text else f"{text} [{line}, in {self.function}]"


def _tell_recording(error):
    """Tell the recording that runs of an error, which user code may catch."""
    tracker = getattr(tls.m.recorder, "tracker", None)
    if tracker is not None and tracker.status.raised is None:
        tracker.status.raised = error


class TraceError(IngotError, RuntimeError):
    """Error of a function that does what a trace could not repeat faithfully. User code that catches it changes nothing: the
    recording that runs is told of each."""

    position: Position | None = None        # the user's line, once it is part of the message

    def __init__(self, *args):
        super().__init__(*args)
        _tell_recording(self)

    def locate(self, position: Position | None):
        """Add the user's line to the message, unless it has one."""
        if self.position is None and position is not None:
            self.position, self.args = position, (position.of(str(self)),)


class TracingCheckError(TraceError):
    """Error of PyTorch for a trace whose results are wrong. ingot never raises it: its traces are guarded."""


class TracerWarning(RuntimeWarning):
    """Warning that a traced function runs eagerly, always or often. The message says why."""

    @staticmethod
    def ignore_lib_warnings():
        """Do nothing: ingot's own modules cause no such warnings."""


class DisturbedError(TraceError):
    """Error of a call that ran eagerly and is not recorded: state that it had read changed meanwhile, perhaps by another
    thread, or it put into a dictionary what a trace could not make again."""


class UnrepeatableError(TraceError):
    """Error of a value in the results, or left outside, that a replay could not make again: `what` it is."""

    def __init__(self, what: str, instead: str):
        super().__init__(f"this function cannot be traced: it returns {what}, which a trace could not make again; {instead}")
        self.what = what


class FirstTimeError(DisturbedError):
    """Error of a first call that did what later ones do not: it filled a cache, or gave a lazy module its sizes."""


class RunEagerlyError(FirstTimeError):
    """Error of a call that did what a trace never repeats, and is right as it ran."""


class MovedError(TraceError):
    """Error of a call that has not begun, since what its recording looks up has changed meanwhile."""


class ReplacedError(FirstTimeError):
    """Error of a call that replaced an object by one that it had made. If calls in a row do so, they run eagerly."""


class SeveralDevicesError(FirstTimeError):
    """Error of a call that worked on several devices beside the host."""


class ProxyError(TraceError):
    """Error of C code that did not accept a proxy; `reads`: for a number from a tensor; `may_repeat`: nothing was written
    yet."""

    reads = may_repeat = False


class RanMoreError(TraceError):
    """Error of a recording that ran code of users which the call does not run: hooks and functions of a later backward."""


class ExportError(IngotError, RuntimeError):
    """Error of a function that cannot be exported, or of an export whose results differ from eager ones."""

    def __init__(self, *args):
        super().__init__(*args)
        _tell_recording(self)


class PinnedSize(ExportError):
    """Error of an export in which a size that should be free has a fixed value in the code."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.name = name


class NotFiniteError(IngotError, ArithmeticError):
    """Error of an operation that made nan or infinity out of finite operands, under `jit.debug(nan=True)`."""


class RecordingStatus:
    """Reasons why a recording fails or is not kept. `position` returns the user's line that runs, or None."""

    def __init__(self, position: Callable = lambda: None):
        self._position = position
        self.raised: TraceError | ExportError | None = None         # the first error meanwhile; user code may have caught it
        self.left_by: BaseException | None = None       # what the function has raised
        self.handler_error: BaseException | None = None     # what the handler of a signal raised last
        self._problem = ""          # the first action that a trace cannot repeat, for a message,
        self._problem_position: Position | None = None      # and its line
        self.is_misled = False      # whether user code may have met a proxy where eager code meets a number
        self.first_time = ""        # action of this call that later calls do not repeat
        self.is_interrupted = False     # whether other code may have run in the middle of the call
        self.is_signalled = False       # whether the handler of a signal did
        self.replaced = ""          # this call left something outside that no replay could make; other calls can be recorded

    @property
    def has_problem(self) -> bool:
        """Whether the run did what a trace cannot repeat."""
        return bool(self._problem)

    def refuse(self, reason):
        """Note an action that a trace cannot repeat."""
        if not self._problem:
            self._problem, self._problem_position = REFUSED + reason, self._position()

    def raise_caught(self):
        """Raise the first error that user code has caught."""
        if self.raised is not None:
            raise self.raised

    def raise_problem(self):
        """Raise an error if the run did what a trace cannot repeat."""
        if self._problem:
            raise self._error()

    def _error(self) -> TraceError:
        error = TraceError(self._problem)
        error.locate(self._problem_position)
        return error

    def close(self):
        """Let go of the errors, which lead to the frames of the run."""
        self.raised = self.left_by = self.handler_error = None


def at(line) -> str:
    """Return ` at file:line` for a message, or nothing."""
    return f" at {place_text(line)}" if line else ""
