from ...runtime.distributed.checkpoint import *
from . import default_planner as default_planner
from . import filesystem as filesystem
from . import format_utils as format_utils
from . import hf_storage as hf_storage
from . import state_dict as state_dict
from . import state_dict_loader as state_dict_loader
from . import state_dict_saver as state_dict_saver
from . import stateful as stateful
