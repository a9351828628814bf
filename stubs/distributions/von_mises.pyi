from ..runtime.distributions.univariate_families import *
