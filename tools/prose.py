"""A check of docstrings, comments and Markdown: refused openings, refused phrases and long sentences.

    python tools/prose.py [PATH ...]        # prints file:line and the text; the status is 1 if there is any
"""

import ast
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LONGEST = 40            # words of a sentence
OPENINGS = re.compile(r"(What|Whatever|Who|Whose|Whoever|Where|Wherever|Which|The part of)\b(?!.*\?$)")
PHRASES = re.compile(r"\b(it is so that|that which|to whoever|had better)\b", re.I)
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"'`*]*\s+")
ITEM = re.compile(r"\s*([-*+]|\d+\.|>+)\s+")
COMMENT = re.compile(r"\s*# (.*)")
LINK = re.compile(r"\]\([^)]*\)")
FIELD = re.compile(r":\w[^:]*: |\w+: |[\w, *]+?  +")        # `:param x: ...`, `x: ...` and `x  ...` begin a text of their own


class Finding(NamedTuple):
    """A place that a person should rewrite."""

    line: int
    fault: str
    text: str


def paragraphs(text: str, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of paragraphs, items of lists and cells of tables; code is left out."""
    start, held, in_fence = first_line, [], False

    def flush():
        if held:
            yield start, " ".join(held)
            held.clear()

    for number, line in enumerate(text.splitlines(), first_line):
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            yield from flush()
            in_fence = not in_fence
        elif in_fence or line.startswith("    ") or bare.startswith((">>>", "...", "<", "|-", "| -", "|:")):
            yield from flush()
        elif bare.startswith("|"):
            yield from flush()
            yield from [(number, cell.strip()) for cell in bare.strip("|").split("|")]
        elif not bare:
            yield from flush()
        elif bare.startswith("#"):
            yield from flush()
            yield number, bare.lstrip("# ")
        else:
            item = ITEM.match(line)
            if item or FIELD.match(bare):
                yield from flush()
            if not held:
                start = number
            held.append(line[item.end():] if item else bare)
    yield from flush()


def faults_of(text: str, first_line: int = 1) -> Iterator[Finding]:
    """Yield the faults of a text."""
    for line, paragraph in paragraphs(text, first_line):
        paragraph = LINK.sub("]", paragraph)
        if OPENINGS.match(paragraph):
            yield Finding(line, "opening", paragraph)
        phrase = PHRASES.search(paragraph)
        if phrase:
            yield Finding(line, f"'{phrase[0]}'", paragraph)
        for sentence in SENTENCE_END.split(paragraph):
            words = [w for w in sentence.split() if re.search(r"\w", w)]
            if len(words) > LONGEST:
                yield Finding(line, f"{len(words)} words", sentence)


def faults_of_source(source: str) -> Iterator[Finding]:
    """Yield the faults of all docstrings of a module, and the refused openings of its comments."""
    for number, line in enumerate(source.splitlines(), 1):
        comment = COMMENT.fullmatch(line)
        if comment and OPENINGS.match(comment[1]):
            yield Finding(number, "opening", comment[1])
    for node in documented(ast.parse(source)):
        doc = ast.get_docstring(node)
        if doc:
            yield from faults_of(doc, node.body[0].lineno)


def documented(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield a module and all classes and functions in it. No expression holds one, so only statements are looked through."""
    nodes: deque[ast.AST] = deque([tree])
    while nodes:
        node = nodes.popleft()
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        for field in ("body", "handlers", "cases", "orelse", "finalbody"):
            nodes.extend(getattr(node, field, ()))


def main(paths: list[str]) -> int:
    """Print the faults of the files git tracks below `paths`; return the status."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "*.md"],
                            capture_output=True, text=True, check=True).stdout.split()
    roots = [Path(p) for p in paths]
    count = 0
    for name in listed:
        path = Path(name)
        if not path.is_file() or (roots and not any(r == path or r in path.parents for r in roots)):
            continue
        text = path.read_text()
        for found in faults_of_source(text) if path.suffix == ".py" else faults_of(text):
            print(f"{name}:{found.line}: {found.fault}: {found.text[:160]}")
            count += 1
    print(f"{count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
