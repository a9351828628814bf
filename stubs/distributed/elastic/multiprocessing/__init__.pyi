from ....runtime.distributed.elastic import *
from . import errors as errors
