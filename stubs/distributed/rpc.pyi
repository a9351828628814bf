from ..runtime.distributed.launchers.rpc import *
