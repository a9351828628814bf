from ..runtime.distributions.constraints import *
