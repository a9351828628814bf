"""Text of definitions: lines of functions, docstrings, and numpy's spellings of parameters."""

import re
import textwrap

from ingot.runtime.api.register.register import NUMPY_NAMES

WIDTH = 124
_SENTENCE = re.compile(r".*?(?:\.(?= |$)|$)")      # up to its end


def definition(name: str, parameters: list, result: str, doc: str = "", note: str = "") -> list:
    """Return the lines of a function with its docstring, or with `...`."""
    head = f"def {name}("
    line = f"{head}{', '.join(parameters)}) -> {result}:"
    if len(line) > WIDTH:
        words = textwrap.wrap(", ".join(p.replace(" ", "\0") for p in parameters), max(WIDTH - len(head) - len(result) - 6, 60),
                              break_long_words=False, break_on_hyphens=False)
        line = f"{head}{(chr(10) + ' ' * len(head)).join(words)}) -> {result}:".replace("\0", " ")
    if not doc:
        return (line + " ..." + note).splitlines()
    return [*(line + note).splitlines(), *docstring(doc, "    ").splitlines()]


def docstring(doc: str, indent: str = "") -> str:
    """Return a docstring as wrapped lines."""
    return "\n".join(textwrap.wrap(doc, WIDTH, initial_indent=indent, subsequent_indent=indent)) if doc else ""


def first_sentences(thing) -> str:
    """Return the sentences of a docstring that begin on its first line, as source, or nothing."""
    first, _, rest = (thing.__doc__ or "").strip().partition("\n\n")[0].partition("\n")
    begun = "" if first.endswith(".") else _SENTENCE.match(" ".join(rest.split()))[0]
    doc = f"{first} {begun}".strip()
    if not doc:
        return ""
    return f'{"r" if chr(92) in doc else ""}"""{doc}{" " if doc.endswith(chr(34)) else ""}"""'


def numpy_spellings(parameters: list) -> list:
    """The parameter lists under which a function can be called.

    Optional renamed arguments have numpy's names as further keywords. A required one makes two lists; in the second, it and all
    later ones are keyword-only.
    """
    names = {p.name for p in parameters}
    renamed = [p for p in parameters if p.name in NUMPY_NAMES and NUMPY_NAMES[p.name] not in names
               and p.kind is not p.VAR_POSITIONAL]
    if not renamed:
        return [parameters]
    by_name = {p.name: p.replace(name=NUMPY_NAMES[p.name], kind=p.KEYWORD_ONLY) for p in renamed}
    if all(p.default is not p.empty for p in renamed):
        end = next((i for i, p in enumerate(parameters) if p.kind is p.VAR_KEYWORD), len(parameters))
        return [[*parameters[:end], *by_name.values(), *parameters[end:]]]
    first = parameters.index(renamed[0])
    rest = [by_name.get(p.name, p if p.kind is p.VAR_KEYWORD else p.replace(kind=p.KEYWORD_ONLY)) for p in parameters[first:]]
    return [parameters, [*parameters[:first], *rest]]
