from ..runtime.distributed.launchers.launcher import *
