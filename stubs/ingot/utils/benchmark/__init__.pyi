"""`ingot.utils.benchmark`: times of statements with their spread, and tables of them."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

timer: _t.Any

class Compare:
    """A table of measurements: a row per sub_label, a column per description, a part per number of threads."""
    def __init__(self, results: _t.Any) -> None: ...
    def colorize(self, rowwise: _b.bool = False) -> None:
        """Do nothing: tables are plain text."""
    def extend_results(self, results: _t.Any) -> None:
        """Add measurements."""
    def highlight_warnings(self) -> None:
        """Mark times with a wide spread."""
    def print(self) -> None: ...
    def trim_significant_figures(self) -> None:
        """Show only the digits that the spread leaves."""

class Measurement:
    """Several runs of one statement; times are seconds per execution."""
    description: _b.str | None
    env: _b.str | None
    label: _b.str | None
    metadata: _t.Any
    num_threads: _b.int
    number_per_run: _b.int
    raw_times: _b.list[_t.Any]
    setup: _b.str
    stmt: _b.str
    sub_label: _b.str | None
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, number_per_run: _b.int, raw_times: _b.list[_t.Any], stmt: _b.str = 'stmt',
                 setup: _b.str = 'pass', label: _b.str | None = None, sub_label: _b.str | None = None,
                 description: _b.str | None = None, env: _b.str | None = None, num_threads: _b.int = 1,
                 metadata: _t.Any = None) -> None: ...
    @_b.property
    def as_row_name(self) -> _t.Any: ...
    @_b.property
    def has_warnings(self) -> _t.Any: ...
    @_b.property
    def iqr(self) -> _b.float:
        """Return the interquartile range of the times."""
    @_b.property
    def mean(self) -> _t.Any: ...
    @_b.property
    def median(self) -> _t.Any: ...
    @_b.staticmethod
    def merge(measurements: _t.Any) -> _b.list[_t.Any]: ...
    @_b.property
    def significant_figures(self) -> _b.int:
        """Return the number of digits of the median that the spread leaves."""
    @_b.property
    def times(self) -> _t.Any: ...
    @_b.property
    def title(self) -> _t.Any: ...

class Timer:
    """A timer of a statement (Python code as text), with a number of threads. `setup` and `globals` provide names, and
    `ingot` is imported."""
    def __init__(self, stmt: _b.str = 'pass', setup: _b.str = 'pass', global_setup: _b.str = '', timer: _t.Any = ...,
                 globals: _t.Any = None, label: _t.Any = None, sub_label: _t.Any = None, description: _t.Any = None,
                 env: _t.Any = None, num_threads: _t.Any = 1, language: _b.str = 'python') -> None: ...
    def adaptive_autorange(self, threshold: _b.float = 0.1, *, min_run_time: _b.float = 0.01,
                           max_run_time: _b.float = 10.0, callback: _t.Any = None) -> Measurement:
        """Measure until the interquartile range is below `threshold` of the median."""
    def blocked_autorange(self, callback: _t.Any = None, min_run_time: _b.float = 0.2) -> Measurement:
        """Measure blocks of runs for at least `min_run_time` seconds; a block is long enough for the clock."""
    def repeat(self, repeat: _t.Any = -1, number: _t.Any = -1) -> _t.Any:
        """Raise: use `blocked_autorange`."""
    def timeit(self, number: _t.Any = 1000000) -> Measurement:
        """Measure `number` runs, after some to warm up."""

def select_unit(t: _b.float) -> _b.tuple[_b.str, _b.float]:
    """Return (name, seconds) of a readable unit for a time."""
def unit_to_english(u: _b.str) -> _b.str:
    """Return a unit's name in words."""
