from ..runtime.toolbox.dlpack import *
