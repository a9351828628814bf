from ...runtime.nn.parallel.functions import *
