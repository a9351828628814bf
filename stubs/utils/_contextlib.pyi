from ..runtime.toolbox.contextlib_parts import *
