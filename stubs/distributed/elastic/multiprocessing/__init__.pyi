from ....runtime.distributed.launchers.error_files import *
from . import errors as errors
