from ...jit.tensorboard.summaries import *
