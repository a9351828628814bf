"""Names of inputs: every exporter takes them from the signature of what it exports, through any wrapper."""

import functools
import inspect
import re
import warnings

import pytest

import ingot
from ingot import export, fx, jit, nn
from ingot.jit.errors.parameters import identifier, positional_names, signature_of, unique
from ingot.jit.exporting.capture.size_variants import record
from ingot.jit.exporting.file import archive, writer
from ingot.jit.exporting.file.model import Model
from ingot.jit.exporting.program import dynamic_shapes
from ingot.jit.exporting.program.exported_program import ExportedProgram

onnx = pytest.importorskip("onnx")
X = ingot.arange(6.0).reshape(2, 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, input, mask):
        return self.linear(input) * mask

    def method(self, input, mask):
        return self(input, mask)


class Scale:
    def __call__(self, input, mask):
        return input * mask


def scaled(input, mask):
    return input * mask


def with_first(first, input, mask):
    return first + input * mask


def decorated(fn):
    @functools.wraps(fn)
    def call(*args, **kwargs):
        return fn(*args, **kwargs)
    return call


def written(fn, example, folder, **options):
    """Return the model in a file that no other process has checked."""
    made = record(fn, example, **options)
    path = str(folder / "model.ingot")
    writer.Content(made, *writer.optimized(made, freeze=False)).write(path, {})
    return Model(archive.Reader(path), objects=False)


NET = Net().eval()
WEIGHTS = {"linear.weight", "linear.bias"}
# name: (what makes the callable in a folder, its weights)
CALLABLES = {
    "function": (lambda folder: scaled, ()),
    "decorated function": (lambda folder: decorated(scaled), ()),
    "module": (lambda folder: NET, WEIGHTS),
    "method of a module": (lambda folder: NET.method, WEIGHTS),
    "traced function": (lambda folder: jit.trace(scaled), ()),
    "traced module": (lambda folder: jit.trace(NET), WEIGHTS),
    "object": (lambda folder: Scale(), ()),
    "partial": (lambda folder: functools.partial(with_first, X), {"constant_0"}),
    "partial of a traced function": (lambda folder: functools.partial(jit.trace(with_first), X), {"constant_0"}),
    "partial of a module": (lambda folder: functools.partial(NET), WEIGHTS),
    "traced partial": (lambda folder: jit.trace(functools.partial(with_first, X)), {"constant_0"}),
    "loaded model": (lambda folder: written(NET, (X, X), folder), WEIGHTS),
    "model loaded twice": (lambda folder: written(written(NET, (X, X), folder), (X, X), folder), WEIGHTS),
    "model exported by name": (lambda folder: written(NET, {"mask": X, "input": X}, folder), WEIGHTS),
    "program": (lambda folder: ExportedProgram(written(NET, (X, X), folder)), WEIGHTS),
    "GraphModule": (lambda folder: fx.symbolic_trace(NET), WEIGHTS),
    "model of ONNX": (lambda folder: jit.from_onnx(jit.to_onnx(NET, (X, X), verify=False)), WEIGHTS),
}


def named_by_ingot(fn, example):
    found = record(fn, example)
    assert [v.name for v in found.variants[0].graph.inputs[:2]] == [s.name for s in found.signature.inputs]
    return [s.name for s in found.signature.inputs]


def named_by_onnx(fn, example):
    return [v.name for v in onnx.load_from_string(jit.to_onnx(fn, example, verify=False)).graph.input]


def named_by_program(fn, example):
    call, sizes = dynamic_shapes.named({"input": None}, fn, example, {})
    return [s.name for s in record(fn, call, sizes.by_tensor).signature.inputs]


@pytest.mark.parametrize("exporter", [named_by_ingot, named_by_onnx, named_by_program])
@pytest.mark.parametrize("kind", CALLABLES)
def test_inputs_have_the_names_of_parameters(kind, exporter, tmp_path):
    assert exporter(CALLABLES[kind][0](tmp_path), (X, X)) == ["input", "mask"]


@pytest.mark.parametrize("kind", CALLABLES)
def test_weights_keep_their_names(kind, tmp_path):
    make, weights = CALLABLES[kind]
    assert set(record(make(tmp_path), (X, X)).variants[0].weights) == set(weights)


@pytest.mark.parametrize("kind", ["traced module", "loaded model", "model exported by name", "program", "model of ONNX"])
def test_inspect_shows_the_signature(kind, tmp_path):
    assert list(inspect.signature(CALLABLES[kind][0](tmp_path)).parameters) == ["input", "mask"]


@pytest.mark.parametrize("kind", ["function", "module", "loaded model"])
def test_a_c_header_has_the_names(kind, tmp_path):
    header = jit.to_c(CALLABLES[kind][0](tmp_path), (X, X), tmp_path / "model").header
    with open(header, encoding="utf-8") as file:
        assert re.findall(r"_IN\d.*/\* (\w+) \*/", file.read()) == ["input", "mask"]


def test_arguments_by_name_are_in_the_order_of_the_signature(tmp_path):
    model = written(NET, {"mask": X, "input": X + 1}, tmp_path)
    assert ingot.equal(model(X, X + 1), NET(X, X + 1))
    assert ingot.equal(model(mask=X + 1, input=X), NET(X, X + 1))


def by_key(**tensors):
    return tensors["input ids"] + tensors["1st"]


