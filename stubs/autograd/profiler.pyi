from ..runtime.profiler.legacy_names import *
