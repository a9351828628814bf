"""Containers of modules and of parameters, buffers as attributes, lazy modules."""
import copy
import io
import pickle
from collections import OrderedDict

import pytest

import ingot
import ingot.nn.functional as F
from ingot import nn
from small_modules import names


def test_sequential_is_a_list():
    m = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    assert len(m) == 3 and isinstance(m[-1], nn.Linear) and len(m[1:]) == 2
    m.insert(1, nn.Tanh())
    assert [type(x).__name__ for x in m] == ["Linear", "Tanh", "ReLU", "Linear"]
    del m[0]
    assert list(m._modules) == ["0", "1", "2"]
    m += nn.Sequential(nn.Sigmoid())
    assert isinstance(m.pop(3), nn.Sigmoid) and len(m) == 3
    with pytest.raises(IndexError, match="out of range"):
        _ = m[7]
    for layers in (m, nn.ModuleList(m), nn.ParameterList([ingot.ones(1)])):
        with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
            _ = layers["0"]


def test_inserting_and_removing_numbers_modules_anew():
    m = nn.Sequential(OrderedDict(a=nn.Linear(1, 2), b=nn.ReLU()))
    m.insert(1, nn.Tanh())
    assert [(name, type(x).__name__) for name, x in m.named_children()] == [("0", "Linear"), ("1", "Tanh"), ("2", "ReLU")]
    with pytest.raises(IndexError, match="index 4 is out of range for 3 entries"):
        m.insert(4, nn.Tanh())
    m = nn.Sequential(OrderedDict(a=nn.Linear(1, 2), b=nn.ReLU(), c=nn.Tanh()))
    del m[1]
    assert names(m.named_parameters()) == ["0.weight", "0.bias"] and [type(x) for x in m] == [nn.Linear, nn.Tanh]


def test_module_list_and_dict():
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers.append(nn.ReLU())
    layers.extend([nn.Tanh()])
    assert len(layers) == 3 and len(layers[1:]) == 2 and names(layers.named_parameters()) == ["0.weight", "0.bias"]
    by_name = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    assert "a" in by_name and list(by_name) == ["a", "b"]
    by_name.pop("a")
    assert list(by_name.keys()) == ["b"]


def test_subclasses_of_containers_use_their_methods():
    layers = nn.ModuleList([nn.Linear(1, 1), nn.BatchNorm1d(1)])
    assert [layers._get_abs_string_index(i) for i in (0, -1)] == ["0", "1"]
    with pytest.raises(IndexError, match="out of range"):
        layers._get_abs_string_index(2)
    assert [name for name, _ in layers._named_members(lambda m: m._buffers.items(), prefix="net")] == [
        "net.1.running_mean", "net.1.running_var", "net.1.num_batches_tracked"]
    made = layers._named_members(lambda m: ((str(i), ingot.ones(1)) for i in range(4)), recurse=False)
    assert [name for name, _ in made] == list("0123")


@pytest.mark.parametrize("function", [ingot.relu, F.relu, ingot.conv2d, F.gelu, ingot.sum], ids=lambda f: f.__name__)
def test_a_function_of_tensors_in_a_class_is_no_method(function):
    class Applied(nn.Module):
        apply_it = function

        def forward(self, *args, **options):
            return self.apply_it(*args, **options)

    x = ingot.randn(1, 1, 3, 3)
    given = {"weight": ingot.ones(1, 1, 2, 2)} if function.__name__ == "conv2d" else {}
    assert Applied()(x, **given).equal(function(x, **given))


def test_parameter_containers():
    values = nn.ParameterList([ingot.ones(1), nn.Parameter(ingot.zeros(2))])
    values.append(ingot.ones(3))
    assert len(list(values.parameters())) == 3 and len(values) == 3 and values[-1].shape == (3,)
    by_name = nn.ParameterDict({"a": ingot.ones(1)})
    by_name["b"] = nn.Parameter(ingot.ones(2))
    assert sorted(by_name.keys()) == ["a", "b"] and names(by_name.named_parameters()) == ["a", "b"]
    assert by_name.pop("a").shape == (1,) and len(by_name) == 1
    sorted_ones = nn.ParameterDict({"b": nn.Parameter(ingot.ones(2)), "a": "text"})        # as PyTorch does with a plain dict
    assert list(sorted_ones) == ["a", "b"]
    assert list(nn.ParameterDict([("b", ingot.ones(1)), ("a", 1)]).copy() | {"d": 1, "c": 2}) == ["b", "a", "c", "d"]
    assert repr(sorted_ones) == ("ParameterDict(\n    (a): Object of type: str\n"
                                 "    (b): Parameter containing: [ingot.float32 of size 2]\n)")


def test_buffers_as_attributes():
    m = nn.Module()
    m.saved = nn.Buffer(ingot.ones(1))
    m.passing = nn.Buffer(ingot.ones(1), persistent=False)
    assert names(m.named_buffers()) == ["saved", "passing"] and list(m.state_dict()) == ["saved"]


