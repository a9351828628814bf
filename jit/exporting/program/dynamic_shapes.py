"""Dynamic sizes in PyTorch's terms: `Dim`, and `dynamic_shapes` for each tensor in the arguments."""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from ....ir.errors import ArgumentError, DTypeError
from ....runtime.core.tensor import Tensor
from ...errors.errors import ExportError, PinnedSize
from ...errors.extents import Extent
from ...errors.parameters import meant, positional_names, signature_of
from ..capture import treespec
from ..capture.example_inputs import Call

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims"]


class Hint:
    """Size whose freedom the export determines: `Dim.AUTO`, `Dim.DYNAMIC`, `Dim.STATIC`."""

    def __init__(self, kind: str, min: int | None = None, max: int | None = None):
        self.kind, self.min, self.max = kind, min, max

    def __call__(self, min: int | None = None, max: int | None = None) -> "Hint":
        if self.kind == "STATIC":
            raise ArgumentError("Dim.STATIC is a fixed size, which has no bounds")
        return Hint(self.kind, min, max)

    def __eq__(self, other):
        return type(other) is Hint and vars(self) == vars(other)

    def __hash__(self):
        return hash(self.kind)

    def __repr__(self):
        return f"Dim.{self.kind}"


class Dim:
    """A dynamic size, equal wherever it has this name. `2 * dim + 1` is a size derived from it.

    `min` and `max` are promises of the caller; a program takes other sizes, too. Instead of a Dim, Dim.AUTO is a size that may
    change if the code allows it, Dim.DYNAMIC one that must, and Dim.STATIC a fixed one.
    """

    AUTO = Hint("AUTO")
    DYNAMIC = Hint("DYNAMIC")
    STATIC = Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        if not (isinstance(name, str) and name.isidentifier()):
            raise ArgumentError(f"the name of a Dim is an identifier, got {name!r}")
        _check_bounds(f"Dim({name!r})", min, max)
        self.name, self.min, self.max, self.extent, self.root = name, min, max, Extent(name), self

    @property
    def __name__(self) -> str:
        return self.name

    def _derived(self, times: int, plus: int) -> "Dim":
        made = object.__new__(Dim)
        made.root, made.extent = self.root, Extent(self.root.name, self.extent.times * times, self.extent.plus * times + plus)
        made.name = made.extent.text
        made.min, made.max = [None if n is None else made.extent.of(n) for n in (self.root.min, self.root.max)]
        return made

    def __add__(self, other) -> "Dim":
        return self._derived(1, _whole(self, other))

    def __sub__(self, other) -> "Dim":
        return self._derived(1, -_whole(self, other))

    def __mul__(self, other) -> "Dim":
        if _whole(self, other) < 1:
            raise _unsupported(self, other)
        return self._derived(other, 0)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other) -> "Dim":
        raise _unsupported(self, other)

    def __repr__(self):
        return f"Dim({self.name!r})" if self.root is self else self.name


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple:
    """Return several dynamic sizes."""
    return tuple([Dim(name, min=min, max=max) for name in names])


def _whole(dim, other) -> int:
    if type(other) is not int:
        raise _unsupported(dim, other)
    return other


def _unsupported(dim, other):
    return NotImplementedError(f"a size that follows from {dim.name} is a positive multiple of it and an integer more or less, "
                               f"such as 2 * {dim.root.name} + 1; got {other!r}")


def _check_bounds(what, low, high):
    if any(n is not None and (type(n) is not int or n < 0) for n in (low, high)) or (None not in (low, high) and low > high):
        raise ArgumentError(f"{what}: min and max are integers from 0 on, min not above max; got {low!r} and {high!r}")


class ShapesCollection:
    """`dynamic_shapes` declared on the tensors themselves: ``shapes[x] = {0: Dim("batch")}``."""

    def __init__(self):
        self._shapes: dict = {}         # id -> (tensor, its declared sizes)

    def __setitem__(self, t, shape):
        if not isinstance(t, Tensor):
            raise ArgumentError(f"a ShapesCollection says the sizes of tensors, got {type(t).__name__}")
        known = self._shapes.setdefault(id(t), (t, shape))[1]
        if known is not shape and known != shape:
            raise ArgumentError(f"the sizes of one tensor are said twice: {known} and {shape}")

    def __getitem__(self, t):
        return self._shapes.setdefault(id(t), (t, {}))[1]

    def __len__(self):
        return len(self._shapes)

    def dynamic_shapes(self, m, args: tuple, kwargs: dict | None = None) -> dict:
        """Return the declarations for the arguments of a module or function, by name."""
        return self.of(_bound(signature_of(m), args, kwargs or {}))

    def of(self, bound: dict) -> dict:
        seen: set = set()

        def find(t, path, spec):
            seen.add(id(t))
            return self._shapes.get(id(t), (t, None))[1]

        found = {name: _mapped(find, value, name, None) for name, value in bound.items()}
        if not set(self._shapes) <= seen:
            raise ArgumentError("a ShapesCollection says the sizes of a tensor that is not among the arguments")
        return found


