from ..runtime.masked import *
from . import _ops as _ops
