"""Outputs of a recording: what each result tensor is to later calls.

New leaves that a function makes and returns (parameters, buffers, tensors that require grad) are made anew by replays, and so
are the attributes that the function gave its results.
"""

from dataclasses import dataclass, replace
from typing import Any

from ...ir.dim_order import inverse, order_of
from ...ir.graph.graph import Value
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.node import label_of
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ...runtime.interop.tensor_protocols import attributes_of
from ...runtime.nn.base.parameter import Owned, over
from ..errors.errors import TraceError, at
from ..guards.arg_pytree import flatten, unflatten
from ..proxies.new_objects import NewObjects
from ..proxies.numpy_scalars import fixed
from ..proxies.threads import mapped
from .backward import is_freed
from .inputs import OUTSIDE, swap_error
from .recording import Whole, base_of, is_shared


@dataclass(frozen=True)
class NewLeaf:
    """Class of such a tensor, whether it requires grad, and the number of the result that is its gradient."""

    kind: type
    requires_grad: bool
    gradient: int | None

    @staticmethod
    def of(t: Tensor, results: list) -> "NewLeaf | None":
        """Describe a result that the function has made, or return None if it is no leaf; its gradient is added to `results`."""
        is_owned = isinstance(t, Owned)
        if not t.is_leaf or not (is_owned or t.requires_grad):
            return None
        if t.requires_grad and t._node.all_hooks():
            code = getattr(t._node.all_hooks()[0], "__code__", None)
            line = user_line() if code is None else (code.co_filename, code.co_firstlineno)
            raise TraceError("this function cannot be traced: it returns a leaf that it made, with a hook on it, which later "
                             f"calls would not register{at(line)}; register it outside, on the result")
        return NewLeaf(type(t) if is_owned else Tensor, t.requires_grad, number_of(t.grad, results))

    def over(self, t: Tensor) -> Tensor:
        """Make such a leaf of a new tensor, or over its memory."""
        leaf = over(self.kind, t) if self.kind is not Tensor else t if t._node is None else t.detach()
        return Tensor.requires_grad_(leaf) if self.requires_grad else leaf


@dataclass(frozen=True)
class Attributes:
    """Attributes that the user gave a result: their spec, and the numbers of the results that are its tensors."""

    spec: tuple
    numbers: tuple

    @staticmethod
    def of(t: Tensor, results: list, recorder) -> "Attributes | None":
        """Describe the attributes of a result that the function has made; tensors among them are further results."""
        attributes = attributes_of(t)
        if not attributes:
            return None
        leaves: list = []
        spec = flatten(mapped(attributes, fixed), leaves, None, NewObjects(recorder, recorder.tracker.known))
        return Attributes(spec, tuple([number_of(leaf, results) for leaf in leaves]))

    def give(self, t: Tensor, results: list):
        """Set them on a result of another call, `made` anew like all results."""
        t.__dict__.update(unflatten(self.spec, iter([results[n] for n in self.numbers])))


@dataclass(frozen=True)
class Output:
    """A result tensor: new memory, or a view of an input's memory."""

    value: Value
    source: int | None                      # position of the input whose memory it has,
    chain: tuple                            # and the views that lead there
    same: bool                              # it is that very tensor
    requires_grad: bool
    freed: str = ""                         # name of its history's node, if a backward inside of the function has used it up
    device: Any = None                      # of new memory; None on the host
    memory_of: int | None = None            # number of the result whose memory it has; of `Recording.rebinds`
    is_window: bool = False                 # it came there by `set_()`, not by `.data`; of the same
    leaf: NewLeaf | None = None            # state of a leaf that the function made
    part: Any = None                        # its place in the memory of another result (`alias_table.Part`)
    whole: Value | None = None              # value of all of its new memory, which the tape saves,
    views: tuple = ()                       # and the views that lead from there to the result
    rewritten: bool = False                 # an input whose history goes on through the function
    taped: bool = False                     # a view of an input, or of another result over one, whose history is the call's
    order: tuple | None = None              # order of the dims of new memory (`ir/dim_order.py`)
    detached: bool = False                  # a view of what `detach()` gives,
    is_data: bool = False                   # or of `.data`,
    depth: int = 0                          # behind so many of the views
    is_late: bool = False                   # a view of an input that has other memory by then
    retained_gradient: int | None = None                 # number of the result that is its kept gradient (`retain_grad()`)
    locked: bool = False                    # its memory is read-only
    attributes: Attributes | None = None    # that the user gave it
    retains: bool = False                   # it keeps the gradients of later backwards
    version: int | None = 0                 # count of writes to its new memory, or to a part that it got by `.data = `
    itself: Tensor | None = None            # the very tensor, if that is a view from outside
    shared: Whole | None = None             # the function that makes a tensor of this process's part

    @property
    def back(self) -> tuple | None:
        """The permutation that restores the order of dims, as a job returns new memory in `order`."""
        return None if self.order is None else inverse(self.order)

    @property
    def does_more(self) -> bool:
        """Whether it is anything else than new memory."""
        may = self.source, self.leaf, self.part, self.retained_gradient, self.attributes, self.shared
        is_more = any(x is not None for x in may)
        return is_more or bool(self.freed) or self.locked or self.retains

    @property
    def has_history(self) -> bool:
        """Whether a backward after the call goes through what the function computed for it."""
        is_own = self.source is None or self.rewritten or self.taped
        return self.requires_grad and is_own and not self.freed and self.leaf is None


