from ..jit.torchscript.annotations import *
