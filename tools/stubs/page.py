"""The stub of one public path: names, types, functions and classes as text."""

import collections.abc
import enum
import inspect
import types
import typing

import numpy

import ingot
from ingot.ir.blocks import Block, block
from ingot.ir.cached_property import cached_property
from ingot.runtime.core.tensor import Tensor
from ingot.runtime.nn.base.module import Module

from . import inference
from .definitions import definition, docstring, first_sentences, numpy_spellings
from .parameters import type_of

LEFT_OUT = {"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__slotnames__", "__annotations__",
            "__annotate__", "__annotate_func__", "__annotations_cache__", "__static_attributes__", "__firstlineno__",
            "__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__copy__",
            "__deepcopy__", "__repr__", "__str__", "__setattr__", "__delattr__", "__dir__", "__orig_bases__", "__parameters__",
            "__abstractmethods__", "__match_args__", "__dataclass_fields__", "__dataclass_params__", "__set_name__",
            "__format__", "__sizeof__", "__subclasshook__", "__torch_function__",
            "__torch_dispatch__", "__class_getitem__", "__getnewargs__", "__class__"}
RESULTS = {"__len__": "_b.int", "__contains__": "_b.bool", "__bool__": "_b.bool", "__int__": "_b.int", "__float__": "_b.float",
           "__complex__": "_b.complex", "__index__": "_b.int", "__hash__": "_b.int", "__enter__": "_t.Self", "__exit__": "None",
           "__init__": "None", "__iter__": "_c.Iterator[_t.Any]"}
# Functions and methods without an annotation return a tensor here.
TENSOR_ROOMS = ("runtime.api.", "runtime.nn.functional", "runtime.linalg", "runtime.signal", "runtime.nn.base.init",
                "runtime.masked", "runtime.array_api", "runtime.namespaces.sparse", "ir.", "runtime.nested")
DISTRIBUTIONS = "runtime.distributions."
PREFIX = "ingot."
MADE_BLOCK = block(lambda: ()).__code__      # as of all functions that the decorator makes, apart from their doors
OF_DISTRIBUTIONS = {**dict.fromkeys(("support", "domain", "codomain", "base_constraint"), "Constraint"),
                    **dict.fromkeys(("has_rsample", "has_enumerate_support", "bijective", "is_discrete"), "_b.bool"),
                    **dict.fromkeys(("batch_shape", "event_shape", "param_shape"), "Size"), "event_dim": "_b.int",
                    "sign": "Tensor | _b.int", "inv": "Transform", "base_dist": "Distribution",
                    "arg_constraints": "_b.dict[_b.str, Constraint]"}
STARRED = {"sizes", "size", "shape", "order", "dims", "tensors", "repeats"}       # parameters such as `*sizes`
PROPERTIES = (property, cached_property)
WRONG = {"_b.int": (float, tuple, str), "_b.bool": (str, float), "_b.float": (str, tuple), "_b.str": (int, float)}
ARGUMENTS = {dict: "[_t.Any, _t.Any]", tuple: "[_t.Any, ...]", numpy.ndarray: "[_t.Any, _t.Any]",
             collections.abc.Mapping: "[_t.Any, _t.Any]", collections.abc.Callable: "[..., _t.Any]",
             collections.abc.Generator: "[_t.Any, _t.Any, _t.Any]",
             **dict.fromkeys((list, set, frozenset, type, numpy.dtype, collections.abc.Iterable, collections.abc.Iterator,
                              collections.abc.Sequence, collections.abc.Collection), "[_t.Any]")}
FUNCTION_VARIABLE = '_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])'
BLOCK_MEMBERS = {"__call__": "def __call__(self, fn: _Decorated) -> _Decorated: ...",
                 "__enter__": "def __enter__(self) -> _t.Any: ...",
                 "__exit__": "def __exit__(self, *error: _t.Any) -> None: ..."}        # code in C


def room_of(thing) -> str:
    """Return the vocabulary of the parameters of a function: see `parameters.type_of`."""
    module = (getattr(inspect.unwrap(thing), "__module__", "") or "").removeprefix(PREFIX)
    if module.startswith(DISTRIBUTIONS):
        return "distributions"
    if module.startswith("runtime.optim"):
        return "optim"
    nets = ("runtime.nn.layers", "runtime.quantization", "runtime.nn.utils")
    return "tensors" if module.startswith((*TENSOR_ROOMS, *nets)) or module in ("ingot", "") else ""


