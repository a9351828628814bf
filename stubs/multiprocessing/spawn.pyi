from ..runtime.multiprocessing.spawn import *
