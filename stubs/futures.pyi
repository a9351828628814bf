from .runtime.distributed.groups.futures import *
