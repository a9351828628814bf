"""Gradients while a recorder listens: saved values, reads and writes of `.grad`, `requires_grad`, and hooks of leaves."""

import weakref
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from ...ir.dim_order import order_of
from ...ir.ops.index.assign import run_chain
from ...ir.symbols.symbolic import is_symbol
from ...runtime.autograd.function import FunctionNode
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.node import Leaf, Output, label_of, new_number, shown_edge, source_of, user_attributes
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ...runtime.core.writes import has_views, views_of
from ..errors.errors import at
from ..guards.frames import unprofiled
from ..guards.guards import Condition
from ..guards.state_guards import HistoryGuard, hooks_guard
from .giving_up import give_up, may_give_up
from .recording import LeafState, Link, Saved, is_shared, kind_of_gradient


def has_kept_gradient(t: Tensor) -> bool:
    """Return whether a tensor with a history has the gradient that `retain_grad()` keeps."""
    return t._retained_grad is not None


def keeps_gradient(t: Tensor) -> bool:
    """Return whether `retain_grad()` was called."""
    return t._retains


def is_leaf(t: Tensor) -> bool:
    """Return whether a tensor has no history but its own gradient."""
    return t.is_leaf


def has_base(t: Tensor) -> bool:
    """Return whether a tensor is a view, which cannot be detached in place."""
    return t._base is not None


def hook_numbers_of(edge) -> tuple:
    """Return the numbers of the hooks at an input's history, those of `retain_grad()` aside; no other hook ever gets them."""
    node = edge.source if type(edge) is Output else edge
    if type(node) is Leaf:
        return node.hook_numbers()
    return *[at for at, (kind, _) in (node.pre_hooks or {}).items() if kind != "retain"], *(node.post_hooks or ())


def name_of_history(t: Tensor) -> tuple:
    """Return the name of the node behind a tensor, and whether users have set attributes on it."""
    return () if t.is_leaf else (label_of(t._node), bool(_set_by_users(restored_node(t._node)[0])))


def restored_node(edge) -> tuple:
    """Return (node, number of the result) of an edge; the eager node of a replay's result, if it is restored."""
    node, index = source_of(edge)
    return source_of(node.edges[index]) if node.expand is not None and node.rules is not None else (node, index)


def _set_by_users(node) -> dict:
    """Return what users have set on a node, beside what a Function keeps in its ctx."""
    return {} if node.expand is not None or isinstance(node, FunctionNode) else user_attributes(node)


def _state_of(node) -> dict:
    """Return all that users have set on a node or its ctx, by identity, and the numbers of its hooks."""
    held = node.attributes() if isinstance(node, FunctionNode) else _set_by_users(node)
    hooks = tuple(node.pre_hooks or ()), tuple(node.post_hooks or ())
    return {"hooks": hooks, **{(name, k): id(v) for name, x in held.items() if type(x) is dict for k, v in x.items()},
            **{name: id(x) for name, x in held.items() if name != "_metadata"}}


def _through_older(node) -> str:
    """Say that a backward goes through a node from before the run."""
    return (f"backward{at(user_line())} goes through {node.label}, which was computed before the call; call backward() in the "
            "same traced function as the forward pass, or outside of it")


@dataclass(frozen=True, eq=False)
class GradientGuard(Condition):
    """Guard on the identity of a leaf's gradient, which the function reaches otherwise too, or through other memory."""

    leaf: Tensor
    gradient: Tensor

    @property
    def identity(self) -> tuple:
        return "gradient", id(self.leaf)

    def holds(self) -> bool:
        return self.leaf.grad is self.gradient

    def changed_values(self) -> list:
        """Return the key under which the gradient may be looked up by its leaf from now on."""
        return [self.identity]

    def __str__(self):
        return "a gradient that lies in memory of other tensors is another tensor now"


