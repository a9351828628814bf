from ...runtime.nn.parallel import *
from . import scatter_gather as scatter_gather
