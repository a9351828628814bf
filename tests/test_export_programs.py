"""`ingot.export`: programs under PyTorch's names, which are files of `jit.export`."""

import gc
import io
import os

import pytest

import ingot
from ingot import export, jit, nn


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
    (lambda net, x: export.export(net, (x, x), decomposed=True), ValueError, "does not take decomposed"),
    (lambda net, x: export.Dim("2 words"), ValueError, "is an identifier"),
    (lambda net, x: export.export(lambda x: x * x.sum().item(), (x,)), RuntimeError, "reads"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(Net().eval(), ingot.ones(2, 6))