NAMES = {       # (function, example): names of its inputs
    "star": (lambda first, *rest: first + rest[0] + rest[1], (X, X, X), ["first", "rest_0", "rest_1"]),
    "words that are no identifiers": (by_key, {"input ids": X, "1st": X}, ["input_ids", "_1st"]),
    "containers": (lambda batch, cache: batch["ids"] + cache[0][1], ({"ids": X, "input mask": X}, [(X, X)]),
                   ["batch_ids", "batch_input_mask", "cache_0_0", "cache_0_1"]),
    "equal paths": (lambda cache, cache_0: cache[0] + cache_0, ([X], X), ["cache_0", "cache_0_1"]),
    "other alphabets": (lambda größe: größe + 1, (X,), ["größe"]),
    "words of C": (lambda int, float: int + float, (X, X), ["int", "float"]),
    "only by position": (lambda a, /, b: a + b, (X, X), ["a", "b"]),
    "only by name": (lambda a, *, b: a + b, {"b": X, "a": X}, ["a", "b"]),
    "a function of C": (ingot.Tensor.__add__, (X, X), ["self", "other"]),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_of_unusual_signatures(case, tmp_path):
    fn, example, names = NAMES[case]
    assert [s.name for s in record(fn, example).signature.inputs] == names
    assert named_by_onnx(fn, example) == names
    model = written(fn, example, tmp_path)
    args, kwargs = ((), example) if isinstance(example, dict) else (example, {})
    assert ingot.equal(model(*args, **kwargs), fn(*args, **kwargs))
    assert [s.name for s in record(model, example).signature.inputs] == names


def nested(batch, scale):
    return batch["ids"] + batch["parts"][0] + scale


EXAMPLE = ({"ids": X, "parts": [X]}, ingot.ones(3))
SPELLINGS = ["batch_ids", "batch.ids", "batch['ids']", 'batch["ids"]', 0]


@pytest.mark.parametrize("key", SPELLINGS)
def test_dynamic_takes_each_spelling_of_a_path(key):
    dynamic = {key: {0: "n"}, "batch.parts[0]": {0: "n"}}
    assert [s.shape for s in record(nested, EXAMPLE, dynamic).signature.inputs] == [("n", 3), ("n", 3), (3,)]
    model = onnx.load_from_string(jit.to_onnx(nested, EXAMPLE, dynamic=dynamic, verify=False))
    assert [v.type.tensor_type.shape.dim[0].dim_param for v in model.graph.input] == ["n", "n", ""]


def test_dynamic_takes_a_parameter_for_all_its_tensors():
    dynamic = {"batch": {0: "n"}}
    assert [s.shape for s in record(nested, EXAMPLE, dynamic).signature.inputs] == [("n", 3), ("n", 3), (3,)]
    for key in ("batch", 0):
        traced = jit.trace(nested, dynamic={key: {0: "n"}})
        for n in (2, 4, 7):
            traced({"ids": ingot.ones(n, 3), "parts": [ingot.ones(n, 3)]}, ingot.ones(3))
        assert traced.stats()["compiles"] == 1


@pytest.mark.parametrize("key", SPELLINGS[:-1])
def test_traces_take_each_spelling_of_a_path(key):
    traced = jit.trace(lambda batch: batch["ids"] * 2, dynamic={key: {0: "n"}})
    for n in (2, 4, 7):
        traced({"ids": ingot.ones(n, 3)})
    assert traced.stats()["compiles"] == 1


WRONG = {
    "export": lambda tmp: record(NET, (X, X), {"inptu": {0: "batch"}}),
    "quantize": lambda tmp: jit.quantize(NET, [(X, X)], dynamic={"inptu": {0: "batch"}}),
    "to_onnx": lambda tmp: jit.to_onnx(NET, (X, X), dynamic={"inptu": {0: "batch"}}),
    "ONNX as PyTorch writes it": lambda tmp: ingot.onnx.export(NET, (X, X), dynamic_axes={"inptu": {0: "batch"}}),
    "program": lambda tmp: export.export(NET, (X, X), dynamic_shapes={"inptu": {0: export.Dim("batch")}}),
    "trace": lambda tmp: jit.trace(NET, dynamic={"inptu": {0: "batch"}}),
    "record_graph": lambda tmp: jit.record_graph(NET, (X, X), {"inptu": {0: "batch"}}),
}


@pytest.mark.parametrize("exporter", WRONG)
def test_a_wrong_name_in_dynamic_lists_the_names(exporter, tmp_path):
    with warnings.catch_warnings(), pytest.raises(Exception, match=r"(?s)inptu.*input.*mask.*did you mean 'input'\?"):
        warnings.simplefilter("ignore")
        WRONG[exporter](tmp_path)


def test_a_wrong_position_in_dynamic_is_refused():
    with pytest.raises(jit.TraceError, match="dynamic= names the argument 2, but the parameters are input, mask"):
        jit.trace(scaled, dynamic={2: {0: "batch"}})


def test_quantized_models_keep_names():
    model = jit.quantize(NET, [(X, X)], dynamic={"input": {0: "batch"}, "mask": {0: "batch"}})
    assert [s.name for s in record(model, (X, X)).signature.inputs] == ["input", "mask"]
    assert named_by_onnx(model, (X, X)) == ["input", "mask"]
    assert [s.shape for s in record(model, (X, X), {"input": {0: "n"}, "mask": {0: "n"}}).signature.inputs] == [("n", 3)] * 2


def test_names_without_a_signature():
    assert positional_names(signature_of(min), 2) == ["arg0", "arg1"]
    assert unique(["a", "a", "a_1"]) == ["a", "a_1", "a_1_1"]
    assert identifier("cache[0]['key 1']") == "cache_0_key_1"
