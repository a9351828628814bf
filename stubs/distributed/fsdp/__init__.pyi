from ...runtime.distributed.fsdp import *
from . import api as api
from . import fully_sharded_data_parallel as fully_sharded_data_parallel
from . import sharded_grad_scaler as sharded_grad_scaler
from . import wrap as wrap
