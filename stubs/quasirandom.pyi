from .runtime.quasirandom import *
