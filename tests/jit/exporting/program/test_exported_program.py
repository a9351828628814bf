"""`ingot.export`: programs under PyTorch's names, which are files of `jit.export`."""

import gc
import io
import os

import pytest

import ingot
from ingot import export, jit, nn
from ingot.export import Dim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 4)

    def forward(self, x, shift, scale=1.0):
        return self.first(x).relu() + shift * scale


@pytest.fixture(scope="module")
def program():
    """(module, program with a free batch)"""
    net = Net().eval()
    batch = export.Dim("batch", min=1, max=512)
    shapes = {"x": {0: batch}, "shift": (batch, None)}
    return net, export.export(net, (ingot.randn(3, 6), ingot.randn(3, 4)), dynamic_shapes=shapes)


def test_a_program_runs_for_other_sizes(program):
    net, made = program
    for n in (3, 7, 1):
        x, shift = ingot.randn(n, 6), ingot.randn(n, 4)
        assert made.module()(x, shift).allclose(net(x, shift), atol=1e-6) and made(x, shift).shape == (n, 4)
    assert made.graph_signature.dims == ("batch",) and set(made.state_dict) == {"first.weight", "first.bias"}
    assert made.example_inputs[0][0].shape == (3, 6) and "batch" in str(made) and made.graph.nodes
    with pytest.raises(RuntimeError):
        made(ingot.randn(3, 5), ingot.randn(3, 4))


def test_files(program, tmp_path):
    made, path, memory = program[1], tmp_path / "model.pt2", io.BytesIO()
    export.save(made, path)
    export.save(made, memory)
    memory.seek(0)
    x, shift = ingot.randn(2, 6), ingot.randn(2, 4)
    for other in (export.load(path), export.load(memory), export.load(str(path))):
        assert other.module()(x, shift).equal(made(x, shift))
    assert jit.load(path)(x, shift).equal(made(x, shift))


def test_named_arguments_and_a_file_that_goes_with_its_program():
    net = Net().eval()
    x, shift = ingot.randn(2, 6), ingot.randn(4)
    made = export.export(net, (x,), {"shift": shift}, dynamic_shapes=({0: export.Dim.DYNAMIC}, None))
    more = ingot.randn(5, 6)
    assert made(x=more, shift=shift).allclose(net(more, shift), atol=1e-6)
    model, path = made.module(), made.module().path
    del made
    assert os.path.exists(path) and model(x=x, shift=shift).allclose(net(x, shift), atol=1e-6)
    del model
    gc.collect()
    assert not os.path.exists(path)


