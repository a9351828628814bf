from ..runtime.toolbox.dlpack_functions import *
