"""Events of a profile, their averages by name, and tables and files of them. Times are in microseconds."""

import json
import os
from collections import namedtuple
from itertools import groupby
from typing import Any

from ...ir.errors import ArgumentError
from ...ir.suggestions import unknown_choice

Interval = namedtuple("Interval", "start end")
_WIDE = 55       # default width of the column of names


_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def spelled_time(us: float, unit: str | None = None) -> str:
    """Return a time as tables show it, in a unit (by default a readable one)."""
    unit = next((u for u, size in _UNITS.items() if us >= size), "us") if unit is None else unit
    return f"{us / _UNITS[unit]:.3f}{unit}"


def spelled_bytes(n: float) -> str:
    """Return a number of bytes as tables show it."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(n) >= unit:
            return f"{n / unit:.2f} {name}"
    return f"{n} B"


class Times:
    """Times of an event, or of an average of several. Work on a device counts as the time in which it was started."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    device_time = device_time_total = self_device_time_total = 0.0
    cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    is_async = is_remote = is_legacy = False
    node_id = -1

    @property
    def cpu_time(self) -> float:
        """The time of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    cpu_time_str = property(lambda self: spelled_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: spelled_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: spelled_time(self.self_cpu_time_total))
    device_time_total_str = device_time_str = self_device_time_total_str = property(lambda self: spelled_time(0.0))

    def __repr__(self):
        return (f"<{type(self).__name__} key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total_str} "
                f"cpu_time={self.cpu_time_str} cpu_memory_usage={self.cpu_memory_usage}>")


class FunctionEvent(Times):
    """One thing that ran: an operator, the backward of one, a step of compiled code, or a range with a name of the user's.

    kind            "operator", "backward", "compiled" or "user"
    input_shapes    of the arguments, where shapes are recorded
    stack           the user's line, where lines are recorded
    trace_name      the `name`, kept for programs that look for it
    """

    count = 1

    def __init__(self, name, kind, began, parent, thread):
        self.name = self.key = self.trace_name = name
        self.kind, self.began, self.ended, self.thread = kind, began, began, thread
        self.cpu_parent = parent
        self.cpu_children: list = []
        self.input_shapes: list = []
        self.stack: list = []
        self.flops = self.own_memory = 0
        if parent is not None:
            parent.cpu_children.append(self)

    is_user_annotation = property(lambda self: self.kind == "user")
    time_range = property(lambda self: Interval(self.began / 1e3, self.ended / 1e3))
    cpu_time_total = property(lambda self: (self.ended - self.began) / 1e3)
    self_cpu_time_total = property(lambda self: self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children))
    self_cpu_memory_usage = property(lambda self: self.own_memory)

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of the results made inside."""
        return self.own_memory + sum(c.cpu_memory_usage for c in self.cpu_children)


class FunctionEventAvg(Times):
    """Sum of the events of one name (and shapes, and line)."""

    def __init__(self, key, events):
        first = events[0] if events else FunctionEvent(key, "user", 0, None, 0)
        self.key, self.count, self.kind = key, len(events), first.kind
        self.input_shapes, self.stack, self.cpu_children = first.input_shapes, first.stack, []
        self.is_user_annotation = first.is_user_annotation
        self.flops = sum(e.flops for e in events)
        for name in ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, sum(getattr(e, name) for e in events))


