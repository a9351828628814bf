from ...runtime.nn.parallel.scatter_gather import *
