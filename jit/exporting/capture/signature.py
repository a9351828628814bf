"""Signature of an exported model: names, dtypes, sizes and structure of its inputs and outputs, and conditions on named sizes.

Conditions are text: comparisons of arithmetic on known names, evaluated without running any code of the file.
"""

import ast
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from keyword import iskeyword

from ....ir.draw.tables import clipped
from ....ir.dtype import BY_NAME, DType
from ....ir.errors import DTypeError, FileError, ShapeError
from ....ir.symbols.substitute import PARSING
from ....ir.symbols.symbolic import ROUNDINGS, SymInt
from ...errors.extents import extent_of
from . import treespec

_ARITHMETIC: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv}
_RELATIONS: dict[type, Callable] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_}
_CALLS: dict[str, Callable] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "abs": abs, "float": float, "max": max, "min": min,
    **ROUNDINGS}
_LONGEST = 2000


def holds(text: str, sizes: dict) -> bool:
    """Return whether a condition holds for named sizes. A condition that divides by zero does not."""
    try:
        return bool(_value(_tree(text), sizes))
    except ArithmeticError:
        return False


def value(text: str, sizes: dict) -> int:
    """Return the value of an expression over names."""
    return _value(_tree(text), sizes)


def _tree(text):
    if len(text) > _LONGEST:
        raise FileError("a condition on sizes is too long")
    try:
        with PARSING:
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as e:
        raise FileError(f"{text!r} is no condition on sizes") from e


def _value(tree, sizes):
    kind = type(tree)
    if kind is ast.Constant and type(tree.value) in (int, float, bool):
        return tree.value
    if kind is ast.Name and tree.id in sizes:
        return sizes[tree.id]
    if kind is ast.UnaryOp and type(tree.op) is ast.USub:
        return -_value(tree.operand, sizes)
    if kind is ast.BinOp and type(tree.op) in _ARITHMETIC:
        return _ARITHMETIC[type(tree.op)](_value(tree.left, sizes), _value(tree.right, sizes))
    if kind is ast.BinOp and type(tree.op) is ast.Pow and type(tree.right) is ast.Constant and tree.right.value in (2, 3, 4):
        return _value(tree.left, sizes) ** tree.right.value
    if kind is ast.Compare and len(tree.ops) == 1 and type(tree.ops[0]) in _RELATIONS:
        return _RELATIONS[type(tree.ops[0])](_value(tree.left, sizes), _value(tree.comparators[0], sizes))
    if kind is ast.Call and type(tree.func) is ast.Name and tree.func.id in _CALLS and not tree.keywords:
        return _CALLS[tree.func.id](*[_value(a, sizes) for a in tree.args])
    raise FileError(f"{ast.unparse(tree)!r} is no condition on sizes")


@dataclass(frozen=True)
class TensorSpec:
    """One tensor. A size is an int, or the text of an expression over named dims ("batch", "2*length")."""

    name: str
    dtype: DType
    shape: tuple

    def __str__(self):
        return f"{self.name}: {self.dtype.short}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, repr=False)
