"""Dynamic dims of a function's arguments, and the sizes at which it is recorded and checked."""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from ...ir.errors import ArgumentError
from ...ir.source_location import place_text
from ...ir.symbols.scope import LEAST, RESERVED
from ..errors.errors import PinnedSize
from ..errors.extents import Extent, parsed
from ..errors.parameters import inputs_of, wanted_dims
from ..tracing.dynamic_shapes import SIZE, Symbols

_PACKAGE = __name__.split(".")[0]


@dataclass
class Free:
    """Dynamic dims: for each argument {axis: its size as a function of a symbol}, and each symbol's size in the example."""

    by_input: list
    sizes: dict

    @property
    def base(self) -> dict:
        """Sizes of the recording: at least 2, because size 1 broadcasts."""
        return {s: max(LEAST, n) for s, n in self.sizes.items()}

    @property
    def names(self) -> dict:
        plain = [s for s in self.sizes if s.isidentifier() and s not in RESERVED]
        return {s: s if s in plain else f"size_{i}" for i, s in enumerate(self.sizes)}

    def symbols(self, tensors) -> Symbols | None:
        names = self.names
        extents = {(SIZE, i, axis): Extent(names[x.name], x.times, x.plus)
                  for i, dims in enumerate(self.by_input) for axis, x in dims.items()}
        return Symbols.of_extents(extents, [t.shape for t in tensors]) if extents else None

    def tried(self, runs: Callable) -> list:
        """Return sizes for which the function runs: the first ones, two more for each symbol, and others for all together."""
        base = self.base
        runs(base)
        found, ends = [base], dict(base)
        for s, n in base.items():
            more = _two_more(runs, base, s, n)
            found += more
            ends[s] = more[-1][s]
        if len(base) > 1:
            runs(ends)
            found.append(ends)
        return found

    def fresh(self, tried) -> list:
        """Return further sizes at which the model is compared, if the function takes them."""
        base = self.base
        return [{**base, s: 2 * max(sizes[s] for sizes in tried) - n} for s, n in base.items()]

    @property
    def ones(self) -> list:
        """Sizes with one of them 1, which the recording does not cover."""
        return [{**self.base, s: 1} for s in self.base]


def _two_more(runs, base, s, n) -> list:
    found: list = []
    first = None
    for m in dict.fromkeys((n + 1, 2 * n + 3, 2 * n, n + 3, n + 2, n - 1, n - 2, n // 2, 3 * n, 4 * n)):
        if m < LEAST or m == n:
            continue
        sizes = {**base, s: m}
        try:
            runs(sizes)
        except Exception as e:
            first = first or (m, e)
            continue
        found.append(sizes)
        if len(found) == 2:
            return found
    m, error = first if first is not None else (n, None)
    raise PinnedSize(s, f"the dimension {s!r} is fixed by the code{_user_line(error)}: at size {m} it fails with "
                      f"{type(error).__name__}: {error}") from error


def _user_line(e) -> str:
    """Return the last line of user code that an error passed."""
    trace: TracebackType | None = e.__traceback__ if e is not None else None
    line = ""
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if name.partition(".")[0] != _PACKAGE:
            line = f" at {place_text((trace.tb_frame.f_code.co_filename, trace.tb_lineno))}"
        trace = trace.tb_next
    return line


def free_dims(dynamic, names, shapes, owners=()) -> Free:
    """Parse `dynamic` for arguments with names and shapes: {an input (see `inputs_of`): {axis: symbol}, or axes}, or a list of
    such axes."""
    by_input: list = [{} for _ in names]
    sizes: dict = {}
    for key, axes in _entries(dynamic):
        if isinstance(key, str) and key not in names and key.startswith("output"):
            continue                        # as PyTorch's programs say: sizes of results follow from the inputs
        for i in inputs_of(key, names, owners):
            for axis, symbol in wanted_dims(axes, len(shapes[i]), names[i]).items():
                _enter(by_input[i], sizes, axis, symbol, names[i], shapes[i])
    return Free(by_input, sizes)


def _enter(dims, sizes, axis, symbol, name, shape):
    extent = parsed(symbol) or Extent(symbol)
    n = extent.named(shape[axis])
    if n is None:
        raise ArgumentError(f"dynamic says that dim {axis} of input {name!r} is {symbol}, which cannot be {shape[axis]}")
    if sizes.setdefault(extent.name, n) != n:
        raise ArgumentError(f"the dims called {extent.name!r} have different sizes in the example: {sizes[extent.name]} and "
                            f"{n}")
    dims[axis] = extent


def _entries(dynamic):
    if dynamic is None:
        return []
    return list(dynamic.items()) if isinstance(dynamic, dict) else list(enumerate(dynamic))
