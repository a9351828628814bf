from ...runtime.masked.masked_reductions import *
