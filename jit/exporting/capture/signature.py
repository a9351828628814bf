"""Inputs and outputs of an exported model: names, dtypes, fixed and named sizes, the structure around them."""

from dataclasses import dataclass, field

from ....ir.dtype import BY_NAME, DType
from ....ir.errors import DTypeError, FileError, ShapeError
from ....ir.symbols.symbolic import SymInt
from ...errors.extents import extent_of
from . import treespec
from .size_conditions import value


@dataclass(frozen=True)
class TensorSpec:
    """One tensor: a size is an int, or the text of an expression over named dims ("batch", "2*length")."""

    name: str
    dtype: DType
    shape: tuple

    def __str__(self):
        return f"{self.name}: {self.dtype.short}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Signature:
    """Inputs and outputs in order, and the structures of arguments ((args, kwargs)) and results that hold them."""

    inputs: tuple
    outputs: tuple
    arguments: dict
    results: dict
    dims: tuple = ()                       # names of dims whose size may change
    parameters: tuple = ()                 # names of the positional arguments
    state: tuple = ()                      # names of buffers: the last inputs, whose next values are the last outputs
    positional: int | None = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "positional", self._positional())

    def _positional(self):
        """The number of arguments where all are plain tensors; else None."""
        args, kwargs = self.arguments["tuple"]
        found = [s.get("tensor") for s in (*args["tuple"], *[s for _, s in kwargs["dict"]])]
        return len(self.inputs) if found == list(range(len(self.inputs))) and not self.state else None

    def users(self, specs) -> tuple:
        """Inputs or outputs without the state."""
        return specs[:len(specs) - len(self.state)]

    def __str__(self):
        ins, outs = (", ".join(map(str, specs)) for specs in (self.inputs, self.outputs))
        return f"({ins}) -> ({outs})"

    def at(self, sizes: dict) -> "Signature":
        """The signature with numbers for its named sizes."""
        inputs, outputs = (tuple([_fixed(s, sizes) for s in specs]) for specs in (self.inputs, self.outputs))
        return Signature(inputs, outputs, self.arguments, self.results, (), self.parameters, self.state)

    # In and out of the manifest.

    def as_json(self) -> dict:
        """The signature as data for the manifest."""
        specs = {name: [{"name": s.name, "dtype": s.dtype.name, "shape": list(s.shape)} for s in getattr(self, name)]
                 for name in ("inputs", "outputs")}
        return {**specs, "arguments": self.arguments, "results": self.results, "dims": list(self.dims),
                "parameters": list(self.parameters), "state": list(self.state)}

    @classmethod
    def from_json(cls, data: dict) -> "Signature":
        """The signature in a manifest, checked."""
        inputs, outputs = (tuple([_spec(s) for s in data[name]]) for name in ("inputs", "outputs"))
        state = tuple(data.get("state", ()))
        kept = [(s.dtype, s.shape) for s in inputs[len(inputs) - len(state):]]
        if (len(state) > min(len(inputs), len(outputs)) or not all(type(name) is str for name in state)
                or kept != [(s.dtype, s.shape) for s in outputs[len(outputs) - len(state):]]):
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
        """Whether a graph's inputs and outputs are what the signature says where the sizes in `fixed` are fixed."""
        specs = [*self.inputs, *self.outputs]
        if len(values) != len(specs) or any(v.dtype is not s.dtype or len(v.shape) != len(s.shape)
                                            for v, s in zip(values, specs)):
            return False
        pairs = [pair for v, s in zip(values, specs) for pair in zip(v.shape, s.shape)]
        return all(_agree(n, said, self.dims, fixed) for n, said in pairs)

    def arrays_of(self, args, kwargs) -> list:
        """The tensors of a call, in order."""
        tensors: list = []
        given = treespec.describe(self._arranged(args, kwargs), tensors, [])
        if given != self.arguments:
            raise DTypeError("the exported model: the arguments differ in number, structure or plain values from those of the "
                             f"export: expected {_shown(self.arguments)}, got {_shown(given)}")
        return tensors

    def _arranged(self, args, kwargs) -> tuple:
        """(args, kwargs) with each argument given as it was at the export, by position or by name."""
        keywords = [k for k, _ in self.arguments["tuple"][1]["dict"]]
        known = (*self.parameters, *keywords)
        by_name = {**dict(zip(known, args)), **kwargs}
        if len(args) > len(known) or len(by_name) != len(args) + len(kwargs) or set(by_name) != set(known):
            return args, kwargs
        return tuple([by_name[k] for k in self.parameters]), {k: by_name[k] for k in keywords}

    def check(self, arrays) -> dict:
        """The sizes of the named dims in arrays; raises where arrays do not fit."""
        sizes: dict = {}
        for spec, a in zip(self.inputs, arrays):
            if a.dtype != spec.dtype.np:
                raise DTypeError(f"the exported model: input {spec} got {a.dtype}{list(a.shape)}; cast it")
            if len(a.shape) != len(spec.shape):
                raise ShapeError(f"the exported model: input {spec} got {len(a.shape)} dims: {list(a.shape)}")
            for position, (size, n) in enumerate(zip(spec.shape, a.shape)):
                want = size if type(size) is int else _named(size, n, sizes)
                if want != n:
                    raise _wrong_size(spec, a, position, size, want)
        return sizes


