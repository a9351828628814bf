"""Docstrings as reStructuredText: sections of numpydoc, fields, lists, code, and plain text with `code` in backticks.

Text becomes text whatever it contains, so no docstring can break the build: all characters with a meaning are escaped.
"""

import ast
import re
import textwrap

SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Attributes", "Shape", "Notes", "Examples", "See Also", "References")
_UNDERLINE = re.compile(r"-{3,}\s*")
_CODE = re.compile(r"``(.+?)``|`([^`\n]+)`")
_FIELD = re.compile(r"((?:`?\*{0,2}[\w.=/]+`?)(?:, `?\*{0,2}[\w.=/]+`?)*)( +)(\S.*)")      # `name    text`
_ITEM = re.compile(r"(?:[-*+]|\d+\.)\s+")
_SPECIAL = re.compile(r"([\\*|_`<>])")
_NUMBERED = re.compile(r"(\(?(?:\w|[ivxlcdm]+|#)[.)](?:\s|$)|:\w|\.\.(?:\s|$)|>>>|[-+*](?:\s|$)|[^\w\s]{2,}\s*$|--)", re.I)


def inline(text: str) -> str:
    """Return one line of text with its code as literals and all else escaped."""
    parts, at = [], 0
    text = " ".join(text.split())
    for code in _CODE.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[at:code.start()]), _literal((code[1] or code[2]).strip())]
        at = code.end()
    parts.append(_SPECIAL.sub(r"\\\1", text[at:]))
    line = "".join(parts).strip()
    return "\\" + line if _NUMBERED.match(line) else line


def _literal(code: str) -> str:
    return f"\\ ``{code}``\\ " if code else ""


def sections_of(doc: str) -> dict:
    """Return {title: lines} of a docstring in numpydoc form; the text before the first section has the title ''."""
    lines = textwrap.dedent(doc).strip("\n").splitlines()
    found: dict = {"": []}
    title = ""
    for i, line in enumerate(lines):
        if line.strip() in SECTIONS and i + 1 < len(lines) and _UNDERLINE.fullmatch(lines[i + 1].strip()):
            title = line.strip()
            found[title] = []
        elif not (_UNDERLINE.fullmatch(line.strip()) and i and lines[i - 1].strip() == title):
            found[title].append(line)
    return found


def parameters_of(lines: list) -> list:
    """Return [name, type, description lines] of each entry of a section such as Parameters."""
    entries: list = []
    for line in lines:
        if line.strip() and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            entries.append([name.strip(), kind.strip(), []])
        elif entries:
            entries[-1][2].append(line)
    return entries


def summary_of(doc: str) -> str:
    """Return the first sentence, at most 200 characters."""
    first = " ".join(doc.strip().split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", first)[0]
    return sentence if len(sentence) <= 200 else sentence[:sentence.rfind(" ", 0, 197)].rstrip("`,;: ") + " ..."


def rendered(doc: str) -> str:
    """Return a docstring as reStructuredText."""
    out = []
    for title, lines in sections_of(doc).items():
        if title:
            out += [f".. rubric:: {title}", ""]
        if title in ("Parameters", "Attributes", "Raises", "Returns", "Yields", "Shape"):
            out += _entries(lines)
        else:
            out += _blocks(lines)
    return "\n".join(out).rstrip() + "\n"


def _entries(lines) -> list:
    if not any(line.startswith(" ") for line in lines):
        return _blocks(lines)
    out = []
    for name, kind, description in parameters_of(lines):
        out.append(_literal(name) + (f" : {inline(kind)}" if kind else ""))
        body = _blocks(textwrap.dedent("\n".join(description)).splitlines()) or ["\\ "]
        out += ["    " + line if line else "" for line in body]
    return [*out, ""]


def _blocks(lines) -> list:
    """Return paragraphs, lists, fields and code as lines of reStructuredText."""
    out, i = [], 0
    lines = [line.rstrip() for line in lines]
    while i < len(lines):
        line = lines[i]
        if not line:
            i += 1
        elif line.startswith((" ", ">>>", "|")):
            end = i
            is_prompt = line.startswith(">>>")
            while end < len(lines) and (lines[end].startswith((" ", ">>>", "...", "|")) or (lines[end] and is_prompt)
                                        or (not lines[end] and "".join(lines[end + 1:end + 2]).startswith((" ", ">>>")))):
                end += 1
            out += _code(lines[i:end])
            i = end
        else:
            end, column = i + 1, _column(line)
            while end < len(lines) and lines[end] and not _starts(lines[end], column, bool(_ITEM.match(line))):
                end += 1
            text = " ".join([line, *lines[i + 1:end]])
            if _ITEM.match(line):
                out += [f"- {inline(_ITEM.sub('', text, count=1))}", ""]
            elif column:
                out += [f"- {_literal(line[:column].strip(' `'))}: {inline(text[column:])}", ""]
                while end < len(lines) and _in_column(lines[end], column):
                    line, i, end = lines[end], end, end + 1
                    while end < len(lines) and lines[end].startswith("  ") and lines[end].strip():
                        end += 1
                    text = " ".join([line, *lines[i + 1:end]])
                    out += [f"- {_literal(line[:column].strip(' `'))}: {inline(text[column:])}", ""]
            else:
                out += [inline(text), ""]
            i = end
    return out


def _column(line: str) -> int:
    """Return where the text of a row `name    text` begins; 0 for other lines."""
    field = _FIELD.fullmatch(line)
    return field.start(3) if field and len(field[2]) > 1 else 0


def _in_column(line: str, column: int) -> bool:
    """Return whether a line is a further row of such a list, by where its text begins."""
    field = _FIELD.fullmatch(line)
    return bool(field) and field.start(3) == column


def _starts(line: str, column: int, is_item: bool) -> bool:
    """Return whether a line ends the paragraph, item or row before it."""
    if line.startswith(">>>") or _ITEM.match(line):
        return True
    if column:
        return not line.startswith("  ")
    return _column(line) > 0 or (line.startswith("    ") and not is_item)


def _code(lines) -> list:
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    if text.startswith(">>>"):
        language = "pycon"
    else:
        try:
            ast.parse(text)
            language = "python"
        except SyntaxError:
            language = "text"
    return [f".. code-block:: {language}", "", *["    " + line if line else "" for line in text.splitlines()], ""]
