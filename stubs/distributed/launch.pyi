from ..runtime.distributed.launchers.launch import *
