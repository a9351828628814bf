from ...runtime.distributed.training.uneven_inputs import *
from . import ddp_comm_hooks as ddp_comm_hooks
from . import join as join
from . import model_averaging as model_averaging
