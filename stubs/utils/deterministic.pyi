from ..runtime.toolbox.deterministic import *
