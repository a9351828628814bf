"""`from_onnx`: what is refused and how, control flow, functions, data beside the model, damaged files."""

import numpy as np
import pytest

import ingot
from ingot import nn
from ingot.ir.errors import DTypeError, FileError, IngotError, ShapeError
from ingot.jit import from_onnx, to_onnx, trace

onnx = pytest.importorskip("onnx", reason="needs the onnx package")
helper, TensorProto = pytest.importorskip("onnx.helper"), onnx.TensorProto
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, inputs, outputs, initializers=(), opset=18, **more):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("own", 1)], ir_version=9,
                             **more)


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def tensor(name, array):
    return onnx.numpy_helper.from_array(np.asarray(array), name)


# Control flow.


def test_if_takes_the_branch_of_every_call():
    then = helper.make_graph([node("Add", "x x", "a")], "then", [], [info("a")])
    other = helper.make_graph([node("Neg", "x", "b")], "else", [], [info("b")])
    nodes = [node("ReduceSum", "x", "s", keepdims=0), node("Greater", "s zero", "c"),
             node("If", "c", "y", then_branch=then, else_branch=other)]
    m = from_onnx(model_of(nodes, [info("x", shape=["n"])], [info("y")], [tensor("zero", np.float32(0))]))
    for x in (ingot.ones(3), -ingot.ones(3), ingot.ones(3)):
        assert m(x).tolist() == (x + x if x.sum() > 0 else -x).tolist()


def test_loop_with_a_condition_and_collected_values():
    body = helper.make_graph(
        [node("Add", "v x", "w"), node("ReduceSum", "w", "s", keepdims=0), node("Less", "s limit", "again"),
         node("Identity", "w", "seen")],
        "body", [info("i", INT64, []), info("c", BOOL, []), info("v")], [info("again", BOOL), info("w"), info("seen")])
    nodes = [node("Loop", "most go x", "last all", body=body)]
    given = [tensor("most", np.int64(10)), tensor("go", np.array(True)), tensor("limit", np.float32(9))]
    m = from_onnx(model_of(nodes, [info("x", shape=[2])], [info("last"), info("all")], given))
    last, seen = m(ingot.ones(2))
    assert last.tolist() == [5, 5] and seen.tolist() == [[2, 2], [3, 3], [4, 4], [5, 5]]
    last, seen = m(4 * ingot.ones(2))
    assert last.tolist() == [8, 8] and seen.shape == (1, 2)


@pytest.mark.parametrize("backwards", [0, 1])
def test_scan(backwards):
    body = helper.make_graph([node("Add", "s e", "t"), node("Identity", "t", "o")], "body", [info("s"), info("e")],
                             [info("t"), info("o")])
    nodes = [node("Scan", "start x", "end all", body=body, num_scan_inputs=1, scan_input_directions=[backwards],
                  scan_output_directions=[backwards])]
    m = from_onnx(model_of(nodes, [info("start", shape=[2]), info("x", shape=["t", 2])], [info("end"), info("all")]))
    x = ingot.arange(6.0).reshape(3, 2)
    end, every = m(ingot.zeros(2), x)
    wanted = x.flip(0).cumsum(0).flip(0) if backwards else x.cumsum(0)
    assert end.tolist() == x.sum(0).tolist() and every.tolist() == wanted.tolist()
    assert m(ingot.ones(2), x[:0])[1].shape == (0, 2)


