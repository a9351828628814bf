"""Sites: the places in the product where one line can be mutated, and a stable choice of some of them.

A site is named by its function, its line's text before and after, and the name of its file without the folder. The choice
goes by a hash of that and a seed, so edits elsewhere and moved files do not change it.
"""

import ast
import hashlib
import re
import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from .functions import functions_in
from .kinds import KINDS, Line

HERE = Path(__file__).resolve().parent
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SILENT = frozenset(("warn", "warn_once", "print", "debug", "info", "log", "warning", "write_line"))     # calls that only tell
SHOWN = re.compile(r"^(__(repr|str|format|dir|rich)\w*__|_?(repr|describe|explain|message|show|spell_out|extra_repr)\w*)$")
LIMIT = re.compile(r"^_?[A-Z][A-Z0-9_]*$")      # constants of a module; if whole numbers, they bound time and memory


@dataclass(frozen=True)
class Site:
    """One mutation of one line.

    file      path from the root of the tree
    line      number of the line, from 1
    function  qualified name of the innermost function around it, "" at the level of the module
    inner     the same with lambdas, as `functions.functions_in` names them
    before    the line's text, without its margin
    after     the mutated text
    kind      what was done
    area      which of the areas it belongs to
    """

    file: str
    line: int
    function: str
    inner: str
    before: str
    after: str
    kind: str
    area: str = ""

    @property
    def key(self) -> tuple:
        """All that names the site, whatever its folder and the number of its line."""
        return self.file.rpartition("/")[2], self.function, self.before, self.after

    @cached_property
    def id(self) -> str:
        """Ten digits that name the site."""
        return hashlib.sha256("\0".join(self.key).encode()).hexdigest()[:10]

    def rank(self, seed: int) -> str:
        """Return what the choice of a seed orders sites by. The file's name has no part in it: it changes more often than
        those of functions."""
        return hashlib.sha256("\0".join((str(seed), *self.key[1:], self.kind)).encode()).hexdigest()

    def in_text(self, text: str) -> str:
        """Return the text of the whole file with the mutated line."""
        lines = text.split("\n")
        old = lines[self.line - 1]
        if old.strip() != self.before:
            raise LookupError(f"{self.file}:{self.line} is {old.strip()!r}, not {self.before!r}")
        lines[self.line - 1] = old[:len(old) - len(old.lstrip())] + self.after
        return "\n".join(lines)


class Defaults:
    """The keyword arguments that have defaults, for functions and classes of the product by their plain names."""

    def __init__(self):
        self._optional: dict = {}
        self._needed: set = set()

    def add(self, tree):
        """Enter the functions of a file."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for f in node.body:
                    if isinstance(f, ast.FunctionDef) and f.name == "__init__":
                        self._enter(node.name, f.args)
            elif isinstance(node, ast.FunctionDef):
                self._enter(node.name, node.args)

    def _enter(self, name, args):
        positional = [*args.posonlyargs, *args.args]
        given = {a.arg for a in positional[len(positional) - len(args.defaults):]} if args.defaults else set()
        given |= {a.arg for a, d in zip(args.kwonlyargs, args.kw_defaults) if d is not None}
        self._optional.setdefault(name, set()).update(given)
        self._needed.update((name, a.arg) for a in (*positional, *args.kwonlyargs) if a.arg not in given)

    def has(self, function, keyword) -> bool:
        """Decide whether a function's keyword may be left out."""
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
        return keyword in self._optional.get(name, ()) and (name, keyword) not in self._needed


def sites_in(file: str, text: str, defaults: Defaults | None = None) -> list:
    """Return all sites of a file, in the order of the file."""
    tree, lines, found = ast.parse(text), text.split("\n"), []
    inner = {f.node: f.name for f in functions_in(tree)}

    def walk(node, parent, function, within):
        if not _is_skipped(node, parent):
            found.extend(_sites_of(node, parent, function, within, lines, file, defaults))
            for child in ast.iter_child_nodes(node):
                if not _is_annotation(child, node):
                    plain = f"{function}.{child.name}".lstrip(".") if isinstance(child, NAMED) else function
                    walk(child, node, plain, inner.get(child, plain if isinstance(child, NAMED) else within))

    walk(tree, None, "", "")
    return found


def _sites_of(node, parent, function, inner, lines, file, defaults):
    """Return the mutations of a node itself."""
    if _is_skipped(node, parent):
        return
    if getattr(node, "lineno", None) is None or node.lineno != node.end_lineno:
        return
    line = Line(lines[node.lineno - 1])
    for kind in KINDS:
        for what, first, last, new in kind(node, parent, line):
            if not isinstance(node, ast.keyword) or (defaults is not None and defaults.has(parent.func, node.arg)):
                after = line.text[:first] + new + line.text[last:]
                yield Site(file, node.lineno, function, inner, line.text.strip(), after.strip(), what)


