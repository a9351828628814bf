from ..runtime.cuda.api.profiler import *
