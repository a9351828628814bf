from ...runtime.distributed.fsdp.composable import *
from . import fsdp as fsdp
