from ..runtime.toolbox.groups import *
