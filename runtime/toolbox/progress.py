"""Progress bars with rate, numbers and time left; silent without a terminal."""

import sys
import time
from contextlib import contextmanager
from typing import Any

__all__ = ["progress"]


class Progress:
    """An iterable with a progress bar; `update(loss=...)` sets the numbers beside it."""

    def __init__(self, iterable, description, total, visible, refresh):
        self.iterable, self.description, self.total = iterable, description, total
        self.visible, self.refresh = visible, refresh
        self.done, self.numbers = 0, {}
        self._bar: Any = None
        self._task: Any = None

    def __len__(self):
        return self.total if self.total is not None else len(self.iterable)

    def update(self, **numbers):
        """Set numbers to show, by name: Python numbers or tensors of one element."""
        self.numbers.update(numbers)

    def __iter__(self):
        if not self.visible:
            yield from self.iterable
            return
        with self._shown():
            shown = 0.0
            for item in self.iterable:
                yield item
                self.done += 1
                now = time.monotonic()
                if now - shown >= self.refresh:
                    self._show()
                    shown = now
            self._show()

    @contextmanager
    def _shown(self):
        self.done = 0
        self._bar = _new_bar()
        with self._bar:
            self._task = self._bar.add_task(self.description, total=self.total, numbers="")
            yield
        self._bar = None

    def _show(self):
        self._bar.update(self._task, completed=self.done, numbers=self.text())

    def text(self) -> str:
        return "  ".join(f"{name} {_short(value)}" for name, value in self.numbers.items())


def _short(value) -> str:
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _new_bar():
    """Return a bar: description, bar, count, rate, time left, numbers."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task):
            return Text("" if not task.speed else f"{task.speed:.3g}/s")

    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn(),
                    TextColumn("{task.fields[numbers]}"), console=Console(file=sys.stderr), auto_refresh=False)


def progress(iterable, description="", *, total=None, disable=None, refresh=0.1):
    """Iterate over `iterable` behind a progress bar on standard error: count, rate, time left, and the numbers of
    `update(loss=loss)`.

    It is silent unless standard error is a terminal; `disable` overrides that. `refresh` is the minimum time between updates,
    in seconds.
    """
    if total is None and hasattr(iterable, "__len__"):
        total = len(iterable)
    visible = sys.stderr is not None and sys.stderr.isatty() if disable is None else not disable
    return Progress(iterable, description, total, visible, refresh)
