from ..runtime.toolbox.module_tracker import *
