"""Error messages of modules and their functions, and edge cases of their arguments."""

import collections
import io
import re

import numpy as np
import pytest

import ingot
from ingot import nn

F = nn.functional


def tree():
    m = nn.Module()
    m.note, m.inner = "text", nn.Sequential(nn.Linear(2, 2))
    return m


REFUSED = {   # call, class of its error, message
    "a module where text is": (lambda: tree().set_submodule("note", nn.ReLU()), AttributeError, "no submodule `note`"),
    "text as a module": (lambda: tree().set_submodule("inner.0", "text"), ValueError, "puts a module at 'inner.0', got str"),
    "strictly where nothing is": (
        lambda: tree().set_submodule("other", nn.ReLU(), True), AttributeError, "no submodule `other`"),
    "below text": (lambda: tree().set_submodule("note.x", nn.ReLU()), AttributeError, "no submodule `note`"),
    "weight norm twice": (lambda: nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(2, 2))), RuntimeError, "already has"),
    "spectral norm twice": (
        lambda: nn.utils.spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 2))), RuntimeError, "already has"),
    "weight norm of nothing": (lambda: nn.utils.weight_norm(nn.ReLU()), AttributeError, "ReLU has no parameter 'weight'"),
    "spectral norm of nothing": (
        lambda: nn.utils.spectral_norm(nn.ReLU()), AttributeError, "ReLU has no parameter 'weight'"),
    "a size of 3.5": (lambda: F.interpolate(ingot.ones(1, 1, 4), size=3.5), TypeError, "size must be an int"),
    "sizes of floats": (
        lambda: F.interpolate(ingot.ones(1, 1, 4, 4), size=(3, 3.0)), TypeError, "size must be an int or 2 ints"),
    "three ratios of two": (lambda: nn.FractionalMaxPool2d(2, output_ratio=[0.5, 0.5, 0.6])(ingot.ones(1, 1, 8, 8)), ValueError,
                            "output_ratio must be a number or 2 numbers"),
    "parts of floats": (lambda: nn.Unflatten(1, (2, 5.0)), TypeError, "takes ints as unflattened_size"),
    "a negative floor": (
        lambda: F.cosine_similarity(ingot.ones(2, 3), ingot.ones(2, 3), 1, -1.0), RuntimeError, "eps must not be")}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_arguments_are_refused(name):
    call, kind, says = REFUSED[name]
    with pytest.raises(kind, match=says):
        call()


def test_set_submodule_replaces_modules_and_adds_new_ones():
    m = tree()
    m.set_submodule("inner.0", nn.ReLU())
    m.set_submodule("inner.1", nn.Tanh())
    m.set_submodule("other", nn.GELU(), False)
    m.set_submodule("other", nn.ELU(), True)
    assert [type(c).__name__ for c in (*m.inner, m.other)] == ["ReLU", "Tanh", "ELU"]


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(1, 1)

    @property
    def shown(self):
        return self.hidden


def test_a_submodule_may_be_a_property():
    m = Wrapped()
    assert m.get_submodule("shown") is m.hidden


@pytest.mark.parametrize("cls", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_cells_without_units(cls):
    out = cls(3, 0)(ingot.ones(2, 3))
    assert tuple((out[0] if cls is nn.LSTMCell else out).shape) == (2, 0)


def test_the_prefix_of_a_wrapped_state_is_taken_off_its_metadata():
    """Metadata holds the version of a state: without it batch norm loads the state as a very old one."""
    plain = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)).state_dict()
    wrapped = collections.OrderedDict(("module." + name, v) for name, v in plain.items())
    wrapped._metadata = collections.OrderedDict({"": {"version": 7}})
    wrapped._metadata.update(("module" if not name else "module." + name, v) for name, v in plain._metadata.items())
    nn.modules.utils.consume_prefix_in_state_dict_if_present(wrapped, "module.")
    assert list(wrapped) == list(plain) and dict(wrapped._metadata) == dict(plain._metadata)


@pytest.mark.parametrize("make", [lambda: nn.MultiheadAttention(4, 2), lambda: nn.TransformerEncoderLayer(4, 2, 8),
                                  lambda: nn.TransformerDecoderLayer(4, 2, 8), lambda: nn.Transformer(4, 2, 1, 1, 8)])
