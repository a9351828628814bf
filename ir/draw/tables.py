"""Tables and texts in terminals and notebooks: short where they are shown, with a line that says how to see all of it.

A `repr` has at most `LINES` lines of `COLUMNS` letters. The HTML of a notebook has no colours of its own, so it follows the
theme of the notebook, light or dark.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape

LINES, COLUMNS = 30, 100         # of a repr
HTML_ROWS, HTML_LINES = 100, 200      # of a table and of a text in a notebook
_HTML_COLUMNS = 400
_PRE = "max-height: 32em; overflow: auto; white-space: pre; font-family: monospace"      # (notebooks wrap lines otherwise)
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def markup(text: str) -> str:
    """Return a text for HTML and XML, in elements and in attributes. Characters that XML forbids become question marks."""
    return escape(_NOT_IN_XML.sub("\ufffd", text), quote=True)


def clipped(text: str, letters: int) -> str:
    """Return a text of at most so many letters."""
    return text if len(text) <= letters else text[: letters - 1] + "…"


def described(thing, **shown) -> str:
    """Return the class of an object with some of its properties, in one line: `StepLR(step_size=3, last_epoch=0)`."""
    words = ", ".join([f"{name}={value!r}" for name, value in shown.items()])
    return clipped(f"{type(thing).__name__}({words})", COLUMNS)


def length_of(thing) -> int | str:
    """Return the length of an object; "unknown" if it has none to tell."""
    try:
        return len(thing)
    except (TypeError, NotImplementedError, AttributeError):
        return "unknown"


def counted(n: int, what: str) -> str:
    """Return a number with a noun: `1 kernel`, `2 kernels`."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def shortened(text: str, way: str) -> str:
    """Return at most `LINES` lines of a text. The last one counts what is missing; `way` says how to see it: `print(x)`."""
    lines = text.splitlines()
    is_cut = len(lines) > LINES or any(len(line) > COLUMNS for line in lines)
    shown = [clipped(line, COLUMNS) for line in lines[:LINES - 1 if is_cut else LINES]]
    hidden = len(lines) - len(shown)
    if is_cut:
        shown.append(clipped(f"... {f'{hidden:,} more lines: ' if hidden else ''}{way} shows all of it", COLUMNS))
    return "\n".join(shown)


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Iterable[int] = (), indent: str = "") -> list[str]:
    """Return the lines of a table: `left` are the numbers of the columns of words; numbers stand at the right."""
    cells = [[" ".join(str(c).split()) for c in row] for row in (head, *rows)]
    words, last = frozenset(left), len(head) - 1
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]

    def cell(row, i):
        return (row[i] if i == last else row[i].ljust(widths[i])) if i in words else row[i].rjust(widths[i])

    return [(indent + "  ".join([cell(row, i) for i in range(len(head))])).rstrip() for row in cells]


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Iterable[int] = (), title: str = "",
               way: str = "", letters: int = 160) -> str:
    """Return a table for notebooks, of at most `HTML_ROWS` rows whose cells have at most so many letters; `way` says how to see
    the rest."""
    words = frozenset(left)

    def line(row, tag):
        return "".join([f"<{tag} style='text-align: {'left' if i in words else 'right; white-space: nowrap'}'>"
                        f"{markup(clipped(str(c), letters))}</{tag}>" for i, c in enumerate(row)])

    body = "".join([f"<tr>{line(row, 'td')}</tr>" for row in rows[:HTML_ROWS]])
    hidden = len(rows) - HTML_ROWS
    below = f"<p>{counted(hidden, 'more row')}: <code>{markup(way)}</code> shows all of it</p>" if hidden > 0 else ""
    return (f"<div>{f'<p>{markup(title)}</p>' if title else ''}<table><thead><tr>{line(head, 'th')}</tr></thead>"
            f"<tbody>{body}</tbody></table>{below}</div>")


def html_text(text: str, way: str = "", title: str = "") -> str:
    """Return a text for notebooks, of at most `HTML_LINES` lines; `way` says how to see the rest."""
    lines = text.splitlines()
    hidden = len(lines) - HTML_LINES
    below = f"<p>{counted(hidden, 'more line')}: <code>{markup(way)}</code> shows all of it</p>" if hidden > 0 else ""
    shown = "\n".join([clipped(line, _HTML_COLUMNS) for line in lines[:HTML_LINES]])
    above = f"<p>{markup(title)}</p>" if title else ""
    return f"<div>{above}<pre style='{_PRE}'>{markup(shown)}</pre>{below}</div>"
