from ....runtime.distributed.tensor.parallel import *
from . import loss as loss
from . import style as style
