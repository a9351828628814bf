from ..runtime.autograd.anomaly import *
