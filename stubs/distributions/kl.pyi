from ..runtime.distributions.kl import *
