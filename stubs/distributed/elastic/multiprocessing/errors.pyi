from ....runtime.distributed.launchers.error_files import *
