from ..runtime.multiprocessing import *
