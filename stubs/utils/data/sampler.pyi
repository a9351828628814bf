from ...runtime.data.sampler import *
