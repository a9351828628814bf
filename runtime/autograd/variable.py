"""`Variable`, the old name of tensors with gradients."""

from ..core.tensor import Tensor


class _AnyTensor(type):
    def __instancecheck__(cls, x):
        return isinstance(x, Tensor)


class Variable(metaclass=_AnyTensor):
    """Class of every tensor. `Variable(data, requires_grad=False)` returns a tensor over the memory of `data`."""

    def __new__(cls, data, requires_grad=False):
        return data.detach().requires_grad_(requires_grad)
