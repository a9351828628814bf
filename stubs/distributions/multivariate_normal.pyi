from ..runtime.distributions.multivariate_normal import *