def _named(text, n, sizes) -> int | None:
    """What a size should be that is n: what follows from the sizes by name, to which it adds its own if that is new; None if
    none of that name gives n."""
    extent = extent_of(text)
    known = sizes.get(extent.name)
    if known is None:
        known = extent.named(n)
        if known is None:
            return None
        sizes[extent.name] = known
    return extent.of(known)


def _agree(n, said, dims, fixed) -> bool:
    """Whether a size in a graph is what a signature says of it where some sizes are fixed."""
    text = n.text if type(n) is SymInt else n
    if text == said or not fixed or (type(text) is type(said) is int):
        return text == said
    return all(_number(text, sizes) == _number(said, sizes) for sizes in _samples(dims, fixed))


def _number(n, sizes):
    return n if type(n) is int else value(n, sizes)


def _samples(dims, fixed) -> list:
    """Some sizes by name; expressions that have equal values in all of them are taken for the same."""
    return [{name: base + step * i for i, name in enumerate(dims)} | fixed for base, step in ((2, 1), (5, 6), (97, 210))]


def _fixed(spec, sizes) -> TensorSpec:
    return TensorSpec(spec.name, spec.dtype, tuple([n if type(n) is int else value(n, sizes) for n in spec.shape]))


def _wrong_size(spec, a, position, size, want) -> ShapeError:
    said = f"no size gives {size}" if want is None else f"{size} is {want}"
    why = said if type(size) is str else f"it was exported for {want}; name the dim in dynamic= to change it"
    return ShapeError(f"the exported model: input {spec} got {list(a.shape)}: dim {position} has size {a.shape[position]}, "
                      f"but {why}")


def _spec(data):
    name, shape = data["name"], tuple(data["shape"])
    if type(name) is not str or data["dtype"] not in BY_NAME:
        raise FileError(f"tensor {name!r} has the unknown dtype {data['dtype']!r}")
    if not all((type(n) is int and 0 <= n < 1 << 48) or (type(n) is str and n) for n in shape):
        raise FileError(f"tensor {name!r} has the impossible shape {shape}")
    return TensorSpec(name, BY_NAME[data["dtype"]], shape)


def _shown(s):
    """A structure as readable text."""
    kind = next(iter(s))
    if kind == "tensor":
        return "tensor"
    if kind in ("value", "float"):
        return repr(s[kind] if kind == "value" else float.fromhex(s[kind]))
    if kind == "dict":
        return "{" + ", ".join(f"{k}: {_shown(v)}" for k, v in s[kind]) + "}"
    parts = ", ".join(_shown(v) for v in s.get("items", s.get(kind)))
    return f"[{parts}]" if kind == "list" else f"({parts})"
