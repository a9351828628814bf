"""Tensors that share memory: arguments that become views of one input, and results that lie in one memory.

Arguments that are different parts of one memory are inputs of their own as long as nobody writes to them. At the first write
they become views of an input for all of the memory, and the recording holds only for calls with the same layout. So does an
argument that is a view, where a write gives its base another history. All keep their own gradients.

Results in one memory that the function made (`return y, y[1:]`, `y, y.detach()`) share it after a replay too: a later write to
one changes the others. A replay makes the whole, and the other results over its memory. The same holds for a result that has
one element in several places (`return y.expand(4, 3)`).
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from ...ir.dim_order import order_of
from ...ir.opdef.op import OPS
from ...ir.ops.index.assign import assign_view, run_chain
from ...runtime.autograd.grad_mode import set_grad_enabled
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import Tensor, counted_apart, wrap
from ...runtime.core.writes import inverse_chain
from ..guards.memory_order import history_of_base, layout_of
from .inputs import overlap_error, swap_error
from .outputs import Output, memory_output, name_of_freed, output_of, version_apart
from .recording import Link, Source, base_of


class AliasTable:
    """Table of inputs that share memory with other inputs."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.read_only: set = set()             # ids of outside storages of which several parts came in
        self.joined: dict[int, int] = {}        # id of an argument that became a view of other memory: its position
        self.wholes: dict[int, list] = {}       # position of the input for all of such memory: those of its parts
        self.bases: list = []                   # (position of such an argument, another one that is a view of the same base)

    def join(self, storage):
        """Make all arguments over some memory views of one input, before the first write there. Earlier reads stay valid."""
        r = self._recorder
        cells = [c for c in r.inputs.cells if r.swaps.storage_before(c.root) is storage]
        if r.inputs.is_from(cells[0], "part"):
            chains, positions = r.shared.join(cells)
        else:
            chains, positions = self._join_plain(cells, storage)
        self.read_only.discard(id(storage))
        self._redirect(storage.cell, cells, chains)
        self.wholes[storage.cell.source] = [c.source for c in cells]
        self.bases += [(position, positions[0]) for position in positions[1:]]

    def _join_plain(self, cells, storage) -> tuple:
        """Enter the base of plain tensors in some cells. Return the chains to them, by id of the cell, and their positions."""
        r, roots = self._recorder, [c.root for c in cells]
        base = base_of(roots[0])
        if not all(self._may_join(c, base) for c in cells):
            raise overlap_error()
        positions = [c.source for c in cells]
        for position, root in zip(positions, roots):
            r.pin_sizes(root)
            r.layouts.answers[position, layout_of] = layout_of(root)
            r.layouts.answers[position, history_of_base] = history_of_base(root)
        r.inputs.cells = [c for c in r.inputs.cells if c not in cells]
        r.inputs.enter(base, Source("base", positions[0]), f"base{positions[0]}")
        if not any(root is base for root in roots):
            r.inputs.set_history(storage.cell.source, base._node)
            del base.__dict__["_traced"]        # code that reaches the base otherwise relies on what it is the memory of
        chains = {id(c): () if c.root is base else c.root._chain for c in cells}
        for cell in cells:
            if cell.version:                    # the only one, written where that changes no history
                whole = storage.cell
                whole.value, whole.version = assign_view(whole.value, cell.value, chain=chains[id(cell)]), cell.version
                whole.began, whole.by_root, whole.is_checked = cell.began, cell.by_root, cell.is_checked
        self.joined.update({id(root): position for position, root in zip(positions, roots)})
        return chains, positions

    def chain_from_base(self, view) -> tuple | None:
        """Return the view operators that lead from its base to a tensor, with symbolic sizes; None if the base has other memory
        since the view was made, and lacks some of its elements."""
        if "_traced" not in view.__dict__:       # the function does not use it
            return view._chain
        chain, base = self._recorder.link(view).chain, view._base
        if base is None or "_traced" not in base.__dict__:
            return chain
        below = self._recorder.link(base)
        common = 0
        while common < min(len(chain), len(below.chain)) and chain[common] is below.chain[common]:
            common += 1
        if common == len(below.chain):
            return chain[common:]
        aval = below.cell.value.aval        # the base was turned since the view was made
        for name, items in chain[:common]:
            aval = OPS[name].infer(aval, **dict(items))
        back = inverse_chain(aval, below.chain[common:])
        return None if back is None else (*back, *chain[common:])

    def is_part(self, t) -> bool:
        """Return whether a tensor is a view of the base of an argument, which is a view itself."""
        cell = self._recorder.cell_of(t)
        is_view = cell is not None and cell.root is not None and cell.root._base is not None
        return is_view and base_of(t) is cell.root._base and self._recorder.inputs.is_from(cell, "argument")

    def _may_join(self, cell, base) -> bool:
        """Return whether all that a cell stands for is an argument that is a plain view of `base`."""
        root, inputs = cell.root, self._recorder.inputs
        is_plain = (root is base or type(root._node) is not Leaf) and root._a.__class__ is not DeviceArray
        is_alone = all(c is cell or c.root._storage is not root._storage for c in inputs.cells)
        return (is_plain and (is_alone or not cell.version) and inputs.is_from(cell, "argument") and base_of(root) is base
                and base._storage is root._storage and id(root) not in self._recorder.swaps.swapped)

    def _redirect(self, whole, cells, chains):
        """Move the links of some cells to one cell; `chains` leads to each old cell, by id. What was saved follows them."""
        for cell in cells:
            cell.joined = whole, chains[id(cell)]
        for t, link in self._recorder.links.live():
            if id(link.cell) in chains:
                t.__dict__["_traced"] = Link(self._recorder, whole, (*chains[id(link.cell)], *link.chain), link.value,
                                             link.version, link.is_outside)


