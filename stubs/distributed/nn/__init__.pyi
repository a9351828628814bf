from ...runtime.distributed.functional import *
from . import functional as functional
