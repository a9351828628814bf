"""Modules with a function `fn`, drawn from a seed: places with values, code that uses them, changes between calls."""

import ast
import random
import re

from fuzzed_modules.places import HOLDERS, KINDS, Place
from fuzzed_modules.uses import READS, WRITES

CALLS = 6
PRELUDE = """
import array, collections, contextlib, contextvars, copy, dataclasses, functools, importlib, itertools, json, math, operator
import sys, threading, types, weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace as NS
import numpy as np
import ingot
from ingot import nn, optim
"""
CLASSES = """
Pair = namedtuple('Pair', 'first second')
class Plain:
    def __init__(self, a): self.a = a
    def get(self): return self.a
    def own(self): return self.__dict__['a']
    def put(self, a): self.a = a
class Thing:
    def __init__(self, a): self.a = a
    def scale(self, t): return t * self.a
class Other(Thing):
    def scale(self, t): return t - self.a
    def __eq__(self, other): return isinstance(other, Thing) and self.a == other.a
    __hash__ = None
class Slotted:
    __slots__ = ('a', 'b')
    def __init__(self, a): self.a = a
    def scale(self, t): return t + self.a
    def __bool__(self): return self.a > 1
@dataclass
class Record:
    a: object
    b: object = None
    def scale(self, t): return t / self.a
def scaled(t, k=1): return t * k
def double(t): return t + t
"""
# How a part of the function's body is run.
WRAPS = ("{body}", "{body}", "{body}", "{body}", "{body}",
         "for {t} in range(2):\n{inner}",
         "try:\n{inner}\nexcept (KeyError, IndexError, AttributeError) as error:\n    out.append(type(error).__name__)",
         "try:\n{inner}\nfinally:\n    out.append('end')",
         "with contextlib.suppress(Exception):\n{inner}",
         "with ingot.no_grad():\n{inner}",
         "def {t}():\n    nonlocal x\n{inner}\n{t}()",
         "def {t}(x):\n{inner}\n    return x\nx = {t}(x)",
         "def {t}():\n    nonlocal x\n{inner}\n    yield x\nx = list({t}())[-1]",
         "if x.sum() > 4:\n{inner}")
# Functions beside `fn` that run a part of its body.
HELPERS = ("def {t}(x, out):\n{inner}\n    return x\n--- x = {t}(x, out)",
           "class {t}:\n    @staticmethod\n    def run(x, out):\n{inner2}\n        return x\n--- x = {t}.run(x, out)",
           "class {t}Class:\n    def __call__(self, x, *, out):\n{inner2}\n        return x\n{t} = {t}Class()\n"
           "--- x = {t}(x, out=out)",
           "class {t}Net(nn.Module):\n    def forward(self, x, out):\n{inner2}\n        return x\n{t} = {t}Net()\n"
           "--- x = {t}(x, out)",
           "def {t}Wrap(fn):\n    @functools.wraps(fn)\n"
           "    def call(*args, **kwargs): return fn(*args, **kwargs)\n    return call\n"
           "@{t}Wrap\ndef {t}(x, out):\n{inner}\n    return x\n--- x = {t}(x, out)",
           "def {t}(x, out):\n{inner}\n    yield x\n--- for x in {t}(x, out): pass")
RETURNS = ("return x, out", "return x, out", "return {'x': x, 'out': out}", "return out", "return Pair(x, out)", "return x")
TRAINING = ("{n} = nn.Linear(3, 1)\n{n}_opt = optim.{opt}({n}.parameters(), lr=0.1)",
            "{n}_opt.zero_grad()\n{n}_loss = ({n}(x.float()) ** 2).sum()\n{n}_loss.backward()\n{n}_opt.step()\n"
            "out.append({n}_loss.item())",
            ("{n}_opt.param_groups[0]['lr'] = 0.2", "{n}.weight.requires_grad_(False)", "{n}.bias.data.fill_(1.0)",
             "{n}.weight.grad = None", "{n}_opt.zero_grad(set_to_none=False)", "{n}_opt.param_groups[0]['lr'] *= 0.5",
             "{n}.weight = nn.Parameter(ingot.ones(1, 3))", "{n}.register_forward_hook(lambda m, i, o: o * 2)",
             "{n}.forward = lambda t: t.sum()", "{n}.load_state_dict({n}.state_dict())"))


def indented(text, by=4):
    return "\n".join(" " * by + line for line in text.split("\n"))


def filled(template, **values):
    """Return a template with its $names replaced; `$n` may stand before letters of a longer name."""
    for name, value in sorted(values.items(), key=lambda p: -len(p[0])):
        template = template.replace(f"${name}", value)
    return template


