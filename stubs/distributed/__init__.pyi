from ..runtime.distributed import *
from . import _composable as _composable
from . import _tensor as _tensor
from . import constants as constants
from . import device_mesh as device_mesh
from . import distributed_c10d as distributed_c10d
from . import launch as launch
from . import optim as optim
from . import run as run
