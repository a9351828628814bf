"""Small ONNX models that stand for much: sizes, turns and calls out of proportion to their bytes. All take `x`, two numbers."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
LARGE = 1 << 33


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def whole(*numbers):
    return np.array(numbers, np.int64)


def model(*nodes, functions=(), **arrays) -> bytes:
    """Return the bytes of a model from x to y."""
    known = [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]
    graph = helper.make_graph(list(nodes), "g", [value("x", shape=[2])], [value("y")], known)
    versions = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, functions=list(functions), opset_imports=versions).SerializeToString()


def summed(*nodes, **arrays) -> bytes:
    """Return the bytes of a model that adds the sum of `r` to x."""
    end = [node("Cast", ["r"], ["f"], to=FLOAT), node("ReduceSum", ["f"], ["q"]), node("Add", ["x", "q"], ["y"])]
    return model(*nodes, *end, **arrays)


def body(*nodes, end="c2", collected=()):
    """Return a graph of a Loop that carries one value, `v` to `v2`."""
    results = [value(end, BOOL, []), value("v2"), *[value(n) for n in collected]]
    return helper.make_graph([node("Identity", ["c"], ["c2"]), *nodes], "b",
                             [value("i", INT, []), value("c", BOOL, []), value("v")], results)


def loop(graph, turns=1 << 62):
    return model(node("Loop", ["m", "", "x"], ["y"], body=graph), m=whole(turns))


def nested(depth):
    inner = node("Loop", ["m", "", "v"], ["v2"], body=nested(depth - 1)) if depth else node("Add", ["v", "v"], ["v2"])
    return body(inner)


def calls(depth=30):
    """A function that calls another twice, and so on."""
    own = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    made = [helper.make_function("own", f"f{i}", ["a"], ["b"],
                                 [node(f"f{i + 1}", ["a"], ["c"], domain="own"), node(f"f{i + 1}", ["c"], ["b"], domain="own")],
                                 own) for i in range(depth)]
    last = helper.make_function("own", f"f{depth}", ["a"], ["b"], [node("Neg", ["a"], ["b"])], own)
    return model(node("f0", ["x"], ["y"], domain="own"), functions=[*made, last])


def doubled(first, count=40):
    return [node("Concat", [first if i == 0 else f"t{i}"] * 2, [f"t{i + 1}"], axis=0) for i in range(count)]


def scanned():
    graph = helper.make_graph([node("Add", ["v", "e"], ["v2"]), node("Identity", ["e"], ["e2"])], "b", [value("v"), value("e")],
                              [value("v2"), value("e2")])
    return model(node("ConstantOfShape", ["s"], ["c"]), node("Scan", ["x", "c"], ["y", "z"], num_scan_inputs=1, body=graph),
                 s=whole(1 << 24))


def products(turns=200):
    """A chain of products of matrices of 4 MiB."""
    first = [node("Tile", ["x", "s"], ["t"]), node("Reshape", ["t", "z"], ["v0"])]
    chain = [node("MatMul", [f"v{i}", "v0"], [f"v{i + 1}"]) for i in range(turns)]
    return model(*first, *chain, node("ReduceSum", [f"v{turns}"], ["y"]), s=whole(1 << 19), z=whole(1 << 10, 1 << 10))


def repeated(kind, inputs, turns=400, **arrays):
    """An operator on 4 MiB, and again on its result."""
    chain = [node(kind, [f"v{i}", *inputs], [f"v{i + 1}", f"w{i + 1}"][:1 + (kind == "TopK")]) for i in range(turns)]
    return model(node("Tile", ["x", "s"], ["v0"]), *chain, node("ReduceSum", [f"v{turns}"], ["y"]), s=whole(1 << 19), **arrays)


def picture(*nodes, **arrays):
    return model(node("Unsqueeze", ["x", "axes"], ["u"]), *nodes, axes=whole(0, 1), **arrays)


_ONE = np.ones((1, 1, 1), np.float32)
FILES = {
    "padding": lambda: model(node("Pad", ["x", "p"], ["y"]), p=whole(1 << 31, 0)),
    "padding beyond all": lambda: model(node("Pad", ["x", "p"], ["y"]), p=whole(1 << 62, 1 << 62)),
    "turns": lambda: loop(body(node("Add", ["v", "v"], ["v2"]))),
    "inputs of a scan": lambda: model(node("Scan", ["x"], ["y"], num_scan_inputs=1 << 27, body=helper.make_graph(
        [node("Identity", ["v"], ["w"])], "b", [value("v")], [value("w")]))),
    "parts of a split": lambda: model(node("Split", ["x"], ["y"], num_outputs=1 << 27)),
    "empty turns": lambda: loop(helper.make_graph([], "b", [value("i", INT, []), value("c", BOOL, []), value("v")],
                                                  [value("c", BOOL, []), value("v")])),
    "turns in turns": lambda: loop(nested(6), 30),
    "a constant": lambda: model(node("ConstantOfShape", ["s"], ["c"]), node("Add", ["x", "c"], ["y"]), s=whole(LARGE, 2)),
    "a range": lambda: summed(node("Range", ["a", "b", "c"], ["r"]), a=np.int64(0), b=np.int64(LARGE), c=np.int64(1)),
    "a range of fractions":
        lambda: summed(node("Range", ["a", "b", "c"], ["r"]), a=np.float32(0), b=np.float32(1e12), c=np.float32(1)),
    "tiles": lambda: model(node("Tile", ["x", "s"], ["y"]), s=whole(LARGE)),
    "an expanded sum": lambda: summed(node("Unsqueeze", ["x", "a"], ["u"]), node("Expand", ["u", "s"], ["r"]), a=whole(0),
                                      s=whole(1 << 40, 2)),
    "a large image": lambda: picture(node("Resize", ["u", "", "", "s"], ["y"]), s=whole(1, 1, LARGE)),
    "one-hot rows": lambda: model(node("Cast", ["x"], ["i"], to=INT), node("OneHot", ["i", "d", "v"], ["y"]), d=np.int64(LARGE),
                                  v=np.array([0, 1], np.float32)),
    "a diagonal":
        lambda: summed(node("ConstantOfShape", ["s"], ["c"]), node("EyeLike", ["c"], ["r"]), s=whole(1 << 17, 1 << 17)),
    "a window": lambda: summed(node("HannWindow", ["n"], ["r"]), n=np.int64(LARGE)),
    "mel weights": lambda: summed(node("MelWeightMatrix", ["n", "n", "h", "l", "h"], ["r"]), n=np.int64(1 << 20),
                                  h=np.int64(8000), l=np.float32(0)),
    "a Fourier transform": lambda: summed(node("Reshape", ["x", "s"], ["u"]), node("DFT", ["u", "n"], ["r"], axis=1),
                                          s=whole(1, 2, 1), n=np.int64(LARGE)),
    "doubled data": lambda: model(*doubled("x"), node("Identity", ["t40"], ["y"])),
    "doubled numbers": lambda: summed(*doubled("t"), node("Identity", ["t40"], ["r"]), t=np.zeros(1, np.float32)),
    "functions that call twice": calls,
    "padding of a convolution": lambda: picture(node("Conv", ["u", "w"], ["y"], pads=[1 << 30, 1 << 30]), w=_ONE),
    "strides of a transposed convolution":
        lambda: picture(node("ConvTranspose", ["u", "w"], ["y"], strides=[1 << 31]), w=_ONE),
    "a list of rows": lambda: summed(node("ConstantOfShape", ["s"], ["c"]), node("SplitToSequence", ["c"], ["l"]),
                                     node("SequenceLength", ["l"], ["r"]), s=whole(1 << 24)),
    "a scan": scanned,
    "an axis of a gather": lambda: model(node("Gather", ["x", "i"], ["y"], axis=1 << 26), i=whole(0)),
    "an axis of a compression": lambda: model(node("Compress", ["x", "c"], ["y"], axis=1 << 26), c=np.array([True])),
    "a large window": lambda: summed(node("HannWindow", ["n"], ["r"]), n=np.int64(1 << 21)),
    "a table of a resize": lambda: picture(node("Resize", ["u", "", "", "s"], ["y"], mode="cubic"), s=whole(1, 1, 1 << 21)),
    "places of a window": lambda: picture(node("MaxPool", ["u"], ["y"], kernel_shape=[1 << 20], pads=[0, 1 << 20])),
    "places of windows": lambda: picture(node("MaxPool", ["u"], ["y"], kernel_shape=[1 << 15], pads=[1 << 14, 1 << 20])),
    "products": products,
    "sorted copies": lambda: repeated("TopK", ["k"], k=whole(1 << 20)),
    "sums of copies": lambda: repeated("CumSum", ["k"], k=np.int64(0)),
    "random numbers": lambda: summed(node("RandomNormal", [], ["r"], shape=[LARGE])),
    "many dims": lambda: model(node("Reshape", ["x", "s"], ["y"]), s=np.ones(100_000, np.int64)),
}
