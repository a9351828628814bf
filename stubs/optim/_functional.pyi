from ..runtime.optim.functional_forms import *