def _is_skipped(node, parent):
    """Whether all in a node only makes messages, shows things, checks the code itself, or bounds time and memory."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return bool(SHOWN.match(node.name))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        f = node.value.func
        return (f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")) in SILENT
    if isinstance(node, ast.If) and isinstance(node.test, (ast.Name, ast.Attribute)) and "TYPE_CHECKING" in ast.dump(node.test):
        return True
    if isinstance(node, ast.Assign) and isinstance(parent, ast.Module) and len(node.targets) == 1:
        target = node.targets[0]
        is_limit = isinstance(target, ast.Name) and bool(LIMIT.match(target.id)) and _is_whole(node.value)
        return is_limit or (isinstance(target, ast.Name) and target.id.startswith("__"))
    return False


def _is_whole(node):
    """Whether an expression is made of whole numbers alone."""
    return all(isinstance(n, (ast.BinOp, ast.operator)) or (isinstance(n, ast.Constant) and type(n.value) is int)
               for n in ast.walk(node))


def _is_annotation(child, node):
    if isinstance(node, (ast.arg, ast.AnnAssign)):
        return child is node.annotation
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and child is node.returns


@dataclass(frozen=True)
class Area:
    """A part of the product that gets a share of the mutations: files by their paths, and of these, if `where` says so, only
    functions and lines in which its pattern is found."""

    name: str
    files: tuple
    where: str = ""
    without: tuple = ()

    def takes_file(self, file: str) -> bool:
        """Decide whether a file belongs to the area."""
        return any(fnmatchcase(file, p) for p in self.files) and not any(fnmatchcase(file, p) for p in self.without)

    def takes(self, site: Site) -> bool:
        """Decide whether a site of such a file does."""
        return not self.where or re.search(self.where, f"{site.function}: {site.before}") is not None


def areas(path: Path = HERE / "areas.toml") -> list:
    """Read the areas."""
    with open(path, "rb") as source:
        return [Area(a["name"], tuple(a["files"]), a.get("where", ""), tuple(a.get("without", ())))
                for a in tomllib.load(source)["area"]]


def product_files(root: Path) -> list:
    """Return the paths of all Python files of the product, from the root."""
    rooms = ("ir", "passes", "runtime", "jit", "as_torch", "cli")
    return sorted(f.relative_to(root).as_posix() for room in rooms for f in (root / room).rglob("*.py"))


def choose(root: Path, count: int, seed: int = 0, places: list | None = None, files: list | None = None) -> list:
    """Choose `count` sites: each area gets an equal share, a line gives at most one, and the mutated file must be valid.
    The areas take turns, so that a run that is stopped has seen something of each."""
    places = areas() if places is None else places
    texts = {f: (root / f).read_text(encoding="utf-8") for f in files or product_files(root)}
    defaults = Defaults()
    for text in texts.values():
        defaults.add(ast.parse(text))
    shares: list = []
    taken: set = set()
    for i, area in enumerate(places):
        share = count // len(places) + (i < count % len(places))
        chosen: list = []
        made = [s for f, text in texts.items() if area.takes_file(f) for s in sites_in(f, text, defaults) if area.takes(s)]
        for site in sorted(made, key=lambda s: (s.rank(seed), s.file, s.line)):
            if not share:
                break
            if (site.file, site.line) not in taken and is_valid(site, texts[site.file]):
                taken.add((site.file, site.line))
                chosen.append(replace(site, area=area.name))
                share -= 1
        shares.append(chosen)
    return [s for row in zip_longest(*shares) for s in row if s is not None]


def is_valid(site: Site, text: str) -> bool:
    """Decide whether the mutated file is Python, and another program than before."""
    try:
        tree = ast.parse(site.in_text(text))
    except SyntaxError:
        return False
    return ast.dump(tree) != ast.dump(ast.parse(text))


def known(root: Path, path: Path = HERE / "known.toml") -> list:
    """Read the mutations that are always planted, and find their lines; one that is not found is an error."""
    with open(path, "rb") as source:
        entries = tomllib.load(source)["known"]
    return [found_site(root, e["file"], e["before"], e["after"], e.get("function"), e["area"]) for e in entries]


def found_site(root: Path, file: str, before: str, after: str, function: str | None = None, area: str = "") -> Site:
    """Find the one line of a file, wherever it lies now, that has a text, within the function named, if one is."""
    if not (root / file).exists():
        file = next((f for f in product_files(root) if f.rpartition("/")[2] == file.rpartition("/")[2]), file)
    text = (root / file).read_text(encoding="utf-8")
    inner = functions_in(ast.parse(text))
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() == before:
            around = [f for f in inner if f.first <= number <= f.last]
            name = max(around, key=lambda f: f.first).name if around else ""
            plain = re.sub(r"\.?<lambda \d+>", "", name)
            if function is None or plain == function:
                found.append(Site(file, number, plain, name, before, after, "known", area))
    if len(found) != 1:
        raise LookupError(f"{file}: {len(found)} lines are {before!r}" + (f" in {function}" if function else ""))
    return found[0]


def equivalents(path: Path = HERE / "equivalents.toml") -> dict:
    """Read the mutations that change no behaviour: {key of the site: reason}."""
    with open(path, "rb") as source:
        return {(e["file"].rpartition("/")[2], e["function"], e["before"], e["after"]): e["reason"]
                for e in tomllib.load(source).get("equivalent", [])}
