"""Results of traced functions as people see them: texts and dictionaries whose repr is short, with HTML for notebooks.

Programs use them as what they are: `stats()` is a dict, `explain()` a str, `graphs` and `kernels` are dicts. A `print` of an
explanation or of one kernel shows all of it.
"""

import re
import textwrap

from ...ir.draw import view
from ...ir.draw.tables import COLUMNS, LINES, clipped, counted, html_table, html_text, shortened, text_table
from ...ir.errors import MissingKeyError
from ...ir.suggestions import did_you_mean, listed

graph_html = view.html      # the `_repr_html_` of all graphs
NOTHING_YET = ("nothing is recorded yet. Call the function twice with its arguments: the first call\n"
               "records it, the second one compiles and replays the recording.")


class Explanation(str):
    """A text that tells about a function. `print` shows all of it, its repr the first lines."""

    __slots__ = ()

    def __repr__(self):
        return shortened(str(self), "print(...)")

    def _repr_html_(self) -> str:
        return html_text(self, "print(...)")


class Stats(dict):
    """Counts of a traced function, as a table in its repr."""

    def _lines(self, most: int, width: int = 0) -> list:
        """Return (name, value) of each line: reasons follow their counts, at most so many of each kind.

        Reasons are in full: their end names a way out and the user's line. With a `width` they are broken into lines.
        """
        lines = []
        for name, value in self.items():
            if isinstance(value, (list, dict)):
                lines.append((name, counted(len(value), "reason") if value else "none"))
                shown = self._most_frequent(value, most) if isinstance(value, dict) else value[max(0, len(value) - most):]
                lines += [("", part) for reason in shown for part in _wrapped(reason, width)]
                if len(value) > len(shown):
                    lines.append(("", f"... {len(value) - len(shown)} more: stats()[{name!r}] has them all"))
            else:
                lines.append((name, f"{value:.3g}" if isinstance(value, float) else f"{value:,}"))
        return lines

    @staticmethod
    def _most_frequent(counts: dict, most: int) -> list:
        ordered = sorted(counts.items(), key=lambda item: -item[1])
        return [f"{counted(n, 'time')}: {why}" for why, n in ordered[:most]]

    def __repr__(self):
        width = COLUMNS - 2 - max(map(len, [*self, "count"]))
        most = next((n for n in range(_REASONS, 1, -1) if len(self._lines(n, width)) < LINES), 1)
        return shortened("\n".join(text_table(("count", "value"), self._lines(most, width), (0, 1))), "dict(f.stats())")

    def _repr_html_(self) -> str:
        return html_table(("count", "value"), self._lines(_REASONS), (0, 1), way="dict(f.stats())", letters=_REASON_LETTERS)


_REASONS = 5        # of recordings, and of eager calls, that the repr of counts shows
_REASON_LETTERS = 600       # of a reason in a notebook: the longest have two files with their folders
_FOLDERS = re.compile(r"(?<![^\s\[(])(?:[A-Za-z]:)?[^\s\[\]():]*[\\/]([^\s\[\]()\\/]+:\d+)")


def _wrapped(reason: str, width: int) -> list:
    """Return the lines of a reason, with the names of files alone; all in one line without a width."""
    return textwrap.wrap(_FOLDERS.sub(r"\1", reason), width, break_on_hyphens=False) if width else [reason]


class Kernel(tuple):
    """A generated kernel: (text of what it computes, its code). `operations` names its operations; `print` shows all."""

    operations: str

    def __new__(cls, text: str, code: str, operations: str):
        made = super().__new__(cls, (text, code))
        made.operations = operations
        return made

    def __getnewargs__(self):
        return (*self, self.operations)

    @property
    def text(self) -> str:
        """The loop nest as text, or the operation."""
        return self[0]

    @property
    def code(self) -> str:
        """Its code."""
        return self[1]

    def __str__(self):
        return f"{self.text}\n\n{self.code}"

    def __repr__(self):
        return f"<kernel of {size_text(self.code)}: {clipped(self.operations, 50)}; print shows it>"

    def _repr_html_(self) -> str:
        return html_text(str(self), "print(...)", self.operations)


class ByName(dict):
    """A dictionary whose error for a missing key says which ones there are."""

    of_what = "graph"

    def __missing__(self, key):
        there = f"{did_you_mean(key, self)}; there are {listed(self)}" if self else f": {NOTHING_YET}"
        raise MissingKeyError(f"there is no {self.of_what} {key!r}{there}")


class Kernels(ByName):
    """Kernels of a traced function by name: {name: `Kernel`}."""

    of_what = "kernel"

    def _rows(self) -> list:
        return [(name, k.operations, size_text(k.code)) for name, k in self.items()]

    def __repr__(self):
        if not self:
            return f"no kernels: {NOTHING_YET}"
        lines = text_table(_KERNEL_HEAD, [(n, clipped(t, 48), s) for n, t, s in self._rows()], (0, 1))
        return shortened("\n".join(lines), "print(f.kernels[name]) shows one kernel, list(f.kernels)")

    def _repr_html_(self) -> str:
        if not self:
            return html_text(repr(self))
        title = f"{counted(len(self), 'kernel')}; print(f.kernels[name]) shows one"
        return html_table(_KERNEL_HEAD, self._rows(), (0, 1), title, "list(f.kernels)")


_KERNEL_HEAD = ("kernel", "computes", "code")


class Stages(ByName):
    """Graphs of a segment, as recorded and after each pass that changed it: {"recorded" or name of a pass: graph}."""

    def _rows(self) -> list:
        return [(name, f"{len(g.nodes):,}", g.name) for name, g in self.items()]

    def __repr__(self):
        return shortened("\n".join(text_table(_STAGE_HEAD, self._rows(), (0, 2))), "list(stages)")

    def _repr_html_(self) -> str:
        return html_table(_STAGE_HEAD, self._rows(), (0, 2), way="list(stages)")


_STAGE_HEAD = ("after", "nodes", "graph")


class Graphs(ByName):
    """Graphs of a traced function: {name of the segment: its `Stages`}."""

    def _rows(self) -> list:
        return [(name, " > ".join([f"{stage} {len(g.nodes)}" for stage, g in stages.items()])) for name, stages in self.items()]

    def __repr__(self):
        if not self:
            return f"no graphs: {NOTHING_YET}"
        lines = text_table(_GRAPH_HEAD, [(n, clipped(s, 70)) for n, s in self._rows()], (0, 1))
        return shortened("\n".join(lines), "f.graphs[segment]")

    def _repr_html_(self) -> str:
        return html_table(_GRAPH_HEAD, self._rows(), (0, 1), way="list(f.graphs)") if self else html_text(repr(self))


_GRAPH_HEAD = ("segment", "graph after each pass, with its nodes")


class Listed(list):
    """A list whose repr has a line for each item, and not more than `LINES`."""

    __slots__ = ()

    def __repr__(self):
        shown = [clipped(" ".join(repr(item).split()), COLUMNS - 4) for item in self[:LINES - 2]]
        hidden = len(self) - len(shown)
        more = [f"... {counted(hidden, 'more item')}"] if hidden else []
        return "[" + ",\n ".join([*shown, *more]) + "]"


def size_text(code: str) -> str:
    """Return the size of a text in lines."""
    return counted(code.count("\n") + bool(code), "line")
