"""Reads in bytecode: the same answer from every version of Python."""

import textwrap
from types import SimpleNamespace

import pytest

import ingot
from ingot import jit
from ingot.ir.opdef.op import reads_of as values_read
from ingot.jit.bytecode.reads import ARGUMENT, FREE, GLOBAL, chains_of_generators, reads_of, writes_of
from ingot.jit.bytecode.uses import CALLED, CONTAINED, ITEMS, uses_of


def code_of(body, header="def f(self, x, other):"):
    scope = {}
    exec(header + "\n" + textwrap.indent(textwrap.dedent(body), "    "), scope)
    return scope["f"].__code__


def reads(body, root):
    return {str(c) for c in reads_of(code_of(body)) if c.root == root and c.steps}


@pytest.mark.parametrize("body, expected", [
    ("return self.scale * x", {"self.scale"}),
    ("return x, self.scale", {"self.scale"}),                                 # two loads at once
    ("y = x * 2; return self.scale", {"self.scale"}),                         # a store and a load at once
    ("return (y := x) + self.a.b", {"self.a", "self.a.b"}),
    ("for a, b in x: self.q(a, b)", {"self.q"}),                              # two stores at once
    ("self, other = other, self; return self.a + other.b", set()),            # assigned: no longer what came in
    ("x = self.a; y = x.b; return y.c", {"self.a"}),
    ("del other; return self.a", {"self.a"}),
    ("return self.table['k'][0].v", {"self.table", "self.table['k']", "self.table['k'][0]", "self.table['k'][0].v"}),
    ("return self.table[300]", {"self.table", "self.table[300]"}),
    ("return [other for other in x], other.v", {"other.v"}),                  # a comprehension's variable is its own
    ("g = lambda t: t + self.b\nreturn g(x) * self.scale", {"self.scale"}),   # in a cell, since g sees it as well
    ("def g():\n    nonlocal self\n    self = 1\nself = x\nreturn self.scale", set()),
    ("try:\n    return self.a\nexcept KeyError:\n    return self.b", {"self.a", "self.b"}),
])
def test_reads_of_arguments(body, expected):
    assert reads(body, ARGUMENT) == expected


def test_reads_of_globals_and_free_variables():
    found = {(c.root, str(c)) for c in reads_of(code_of("return config.a.b, LIMIT"))}
    assert found == {(GLOBAL, "config"), (GLOBAL, "config.a"), (GLOBAL, "config.a.b"), (GLOBAL, "LIMIT")}
    outer = code_of("def g():\n    return self.scale + LIMIT\nreturn g")
    inner = next(c for c in outer.co_consts if hasattr(c, "co_code"))
    assert {(c.root, str(c)) for c in reads_of(inner)} == {(FREE, "self"), (FREE, "self.scale"), (GLOBAL, "LIMIT")}


def test_writes():
    found = writes_of(code_of("global LOG\nLOG = x\ny = 1"))
    assert [(w.root, w.name, w.line) for w in found] == [(GLOBAL, "LOG", 3)]


@pytest.mark.parametrize("source, expected", [
    ("lambda g, out, x: g * out", {0: "value"}),
    ("lambda g, out, x: g.reshape(x.shape)", {1: "meta"}),
    ("lambda g, out, x, y: (x, y.shape)", {1: "value", 2: "meta"}),
    ("lambda g, out, x, y: (x.dtype, y)", {1: "meta", 2: "value"}),
    ("lambda g, out, x: (x.shape, x)", {1: "value"}),
    ("lambda g, out, x: (h := g, x.sum())", {1: "value"}),
    ("lambda g, out, x: [x for _ in g]", {1: "value"}),
    ("lambda g, out, x: (lambda: x)()", {1: "value"}),
    ("lambda g, out, x: g", {}),
])
def test_reads_of_a_gradient_rule(source, expected):
    assert values_read(eval(source)) == expected



def test_a_read_beside_a_store_is_guarded():
    config = SimpleNamespace(scale=2.0)

    def f(x):
        return scale_of(x, config)

    def scale_of(x, config):
        y = x * 2; return y * config.scale  # noqa: E702

    traced = jit.trace(f)
    x = ingot.ones(3)
    for config.scale in (2.0, 3.0, 2.0, 5.0):
        assert traced(x).tolist() == [2 * config.scale] * 3


@pytest.mark.parametrize("body, expected", [
    ("return sum(v for v in self.items)", set()), ("return list(other(v) for v in self.items)", set()),
    ("return (v for v in self.items)", {"self.items"}), ("g = (v for v in self.items if v)\nreturn next(g)", {"self.items"}),
    ("return other((v for v in self.items), 1)", {"self.items"}), ("return [v for v in self.items]", set())])
def test_generators_that_may_run_later(body, expected):
    """A function that takes nothing but a generator expression mostly uses it up."""
    assert {str(c) for c in chains_of_generators(code_of(body))} == expected


@pytest.mark.parametrize("body, expected", [
    ("self.log.setdefault(x, []).append(1)", True), ("self.log.setdefault(x, []).extend(other)", True),
    ("other(self.log.setdefault).append(1)", False), ("other(x, self.log.setdefault).append(1)", False),
    ("self.log[x].append(1)", True), ("self.log[x].clear()", False),
    ("self.log.setdefault(x, []).clear()", False), ("self.log.get(x, []).append(1)", False)])
def test_items_that_are_only_added_to(body, expected):
    found = {str(c): use for c, use in uses_of(code_of(body)).items()}
    assert (found.get("self.log") == ITEMS) == expected, found


@pytest.mark.parametrize("body, chain, expected", [
    ("self.seen.add(x) if x not in self.seen else None", "self.seen", CONTAINED),
    ("self.seen.discard(x)", "self.seen", CONTAINED),
    ("self.seen.add(x); self.seen.pop()", "self.seen", None), ("self.seen.add(x); len(self.seen)", "self.seen", None),
    ("self.seen.add(x)", "self.seen.add", CALLED), ("self.seen.add(*x)", "self.seen.add", None),
    ("self.seen.add(key=x)", "self.seen.add", CALLED), ("y = self.seen.add", "self.seen.add", None),
    ("return self.seen.add", "self.seen.add", None), ("self.seen.add.__self__", "self.seen.add", None)])
def test_sets_to_which_code_only_adds(body, chain, expected):
    assert {str(c): use for c, use in uses_of(code_of(body)).items()}.get(chain) == expected
