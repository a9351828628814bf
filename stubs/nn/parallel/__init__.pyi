from ...runtime.nn.parallel import *
from . import _functions as _functions
from . import scatter_gather as scatter_gather