class AdditionalInputs:
    """`dynamic_shapes` inferred from further arguments: sizes that differ in any of them are dynamic."""

    def __init__(self):
        self.examples: list = []

    def add(self, args: tuple, kwargs: dict | None = None):
        if type(args) is not tuple or not isinstance(kwargs, dict | None):
            raise ArgumentError("further inputs are a tuple of arguments, and a dict of those by name")
        self.examples.append((args, dict(kwargs or {})))

    def dynamic_shapes(self, m, args: tuple, kwargs: dict | None = None) -> dict:
        """Return the inferred declarations for the arguments of a module or function, by name."""
        signature = signature_of(m)
        return self.of(_bound(signature, args, kwargs or {}), [_bound(signature, *call) for call in self.examples])

    def verify(self, ep) -> None:
        """Run a program on all of them; raise if it does not take one."""
        for args, kwargs in self.examples:
            ep.module()(*args, **kwargs)

    def of(self, bound: dict, others: list) -> dict:
        found = {}
        for name, value in bound.items():
            shapes: list = []
            for given in (value, *[other.get(name) for other in others]):
                shapes.append([])
                described = treespec.describe(given, [], [], name)
                if described != treespec.describe(value, [], [], name):
                    raise ArgumentError(f"{name} differs in more than the sizes of tensors among the further inputs")
                _mapped(lambda t, path, spec: shapes[-1].append(tuple(t.shape)), given, name, None)
            rows = iter([_differing(row, name) for row in zip(*shapes)])
            found[name] = _mapped(lambda t, path, spec, rows=rows: next(rows), value, name, None)
        return found


def _differing(shapes, name) -> dict:
    if len({len(shape) for shape in shapes}) != 1:
        raise ArgumentError(f"a tensor of {name} has other numbers of dims among the further inputs: {shapes}")
    return {d: Dim.DYNAMIC for d, sizes in enumerate(zip(*shapes)) if len(set(sizes)) > 1}


# Declarations for nested arguments.


def _mapped(convert, value, path: str, spec) -> Any:
    """Map found(tensor, its path, its entry of `spec`) over `value`; raise if `spec` has another structure."""
    if treespec.is_tensor(value):
        return convert(value, path, spec)
    if isinstance(value, dict):
        entries = _entries(spec, dict, path, value)
        return {k: _mapped(convert, v, f"{path}[{k!r}]", entries[k]) for k, v in value.items()}
    names = [f.name for f in fields(value)] if is_dataclass(value) else getattr(value, "_fields", None)
    if names is not None and not isinstance(value, type):
        parts = [getattr(value, n) for n in names]
        if isinstance(spec, dict):
            spec = [*map(_entries(spec, dict, path, dict.fromkeys(names)).get, names)]
        elif is_dataclass(spec):
            spec = [getattr(spec, n, None) for n in names]
        entries = _entries(spec, (list, tuple), path, parts)
        return [_mapped(convert, v, f"{path}.{n}", entry) for n, v, entry in zip(names, parts, entries)]
    if isinstance(value, (list, tuple)):
        entries = _entries(spec, (list, tuple), path, value)
        return [_mapped(convert, v, f"{path}[{i}]", entry) for i, (v, entry) in enumerate(zip(value, entries))]
    if spec is not None and not isinstance(spec, Hint):
        raise ArgumentError(f"dynamic_shapes says something of {path}, which is no tensor: {spec!r}")
    return None


def _entries(spec, kind, path, value):
    if spec is None:
        return dict.fromkeys(value) if kind is dict else [None] * len(value)
    if not isinstance(spec, kind):
        raise ArgumentError(f"dynamic_shapes of {path}: the argument is a {type(value).__name__}, and so is what is said of "
                            f"it; got {spec!r}")
    if kind is dict and set(spec) != set(value):
        raise ArgumentError(f"dynamic_shapes of {path} has the keys {list(spec)}, the argument has {list(value)}")
    if len(spec) != len(value):
        raise ArgumentError(f"dynamic_shapes of {path} has {len(spec)} entries, the argument has {len(value)}")
    return spec


