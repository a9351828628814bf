from ...runtime.distributed.tensor import *
from . import device_mesh as device_mesh
from . import experimental as experimental
from . import parallel as parallel
from . import placement_types as placement_types
