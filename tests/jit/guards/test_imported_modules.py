"""Imports inside of a traced function find the module that is loaded at the call, as in eager code."""

import importlib
import sys
import types

import pytest

import ingot
from ingot import jit

# How code of a function gets `V` of a module.
WAYS = {
    "import": "import {m}; v = {m}.V",
    "import as": "import {m} as m; v = m.V",
    "from": "from {m} import V as v",
    "from, among others": "from {m} import __name__, V; v = V",
    "package": "import imported_package.sub; v = imported_package.sub.V",
    "package as": "import imported_package.sub as s; v = s.V",
    "from package": "from imported_package import sub; v = sub.V",
    "package passed on": "import imported_package.sub; v = value_of(imported_package)",
    "in an inner function": "def inner():\n        import {m}\n        return {m}.V\n    v = inner()",
    "import_module": "v = importlib.import_module('{m}').V",
    "import_module, by name": "v = importlib.import_module(name='{m}').V",
    "import_module, starred": "v = importlib.import_module(*['{m}']).V",
    "import_module, relative": "v = importlib.import_module('.sub', 'imported_package').V",
    "import_module, in C": "v = list(map(importlib.import_module, ['{m}']))[0].V",
    "import_module, partial": "v = functools.partial(importlib.import_module, '{m}')().V",
    "import_module, stored": "v = stored('{m}').V",
    "__import__": "v = __import__('{m}').V",
    "__import__, by name": "v = __import__(name='{m}').V",
    "__import__, of a part": "v = __import__('imported_package', fromlist=['sub']).sub.V",
    "__import__, in C": "v = [*map(__import__, ['{m}'])][0].V",
    "getattr": "import {m}; v = getattr({m}, 'V')",
    "vars": "import {m}; v = vars({m})['V']",
    "sys.modules": "v = sys.modules['{m}'].V",
    "find_spec": "v = 2. if importlib.util.find_spec('{m}') else 3.",
    "missing": "try:\n        import {m}\n        v = {m}.V\n    except ImportError: v = 4.",
    "missing, from": "try: from {m} import V as v\n    except ImportError: v = 4.",
    "missing, import_module": "try: v = importlib.import_module('{m}').V\n    except ImportError: v = 4.",
    "not reached": "v = 2.\n    if x is None: import {m}",
}
NAMES = ("imported_module", "imported_package", "imported_package.sub")


def module(name, value):
    made = types.ModuleType(name)
    made.V, made.__path__, made.__spec__ = value, [], importlib.machinery.ModuleSpec(name, None)
    return made


def load(values):
    """Put a module of each value into `sys.modules`, in turns; None for no module."""
    for name, value in zip(NAMES, values):
        if value is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = value
    if None not in values:
        values[1].sub = values[2]


def results(function, worlds):
    found = []
    for i in (0, 0, 1, 1, 0, 1, 0):
        load(worlds[i])
        try:
            found.append(function(ingot.ones(1)).item())
        except (ImportError, KeyError, jit.TraceError) as error:
            found.append(type(error).__name__)
    return found


WORLDS = {
    "another": lambda: [[module(name, at + 10. * n) for n, name in enumerate(NAMES)] for at in (1., 2.)],
    "removed": lambda: [[module(name, 10. * n) for n, name in enumerate(NAMES)], [None] * 3],
    "loaded": lambda: [[None] * 3, [module(name, 10. * n) for n, name in enumerate(NAMES)]],
}


@pytest.fixture
def loaded():
    before = {name: sys.modules.get(name) for name in NAMES}
    yield
    load(list(before.values()))


@pytest.mark.parametrize("change", WORLDS)
@pytest.mark.parametrize("way", WAYS)
def test_imports_find_what_is_loaded_at_the_call(way, change, loaded):
    space = {"importlib": importlib, "functools": __import__("functools"), "sys": sys, "stored": importlib.import_module,
             "value_of": lambda package: package.sub.V}
    exec(f"def function(x):\n    {WAYS[way].format(m=NAMES[0])}\n    return x * v", space)
    worlds = WORLDS[change]()
    want = results(space["function"], worlds)
    traced = jit.trace(space["function"])
    assert results(traced, worlds) == want, (traced.stats()["misses"], traced.stats()["eager"])
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]
