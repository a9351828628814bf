from ..jit.torchscript.export_swap import *