def test_functions_of_the_model():
    scaled = helper.make_function("own", "Scaled", ["a"], ["b"], [
        helper.make_node("LeakyRelu", ["a"], ["b"])], [helper.make_opsetid("", 18)], ["alpha"])
    scaled.node[0].attribute.add(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    nodes = [helper.make_node("Scaled", ["x"], ["y"], domain="own", alpha=0.5)]
    m = from_onnx(model_of(nodes, [info("x", shape=[2])], [info("y")], functions=[scaled]))
    assert m(ingot.tensor([-2.0, 2.0])).tolist() == [-1, 2]


def test_shapes_are_known_numbers_and_no_part_of_a_trace():
    nodes = [node("Shape", "x", "s"), node("Gather", "s first", "n"), node("Mul", "n two", "m"),
             node("Concat", "m rest", "t", axis=0), node("Reshape", "x t", "r"), node("Neg", "r", "y")]
    given = [tensor("first", np.array([0])), tensor("two", np.array([2])), tensor("rest", np.array([-1]))]
    m = from_onnx(model_of(nodes, [info("x", shape=["n", 4])], [info("y")], given))
    f = trace(m.compute)
    assert f(ingot.ones(3, 4)).shape == (6, 2) and f(ingot.ones(5, 4)).shape == (10, 2)
    recorded = next(iter(f.graphs.values()))["recorded"]
    assert [n.op.name for n in recorded.nodes] == ["reshape", "neg"]


# Refused models.


@pytest.mark.parametrize("nodes, words", [
    ([helper.make_node("Frobnicate", ["x"], ["y"])], "operator Frobnicate"),
    ([helper.make_node("Foo", ["x"], ["y"], domain="own")], "operator Foo of domain 'own'"),
    ([helper.make_node("Foo", ["x"], ["y"], domain="com.unsaid")], "whose version the model does not say"),
    ([node("ImageDecoder", "x", "y")], "operator ImageDecoder"),
    ([node("Add", "x gone", "y")], "reads 'gone'"),
    ([node("Neg", "x", "z")], "gives 'y'"),
    ([node("Cast", "x", "y", to=TensorProto.FLOAT8E4M3FNUZ)], "float8e4m3fnuz"),
    ([node("Cast", "x", "y", to=TensorProto.STRING)], "string")])
def test_refused_at_import(nodes, words):
    with pytest.raises(FileError, match=words):
        from_onnx(model_of(nodes, [info("x", shape=[2])], [info("y")]))


@pytest.mark.parametrize("data", [b"", b"hello", b"\x08\x09" * 40, np.random.default_rng(1).bytes(300)],
                         ids=["nothing", "words", "numbers", "anything"])
def test_no_onnx_file(data):
    with pytest.raises(FileError):
        from_onnx(data)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        from_onnx(tmp_path / "none.onnx")


def test_arguments_are_checked():
    m = from_onnx(to_onnx(lambda x: x * 2, ingot.ones(2, 3), dynamic={"x": {0: "n"}}))
    with pytest.raises(ShapeError, match="'x' takes the shape"):
        m(ingot.ones(2, 4))
    with pytest.raises(DTypeError, match="'x' takes"):
        m(ingot.ones(2, 3, dtype=ingot.float64))
    for args, named in (((), {}), ((ingot.ones(2, 3),) * 2, {}), ((), {"y": ingot.ones(2, 3)})):
        with pytest.raises(IngotError, match="takes x"):
            m(*args, **named)


def test_an_operator_that_fails_says_which():
    m = from_onnx(model_of([node("MatMul", "x x", "y")], [info("x")], [info("y")]))
    with pytest.raises(IngotError):
        m(ingot.ones(2, 3))
    m = from_onnx(model_of([node("Split", "x n", "y z")], [info("x"), info("n", INT64)], [info("y"), info("z")]))
    with pytest.raises(IngotError, match="Split"):
        m(ingot.ones(4), ingot.tensor([3]))


# Data beside the model.


def large():
    return nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 5)).eval()


def test_data_beside_the_model(tmp_path):
    m, x, path = large(), ingot.randn(3, 40), tmp_path / "m.onnx"
    assert to_onnx(m, x, path, external_data=True) is None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    assert np.allclose(from_onnx(path)(x).numpy(), m(x).detach().numpy(), atol=1e-6)
    with pytest.raises(FileError, match="give the path"):
        from_onnx(path.read_bytes())


