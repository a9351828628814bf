"""Leaves that a function makes and gives away: parameters, buffers, tensors that require grad. Replays make them anew."""

from dataclasses import dataclass

from ..runtime.nn.parameter import Owned, attributes_of, over
from ..runtime.tensor import Tensor
from .errors import TraceError

_SIMPLE = (bool, int, float, str, bytes, type(None))


@dataclass(frozen=True)
class MadeLeaf:
    """What such a tensor is beside its values: its class, whether it requires grad, and attributes that the user gave it. Its
    gradient is the result with the number `gradient`, if it has one."""

    kind: type
    requires_grad: bool
    attributes: tuple
    gradient: int | None

    @staticmethod
    def of(t: Tensor, results: list) -> "MadeLeaf | None":
        """What a result is that the function has made, None if it is no leaf or nothing but values. `results` are all that are
        handed out, to which its gradient is added."""
        is_owned = isinstance(t, Owned)
        if not t.is_leaf or not (is_owned or t.requires_grad):
            return None
        attributes = tuple(sorted(attributes_of(t).items())) if is_owned else ()
        if any(type(v) not in _SIMPLE for _, v in attributes):
            raise TraceError(f"this function cannot be traced: it makes a {type(t).__name__} with attributes that a "
                             "trace could not make again; numbers and text it can")
        return MadeLeaf(type(t) if is_owned else Tensor, t.requires_grad, attributes, number_of(t.grad, results))

    def over(self, t: Tensor) -> Tensor:
        """Such a leaf over the memory of a tensor."""
        made = t.detach() if self.kind is Tensor else over(self.kind, t)
        made.__dict__.update(self.attributes)
        return Tensor.requires_grad_(made) if self.requires_grad else made


def number_of(gradient, results) -> int | None:
    """The number of a gradient among the results."""
    if gradient is None:
        return None
    for i, t in enumerate(results):
        if t is gradient:
            return i
    results.append(gradient)
    return len(results) - 1


def hand_over(outputs, made):
    """Gives tensors that were made anew their gradients."""
    for o, t in zip(outputs, made):
        if o.kept is not None:
            t._kept_grad = made[o.kept]
        if o.leaf is not None and o.leaf.gradient is not None:
            t.grad = made[o.leaf.gradient]
