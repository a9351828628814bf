"""New leaves that a function makes and returns: parameters, buffers, tensors that require grad. Replays make them anew."""

from dataclasses import dataclass

from ...runtime.core.tensor import Tensor
from ...runtime.interop.tensor_protocols import attributes_of
from ...runtime.nn.base.parameter import Owned, over
from ..guards.arg_pytree import flatten, unflatten
from ..proxies.made_objects import MadeObjects
from ..proxies.numpy_scalars import fixed
from ..proxies.thread_overlay import mapped


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
        return NewLeaf(type(t) if is_owned else Tensor, t.requires_grad, number_of(t.grad, results))

    def over(self, t: Tensor) -> Tensor:
        """Make such a leaf over the memory of a tensor."""
        made = t.detach() if self.kind is Tensor else over(self.kind, t)
        return Tensor.requires_grad_(made) if self.requires_grad else made


@dataclass(frozen=True)
class Attributes:
    """Attributes that the user gave a result: their spec, and the numbers of the results that are its tensors."""

    spec: tuple
    numbers: tuple

    @staticmethod
    def of(t: Tensor, results: list, recorder) -> "Attributes | None":
        """Describe the attributes of a result that the function has made; tensors among them are further results."""
        given = attributes_of(t)
        if not given:
            return None
        made = () if recorder.tracker is None else recorder.tracker.known.made
        leaves: list = []
        spec = flatten(mapped(given, fixed), leaves, None, MadeObjects(recorder, made).attributes)
        return Attributes(spec, tuple([number_of(leaf, results) for leaf in leaves]))

    def give(self, t: Tensor, made: list):
        """Set them on a result of another call, `made` anew like all results."""
        t.__dict__.update(unflatten(self.spec, iter([made[n] for n in self.numbers])))


def number_of(gradient, results) -> int | None:
    """Return the number of a gradient among the results, to which it may be added."""
    if gradient is None:
        return None
    for i, t in enumerate(results):
        if t is gradient:
            return i
    results.append(gradient)
    return len(results) - 1


def attach_results(outputs, made):
    """Set the gradients and attributes of tensors that were made anew."""
    for o, t in zip(outputs, made):
        if o.attributes is not None:
            o.attributes.give(t, made)
        if o.kept is not None:
            t._kept_grad = made[o.kept]
        if o.leaf is not None and o.leaf.gradient is not None:
            t.grad = made[o.leaf.gradient]
