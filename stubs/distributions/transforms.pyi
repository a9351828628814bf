from ..runtime.distributions.transforms import *
