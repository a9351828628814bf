from ..runtime.toolbox.context import *
