from ..runtime.toolbox.weak import *