@dataclass(frozen=True)
class Part:
    """The place of a result in the memory of result number `of`: a chain of view operators. A result that is no view shares
    memory as `detach()` does; writes to `t.data` are not checked."""

    of: int
    chain: tuple
    is_view: bool
    is_data: bool = False
    requires_grad: bool | None = None       # of a view whose base lies over an input's memory, or has a history that it lacks
    version: int | None = None              # count of writes to it, if it got a part of that memory by `.data = `

    def over(self, whole: Tensor, plain) -> Tensor:
        """Return such a tensor over the memory of `whole`; `plain` replaces symbols by numbers."""
        if self.requires_grad is not None:
            with set_grad_enabled(self.requires_grad):
                return run_chain(whole, plain(self.chain))
        if self.is_view and whole._node is None:
            return run_chain(whole, plain(self.chain))
        t = run_chain(whole.detach(), plain(self.chain))
        if self.is_view:
            return t
        t = t.data if self.is_data else t.detach()
        return t if self.version is None else counted_apart(t, self.version)


def share_memory(recorder, results, outputs, gradients, saved_cells):
    """Set the `part` of results that lie in one memory which the function made; `gradients` are those of leaves. Their bases
    become results too, if nobody returns them: they are appended to both lists. A result that alone is a view of memory in
    `saved_cells`, which the tape saves, stays in that memory."""
    groups: dict = {}
    for t, o in zip(results, outputs):
        if o.source is None:
            groups.setdefault(id(recorder.link(t).cell), {})[id(t)] = t
    for t in gradients:
        if id(recorder.link(t).cell) in groups:
            groups[id(recorder.link(t).cell)][id(t)] = t
    for group in groups.values():
        is_shared = len(group) > 1 and (recorder.scope is not None or overlap(group.values()))
        if is_shared or any(map(_has_overlapping_elements, group.values())) or any(map(_differs_from_base, group.values())):
            _ResultAliases(recorder, results, outputs).join([*group.values()])
            continue
        for number in [i for i, t in enumerate(results) if id(t) in group] if len(group) == 1 else ():
            link, base = recorder.link(results[number]), base_of(results[number])
            if link.chain and link.cell in saved_cells and not recorder.link(base).chain:
                outputs[number] = replace(outputs[number], whole=link.cell.value, views=link.chain, order=order_of(base._a))


def share_inputs(recorder, results, outputs):
    """Set the `part` of results that are views of tensors which the function made over an input's memory (`x.detach()`), if
    these are results, or only one of the two has a history. They become results too."""
    views = [(t, base_of(t)) for t, o in zip(results, outputs) if o.detached and o.chain]
    count = Counter([id(base) for _, base in views])
    aliases = _ResultAliases(recorder, results, outputs)
    for t, base in views:
        if t is not base and (count[id(base)] > 1 or base._node is not None or _differs_from_base(t) or id(base) in aliases):
            aliases.add_view(t, t._node is not None)
    for i, (t, o) in enumerate(zip(results, outputs)):
        if o.detached and o.part is None and not t.is_leaf:
            freed = name_of_freed(t)
            outputs[i] = replace(o, freed=freed) if freed else replace(o, rewritten=True)
    aliases.join_parts([t for t, o in zip(results, outputs) if o.detached and o.version is not None and o.part is None])


