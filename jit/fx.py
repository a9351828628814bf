"""`ingot.fx`: what modules say to PyTorch's symbolic tracer when they are imported. Graphs come from `jit.trace` here, which
needs no such words."""

__all__ = ["Proxy", "wrap"]


class Proxy:
    """What stands for a value of a symbolic trace: there are none."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("ingot has no symbolic tracer; jit.trace records functions of tensors")


def wrap(fn_or_name):
    """What was given: a function that is not to be looked into, which jit.trace does not mind."""
    return fn_or_name
