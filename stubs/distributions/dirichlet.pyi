from ..runtime.distributions.gamma_families import *
