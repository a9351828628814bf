"""Source locations of operations: the user's line, and the module whose call was under way."""

import sys
from pathlib import PurePath


def name_of_file(file: str) -> str:
    """Return the name of a file without its folder, or `In[3]` for a cell of a notebook, whose file only its kernel knows."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    number = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(file)
    return PurePath(file).name if number is None else f"In[{number}]"


class Where(tuple):
    """A user's line that compares as (file, line number), with the name of the module's call, such as `Net.layers.0`.

    Further calls of one module in an exported model end in @1, @2 ...; outside of modules the name is empty.
    """

    module = ""

    def __new__(cls, line, module: str = ""):
        made = super().__new__(cls, line)
        if module:
            made.module = module
        return made


def module_of(line) -> str:
    """Return the module call that a node's line names, empty if none."""
    return getattr(line, "module", "")