class Page:
    """The stub of one path."""

    def __init__(self, tree, path: str):
        self.tree, self.path, self.module, self.texts = tree, path, tree.modules[path], tree.texts[path]
        self.imports: set[str] = set()
        self.lines: list[str] = []
        self.alias: dict[str, object] = {}
        self.second_names: list[str] = []       # behind the definitions that they name

    def text(self) -> str:
        """Return the whole file."""
        body = "\n".join([*self.texts.head, "", *self.lines, "", *self.second_names]).replace("\n\n\n", "\n\n").strip("\n")
        short = {"import builtins as _b": "_b.", "import collections.abc as _c": "_c.", "import typing as _t": "_t.",
                 "import numpy as _np": "_np."}
        head = [docstring(first_sentences(self.module) or f'"""`{PREFIX}{self.path}`."""'), ""]
        head += ["# Made by `make stubs` from the live package; not edited by hand.", ""]
        needed = [line for line, use in short.items() if use in body]
        return "\n".join([*head, *needed, *sorted(self.imports), "", body]).replace("\n\n\n", "\n\n").rstrip() + "\n"

    # Names.

    def write(self):
        """Write all names of the page."""
        children = [p.rpartition(".")[2] for p in self.tree.paths if p and p.rpartition(".")[0] == self.path]
        names = self.tree.names[self.path]
        for child in children:
            if child not in names or isinstance(names[child], types.ModuleType):
                self.imports.add(f"from {PREFIX + self.path if self.path else 'ingot'} import {child} as {child}")
        values, definitions = [], []
        for name, thing in names.items():
            if not (isinstance(thing, types.ModuleType) and name in children):
                (definitions if isinstance(thing, (type, types.FunctionType)) else values).append((name, thing))
        for name, thing in [*values, *definitions]:
            self.name(name, thing)
        for name in self.texts.additional(names):
            self.lines += ["", *self.texts.functions[name]]
        if self.path == "":
            self.lines += ["", "__all__: _b.list[_b.str]"]

    def name(self, name: str, thing) -> None:
        """Write one name."""
        if name in self.texts.functions:
            self.lines += self.texts.function(name, first_sentences(thing))
        elif isinstance(thing, types.ModuleType):
            path = next((p for p, module in self.tree.modules.items() if module is thing and p), None)
            if path:
                above, _, last = path.rpartition(".")
                self.publish((PREFIX + above).rstrip("."), last, name)
        elif isinstance(thing, (type, types.FunctionType)) and thing in self.tree.homes:
            self.public(name, thing)
        elif isinstance(thing, type) or typing.get_origin(thing) or isinstance(thing, types.UnionType):
            self.second_names.append(f"{name} = {self.annotation(thing)}")
        elif isinstance(thing, typing.TypeVar):
            self.lines.append(f'{name} = _t.TypeVar("{name}")')
        elif callable(thing) and not isinstance(thing, type) and has_signature(thing):
            self.function(name, thing)
        else:
            self.lines.append(f"{name}: {self.value_type(thing)}")

    def public(self, name: str, thing) -> None:
        """Write a class or function at its home, elsewhere an import."""
        path, there = self.tree.homes[thing]
        if (path, there) == (self.path, name):
            (self.cls if isinstance(thing, type) else self.function)(name, thing)
        elif path == self.path:
            self.second_names.append(f"{name} = {there}")
        else:
            self.publish((PREFIX + path).rstrip("."), there, name)

    def publish(self, module: str, there: str, name: str) -> None:
        """Give something of another page a name here; a stub exports imports only if they keep theirs."""
        if there == name:
            self.imports.add(f"from {module} import {there} as {name}")
        else:
            self.imports.add(f"from {module} import {there} as _{there.lstrip('_')}")
            self.lines.append(f"{name} = _{there.lstrip('_')}")

    # Types.

    def value_type(self, value) -> str:
        """Return the type of a constant or attribute."""
        kind = type(value)
        if value is None or kind in (type, types.BuiltinFunctionType, object):
            return "_t.Any"
        if kind not in self.tree.homes and kind.__module__.startswith("ingot"):     # such as the classes behind `float32`
            kind = next((c for c in kind.__mro__ if c in self.tree.homes), kind)
        return self.annotation(kind)

    def annotation(self, hint) -> str:
        """Return a type as text."""
        if isinstance(hint, str):
            hint = self.evaluated(hint)
        if hint is None or hint is type(None):
            return "None"
        origin = typing.get_origin(hint)
        if origin is types.UnionType or origin is typing.Union:
            parts = dict.fromkeys(self.annotation(a) for a in typing.get_args(hint))
            return "_t.Any" if "_t.Any" in parts else " | ".join(parts)
        if origin is not None:
            inner = [self.inner(a) for a in typing.get_args(hint)]
            if origin is typing.Literal:
                return f"_t.Literal[{', '.join(map(repr, typing.get_args(hint)))}]"
            if not isinstance(origin, type) or origin is type:
                return "_t.Any" if origin is not type else f"_b.type[{', '.join(inner)}]"
            return f"{self.annotation(origin).partition('[')[0]}[{', '.join(inner)}]"
        if isinstance(hint, types.FunctionType):        # Python 3.14 reads a class's `-> bool` late: as its method `bool`
            hint = getattr(__import__("builtins"), hint.__name__, None)
        if not isinstance(hint, type) or hint is types.ModuleType:
            return "_t.Self" if hint is typing.Self else "_t.Any"
        if hint.__module__ == "builtins":
            return f"_b.{hint.__name__}{ARGUMENTS.get(hint, '')}"
        if hint.__module__ == "collections.abc":
            return f"_c.{hint.__name__}{ARGUMENTS.get(hint, '')}"
        if hint.__module__.startswith("ingot"):
            return self.reference(hint)
        if hint.__module__ in ("types", "typing") or "." in hint.__qualname__ or hint.__module__.startswith("_"):
            return "_t.Any"
        if hint.__module__ != "numpy":
            shown = self.free_name(hint)
            self.imports.add(f"from {hint.__module__} import {hint.__name__} as {shown}")
            return shown
        return f"_np.{hint.__name__}{ARGUMENTS.get(hint, '')}"

    def inner(self, argument) -> str:
        """Return an argument of a generic type as text."""
        if argument is ...:
            return "..."
        return f"[{', '.join(map(self.annotation, argument))}]" if isinstance(argument, list) else self.annotation(argument)

    def evaluated(self, text: str):
        try:
            return eval(text, {**vars(typing), **self.tree.names[""], **vars(self.module)})
        except Exception:
            return typing.Any

    def free_name(self, cls, name: str = "") -> str:
        """Return a private name for a class of another module."""
        shown = f"_{(name or cls.__name__).lstrip('_')}"
        while self.alias.setdefault(shown, cls) is not cls:
            shown += "_"
        return shown

    def reference(self, cls) -> str:
        """Return the name of a class of the project, imported if it has another home."""
        path, name = self.tree.home(cls, self)
        if path != self.path:
            shown = self.free_name(cls, name)
            self.imports.add(f"from {(PREFIX + path).rstrip('.')} import {name} as {shown}")
            return shown
        if name[0].islower():               # a member of a class may have this name: `Tensor.dtype`
            if self.alias.setdefault(f"_{name}", cls) is cls and f"_{name}: _t.TypeAlias = {name}" not in self.lines:
                self.lines.append(f"_{name}: _t.TypeAlias = {name}")
            return f"_{name}"
        return name

    def with_names(self, text: str) -> str:
        """Return a type of `parameters`, where `Tensor` and the like stand for classes of the project."""
        known = {"Tensor": Tensor, "dtype": ingot.dtype, "device": ingot.device, "layout": ingot.layout,
                 "Constraint": ingot.distributions.constraints.Constraint, "Transform": ingot.distributions.Transform,
                 "Distribution": ingot.distributions.Distribution, "Size": ingot.Size,
                 "Generator": ingot.Generator, "memory_format": ingot.memory_format, "Optimizer": ingot.optim.Optimizer}
        words = text.replace("[", " [ ").replace("]", " ] ").replace(",", " , ").split()
        return " ".join(self.reference(known[w]) if w in known else w for w in words).replace(" [ ", "[").replace(" ]", "]") \
            .replace(" ,", ",").replace("[ ", "[")

    # Functions.

    def function(self, name: str, fn, owner: type | None = None, decorator: str = "") -> None:
        """Write a function or method, with numpy's spelling of its arguments as well."""
        signature = signature_of(fn)
        parameters = list(signature.parameters.values())
        first = {"": "self", "@_b.classmethod": "cls"}.get(decorator)
        if owner and first and parameters and parameters[0].kind not in (2, 4):
            parameters[0] = inspect.Parameter(first, parameters[0].kind)
        elif owner and first:
            parameters.insert(0, inspect.Parameter(first, inspect.Parameter.POSITIONAL_ONLY))
        if name == "forward" and owner and hasattr(owner, "_inputs"):       # losses take `*inputs`, and name them in the class
            parameters[1:] = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in owner._inputs]
        special = name.startswith("__") and name not in ("__init__", "__call__")
        spells = hasattr(getattr(fn, "_asks_for", fn), "__wrapped__") and room_of(fn) == "tensors"
        spellings = numpy_spellings(parameters) if spells else [parameters]
        result = self.result(name, fn, signature, owner)
        bound = bool(owner and first)
        for these in spellings:
            self.lines += ["@_t.overload"] * (len(spellings) > 1) + ([decorator] if decorator else [])
            written = [*self.parameters(these, "operator" if special else room_of(fn), bound)]
            self.lines += definition(name, written, result, first_sentences(fn))

    def result(self, name: str, fn, signature, owner) -> str:
        """Return the type of the result."""
        if is_block(fn):
            self.imports.add("import contextlib as _contextlib")
            return "_contextlib._GeneratorContextManager[_t.Any]"      # a context manager and decorator
        if signature.return_annotation is not signature.empty:
            return self.annotation(signature.return_annotation)
        if name in RESULTS and not (name == "__iter__" and owner is Tensor):
            return RESULTS[name]
        module = (getattr(inspect.unwrap(fn), "__module__", None) or "").removeprefix(PREFIX)
        seen = inference.result_of(fn) if isinstance(fn, types.FunctionType) else inference.UNKNOWN
        if seen not in (inference.SELF, inference.UNKNOWN, None, tuple, list):
            return self.annotation(seen)
        if seen is None and owner is None:
            return "None"
        of_api = owner is None and module.startswith((*TENSOR_ROOMS, "ingot"))
        if owner is Tensor or of_api or (name == "forward" and owner is not Module):
            return self.annotation(Tensor)
        if seen is inference.SELF:
            return "_t.Self" if owner else self.annotation(Tensor)
        if seen is inference.UNKNOWN:
            of_values = module.startswith(DISTRIBUTIONS) and owner and name[0] != "_"
            return self.annotation(Tensor) if of_values else "_t.Any"
        return self.annotation(seen)

    def parameters(self, parameters, room: str, bound: bool):
        """Yield the parameters as text."""
        kinds, before = inspect.Parameter, None
        for i, p in enumerate(parameters):
            if p.name.startswith("_") and p.kind is not kinds.VAR_KEYWORD and p.default is not p.empty:
                continue                # for the package's own calls
            if before is kinds.POSITIONAL_ONLY and p.kind is not kinds.POSITIONAL_ONLY:
                yield "/"
            if p.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
                yield "*"
            star = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(p.kind, "")
            yield star + (p.name if bound and i == 0 else self.parameter(p, room))
            before = p.kind
        if before is kinds.POSITIONAL_ONLY:
            yield "/"

    def parameter(self, p, room: str) -> str:
        """Return a parameter with its type and default."""
        if p.annotation is not p.empty:
            hint = self.annotation(p.annotation)
        elif p.kind is p.VAR_KEYWORD or (p.kind is p.VAR_POSITIONAL and (room != "tensors" or p.name not in STARRED)):
            hint = "_t.Any"
        elif p.kind is p.VAR_POSITIONAL and p.name == "tensors":
            hint = f"{self.annotation(Tensor)} | _c.Sequence[{self.annotation(Tensor)}]"
        else:
            hint = self.with_names(type_of(p.name, p.default, room))
        if p.default is p.empty:
            return f"{p.name}: {hint}"
        if hint in WRONG and isinstance(p.default, WRONG[hint]):        # an `out_features` of ()
            hint = "_t.Any"
        if p.default is None and hint != "_t.Any" and not hint.endswith("None"):
            hint += " | None"
        default = repr(p.default) if type(p.default) in (bool, int, float, str, type(None)) or p.default == () else "..."
        return f"{p.name}: {hint} = {default}"

    # Classes.

    def cls(self, name: str, cls) -> None:
        """Write a class with its public members, and those of private classes above it."""
        text = self.texts.classes.get(name)
        bases, merged = self.bases(cls)
        if text and text.bases:
            bases = text.bases
        start = len(self.lines)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            bases = ["_t.NamedTuple"]
            hints = inspect.get_annotations(cls) or getattr(cls.__new__, "__annotations__", {})
            self.lines += [f"{field}: {self.annotation(hints.get(field, typing.Any))}" for field in cls._fields]
            skipped = {*cls._fields, "__new__", *vars(tuple), *dir(tuple), "_fields"} - {"__doc__"}
        elif issubclass(cls, enum.Enum):
            self.lines += [f"{n} = {m.value!r}" if isinstance(m.value, (int, str)) else f"{n} = ..."
                           for n, m in cls.__members__.items()]
            skipped = {*dir(enum.Enum), *cls.__members__, *vars(enum.Enum), "__new__"}
        else:
            skipped = set()
        members: dict = {}
        for part in reversed([cls, *merged]):
            members |= {n: (part, member) for n, member in vars(part).items()}
        for attribute, hint in self.attributes([cls, *merged], members).items():
            if attribute not in skipped and not (text and attribute in text.members):
                self.lines.append(f"{attribute}: {hint}")
        skipped |= LEFT_OUT | {*(text.members if text else ())}
        if issubclass(cls, (dict, list)):       # `immutable_dict` refuses what dictionaries do
            skipped |= {n for n in members if n.startswith("__i")} - {"__init__", "__iter__"}
        for member, (_, value) in sorted(members.items()):
            special = member.startswith("__") and member.endswith("__")
            if member not in skipped and (special or not member.startswith("_")):
                self.member(cls, member, value)
        if text:
            for member in sorted(text.members):
                value = getattr(cls, member, None)
                documented = callable(value) or isinstance(value, property)
                self.lines += text.member(member, first_sentences(value) if documented else "")
        if issubclass(cls, Block):
            written = "\n".join(self.lines[start:])
            self.lines += [line for name, line in BLOCK_MEMBERS.items() if f"def {name}(" not in written]
            if FUNCTION_VARIABLE not in [*self.lines, *self.texts.head]:
                self.texts.head.append(FUNCTION_VARIABLE)
        aliases = [line for line in self.lines[start:] if line.startswith("_") and ": _t.TypeAlias = " in line]
        inside = ["    " + line if line else "" for line in self.lines[start:] if line not in aliases]
        doc = docstring(first_sentences(cls), "    ")
        head = f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"
        self.lines[start:] = ["", head, *([doc] if doc else []), *(inside or ([] if doc else ["    ..."])), "", *aliases]

    def bases(self, cls) -> tuple:
        """Return the public base classes as text, and the private ones that are merged into the class."""
        bases, merged, covered = [], [], set()
        for base in cls.__mro__[1:]:
            if base is object or base in covered or base is typing.Generic:
                continue
            if base in self.tree.homes:
                bases.append(self.reference(base))
            elif base.__module__.startswith("ingot"):
                merged += [base] * (base is not Block)
                continue
            elif base is tuple:
                bases.append("_b.tuple[_b.int, ...]")
            elif base in (dict, list, set):
                bases.append({dict: "_b.dict[_b.str, _t.Any]", list: "_b.list[_t.Any]", set: "_b.set[_t.Any]"}[base])
            elif issubclass(base, enum.Enum) or base.__module__ == "enum":
                self.imports.add("import enum as _enum")
                bases.append(f"_enum.{base.__name__}")
            elif base.__module__ in ("builtins", "collections.abc"):
                bases.append(self.annotation(base).partition("[")[0])
            else:
                continue
            covered.update(base.__mro__)
        return bases, merged

    def attributes(self, parts, members) -> dict:
        """Return {attribute: type} of what methods assign and annotations announce."""
        hints: dict = {}
        for part in reversed(parts):
            for name, values in inference.attributes_of(part).items():
                member = members.get(name, (None, None))[1]
                if not callable(member) and not isinstance(member, PROPERTIES):
                    assigned = {self.assigned(fn, value) for fn, value in values} - {"None"}
                    hints[name] = assigned.pop() if len(assigned) == 1 else "_t.Any"
                    if name in ("bias", "weight") and hints[name] == "_t.Any" and issubclass(parts[0], Module):
                        hints[name] = self.reference(ingot.nn.Parameter)
            for name, hint in inspect.get_annotations(part).items():
                if not name.startswith("_"):
                    hints[name] = self.annotation(hint)
            slots = vars(part).get("__slots__", ())
            for name in [slots] if isinstance(slots, str) else slots:
                if not name.startswith("_"):
                    hints.setdefault(name, "_t.Any")
        if parts[0].__module__.startswith(PREFIX + DISTRIBUTIONS):
            hints |= {name: self.with_names(OF_DISTRIBUTIONS[name]) for name in hints if name in OF_DISTRIBUTIONS}
        for name in hints:
            if name in members and not isinstance(members[name][1], PROPERTIES):
                members.pop(name)
        return dict(sorted((n, h) for n, h in hints.items() if n not in members))

    def assigned(self, fn, value) -> str:
        """Return the type of an assigned expression."""
        if value == "register_parameter":
            return self.reference(ingot.nn.Parameter)
        if value == "register_buffer":
            return self.annotation(Tensor)
        name = getattr(value, "id", None)
        parameter = inspect.signature(fn).parameters.get(name) if name else None
        if parameter is not None:
            return self.parameter(parameter, room_of(fn)).partition(": ")[2].partition(" = ")[0] \
                .removesuffix(" | None").replace("_t.SupportsIndex", "_b.int")
        kind = inference.type_of(value, fn.__globals__) if value is not None else inference.UNKNOWN
        private = isinstance(kind, type) and kind.__module__.startswith("ingot") and kind not in self.tree.homes
        if kind is inference.UNKNOWN or private:
            return "_t.Any"
        return self.annotation(kind)

    def member(self, cls, name: str, value) -> None:
        """Write a method, property or class attribute."""
        if isinstance(value, (staticmethod, classmethod)):
            kind = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
            if has_signature(value.__func__):
                self.function(name, value.__func__, cls, f"@_b.{kind}")
            else:
                self.lines.append(f"{name}: _t.Any")
        elif name == "__getattr__":
            self.lines += [] if cls is Tensor else ["def __getattr__(self, name: _b.str) -> _t.Any: ..."]
        elif isinstance(value, PROPERTIES):
            self.property(cls, name, value)
        elif isinstance(value, types.FunctionType):
            self.function(name, value, cls)
        elif callable(value) and not isinstance(value, type) and has_signature(value) and name[0] != "_":
            self.function(name, value, cls, "@_b.staticmethod")
        elif cls.__module__.startswith(PREFIX + DISTRIBUTIONS) and name in OF_DISTRIBUTIONS:
            self.lines.append(f"{name}: {self.with_names(OF_DISTRIBUTIONS[name])}")
        else:
            slot = value is None or callable(value) or inspect.ismemberdescriptor(value)
            self.lines.append(f"{name}: {'_t.Any' if slot else self.value_type(value)}")

    def property(self, cls, name: str, value) -> None:
        """Write a property, with its setter."""
        getter = value.fget if isinstance(value, property) else value.func
        if cls.__module__.startswith(PREFIX + DISTRIBUTIONS) and name in OF_DISTRIBUTIONS:
            result = self.with_names(OF_DISTRIBUTIONS[name])
        elif isinstance(getter, types.FunctionType):
            result = self.result(name, getter, signature_of(getter), cls)
        else:                       # such as `operator.attrgetter("base_dist.mean")`
            result = self.annotation(Tensor) if cls.__module__.startswith(PREFIX + DISTRIBUTIONS) else "_t.Any"
        writable = any(isinstance(vars(base).get(name), property) and vars(base)[name].fset for base in cls.__mro__[1:])
        if writable and isinstance(value, property) and not value.fset:  # no property for reading may follow one for writing
            self.lines.append(f"{name}: {result}")
            return
        if cls.__module__.startswith(PREFIX + DISTRIBUTIONS) and (result.endswith("Tensor") or name in OF_DISTRIBUTIONS):
            self.lines.append(f"{name}: {result}")      # subclasses have an attribute for a property, and the other way round
            return
        self.lines += ["@_b.property", *definition(name, ["self"], result, first_sentences(value))]
        if not isinstance(value, property) or value.fset:
            self.lines += [f"@{name}.setter", f"def {name}(self, value: _t.Any) -> None: ..."]


def is_block(fn) -> bool:
    """Return whether `blocks.block` made a function: its result is a context manager and decorator."""
    if not isinstance(fn, types.FunctionType):
        return False
    code = fn.__code__          # `ir/doors.py` gives a public function code of its own, with the file and line of the first
    return (code.co_filename, code.co_firstlineno) == (MADE_BLOCK.co_filename, MADE_BLOCK.co_firstlineno)


def has_signature(thing) -> bool:
    """Return whether `inspect` can read the parameters of a callable."""
    try:
        inspect.signature(thing)
    except (ValueError, TypeError):
        return False
    return True


def signature_of(fn) -> inspect.Signature:
    """Return the signature of a function with evaluated annotations, where its module has their names."""
    try:
        return inspect.signature(fn, eval_str=True)
    except Exception:
        return inspect.signature(fn)

