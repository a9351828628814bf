"""User code and library code: installed packages are user code, and code that runs at any time is no part of a recording."""

import gc
import importlib
import sys
import types

import pytest

import ingot
from ingot import jit
from ingot.jit.bytecode.user_code import LIBRARIES, is_instance, is_user_code, is_user_defined, is_user_module
from ingot.jit.python_state.call_rules import REFUSED, rule_of_function
from outcomes import plain

# Functions of a package: `fn` is traced, `turn(i)` changes state before call i, `seen()` shows what was written.
PACKAGES = {
    "global": '''
RATE = 1.0
def fn(x): return x * RATE
def turn(i):
    global RATE
    RATE = 1.0 + i // 3
''',
    "global_of_a_submodule_function": '''
import sys
RATE = 1.0
def inner(x): return x * RATE
def fn(x): return inner(x) + inner(x)
def turn(i): setattr(sys.modules[__name__], "RATE", 1.0 + i // 2)
''',
    "container": '''
SCALE = {"k": 2.0, "l": [1.0, 2.0]}
def fn(x): return x * SCALE["k"] + sum(SCALE["l"])
def turn(i):
    SCALE["k"] = float(i // 3)
    if i == 4: SCALE["l"].append(3.0)
''',
    "attribute": '''
class Config: v = 1.0
cfg = Config()
def fn(x): return x * cfg.v
def turn(i): cfg.v = float(i // 2)
''',
    "attribute_by_name": '''
class Config: v = 1.0
cfg = Config()
def fn(x, names=("v", "w")): return x * sum(getattr(cfg, n, 5.0) for n in names)
def turn(i):
    if i == 2: cfg.w = 3.0
    if i == 4: cfg.v = 4.0
''',
    "all_attributes": '''
class Config:
    def __init__(self): self.a = 1.0
    def total(self): return sum(self.__dict__.values())
cfg = Config()
def fn(x): return x * cfg.total() + sum(vars(cfg).values())
def turn(i):
    if i == 2: cfg.a = 3.0
    if i == 4: cfg.b = 4.0
''',
    "class_attribute": '''
class Layer:
    gain = 1.0
    def __call__(self, x): return x * self.gain
layer = Layer()
def fn(x): return layer(x)
def turn(i): Layer.gain = float(i // 2)
''',
    "property": '''
class Layer:
    k = 1.0
    @property
    def gain(self): return self.k * 2
layer = Layer()
def fn(x): return x * layer.gain
def turn(i): layer.k = float(i // 2)
''',
    "method_replaced": '''
class Layer:
    def gain(self): return 2.0
layer = Layer()
def fn(x): return x * layer.gain()
def turn(i):
    if i == 3: Layer.gain = lambda self: 5.0
''',
    "closure": '''
def make():
    k = 1.0
    def fn(x): return x * k
    def turn(i):
        nonlocal k
        k = float(i // 2)
    return fn, turn
fn, turn = make()
''',
    "default": '''
class Box: v = 1.0
box = Box()
def scaled(x, box=box, log=[1.0]): return x * box.v + len(log)
def fn(x): return scaled(x)
def turn(i):
    box.v = float(i // 2)
    if i == 4: scaled.__defaults__[1].append(2.0)
''',
    "environment": '''
import os
def fn(x): return x * float(os.environ.get("INGOT_TEST_RATE", "1"))
def turn(i): os.environ["INGOT_TEST_RATE"] = str(i // 3)
''',
    "import_inside": '''
def fn(x):
    import math as cfg
    from colorsys import ONE_THIRD
    return x * cfg.pi + ONE_THIRD
def turn(i):
    import colorsys
    colorsys.ONE_THIRD = 1 / 3 if i < 3 else 2.0
    if i == 5: colorsys.ONE_THIRD = 1 / 3
''',
    "memo": '''
memo = {}
RATE = 1.0
def rate(n):
    if n not in memo: memo[n] = n * RATE
    return memo[n]
def fn(x): return x * rate(x.ndim)
def turn(i):
    if i == 3: memo.clear()
    global RATE
    RATE = 1.0 + i // 3
def seen(): return dict(memo)
''',
    "lru_cache": '''
import functools
RATE = 1.0
@functools.lru_cache
def rate(n): return n * RATE
def fn(x): return x * rate(x.ndim)
def turn(i):
    global RATE
    RATE = 1.0 + i // 3
    if i == 3: rate.cache_clear()
''',
    "counter": '''
n = 0
def fn(x):
    global n
    n += 1
    return x * n
def turn(i): pass
def seen(): return n
''',
    "counter_in_an_object": '''
class Layer:
    def __init__(self): self.n = 0
    def __call__(self, x):
        self.n += 1
        return x * self.n
layer = Layer()
def fn(x): return layer(x)
def turn(i):
    if i == 3: layer.n = 10
def seen(): return layer.n
''',
    "log": '''
log = []
def fn(x):
    log.append(1)
    return x * len(log)
def turn(i): pass
def seen(): return list(log)
''',
    "stack": '''
stack = []
class Handler:
    def __init__(self, k): self.k = k
    def __enter__(self): stack.append(self)
    def __exit__(self, *e): stack.pop()
handler = Handler(2.0)
def fn(x):
    with handler:
        return x * stack[-1].k
def turn(i): handler.k = float(i // 2)
def seen(): return len(stack)
''',
    "registry": '''
registry = {}
def register(f):
    registry[f.__name__] = f
    return f
@register
def double(x): return x * 2
def fn(x): return registry["double"](x)
def turn(i):
    if i == 3: registry["double"] = lambda x: x * 3
''',
    "decorator": '''
import functools
OPTIONS = {"on": True}
def decorated(f):
    @functools.wraps(f)
    def wrapper(*a, **k): return f(*a, **k) * (2 if OPTIONS["on"] else 1)
    return wrapper
@decorated
def fn(x): return x + 1
def turn(i): OPTIONS["on"] = i < 3
''',
    "partial_subclass": '''
import functools
class Bound(functools.partial):
    __slots__ = "func"
    def __init__(self, func): self.func = func
OPTIONS = {"k": 1.0}
@Bound
def scaled(x): return x * OPTIONS["k"]
def fn(x): return scaled(x)
def turn(i): OPTIONS["k"] = float(i // 2)
''',
    "parameters_made_at_the_first_call": '''
import weakref, ingot
store = {}
def parameter(name):
    if name not in store:
        store[name] = ingot.full((2,), 2.0)
        store[name].unconstrained = weakref.ref(store[name])
    return store[name]
def fn(x): return x * parameter("w").unconstrained()
def turn(i):
    if i == 3: store["w"].mul_(2)
''',
    "dataclass": '''
import dataclasses
@dataclasses.dataclass
class Config:
    a: float = 1.0
    b: list = dataclasses.field(default_factory=list)
cfg = Config()
def fn(x): return x * cfg.a + len(cfg.b) + Config(2.0).a + dataclasses.replace(cfg, b=[1]).a
def turn(i):
    cfg.a = float(i // 2)
    if i == 4: cfg.b.append(1)
''',
    "random": '''
import random
def fn(x): return x * random.random()
def turn(i): random.seed(i)
''',
    "clock": '''
import time
def fn(x): return x * (time.perf_counter() > 0)
def turn(i): pass
''',
    "iterator": '''
numbers = iter(range(100))
def fn(x): return x * next(numbers)
def turn(i): pass
''',
}
REFUSED_ROWS = ("iterator",)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Function that imports source text as a package of its own below a folder `site-packages`."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delenv("INGOT_TEST_RATE", raising=False)
    names: list = []

    def package(source):
        names.append(f"pkg{len(names)}_{tmp_path.name}")
        (folder / f"{names[-1]}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module(names[-1])

    yield package
    for name in names:
        sys.modules.pop(name, None)


def results(module, fn):
    found = []
    for i in range(6):
        module.turn(i)
        found.append((plain(fn(ingot.ones(2))), module.seen() if hasattr(module, "seen") else None))
    return found


@pytest.mark.parametrize("row", [row for row in PACKAGES if row not in REFUSED_ROWS])
def test_state_of_installed_packages_is_followed(row, installed):
    eager, traced = installed(PACKAGES[row]), installed(PACKAGES[row])
    fn = jit.trace(traced.fn)
    assert results(traced, fn) == results(eager, eager.fn)
    assert fn.stats()["compiles"] <= 5 and fn.stats()["unrecorded"] <= 3, fn.stats()


@pytest.mark.parametrize("row", REFUSED_ROWS)
def test_installed_packages_that_no_trace_repeats_are_refused(row, installed):
    module = installed(PACKAGES[row])
    with pytest.raises(jit.TraceError, match=f"{module.__name__}.py:"):
        results(module, jit.trace(module.fn))


def test_a_module_that_is_imported_inside_for_the_first_time_is_no_part_of_the_recording(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "late_settings.py").write_text(
        "import random, time\nRATE = 2.0\nSTART = time.time(), random.random()\nlog = [RATE]\n")
    monkeypatch.syspath_prepend(str(folder))

    @jit.trace
    def fn(x):
        import late_settings
        late_settings.log.append(1.0)
        return x * late_settings.RATE + len(late_settings.log)

    try:
        assert [fn(ingot.ones(())).item() for _ in range(4)] == [4.0, 5.0, 6.0, 7.0]
        sys.modules["late_settings"].RATE = 3.0
        assert fn(ingot.ones(())).item() == 9.0
        (reason, times), = fn.stats()["eager"].items()
        assert reason.startswith("it imported late_settings, which a recording cannot repeat") and times == 1
    finally:
        sys.modules.pop("late_settings", None)


class Collected:
    """Object of a cycle, which the garbage collector finds."""

    runs = 0

    def __init__(self):
        self.me = self

    def __del__(self):
        Collected.runs += 1


def test_finalisers_and_callbacks_of_the_garbage_collector_are_no_part_of_a_recording():
    state = {"collections": 0}

    def collects(phase, info):
        state["collections"] += phase == "start"

    @jit.trace
    def fn(x):
        gc.collect()
        return x * 2

    gc.callbacks.append(collects)
    try:
        for i in range(4):
            if i < 2:
                Collected()
            before, ran = state["collections"], Collected.runs
            assert fn(ingot.ones(())).item() == 2.0
            assert state["collections"] - before <= 2 and Collected.runs - ran == (i < 2), i
    finally:
        gc.callbacks.remove(collects)


def test_objects_that_a_replay_drops_are_finalised_once_at_most():
    log: list = []

    class Held:
        def __del__(self):
            log.append(1)

    slot = types.SimpleNamespace(held=Held())

    @jit.trace
    def fn(x):
        slot.held = None
        return x * 2

    for n in range(1, 5):
        fn(ingot.ones(2))
        assert len(log) <= n
        slot.held = Held()


def test_the_decision_is_the_same_for_code_classes_and_modules():
    rows = [("numpy.linalg", False), ("collections", False), ("ingot.nn", False), ("kornia.filters", True), ("__main__", True)]
    for module, expected in rows:
        cls = type("Made", (), {"__module__": module})
        assert is_user_module(module) == is_user_defined(cls) == expected, module
        assert is_user_code(module, "/x/site-packages/file.py") == expected or module == "collections"
        assert module in ("collections", "builtins") or is_instance(cls()) == expected


def test_a_file_with_the_name_of_a_module_of_the_standard_library_is_the_users(tmp_path, monkeypatch):
    module = types.ModuleType("colorsys")
    module.__file__ = str(tmp_path / "colorsys.py")
    monkeypatch.setitem(sys.modules, "colorsys", module)
    assert is_user_code("colorsys", module.__file__) and is_user_module("colorsys")


def test_each_library_has_a_reason_and_calls_of_unknown_ones_are_refused():
    assert all(LIBRARIES.values())
    assert rule_of_function("some_package._native", "run") is REFUSED


class Settings:
    """Class of a library whose objects are data."""

    def __init__(self, **content):
        self.content = content

    def __getattr__(self, name):
        if name.startswith("__") or name == "content":
            raise AttributeError(name)
        return self.content[name]

    def get(self, name):
        return self.content[name]


@pytest.mark.parametrize("read", [lambda s: s.k, lambda s: s.get("k"), lambda s: s.get("l")[0], lambda s: s.content["k"],
                                  lambda s: float(s.l[0])], ids=lambda _: "")
def test_objects_of_data_libraries_count_by_their_content(read, monkeypatch):
    module = types.ModuleType("omegaconf")
    content = {k: v for k, v in vars(Settings).items() if k not in ("__dict__", "__weakref__")}
    module.Settings = type("Settings", (), {**content, "__module__": "omegaconf"})
    monkeypatch.setitem(sys.modules, "omegaconf", module)
    s = module.Settings(k=1.0, l=[1.0])

    @jit.trace
    def fn(x):
        return x * read(s)

    for i in range(6):
        s.content["k"] = float(i // 2)
        s.content["l"][0] = float(i // 3)
        assert fn(ingot.ones(())).item() == read(s), i


@pytest.mark.parametrize("slots", [None, ("rate",)], ids=["dict", "slots"])
def test_a_class_may_get_code_that_gives_attributes_after_a_trace(slots):
    """That code is the user's: nothing asks it for `__class__`, as `isinstance` does."""
    asked, part = [], type("Part", (), {} if slots is None else {"__slots__": slots})()

    def gives(self, name):
        asked.append(name)
        if name != "rate":
            raise TypeError(name)
        return 7.0

    part.rate = 3.0
    captured, passed = jit.trace(lambda x: x * part.rate), jit.trace(lambda x, part: x * part.rate)
    for _ in range(3):
        assert captured(ingot.ones(1)).item() == passed(ingot.ones(1), part).item() == 3.0
    type(part).__getattribute__ = gives
    for call in (lambda: captured(ingot.ones(1)), lambda: passed(ingot.ones(1), part)) * 2:
        try:
            assert call().item() == 7.0
        except jit.TraceError:          # what the code gives instead of a slot is not guarded
            assert slots
    assert set(asked) == {"rate"}
