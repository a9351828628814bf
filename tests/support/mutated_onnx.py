"""Mutations of ONNX models by their structure, and small models of operators with sizes of their own."""

import contextlib

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

_INTS = (0, 1, -1, 2, 3, 7, 13, 100, 1 << 20, 1 << 31, (1 << 31) - 1, -(1 << 31), 1 << 40, 1 << 62, -(1 << 62), (1 << 63) - 1,
         -(1 << 63))
_FLOATS = (0.0, -1.0, 0.5, 1e30, 1e-30, float("inf"), float("nan"), 3.0)


def _fields(message, found, depth=0):
    """Collect (message, field) of all fields that are set, in messages inside of each other."""
    for field, value in message.ListFields():
        found.append((message, field))
        if field.message_type is not None and depth < 30:
            for inner in value if field.is_repeated else [value]:
                _fields(inner, found, depth + 1)
    return found


def _other(field, value, words, draw):
    """Return another value of a field, of its type."""
    kind = field.cpp_type
    if kind == field.CPPTYPE_STRING:
        if isinstance(value, str):
            return draw.choice(words)
        cut = draw.randrange(len(value) + 1)
        return draw.choice((value[:cut], value + value, value[:cut] + bytes([draw.randrange(256)]) + value[cut + 1:],
                            b"".join(draw.choice(_INTS).to_bytes(8, "little", signed=True) for _ in range(len(value) // 8))))
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return draw.choice(_FLOATS)
    if kind == field.CPPTYPE_ENUM:
        return draw.choice([v.number for v in field.enum_type.values])
    return draw.choice((value + 1, value - 1, draw.choice(_INTS), draw.choice(_INTS)))


def changed(data: bytes, draw) -> bytes:
    """Return a model with one to three fields changed; other data as it is."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:
        return data
    for _ in range(draw.choice((1, 1, 2, 3))):
        places = _fields(model, [])
        if not places:
            return data
        words = sorted({getattr(m, f.name) for m, f in places if not f.is_repeated and isinstance(getattr(m, f.name), str)}
                       | {w for m, f in places if f.is_repeated and f.cpp_type == f.CPPTYPE_STRING
                          for w in getattr(m, f.name) if isinstance(w, str)} | {"", "x", "y"})
        message, field = draw.choice(places)
        value = getattr(message, field.name)
        with contextlib.suppress(ValueError, TypeError):         # numbers that the field cannot hold
            if not field.is_repeated:
                if field.message_type is None:
                    setattr(message, field.name, _other(field, value, words, draw))
                else:
                    message.ClearField(field.name)
                continue
            at, kind = draw.randrange(len(value)), draw.randrange(4)
            if kind == 0:
                del value[at]
            elif field.message_type is not None:
                value.add().CopyFrom(value[at])
            elif kind == 1:
                value.append(value[at])
            else:
                value[at] = _other(field, value[at], words, draw)
    return model.SerializeToString()


_WRONG = (-1, 0, -(1 << 40), 1 << 14, 1 << 20, 1 << 31, 1 << 62)
_MOST_ELEMENTS = 4      # of an array of integers that are changed


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _wrong(v: int, low: int, high: int) -> list:
    """Return integers that are too small or too large where v was right."""
    return sorted({min(max(w, low), high) for w in (*_WRONG, v + 1)} - {v})


def with_known_integers(data: bytes, arrays) -> tuple:
    """Return (the bytes of a model that knows its arguments of integers, the other arguments)."""
    model, left = onnx.ModelProto.FromString(data), []
    inputs = [onnx.ValueInfoProto.FromString(v.SerializeToString()) for v in model.graph.input]
    del model.graph.input[:]
    for value, array in zip(inputs, arrays):
        if array.dtype.kind in "iu" and array.dtype.isbuiltin == 1 and array.size <= 64:
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
        else:
            model.graph.input.append(value)
            left.append(array)
    return model.SerializeToString(), left


def wrong_integers(data: bytes):
    """Yield (place, bytes of the model) with each integer of attributes and of small arrays too small or too large."""
    model = onnx.ModelProto.FromString(data)
    graphs = list(_graphs(model.graph))
    nodes = [node for g in graphs for node in g.node] + [node for f in model.functions for node in f.node]
    tensors = [("", t) for g in graphs for t in g.initializer]
    for node in nodes:
        for a in node.attribute:
            tensors += [(node.op_type, a.t)] if a.type == onnx.AttributeProto.TENSOR else []
            if a.type == onnx.AttributeProto.INT:
                before = a.i
                for a.i in _wrong(before, -(1 << 63), (1 << 63) - 1):
                    yield (node.op_type, a.name, 0, a.i), model.SerializeToString()
                a.i = before
            for k, before in enumerate(list(a.ints)[:_MOST_ELEMENTS]):
                for n in _wrong(before, -(1 << 63), (1 << 63) - 1):
                    a.ints[k] = n
                    yield (node.op_type, a.name, k, n), model.SerializeToString()
                a.ints[k] = before
    for kind, tensor in tensors:
        if tensor.data_type not in (TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8):
            continue
        array, before = numpy_helper.to_array(tensor), tensor.SerializeToString()
        info = np.iinfo(array.dtype)
        for k in range(min(array.size, _MOST_ELEMENTS)):
            for n in _wrong(int(array.reshape(-1)[k]), int(info.min), int(info.max)):
                changed = array.reshape(-1).copy()
                changed[k] = n
                tensor.CopyFrom(numpy_helper.from_array(changed.reshape(array.shape), tensor.name))
                yield (kind, tensor.name, k, n), model.SerializeToString()
        tensor.ParseFromString(before)


def _value(name, kind=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def _model(*nodes, **arrays) -> bytes:
    known = [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]
    graph = helper.make_graph(list(nodes), "g", [_value("x", shape=[2, 3])], [_value("y")], known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


def _loop() -> bytes:
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Add", ["v", "v"], ["w"])], "b",
                             [_value("i", TensorProto.INT64, []), _value("c", TensorProto.BOOL, []), _value("v")],
                             [_value("d", TensorProto.BOOL, []), _value("w")])
    return _model(helper.make_node("Loop", ["m", "", "x"], ["y"], body=body), m=_whole(3))


def _scan() -> bytes:
    body = helper.make_graph([helper.make_node("Add", ["v", "e"], ["w"]), helper.make_node("Identity", ["e"], ["z"])], "b",
                             [_value("v"), _value("e")], [_value("w"), _value("z")])
    node = helper.make_node("Scan", ["x", "r"], ["y", "all"], num_scan_inputs=1, body=body)
    return _model(node, r=np.ones((2, 1), np.float32))


def _whole(*numbers):
    return np.array(numbers, np.int64)


# (operator, its inputs, attributes, arrays) of nodes from x or the image u to y.
_NODES = (
    ("Pad", ["x", "p"], {}, {"p": _whole(0, 1, 1, 0)}), ("Tile", ["x", "p"], {}, {"p": _whole(1, 2)}),
    ("Expand", ["x", "p"], {}, {"p": _whole(2, 2, 3)}), ("Reshape", ["x", "p"], {}, {"p": _whole(-1, 2)}),
    ("Slice", ["x", "a", "b", "c", "d"], {}, {"a": _whole(0), "b": _whole(3), "c": _whole(1), "d": _whole(2)}),
    ("Gather", ["x", "p"], {"axis": 1}, {"p": _whole(0, 2)}), ("GatherND", ["x", "p"], {}, {"p": _whole(0, 2)}),
    ("ScatterND", ["x", "p", "v"], {}, {"p": _whole([0, 2]), "v": np.ones(1, np.float32)}),
    ("ScatterElements", ["x", "p", "v"], {"axis": 1}, {"p": _whole([0, 2]), "v": np.ones((1, 2), np.float32)}),
    ("TopK", ["x", "p"], {"axis": 1}, {"p": _whole(2)}), ("Unsqueeze", ["x", "p"], {}, {"p": _whole(0, 3)}),
    ("ReduceSum", ["x", "p"], {"keepdims": 0}, {"p": _whole(1)}), ("Softmax", ["x"], {"axis": 1}, {}),
    ("Conv", ["u", "w"], {"pads": [1, 1, 1, 1], "strides": [1, 2]}, {"w": np.ones((2, 1, 2, 2), np.float32)}),
    ("ConvTranspose", ["u", "w"], {"strides": [2, 1], "output_padding": [1, 0]}, {"w": np.ones((1, 2, 2, 2), np.float32)}),
    ("MaxPool", ["u"], {"kernel_shape": [2, 2], "pads": [0, 1, 0, 1]}, {}),
    ("AveragePool", ["u"], {"kernel_shape": [1, 2], "ceil_mode": 1}, {}), ("LpPool", ["u"], {"kernel_shape": [2, 2]}, {}),
    ("Resize", ["u", "", "", "p"], {"mode": "linear"}, {"p": _whole(1, 1, 4, 6)}),
    ("DepthToSpace", ["r"], {"blocksize": 1}, {}), ("SpaceToDepth", ["u"], {"blocksize": 1}, {}),
    ("Col2Im", ["k", "a", "b"], {}, {"a": _whole(2, 3), "b": _whole(1, 1)}),
    ("GridSample", ["u", "p"], {}, {"p": np.zeros((1, 2, 2, 2), np.float32)}),
    ("LSTM", ["s", "w", "v"], {"hidden_size": 2}, {"w": np.ones((1, 8, 3), np.float32), "v": np.ones((1, 8, 2), np.float32)}),
    ("Einsum", ["x", "x"], {"equation": "ij,kj->ik"}, {}), ("CumSum", ["x", "p"], {}, {"p": np.int64(1)}),
    ("OneHot", ["p", "a", "v"], {}, {"p": _whole(0, 1), "a": np.int64(3), "v": np.array([0, 1], np.float32)}),
    ("Range", ["a", "b", "c"], {}, {"a": np.int64(0), "b": np.int64(5), "c": np.int64(2)}),
    ("ConstantOfShape", ["p"], {}, {"p": _whole(2, 2)}), ("Split", ["x", "p"], {"axis": 1}, {"p": _whole(1, 2)}),
    ("Trilu", ["x", "p"], {}, {"p": np.int64(1)}), ("Compress", ["x", "p"], {"axis": 1}, {"p": np.array([True, False, True])}),
    ("Transpose", ["x"], {"perm": [1, 0]}, {}), ("Concat", ["x", "x"], {"axis": 1}, {}), ("Flatten", ["x"], {"axis": 1}, {}),
    ("LayerNormalization", ["x", "w"], {"axis": 1}, {"w": np.ones(3, np.float32)}), ("Hardmax", ["x"], {}, {}),
    ("QuantizeLinear", ["x", "a"], {}, {"a": np.float32(0.1)}), ("Cast", ["x"], {"to": TensorProto.INT32}, {}),
    ("DFT", ["k", "a"], {"axis": 1}, {"a": np.int64(4)}), ("RandomNormalLike", ["x"], {}, {}), ("EyeLike", ["x"], {}, {}),
)
_SHAPES = {"u": (1, 1, 2, 3), "r": (1, 6, 1, 1), "k": (1, 1, 6), "s": (2, 1, 3)}


def models() -> list:
    """Return small models, each with one operator."""
    made = [_loop(), _scan()]
    for name, inputs, attributes, arrays in _NODES:
        node = helper.make_node(name, inputs, ["y"], **attributes)
        before = [helper.make_node("Reshape", ["x", f"{i}_shape"], [i]) for i in inputs if i in _SHAPES]
        shapes = {f"{i}_shape": _whole(*_SHAPES[i]) for i in inputs if i in _SHAPES}
        made.append(_model(*before, node, **shapes, **arrays))
    return made
