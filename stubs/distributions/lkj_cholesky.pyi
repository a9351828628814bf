from ..runtime.distributions.matrices import *