class Named:
    """Names of dynamic sizes, in the order in which they are met.

    by_tensor   {number of a tensor: {dim: text of its size}}, as `jit.export` takes it
    hints       {name: (hint, location)} of sizes that the user did not name
    """

    def __init__(self, words: bool):
        self.by_tensor: dict = {}
        self.hints: dict = {}
        self._words = words             # whether the user may say "batch" for Dim("batch")
        self._known: dict = {}          # name -> Dim
        self._hinted: list = []         # (number of a tensor, dim, hint, its path)
        self._count = 0

    def take(self, t, path, spec):
        i, self._count = self._count, self._count + 1
        entries = spec if isinstance(spec, dict) else _each(spec, t, path)
        for d, size in entries.items():
            size = Dim(size) if self._words and isinstance(size, str) else size
            if type(d) is not int or not -t.ndim <= d < t.ndim:
                raise ArgumentError(f"dynamic_shapes of {path} names dim {d!r} of a tensor of {t.ndim} dims; name tensors in "
                                    "containers as these have them")
            self._check(size, t.shape[d], f"dim {d} of {path}")
            if isinstance(size, Dim):
                self.by_tensor.setdefault(i, {})[d % t.ndim] = size.extent.text
            elif isinstance(size, Hint) and size.kind != "STATIC" and (t.shape[d] or size.kind == "DYNAMIC"):
                self._hinted.append((i, d % t.ndim, size, path))

    def _check(self, size, n, where):
        if type(size) is int and size != n:
            raise ArgumentError(f"dynamic_shapes says that {where} is {size}, but it is {n}")
        if size is None or type(size) is int:
            return
        if not isinstance(size, (Dim, Hint)):
            raise ArgumentError(f"dynamic_shapes of {where}: expected a Dim or None for a fixed size, got {size!r}")
        if (size.min is not None and n < size.min) or (size.max is not None and n > size.max):
            raise ArgumentError(f"{where} is {n}, but {size!r} lies between {size.min} and {size.max}")
        if isinstance(size, Dim):
            known = self._known.setdefault(size.root.name, size.root)
            if (known.min, known.max) != (size.root.min, size.root.max):
                raise ArgumentError(f"two Dims are called {size.root.name} and differ in min or max")

    def name_hinted(self):
        """Name the sizes of hints by their locations, after the user's names are known."""
        for i, d, hint, path in self._hinted:
            name = "_".join([*re.findall(r"\w+", path), str(d)])
            while name in self._known or name in self.hints:
                name += "_"
            self.hints[name] = hint, f"dim {d} of {path}"
            self.by_tensor.setdefault(i, {})[d] = name

    def tried(self, export: Callable):
        """Call export(dynamic); fix the sizes of hints whose values the code uses."""
        while True:
            try:
                return export(self.by_tensor)
            except PinnedSize as e:
                hint, where = self.hints.pop(e.name, (None, ""))
                if hint is None:
                    raise
                if hint.kind == "DYNAMIC":
                    raise ExportError(f"{where} is Dim.DYNAMIC: {e}") from e
                self.by_tensor = {i: {d: text for d, text in sizes.items() if text != e.name}
                                  for i, sizes in self.by_tensor.items()}


def _each(spec, t, path) -> dict:
    if isinstance(spec, Hint):
        return dict.fromkeys(range(t.ndim), spec)
    if spec is None:
        return {}
    if not isinstance(spec, (list, tuple)):
        raise ArgumentError(f"dynamic_shapes of {path}: a tensor has {{dim: Dim}} or an entry for each dim, got {spec!r}")
    if len(spec) != t.ndim:
        raise ArgumentError(f"dynamic_shapes of {path} has {len(spec)} entries for {t.ndim} dims")
    return dict(enumerate(spec))


def named(shapes, fn, args: tuple, kwargs: dict, words: bool = False) -> tuple:
    """Return (the arguments as an example, the `Named` sizes of their tensors)."""
    signature = signature_of(fn)
    bound = _bound(signature, args, kwargs)
    example = Call(args, {k: v for k, v in [*bound.items(), *kwargs.items()] if k in kwargs})
    return example, _named(shapes, bound, lambda call: _bound(signature, *call), words)


def _bound(signature, args, kwargs) -> dict:
    if signature is None:
        return {**dict(zip(positional_names(None, len(args)), args)), **kwargs}
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as e:
        raise DTypeError(f"the arguments do not fit the function: {e}") from None


def _named(shapes, bound: dict, bind, words) -> Named:
    declared = Named(words)
    if isinstance(shapes, ShapesCollection):
        shapes = shapes.of(bound)
    elif isinstance(shapes, AdditionalInputs):
        shapes = shapes.of(bound, [*map(bind, shapes.examples)])
    if shapes is not None and not isinstance(shapes, dict):
        if not isinstance(shapes, (list, tuple)) or len(shapes) != len(bound):
            text = f"{len(shapes)} entries" if isinstance(shapes, (list, tuple)) else repr(shapes)
            raise ArgumentError(f"dynamic_shapes has {text} for {len(bound)} arguments")
        shapes = dict(zip(bound, shapes))
    if set(shapes or ()) - set(bound):
        wrong = sorted(map(str, set(shapes) - set(bound)))
        raise ArgumentError(f"dynamic_shapes names {', '.join(wrong)}, the arguments are {', '.join(bound)}"
                            f"{meant(wrong[0], bound)}")
    for name, value in bound.items():
        _mapped(declared.take, value, name, (shapes or {}).get(name))
    declared.name_hinted()
    return declared
