from ...runtime.distributed.elastic import *
from . import multiprocessing as multiprocessing