def change(path, **entries):
    """Changes what a model says of the place of its first weight outside."""
    m = onnx.load_model(path, load_external_data=False)
    t = next(t for t in m.graph.initializer if t.data_location == TensorProto.EXTERNAL)
    for e in t.external_data:
        if e.key in entries:
            e.value = entries[e.key]
    path.write_bytes(m.SerializeToString())


@pytest.mark.parametrize("entries", [
    {"location": "../secret"}, {"location": "/etc/passwd"}, {"location": "link"}, {"location": ""}, {"location": "missing"},
    {"location": "."}, {"location": "a" * 5000}, {"location": "a\0b"},
    {"offset": "-4"}, {"offset": "99999999"}, {"length": "8"}, {"length": "99999999999"}, {"offset": "x"}])
def test_data_outside_of_the_models_folder_or_of_the_file(tmp_path, entries):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(10000))
    (folder / "link").symlink_to(tmp_path / "secret")
    path = folder / "m.onnx"
    to_onnx(large(), ingot.randn(3, 40), path, external_data=True)
    change(path, **entries)
    with pytest.raises(FileError):
        from_onnx(path)


# Damage.


def test_damaged_bytes_give_one_kind_of_error():
    """1000 changed files: each is refused by an ingot error, or gives something of the right kind."""
    seed = 5
    rng = np.random.default_rng(seed)
    net = nn.Sequential(nn.Conv1d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4), nn.Softmax(1))
    data = to_onnx(net, ingot.randn(2, 2, 6))
    refused = 0
    for turn in range(1000):
        b = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            at, how = int(rng.integers(len(b))), rng.integers(3)
            if how == 0:
                b[at] = int(rng.integers(256))
            elif how == 1:
                del b[at:at + int(rng.integers(1, 20))]
            else:
                b[at:at] = rng.integers(0, 256, int(rng.integers(1, 8)), dtype=np.uint8).tobytes()
        try:
            m = from_onnx(bytes(b))
            m.compute(*[ingot.ones(2, 2, 6)] * len(m.input_names))
        except IngotError:
            refused += 1
        except Exception as e:
            pytest.fail(f"seed {seed}, turn {turn}: {type(e).__name__}: {e}")
    assert refused > 300


def test_damaged_numbers_give_one_kind_of_error():
    """Attributes, sizes and names changed inside of models that still parse."""
    seed = 6
    rng = np.random.default_rng(seed)
    net = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.MaxPool2d(2), nn.GroupNorm(2, 4), nn.Upsample(scale_factor=2),
                        nn.Flatten(), nn.Linear(64, 3))
    data = to_onnx(net, ingot.randn(1, 2, 4, 4))
    numbers = [-(1 << 40), -3, -1, 0, 1, 2, 3, 7, 1 << 20]
    for turn in range(300):
        m = onnx.load_from_string(data)
        n = m.graph.node[int(rng.integers(len(m.graph.node)))]
        how = rng.integers(4)
        if how == 0 and n.attribute:
            a = n.attribute[int(rng.integers(len(n.attribute)))]
            if a.ints:
                a.ints[int(rng.integers(len(a.ints)))] = numbers[int(rng.integers(len(numbers)))]
            else:
                a.i = numbers[int(rng.integers(len(numbers)))]
        elif how == 1:
            t = m.graph.initializer[int(rng.integers(len(m.graph.initializer)))]
            t.dims[int(rng.integers(len(t.dims)))] = numbers[int(rng.integers(len(numbers)))]
        elif how == 2 and n.input:
            n.input[int(rng.integers(len(n.input)))] = m.graph.node[0].output[0]
        else:
            n.op_type = m.graph.node[int(rng.integers(len(m.graph.node)))].op_type
        try:
            from_onnx(m).compute(ingot.ones(1, 2, 4, 4))
        except IngotError:
            continue
        except Exception as e:
            pytest.fail(f"seed {seed}, turn {turn}: {type(e).__name__}: {e}")


