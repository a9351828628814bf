from ....runtime.distributed.elastic import *
