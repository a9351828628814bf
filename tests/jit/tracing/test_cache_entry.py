"""Each path of a recording relies on what the others rely on, and on what it uses itself: containers in more ways, perhaps."""

import pytest

import ingot
from fuzzed_modules.life import compare
from ingot import jit

# Container, what each call does with it, what only calls of the second path do, and a change that only this concerns.
PATHS = {
    "a list and its length": ("v = [1, 2]", "x * len(v)", "x * sum(v)", "v[0] = 7"),
    "a list that may be empty": ("v = [1, 2]", "x * (2 if v else 3)", "x * sum(v)", "v[0] = 7"),
    "a list that grows": ("v = [1, 2]", "v.append(3) or x", "x * sum(v)", "v[:] = [4, 5]"),
    "a list that is given": ("v = [1, 2]", "x * sum(v)", "(x, v)", "globals().update(v=[1, 2])"),
    "a list that is another": ("v = [1, 2]\nw = [1, 2]", "x * v[0] * w[0]", "x * (2 if v is w else 3)",
                               "globals().update(v=w)"),
    "a deque": ("v = deque([1, 2])", "x * len(v)", "x * sum(v)", "v[0] = 7"),
    "a dictionary": ("v = {'a': 1.0, 'b': 2.0}", "x * v['a']", "x * sum(v.values())", "v['b'] = 7.0"),
    "a set": ("v = {1, 2}", "x * (1 in v)", "x * sum(v)", "v.add(7)"),
    "an array": ("v = np.arange(3.0)", "x * v.shape[0]", "x * v.sum()", "v[0] = 7"),
    "an attribute": ("v = NS(k=[1, 2])", "x * len(v.k)", "x * sum(v.k)", "v.k[0] = 7"),
    "a missing attribute": ("v = NS(k=2)", "x * v.k", "x * getattr(v, 'rate', 3)", "v.rate = 7"),
    "a module": ("v = nn.Module()\nv.k = [1, 2]", "x * len(v.k)", "x * sum(v.k)", "v.k[0] = 7"),
    "a context variable that is set": ("v = contextvars.ContextVar('v')\nv.set(ingot.ones(3))\nnet = nn.Identity()",
                                       "v.set(x.detach()) and net(x)", "x * v.get().sum()", "v.set(ingot.zeros(3))"),
    "a context variable": ("v = contextvars.ContextVar('v')\nv.set([1, 2])", "x * sum(v.get())", "(x, v.get())",
                           "v.set([1, 2])"),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_later_path_adds_what_it_relies_on(name):
    value, each, later, change = PATHS[name]
    program = (f"{value}\ndef first(x): return {each}\ndef second(x): return {later}\n"
               "def fn(x):\n    y = first(x)\n    return second(y) if x.sum() > 6 else y\n"
               "def args(i): return ingot.arange(3.0) + i % 2 * 2,\n"
               f"def turn(i):\n    if i == 5: {change}")
    verdict, fn = compare(program)
    assert verdict.kind == "same", verdict.text
    assert fn.stats()["compiles"] <= (6 if name == "a list that grows" else 3), fn.stats()["misses"]


def test_paths_that_rely_on_the_same_add_no_guards():
    rates = {"a": [1.0, 2.0], "b": (3.0, {4})}

    def fn(x):
        return x * (2 if x.sum() > 6 else 3) * (rates["a"][0] + len(rates["b"][1]))

    traced = jit.trace(fn)
    traced(ingot.arange(3.0))
    (entry,) = traced._cache.all_entries()
    before = len(entry.guards)
    traced(ingot.arange(3.0) + 4)
    assert len(entry.guards) == before and traced.stats()["compiles"] == 2
