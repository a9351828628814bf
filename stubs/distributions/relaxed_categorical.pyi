from ..runtime.distributions.transformed_families import *
