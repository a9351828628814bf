from ..runtime.distributions.discrete import *
