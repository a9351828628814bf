"""Random programs that change, copy and go through sets: traced calls against eager ones, in the order of each set.

`python -m set_programs FIRST LAST` runs the programs of some seeds. It prints the wrong ones, and counts come last.
"""

import random
import re
import sys
import textwrap
import warnings
from collections import Counter, OrderedDict
from types import SimpleNamespace

import ingot
from ingot import jit
from ingot.jit.errors.recompile_limit import RecompileLimit

CALLS = 5
# Many of these meet in a table of 8 or 32 places. Texts and bytes have other hashes with each hash seed.
ELEMENTS = [0, 8, 16, 32, 64, 1, 9, 17, 3, -1, -2, 2 ** 40, 2.5, -0.0, True, None, (1, 2), (), ("k", 0), "k", "a", "bc", b"x"]
PLACES = ("o.v", "o.w", "o.d['k']", "o.n[0]", "G", "cell")
ANY = ("display", "place", "frozen", "local", "list", "dict", "range")
SETS = ANY[:4]
PROGRAM = """
o.v, o.w, o.d, o.n, o.f = $wide, $wide, {'k': $narrow}, [$narrow], frozenset($narrow)
o.k, o.q, G = dict.fromkeys([$items]), OrderedDict.fromkeys([$items]), $narrow
def make():
    cell = $narrow
    def fn(x, i, a):
        nonlocal cell
        global G
        r, t, u = [], set(), frozenset()
        y = x * 2
$body
        return y, r
    def between(a):
        nonlocal cell
        global G
        r, t, y = [], set(), 1
$between
    return fn, between, lambda: cell
fn, between, look = make()
argument = lambda: $wide
"""


