from ..runtime.distributions.categorical import *
