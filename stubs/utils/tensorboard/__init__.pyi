from ...jit.tensorboard import *
from . import writer as writer
