from ...runtime.distributed.fsdp.composable_fsdp import *
from . import fsdp as fsdp
