from ..runtime.distributions.location import *
