"""Errors of distributed runs, and the table of docs/distributed.md that lists them by their text."""

import ast
import functools
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import ingot

ROOT = Path(ingot.__file__).parent
PAGE, ERRORS = ROOT / "docs/distributed.md", ROOT / "runtime/distributed"
ROOMS = ("stores", "engines", "groups", "collectives", "launchers")
OF_STARTING = ("stores/launch_variables.py", "groups/choose_engine.py", "launchers/command_line.py",
               "launchers/rank_processes.py", "launchers/rounds.py")      # errors of settings, too
VALUE = "\0"


class Site(NamedTuple):
    """A call that makes an error, and its text with a mark for each value."""

    place: str
    text: str


@functools.cache
def sites(rooms=ROOMS) -> list:
    """Return the errors of the rooms that have a text of their own, beside the place that they name."""
    found = []
    for path in [path for room in rooms for path in sorted((ERRORS / room).glob("*.py"))]:
        name = path.relative_to(ERRORS).as_posix()
        kinds = r"Dist\w*Error|Argument\w*Error|unknown_choice" if name in OF_STARTING else r"Dist\w*Error"
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and re.search(kinds, ast.unparse(call.func)) and call.args:
                text = _text(call.args[0]) + " must be one of" * (ast.unparse(call.func) == "unknown_choice")
                if re.search("[a-z]{3}", re.sub(r"\b(rank|cuda)\b", "", text)):
                    found.append(Site(f"{name}:{call.lineno}", text))
    return found


def _text(node) -> str:
    """Return the constants of an expression of strings, in their order."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_text(node.body)} {_text(node.orelse)}"
    return VALUE


def rows(page: str) -> list:
    """Return the texts of the first column, one list for each row of the table of errors."""
    table = page.partition("\n## Errors by their text\n")[2]
    return [re.findall(r"`([^`]+)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]


def pattern(text: str) -> re.Pattern:
    """Return a pattern of a text with `...` for values."""
    return re.compile(".*".join(re.escape(part) for part in text.split("...")), re.DOTALL)


PROGRAM = '''
raise DistError(f"rank {a} of {b} " + ("is late" if c else "has gone"))
raise DistError(str(a))
raise DistError(f"rank {a} on cuda:{b}: {c}")
raise Other("no error of runs")
raise (DistA if x else DistBackendError)("two words")
raise ArgumentError("no words")
'''
TEXTS = [text for row in rows(PAGE.read_text()) for text in row]


def test_every_error_stands_in_the_table():
    found = sites()
    assert len(found) > 60
    unlisted = [site for site in found if not any(pattern(text).search(site.text) for text in TEXTS)]
    assert not unlisted, "add a row to docs/distributed.md"


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_of_the_table_is_that_of_an_error(text):
    assert any(pattern(text).search(site.text) for site in sites())


def test_texts_are_read_from_the_code(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ERRORS", tmp_path)
    (tmp_path / "stores").mkdir()
    (tmp_path / "stores/a.py").write_text(PROGRAM)
    assert [site.text for site in sites(("stores",))] == ["rank \0 of \0 is late has gone", "two words"]
    assert rows("\n## Errors by their text\n| text |\n| `a ... b`, `c` | `d` |\n") == [["a ... b", "c"]]
    assert pattern("rank ... gone").search("the rank 3 has gone") and not pattern("rank ... gone").search("gone")
