from ....runtime.distributed.training.comm_hooks import *
from . import debugging_hooks as debugging_hooks
from . import default_hooks as default_hooks
from . import post_localSGD_hook as post_localSGD_hook
from . import powerSGD_hook as powerSGD_hook
