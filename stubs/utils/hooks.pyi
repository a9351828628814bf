from ..runtime.toolbox.hooks import *
