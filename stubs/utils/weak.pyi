from ..runtime.toolbox.weak_references import *
