from ..runtime.pytree import *
