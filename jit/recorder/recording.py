"""A recording as plain data: inputs with their sources, cuts, results, writes, gradients."""

import weakref
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir.cached_property import cached_property
from ...ir.graph.graph import Builder, Value
from ...ir.symbols.scope import Scope
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.device_array import MESH, DeviceArray
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import Tensor
from ..guards.memory_order import memory_order


@dataclass(slots=True, eq=False)
class Cell:
    """The current content of a storage: a graph value for all of its root tensor, and a count of writes."""

    recorder: Any
    value: Any
    root: Any = None            # tensor from outside with this memory; None for memory made inside
    source: Any = None          # position of the input behind it
    version: int = 0
    constant: Any = None        # array of a constant that nobody has read yet
    began: int = 0              # version of memory from outside when it came in
    by_root: bool = True        # whether the first write to it was one to its root, or to a view of that
    is_checked: bool = False    # whether the history with which it came in had to allow a write
    joined: Any = None          # (cell of memory of which it became a part, the views that lead there)


class Link:
    """The graph's view of a tensor: its cell, the views on top of it, and its value at a version of the cell."""

    __slots__ = ("cell", "chain", "is_outside", "recorder", "value", "version")

    def __init__(self, recorder, cell, chain, value, version=None, is_outside=False):
        self.recorder, self.cell, self.chain, self.value = recorder, cell, chain, value
        self.version = cell.version if version is None else version
        self.is_outside = is_outside

    @property
    def place(self) -> tuple[Cell, tuple]:
        """The cell and the views on top of it by now: arguments over one memory join at the first write to it."""
        if self.cell.joined is None:
            return self.cell, self.chain
        cell, chain = self.cell.joined
        return cell, (*chain, *self.chain)


class LinkTable:
    """Weak references to the tensors that hold a `Link` of this recorder, so that they can be untied at the end."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._tensors: list = []
        self.touched: set = set()       # ids of all tensors that were tied, once the run has ended

    def tie(self, t, link: Link) -> Link:
        t.__dict__["_traced"] = link
        self.remember(t)
        return link

    def tie_outside(self, t, link: Link):
        """Give a tensor from outside a link."""
        link.is_outside = True
        self.tie(t, link)

    def remember(self, t):
        """Untie a tensor at the end of the run."""
        self._tensors.append(weakref.ref(t))

    def live(self):
        """Return (tensor, link) of the live tensors that are tied to this recorder."""
        tensors = [t for t in [ref() for ref in self._tensors] if t is not None]
        return [(t, link) for t in tensors if (link := t.__dict__.get("_traced")) is not None
                and link.recorder is self._recorder]

    def release(self):
        for t in [ref() for ref in self._tensors]:
            if t is not None:
                self._untie(t)
        self._tensors = []

    def _untie(self, t: Tensor):
        self.touched.add(id(t))
        link = t.__dict__.get("_traced")
        if link is not None and link.recorder is self._recorder:
            del t.__dict__["_traced"]
        if type(t) not in PARTS and self._recorder.cell_of(t) is not None:
            del t._storage.cell
        t.__dict__.pop("_gradient_of", None)


@dataclass(slots=True, eq=False)
class Saved:
    """A tensor saved for gradients: its value at the time, its link, its storage, and the version of its cell. A DTensor has
    its part's value; `whole` is its own aval. `now` is a later value of the memory, with that of the tensor there."""

    value: Value
    link: Link
    storage: Any
    version: int
    whole: Any = None
    now: tuple = (None, None)

    @property
    def aval(self):
        return self.whole or self.value.aval


@dataclass(frozen=True)
class Source:
    """The source of an input at every call.

    kind    "argument" (what = its position), "captured" (what = the tensor), "grad" (what = position of the input whose
            gradient it is), "part" (what = position of an input that several processes share, and its layout), "base" (what =
            position of an argument that is a part of this memory), "key" (what = the
            `Draw`), "number" (what = the `HostNumber`), "scalar" (what = a function that returns a Python number)
    """

    kind: str
    what: object


@dataclass(frozen=True)
class Cut:
    """A read of a value by Python: the count of nodes before it, the value, how it was read ("passes" if Python only comes by),
    and the answer. For an integer,
    the user's line that read it. `conditions` is the count of the scope's conditions by then, `place` the user's line for
    messages, `inputs` the count of the inputs that a replay must have read by then."""

    nodes: int
    value: Value
    how: str
    answer: object
    line: tuple | None = None
    conditions: int = 0
    place: tuple | None = None
    inputs: int = 0


