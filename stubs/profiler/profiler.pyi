from ..runtime.profiler import *
