from ..runtime.nn.functional.conv_gradients import *
