"""Switches of ingot that the function reads or sets (`runtime/state/switches.py`).

A switch that is read is guarded by its value at the start of the call, unless it holds what the function itself has set. A
replay sets none, so a switch that is left changed is refused. One that was set to what it held is guarded: at another call it
might change.
"""

from ...ir.interrupts import raise_interrupt
from ...runtime.core.storage import user_line
from ...runtime.state.switches import Switch
from ..errors.errors import RecordingStatus, at
from ..guards.guards import ReadCondition
from ..guards.snapshot import looks_like, snapshot
from .read_log import ReadLog


def _outcome(question):
    """Return the answer to a question, or the class of the error that it raised."""
    try:
        return question()
    except Exception as error:
        raise_interrupt(error, question)
        return type(error)


class SwitchLog:
    """Reads and writes of switches, and answers to questions."""

    def __init__(self, status: RecordingStatus, reads: ReadLog):
        self._status, self._reads = status, reads
        self._set: dict = {}        # by id: [switch, expectation of its value before, line, whether the caller restores it]

    def read(self, switch: Switch):
        """Guard a switch that is about to be read."""
        found = self._set.get(id(switch))
        if found is None or looks_like(switch.peek(), found[1]):
            self._guard(switch)

    def set(self, switch: Switch, is_restored: bool):
        """Note a switch that is about to be set."""
        found = self._set.setdefault(id(switch), [switch, snapshot(switch.peek()), user_line(), True])
        found[3] = found[3] and is_restored

    def asked(self, name: str, question):
        """Guard the answer to a question that is about to be asked."""
        self._reads.add_condition(ReadCondition.of(
            ("asked", question.func, question.args, tuple(question.keywords.items())), lambda: _outcome(question),
            f"what {name}() answers", snapshot))

    def check(self):
        """Refuse a function that leaves switches changed."""
        for switch, before, line, is_restored in self._set.values():
            if not looks_like(switch.peek(), before):
                self._status.refuse(f"it leaves {switch.name} changed{at(line)}, which a replay would not do; change it "
                                    "outside, or change it back")
            elif not is_restored:
                self._guard(switch)

    def _guard(self, switch):
        self._reads.add_condition(ReadCondition.of(("switch", id(switch)), switch.peek, switch.name, snapshot))
