from ..runtime.distributions.multivariate import *
