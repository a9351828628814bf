from ..runtime.multiprocessing.tensor_pickling import *
