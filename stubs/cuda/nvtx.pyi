from ..runtime.cuda.api.nvtx import *
