"""Guards and their compiled checks run no code of the user's, whatever an object has lost since."""

import pytest

from fuzzed_modules.life import compare
from ingot.jit.bytecode.reads import GLOBAL, Chain
from ingot.jit.guards import class_entries
from ingot.jit.guards.guard_code import quick_check
from ingot.jit.guards.guards import Guard

GETS = "log = []\ndef note(*args):\n    log.append(1)\n    return 2.0\n"
# Reads, and how their value gets lost, behind which a function of the user's would answer.
LOST = {
    "an attribute before __getattr__": ("class A: __getattr__ = note\na = A()\na.k = 2.0", "a.k", "del a.k"),
    "a cached property": ("class A: k = functools.cached_property(note)\nA.k.__set_name__(A, 'k')\na = A()\n"
                          "a.__dict__['k'] = 2.0", "(a.k if x.sum() > 99 else 3)", "del a.k"),
    "an attribute before a descriptor": ("class D: __get__ = note\nclass A: k = D()\na = A()\na.__dict__['k'] = 2.0", "a.k",
                                         "del a.__dict__['k']"),
    "a name of a class": ("class M(type): __getattr__ = note\nclass A(metaclass=M): k = 2.0", "A.k", "del A.k"),
    "a name of a Python module": ("m = types.ModuleType('fuzzed_lost')\nm.k, m.__getattr__ = 2.0, note", "m.k", "del m.k"),
    "an item before __missing__": ("class D(dict): __missing__ = note\nd = D(k=2.0)", "d['k']", "del d['k']"),
    "an item with a default": ("d = defaultdict(note, k=2.0)", "d['k']", "del d['k']"),
    "an object with __eq__": ("class K:\n    k, __eq__, __hash__ = 2.0, note, None\na = K()", "a.k", "globals().update(a=K())"),
}


@pytest.mark.parametrize("name", LOST)
def test_guards_run_no_user_code(name):
    made, read, lost = LOST[name]
    program = (f"{GETS}{made}\ndef fn(x): return x * {read}\ndef args(i): return ingot.arange(3.0) + (99 if i == 1 else 0),\n"
               f"def turn(i):\n    if i == 3: {lost}")
    verdict, _ = compare(program)
    assert verdict.kind == "same", verdict.text


def test_guards_of_one_structure_are_compiled_once():
    def guarded():
        space = {"rate": object()}
        return space, quick_check([Guard(Chain(GLOBAL, "rate", ()), space, space["rate"])])

    (space, first), compiled = guarded(), class_entries._code_of_check.cache_info().misses
    _, second = guarded()
    assert class_entries._code_of_check.cache_info().misses == compiled
    assert first.__code__ == second.__code__
    assert first.__code__ is not second.__code__, "the interpreter adapts code to what it meets"
    assert first() and second()
    space["rate"] = object()
    assert not first() and second()