class GradientLog:
    """Log of leaves and their gradients. `changing` holds the keys of gradients that were other tensors at earlier calls
    (`GradientGuard.identity`)."""

    def __init__(self, recorder, changing=frozenset()):
        self._recorder, self._changing = recorder, changing
        self._began = new_number()              # nodes from before the run have lower numbers
        self.leaves: dict[int, LeafState] = {}  # by id of the leaf
        self.retained: set = set()              # positions of inputs that keep their gradients from now on
        self.hooked: dict = {}                  # last line that registered a hook: on a tensor from outside (True), or not
        self._histories: dict = {}              # by id of a node behind an input: (node, `_state_of` it)
        self.detached: list = []                # (position of an input, tensor) of `detach_()`
        self.changed: dict = {}                 # position of an input: (tensor, whether it required grad at first)
        self._first_gradients: list = []        # (tensor with a leaf, its state, weak reference to its first gradient)
        self._fixed: dict = {}                  # id of such a tensor: gradient, the same tensor at each call
        self._cleared: list | None = None       # states of leaves whose gradient was dropped before the first operator

    # Leaves.

    def note_leaf(self, t):
        """Enter the leaf of a tensor, if it has one that is not known."""
        leaf = t._node
        if type(leaf) is Leaf and id(leaf) not in self.leaves:
            if self._recorder.inputs.position_of(t) is None:
                self._recorder.refuse("it uses the gradient of a tensor that shares memory with another one it uses",
                                      "clone one of them")
            self._add_leaf(t, leaf, leaf.grad)

    def _add_leaf(self, t, leaf, grad):
        r = self._recorder
        position = r.inputs.position_of(t)
        if t._node is leaf and position is not None:
            r.inputs.set_history(position, leaf)
        state = self.leaves[id(leaf)] = LeafState(position, leaf, grad)
        r.meets_hooks("a hook of a tensor", leaf.all_hooks())
        if grad is not None:
            is_others = self.fix(grad)            # (it is another leaf's, too)
            grad.__dict__["_gradient_of"] = r, position, t
            r.links.remember(grad)
            self._first_gradients.append((t, state, weakref.ref(grad)))
            if is_others or (type(grad) not in PARTS and r.cell_of(grad) is not None):
                self.fix(grad)

    def position_of_owner(self, t) -> int | None:
        """Return the position of the leaf by which a gradient is looked up at every call; None for other tensors. A gradient
        that shares its memory is the same tensor at each call, until it is seen to be another one."""
        owner = t.__dict__.get("_gradient_of")
        if owner is None or owner[0] is not self._recorder:
            return None
        views = [ref() for ref in t._storage.aliases]
        has_own = t._base is None or (("gradient", id(owner[2])) in self._changing and all(v is None or v is t for v in views))
        if self._recorder.cell_of(t) is None and has_own:
            return owner[1]
        self.fix(t)
        return None

    def fix(self, grad) -> bool:
        """If a tensor is the gradient of a leaf, require the same tensor at all calls; return whether it is one."""
        owner = grad.__dict__.get("_gradient_of")
        if owner is None or owner[0] is not self._recorder:
            return False
        self._fixed[id(owner[2])] = grad
        return True

    def guards(self, reached) -> list:
        """Return guards on gradients that were read and that share memory, or that the function `reached` otherwise (by id)."""
        looked_up = {s.what for s in self._recorder.inputs.sources if s.kind == "grad"}
        read = [(t, self._fixed.get(id(t), ref())) for t, state, ref in self._first_gradients
                if state.was_read or state.position in looked_up]
        return [GradientGuard(t, grad) for t, grad in read
                if grad is not None and (id(t) in self._fixed or id(grad) in reached)]

    def guard_hooks(self):
        """Guard the hooks of captured leaves. No input may get or lose hooks inside, and no node behind one attributes."""
        r = self._recorder
        if any(hook_numbers_of(edge) != hooks for edge, hooks in r.inputs.hooks.values()):
            r.refuse("it registers a hook on a tensor from outside, or removes one", "do so outside of the function",
                     self.hooked.get(True))
        if any(_state_of(node) != before for node, before in self._histories.values()):
            self._refuse_history()
        leaves = [s.leaf for s in self.leaves.values()
                  if s.position is not None and r.inputs.sources[s.position].kind == "captured"]
        if leaves:
            r.guards.append(hooks_guard(leaves))

    # Values that gradient rules read.

    def taped(self, node, args, out):
        """An operation went on the tape: remember the graph values that its rule will read."""
        tensors = [out, *args]
        node.traced = tuple([self.saved(t) if saved is not None else None for t, saved in zip(tensors, node.saved)])

    def saved(self, t):
        """Return the graph's view of a saved tensor, or of several; symbolic numbers are returned unchanged."""
        if type(t) is tuple:
            return tuple(map(self.saved, t))
        r = self._recorder
        if isinstance(t, Tensor):
            value, link = r.value_of(t), r.link(t)
            return Saved(value, link, t._storage, link.cell.version, t.aval if is_shared(t) else None)
        return t if is_symbol(t) else None

    def going_back(self, nodes):
        """Backward is about to go through some nodes. Those from before the run must lie between captured tensors and leaves
        that are inputs, as those of a view of a parameter do. Replays would take the same path for every other history."""
        before = {n for n in nodes if n.number < self._began}
        if not before:
            return
        left = set(before)
        for t in self._recorder.inputs.captured():
            own = None if t._node is None else source_of(t._node)[0]
            if own in before:
                path = self._path_to_inputs(own)
                left.difference_update(path)
                if path:
                    self._recorder.guards.append(HistoryGuard(t, path))
        if left:
            give_up(self._recorder, _through_older(max(left, key=attrgetter("number"))))

    def _path_to_inputs(self, node) -> list:
        """Return the nodes from one back to leaves; none if a leaf is no input, or a node has hooks."""
        path = [node]
        for n in path:
            for edge in [source_of(e)[0] for e in n.edges if e is not None]:
                if type(edge) is not Leaf:
                    path += () if edge in path else (edge,)
                elif id(edge) not in self.leaves or self.leaves[id(edge)].position is None:
                    return []
        return [] if any(n.pre_hooks or n.post_hooks for n in path) else path

    def unpacked(self, t: Tensor, saved, node, guards):
        """Backward unpacked a saved array as the tensor `t`; `guards` are (storage, version) saved with it. After writes
        through `.data`, it holds the newer values."""
        value = None if saved is None else saved.value
        r = self._recorder
        if value is None or value.owner is not r.builder:
            give_up(self._recorder, _through_older(node))
            return
        if t._shared is not None and t._shared is saved.storage:        # users get it in the memory of the saved tensor
            cell, chain = saved.link.place
            r.links.tie(t, Link(r, cell, chain, None, -1))
        else:
            r.fresh(t, self.saved_value(saved, guards))

    def gathered(self, traced, link, t):
        """Return the graph's views of saved values. Those in the memory behind a link lie in that of the tensor `t` instead,
        which holds the same values again."""
        now = self._recorder.link(t)
        return tuple([self._moved(x, link.cell, now) if type(x) in (Saved, tuple) else x for x in traced])

    def _moved(self, saved, before, now):
        if type(saved) is tuple:
            return tuple([self._moved(x, before, now) if type(x) is Saved else x for x in saved])
        cell, chain = saved.link.place
        if cell is not before:
            return saved
        link = Link(now.recorder, now.cell, chain, None, -1)
        return Saved(run_chain(now.cell.value, link.chain), link, None, now.cell.version, saved.whole)

    @staticmethod
    def saved_value(saved, guards):
        """Return what a saved tensor holds now, which is not what it held if it was written through `.data`, or through a
        tensor that counts its own writes."""
        cell, chain = saved.link.place
        is_written = cell is not saved.link.cell or cell.version != saved.version
        if any(storage is saved.storage and (is_written or storage.version != version) for storage, version in guards):
            if saved.now[0] is not cell.value:          # (the tape and the backward read one value)
                saved.now = cell.value, run_chain(cell.value, chain)
            return saved.now[1]
        return saved.value

    # Reads and writes of `.grad`.

    def accessed(self, t: Tensor, setting: bool):
        unprofiled(self._accessed, t, setting)

    @may_give_up
    def _accessed(self, t, setting):
        if type(t._node) is Leaf:
            self._recorder.link(t)
            self.note_leaf(t)
            leaf = t._node
        elif t._node is None and self._recorder.link(t).cell.root is t:
            leaf = self._resting_leaf(t)
        else:
            self._accessed_kept(t, setting)
            return
        if setting:
            self.leaf_set(leaf)
        else:
            self.leaf_read(leaf)

    def _accessed_kept(self, t, setting: bool):
        """The gradient of a tensor with a history, which `retain_grad()` keeps, is about to be read or set."""
        r = self._recorder
        if not r.link(t).is_outside:
            return
        if setting or t._retained_grad is not None or r.inputs.position_of(t) is None:
            r.refuse(f"it {'sets' if setting else 'reads'} the gradient of a tensor from outside that is no leaf",
                     "do so outside of it, or pass the gradient as an argument")
        r.layouts.query(t, has_kept_gradient)

    @may_give_up
    def retains_read(self, t):
        """The function asks whether a tensor keeps its gradient."""
        r = self._recorder
        if r.inputs.position_of(t) is not None:
            r.layouts.query(t, keeps_gradient)
        elif r.link(t).is_outside:
            r.refuse("it asks whether a view of a tensor from outside keeps its gradient", "do so outside of it")

    def _resting_leaf(self, t) -> Leaf:
        """Return the leaf of a tensor from outside that does not require grad now, but may have a gradient."""
        if t._former_leaf is None:
            t._former_leaf = Leaf(t)
        if id(t._former_leaf) not in self.leaves:
            self._add_leaf(t, t._former_leaf, t._retained_grad)
        self.leaves[id(t._former_leaf)].resting = t
        return t._former_leaf

    def leaf_read(self, leaf: Leaf):
        state = self.leaves.get(id(leaf))
        if state is None:
            give_up(self._recorder, f"backward{at(user_line())} reaches a tensor that the function never used; call backward() "
                                    "in the same traced function as the forward pass, or outside of it")
            return
        if not state.was_set:
            state.was_read = True

    def leaf_set(self, leaf: Leaf):
        self.leaves[id(leaf)].was_set = True

    def left_as_results(self) -> list:
        """Return the dense gradients left on leaves that are no new tensors of their own: those from outside or over such
        memory, with a history, or in memory that is shared or not row-major."""
        found, seen = [], set()
        for s in [*self.leaves.values()]:
            g: Any = s.gradient
            if s.position is not None and s.is_changed and kind_of_gradient(g) not in (None, True):
                cell = self._recorder.link(g).cell
                if g._node is not None or order_of(g._a) is not None or id(cell) in seen or cell.root is not None:
                    found.append(g)
                seen.add(id(cell))
        return found

    def operator_runs(self):
        """An operator runs: at the first one, remember which gradients were dropped before."""
        if self._cleared is None:
            self._cleared = [s for s in self.leaves.values() if s.was_set and s.gradient is None]

    def cleared_positions(self) -> list:
        """Return the positions of leaves whose gradient was dropped before the first operator, is never looked up, and does not
        come back."""
        read = {None, *[s.what for s in self._recorder.inputs.sources if s.kind == "grad"]}
        return [s.position for s in self._cleared or () if s.position not in read and s.is_changed]

    # Changes of `requires_grad` and `retain_grad()`.

    @may_give_up
    def retaining(self, t: Tensor):
        position = self._recorder.inputs.position_of(t)
        if position is not None:
            self.retained.add(position)
        elif self._recorder.link(t).is_outside:
            self._recorder.refuse("it calls retain_grad() on a view of a tensor from outside", "do so outside of it")

    def hooking(self, t: Tensor):
        """A hook is about to be registered on `t`: if that is an input, its hooks before are known by now."""
        self.hooked[self._recorder.link(t).is_outside] = user_line()

    @may_give_up
    def history_read(self, t: Tensor):
        """`t.grad_fn` is about to be read. That of an input counts by its name, and takes and gives no attributes."""
        r = self._recorder
        position = r.inputs.position_of(t)
        if position is None or t.is_leaf or r.inputs.histories.get(position) is not t._node:
            return
        r.layouts.query(t, name_of_history)
        node, _ = shown_edge(t._node)
        if _set_by_users(node):
            self._refuse_history()
        self._histories.setdefault(id(node), (node, _state_of(node)))

    @may_give_up
    def node_read(self, node):
        """Edges or attributes of a node are about to be read."""
        if id(node) in self._histories:
            self._refuse_history()

    def _refuse_history(self):
        self._recorder.refuse("it uses attributes or edges of the grad_fn of a tensor from outside",
                              "pass what it reads as an argument, and set attributes outside")

    @may_give_up
    def detaching(self, t: Tensor):
        """`t` is about to lose its history. An input loses it in later calls, too. Views from outside would keep one that it
        got in the call; a replay gives it to those that the function uses."""
        position = self._recorder.inputs.position_of(t)
        if position is not None:
            if t._node is not self._recorder.inputs.histories.get(position):
                links = [view.__dict__.get("_traced") for view in views_of(t)]
                if not any(link is not None and link.is_outside for link in links):
                    self._recorder.layouts.answers[position, has_views] = False
                if None in links:
                    self._recorder.refuse("it detaches in place a tensor from outside behind a write that gave it a history, "
                                          "and there are views of it", "write under no_grad(), or drop the views")
            if id(t) not in self._recorder.swaps.swapped:
                self._recorder.layouts.query(t, has_base)
            self.detached.append((position, t))

    def is_detached(self, t) -> bool:
        """Return whether an input has lost its history so far."""
        return any(t is other for _, other in self.detached)

    def detached_positions(self) -> list:
        """Return the positions of inputs that have no history any more."""
        histories = self._recorder.inputs.histories
        return [position for position, t in self.detached if t._node is None and histories.get(position) is not None]

    def requires_grad_changing(self, t: Tensor):
        """`t.requires_grad` is about to be set. An input changes it in later calls, too."""
        position = self._recorder.inputs.position_of(t)
        if position is None:
            return
        self.changed.setdefault(position, (t, t._node is not None))
        if t._node is not None:
            self.note_leaf(t)
            self.leaves[id(t._node)].resting = t

    @may_give_up
    def requires_grad_started(self, t: Tensor):
        """`t` requires grad from now on."""
        position = self._recorder.inputs.position_of(t)
        if position is None:
            self.leaves[id(t._node)] = LeafState(None, t._node, None)
        else:
            before = self._recorder.inputs.histories.get(position)
            if before is not None and self.is_detached(t):
                if type(before) is not Leaf:
                    self._recorder.refuse("it detaches a tensor from outside in place, and lets it require grad again",
                                          "use t.detach().requires_grad_(), or do one of the two outside")
                self._recorder.layouts.answers[position, is_leaf] = True
            self.note_leaf(t)
            self._recorder.inputs.set_history(position, t._node)

    def turns(self) -> list:
        """Return (position, final `requires_grad`) of the inputs where it changed."""
        return [(position, not began) for position, (t, began) in self.changed.items() if (t._node is not None) != began]

    def toggled_tensors(self) -> set:
        return {id(self.changed[position][0]) for position, _ in self.turns()}
