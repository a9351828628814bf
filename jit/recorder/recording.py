"""Recordings as plain data: inputs with their sources, cuts, results, gradients."""

import weakref
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir.dim_order import inverse
from ...ir.graph.graph import Builder, Value
from ...ir.symbols.scope import Scope
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import Tensor
from ..side_effects.made_leaves import Attributes, MadeLeaf


class Cell:
    """What one storage holds: a graph value for the whole of its root tensor, and how often it was written."""

    __slots__ = ("constant", "recorder", "root", "source", "value", "version")

    def __init__(self, recorder, value, root=None, source=None):
        self.recorder = recorder
        self.value = value
        self.version = 0
        self.root = root        # the outside tensor whose memory this is, or None for memory made inside
        self.source = source    # index of the input behind it
        self.constant = None    # an array of constants that nobody has read yet


class Link:
    """Where a tensor's value comes from: a cell, the views on top of it, and the graph value at some version; whether the
    tensor itself is from outside."""

    __slots__ = ("cell", "chain", "is_given", "recorder", "value", "version")

    def __init__(self, recorder, cell, chain, value, version=None, is_given=False):
        self.recorder, self.cell, self.chain, self.value = recorder, cell, chain, value
        self.version = cell.version if version is None else version
        self.is_given = is_given


class Saved:
    """A tensor that is saved for gradients: its value at the time, its link and its storage."""

    __slots__ = ("link", "storage", "value")

    def __init__(self, value: Value, link: Link, storage):
        self.value, self.link, self.storage = value, link, storage

    @property
    def aval(self):
        """Its shape and dtype."""
        return self.value.aval


@dataclass(frozen=True)
class Source:
    """Where an input comes from at every call.

    kind    "argument" (what = its position), "captured" (what = the tensor), "grad" (what = position of the input whose
            gradient it is), "base" (what = position of the argument of which it is all of the memory), "key" (what = the
            `Draw`), "scalar" (what = a function that gives a Python number)
    """

    kind: str
    what: object


@dataclass(frozen=True)
class Cut:
    """A place where Python read a value: the nodes before it, the value, how it was read and what was seen. Of an integer the
    user's line that read it; how many conditions the scope had then."""

    nodes: int
    value: Value
    how: str
    seen: object
    line: tuple | None = None
    conditions: int = 0


@dataclass
class Recording:
    """One finished path through a function."""

    builder: Builder
    sources: list
    cuts: list
    outputs: list = field(default_factory=list)      # one Output for each result tensor
    updates: list = field(default_factory=list)      # (input position, value)
    grads: list = field(default_factory=list)        # (input position, Gradient or None): gradients set on leaves
    cleared: list = field(default_factory=list)      # positions of leaves whose gradient went before the first operation
    turns: list = field(default_factory=list)        # (input position, whether it requires grad from now on)
    retained: list = field(default_factory=list)     # positions of inputs that keep their gradients from now on
    rebinds: list = field(default_factory=list)      # (input position, Output): `t.data = new`, as what the input then is
    clashes: list = field(default_factory=list)      # (input position, another): memory that must not be the same
    leaves: list = field(default_factory=list)       # (input position, `kind_of_gradient` of the gradient found there)
    lays: list = field(default_factory=list)         # (input position, question, answer): how it lies in memory
    hosts: list = field(default_factory=list)        # (host step, the values it takes): what runs at the end, in order
    shared: list = field(default_factory=list)       # (argument, captured tensor over the same memory)
    same: list = field(default_factory=list)         # (argument, the tensor that it is), where that is reached otherwise, too
    backward: "RecordedBackward | None" = None       # of the results that have a history made here
    scope: Scope | None = None                       # of the sizes and numbers that are symbolic
    devices: dict = field(default_factory=dict)      # {input position: the backend that it lay on, if not on the host}
    orders: dict = field(default_factory=dict)       # {input position: the order of its dims in memory, if not that of rows}
    joined: list = field(default_factory=list)       # positions of inputs that are memory of other inputs, too
    kinds: dict = field(default_factory=dict)        # {input position: (sizes, dtype, order) at first}, of those in `rebinds`
    reached: list = field(default_factory=list)      # containers that it reaches, if it changes others that are arguments
    shown: set = field(default_factory=set)          # positions of inputs that host steps may read
    hosted: Any = None                               # what is asked behind its host steps (`host_checks.Hosted`)
    outcome: Any = None                              # what the call gives and writes, as a structure over the results

    @property
    def has_effects(self) -> bool:
        """Whether a call does anything to tensors, random streams or the world that its results do not show."""
        does = self.updates or self.grads or self.turns or self.rebinds or self.hosts or self.retained
        return bool(does) or any(s.kind == "key" for s in self.sources)


def base_of(t: Tensor) -> Tensor:
    """The tensor of which it is a view, or itself."""
    return t if t._base is None else t._base


