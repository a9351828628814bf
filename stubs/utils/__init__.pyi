from ..runtime.toolbox import *
from . import _contextlib as _contextlib
from . import _foreach_utils as _foreach_utils
from . import _python_dispatch as _python_dispatch
from . import _pytree as _pytree
from . import collect_env as collect_env
from . import deterministic as deterministic
from . import module_tracker as module_tracker
from . import tensorboard as tensorboard
from . import weak as weak
