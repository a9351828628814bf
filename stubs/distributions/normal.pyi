from ..runtime.distributions.location_scale import *
