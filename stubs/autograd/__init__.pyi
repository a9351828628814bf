from ..runtime.namespaces.autograd import *
from . import anomaly_mode as anomaly_mode
from . import grad_mode as grad_mode
