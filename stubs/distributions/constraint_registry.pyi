from ..runtime.distributions.constraint_registry import *
