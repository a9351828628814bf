from ...runtime.nn.utils import *
from . import clip_grad as clip_grad
from . import convert_parameters as convert_parameters
from . import fusion as fusion
from . import memory_format as memory_format
from . import prune as prune
