"""Activation modules."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import CELU as CELU
from ingot.nn import ELU as ELU
from ingot.nn import GELU as GELU
from ingot.nn import GLU as GLU
from ingot.nn import Hardshrink as Hardshrink
from ingot.nn import Hardsigmoid as Hardsigmoid
from ingot.nn import Hardswish as Hardswish
from ingot.nn import Hardtanh as Hardtanh
from ingot.nn import LeakyReLU as LeakyReLU
from ingot.nn import LogSigmoid as LogSigmoid
from ingot.nn import LogSoftmax as LogSoftmax
from ingot.nn import Mish as Mish
from ingot.nn import PReLU as PReLU
from ingot.nn import RReLU as RReLU
from ingot.nn import ReLU as ReLU
from ingot.nn import ReLU6 as ReLU6
from ingot.nn import SELU as SELU
from ingot.nn import SiLU as SiLU
from ingot.nn import Sigmoid as Sigmoid
from ingot.nn import Softmax as Softmax
from ingot.nn import Softmax2d as Softmax2d
from ingot.nn import Softmin as Softmin
from ingot.nn import Softplus as Softplus
from ingot.nn import Softshrink as Softshrink
from ingot.nn import Softsign as Softsign
from ingot.nn import Tanh as Tanh
from ingot.nn import Tanhshrink as Tanhshrink
from ingot.nn import Threshold as Threshold
