from .runtime.toolbox.testing import *