@dataclass(frozen=True)
class Output:
    """A result tensor: a fresh value, or a view (`chain`) of an input's memory; `same` if it is that very tensor, `detached`
    if it is no view of that, but of what `detach()` gives, or `.data`, if it `is_data`. `freed` says that a backward inside of
    the function has used up its history; `device` is a fresh value's, None on the host; `gradient_of` is the position of the
    input whose new gradient this very tensor is. What an input lies over from now on (`Recording.rebinds`) may be the memory of
    a result, which has the number `memory_of`. `leaf` says what else a leaf is that the function has made, `part` how it lies
    in the memory of another result (`shared_results.Part`), `order` how the dims of a fresh value lie in memory
    (`ir/dim_order.py`), `locked` that nobody can write there. The gradient that it has kept (`retain_grad()`) is the result
    with the number `kept`; whether it keeps those of backwards to come says `retains`. `attributes` are those that the user
    gave it."""

    value: Value
    source: int | None
    chain: tuple
    same: bool
    requires_grad: bool
    freed: bool = False
    device: Any = None
    gradient_of: int | None = None
    memory_of: int | None = None
    leaf: MadeLeaf | None = None
    part: Any = None
    order: tuple | None = None
    detached: bool = False
    is_data: bool = False
    kept: int | None = None
    locked: bool = False
    attributes: Attributes | None = None
    retains: bool = False

    @property
    def back(self) -> tuple | None:
        """The permutation that brings a fresh value's dims, as a job gives them in this order, to their places."""
        return None if self.order is None else inverse(self.order)

    @property
    def does_more(self) -> bool:
        """Whether it is anything else than new memory."""
        is_more = any(x is not None for x in (self.source, self.leaf, self.part, self.kept, self.attributes))
        return is_more or self.freed or self.locked or self.retains

    @property
    def has_history(self) -> bool:
        """Whether a backward outside of the function goes through what the function did for it."""
        return self.requires_grad and self.source is None and not self.freed and self.leaf is None


def kind_of_gradient(g) -> bool | None:
    """Whether a gradient is sparse; None if there is none."""
    return None if g is None else type(g) in PARTS


@dataclass(frozen=True)
class Gradient:
    """What a gradient is made of: one value, or those of its parts and what makes it of them
    (`runtime/core/composite_tensors.py`). `given` says which results its parts are, if they are results."""

    values: tuple
    make: Any = None
    given: tuple = (None,)

    @staticmethod
    def of(recorder, g, results=()) -> "Gradient | None":
        """That of a tensor, while its recorder listens."""
        if g is None:
            return None
        if type(g) not in PARTS:
            return Gradient((recorder.value_of(g),))
        parts, make = PARTS[type(g)](g)
        given = tuple([next((i for i, t in enumerate(results) if t is part), None) for part in parts])
        return Gradient(tuple(map(recorder.value_of, parts)), make, given)

    def over(self, numbers) -> "Gradient":
        """The same with numbers for the values."""
        return replace(self, values=tuple([numbers[v] for v in self.values]))

    def made(self, tensors, plain=None) -> Tensor:
        """The gradient, of tensors for the values; `plain` gives plain data for that with symbols."""
        if self.make is None:
            return tensors[0]
        return (self.make if plain is None else plain(self.make))(*tensors)


@dataclass(frozen=True)
class RecordedBackward:
    """The backward of a recording's results, up to the tensors that came from outside.

    nodes       what it computes
    seeds       the gradients of the results, as values that stand for them
    gradients   {position of an input: its `Gradient`, or None}
    error       what it raised, if it did
    passing     {number of a result: the value of the gradient that comes by there}, for those from which others are computed
    """

    nodes: list
    seeds: list
    gradients: dict
    error: Exception | None = None
    passing: dict = field(default_factory=dict)


class LeafState:
    """The gradient of a leaf during a recording: what it was, and whether that was ever looked at.

    position    of the input that is the leaf; None for one that the function made
    resting     the input, if there was a time in the recording when it did not require grad and kept its gradient itself
    """

    __slots__ = ("_before", "hooks", "kind", "leaf", "position", "resting", "was_read", "was_set")

    def __init__(self, position: int | None, leaf: Leaf, before: Tensor | None):
        self.position, self.leaf, self.hooks = position, leaf, leaf.hook_numbers()
        self.kind = kind_of_gradient(before)
        self._before = None if before is None else weakref.ref(before)
        self.was_read = self.was_set = False
        self.resting: Tensor | None = None

    @property
    def gradient(self) -> Tensor | None:
        """What it is now."""
        t = self.resting
        return self.leaf.grad if t is None or t._node is self.leaf else t._kept_grad

    def is_as_before(self) -> bool:
        """Whether the leaf's gradient is the very tensor that was found."""
        now = self.gradient
        return now is None if self._before is None else now is not None and self._before() is now