def overlap(tensors) -> bool:
    """Return whether some of these may have elements in common."""
    if any(t._a.__class__ is DeviceArray for t in tensors):
        return True
    end = 0
    for low, high in sorted([np.lib.array_utils.byte_bounds(t._a) for t in tensors if t._a.size]):
        if low < end:
            return True
        end = high
    return False


def _has_overlapping_elements(t) -> bool:
    """Return whether a tensor has some element in several places, as `expand` gives it."""
    a = t._a
    if a.__class__ is DeviceArray or a.flags.forc or not a.size:
        return False
    low, high = np.lib.array_utils.byte_bounds(a)
    return high - low < a.nbytes


def _differs_from_base(t) -> bool:
    """Return whether a tensor is a view without history of one that has a history, or the other way round. Writes to it are
    errors."""
    return t._base is not None and (t._node is None) != (t._base._node is None)


class _ResultAliases:
    """Relations between results in one memory."""

    def __init__(self, recorder, results, outputs):
        self.recorder, self.results, self.outputs = recorder, results, outputs
        self.numbers = {id(t): i for i, t in enumerate(results)}

    def join(self, group):
        """Make one root of a group the whole, or add one; the other roots are parts of it, and views are parts of roots."""
        link = self.recorder.link
        roots = {id(t): t for t in map(base_of, group)}
        whole = next((t for t in roots.values() if not link(t).chain), None)
        of = self._number(whole) if whole is not None else self._whole_of(roots.values())
        for t in roots.values():
            if t is not whole:
                self._set(t, Part(of, link(t).chain, False, t._is_data, version=version_apart(t, self.results[of]._storage)))
        for t in group:
            if t._base is not None:
                self.add_view(t, False if t._node is None and _differs_from_base(t) else None)
        parts = [t for t in roots.values() if t is not whole]
        self.join_parts([t for t in parts if self.outputs[self._number(t)].part.version is not None])

    def join_parts(self, tensors):
        """Make tensors without a base, over a part of memory that one of them got by `.data = `, results over that one."""
        first: dict = {}
        for t in sorted({id(t): t for t in tensors}.values(), key=lambda t: len(self.recorder.link(t).chain)):
            known = first.setdefault(id(t._storage), t)
            if known is not t:
                chain, below = self.recorder.link(t).chain, self.recorder.link(known).chain
                if chain[:len(below)] != below:
                    raise swap_error()
                self._set(t, Part(self._number(known), chain[len(below):], False, base_of(t)._is_data))

    def add_view(self, t, requires_grad=None):
        """Make a result a view of its base. A replay swaps the memory of inputs once it has made all results."""
        chain, base = self.recorder.aliases.chain_from_base(t), t._base.__dict__.get("_traced")
        has_left = base is not None and base.cell is not self.recorder.link(t).cell
        if has_left or id(t._base) in self.recorder.swaps.swapped or chain is None:
            raise swap_error()
        self._set(t, Part(self._number(t._base), chain, True, requires_grad=requires_grad),
                  taped=t._node is not None and _differs_from_base(t))

    def __contains__(self, i):
        return i in self.numbers

    def _set(self, t, part, taped=False):
        number = self._number(t)
        self.outputs[number] = replace(self.outputs[number], part=part, taped=taped)

    def _number(self, t) -> int:
        """Return the number of a tensor among the results; add it if it is none yet."""
        if id(t) not in self.numbers:
            self._add(t, output_of(self.recorder, t, self.results))
        return self.numbers[id(t)]

    def _add(self, t, output):
        self.numbers[id(t)] = len(self.outputs)
        self.outputs.append(output)
        if len(self.results) < len(self.outputs):
            self.results.append(t)

    def _whole_of(self, roots) -> int:
        """Add a result for all of the memory in which some tensors without a base lie, and return its number."""
        t = next((t for t in roots if not t._storage.is_part), next(iter(roots)))
        known, cell = memory_output(self.recorder, t), self.recorder.link(t).cell
        number, whole = len(self.outputs), wrap(np.empty(0))
        self.recorder.links.tie(whole, Link(self.recorder, cell, (), cell.value))
        self._add(whole, Output(cell.value, None, (), False, False, device=known.device, version=known.version))
        return number
