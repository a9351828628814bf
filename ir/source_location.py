"""Source locations of operations: the user's line, and the module whose call was under way."""

import sys
from pathlib import PurePath


def shown_file(file: str) -> str:
    """Return a file for messages: `In[3]` for a cell of IPython, whose file only its kernel knows."""
    # Attributes alone: `get_ipython()` would be a call inside of functions that are being recorded.
    shell = getattr(getattr(sys.modules.get("IPython.core.interactiveshell"), "InteractiveShell", None), "_instance", None)
    number = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(file)
    return file if number is None else f"In[{number}]"


def place_text(line) -> str:
    """Return a line, (file, number) and what may follow, for messages: `/home/me/train.py:12`, or `In[3]:12`."""
    return f"{shown_file(line[0])}:{line[1]}"


def place_of_frame(frame) -> str:
    """Return the running line of a frame for messages."""
    return place_text((frame.f_code.co_filename, frame.f_lineno))


def name_of_file(file: str) -> str:
    """Return the name of a file without its folder, or `In[3]`."""
    return PurePath(shown_file(file)).name


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
