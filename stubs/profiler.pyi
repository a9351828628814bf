from .runtime.profiler import *
