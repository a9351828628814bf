"""Registries: entries that come while other threads read. Tables that functions both fill and iterate are registries."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ingot
from ingot.ir.opdef.op import OPS
from ingot.ir.registry import Registry

ROOT = Path(ingot.__file__).parent
LAYERS = ("ir", "passes", "runtime", "jit", "as_torch", "cli")
CHANGES = {"update", "setdefault", "pop", "popitem", "clear"}
VIEWS = {"keys", "values", "items"}
READERS = {"sorted", "list", "tuple", "set", "frozenset", "min", "max", "any", "all", "sum", "map", "next", "iter"}


@pytest.mark.parametrize("table", [OPS, Registry(a=1, b=2)])
@pytest.mark.parametrize("read", [iter, Registry.keys, Registry.values, Registry.items])
def test_entries_may_come_during_iteration(table, read):
    before, count = dict(table), 0
    try:
        for _ in read(table):
            table[f"late {count}"] = None
            count += 1
    finally:
        for n in range(count):
            del table[f"late {n}"]
    assert count == len(before) and dict(table) == before


def test_readers_in_c_see_entries():
    table = Registry(b=2, a=1)
    assert (sorted(table), list(table), set(table), {**table}, dict(table), len(table)) == (
        ["a", "b"], ["b", "a"], {"a", "b"}, {"a": 1, "b": 2}, {"a": 1, "b": 2}, 2)
    assert list(reversed(table.values())) == [1, 2] and "a" in table and table == {"a": 1, "b": 2}


class Uses(ast.NodeVisitor):
    """Global dicts that functions of a module change, and those that they iterate."""

    def __init__(self):
        self.depth, self.changed, self.read, self.imports = 0, set(), {}, set()

    def visit_ImportFrom(self, node):
        self.imports |= {((node.module or "").split(".")[-1], a.name) for a in node.names}

    def visit_FunctionDef(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_Lambda = visit_FunctionDef

    def note(self, node, line):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS:
            node = node.func.value
        if isinstance(node, ast.Name) and self.depth:
            self.read.setdefault(node.id, line)

    def visit_For(self, node):
        self.note(node.iter, node.lineno)
        self.generic_visit(node)

    def visit_comprehension(self, node):
        self.note(node.iter, getattr(node.iter, "lineno", 0))
        self.generic_visit(node)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in READERS:
            for argument in node.args:
                self.note(argument, node.lineno)
        if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES and isinstance(node.func.value, ast.Name):
            self.changed |= {node.func.value.id} if self.depth else set()
        self.generic_visit(node)

    def visit_Subscript(self, node):
        if isinstance(node.ctx, (ast.Store, ast.Del)) and isinstance(node.value, ast.Name) and self.depth:
            self.changed.add(node.value.id)
        self.generic_visit(node)


def dicts_of(tree) -> set:
    """Return the names of the plain dicts that a module makes."""
    found = set()
    for node in tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and isinstance(node.value, (ast.Dict, ast.DictComp)):
            found.add(target.id)
    return found


# Tables of which one call in C makes a list, before Python code sees an entry.
COPIED = {"ir/locks.py:_known"}


MADE = re.compile(r"^(\w+)(?:: [^=\n]+)? = \{", re.MULTILINE)
CHANGED = re.compile(r"\b(\w+)(?:\[[^\n\]]*\](?: = |$)|\.(?:" + "|".join(sorted(CHANGES)) + r")\()", re.MULTILINE)


def test_tables_that_are_filled_late_are_registries():
    """Only files with a name of a table that some function seems to change are parsed."""
    texts = {p: p.read_text() for layer in LAYERS for p in sorted(ROOT.joinpath(layer).rglob("*.py"))}
    names = {n for text in texts.values() for n in MADE.findall(text)} & {n for t in texts.values() for n in CHANGED.findall(t)}
    assert "FUNCTIONS" in names
    some = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b")
    trees = {p: ast.parse(text) for p, text in texts.items() if some.search(text)}
    made, uses = {p: dicts_of(tree) & names for p, tree in trees.items()}, {}
    for p, tree in trees.items():
        uses[p] = Uses()
        uses[p].visit(tree)
    wrong = []
    for p in trees:
        for name in made[p]:
            sharers = [p, *[q for q in trees if q != p and name not in made[q] and (p.stem, name) in uses[q].imports]]
            if any(name in uses[q].changed for q in sharers):
                wrong += [f"{q.relative_to(ROOT)}:{uses[q].read[name]}: {name} of {p.relative_to(ROOT)} is iterated"
                          for q in sharers if name in uses[q].read and f"{p.relative_to(ROOT)}:{name}" not in COPIED]
    assert not wrong, "functions change and iterate plain dicts, maybe in two threads; use Registry:\n" + "\n".join(wrong)


LATE = """
import sys, threading, importlib, pkgutil
import ingot
from ingot import jit
from ingot.ir import ops
sys.setswitchinterval(1e-6)
failed, started = [], threading.Barrier(4)

def compile_some(number):
    started.wait()
    try:
        for n in range(2, 9):
            f = jit.trace(lambda x: (x.softmax(-1) * x.std() + number).sum())
            for _ in range(3):
                f(ingot.ones(n, number + 2))
    except Exception as e:
        failed.append(repr(e))

threads = [threading.Thread(target=compile_some, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
started.wait()
ops.load_all()
for name in ("onnx", "fx", "tensorboard"):
    importlib.import_module("ingot.jit." + name)
for t in threads:
    t.join()
print(failed)
"""


def test_rooms_load_while_threads_compile():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=240)
    assert done.stdout == "[]\n", done.stdout + done.stderr
