"""Outputs of a recording: what each result tensor is to later calls."""

from dataclasses import replace

from ...ir.dim_order import order_of
from ...runtime.core.device_array import DeviceArray
from ..side_effects.made_leaves import Attributes, NewLeaf, number_of
from .backward import is_freed
from .inputs import OUTSIDE
from .recording import Output, base_of


def output_of(recorder, t, results) -> Output:
    """Return the output for a result tensor. If it is a leaf, its gradient is added to `results`, the list of all results."""
    link = recorder.link(t)
    value = recorder.value_of(t)
    if id(t) in recorder.swaps.swapped:
        return Output(value, recorder.swaps.swapped[id(t)][1], (), True, t.requires_grad)
    output = memory_output(recorder, t)
    if output.same:
        return output
    kept = None if output.source is not None or t.is_leaf else number_of(t._kept_grad, results)
    attributes = None if link.is_given else Attributes.of(t, results, recorder)
    return replace(output, leaf=NewLeaf.of(t, results), kept=kept, attributes=attributes, retains=t._retains)


def memory_output(recorder, t) -> Output:
    """Return the output for a tensor's memory: an input's, or memory that the function made."""
    link, value = recorder.link(t), recorder.value_of(t)
    root = link.cell.root
    if id(t) in recorder.aliases.joined:
        return Output(value, recorder.aliases.joined[id(t)], (), True, t.requires_grad)
    if root is not None and recorder.inputs.is_from(link.cell, *OUTSIDE):
        return Output(value, link.cell.source, link.chain, t is root, t.requires_grad,
                      detached=base_of(t) is not base_of(root), is_data=base_of(t)._is_data)
    device = t.device if t._a.__class__ is DeviceArray else None
    return Output(value, None, (), False, t.requires_grad, t.requires_grad and is_freed(t._node), device,
                  order=order_of(t._a), locked=device is None and not (link.chain or t._a.flags.writeable))
