from ...jit.tensorboard.writer import *