@dataclass(frozen=True)
class Write:
    """How an input was written.

    count           number of writes; those through a tensor that counts its own are not among them
    unchecked       all went through `.data`
    rescues         the rule behind the tensor may want a copy first (`rescue_result`)
    checks          the history with which the tensor comes in must allow a write
    """

    count: int
    unchecked: bool
    rescues: bool
    checks: bool


@dataclass
class Recording:
    """A finished path through a function."""

    builder: Builder
    sources: list
    cuts: list
    outputs: list = field(default_factory=list)      # one Output for each result tensor
    updates: list = field(default_factory=list)      # (input position, value)
    writes: dict = field(default_factory=dict)       # {input position: `Write`} of the updates
    grads: list = field(default_factory=list)        # (input position, Gradient or None): gradients set on leaves
    cleared: list = field(default_factory=list)      # positions of leaves whose gradient was dropped first of all
    turns: list = field(default_factory=list)        # (input position, whether it requires grad from now on)
    retained: list = field(default_factory=list)     # positions of inputs that keep their gradients from now on
    rebinds: list = field(default_factory=list)      # (input position, Output): `t.data = new`
    clashes: list = field(default_factory=list)      # (input position, another): they must not overlap
    leaves: list = field(default_factory=list)       # (input position, `kind_of_gradient` of the gradient found there)
    layouts: list = field(default_factory=list)         # (input position, query, answer): its layout
    methods: dict = field(default_factory=dict)         # {input position: names of its methods that the function calls}
    hosts: list = field(default_factory=list)        # (host step, the values it takes), run in order at the end
    shared: list = field(default_factory=list)       # (argument, captured tensor over the same memory)
    same: list = field(default_factory=list)         # (argument, the tensor that it is, reached otherwise too)
    apart: dict = field(default_factory=dict)        # id -> weak reference to a tensor that no other argument may be
    same_objects: list = field(default_factory=list)     # (number of a container, set or array of the arguments, what it is)
    apart_objects: dict = field(default_factory=dict)    # id -> one that no other argument may be
    backward: "RecordedBackward | None" = None       # of the results with a history made here
    scope: Scope | None = None                       # of symbolic sizes and numbers
    devices: dict = field(default_factory=dict)      # {input position: its backend, if not the host}
    orders: dict = field(default_factory=dict)       # {input position: order of its dims, unless row-major}
    joined: dict = field(default_factory=dict)       # {position of an input: positions of the inputs that are parts of it}
    bases: list = field(default_factory=list)        # (position of such a part, another one that must have the same base)
    gained: list = field(default_factory=list)       # positions of inputs that have a history from now on,
    detached: list = field(default_factory=list)     # and of those that have none any more
    kinds: dict = field(default_factory=dict)        # {position in `rebinds`: its first (sizes, dtype, order)}
    reached: list = field(default_factory=list)      # containers it reaches, if it changes arguments
    shown: set = field(default_factory=set)          # positions of inputs that host steps may read
    hosted: Any = None                               # checks behind its host steps (`HostChecks`)
    template: Any = None                              # results and Python writes, over the result tensors
    locks: tuple = ()                                # that each call holds
    limit: Any = None                                # what compiling it may cost (`RecompileLimit`)

    @property
    def has_effects(self) -> bool:
        """Whether a call has effects on tensors, random streams or the world that its results do not show."""
        does = self.updates or self.grads or self.turns or self.rebinds or self.hosts or self.retained or self.detached
        return bool(does) or any(s.kind == "key" for s in self.sources)


def base_of(t: Tensor) -> Tensor:
    """Return the tensor of which `t` is a view, or `t`."""
    return t if t._base is None else t._base


def is_shared(t: Tensor) -> bool:
    """Return whether several processes share a tensor. Its graph value is that of this process's part."""
    return type(t) not in PARTS and t._a.__class__ is DeviceArray and t._a.kind == MESH


def shared_layout(t: Tensor) -> tuple | None:
    """Return how several processes share a tensor, and whether its part lies in that of its base; None if they do not."""
    return (*t._a.backend.layout_of(t._a), t._a.backend.is_own_part(t._a)) if is_shared(t) else None


def shared_layout_of_base(t: Tensor) -> tuple | None:
    """Return the same of the tensor that `t` is a view of."""
    return shared_layout(base_of(t))


