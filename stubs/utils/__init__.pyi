from ..runtime.toolbox import *
from . import _pytree as _pytree
from . import tensorboard as tensorboard