class EventList(list):
    """A list of events, or of averages."""

    def __init__(self, events=(), memory=False, flops=False):
        super().__init__(events)
        self._memory, self._flops = memory, flops

    self_cpu_time_total = property(lambda self: sum(e.self_cpu_time_total for e in self))

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0) -> "EventList":
        """Return sums of events by name, and optionally by the shapes of arguments or by line."""

        def key(event):
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            return event.key, shapes, str(event.stack[:group_by_stack_n]), event.kind

        found = [FunctionEventAvg(k[0], list(same)) for k, same in groupby(sorted(self, key=key), key)]
        return EventList(sorted(found, key=lambda a: -a.self_cpu_time_total), self._memory, self._flops)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        total = FunctionEventAvg("Total", [])
        for name in ("count", "flops", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(total, name, sum(getattr(e, name) for e in self))
        return total

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=_WIDE,
              max_shapes_column_width=80, header=None, top_level_events_only=False, time_unit=None) -> str:
        """Return a table of at most `row_limit` rows (-1: all), the largest of the field `sort_by` first. Times are in
        `time_unit` ("s", "ms" or "us"; by default each in a readable one)."""
        if time_unit is not None and time_unit not in _UNITS:
            raise unknown_choice("table: time_unit", time_unit, _UNITS)
        shown = list(self)
        if top_level_events_only:
            shown = [e for e in shown if getattr(e, "cpu_parent", None) is None]
        if sort_by is not None:
            if not hasattr(Times, sort_by) and sort_by not in ("count", "flops", *Times.__annotations__):
                raise ArgumentError(f"table: sort_by names a field of events such as 'self_cpu_time_total' or 'count', got "
                                    f"{sort_by!r}")
            shown.sort(key=lambda e: -getattr(e, sort_by))
        shown = shown if row_limit < 0 else shown[:row_limit]
        total = self.self_cpu_time_total
        columns = self._columns(shown, total or 1.0, max_name_column_width, max_shapes_column_width, max_src_column_width,
                                time_unit)
        rows = [[name for name, _ in columns], *[[cell(e) for _, cell in columns] for e in shown]]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join([c.rjust(w) for c, w in zip(row, widths)]) for row in rows]
        rule = "  ".join(["-" * w for w in widths])
        return "\n".join([*([header] if header else []), rule, lines[0], rule, *lines[1:], rule,
                          f"Self CPU time total: {spelled_time(total, time_unit)}", ""])

    def _columns(self, shown, total, name_width, shapes_width, source_width, unit):
        def cut(text, width):
            return text if not width or len(text) <= width else text[:width - 3] + "..."

        columns: list = [
            ("Name", lambda e: cut(e.key, name_width)),
            ("Self CPU %", lambda e: f"{100 * e.self_cpu_time_total / total:.2f}%"),
            ("Self CPU", lambda e: spelled_time(e.self_cpu_time_total, unit)),
            ("CPU total %", lambda e: f"{100 * e.cpu_time_total / total:.2f}%"),
            ("CPU total", lambda e: spelled_time(e.cpu_time_total, unit)),
            ("CPU time avg", lambda e: spelled_time(e.cpu_time, unit))]
        if self._memory:
            columns += [("CPU Mem", lambda e: spelled_bytes(e.cpu_memory_usage)),
                        ("Self CPU Mem", lambda e: spelled_bytes(e.self_cpu_memory_usage))]
        columns.append(("# of Calls", lambda e: str(e.count)))
        if self._flops:
            columns.append(("Total MFLOPs", lambda e: f"{e.flops / 1e6:.3f}" if e.flops else "--"))
        if any(e.input_shapes for e in shown):
            columns.append(("Input Shapes", lambda e: cut(str(e.input_shapes), shapes_width)))
        if any(e.stack for e in shown):
            columns.append(("Source Location", lambda e: cut(e.stack[0] if e.stack else "", source_width)))
        return columns

    def export_chrome_trace(self, path):
        """Write the timeline for ui.perfetto.dev and chrome://tracing."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(timeline(self, {}), file)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write a line for each of the user's lines, with the time spent there, for flame graphs."""
        if metric not in ("self_cpu_time_total", "cpu_time_total"):
            raise ArgumentError(f"export_stacks: metric is 'self_cpu_time_total' or 'cpu_time_total', got {metric!r}")
        with open(path, "w", encoding="utf-8") as file:
            for e in self:
                if e.stack and int(getattr(e, metric)) > 0:
                    print(";".join(reversed(e.stack)).replace(" ", "_"), int(getattr(e, metric)), file=file)

    def __str__(self):
        return self.table()


def timeline(events, metadata: dict[str, Any]) -> dict:
    """Return events as trace viewers read them."""
    made = [{"name": e.name, "cat": "user_annotation" if e.kind == "user" else e.kind, "ph": "X", "ts": e.began / 1e3,
             "dur": e.cpu_time_total, "pid": os.getpid(), "tid": e.thread,
             "args": {"Input Dims": e.input_shapes, "Call stack": ";".join(e.stack), "Bytes": e.own_memory}} for e in events]
    return {**metadata, "displayTimeUnit": "ms", "traceEvents": made}
