"""Random programs that use several objects with hidden state, each behind containers and objects of its own."""

import random
from typing import NamedTuple

from state_holders import CLASSES, HOLDERS

PRELUDE = CLASSES + '''
def identity(o):
    return o

def holds(x, o):
    (type if isinstance(x, type) else object).__setattr__(x, "v", o)
    return x

def make(text, m):
    return eval(text, {**globals(), "m": m})
'''
# Ways to hold an object -> (expression that makes the holder of `{}`, expression that takes the object out of `{}`).
WRAPPERS = {
    "list": ("[{}]", "{}[0]"), "dict": ("{{'k': {}}}", "{}['k']"), "get": ("{{'k': {}}}", "{}.get('k')"),
    "object": ("Plain({})", "{}.v"), "tuple": ("(1, {})", "{}[1]"), "slots": ("Slots({})", "{}.v"),
    "dataclass": ("Data({})", "{}.v"), "namespace": ("types.SimpleNamespace(v={})", "{}.v"), "property": ("Prop({})", "{}.v"),
    "partial": ("functools.partial(identity, {})", "{}()"), "closure": ("outer({})", "{}()"),
    "deque": ("collections.deque([{}])", "{}[-1]"), "network": ("holds(Net(), {})", "{}.v"),
    "class": ("holds(type('T', (Plain,), {{}}), {})", "{}.v"), "namedtuple": ("Named({}, [])", "{}.v"),
    "loop": ("[{}]", "[q for q in {}][0]"),
}
# How the function uses an object: `{path}` leads to it, `{m}` is its namespace, `{use}` a number of `o`, `{n}` a name.
STYLES = (
    "o, m = {path}, {m}\nt = {use}",
    "t = use_{n}({path}, {m})",
    "m = {m}\nt = (lambda o: {use})({path})",
    "def inner_{n}():\n    o, m = {path}, {m}\n    return {use}\nt = inner_{n}()",
)
JOINS = ("y = y * 0.5 + t", "y = y + x * t", "if float(t) > 2:\n    y = y + t\nelse:\n    y = y - 1", "y = y.sin() * t",
         "for _ in range(2):\n    y = y + t", "y = ingot.where(x > 1, y + t, y)")
# They change the process, or live as long as a recording that reads what they refer to.
LEFT_OUT = frozenset(("environ", "Decimal", "metaclass property", "descriptor", "enum", "enum attribute", "weakref dead"))
NAMES = [name for name in HOLDERS if name not in LEFT_OUT]
CALLS = 7


class Program(NamedTuple):
    """A random program.

    setup    statements that make the objects
    define   statements that define `f`
    call     expression that calls it
    changes  (name of an object, name of its namespace, statement, number) before each call; None for no change
    """

    setup: str
    define: str
    call: str
    changes: list

    def __str__(self):
        return "\n".join((self.setup, self.define, self.call, *map(str, self.changes)))


def program(seed) -> Program:
    rng = random.Random(seed)
    setup, body, arguments, changes = [], ["y = x * 1.0"], [], []
    for n in range(rng.randint(2, 4)):
        holder = HOLDERS[rng.choice(NAMES)]
        setup += [f"m{n} = {{}}", f"o{n} = make({holder.make!r}, m{n})", f"def use_{n}(o, m): return {holder.use}"]
        root, path = f"o{n}", "{}"
        for depth in range(rng.randint(0, 3)):
            wrap, unwrap = WRAPPERS[rng.choice(list(WRAPPERS))]
            setup.append(f"h{n}_{depth} = {wrap.format(root)}")
            root, path = f"h{n}_{depth}", path.format(unwrap)
        arguments += [root] if rng.random() < 0.4 else []
        text = rng.choice(STYLES).format(path=path.format(root), m=f"m{n}", use=holder.use, n=n)
        body += [*text.split("\n"), *rng.choice(JOINS).split("\n")]
        changes += [(f"o{n}", f"m{n}", change) for change in holder.changes]
    names = ", ".join(("x", *arguments))
    define = "\n    ".join((f"def f({names}):", *body, "return y"))
    drawn = [None, None, *[rng.choice([None, *changes, *changes]) for _ in range(CALLS - 2)]]
    return Program("\n".join(setup), define, f"f({names})",
                   [change and (*change, rng.choice((3.0, 4.0, 5.0, 7.0))) for change in drawn])