def output_of(recorder, t, results) -> Output:
    """Return the output for a result tensor. If it is a leaf, its gradient is added to `results`, the list of all results."""
    link = recorder.link(t)
    value = recorder.value_of(t)
    if id(t) in recorder.swaps.swapped:
        return Output(value, recorder.swaps.swapped[id(t)][1], (), True, t.requires_grad)
    if id(t) in recorder.inputs.own:
        return Output(value, recorder.inputs.own[id(t)], (), True, t.requires_grad)
    if is_shared(t):
        return _shared_output(recorder, t)
    output = _late_output(recorder, t) or memory_output(recorder, t)
    if output.same:
        return output
    if link.is_outside and output.source is not None:       # from outside, over the memory of an input
        return replace(output, itself=t)
    retained_gradient = None if output.source is not None or t.is_leaf else number_of(t._retained_grad, results)
    attributes = None if link.is_outside else Attributes.of(t, results, recorder)
    return replace(output, leaf=NewLeaf.of(t, results), retained_gradient=retained_gradient, attributes=attributes,
                   retains=t._retains)


def _shared_output(recorder, t) -> Output:
    """Return the output for a tensor that several processes share: new memory of its part, without a history."""
    backend = t._a.backend
    output = memory_output(recorder, backend.traced_part(t._a))
    if output.source is not None and recorder.link(t).is_outside:
        return replace(output, itself=t, detached=False)
    if output.source is not None or t.requires_grad:
        recorder.refuse("it returns a DTensor with a history or over memory from outside, or leaves it outside",
                        "return full_tensor() or detach().clone() of it")
    return replace(output, shared=Whole(backend, backend.layout_of(t._a)))


def _late_output(recorder, t) -> Output | None:
    """Return the output for a view that the function made of an input with other memory; None for other tensors."""
    swapped, base, link = recorder.swaps.swapped, base_of(t), recorder.link(t)
    if base is t or id(base) not in swapped or link.is_outside:
        return None
    whole = recorder.link(base)
    depth = len(whole.chain)
    if link.cell is not whole.cell or link.chain[:depth] != whole.chain or len(link.chain) == depth:
        return None
    return Output(recorder.value_of(t), swapped[id(base)][1], link.chain[depth:], False, t.requires_grad, is_late=True)


def memory_output(recorder, t) -> Output:
    """Return the output for a tensor's memory: an input's, or memory that the function made."""
    link, value = recorder.link(t), recorder.value_of(t)
    root = link.cell.root
    if id(t) in recorder.aliases.joined:
        return Output(value, recorder.aliases.joined[id(t)], (), True, t.requires_grad)
    part = _part_of(recorder, base_of(t))
    if part is not None and not t.requires_grad and link.cell is part[1].cell:
        position, of_part = part
        if link.chain[:len(of_part.chain)] == of_part.chain:
            return Output(value, position, link.chain[len(of_part.chain):], t is base_of(t), False)
    if root is not None and recorder.inputs.is_from(link.cell, *OUTSIDE):
        base, base_before = recorder.swaps.stood_for(base_of(t)), recorder.swaps.base_before
        others = (x for x in recorder.inputs.over(link.cell) if base_before(x[1]) is base)
        source, whole = next(others, (link.cell.source, root))
        is_detached = base is not base_before(whole) or (t is not root and not link.chain)
        depth = len(recorder.link(base).chain) if is_detached and base is not root else 0
        version = version_apart(t, recorder.swaps.storage_before(whole))
        if version is not None and any(t is not other and t._storage is other._storage
                                       for other, *_ in recorder.swaps.swapped.values()):
            raise swap_error()
        return Output(value, source, link.chain, t is root, t.requires_grad, detached=is_detached, is_data=base._is_data,
                      depth=depth, version=version)
    device = t.device if t._a.__class__ is DeviceArray else None
    return Output(value, None, (), False, t.requires_grad, name_of_freed(t), device,
                  order=order_of(t._a), locked=device is None and not (link.chain or t._a.flags.writeable),
                  version=t._shared.version if t._shared is not None else 0)


def _part_of(recorder, t):
    """Return (position, link) of an input that became a view of other memory when several inputs were joined, or None."""
    position = recorder.aliases.joined.get(id(t), recorder.inputs.own.get(id(t)))
    if position is None or id(t) in recorder.swaps.swapped:
        return None
    link = recorder.link(t)
    return (position, link) if link.chain else None


def version_apart(t, storage) -> int | None:
    """Return the count of writes to a tensor that got a part of memory by `.data = `; None if `storage` counts its writes."""
    return t._storage.version if t._storage.is_part and t._storage is not storage else None


def name_of_freed(t) -> str:
    """Return the name of a history's node, if a backward has freed the history."""
    return label_of(t._node) if t.requires_grad and is_freed(t._node) else ""


def number_of(gradient, results) -> int | None:
    """Return the number of a gradient among the results, to which it may be added."""
    if gradient is None:
        return None
    for i, t in enumerate(results):
        if t is gradient:
            return i
    results.append(gradient)
    return len(results) - 1


def parts_of(outputs) -> list:
    """Return (number, output) of the results that are made of others, each behind the one of which it is made."""
    def depth(o):
        return 0 if o.part is None else 1 + depth(outputs[o.part.of])

    return sorted([(i, o) for i, o in enumerate(outputs) if o.part is not None], key=lambda part: depth(part[1]))


def attach_results(outputs, results):
    """Set the gradients and attributes of tensors that were made anew."""
    for o, t in zip(outputs, results):
        if o.attributes is not None:
            o.attributes.give(t, results)
        if o.retained_gradient is not None:
            t._retained_grad = results[o.retained_gradient]
        if o.leaf is not None and o.leaf.gradient is not None:
            t.grad = results[o.leaf.gradient]
