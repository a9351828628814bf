from ..runtime.distributions.transformed import *
