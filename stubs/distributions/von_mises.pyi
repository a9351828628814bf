from ..runtime.distributions.von_mises import *
