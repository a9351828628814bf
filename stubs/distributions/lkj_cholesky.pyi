from ..runtime.distributions.matrix_variate import *
