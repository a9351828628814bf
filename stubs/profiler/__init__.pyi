from ..runtime.profiler import *
from . import profiler as profiler