def kind_of_gradient(g) -> Any:
    """Return None for no gradient, True for one that is made of parts, False for a row-major one without a history; for others,
    whether it is a leaf (None without a history), and its order in memory."""
    if g is None:
        return None
    if type(g) in PARTS or is_shared(g):
        return True
    if g._node is None:
        return False if g._a.flags.carray else (None, memory_order(g._a))
    return type(g._node) is Leaf, memory_order(g._a)


@dataclass(frozen=True)
class Whole:
    """The function that makes a tensor which several processes share of this one's part."""

    backend: Any
    layout: tuple

    def __call__(self, part):
        return self.backend.whole_of(part, self.layout)


@dataclass(frozen=True)
class Gradient:
    """A gradient: one value, or the values of its parts and the function that makes it of them (`core/composite_tensors.py`).
    `result_numbers` holds the numbers of results that are its parts, or that are the gradient itself."""

    values: tuple
    make: Any = None
    result_numbers: tuple = (None,)

    @staticmethod
    def of(recorder, g, results=()) -> "Gradient | None":
        """Return the record of a gradient, while its recorder listens."""
        if g is None:
            return None
        if is_shared(g):
            return Gradient((recorder.value_of(g),), Whole(g._a.backend, g._a.backend.layout_of(g._a)), (None,))
        parts, make = PARTS[type(g)](g) if type(g) in PARTS else ((g,), None)
        result_numbers = tuple([next((i for i, t in enumerate(results) if t is part), None) for part in parts])
        return Gradient(tuple(map(recorder.value_of, parts)), make, result_numbers)

    @cached_property
    def is_new(self) -> bool:
        """Whether it is a dense tensor that is no result."""
        return self.make is None and self.result_numbers == (None,)

    def over(self, numbers) -> "Gradient":
        return replace(self, values=tuple([numbers[v] for v in self.values]))

    def assemble(self, tensors, plain=None) -> Tensor:
        """Return the gradient, of tensors for the values; `plain` replaces symbols in `make`."""
        if self.make is None:
            return tensors[0]
        return (self.make if plain is None else plain(self.make))(*tensors)


@dataclass(frozen=True)
class RecordedError:
    """An exception that a node of a backward raises.

    results     numbers of the results that lead to the node
    complete    positions of the inputs whose gradients are complete by then
    """

    exception: Exception
    results: frozenset
    complete: frozenset


@dataclass(frozen=True)
class RecordedBackward:
    """The backward of a recording's results, up to the inputs.

    nodes       of the backward graph
    seeds       values that stand for the gradients of the results
    gradients   {position of an input: its `Gradient`, or None}
    errors      `RecordedError`s, in the order of the backward
    passing     {number of a result: value of the gradient there}, for results from which other results are computed
    tape        the eager nodes that it went through (`Tape`)
    memories    for each memory that these saved, its `SharedMemory`, or None
    starts      {position of an input: [value that stands for gradients which arrive there before, its sum with the first
                gradient of this backward, count of gradients of this backward]}
    rules       {node: numbers of the results that lead to the eager node whose rule appended it}; other nodes add gradients
    reach       {position of an input: numbers of the results that lead to its gradient}
    read        guards on what user code in it reads
    """

    nodes: list
    seeds: list
    gradients: dict
    errors: list = field(default_factory=list)
    passing: dict = field(default_factory=dict)
    tape: Any = None
    memories: list = field(default_factory=list)
    starts: dict = field(default_factory=dict)
    rules: dict = field(default_factory=dict)
    reach: dict = field(default_factory=dict)
    read: list = field(default_factory=list)


class LeafState:
    """The gradient of a leaf during a recording: the first one, and whether it was read or set.

    position    of the input that is the leaf; None for a leaf that the function made
    resting     the input, if it did not require grad at some time, and kept its gradient itself
    """

    __slots__ = ("_before", "kind", "leaf", "position", "resting", "was_read", "was_set")

    def __init__(self, position: int | None, leaf: Leaf, before: Tensor | None):
        self.position, self.leaf = position, leaf
        self.kind = kind_of_gradient(before)
        self._before = None if before is None else weakref.ref(before)
        self.was_read = self.was_set = False
        self.resting: Tensor | None = None

    @property
    def gradient(self) -> Tensor | None:
        t = self.resting
        return self.leaf.grad if t is None or t._node is self.leaf else t._retained_grad

    @property
    def is_changed(self) -> bool:
        """Whether the gradient is another tensor than the one that was found; None counts as another one if it was set."""
        now = self.gradient
        if now is None:
            return self.was_set or self._before is not None
        return self._before is None or now is not self._before()
