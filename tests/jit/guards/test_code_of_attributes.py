"""Attributes that code of users gives: guards look them up without running that code, so it runs as often as in eager code."""

import pytest

import ingot
from ingot import jit, nn

KINDS = {       # classes that note each attribute of which their code is asked
    "getattribute": """
class O:
    def __init__(self): self.v = 2.0; self.w = [1.0]
    def __getattribute__(self, k):
        LOG.append(k)
        return object.__getattribute__(self, k)
""",
    "getattribute slots": """
class O:
    __slots__ = ("v", "w")
    def __init__(self): self.v = 2.0; self.w = [1.0]
    def __getattribute__(self, k):
        LOG.append(k)
        return object.__getattribute__(self, k)
""",
    "getattr": """
class O:
    def __init__(self): self.w = [1.0]
    def __getattr__(self, k):
        LOG.append(k)
        if k == "v": return 2.0
        raise AttributeError(k)
""",
    "getattr slots": """
class O:
    __slots__ = ("v", "w")
    def __init__(self): self.w = [1.0]
    def __getattr__(self, k):
        LOG.append(k)
        if k == "v": return 2.0
        raise AttributeError(k)
""",
    "property": """
class O:
    def __init__(self): self.w = [1.0]
    @property
    def v(self):
        LOG.append("v"); return 2.0
""",
    "data descriptor": """
class D:
    def __get__(self, x, kind=None):
        LOG.append("v"); return 2.0
    def __set__(self, x, v): LOG.append("set")
class O:
    v = D()
    def __init__(self): self.w = [1.0]
""",
    "descriptor": """
class D:
    def __get__(self, x, kind=None):
        LOG.append("v"); return 2.0
class O:
    v = D()
    def __init__(self): self.w = [1.0]
""",
    "hidden descriptor": """
class D:
    def __get__(self, x, kind=None):
        LOG.append("v"); return 2.0
class O:
    v = D()
    def __init__(self): self.w = [1.0]; self.__dict__["v"] = 2.0
""",
    "class property": """
class M(type):
    @property
    def v(cls):
        LOG.append("v"); return 2.0
class O(metaclass=M): w = [1.0]
""",
    "class getattr": """
class M(type):
    def __getattr__(cls, k):
        LOG.append(k)
        if k == "v": return 2.0
        raise AttributeError(k)
class O(metaclass=M): w = [1.0]
""",
    "module getattribute": """
class O(nn.Module):
    def __init__(self): super().__init__(); self.v = 2.0; self.w = [1.0]
    def __getattribute__(self, k):
        LOG.append(k)
        return super().__getattribute__(k)
""",
    "module getattr": """
class O(nn.Module):
    def __init__(self): super().__init__(); self.w = [1.0]
    def __getattr__(self, k):
        LOG.append(k)
        if k == "v": return 2.0
        return super().__getattr__(k)
""",
    "list getattribute": """
class O(list):
    def __init__(self): super().__init__([2.0]); self.v = 2.0; self.w = [1.0]
    def __getattribute__(self, k):
        LOG.append(k)
        return object.__getattribute__(self, k)
""",
    "dataclass": """
import dataclasses
@dataclasses.dataclass
class O:
    v: float = 2.0
    w: list = dataclasses.field(default_factory=lambda: [1.0])
    def __getattribute__(self, k):
        LOG.append(k)
        return object.__getattribute__(self, k)
""",
    "inherited slots": """
class B: __slots__ = ("v",)
class O(B):
    def __init__(self): self.v = 2.0; self.w = [1.0]
    def __getattr__(self, k):
        LOG.append(k)
        raise AttributeError(k)
""",
    "dict getattribute": """
class O(dict):
    def __init__(self): super().__init__(a=2.0); self.v = 2.0; self.w = [1.0]
    def __getattribute__(self, k):
        LOG.append(k)
        return super().__getattribute__(k)
""",
    "callable": """
class O:
    def __init__(self): self.v = 2.0; self.w = [1.0]
    def __call__(self): return 1.0
    def __getattribute__(self, k):
        LOG.append(k)
        return object.__getattribute__(self, k)
""",
    "namedtuple": """
import typing
class B(typing.NamedTuple):
    v: float
    w: list
class O(B):
    def __new__(cls): return B.__new__(cls, 2.0, [1.0])
    def __getattribute__(self, k):
        LOG.append(k)
        return super().__getattribute__(k)
""",
    "getattribute base": """
class B:
    def __getattribute__(self, k):
        LOG.append(k)
        return super().__getattribute__(k)
class O(B):
    v = 2.0
    def __init__(self): self.w = [1.0]
""",
}
PLACES = {"global": "o", "closure": "c", "argument": "a", "attribute": "holder.o", "item": "box['o'][0]", "default": "d"}
USES = {
    "read": "x * {o}.v",
    "read twice": "x * {o}.v + {o}.v",
    "getattr": "x * getattr({o}, 'v')",
    "getattr with a default": "x * getattr({o}, 'u', 1.5)",
    "hasattr": "x * hasattr({o}, 'v')",
    "an item": "x * {o}.w[0]",
    "all items": "x * sum({o}.w)",
    "isinstance": "x * isinstance({o}, int)",
    "type": "x * (type({o}) is int)",
    "identity": "x * (3.0 if {o} is not None else 1.0)",
    "id": "x * (id({o}) > 0)",
    "equality": "x * ({o} == {o})",
    "membership": "x * ({o} in [{o}])",
    "truth": "x * bool({o})",
    "dir": "x * ('v' in dir({o}))",
    "callable": "x * callable({o})",
    "a text": "x * len(str({o}.v))",
    "a loop": "x * sum([{o}.v for _ in range(2)])",
    "a helper": "x * helper({o})",
}
CODE = """
o = O{call}
class Holder: pass
holder = Holder(); holder.o = o
box = {{"o": [o]}}
def helper(q): return q.v
def make(c):
    def fn(x, a, d=o): return {use}
    return fn
fn = make(o)
"""


def life(wrap, kind, place, use):
    """Return [(result, names asked for)] of some calls."""
    log: list = []
    space = {"LOG": log, "nn": nn, "__name__": "user_of_attributes"}
    exec(KINDS[kind], space)
    call = "" if kind.startswith("class ") else "()"
    exec(CODE.format(call=call, use=USES[use].format(o=PLACES[place])), space)
    fn, found = wrap(space["fn"]), []
    for _ in range(4):
        log.clear()
        try:
            result = fn(ingot.ones(2), space["o"]).tolist()
        except (AttributeError, TypeError) as error:
            result = type(error).__name__
        found.append((result, [*log]))
    return found


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_code_of_attributes_runs_as_often_as_in_eager_code(kind, place, use):
    assert life(jit.trace, kind, place, use) == life(lambda f: f, kind, place, use)
