"""The generated pages of the manual: the reference, the coverage of operators, the list of examples, and copies of files.

`make docs` calls `write` when Sphinx starts (`sphinx_extension`). The pages lie below `docs/generated`, which git ignores.
`python -m ingot.tools.manual FOLDER` writes them without Sphinx. Names come from the modules that users import
(`public_names`), signatures from the stubs, texts from docstrings (`docstrings`). No page is edited by hand.
"""

import ast
import re
from pathlib import Path

import ingot
from ingot.__main__ import build_parser, program_name
from ingot.ir import config

from . import coverage, reference
from .docstrings import inline, rendered

ROOT = Path(ingot.__file__).parent
FILES = ("ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md", "benchmarks/NOTES.md")       # copied, with links between them


def contents() -> dict:
    """Return {path below the folder: text} of all pages."""
    return {**reference.pages(), "coverage.rst": coverage.page(), "examples.rst": examples_page(),
            "command_line.rst": command_line_page(), "switches.rst": switches_page(),
            **{copy_name(file).removeprefix("generated/"): _copied(file) for file in FILES}}


def copy_name(file: str) -> str:
    """Return the path below `docs` of the copy of a file."""
    return f"generated/files/{file.replace('/', '_')}"


def _copied(file: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    return re.sub(r"\]\((?:docs/)?([\w./-]+\.md)\)",
                  lambda link: f"](/{copy_name(link[1])})" if link[1] in FILES else f"](/{link[1]})", text)


def examples_page() -> str:
    """Return the list of the programs in `examples`, by their docstrings."""
    out = [":orphan:", "", reference.title("Example programs")]
    for file in sorted((ROOT / "examples").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "__main__" in text:
            doc = ast.get_docstring(ast.parse(text)) or ""
            out += [f":source:`examples/{file.name}:1`", "", *["   " + line for line in rendered(doc).splitlines()], ""]
    return "\n".join(out)


def command_line_page() -> str:
    """Return the help of each command of `python -m ingot`."""
    parser, commands = build_parser()
    parser.prog = "python -m ingot"
    out = [":orphan:", "", reference.title("Command line"), "After ``pip install``, ``ingot COMMAND`` is the same.", ""]
    for command in (parser, *commands.values()):
        name = command.prog.rpartition(" ")[2]
        text = command.format_help().replace(program_name(), "python -m ingot")
        out += [f".. rubric:: {name}", ""] * (command is not parser)
        out += [".. code-block:: text", "", *["   " + line for line in text.splitlines()], ""]
    return "\n".join(out)


def switches_page() -> str:
    """Return the environment variables, with their defaults and meanings."""
    text = "Environment variables, read when ingot is imported. `ingot.ir.config.override(debug=3)` sets one in a `with` block."
    out = [":orphan:", "", reference.title("Switches"), inline(text), "",
           ".. list-table::", "   :header-rows: 1", "", "   * - variable", "     - default", "     - meaning"]
    for line in config.describe().splitlines():
        setting, _, meaning = line.partition("  ")
        name, _, default = setting.partition("=")
        out += [f"   * - ``{name}``", f"     - {f'``{default}``' if default else '..'}", f"     - {inline(meaning)}"]
    return "\n".join([*out, ""])


def write(folder: Path) -> int:
    """Write the pages, those that changed alone; remove pages of names that are gone. Return the number of pages."""
    pages = contents()
    for file in sorted(folder.rglob("*.*")):
        if file.relative_to(folder).as_posix() not in pages:
            file.unlink()
    for name, text in pages.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return len(pages)