@pytest.mark.parametrize("call, kind, words", [
    (lambda net, x: export.export(net, [x]), TypeError, "as a tuple, got list"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes=[None]), ValueError, "1 entries for 2 arguments"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes={"y": None}), ValueError, "names y, the arguments are x, shift"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes={"x": {0: "batch"}}), ValueError, "a Dim or None"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes={"x": {"a": None}}), ValueError, "name tensors in containers"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes={"x": (None,)}), ValueError, "1 entries for 2 dims"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes={"x": {0: 3}}), ValueError, "dim 0 of x is 3, but it is 2"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes={"x": {0: Dim("b", min=3)}}), ValueError, "between 3 and None"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes={"x": {0: 3 * Dim("b")}}), ValueError, "is 3\\*b, but .* has 2"),
    (lambda net, x: export.export(net, (x, x), dynamic_shapes=({0: Dim("b")}, {0: Dim("b", max=9)})), ValueError, "called b"),
    (lambda net, x: export.export(net, (x, x, 1.0), dynamic_shapes={"scale": {0: Dim("b")}}), ValueError, "scale, which is no"),
    (lambda net, x: export.export(lambda c: c["a"], ({"a": x},), dynamic_shapes={"c": {"b": None}}), ValueError, "the keys"),
    (lambda net, x: export.export(lambda c: c[0], ([x],), dynamic_shapes={"c": {0: None}}), ValueError, "so is what is said"),
    (lambda net, x: export.export(lambda c: c[0], ([x],), dynamic_shapes=([None, None],)), ValueError, "2 entries, the"),
    (lambda net, x: export.export(lambda x: x * [1, 2, 3][x.shape[0]], (x,), dynamic_shapes=({0: Dim.DYNAMIC},)), RuntimeError,
     "dim 0 of x is Dim.DYNAMIC: .* cannot change"),
    (lambda net, x: export.export(net, (x,), {"shift": x, "more": x}), TypeError, "do not fit"),
    (lambda net, x: export.export("net", (x,)), ValueError, "a module or a function"),
    (lambda net, x: export.save(net, "x"), TypeError, "takes an ExportedProgram"),
    (lambda net, x: export.export(net, (x, x[:, :4])).run_decompositions({"relu": None}), ValueError, "takes no table"),
    (lambda net, x: export.export(net, (x, x[:, :4])).run_decompositions({"batch_norm": max}), ValueError, "takes no table"),
    (lambda net, x: Dim("b") * 0, NotImplementedError, "a positive multiple"),
    (lambda net, x: 3 - Dim("b"), NotImplementedError, "a positive multiple"),
    (lambda net, x: Dim("b", min=4, max=2), ValueError, "min not above max"),
    (lambda net, x: export.export(net, (x, x), decomposed=True), ValueError, "does not take decomposed"),
    (lambda net, x: export.Dim("2 words"), ValueError, "is an identifier"),
    (lambda net, x: export.export(lambda x: x * x.sum().item(), (x,)), RuntimeError, "reads"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(Net().eval(), ingot.ones(2, 6))


class Decoder(nn.Module):
    """Takes and gives containers, and has weights of all kinds."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv1d(4, 4, 1), nn.BatchNorm1d(4)
        self.register_buffer("scale", ingot.rand(4, 1), persistent=False)
        self.shift = ingot.rand(4, 1)

    def forward(self, x, cache, *, k=None):
        a, b = cache["a"]
        return {"y": (self.norm(self.first(x)) * self.scale + self.shift).softmax(-1), "z": ingot.cat([a, b]), "k": k}, 3


def arguments(batch, length, n):
    return (ingot.randn(batch, 4, length),), {"cache": {"a": [ingot.randn(2 * n, 2), ingot.randn(2 * n + 1, 2)]}, "k": None}


@pytest.fixture(scope="module")
def nested():
    """(module, program whose arguments are containers with sizes that follow from others)"""
    net, n = Decoder().eval(), Dim("n")
    args, kwargs = arguments(2, 5, 3)
    sizes = {"x": {0: Dim.AUTO, -1: Dim("length")}, "cache": {"a": [{0: 2 * n}, (n * 2 + 1, None)]}, "k": None}
    return net, export.export(net, args, dict(reversed(kwargs.items())), dynamic_shapes=sizes)


@pytest.mark.parametrize("sizes", [(2, 5, 3), (1, 1, 1), (3, 7, 5), (2, 1, 0), (7, 11, 13)])
def test_sizes_in_containers_and_derived_sizes(nested, sizes):
    net, made = nested
    args, kwargs = arguments(*sizes)
    want, got = net(*args, **kwargs), made.module()(*args, **kwargs)
    assert got[0]["y"].allclose(want[0]["y"], atol=1e-6) and got[0]["z"].equal(want[0]["z"]) and got[1] == 3


def test_inconsistent_sizes(nested):
    args, _ = arguments(2, 5, 3)
    for wrong, words in (((5, 7), "no size gives 2\\*n"), ((6, 5), "dim 0 has size 5, but 2\\*n\\+1 is 7")):
        with pytest.raises(ValueError, match=words):
            nested[1].module()(*args, cache={"a": [ingot.ones(n, 2) for n in wrong]}, k=None)


def test_the_signature_of_the_graph(nested, tmp_path):
    net, made = nested
    export.save(made, tmp_path / "p.ingot")
    for program in (made, export.load(tmp_path / "p.ingot"), made.run_decompositions()):
        sig = program.graph_signature
        assert sig.parameters == ("first.weight", "first.bias", "norm.weight", "norm.bias")
        assert sig.buffers == ("norm.running_mean", "norm.running_var", "scale") and sig.non_persistent_buffers == ("scale",)
        assert sig.user_inputs == ("x", "cache_a_0", "cache_a_1", None) and sig.dims == ("x_0", "length", "n")
        assert sig.user_outputs == ("output_0_y", "output_0_z", None, 3) and sig.lifted_tensor_constants == ("constant_0",)
        assert [v.name for v in program.graph.inputs[3:]] == [*sig.parameters, *sig.buffers, "constant_0"]
        wanted = net.state_dict()
        assert set(program.state_dict) == set(wanted) and all(program.state_dict[name].equal(t) for name, t in wanted.items())
        assert set(program.constants) == {"scale", "constant_0"} and len(list(program.parameters())) == 4
        assert dict(program.named_buffers()).keys() == {*sig.buffers, "norm.num_batches_tracked"}
        assert not sig.buffers_to_mutate


def test_decompositions():
    made = export.export(nn.BatchNorm1d(4).eval(), (ingot.randn(3, 4),))
    operators = [{n.op.name for n in program.graph.nodes} for program in (made, made.run_decompositions())]
    assert "batch_norm" in operators[0] and "batch_norm" not in operators[1] and "rsqrt" in operators[1]


def test_inferred_sizes():
    def fn(x, y):
        return x + y * [1, 2, 3, 4, 5][x.shape[1]]

    x = ingot.randn(3, 4)
    made = export.export(fn, (x, x), dynamic_shapes={"x": Dim.AUTO, "y": (Dim.AUTO, Dim.STATIC)})
    assert [spec.shape for spec in made.module().inputs] == [("x_0", 4), ("y_0", 4)]
    more = ingot.randn(7, 4)
    assert made(more, more).equal(fn(more, more))
    with pytest.raises(ValueError, match="asks for"):
        made(more, x)


def test_sizes_declared_for_tensors_and_by_additional_inputs():
    x, y = ingot.randn(2, 4), ingot.randn(4)
    shapes, others = export.ShapesCollection(), export.AdditionalInputs()
    shapes[x] = {0: Dim("b")}
    others.add(([ingot.ones(5, 4), y],))
    for declared, name in ((shapes, "b"), (others, "pair_0_0")):
        made = export.export(lambda pair: pair[0] * pair[1], ([x, y],), dynamic_shapes=declared)
        assert [spec.shape for spec in made.module().inputs] == [(name, 4), (4,)]
    with pytest.raises(ValueError, match="not among the arguments"):
        export.export(lambda x: x, (y,), dynamic_shapes=shapes)
    assert shapes.dynamic_shapes(lambda pair: pair, ([x, y],)) == {"pair": [{0: shapes[x][0]}, None]}
    assert others.dynamic_shapes(lambda pair: pair, (), {"pair": [x, y]}) == {"pair": [{0: Dim.DYNAMIC}, {}]}
    others.verify(made)
    with pytest.raises(ValueError, match="got \\[5"):
        others.verify(export.export(lambda pair: pair[0] * pair[1], ([x, y],)))
    others.add(([ingot.ones(5, 4, 1), y],))
    with pytest.raises(ValueError, match="other numbers of dims"):
        export.export(lambda pair: pair[0] * 2, ([x, y],), dynamic_shapes=others)


def test_derived_sizes_in_files(tmp_path):
    model = jit.export(lambda x, y: ingot.cat([x, y]), {"x": ingot.ones(6), "y": ingot.ones(4)}, tmp_path / "m.ingot",
                       dynamic={"x": {0: "2*n"}, "y": {0: "n + 1"}})
    for n in (0, 1, 2, 17):
        assert model(x=ingot.ones(2 * n), y=ingot.zeros(n + 1)).sum() == 2 * n
    with pytest.raises(ValueError, match="'2\\*batch\\+1'"):
        jit.export(lambda x: x + 1, (ingot.ones(6),), tmp_path / "m.ingot", dynamic={"x": {0: "n*n"}})
