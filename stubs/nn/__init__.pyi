from ..runtime.nn import *
from . import attention as attention
from . import common_types as common_types
from . import grad as grad
from . import intrinsic as intrinsic
from . import qat as qat
from . import quantized as quantized
