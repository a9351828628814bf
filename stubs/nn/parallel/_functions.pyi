from ...runtime.nn.parallel.comm_functions import *
