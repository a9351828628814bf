"""Functions that raise in place of missing ones."""


def refused(error: type, path: str, instead: str):
    """Return a function that raises and names an alternative."""
    def call(*args, **kwargs):
        raise error(f"{path}: {instead}")

    call.__name__ = call.__qualname__ = path.rpartition(".")[2]
    call.__doc__ = "Refused, with what to use instead."
    return call