class Signature:
    """Inputs and outputs in order, and the structures of arguments (args, kwargs) and results."""

    inputs: tuple
    outputs: tuple
    arguments: dict
    results: dict
    dims: tuple = ()                       # names of sizes that may change
    parameters: tuple = ()                 # names of the positional arguments
    state: tuple = ()                      # names of buffers: the last inputs; their next values are the last outputs
    positional: int | None = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "positional", self._positional())

    def _positional(self):
        """Return the number of arguments if all are plain tensors, else None."""
        args, kwargs = self.arguments["tuple"]
        found = [s.get("tensor") for s in (*args["tuple"], *[s for _, s in kwargs["dict"]])]
        return len(self.inputs) if found == list(range(len(self.inputs))) and not self.state else None

    def users(self, specs) -> tuple:
        return specs[:len(specs) - len(self.state)]

    def __repr__(self):
        return f"<signature {clipped(str(self), 86)}>"

    def __str__(self):
        ins, outs = (", ".join(map(str, specs)) for specs in (self.inputs, self.outputs))
        return f"({ins}) -> ({outs})"

    def at(self, sizes: dict) -> "Signature":
        """Return the signature with numbers for its named sizes."""
        inputs, outputs = (tuple([_fixed(s, sizes) for s in specs]) for specs in (self.inputs, self.outputs))
        return Signature(inputs, outputs, self.arguments, self.results, (), self.parameters, self.state)

    # In and out of the manifest.

    def as_json(self) -> dict:
        specs = {name: [{"name": s.name, "dtype": s.dtype.name, "shape": list(s.shape)} for s in getattr(self, name)]
                 for name in ("inputs", "outputs")}
        return {**specs, "arguments": self.arguments, "results": self.results, "dims": list(self.dims),
                "parameters": list(self.parameters), "state": list(self.state)}

    @classmethod
    def from_json(cls, data: dict) -> "Signature":
        """Return the signature in a manifest, checked."""
        inputs, outputs = (tuple([_spec(s) for s in data[name]]) for name in ("inputs", "outputs"))
        state = tuple(data.get("state", ()))
        state_types = [(s.dtype, s.shape) for s in inputs[len(inputs) - len(state):]]
        if (len(state) > min(len(inputs), len(outputs)) or not all(type(name) is str for name in state)
                or state_types != [(s.dtype, s.shape) for s in outputs[len(outputs) - len(state):]]):
            raise FileError("the signature is damaged: its state is not what goes in and comes out")
        treespec.check(data["arguments"], len(inputs) - len(state))
        treespec.check(data["results"], len(outputs) - len(state))
        args, kwargs = data["arguments"]["tuple"]
        if "tuple" not in args or "dict" not in kwargs or not all(type(d) is str for d in (*data["dims"], *data["parameters"])):
            raise FileError("the signature is damaged")
        if {extent_of(n).name for spec in inputs for n in spec.shape if type(n) is str} != set(data["dims"]):
            raise FileError("the signature is damaged: its sizes are not those that it names")
        return cls(inputs, outputs, data["arguments"], data["results"], tuple(data["dims"]), tuple(data["parameters"]),
                   state)

    # Calls.

    def describes(self, values, fixed: dict) -> bool:
        """Return whether a graph's inputs and outputs match the signature where the sizes in `fixed` are fixed."""
        specs = [*self.inputs, *self.outputs]
        if len(values) != len(specs) or any(v.dtype is not s.dtype or len(v.shape) != len(s.shape)
                                            for v, s in zip(values, specs)):
            return False
        pairs = [pair for v, s in zip(values, specs) for pair in zip(v.shape, s.shape)]
        return all(_agree(n, declared, self.dims, fixed) for n, declared in pairs)

    def arrays_of(self, args, kwargs) -> list:
        tensors: list = []
        structure = treespec.describe(self._in_order(args, kwargs), tensors, [])
        if structure != self.arguments:
            raise DTypeError("the exported model: the arguments differ in number, structure or plain values from those of the "
                             f"export: expected {_shown(self.arguments)}, got {_shown(structure)}")
        return tensors

    @property
    def keywords(self) -> list:
        """Names of the arguments that the example gave by name."""
        return [k for k, _ in self.arguments["tuple"][1]["dict"]]

    @property
    def names(self) -> tuple:
        """Names of all arguments, in the order in which they are taken by position."""
        return (*self.parameters, *self.keywords)

    def of_python(self) -> inspect.Signature:
        """Return the signature of calls, as `inspect.signature` shows it."""
        return signature_with(self.names)

    def _in_order(self, args, kwargs) -> tuple:
        """Return (args, kwargs) with each argument by position or by name, as at the export."""
        keywords, known = self.keywords, self.names
        by_name = {**dict(zip(known, args)), **kwargs}
        if len(args) > len(known) or len(by_name) != len(args) + len(kwargs) or set(by_name) != set(known):
            return args, kwargs
        return tuple([by_name[k] for k in self.parameters]), {k: by_name[k] for k in keywords}

    def check(self, arrays) -> dict:
        """Return the named sizes of arrays; raise if arrays do not match."""
        sizes: dict = {}
        for spec, a in zip(self.inputs, arrays):
            if a.dtype != spec.dtype.np:
                raise DTypeError(f"the exported model: input {spec} got {a.dtype.name}{list(a.shape)}; cast it")
            if len(a.shape) != len(spec.shape):
                raise ShapeError(f"the exported model: input {spec} got {len(a.shape)} dims: {list(a.shape)}")
            for position, (size, n) in enumerate(zip(spec.shape, a.shape)):
                want = size if type(size) is int else _named(size, n, sizes)
                if want != n:
                    raise _wrong_size(spec, a, position, size, want)
        return sizes


