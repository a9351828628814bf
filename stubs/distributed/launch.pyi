from ..runtime.distributed.launch import *
