"""Files for the package itself: `runtime/core/tensor.pyi`, and the names of methods that are loaded late.

Methods are attached to Tensor when modules are loaded, which mypy cannot see in the source that it checks. This stub has the
private members as well; users read the public tree (`public`). A method of Tensor without an annotation returns a tensor.
"""

import builtins
import inspect
import subprocess
import sys
import textwrap
import types

from ingot.runtime import api
from ingot.runtime.core import tensor

from .definitions import WIDTH, definition, first_sentences, numpy_spellings

LITERALS = (bool, int, float, str, type(None), tuple)
LEFT_OUT = {"_cdata", "_grad",      # as_torch adds them
            "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__slotnames__", "__getattr__",
            "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__static_attributes__",
            "__firstlineno__", "__init_subclass__", "__new__"}
FOREIGN = {"typing", "types"}
THIRD = {"numpy", "collections.abc"}


def home_of(thing):
    """The module that defines something; Tensor and Size name the package as theirs."""
    return tensor.__name__ if thing in (tensor.Tensor, tensor.Size) else getattr(thing, "__module__", None)


class Stub:
    """The text of one stub file: lines, and the imports that they turn out to need."""

    def __init__(self, module: str, package: str, doc: str):
        self.module, self.package, self.doc = module, package.split("."), doc
        self.imports: set[str] = set()
        self.third: set[str] = set()
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole file."""
        body = "\n".join(self.lines)
        typing = ", ".join(name for name, use in (("Any", "Any"), ("overload", "@overload")) if use in body)
        head = [f'"""{self.doc}', "", 'Made by `make stubs` from the live package; not edited by hand.', '"""', "",
                *["import builtins"] * ("builtins." in body), *sorted(t for t in self.third if "numpy" not in t),
                f"from typing import {typing}", "",
                *(["import numpy", ""] if "import numpy" in self.third else [])]
        imports = sorted(self.imports, key=lambda line: (-leading_dots(line.split()[1]), line.casefold()))
        return "\n".join([*head, *imports, "", *self.lines]).replace("\n\n\n", "\n\n").rstrip() + "\n"

    def need(self, module: str, name: str, shown: str) -> str:
        """Imports `name` from a module of the project as `shown`."""
        path = module.split(".")
        shared = next((i for i, (a, b) in enumerate(zip(path, self.package)) if a != b), min(len(path), len(self.package)))
        dots = "." * (1 + len(self.package) - shared)
        self.imports.add(f"from {dots}{'.'.join(path[shared:])} import {name} as {shown}")
        return shown

    def annotation(self, hint) -> str:
        """A type as text. Classes are named so that no method or function of the stub can stand before them."""
        if hint is None or hint is type(None):
            return "None"
        if isinstance(hint, types.UnionType):
            return " | ".join(self.annotation(a) for a in hint.__args__)
        if isinstance(hint, types.GenericAlias):
            inner = ", ".join("..." if a is ... else self.annotation(a) for a in hint.__args__)
            return f"{self.annotation(hint.__origin__)}[{inner}]"
        if isinstance(hint, str):
            return hint
        if isinstance(hint, types.FunctionType):        # Python 3.14 reads a class's `-> bool` late: as its method `bool`
            hint = getattr(builtins, hint.__name__)
        if not isinstance(hint, type) or hint.__module__ in FOREIGN:
            return "Any"
        if hint is types.ModuleType:
            return "Any"
        if hint.__module__ in THIRD:
            self.third.add(f"import {hint.__module__}")
            return f"{hint.__module__}.{hint.__name__}"
        if hint.__module__ == "builtins":
            return f"builtins.{hint.__name__}"
        if home_of(hint) == self.module:
            return hint.__name__
        if hint is tensor.Tensor:
            return self.need(home_of(hint), "Tensor", "Tensor")
        home, _, name = home_of(hint).rpartition(".")
        return f"{self.need(home, name, f'_{name}_module')}.{hint.__name__}"

    def function(self, name: str, fn, returns: str, owner: type | None = None) -> None:
        """A function, or a method of `owner`, with numpy's spelling of its arguments as well."""
        parameters = list(inspect.signature(fn).parameters.values())
        if owner and parameters[0].kind is not parameters[0].VAR_POSITIONAL:
            parameters[0] = parameters[0].replace(name="self", annotation=inspect.Parameter.empty)
        redefined = owner and any(name in vars(base) for base in owner.__mro__[1:])
        note = "  # type: ignore[override]" if redefined and name not in ("__init__", "__repr__", "__hash__") else ""
        has_others = hasattr(getattr(fn, "_asks_for", fn), "__wrapped__")
        spellings = numpy_spellings(parameters) if has_others else [parameters]
        hint = inspect.signature(fn).return_annotation
        result = returns if hint is inspect.Signature.empty else self.annotation(hint)
        for these in spellings:
            if len(spellings) > 1:
                self.lines.append("@overload")
            self.lines += definition(name, [*self._parameters(these)], result, first_sentences(fn), note)

    def _parameters(self, parameters):
        kinds = inspect.Parameter
        before = None
        for i, p in enumerate(parameters):
            if before is kinds.POSITIONAL_ONLY and p.kind is not kinds.POSITIONAL_ONLY:
                yield "/"
            if p.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
                yield "*"
            star = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(p.kind, "")
            yield star + self._parameter(p)
            before = p.kind
            if i == len(parameters) - 1 and before is kinds.POSITIONAL_ONLY:
                yield "/"

    def _parameter(self, p) -> str:
        hint = "" if p.annotation is p.empty else self.annotation(p.annotation)
        if not hint and isinstance(p.default, bool):
            hint = "builtins.bool"
        if p.default is p.empty:
            return f"{p.name}: {hint}" if hint else p.name
        default = repr(p.default) if type(p.default) in LITERALS else "..."
        if hint and p.default is None and "None" not in hint and hint != "Any":
            hint += " | None"
        return f"{p.name}: {hint} = {default}" if hint else f"{p.name}={default}"

    def property(self, name: str, prop: property, returns: str) -> None:
        """A property, with its setter."""
        hint = getattr(prop.fget, "__annotations__", {}).get("return", inspect.Signature.empty)
        result = returns if hint is inspect.Signature.empty else self.annotation(hint)
        self.lines += ["@builtins.property", *definition(name, ["self"], result, first_sentences(prop))]
        if prop.fset:
            self.lines += [f"@{name}.setter", f"def {name}(self, value) -> None: ..."]

    def cls(self, cls, returns: str) -> None:
        """A class with all its members; methods without an annotation return `returns`."""
        bases = ", ".join("builtins.tuple[builtins.int, ...]" if b is tuple else self.annotation(b)
                          for b in cls.__bases__ if b is not object)
        meta = f"metaclass={type(cls).__name__}" if type(cls) is not type else ""
        start = len(self.lines)
        for name, member in sorted(cls.__dict__.items()):
            if name not in LEFT_OUT:
                self._member(cls, name, member, returns)
        given = ", ".join(x for x in (bases, meta) if x)
        self.lines[start:] = ["", f"class {cls.__name__}{f'({given})' if given else ''}:", "    " + first_sentences(cls),
                              *("    " + line for line in self.lines[start:]), ""]

    def _member(self, cls, name, member, returns):
        if name == "__init__":
            returns = "None"
        if isinstance(member, property):
            self.property(name, member, "Any")
        elif isinstance(member, types.FunctionType):
            self.function(name, member, returns, cls)
        else:
            slot = inspect.ismemberdescriptor(member) or member is None
            self.lines.append(f"{name}: {'Any' if slot else self.annotation(type(member))}")


