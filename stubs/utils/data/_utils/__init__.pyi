from ....runtime.data import *
from . import pin_memory as pin_memory
from . import worker as worker
