from ..runtime.distributions.circular import *
