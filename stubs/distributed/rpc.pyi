from ..runtime.distributed.rpc import *