class Generator:
    """A module that is being drawn: statements of the module, of the function, and of what is done between calls."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.top, self.turns, self.extra = [], [], []
        self.places: list = []
        self.parameters: list = []
        self.names = 0
        self.in_fn = False      # whether the code being drawn sees the parameters of `fn`

    def name(self, stem="t"):
        self.names += 1
        return f"{stem}{self.names}"

    def chance(self, p):
        return self.rng.random() < p

    def value(self, kind):
        """Text of a value: mostly of the kind, sometimes of another, or what a place holds."""
        if self.chance(0.08):
            kind = self.rng.choice(list(KINDS))
        alike = [p for p in self.known() if p.kind == kind]
        if alike and self.chance(0.15):
            return self.read(self.rng.choice(alike))
        return self.rng.choice(KINDS[kind])

    def add_place(self):
        kind = self.rng.choice([*KINDS, "number", "number", "sequence", "mapping", "tensor"])
        n, (definition, *texts) = self.name("s"), HOLDERS[self.rng.choice(list(HOLDERS))]
        self.top.append(filled(definition, n=n, v=f"({self.value(kind)})").rstrip())
        reads, writes, deletes = (tuple(filled(t, n=n) for t in some) for some in texts)
        self.places.append(Place(kind, reads, writes, deletes))

    def add_parameter(self):
        kind, n = self.rng.choice([*KINDS]), self.name("p")
        values = [self.rng.choice(KINDS[kind]) for _ in range(2)]
        self.parameters.append((n, f"[{', '.join(f'({v})' for v in values)}][i // {self.rng.randint(1, 3)} % 2]"))
        self.places.append(Place(kind, (n,), (), ()))

    def read(self, place):
        return self.rng.choice(place.reads)

    def write(self, place, value):
        return filled(self.rng.choice(place.writes), w=f"({value})") if place.writes else "pass"

    def known(self):
        """Return the places that the code being drawn can read."""
        return [p for p in self.places if p.writes or self.in_fn]

    def use(self, table):
        """One statement of `table` on a place."""
        while True:
            place = self.rng.choice(self.known())
            alike = [p for p in self.known() if p.kind == place.kind]
            text, t = self.rng.choice(table[place.kind]), self.name()
            values = {"e": self.read(place), "f": self.read(self.rng.choice(alike)), "p": place.reads[0], "t2": f"{t}b", "t": t,
                      "g": self.rng.choice(KINDS["number"])}
            found = filled(text.removeprefix("$w:"), **values)
            if text.startswith("$w:"):
                found = self.write(place, found)
            if is_code(found):
                return found

    def block(self):
        """Some statements, run as one of `WRAPS` says."""
        tables = [WRITES if self.chance(0.25) else READS for _ in range(self.rng.choice((1, 1, 2, 3)))]
        body = "\n".join(map(self.use, tables))
        return self.rng.choice(WRAPS).format(body=body, inner=indented(body), t=self.name())

    def part(self):
        """Statements of `fn`, or a call of a helper that has them."""
        self.in_fn = self.chance(0.7)
        body = self.block()
        if self.in_fn:
            return body
        text, _, call = self.rng.choice(HELPERS).partition("\n--- ")
        t = self.name("h")
        self.top.append(Function(text.format(inner=indented(body), inner2=indented(body, 8), t=t)))
        return call.format(t=t)

    def training(self):
        """Statements of `fn` that train a module."""
        definition, body, changes = TRAINING
        n = self.name("net")
        self.top.append(definition.format(n=n, opt=self.rng.choice(("SGD", "Adam"))))
        self.extra = [c.format(n=n) for c in changes]
        return body.format(n=n)

    def change(self):
        """One statement between calls."""
        if self.extra and self.chance(0.3):
            return self.rng.choice(self.extra)
        place, how = self.rng.choice(self.known()), self.rng.random()
        if how < 0.15 and place.deletes:
            return self.rng.choice(place.deletes)
        if how < 0.35:
            return self.use(WRITES)
        if how < 0.42:
            return self.write(place, f"copy.copy({self.read(place)})")
        return self.write(place, self.value(place.kind))

    def source(self):
        for _ in range(self.rng.choice((1, 2, 2, 3, 4))):
            self.add_place()
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2))):
            self.add_parameter()
        parts = [self.part() for _ in range(self.rng.choice((1, 2, 2, 3, 4)))]
        if self.chance(0.08):
            parts.insert(self.rng.randrange(len(parts) + 1), self.training())
        names = ", ".join(["x", *[n for n, _ in self.parameters]])
        body = "\n".join(["out = []", *parts, self.rng.choice(RETURNS)])
        self.top.append(Function(f"def fn({names}):\n{indented(body)}"))
        given = ", ".join([f"ingot.arange(3.0) + {self.rng.choice(('i', '1', 'i % 2'))}", *[v for _, v in self.parameters]])
        self.top.append(f"def args(i): return {given},")
        self.in_fn = False
        self.top.append(Function("def turn(i):\n    x, out = ingot.ones(3), []\n" + "\n".join(map(self.turn, range(1, CALLS)))))
        return self.text()

    def turn(self, i):
        """The changes before call i."""
        changes = [self.change() for _ in range(self.rng.choice((0, 1, 1, 1, 2)))]
        lines = [f"    if i == {i}:"]
        for change in changes:
            lines += ["        with contextlib.suppress(Exception):", indented(change, 12)]
        return "\n".join(lines if changes else [])

    def text(self):
        """Return the module, with the `global` statements that its functions need."""
        module_names = stored(ast.parse("\n".join(map(str, self.top))).body)
        return CLASSES + "\n".join(with_globals(t, module_names) if type(t) is Function else t for t in self.top) + "\n"


class Function(str):
    """Text of functions, which may bind names of the module."""

    __slots__ = ()


def is_code(text) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def stored(body) -> set:
    """Return the names that statements bind, without those of functions and classes inside."""
    found, nodes = set(), list(body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
            nodes += node.decorator_list
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        if isinstance(node, ast.alias):
            found.add(node.asname or node.name)
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        if not isinstance(node, ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return found


def with_globals(text, module_names) -> str:
    """Return functions that declare the module's names that they bind."""
    lines, tree = text.split("\n"), ast.parse(text)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    for fn in sorted(functions, key=lambda f: -f.body[0].lineno):
        own = {a.arg for a in (*fn.args.args, *fn.args.kwonlyargs)}
        names = sorted((stored(fn.body) & module_names) - own)
        first = min([n.lineno for n in (fn.body[0], *getattr(fn.body[0], "decorator_list", ()))]) - 1
        if names and first >= fn.lineno:
            indent = re.match(r" *", lines[first])[0]
            lines.insert(first, f"{indent}global {', '.join(names)}")
    return "\n".join(lines)


def source(seed: int) -> str:
    """Return the text of the module of a seed."""
    return Generator(seed).source()
