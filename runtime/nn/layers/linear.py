"""Linear modules."""

import math

from ....ir.errors import ArgumentError, DTypeError
from ...api.register.register import FUNCTIONS
from .. import functional as F
from ..base import init
from ..base.lazy_modules import LazyModuleMixin
from ..base.module import Module
from ..base.parameter import Parameter, UninitializedParameter, without_shape


def empty_parameter(shape, device=None, dtype=None):
    """Return an uninitialised parameter."""
    return Parameter(FUNCTIONS["empty"](tuple(shape), device=device, dtype=dtype))


class Identity(Module):
    """The identity. `args` and `kwargs` are ignored: it stands in for any layer, with that layer's arguments."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Flatten(Module):
    """Flatten of the dimensions start_dim to end_dim into one.

    Parameters
    ----------
    start_dim, end_dim : int
        First and last dimension of those that become one.

    Shape
    -----
    Input: (N, ...). Output by default: (N, product of all other sizes).

    Examples
    --------
    >>> nn.Flatten()(ingot.ones(2, 3, 4)).shape
    ingot.Size([2, 12])
    """

    _repr_fields = "start_dim= end_dim="

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Split of one dimension into several."""

    _repr_fields = "dim= unflattened_size="

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if not isinstance(dim, int):
            raise ArgumentError(f"Unflatten takes an int as dim, got {dim!r}")
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)
        if not all(isinstance(n, int) for n in self.unflattened_size):
            raise DTypeError(f"Unflatten takes ints as unflattened_size, got {self.unflattened_size}")

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)


class Linear(Module):
    """The map y = x @ weight.T + bias.

    Parameters
    ----------
    in_features, out_features : int
        Sizes of the last dimension of input and output.
    bias : bool
        Whether a bias is added.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input: (..., in_features). Output: (..., out_features). `weight`: (out_features, in_features).

    Examples
    --------
    >>> layer = nn.Linear(3, 2)
    >>> layer(ingot.ones(4, 3)).shape
    ingot.Size([4, 2])
    """

    _repr_fields = "in_features= out_features= bias?"

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = empty_parameter((out_features, in_features), device, dtype)
        self.register_parameter("bias", empty_parameter((out_features,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Initialise uniformly in +-1/sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.uniform_around_zero(self.bias, self.in_features)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """The Linear inside attention, under the name of state dicts."""


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that takes in_features from its first input."""

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        self.weight = without_shape(UninitializedParameter, self.weight)
        if bias:
            self.bias = empty_parameter((out_features,), device, dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Set in_features from the first input."""
        self.in_features = input.shape[-1]
        self.weight.materialize((self.out_features, self.in_features))
        self.reset_parameters()


class Bilinear(Module):
    """The map y_o = x1 @ weight[o] @ x2 + bias_o.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
        Sizes of the last dimension of both inputs and of the output.
    bias : bool
        Whether a bias is added.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Inputs: (..., in1_features) and (..., in2_features). Output: (..., out_features).

    Examples
    --------
    >>> nn.Bilinear(3, 4, 2)(ingot.ones(5, 3), ingot.ones(5, 4)).shape
    ingot.Size([5, 2])
    """

    _repr_fields = "in1_features= in2_features= out_features= bias?"

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        if in1_features <= 0:
            raise ArgumentError(f"Bilinear needs in1_features > 0, got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = empty_parameter((out_features, in1_features, in2_features), device, dtype)
        self.register_parameter("bias", empty_parameter((out_features,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Initialise uniformly in +-1/sqrt(in1_features)."""
        init.uniform_around_zero(self.weight, self.in1_features)
        if self.bias is not None:
            init.uniform_around_zero(self.bias, self.in1_features)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)
