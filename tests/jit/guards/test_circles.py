"""Containers that contain themselves count by their content, and as the very objects that they are."""

from collections import OrderedDict, defaultdict, deque
from types import ModuleType, SimpleNamespace

import pytest

import ingot
from ingot import jit


class Rows(list):
    """A list of a user class."""


def _list():
    x = [2.0]
    x.append(x)
    return x


def _mapping(kind):
    def made():
        x = kind()
        x[0] = 2.0
        x["me"] = x
        return x
    return made


def _deque():
    x = deque([2.0])
    x.append(x)
    return x


def _two():
    x = [2.0]
    x.append({"back": x})
    return x


def _through_a_tuple():
    x = [2.0]
    x.append((x, 1))
    return x


def _rows():
    x = Rows([2.0])
    x.append(x)
    return x


CIRCLES = {"list": _list, "dict": _mapping(dict), "ordered dict": _mapping(OrderedDict),
           "defaultdict": _mapping(lambda: defaultdict(list)), "deque": _deque, "two levels": _two,
           "through a tuple": _through_a_tuple, "user class": _rows}
CHANGES = {"first item": lambda c: c.__setitem__(0, 3.0), "type": lambda c: c.__setitem__(0, 2)}


def _functions(place):
    return {"item": lambda x: x * place.held[0],
            "length": lambda x: x * len(place.held),
            "all": lambda x: x * sum(1 for _ in place.held),
            "by name": lambda x: x * vars(place)["held"][0]}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", _functions(None))
@pytest.mark.parametrize("circle", CIRCLES)
def test_a_container_that_contains_itself(circle, name, change):
    place = SimpleNamespace(held=CIRCLES[circle]())
    fn = _functions(place)[name]
    traced, x = jit.trace(fn), ingot.ones(2)
    for _ in range(2):
        assert traced(x).tolist() == fn(x).tolist()
    CHANGES[change](place.held)
    assert traced(x).tolist() == fn(x).tolist()
    outer = CIRCLES[circle]()
    key = list(outer)[1] if isinstance(outer, dict) else 1
    outer[key], outer[0] = place.held, place.held[0]        # looks alike, and its own content is elsewhere
    place.held = outer
    outer[0] = 5.0
    assert traced(x).tolist() == fn(x).tolist()
    assert traced(x).dtype == fn(x).dtype


def test_a_module_that_holds_its_own_names():
    module = ModuleType("circle")
    module.scale, module.names = 2.0, vars(module)
    fn = lambda x: x * module.names["scale"] * vars(module)["scale"]
    traced, x = jit.trace(fn), ingot.ones(2)
    for scale in (2.0, 2.0, 3.0, 4.0):
        module.scale = scale
        assert traced(x).tolist() == fn(x).tolist()
