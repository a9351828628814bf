"""Frames that run during a recorded call and are no part of it.

A garbage collection runs finalisers and callbacks of any code at any time. A replay that drops an object runs its `__del__`
again by itself. The code of a module runs once, at its first import.
"""

import importlib._bootstrap
from typing import Any

from ...runtime.state.collector import ends_collection, is_collecting
from ..bytecode.user_code import is_user_code
from ..errors.errors import RecordingStatus
from ..guards.frames import works_for_user

LOADS = importlib._bootstrap._load_unlocked.__code__      # type: ignore[attr-defined]


class FramesApart:
    """Detection of such frames. `current` is the outermost one that runs, or None: below it nothing counts."""

    def __init__(self, status: RecordingStatus):
        self._status = status
        self.current: Any = None

    def interrupts(self, frame) -> bool:
        """Note a frame of user code that starts; return whether a garbage collection called it."""
        if is_collecting() or ends_collection(frame):
            self.current = frame
        return self.current is not None

    def sees(self, frame, event):
        """Note an event below the current frame, or of it."""
        if frame is self.current and event == "return":
            self.current = None

    def finalises(self, frame) -> bool:
        """Note a frame of a `__del__` that starts; return whether the interpreter called it."""
        caller = frame.f_back
        if caller is not None and "__del__" in caller.f_code.co_names:
            return False
        self.current = frame
        return True

    def loads(self, frame):
        """Note a frame of `LOADS`, which runs the code of a module that is imported for the first time."""
        spec = frame.f_locals["spec"]
        if is_user_code(spec.name, spec.origin or ""):
            self.current = frame
            if works_for_user(frame):
                self._status.first_time = f"it imported {spec.name}"
