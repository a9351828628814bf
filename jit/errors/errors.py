"""Errors of tracing, with the user's line and a way out."""

from ...ir.errors import IngotError


class TraceError(IngotError, RuntimeError):
    """A function did something that a trace could not repeat faithfully."""


class TracingCheckError(TraceError):
    """What PyTorch raises where a trace does not give what the function gives. No trace of ingot is one: it is guarded."""


class TracerWarning(RuntimeWarning):
    """A traced function runs eagerly, all of it or again and again; the message says why."""

    @staticmethod
    def ignore_lib_warnings():
        """Nothing: ingot's own modules cause no such warnings."""


class DisturbedError(TraceError):
    """A call that ran as it is and is not kept: what it had read was another when it ended, which another thread may have
    changed, or it put into a dictionary what a trace could not make again. Too many in a row, and it is an error."""


class FirstTimeError(DisturbedError):
    """The first call did what later ones do not: it filled a cache of results, or gave a lazy module its sizes."""


class RunEagerlyError(FirstTimeError):
    """The call did what a trace never repeats, and is right as it ran."""


class ReplacedError(FirstTimeError):
    """The call put an object that it had made in the place of another one; where calls in a row do so, they run as they are."""


class SeveralDevicesError(FirstTimeError):
    """The call worked on several devices beside the host; a compiled one works on one."""


class ProxyError(TraceError):
    """Code that is not Python's did not take what stands for a number. `reads`: for one that was read out of a tensor, not for
    a size or an argument; `may_repeat`: nothing had been written yet."""

    reads = may_repeat = False


class ExportError(IngotError, RuntimeError):
    """A function that cannot be exported, or an export that does not give what eager gives."""


class PinnedSize(ExportError):
    """A size that was to be free has a fixed value in the code."""

    def __init__(self, name: str, said: str):
        super().__init__(said)
        self.name = name


class NotFiniteError(IngotError, ArithmeticError):
    """An operation made nan or infinity of operands without, while `jit.debug(nan=True)` was on."""


class Verdict:
    """Reasons why a recording fails or is not kept.

    problem      the first error of an action that a trace cannot repeat
    first_time   an action of this call that later calls do not repeat
    filled       why no recording is kept if later calls, too, put new values into a dictionary
    replaced     why this recording is not kept; a call that replaces no object can be recorded
    """

    def __init__(self):
        self.problem: TraceError | None = None
        self.first_time = self.filled = self.replaced = ""

    def refuse(self, reason):
        """Note an action that a trace cannot repeat."""
        if self.problem is None:
            self.problem = TraceError("this function cannot be traced: " + reason)


def at(line) -> str:
    """Return ` at file:line` for a message, or nothing."""
    return f" at {line[0]}:{line[1]}" if line else ""
