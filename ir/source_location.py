"""Source locations of operations: the user's line, and the module whose call was under way."""


class Where(tuple):
    """(file, line number), as which it compares, and the name of a module's call: `Net.layers.0`, with @1, @2 ... at the end
    for further calls of one module in an exported model; empty where no module was called."""

    module = ""

    def __new__(cls, line, module: str = ""):
        made = super().__new__(cls, line)
        if module:
            made.module = module
        return made


def module_of(line) -> str:
    """The name of the call that a node's line speaks of; empty if it is none."""
    return getattr(line, "module", "")
