from ..runtime.distributions.parameters import *
