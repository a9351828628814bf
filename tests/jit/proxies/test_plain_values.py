"""Numbers that a call leaves behind when it fails, or when no replay could make them: no proxies, wherever they lie."""

import collections
import contextlib
import functools
import gc
import types
from dataclasses import dataclass

import pytest

import ingot
from ingot import jit


@dataclass
class Made:
    value: object


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


Pair = collections.namedtuple("Pair", "value other")
MAKES = {
    "number": lambda v: v, "object": Made, "slots": Slotted, "inner": lambda v: Made(Made([v])), "pair": lambda v: Pair(v, [v]),
    "list": lambda v: [v], "dict": lambda v: {"v": v}, "key": lambda v: {v: 1}, "set": lambda v: {v},
    "frozenset": lambda v: frozenset([v]), "deque": lambda v: collections.deque([v]), "slice": slice,
    "default": lambda v: collections.defaultdict(list, a=[v]), "objects": lambda v: (Made(v), [Slotted(v)]),
    "closure": lambda v: (lambda: v), "partial": lambda v: functools.partial(max, v, key=v), "method": lambda v: Made(v).__eq__,
    "class": lambda v: type("Local", (), {"value": v}), "error": ValueError, "namespace": lambda v: types.SimpleNamespace(v=v)}
ENDS = ("raises", "refused", "goes on")


def proxies_behind(value) -> list:
    stack, seen, found = [value], {}, []
    while stack:
        x = stack.pop()
        if id(x) in seen or isinstance(x, (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType)):
            continue
        seen[id(x)] = x
        found += [x] if type(x).__module__.startswith("ingot.") else ()
        if isinstance(x, types.FunctionType):
            stack += x.__closure__ or ()
        elif not isinstance(x, (type, ingot.Tensor)):
            stack += gc.get_referents(x)
        elif isinstance(x, type) and x.__name__ == "Local":
            stack += vars(x).values()
    return found


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", MAKES)
def test_failing_calls_leave_no_proxies_behind(kind, end, tmp_path):
    state, holder, log, table = Made(0), Made(None), [], {}
    at, ends = None, []

    def fn(x):
        nonlocal at
        state.value += 1
        made = MAKES[kind](state.value)
        at = holder.value = made
        log.append(made)
        table["made"] = [made]
        if ends and end == "raises":
            raise KeyError(made)
        if ends and end == "refused":
            (tmp_path / "file").write_text("")
        return x * 2, made

    traced = jit.trace(fn)
    for call in range(3):
        try:
            result = traced(ingot.ones(2))[1]
        except (KeyError, jit.TraceError) as error:
            result = error.args
        assert proxies_behind([at, holder.value, log, table, result]) == [], call
        assert state.value == call + 1
        ends.append(call)


ELEMENTS = {"number": lambda v: v, "tuple": lambda v: (v, 1), "frozenset": lambda v: frozenset([v]),
            "nested": lambda v: frozenset([(v, frozenset([v]))])}


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("read", [lambda x: x.sum().item(), lambda x: int(x[0]), lambda x: bool(x[0] > 1)],
                         ids=["float", "int", "bool"])
@pytest.mark.parametrize("kind", ELEMENTS)
def test_calls_leave_no_proxies_in_sets_from_outside(kind, read, end, tmp_path):
    elements, table, ends = set(), {"a": set()}, []

    def fn(x):
        made = ELEMENTS[kind](read(x))
        elements.add(made)
        table["a"].add(made)
        if ends and end == "raises":
            raise KeyError
        if ends and end == "refused":
            (tmp_path / "file").write_text("")
        return x * 2

    traced = jit.trace(fn)
    for call in range(3):
        with contextlib.suppress(KeyError, jit.TraceError):
            traced(ingot.full((2,), float(call)))
        made = ELEMENTS[kind](read(ingot.full((2,), float(call))))
        assert proxies_behind([elements, table]) == [] and made in elements and made in table["a"], call
        ends.append(call)
