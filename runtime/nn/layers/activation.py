"""Activation modules."""

from itertools import repeat
from typing import Any

from ....ir.errors import ShapeError
from ...api.register.register import FUNCTIONS, tensor_as_option
from ...core.tensor import Tensor
from .. import functional as F
from ..base.field_constructors import REQUIRED, constructor, field_values
from ..base.module import Module
from ..base.parameter import Parameter
from .attention import MultiheadAttention as MultiheadAttention

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Activation(Module):
    """A module of one function: `_fields` are its arguments in order, with defaults."""

    _function: Any = None
    _fields: tuple = ()
    _field_names: tuple = ()      # names of the fields
    _hidden: frozenset = frozenset()   # arguments that the repr omits
    _shows_names = True           # whether the repr names arguments

    def __init__(self, *args, **kwargs):
        super().__init__()
        for name, value in field_values(self, self._fields, args, kwargs).items():
            if isinstance(value, Tensor) and value.ndim:        # `nn.ReLU(x)`
                raise tensor_as_option(type(self).__name__)
            setattr(self, name, value)

    def forward(self, input):
        return type(self)._function(input, *map(getattr, repeat(self), self._field_names))

    def extra_repr(self):
        parts = []
        for name, _ in self._fields:
            value = getattr(self, name)
            if name == "inplace":
                parts += ["inplace=True"] if value else []
            elif name not in self._hidden:
                parts.append(f"{name}={value!r}" if self._shows_names else f"{value}")
        return ", ".join(parts)


def _module(name, function, *fields, named=True, doc="") -> Any:
    members = {"_function": staticmethod(function), "_fields": fields, "_field_names": tuple([n for n, _ in fields]),
               "_shows_names": named, "__module__": __name__, "__init__": constructor(_Activation, fields),
               "__doc__": doc or (function.__doc__ or "")}
    return type(name, (_Activation,), members)


_IN = ("inplace", False)
ReLU = _module("ReLU", F.relu, _IN, doc="""max(x, 0), element by element.

    Parameters
    ----------
    inplace : bool
        Whether the result overwrites the input.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.ReLU()(ingot.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """)
LeakyReLU = _module("LeakyReLU", F.leaky_relu, ("negative_slope", 0.01), _IN, doc="""x above 0, negative_slope * x below.

    Parameters
    ----------
    negative_slope : float
        Slope below 0.
    inplace : bool
        Whether the result overwrites the input.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.LeakyReLU(0.1)(ingot.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """)
ELU = _module("ELU", F.elu, ("alpha", 1.0), _IN)
CELU = _module("CELU", F.celu, ("alpha", 1.0), _IN)
SELU = _module("SELU", F.selu, _IN)
GELU = _module("GELU", F.gelu, ("approximate", "none"), doc="""x times the normal distribution function.

    Parameters
    ----------
    approximate : {"none", "tanh"}
        Exact, or approximated with tanh.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.GELU()(ingot.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """)
SiLU = _module("SiLU", F.silu, _IN, doc="""x * sigmoid(x), also called swish.

    Parameters
    ----------
    inplace : bool
        Whether the result overwrites the input.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.SiLU()(ingot.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """)
Mish = _module("Mish", F.mish, _IN)
Hardswish = _module("Hardswish", F.hardswish, _IN)
Hardsigmoid = _module("Hardsigmoid", F.hardsigmoid, _IN)
Hardtanh = _module("Hardtanh", F.hardtanh, ("min_val", -1.0), ("max_val", 1.0), _IN)
Hardshrink = _module("Hardshrink", F.hardshrink, ("lambd", 0.5), named=False)
Softshrink = _module("Softshrink", F.softshrink, ("lambd", 0.5), named=False)
Softplus = _module("Softplus", F.softplus, ("beta", 1.0), ("threshold", 20.0))
Softsign = _module("Softsign", F.softsign)
Tanhshrink = _module("Tanhshrink", F.tanhshrink)
Threshold = _module("Threshold", F.threshold, ("threshold", REQUIRED), ("value", REQUIRED), _IN)
Sigmoid = _module("Sigmoid", F.sigmoid, doc="""1 / (1 + exp(-x)), element by element.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.Sigmoid()(ingot.zeros(1))
    tensor([0.5000])
    """)
LogSigmoid = _module("LogSigmoid", F.logsigmoid)
Tanh = _module("Tanh", F.tanh, doc="""The hyperbolic tangent, element by element.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.Tanh()(ingot.zeros(1))
    tensor([0.])
    """)
GLU = _module("GLU", F.glu, ("dim", -1))
Softmax = _module("Softmax", F.softmax, ("dim", None), doc="""exp(x) / sum(exp(x)) along a dimension.

    Parameters
    ----------
    dim : int, optional
        The dimension along which results sum to one.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.Softmax(dim=-1)(ingot.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """)
Softmin = _module("Softmin", F.softmin, ("dim", None))
LogSoftmax = _module("LogSoftmax", F.log_softmax, ("dim", None), doc="""log(softmax(x)) along a dimension, without overflow.

    Parameters
    ----------
    dim : int, optional
        The dimension along which the exponentials of results sum to one.

    Shape
    -----
    Input and output: any shape, the same.

    Examples
    --------
    >>> nn.LogSoftmax(dim=-1)(ingot.zeros(2))
    tensor([-0.6931, -0.6931])
    """)


class ReLU6(Hardtanh):  # type: ignore[valid-type, misc]
    """The function min(max(x, 0), 6)."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Softmax2d(Module):
    """Softmax over the channels of each pixel."""

    def forward(self, input):
        if input.ndim not in (3, 4):
            raise ShapeError(f"Softmax2d takes [N, C, H, W] or [C, H, W], got {input.aval}")
        return F.softmax(input, -3)


class RReLU(Module):
    """leaky_relu with a random slope in training."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """The function x above 0, learned slope times x below.

    Parameters
    ----------
    num_parameters : int
        Number of slopes: one, or one for each channel.
    init : float
        First value of the slopes.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: any shape, the same; channels are the second dimension.

    Examples
    --------
    >>> nn.PReLU()(ingot.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000], grad_fn=...)
    """

    _repr_fields = "num_parameters="

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(FUNCTIONS["full"]((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self):
        """Set all slopes to the initial value."""
        self.weight.data.fill_(self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)