def test_whole_modules_of_attention_in_files(make):
    m, file = make(), io.BytesIO()
    ingot.save(m, file)
    file.seek(0)
    back = ingot.load(file)
    assert type(back) is type(m) and all((a == b).all() for a, b in zip(m.parameters(), back.parameters()))


@pytest.mark.parametrize(("size", "shape"), [(ingot.Size([]), ()), (ingot.Size([0]), (0,)), (ingot.Size([2, 3]), (2, 3))])
def test_new_takes_the_size_of_a_tensor_without_dims(size, shape):
    x = ingot.ones(2, dtype=ingot.float64)
    assert tuple(x.new(size).shape) == tuple(x.new(size=size).shape) == shape and x.new(size).dtype is ingot.float64
    assert tuple(x.new().shape) == (0,)


STEPS = {"threshold": lambda x: F.threshold(x, 0.1, 20.0), "hardshrink": lambda x: F.hardshrink(x, 0.1),
         "softshrink": lambda x: F.softshrink(x, 0.1)}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("dtype", [ingot.float16, ingot.bfloat16, ingot.float32, ingot.float64])
@pytest.mark.parametrize("traced", [False, True])
def test_gradients_flow_through_passed_values_only(name, dtype, traced):
    """This includes 16-bit floats next to a bound that they cannot represent."""
    bound = ingot.tensor(0.1).to(dtype)
    near = ingot.stack([bound + k * ingot.finfo(dtype).eps / 16 for k in (-2, -1, 0, 1, 2)]).to(dtype)
    for x in (near, near.repeat(700)):
        x = x.detach().requires_grad_()
        y = (ingot.jit.trace(STEPS[name]) if traced else STEPS[name])(x)
        y.sum().backward()
        through = (y != 0) & (y != 20)
        np.testing.assert_array_equal(x.grad.bool().numpy(), through.numpy())


@pytest.mark.parametrize("clip", [nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_])
def test_clipping_nothing_is_told(clip, recwarn):
    layer = nn.Linear(2, 2)
    layer(ingot.ones(1, 2)).sum().backward()
    parameters = layer.parameters()
    clip(parameters, 1.0)
    clip([], 1.0)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="at its end, so no gradient is clipped") as warned:
        clip(parameters, 1.0)
    assert warned[0].filename == __file__


@pytest.mark.parametrize("causal", [False, True])
def test_attention_over_vectors_of_nothing_is_a_mean(causal):
    q, v = ingot.zeros(1, 2, 3, 0, requires_grad=True), ingot.arange(6.0).reshape(1, 1, 3, 2).expand(1, 2, 3, 2)
    y = F.scaled_dot_product_attention(q, q, v, is_causal=causal)
    y.sum().backward()
    rows = [[0, 1], [1, 2], [2, 3]] if causal else [[2, 3]] * 3
    np.testing.assert_allclose(y.detach().numpy(), [[rows, rows]], rtol=1e-6)
    assert tuple(q.grad.shape) == (1, 2, 3, 0)


class Doubled(nn.Module):
    def forward(self, w):
        return ingot.cat([w, w], 1)


def with_data(w):
    m = nn.Linear(4, 2)
    m.weight.data = w
    return m


def with_attribute(in_features):
    m = nn.Linear(4, 2)
    m.in_features = in_features
    return m


LINEAR = {      # how a linear layer is made, and its weight in the message for an input of five columns
    "as it is": (lambda: nn.Linear(4, 2), "float32[2, 4] takes 4"),
    "the data of its weight replaced": (lambda: with_data(ingot.ones(2, 6)), "float32[2, 6] takes 6"),
    "another attribute": (lambda: with_attribute(6), "float32[2, 4] takes 4"),
    "pruned": (lambda: nn.utils.prune.l1_unstructured(nn.Linear(4, 2), "weight", 0.5), "float32[2, 4] takes 4"),
    "parametrised": (lambda: nn.utils.parametrize.register_parametrization(nn.Linear(4, 2), "weight", Doubled(), unsafe=True),
                     "float32[2, 8] takes 8"),
    "quantised": (lambda: ingot.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 2))), "int8[2, 4] takes 4"),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_layers_name_the_weight_that_computes(name):
    make, text = LINEAR[name]
    with pytest.raises(ValueError, match=r"of float32\[3, 5\]: its last size is 5, but the weight " + re.escape(text)):
        make()(ingot.ones(3, 5))
