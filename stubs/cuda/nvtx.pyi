from ..runtime.cuda.nvtx import *
