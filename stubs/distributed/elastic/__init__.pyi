from ...runtime.distributed.launchers.error_files import *
from . import multiprocessing as multiprocessing
