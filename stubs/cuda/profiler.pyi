from ..runtime.cuda.profiler import *
