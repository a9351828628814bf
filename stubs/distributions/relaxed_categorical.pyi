from ..runtime.distributions.relaxed import *
