from ..runtime.toolbox import *
from . import _foreach_utils as _foreach_utils
from . import _pytree as _pytree
from . import tensorboard as tensorboard
