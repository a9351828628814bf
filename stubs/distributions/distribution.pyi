from ..runtime.distributions.distribution import *
