"""Runs the cells of a notebook in IPython, as its kernel does, and prints what they show: python notebook_cells.py FILE.

The output is JSON: for each cell of code {"source", "shown": {MIME type: text}, "printed"}.
"""

import contextlib
import io
import json
import sys
from pathlib import Path

from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell


class Keeping(DisplayHook):
    """A display hook that keeps what a cell shows."""

    shown: dict = {}

    def write_format_data(self, format_dict, md_dict=None):
        Keeping.shown = dict(format_dict)


def run(path) -> list:
    """Return what each cell of code shows. An error of a cell is raised."""
    InteractiveShell.displayhook_class = Keeping
    shell = InteractiveShell.instance()
    shell.display_formatter.active_types = list(shell.display_formatter.format_types)      # HTML as well
    cells = []
    for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            Keeping.shown, source = {}, "".join(cell["source"])
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                shell.run_cell(source, store_history=True).raise_error()
            cells.append({"source": source, "shown": Keeping.shown, "printed": printed.getvalue()})
    return cells


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1])))