class HoldsWeights:
    """A callable whose weights have names that exports of it keep: a loaded model."""

    def named_weights(self) -> tuple:
        """Return {name: tensor} and {name: kind} of the weights."""
        raise NotImplementedError


def signature_with(names) -> inspect.Signature:
    """Return the signature of a callable that takes arguments of these names, by position or by name."""
    kinds, names = inspect.Parameter, tuple(names)
    found = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in names if name.isidentifier() and not iskeyword(name)]
    return inspect.Signature([*found, *[kinds("others", kinds.VAR_KEYWORD)] * (len(found) < len(names))])


def _named(text, n, sizes) -> int | None:
    """Return the size expected where arrays have n, or None if no value of the name gives n. A new name is added to `sizes`."""
    extent = extent_of(text)
    known = sizes.get(extent.name)
    if known is None:
        known = extent.named(n)
        if known is None:
            return None
        sizes[extent.name] = known
    return extent.of(known)


def _agree(n, declared, dims, fixed) -> bool:
    """Return whether a size in a graph is the declared one where some sizes are fixed."""
    text = n.text if type(n) is SymInt else n
    if text == declared or not fixed or (type(text) is type(declared) is int):
        return text == declared
    samples = [{name: base + step * i for i, name in enumerate(dims)} | fixed for base, step in ((2, 1), (5, 6), (97, 210))]
    return all(_number(text, sizes) == _number(declared, sizes) for sizes in samples)


def _number(n, sizes):
    return n if type(n) is int else value(n, sizes)


def _fixed(spec, sizes) -> TensorSpec:
    return TensorSpec(spec.name, spec.dtype, tuple([n if type(n) is int else value(n, sizes) for n in spec.shape]))


def _wrong_size(spec, a, position, size, want) -> ShapeError:
    reason = f"no size gives {size}" if want is None else f"{size} is {want}"
    why = reason if type(size) is str else f"it was exported for {want}; name the dim in dynamic= to change it"
    return ShapeError(f"the exported model: input {spec} got {list(a.shape)}: dim {position} has size {a.shape[position]}, "
                      f"but {why}")


def _spec(data):
    name, shape = data["name"], tuple(data["shape"])
    if type(name) is not str or data["dtype"] not in BY_NAME:
        raise FileError(f"tensor {name!r} has the unknown dtype {data['dtype']!r}")
    if not all((type(n) is int and 0 <= n < 1 << 48) or (type(n) is str and n) for n in shape):
        raise FileError(f"tensor {name!r} has the impossible shape {list(shape)}")
    return TensorSpec(name, BY_NAME[data["dtype"]], shape)


def _shown(s):
    kind = next(iter(s))
    if kind == "tensor":
        return "tensor"
    if kind in ("value", "float"):
        return repr(s[kind] if kind == "value" else float.fromhex(s[kind]))
    if kind == "dict":
        return "{" + ", ".join(f"{k}: {_shown(v)}" for k, v in s[kind]) + "}"
    parts = ", ".join(_shown(v) for v in s.get("items", s.get(kind)))
    return f"[{parts}]" if kind == "list" else f"({parts})"
