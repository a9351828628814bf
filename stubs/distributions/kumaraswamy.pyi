from ..runtime.distributions.unit import *
