from .runtime.distributed.engines.futures import *
