from ...runtime.distributed.fsdp import *
from . import fsdp as fsdp
