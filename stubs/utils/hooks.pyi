from ..runtime.toolbox.hook_handles import *