def test_a_lazy_module_takes_its_size_from_the_first_input():
    m = nn.LazyLinear(4)
    assert m.has_uninitialized_params()
    assert m(ingot.ones(2, 3)).shape == (2, 4)
    assert type(m) is nn.Linear and m.in_features == 3 and m.weight.shape == (4, 3)
    assert m.weight.detach().numpy().std() > 0


NEEDS_A_SHAPE = {
    "shape": lambda w: w.shape, "size": lambda w: w.size(), "count": lambda w: w.numel(), "dims": lambda w: w.dim(),
    "length": len, "operator": lambda w: w + 1, "function": ingot.sum, "index": lambda w: w[0], "copy": lambda w: w.clone(),
    "init": nn.init.xavier_uniform_, "vector": lambda w: nn.utils.parameters_to_vector([w]),
    "loaded": lambda w: nn.Linear(3, 4).load_state_dict({"weight": w, "bias": ingot.zeros(4)})}


@pytest.mark.parametrize("name", NEEDS_A_SHAPE)
def test_a_tensor_without_a_shape_is_asked_for_one(name):
    with pytest.raises((ValueError, RuntimeError), match="no shape"):
        NEEDS_A_SHAPE[name](nn.LazyLinear(4).weight)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda m: through_a_file(m)],
                         ids=["copied", "pickled", "saved"])
def test_lazy_modules_are_saved_uninitialised(again):
    m = nn.LazyLinear(4).to(ingot.float64).requires_grad_(False)
    found = again(m)
    state = again(m.state_dict())
    assert type(state["weight"]) is type(found.weight) is nn.UninitializedParameter
    for layer in (found, nn.LazyLinear(4).to(ingot.float64).requires_grad_(False)):
        layer.load_state_dict(state)
        assert layer.weight.dtype is ingot.float64 and layer.weight.device == m.weight.device and layer.weight.is_leaf
        layer(ingot.ones(2, 3, dtype=ingot.float64))
        assert layer.weight.shape == (4, 3) and not layer.weight.requires_grad
    assert m.has_uninitialized_params()


def through_a_file(x):
    file = io.BytesIO()
    ingot.save(x, file)
    file.seek(0)
    return ingot.load(file)


@pytest.mark.parametrize("dtype", [None, ingot.float64, ingot.float16])
@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_uninitialised_parameters_have_a_dtype_and_a_device(kind, dtype):
    t = kind(device="cpu", dtype=dtype)
    assert nn.parameter.is_lazy(t) and t.dtype is (dtype or ingot.float32) and t.device.type == "cpu"
    assert t.requires_grad == (kind is nn.UninitializedParameter) and kind(True).requires_grad and not kind(False).requires_grad
    t.materialize((2, 3))
    assert t.shape == (2, 3) and t.dtype is (dtype or ingot.float32) and not nn.parameter.is_lazy(t)
    assert kind is nn.UninitializedParameter or not kind(persistent=False).persistent


class Scaled(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """A factor for each column of the first input."""

    def __init__(self, gives=True):
        super().__init__()
        self.gives, self.factor = gives, nn.UninitializedParameter()

    def initialize_parameters(self, x):
        if self.gives:
            self.factor.materialize(x.shape[1:])
            nn.init.ones_(self.factor)

    def forward(self, x):
        return x * self.factor


def test_lazy_modules_of_the_users():
    m = Scaled()
    assert m.has_uninitialized_params() and m(ingot.ones(2, 3)).shape == (2, 3) and not m.has_uninitialized_params()
    assert type(m) is Scaled and m(2 * ingot.ones(1, 3)).tolist() == [[2, 2, 2]]
    with pytest.raises(ValueError, match="without a shape"):
        Scaled(gives=False)(ingot.ones(2, 3))


@pytest.mark.parametrize("gain", [1.0, 2.5])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (6, 2, 2), (2, 3, 3)], ids=str)
def test_orthogonal_matrices_are_drawn_evenly(shape, gain):
    """The factor whose R has a positive diagonal is spread evenly (Mezzadri, 2007)."""
    made = nn.init.orthogonal_(ingot.empty(shape, dtype=ingot.float64), gain, generator=ingot.Generator().manual_seed(3))
    q = made.reshape(shape[0], -1) / gain
    q = q if q.shape[0] >= q.shape[1] else q.T
    assert ingot.allclose(q.T @ q, ingot.eye(q.shape[1], dtype=q.dtype), atol=1e-6)
    drawn = ingot.randn(*q.shape, generator=ingot.Generator().manual_seed(3)).double()
    r = q.T @ drawn
    assert (r.diagonal() > 0).all() and ingot.allclose(r.tril(-1), ingot.zeros_like(r), atol=1e-5)
