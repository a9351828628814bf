from ...runtime.distributed.functional import *
