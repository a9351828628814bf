"""Members of tensors that are made of values and facts about them: masked and nested tensors."""

from typing import Any

from ....ir.opdef.aval import Aval
from ...core.tensor import Tensor


class ValueMembers:
    """Members that come from `_values`. A class names this one before Tensor, and defines `like`, `values_of` and `_take`."""

    __slots__ = ()
    _values: Tensor
    shape: Any
    ndim: Any
    like: Any
    values_of: Any
    _take: Any

    aval = property(lambda self: Aval(tuple(self.shape), self.dtype))
    dtype = property(lambda self: self._values.dtype)
    device = property(lambda self: self._values.device)
    requires_grad = property(lambda self: self._values.requires_grad, lambda self, value: self.requires_grad_(value))
    is_leaf = property(lambda self: self._values.is_leaf)
    grad_fn = property(lambda self: self._values.grad_fn)
    data = property(lambda self: self.like(self._values.data), lambda self, value: self._take(value))

    def __init__(self, *args, **kwargs):
        """Do nothing. `args` and `kwargs` are ignored: the class's `__new__` has made the tensor of them."""

    @property
    def grad(self):
        """Gradient of the values, as a tensor of this class."""
        return None if self._values.grad is None else self.like(self._values.grad)

    @grad.setter
    def grad(self, value):
        self._values.grad = None if value is None else self.values_of(value)

    def requires_grad_(self, requires_grad=True):
        """Start or stop accumulating a gradient for the values."""
        self._values.requires_grad_(requires_grad)
        return self

    def size(self, dim=None) -> Any:
        """Return the sizes, or one of them."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """Return the number of dims."""
        return self.ndim

    def numel(self) -> int:
        """Return the number of all elements, including those not selected."""
        return self._values.numel()

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec):
        return repr(self)

    def __copy__(self):
        return self.like(self._values)
