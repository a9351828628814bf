from ..runtime.toolbox import *
from . import collect_env as collect_env
from . import deterministic as deterministic
from . import module_tracker as module_tracker
from . import tensorboard as tensorboard
from . import weak as weak
