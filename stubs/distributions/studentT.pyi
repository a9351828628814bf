from ..runtime.distributions.gamma import *
