from ..runtime.cuda.replay.graphs import *