class Writer:
    """Source of one random program."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.elements = [repr(e) for e in self.draw.sample(ELEMENTS, self.draw.randint(4, 12))]

    def source(self) -> str:
        blanks = {"narrow": self.display, "wide": lambda: self.display(10), "items": self.items,
                  "body": lambda: self.block(self.statement, 1, self.draw.choice((1, 2, 3, 6))),
                  "between": lambda: self.block(lambda: self.change(self.place()), 0, 2)}
        return re.sub(r"\$(\w+)", lambda found: blanks[found[1]](), PROGRAM)

    def block(self, write, least, most) -> str:
        lines = [write() for _ in range(self.draw.randint(least, most))]
        return textwrap.indent("\n".join(lines) or "pass", " " * 8)

    def element(self) -> str:
        return self.draw.choice(self.elements)

    def items(self, most=6) -> str:
        return ", ".join([self.element() for _ in range(self.draw.randint(0, most))])

    def display(self, most=6) -> str:
        return f"{{{items}}}" if (items := self.items(most)) else "set()"

    def place(self) -> str:
        return self.draw.choice(PLACES)

    def operand(self, kinds=ANY) -> str:
        kind = self.draw.choice(kinds)
        if kind == "place":
            return self.place()
        if kind == "local":
            return self.draw.choice(("t", "a", "o.f"))
        if kind == "range":
            return f"range(0, {8 * self.draw.randint(1, 12)}, 8)"
        around = {"display": "set([{}])", "list": "[{}]", "dict": "dict.fromkeys([{}])", "frozen": "frozenset([{}])"}[kind]
        return around.format(self.items()) if kind != "display" or self.draw.random() < 0.2 else self.display()

    def change(self, s) -> str:
        e, any_, one = self.element(), self.operand(), self.operand(SETS)
        return self.draw.choice((
            f"{s}.add({e})", f"{s}.add({e})", f"{s}.discard({e})", f"{s}.discard({e})",
            f"try: {s}.remove({e})\nexcept KeyError: r.append('none')", f"if {s}: r.append({s}.pop())", f"if {s}: {s}.pop()",
            f"{s}.clear()", f"{s}.update({any_})", f"{s}.update({any_}, {one})", f"{s} |= {one}", f"{s} -= {one}",
            f"{s} &= {one}", f"{s} ^= {one}", f"{s}.difference_update({any_})", f"{s}.intersection_update({any_})",
            f"{s}.symmetric_difference_update({any_})", f"for e in list({any_}): {s}.add(e)",
            f"for e in list({s}): {s}.discard(e)\n{s}.update({any_})", f"sum(map(lambda e: {s}.add(e) or 0, list({any_})))"))

    def make(self, s) -> str:
        any_, one = self.operand(), self.operand(SETS)
        return self.draw.choice((
            f"set({s})", f"{s}.copy()", f"{s} | {one}", f"{s} - {one}", f"{s} & {one}", f"{s} ^ {one}", f"{s}.union({any_})",
            f"{s}.difference({any_})", f"{{e for e in {s}}}", f"set({any_})", self.display(12), f"o.k.keys() & {s}",
            f"o.k.keys() | {s}", f"o.k.keys() - {s}", "set(o.k)", f"{{*{s}, {self.element()}}}"))

    def use(self, s) -> str:
        return self.draw.choice((
            f"r.append(list({s}))", f"r.append([*{s}])", f"r.append(tuple({s}))", f"for e in {s}: r.append(e)",
            f"r.append(len({s}))", f"r.append({self.element()} in {s})", f"r.append({s})", f"r.append({self.make(s)})",
            f"if {s}: r.append(next(iter({s})))", f"y = y * (1 + len({s}))", f"r.append(frozenset({s}))",
            f"r.append({{'s': {self.make(s)}}})", f"r.append(list({self.make(s)}))"))

    def of_dictionaries(self) -> str:
        e = self.element()
        return self.draw.choice((
            f"o.k.pop({e}, None)", f"o.k[{e}] = 1", f"o.k[{e}] = o.k.pop({e}, 2)", "r.append(list(o.k))", f"o.q[{e}] = 1",
            f"if {e} in o.q: o.q.move_to_end({e})", "if o.q: o.q.popitem(last=False)"))

    def statement(self) -> str:
        s, kind = self.place(), self.draw.random()
        if kind < 0.45:
            return self.change(s)
        if kind < 0.55:
            last = self.draw.choice(("r.append(t)", "r.append(list(t))", f"{s} = t"))
            return f"t = {self.make(s)}\n{self.change('t')}\n{last}"
        if kind < 0.65:
            return f"{s} = {self.make(s)}"
        if kind < 0.7:
            return f"u = frozenset({self.make(s)})\n{self.draw.choice(('r.append(u)', 'o.f = u', 'r.append(list(u | t))'))}"
        if kind < 0.78:
            return self.of_dictionaries()
        if kind < 0.8:
            return self.change("a")
        if kind < 0.83:
            return f"if i == {self.draw.randint(0, 2)}: raise ValueError(i)"
        if kind < 0.9:
            return "if i % 2:\n" + textwrap.indent(self.change(s), "    ")
        return self.use(s)


def orders(x):
    """Return a value as data that shows the order and the class of all elements."""
    if isinstance(x, ingot.Tensor):
        return x.tolist()
    if isinstance(x, dict):
        return type(x).__name__, [(orders(k), orders(v)) for k, v in x.items()]
    return (type(x).__name__, [*map(orders, x)]) if isinstance(x, (list, tuple, set, frozenset)) else repr(x)


def drained(x, seen) -> list:
    """Return what the sets in a value give one by one after a few changes. Each is emptied once."""
    if isinstance(x, set) and id(x) not in seen:
        seen[id(x)] = x
        x.update((5, 13, "later"))
        found = [orders(x)]
        while x:
            found.append(orders(x.pop()))
            if len(found) == 4:
                x.add(21)
        return found
    return [drained(v, seen) for v in (x.values() if isinstance(x, dict) else x)] if isinstance(x, (list, tuple, dict)) else []


def life(source, wrap):
    """Return what is seen after each call of a program and each change from outside, and the wrapped function."""
    o = SimpleNamespace()
    space = {"__name__": "program", "o": o, "OrderedDict": OrderedDict}
    exec(compile(source, "<program>", "exec"), space)
    fn, found, kept = wrap(space["fn"]), [], []
    for i in range(CALLS):
        a = space["argument"]()
        try:
            result = fn(ingot.arange(2, dtype=ingot.float64) + i, i % 3, a)
        except jit.TraceError:
            raise
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        kept.append([result, a])
        state = [o.v, o.w, o.d, o.n, o.f, o.k, o.q, space["G"], space["look"]()]
        found.append(orders([kept[-1], state]))
        if i % 2:
            space["between"](a)
            found.append(orders([kept, state, space["G"], space["look"]()]))
    found.append(drained([kept, o.v, o.w, o.d, o.n, space["G"], space["look"]()], {}))
    return found, fn


def compare(source) -> tuple:
    """Return ("right", "wrong" or "refused", what differs or why it is refused, number of replays)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager, _ = life(source, lambda fn: fn)
        try:
            traced, fn = life(source, jit.trace)
        except jit.TraceError as error:
            return "refused", str(error), 0
    replays = fn.stats()["calls"] - fn.stats()["compiles"] - fn.stats()["unrecorded"]
    differing = [f"view {n}\neager:  {a}\ntraced: {b}" for n, (a, b) in enumerate(zip(eager, traced)) if a != b]
    return "wrong" if differing else "right", differing[0] if differing else "", replays


def main(first: int, last: int):
    RecompileLimit.clock = staticmethod(lambda: 0.0)        # what is recorded does not depend on the time that it takes
    counts: Counter = Counter()
    for seed in range(first, last):
        source = Writer(seed).source()
        verdict, text, replays = compare(source)
        counts += Counter({verdict: 1, "replays": replays})
        if verdict != "right":
            print(f"#### seed {seed} is {verdict}: {text}\n{source if verdict == 'wrong' else ''}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
