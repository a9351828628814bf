from ..runtime.multiprocessing.reductions import *
