"""ONNX files as objects of the onnx package, which no other file imports: read, make, check, write.

Sizes, offsets and paths in a file are checked before use; an inconsistent file raises one `FileError`. External data must lie
in the model's folder.
"""

import math
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ....ir import dtype as dt
from ....ir.errors import FileError
from ....ir.requirements import install
from ....runtime.serialization.read_budget import ReadBudget

# Element types: ONNX's numbers, and the field of a TensorProto that holds them when they are not raw.
_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
          10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64, 15: np.complex128,
          16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn, 19: ml_dtypes.float8_e5m2}
_OTHER_TYPES = {8: "string", 18: "float8e4m3fnuz", 20: "float8e5m2fnuz", 21: "uint4",
                22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2"}
_NUMBERS = {np.dtype(t): n for n, t in _TYPES.items()}
_FIELDS = {1: "float_data", 14: "float_data", 7: "int64_data", 11: "double_data", 15: "double_data", 12: "uint64_data",
           13: "uint64_data"}
_BITS = {10: np.uint16, 16: np.uint16, 17: np.uint8, 19: np.uint8}   # stored in int32_data as their bits
LARGE = 1 << 31   # bytes that a protobuf message cannot reach
_BESIDE = 1 << 10  # smaller arrays stay in the model when the others go to a file beside it


def package() -> Any:
    """Return the onnx package; raise with the way to install it."""
    try:
        import onnx
        import onnx.checker
        import onnx.helper
    except ImportError as e:
        raise FileError(f"reading and writing ONNX needs the onnx package; install it with: {install('onnx')}") from e
    return onnx


def type_number(dtype) -> int:
    """Return ONNX's number of a dtype (an ingot or a NumPy one)."""
    return _NUMBERS[dtype.np if type(dtype) is dt.DType else np.dtype(dtype)]


def dtype_of(number: int, where: str) -> dt.DType:
    """Return the dtype of ONNX's number; `where` begins the error about one that ingot does not have."""
    if number not in _TYPES:
        raise FileError(f"{where} has the element type {_OTHER_TYPES.get(number, number)}, which ingot does not have")
    return dt.from_numpy(np.dtype(_TYPES[number]))


# Reading.


class DataFolder:
    """The folder of a model's external data. Many tensors may lie in the same bytes, so they take from one budget."""

    def __init__(self, path: Path):
        self.path, self.sizes = path, dict[Path, int]()
        self.budget = ReadBudget("the data beside the model", 0)

    def read(self, path: Path, offset: int, length: int) -> bytes:
        """Return some bytes of a file."""
        if path not in self.sizes:
            self.sizes[path] = path.stat().st_size
            self.budget.grow(self.sizes[path])
        self.budget.take_bytes(length, f"a tensor in {path.name!r}")
        with path.open("rb") as f:
            f.seek(offset)
            return f.read(length)


def read_model(source) -> tuple:
    """Return (the model, the folder of its external data or None) from a path, bytes, or a parsed model."""
    onnx = package()
    if isinstance(source, onnx.ModelProto):
        return _checked(source), None
    folder, name = None, "the ONNX model"
    if not isinstance(source, (bytes, bytearray, memoryview)):
        path = Path(source)
        folder, name, source = DataFolder(path.resolve().parent), str(path), path.read_bytes()
    try:
        model = onnx.ModelProto.FromString(bytes(source))
    except Exception as e:
        raise FileError(f"{name} is no ONNX file: {e}") from None
    return _checked(model, name), folder


def _checked(model, name="the ONNX model"):
    _refuse_bytes(model, name)
    if not model.HasField("graph") or not model.opset_import:
        raise FileError(f"{name} holds no graph with its operator versions; it is empty, cut off or no ONNX model")
    return model


def _refuse_bytes(message, name):
    """Raise if a text is no UTF-8: protobuf gives such a name as bytes."""
    for field, value in message.ListFields():
        inside = value if field.is_repeated else (value,)
        if field.message_type is not None:
            for part in inside:
                _refuse_bytes(part, name)
        elif field.type == field.TYPE_STRING and any(type(text) is bytes for text in inside):
            raise FileError(f"{name} has a text that is no UTF-8, in a field {field.name!r}")


def check(model) -> None:
    """Raise a FileError if the onnx package finds the model wrong."""
    try:
        package().checker.check_model(model, full_check=False)
    except Exception as e:
        raise FileError(f"the ONNX checker refuses this model: {str(e).strip()}") from None


def array_of(tensor, folder=None) -> np.ndarray:
    """Return the array of a TensorProto; check every size that it states."""
    name = f"tensor {tensor.name!r}"
    dtype = np.dtype(dtype_of(tensor.data_type, name).np)
    shape = tuple(tensor.dims)
    if any(n < 0 for n in shape):
        raise FileError(f"{name} has a negative size: {list(shape)}")
    count = math.prod(shape)
    if tensor.data_location == package().TensorProto.EXTERNAL:
        raw = _external(tensor, name, folder, count * dtype.itemsize)
    elif tensor.HasField("raw_data"):
        raw = tensor.raw_data
    else:
        return _from_field(tensor, name, dtype, count).reshape(shape)
    if len(raw) != count * dtype.itemsize:
        raise FileError(f"{name} {list(shape)} of {dtype.name} needs {count * dtype.itemsize} bytes, the file has {len(raw)}")
    return np.frombuffer(raw, dtype.newbyteorder("<") if dtype.isbuiltin == 1 else dtype).astype(dtype).reshape(shape)


def _from_field(tensor, name, dtype, count):
    values = getattr(tensor, _FIELDS.get(tensor.data_type, "int32_data"))
    wanted = count * 2 if dtype.kind == "c" else count
    if len(values) != wanted:
        raise FileError(f"{name} needs {wanted} numbers, the file has {len(values)}")
    try:
        if tensor.data_type in _BITS:
            return np.array(values, np.int64).astype(_BITS[tensor.data_type]).view(dtype)
        if dtype.kind == "c":
            return np.array(values, np.float32 if dtype.itemsize == 8 else np.float64).view(dtype)
        return np.array(values, np.int64 if dtype.kind in "bi" else None).astype(dtype)
    except (OverflowError, ValueError) as e:
        raise FileError(f"{name} holds a number that is no {dtype.name}: {e}") from None


def _external(tensor, name, folder, size):
    """Return the bytes of a tensor in a file of the model's folder."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    if folder is None:
        raise FileError(f"{name} is kept in a file beside the model; give the path of the model instead of its bytes")
    path = _inside(folder.path, entries.get("location", ""), name)
    try:
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", str(size)))
    except ValueError:
        raise FileError(f"{name}: the offset or length of its external data is no number") from None
    if offset < 0 or length != size or offset + length > path.stat().st_size:
        raise FileError(f"{name} needs {size} bytes, the file says {length} at {offset} of the {path.stat().st_size} in "
                        f"{path.name}")
    return folder.read(path, offset, length)


def _inside(folder, location, name):
    """Return the resolved path of a file in or below the folder."""
    try:
        path = (Path(folder) / location).resolve()
        is_there = path.is_file()
    except (OSError, ValueError) as e:
        raise FileError(f"{name} is said to be in {location[:80]!r}, which is no path: {e}") from None
    if not location or os.path.isabs(location) or not path.is_relative_to(Path(folder).resolve()):
        raise FileError(f"{name} is said to be in {location!r}, which is outside of the model's folder")
    if not is_there:
        raise FileError(f"{name} is said to be in {location!r}, which is not there")
    return path


def attributes_of(node, folder=None, call_attributes=None) -> dict:
    """Return a node's attributes as Python values; tensors become arrays, graphs stay.

    In the body of a function, `call_attributes` are those of its call.
    """
    found = {}
    for a in node.attribute:
        if not a.ref_attr_name:
            found[a.name] = _attribute(a, node.op_type, folder)
        elif a.ref_attr_name in (call_attributes or {}):
            found[a.name] = call_attributes[a.ref_attr_name]
    return found


def _attribute(a, kind, folder):
    kinds = package().AttributeProto
    plain = {kinds.FLOAT: lambda: float(a.f), kinds.INT: lambda: int(a.i), kinds.STRING: lambda: _text(a.s, kind),
             kinds.TENSOR: lambda: array_of(a.t, folder), kinds.GRAPH: lambda: a.g, kinds.FLOATS: lambda: list(a.floats),
             kinds.INTS: lambda: list(a.ints), kinds.STRINGS: lambda: [_text(s, kind) for s in a.strings]}
    if a.type not in plain:
        raise FileError(f"operator {kind}: its attribute {a.name!r} is of a kind that is not supported ({a.type})")
    return plain[a.type]()


def _text(raw, kind):
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise FileError(f"operator {kind} has an attribute that is no text") from None


def tensor_type(value) -> dt.DType | None:
    """Return the dtype of a graph input or output, or None if it has none; refuse other kinds of values."""
    kind = value.type.WhichOneof("value")
    if kind is None:
        return None
    if kind != "tensor_type":
        raise FileError(f"{value.name!r} is a {kind.removesuffix('_type')}; ingot's inputs and outputs are tensors")
    number = value.type.tensor_type.elem_type
    return None if number == 0 else dtype_of(number, f"{value.name!r}")


def sizes_of(value) -> tuple | None:
    """Return the sizes of a graph input or output: numbers, names, or None; None altogether if it has no shape."""
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return None
    return tuple([d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in kind.shape.dim])


def _schema(domain, name, version):
    onnx = package()
    try:
        return onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None


def has_function(domain: str, name: str, version: int) -> bool:
    """Return whether the standard defines an operator in terms of others."""
    schema = _schema(domain, name, version)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def defaults_of(domain: str, name: str, version: int, attributes: dict) -> dict:
    """Return an operator's attributes, completed by the standard's defaults."""
    schema = _schema(domain, name, version)
    defaults = {} if schema is None else {n: _attribute(a.default_value, name, None) for n, a in schema.attributes.items()
                                          if a.default_value.type}
    return {**defaults, **attributes}


def function_of(node, version: int, input_types: list):
    """Return the standard's definition of an operator in terms of others, as a FunctionProto.

    `input_types` are (dtype, sizes), or None for omitted inputs.
    """
    onnx, schema = package(), _schema(node.domain, node.op_type, version)
    if schema.has_function:
        return schema.function_body
    types = [onnx.helper.make_tensor_type_proto(type_number(t[0]), t[1]) if t else onnx.TypeProto() for t in input_types]
    raw = schema.get_context_dependent_function(node.SerializeToString(), [t.SerializeToString() for t in types])
    if not raw:
        raise FileError(f"operator {node.op_type} has no definition for inputs of these types")
    return onnx.FunctionProto.FromString(raw)


# Making.


def make_tensor(array, name: str):
    """Return a TensorProto with raw data."""
    a = np.ascontiguousarray(array)
    raw = a.astype(a.dtype.newbyteorder("<"), copy=False).tobytes() if a.dtype.isbuiltin == 1 else a.tobytes()
    return package().helper.make_tensor(name, type_number(a.dtype), np.shape(array), raw, raw=True)


def make_value(name: str, dtype, sizes):
    """Return the description of a graph input or output; sizes are numbers, names or None."""
    return package().helper.make_tensor_value_info(name, type_number(dtype), sizes)


def make_node(kind: str, inputs, outputs, name: str, attributes: dict, domain: str = "", doc: str = "", metadata=None):
    """Return a node with metadata."""
    made = package().helper.make_node(kind, list(inputs), list(outputs), name=name, domain=domain or None,
                                      doc_string=doc or None, **attributes)
    for key, value in (metadata or {}).items() if hasattr(made, "metadata_props") else ():
        made.metadata_props.add(key=key, value=value)
    return made


def make_graph(name: str, nodes, inputs, outputs, initializers=()):
    """Return a graph of nodes in execution order."""
    return package().helper.make_graph(list(nodes), name, list(inputs), list(outputs), list(initializers))


def make_model(graph, opset: int, version: str):
    """Return a model with the oldest file version that its operators allow."""
    helper = package().helper
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=imports, producer_name="ingot", producer_version=version)
    model.ir_version = max(8, helper.find_min_ir_version_for(imports))
    return model


def names_read(graph) -> set:
    """Return the names that the nodes of a graph and its inner graphs read."""
    found = {o.name for o in graph.output}
    for node in graph.node:
        found.update(node.input)
        for a in node.attribute:
            if a.HasField("g"):
                found |= names_read(a.g)
    return found


def model_bytes(model, arrays: dict) -> bytes:
    """Return the bytes of a checked model with `arrays` (by name) as initializers."""
    model.graph.initializer.extend([make_tensor(a, name) for name, a in arrays.items()])
    check(model)
    return model.SerializeToString()


def write_model(model, path, arrays: dict) -> tuple:
    """Write a model with `arrays` (by name) as external data, check it, and return both paths."""
    path = Path(path)
    data = path.with_name(path.name + ".data")
    with data.open("wb") as f:
        model.graph.initializer.extend([_put_outside(f, a, name, data.name) for name, a in arrays.items()])
    path.write_bytes(model.SerializeToString())
    try:
        package().checker.check_model(str(path))
    except Exception as e:
        raise FileError(f"the ONNX checker refuses this model: {str(e).strip()}") from None
    return path, data


def _put_outside(file, array, name, location):
    if array.nbytes < _BESIDE:
        return make_tensor(array, name)
    file.write(b"\0" * (-file.tell() % 4096))
    tensor = package().TensorProto(name=name, data_type=type_number(array.dtype), dims=array.shape)
    tensor.data_location = package().TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", file.tell()), ("length", array.nbytes)):
        tensor.external_data.add(key=key, value=str(value))
    file.write(np.ascontiguousarray(array).tobytes())
    return tensor
