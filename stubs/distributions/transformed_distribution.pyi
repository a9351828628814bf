from ..runtime.distributions.composite import *
