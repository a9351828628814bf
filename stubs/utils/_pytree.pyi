from ..runtime.pytree.pytree import *
