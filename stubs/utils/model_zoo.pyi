from ..runtime.toolbox.hub import *