def leading_dots(path: str) -> int:
    """How many packages up a relative import starts."""
    return len(path) - len(path.lstrip("."))


def tensor_stub() -> str:
    """`runtime/core/tensor.pyi`."""
    stub = Stub(tensor.__name__, "ingot.runtime.core", "The Tensor with every method that the API attaches to it.")
    for name, thing in vars(tensor).items():
        if name in LEFT_OUT or home_of(thing) != tensor.__name__:
            continue
        if isinstance(thing, type):
            stub.cls(thing, "Tensor" if thing is tensor.Tensor else "Any")
        else:
            stub.function(name, thing, "Any")
    return stub.text()


def late_methods() -> str:
    """`runtime/api/register/lazy_method_names.py`."""
    there = ("import ingot; from ingot.runtime import api; from ingot.runtime.core import tensor; "
             "print(*[name for name, member in vars(tensor.Tensor).items() if type(member) is not api.LateMethod])")
    early = subprocess.run([sys.executable, "-c", there], check=True, capture_output=True, text=True).stdout.split()
    now = {name for name, member in vars(tensor.Tensor).items() if type(member) is not api.LateMethod}
    names = sorted(now - set(early) - LEFT_OUT)
    lines = textwrap.wrap(", ".join(f'"{name}"' for name in names), WIDTH, initial_indent="    ", subsequent_indent="    ")
    doc = '"""The methods of Tensor that come with modules in `LATE`. Made by `make stubs`; not edited by hand."""'
    return "\n".join([doc, "", "NAMES = (", *lines, ")", ""])
