"""Results that lie in one memory which the function has made (`return y, y[1:]`, `y, y.detach()`): who writes to one of them
later changes the others, so a replay makes the whole, and the others over its memory. So it is with a result that has one
element in several places (`return y.expand(4, 3)`)."""

from dataclasses import dataclass, replace

import numpy as np

from ...ir.ops.index.assign import run_chain
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.tensor import Tensor, wrap
from .recording import Output, base_of


@dataclass(frozen=True)
class Part:
    """How a result lies in the memory of the result with the number `of`: a chain of view operators leads there. If it is no
    view of that, it shares memory as `detach()` does; writes to `t.data` are not checked."""

    of: int
    chain: tuple
    is_view: bool
    is_data: bool = False

    def over(self, whole: Tensor, plain) -> Tensor:
        """Such a tensor over the memory of the whole, without history; `plain` puts numbers in the place of symbols."""
        if self.is_view and whole._node is None:
            return run_chain(whole, plain(self.chain))
        t = run_chain(whole.detach(), plain(self.chain))
        return t if self.is_view else t.data if self.is_data else t.detach()


def share_memory(recorder, results, outputs, gradients):
    """Says of results that lie in one memory which the function has made how they do; `gradients` are those that leaves get.
    Tensors of which they are views, and that nobody gets, are results, too: they are added to both lists."""
    groups: dict = {}
    for t, o in zip(results, outputs):
        if o.source is None:
            groups.setdefault(id(recorder.link(t).cell), {})[id(t)] = t
    for t in gradients:
        if id(recorder.link(t).cell) in groups:
            groups[id(recorder.link(t).cell)][id(t)] = t
    for group in groups.values():
        is_shared = len(group) > 1 and (recorder.scope is not None or overlap(group.values()))
        if is_shared or any(map(_is_spread, group.values())):
            _Joining(recorder, results, outputs).join([*group.values()])


def overlap(tensors) -> bool:
    """Whether some of these may have elements in common."""
    if any(t._a.__class__ is DeviceArray for t in tensors):
        return True
    end = 0
    for low, high in sorted([np.lib.array_utils.byte_bounds(t._a) for t in tensors if t._a.size]):
        if low < end:
            return True
        end = high
    return False


def _is_spread(t) -> bool:
    """Whether a tensor has some element in several places, as `expand` gives it."""
    a = t._a
    if a.__class__ is DeviceArray or a.flags.forc or not a.size:
        return False
    low, high = np.lib.array_utils.byte_bounds(a)
    return high - low < a.nbytes


class _Joining:
    """Puts the results of one memory in relation to each other."""

    def __init__(self, recorder, results, outputs):
        self.recorder, self.results, self.outputs = recorder, results, outputs
        self.numbers = {id(t): i for i, t in enumerate(results)}

    def join(self, group):
        """One of the roots of the group is, or stands for, the whole; each view is one of its root."""
        link = self.recorder.link
        roots = {id(t): t for t in map(base_of, group)}
        whole = next((t for t in roots.values() if not link(t).chain), None)
        of = self._number(whole) if whole is not None else self._whole_of(group[0])
        for t in roots.values():
            if t is not whole:
                self._set(t, Part(of, link(t).chain, False, t._is_data))
        for t in group:
            if t._base is not None:
                depth = len(link(t._base).chain)
                self._set(t, Part(self._number(t._base), link(t).chain[depth:], True))

    def _set(self, t, part):
        number = self._number(t)
        self.outputs[number] = replace(self.outputs[number], part=part)

    def _number(self, t) -> int:
        """The number of a tensor among the results, which it joins if it is none yet."""
        if id(t) not in self.numbers:
            self._add(t, self.recorder.output(t, self.results))
        return self.numbers[id(t)]

    def _add(self, t, output):
        self.numbers[id(t)] = len(self.outputs)
        self.outputs.append(output)
        if len(self.results) < len(self.outputs):
            self.results.append(t)

    def _whole_of(self, t) -> int:
        """The number of a new result that has all of the memory in which a tensor lies."""
        known = self.outputs[self._number(t)]
        number = len(self.outputs)
        self._add(wrap(np.empty(0)), Output(self.recorder.link(t).cell.value, None, (), False, False, device=known.device))
        return number
