from ...jit.tensorboard import *
from . import summary as summary
from . import writer as writer
