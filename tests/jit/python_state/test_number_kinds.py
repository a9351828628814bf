"""Code that asks for the class of a number gets that of the number, and never that of its proxy, by whatever way it asks."""

import pytest

from fuzzed_modules.life import compare

PROGRAM = """
import builtins
kind_of = type
kinds = [type]
class Box:
    ask = type
    def kind(self, v): return self.ask(v)
box = Box()
part = functools.partial(type)
class Own:
    def __init__(self, v): self.v = v
s, l, o = {{'a': 2.0}}, [2.0], NS(a=2.0)
def fn(x):
    out = []
    o.a += 1
    s['a'] += 1
    l[0] += 1
    v, lazy = o.a, x.sum().item()
    w, numbers = Own(v), [v]
    def inner(): {use}
    def given(v, w, numbers): {use}
    {call}
    return out, x
"""
ASKED = ("type({v})", "type([{v} for _ in (1,)][0])", "type({v} if out else {v})", "[*map(type, [{v}])][0]", "{v}.__class__",
         "[*map(kind_of, [{v}])][0]", "(f := type)({v})", "sorted([{v}], key=type)", "isinstance({v}, (int, float))",
         "type({v}) is float", "object.__getattribute__({v}, '__class__')", "[type(y) for y in ({v},)][0]",
         "type((*[{v}],)[0])")
BY_OTHER_NAMES = ("builtins.type({v})", "kind_of({v})", "kinds[0]({v})", "Box.ask({v})", "box.kind({v})", "part({v})",
                  "(lambda v, f=type: f(v))({v})", "getattr(builtins, 'type')({v})", "[*map(type, ({v},))][0]",
                  "[*map(kind_of, iter([{v}]))][0]")
NUMBERS = ("o.a", "s['a']", "l[0]", "v", "w.v", "numbers[0]", "lazy", "[*s.values()][0]", "max(l)")


def lives(asked):
    """Yield (verdict, program) of all numbers."""
    for number in NUMBERS:
        for call in ("inner()", "given(v, w, numbers)"):
            text = PROGRAM.format(use=f"out.append(str({asked.format(v=number)}))", call=call)
            yield compare(text)[0], text


@pytest.mark.drawn
@pytest.mark.parametrize("asked", ASKED)
def test_numbers_have_their_class(asked):
    for verdict, text in lives(asked):
        assert verdict.kind == "same", (verdict.text, text)


@pytest.mark.drawn
@pytest.mark.parametrize("asked", BY_OTHER_NAMES)
def test_other_names_of_type_are_refused_at_least(asked):
    for verdict, text in lives(asked):
        assert verdict.kind in ("same", "refused"), (verdict.text, text)
