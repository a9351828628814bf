from ..runtime.distributed import *
from . import algorithms as algorithms
from . import checkpoint as checkpoint
from . import constants as constants
from . import device_mesh as device_mesh
from . import distributed_c10d as distributed_c10d
from . import elastic as elastic
from . import launch as launch
from . import nn as nn
from . import optim as optim
from . import run as run
