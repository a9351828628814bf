from ..runtime.cuda.graphs import *
