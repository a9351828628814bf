"""The public functions of ingot that can be asked without more, and those that set something: found, not listed.

A question is a function or static method that needs no argument, or one that is a kind of device, and a setting of a module.
"""

import importlib
import inspect
import re
import types

import ingot
from ingot import paths

_IS_QUESTION = re.compile(r"^_?(get|is|are|has|current|default|device|max|memory|flags)_|_(enabled|allowed|available|count)$")
_SETS = re.compile(r"^(set|enable|disable|allow|use|add|clear)_|^(enable|disable|manual_seed)$")
# Names of functions that end, start or hold up this process.
_ACTS = re.compile(r"^(main|barrier|monitored_barrier|init_process_group|destroy_process_group|parse_args|seed|synchronize|"
                   r"reset|init|enter_dual_level|exit_dual_level|collect_env)$")


def modules() -> dict:
    found = {"ingot": ingot}
    found |= {f"ingot.{path}": importlib.import_module(f"ingot.{path}") for path in sorted(paths.PUBLIC)}
    boards = {f"ingot.backends.{n}": m for n, m in vars(ingot.backends).items() if isinstance(m, types.ModuleType)}
    return found | {name: m for name, m in boards.items() if m.__name__.startswith("ingot.runtime.backends")}


def _members(m) -> dict:
    names = {n for n in (*dir(m), *getattr(m, "__all__", ()), *_settings_of(m)) if not n.startswith("_")}
    return {n: getattr(m, n) for n in sorted(names) if hasattr(m, n)}


def _settings_of(owner) -> list:
    """Return the names that the class of a module computes."""
    return [n for c in type(owner).__mro__ for n, v in vars(c).items()
            if hasattr(v, "__set__") and type(v) is not types.MemberDescriptorType and not n.startswith("_")]


def _functions() -> dict:
    """Return the public functions, static methods and classes that set something by path, each once."""
    found: dict = {}
    for path, m in modules().items():
        for name, value in _members(m).items():
            named = {name: value}
            if isinstance(value, type):
                named = {f"{name}.{n}": getattr(value, n) for n, v in vars(value).items()
                         if isinstance(v, (staticmethod, classmethod)) and not n.startswith("_")}
                named |= {name: value} if name.startswith("set_") else {}
            for n, f in named.items():
                if str(getattr(f, "__module__", "")).startswith("ingot") and (inspect.isroutine(f) or n.startswith("set_")):
                    found.setdefault(id(f), (f"{path}.{n}", f))
    return dict(found.values())


def _needs(f) -> list | None:
    try:
        return [p.name for p in inspect.signature(f).parameters.values() if p.default is p.empty and p.kind not in (2, 4)]
    except ValueError:
        return None


def questions() -> dict:
    """Return {path: function without arguments} of all that can be asked."""
    found = {}
    for path, f in _functions().items():
        name, needs = path.rpartition(".")[2], _needs(f)
        if _ACTS.match(name) or _SETS.match(name):
            continue
        if needs == []:
            found[path] = f
        elif needs is not None and len(needs) == 1 and needs[0] in ("device_type", "device", "backend"):
            found[f"{path}(cpu)"] = lambda f=f: f("cpu")
    return found


def is_like_question(path) -> bool:
    return bool(_IS_QUESTION.search(path.partition("(")[0].rpartition(".")[2]))


def settings() -> dict:
    """Return {path: (owner, name)} of the plain values of the backends' modules, and of the objects in these."""
    found = {}
    for path, m in modules().items():
        owners = {path: m} | {f"{path}.{n}": v for n, v in _members(m).items()
                              if str(type(v).__module__).startswith("ingot") and not callable(v)}
        for where, owner in owners.items() if path.startswith(("ingot.backends", "ingot.utils.deterministic")) else ():
            for name, value in _members(owner).items():
                if isinstance(value, (bool, int, str, type(None))) and (owner is m or name in _settings_of(owner)):
                    found[f"{where}.{name}"] = owner, name
    return found


def setters() -> dict:
    """Return {path: function of one value} of the functions that set something, and of the settings."""
    found = {}
    for path, f in _functions().items():
        needs = _needs(f)
        if _SETS.match(path.rpartition(".")[2]) and needs is not None and "." in path:
            if len(needs) <= 1:
                found[path] = f if needs else lambda value, f=f: f() if value is True else None
            elif needs[0] in ("device_type", "device"):
                found[f"{path}(cpu)"] = lambda value, f=f: f("cpu", value)
    for path, (owner, name) in settings().items():
        found[path] = lambda value, owner=owner, name=name: setattr(owner, name, value)
    return found
