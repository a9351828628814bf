from ..runtime.backends.cpu_device import *
from . import amp as amp