def test_import_of_ingot_leaves_onnx_alone():
    import subprocess
    import sys

    code = "import sys, ingot, ingot.jit; ingot.jit.to_onnx; print('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


# Operators against definitions written out here.


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("alpha", "beta", "bias"), [(1e-4, 0.75, 1.0), (0.9, 0.5, 2.0), (2.0, 1.5, 0.5)])
def test_lrn_divides_its_alpha_by_the_size(size, alpha, beta, bias):
    x = np.random.default_rng(0).standard_normal((2, 6, 3, 2)).astype(np.float32)
    m = from_onnx(model_of([node("LRN", "x", "y", size=size, alpha=alpha, beta=beta, bias=bias)], [info("x", shape=x.shape)],
                           [info("y")]))
    want = np.empty_like(x)
    for c in range(6):
        low, high = max(0, c - (size - 1) // 2), min(5, c + size // 2)
        want[:, c] = x[:, c] / (bias + alpha / size * (x[:, low:high + 1] ** 2).sum(1)) ** beta
    np.testing.assert_allclose(m(ingot.tensor(x)).numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_lp_pool_takes_the_root_of_sums(p, stride):
    x = np.random.default_rng(0).standard_normal((1, 2, 7)).astype(np.float32)
    m = from_onnx(model_of([node("LpPool", "x", "y", kernel_shape=[3], strides=[stride], p=p)], [info("x", shape=x.shape)],
                           [info("y")]))
    windows = np.lib.stride_tricks.sliding_window_view(np.abs(x) ** p, 3, 2)[:, :, ::stride]
    np.testing.assert_allclose(m(ingot.tensor(x)).numpy(), windows.sum(-1) ** (1 / p), rtol=1e-5)
    m = from_onnx(model_of([node("GlobalLpPool", "x", "y", p=p)], [info("x", shape=x.shape)], [info("y")]))
    np.testing.assert_allclose(m(ingot.tensor(x)).numpy()[..., 0], (np.abs(x) ** p).sum(-1) ** (1 / p), rtol=1e-5)


WRITTEN = {**{f"irfft of {n}": lambda x, n=n: ingot.fft.irfft(ingot.fft.rfft(x, n), n) for n in (1, 2, 3, 4, 5, 6, 7)},
           **{f"irfft of {n}, a part": lambda x, n=n: ingot.fft.irfft(ingot.fft.rfft(x), n) for n in (1, 2, 3, 4, 5)},
           "gelu": nn.functional.gelu, "gelu by tanh": lambda x: nn.functional.gelu(x, approximate="tanh")}


@pytest.mark.parametrize("opset", [18, 20])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_written_model_gives_what_it_was_written_of(name, opset, tmp_path):
    f, x = WRITTEN[name], ingot.tensor(np.linspace(-3, 3, 14, dtype=np.float32).reshape(2, 7))
    to_onnx(f, (x,), str(tmp_path / "m.onnx"), opset=opset)
    np.testing.assert_allclose(from_onnx(str(tmp_path / "m.onnx"))(x).numpy(), f(x).numpy(), atol=1e-5)


@pytest.mark.parametrize("opset", [18, 20])
@pytest.mark.parametrize("name", ["gelu", "gelu by tanh"])
def test_a_written_slope_is_that_of_differences(name, opset, tmp_path):
    f, x = WRITTEN[name], np.linspace(-3, 3, 14)
    slope = ingot.func.grad(lambda t: f(t).sum())
    to_onnx(slope, (ingot.tensor(x, dtype=ingot.float32),), str(tmp_path / "m.onnx"), opset=opset)
    found = from_onnx(str(tmp_path / "m.onnx"))(ingot.tensor(x, dtype=ingot.float32)).numpy()
    high, low = (f(ingot.tensor(x + d)).numpy() for d in (1e-5, -1e-5))
    np.testing.assert_allclose(found, (high - low) / 2e-5, atol=1e-4)
