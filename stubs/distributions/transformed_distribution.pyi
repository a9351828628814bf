from ..runtime.distributions.composed import *
