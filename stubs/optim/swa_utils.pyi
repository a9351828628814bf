from ..runtime.optim.swa_utils import *
