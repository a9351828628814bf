from ..runtime.masked import *
from . import _ops as _ops
from . import maskedtensor as maskedtensor
