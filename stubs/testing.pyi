from .runtime.testing import *
