from ..runtime.profiler.legacy import *
