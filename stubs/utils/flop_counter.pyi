from ..runtime.toolbox.flop_counter import *
