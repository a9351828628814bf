"""Module: attributes, walking, state dicts, hooks, copies, containers, laziness."""

import copy
import importlib
import io
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot import jit, nn
from ingot.ir.errors import AutogradError, IngotError
from ingot.runtime.structure import Structure


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.scale = nn.Parameter(ingot.ones(2))
        self.register_buffer("calls", ingot.zeros((), dtype=ingot.int64))
        self.register_buffer("scratch", ingot.zeros(2), persistent=False)

    def forward(self, x, factor=1.0):
        return self.linear(x) * self.scale * factor


def names(pairs):
    return [n for n, _ in pairs]


def test_hooks_hear_what_modules_are_given():
    seen, place = [], importlib.import_module("ingot.nn.modules.module")
    other = nn.Parameter(ingot.zeros(2))

    def hear(module, name, value):
        seen.append((type(module).__name__, name, type(value).__name__))
        return other if name == "exchanged" else None

    with (place.register_module_parameter_registration_hook(hear), place.register_module_buffer_registration_hook(hear),
          place.register_module_module_registration_hook(hear)):
        net = nn.Module()
        net.exchanged = nn.Parameter(ingot.ones(2))
        net.register_parameter("none", None)
        net.register_buffer("kept", ingot.ones(1))
        net.child = nn.ReLU()
        net.add_module("second", nn.ReLU())
    net.after = nn.ReLU()
    assert net.exchanged is other and seen == [("Module", "exchanged", "Parameter"), ("Module", "kept", "Tensor"),
                                               ("Module", "child", "ReLU"), ("Module", "second", "ReLU")]


def test_attributes_go_to_their_tables():
    m = Block()
    assert names(m.named_parameters()) == ["scale", "linear.weight", "linear.bias"]
    assert names(m.named_buffers()) == ["calls", "scratch"]
    assert names(m.named_modules()) == ["", "linear"]
    m.scale = None
    assert m.scale is None and "scale" not in names(m.named_parameters())
    del m.linear
    assert not hasattr(m, "linear")
    with pytest.raises(AttributeError, match="no attribute 'linear'"):
        _ = m.linear
    with pytest.raises(TypeError, match="cannot assign Tensor as parameter 'scale'"):
        m.scale = ingot.ones(2)


class Named:
    def __init__(self, name="none", **others):
        super().__init__(**others)
        self.name = name


@pytest.mark.parametrize("calls", [False, True])
def test_classes_behind_module_are_initialised_if_asked(calls):
    class Both(nn.Module, Named):
        call_super_init = calls

        def __init__(self):
            super().__init__(**({"name": "both"} if calls else {}))
            self.layer = nn.Linear(1, 1)

    made = Both()
    assert getattr(made, "name", None) == ("both" if calls else None) and names(made.named_parameters())[0] == "layer.weight"
    if not calls:
        with pytest.raises(TypeError, match="does not take"):
            nn.Module.__init__(made, name="both")


def test_a_module_must_be_initialised_first():
    class Early(nn.Module):
        def __init__(self):
            self.linear = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="super"):
        Early()
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_registration_checks_names():
    m = Block()
    with pytest.raises(KeyError, match="dot"):
        m.register_parameter("a.b", None)
    with pytest.raises(KeyError, match="already exists"):
        m.register_buffer("linear", None)
    with pytest.raises(TypeError, match="not a Module"):
        m.add_module("x", 3)
    with pytest.raises(ValueError, match="leaf"):
        p = nn.Parameter(ingot.ones(1))
        p._node = (p * 2)._node
        m.register_parameter("computed", p)


def test_shared_modules_and_parameters_appear_once():
    a = nn.Linear(2, 2)
    m = nn.Sequential(a, a)
    assert len(list(m.parameters())) == 2
    assert len(list(m.named_parameters(remove_duplicate=False))) == 4
    assert sorted(m.state_dict()) == ["0.bias", "0.weight", "1.bias", "1.weight"]


def test_paths_lead_to_modules_parameters_and_buffers():
    m = nn.Sequential(OrderedDict(block=Block()))
    assert m.get_submodule("block.linear") is m.block.linear
    assert m.get_parameter("block.linear.weight") is m.block.linear.weight
    assert m.get_buffer("block.calls") is m.block.calls
    m.set_submodule("block.linear", nn.Identity())
    assert isinstance(m.block.linear, nn.Identity)
    with pytest.raises(AttributeError, match="no submodule `nothing`"):
        m.get_submodule("block.nothing")


def test_a_state_dict_round_trips():
    m, other = Block(), Block()
    state = m.state_dict()
    assert list(state) == ["scale", "calls", "linear.weight", "linear.bias"]
    assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
    for (_, a), (_, b) in zip(m.named_parameters(), other.named_parameters()):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    with ingot.no_grad():
        m.scale.add_(1)
    assert state["scale"].tolist() == [2, 2], "a state dict shares memory with its module"
    assert other.scale.tolist() == [1, 1], "loading copies"


def test_a_state_dict_that_does_not_fit_is_explained():
    m = Block()
    state = m.state_dict()
    del state["scale"]
    state["linear.bias"] = ingot.zeros(5)
    state["linear.more"] = ingot.zeros(1)
    with pytest.raises(RuntimeError) as e:
        m.load_state_dict(state)
    said = str(e.value)
    assert 'Missing key(s) in state_dict: "scale"' in said
    assert 'Unexpected key(s) in state_dict: "linear.more"' in said
    assert "size mismatch for linear.bias" in said and "(5,)" in said and "(2,)" in said
    del state["linear.bias"]
    found = m.load_state_dict(state, strict=False)
    assert found.missing_keys == ["scale", "linear.bias"] and found.unexpected_keys == ["linear.more"]


@pytest.mark.parametrize("around, said", [
    (lambda state: {"epoch": 3, "model": state}, "state_dict['model']"),
    (lambda state: {"module." + k: v for k, v in state.items()}, "{k.removeprefix('module.'): v for k"),
    (lambda state: {"net.0." + k: v for k, v in state.items()}, "k.removeprefix('net.0.')"),
])
def test_a_state_under_other_names_is_found(around, said):
    m = Block()
    with pytest.raises(RuntimeError) as e:
        m.load_state_dict(around(m.state_dict()))
    assert said in str(e.value)
    with pytest.raises(RuntimeError) as e:
        m.load_state_dict({"a.scale": ingot.ones(2), "b": {"c": 1}})
    assert "removeprefix" not in str(e.value) and "load that" not in str(e.value)


def test_an_attribute_that_is_not_there_is_an_error_that_python_adds_a_suggestion_to():
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wieght'") as e:
        print(nn.Linear(2, 2).wieght)
    assert e.type is AttributeError and e.value.name == "wieght"


def test_assign_takes_the_tensors_themselves():
    m = Block()
    state = {k: v.clone() for k, v in m.state_dict().items()}
    m.load_state_dict(state, assign=True)
    with ingot.no_grad():
        state["scale"].add_(3)
    assert m.scale.tolist() == [4, 4] and isinstance(m.scale, nn.Parameter)


def test_extra_state_and_state_hooks():
    class Counted(nn.Linear):
        seen = 0

        def get_extra_state(self):
            return {"seen": self.seen}

        def set_extra_state(self, state):
            self.seen = state["seen"]

    a, b = Counted(1, 1), Counted(1, 1)
    a.seen = 7
    a.register_state_dict_post_hook(lambda m, state, prefix, local: state.__delitem__("bias"))
    b.register_load_state_dict_pre_hook(lambda m, state, *_: state.__setitem__("bias", ingot.ones(1)))
    b.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    b.load_state_dict(a.state_dict())
    assert b.seen == 7 and b.bias.item() == 1


def test_forward_hooks_see_and_replace():
    m = Block()
    x = ingot.ones(1, 3)
    plain = m(x)
    handles = [m.register_forward_pre_hook(lambda mod, args: (args[0] * 2,)),
               m.register_forward_hook(lambda mod, args, out: out + 1)]
    np.testing.assert_allclose(m(x).detach().numpy(), m.linear(x * 2).detach().numpy() + 1, rtol=1e-6)
    for h in handles:
        h.remove()
    np.testing.assert_array_equal(m(x).detach().numpy(), plain.detach().numpy())
    with m.register_forward_pre_hook(lambda mod, args, kw: (args, {"factor": 3.0}), with_kwargs=True):
        np.testing.assert_allclose(m(x, factor=1.0).detach().numpy(), plain.detach().numpy() * 3, rtol=1e-6)


def test_hooks_run_in_order_and_always_if_asked():
    m, seen = nn.Linear(1, 1), []
    m.register_forward_pre_hook(lambda *_: seen.append("second"))
    m.register_forward_pre_hook(lambda *_: seen.append("first"), prepend=True)
    m.register_forward_hook(lambda *_: seen.append("after"), always_call=True)
    with pytest.raises(IngotError):
        m(ingot.ones(1, 5))
    assert seen == ["first", "second", "after"]
    with nn.register_module_forward_hook(lambda *_: seen.append("global")):
        nn.ReLU()(ingot.ones(1))
    assert seen[-1] == "global"


def test_backward_hooks_see_and_replace_gradients():
    m = nn.Linear(2, 2, bias=False)
    seen = {}

    def after(mod, grad_input, grad_output):
        seen["input"], seen["output"] = grad_input[0].numpy().copy(), grad_output[0].numpy().copy()
        return (grad_input[0] * 10,)

    m.register_full_backward_hook(after)
    m.register_full_backward_pre_hook(lambda mod, grad_output: (grad_output[0] * 2,))
    x = ingot.ones(1, 2).requires_grad_()
    m(x).sum().backward()
    w = m.weight.detach().numpy()
    np.testing.assert_allclose(seen["output"], [[2, 2]])
    np.testing.assert_allclose(seen["input"], 2 * w.sum(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), 20 * w.sum(0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(m.weight.grad.numpy(), 2 * np.ones((2, 2)))


def test_backward_hooks_see_a_gradient_for_each_tensor_that_went_in():
    class Weighted(nn.Module):
        def forward(self, x, weight, unused, name):
            return x * weight

    m, seen = Weighted(), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.extend(gi))
    x, unused = ingot.ones(2, requires_grad=True), ingot.ones(3, requires_grad=True)
    m(x, ingot.full((2,), 5.0), unused, "name").sum().backward()
    assert [None if g is None else g.tolist() for g in seen] == [[5, 5], [0, 0], [0, 0, 0], None]


def test_backward_hooks_copy_nothing():
    """Who compares what one layer returned with what the next one got finds the same memory."""
    net = nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1))
    given, returned = [], []
    for layer in net:
        layer.register_forward_hook(lambda mod, args, out: given.append(args[0]))
        layer.register_forward_hook(lambda mod, args, out: returned.append(out))
        layer.register_full_backward_hook(lambda mod, gi, go: None)
    x = ingot.ones(4, 2, requires_grad=True)
    y = net(x)
    assert [t.data_ptr() for t in (*given, y)] == [t.data_ptr() for t in (x, *returned)]
    assert y.grad_fn.name() == "BackwardHookFunctionBackward"


@pytest.mark.parametrize("wrap", [lambda fn: fn, jit.trace])
def test_layers_with_backward_hooks_that_write_in_place(wrap):
    def life(hooked):
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(inplace=True), nn.Linear(3, 3), nn.Hardtanh(inplace=True))
        for i, p in enumerate(net.parameters()):
            p.detach().copy_(ingot.linspace(-1, 1, p.numel()).view_as(p) / (i + 1))
        seen = []
        for layer in net if hooked else ():
            layer.register_full_backward_hook(lambda mod, gi, go: None)

        def step(x):
            net(x).square().sum().backward()

        step = wrap(step) if hooked else step
        for i in range(3):
            x = (ingot.arange(8.0).view(4, 2) - i).requires_grad_()
            step(x)
            seen.append([t.grad.tolist() for t in (x, *net.parameters())])
        return seen

    assert life(True) == life(False)


def test_views_of_what_a_layer_with_backward_hooks_returns_are_not_written_to():
    layer = nn.Sigmoid()
    layer.register_full_backward_hook(lambda mod, gi, go: None)
    y = layer(ingot.ones(2, requires_grad=True))
    part = y[1:]
    for t in (part, y):
        with pytest.raises(AutogradError, match="full backward hooks"):
            t.mul_(2)


def test_what_a_layer_with_backward_hooks_returns_may_be_written_to():
    x = ingot.tensor([1.0, 2.0], requires_grad=True)
    layer, seen = ingot.nn.Sigmoid(), []
    layer.register_forward_hook(lambda mod, args, out: seen.append(out))
    layer.register_full_backward_hook(lambda mod, gi, go: seen.append(go[0]))
    layer(x).mul_(3).sum().backward()
    inside = ingot.sigmoid(x.detach())
    assert ingot.equal(seen[0], inside) and seen[1].tolist() == [3.0, 3.0]
    ingot.testing.assert_close(x.grad, 3 * inside * (1 - inside))


def test_a_backward_hook_runs_without_differentiable_inputs():
    m, seen = nn.Linear(2, 2), []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go[0].shape)))
    m(ingot.ones(1, 2)).sum().backward()
    assert seen == [((None,), (1, 2))]


def test_casting_keeps_the_parameters():
    m = Block()
    p = m.scale
    m.double()
    assert m.scale is p and p.dtype is ingot.float64 and m.calls.dtype is ingot.int64
    m.to(ingot.float16)
    assert m.linear.weight.dtype is ingot.float16
    m.to(ingot.ones(1))
    assert m.scale.dtype is ingot.float32
    with pytest.raises(TypeError, match="floating point"):
        m.to(ingot.int32)


def test_the_mode_is_set_by_each_childs_own_method():
    class Frozen(nn.BatchNorm1d):
        def train(self, mode=True):
            return super().train(False)

    m = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Frozen(2), nn.Dropout()))
    m.train()
    assert [c.training for c in m.modules()] == [True, True, True, False, True]
    before = Structure.version
    m.train()
    assert Structure.version == before      # what had the mode is no change that traced functions would have to look at


def test_train_eval_apply_and_zero_grad():
    m = nn.Sequential(Block(), nn.Dropout())
    assert not any(x.training for x in m.eval().modules())
    assert all(x.training for x in m.train().modules())
    seen = []
    m.apply(lambda x: seen.append(type(x).__name__))
    assert seen == ["Linear", "Block", "Dropout", "Sequential"]
    m[0](ingot.ones(1, 3)).sum().backward()
    m.zero_grad(set_to_none=False)
    assert m[0].scale.grad.tolist() == [0, 0]
    m.zero_grad()
    assert m[0].scale.grad is None
    m.requires_grad_(False)
    assert not any(p.requires_grad for p in m.parameters())


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_are_independent_and_equal(copier):
    m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    m.eval()
    other = copier(m)
    x = ingot.ones(4, 2)
    np.testing.assert_array_equal(m(x).detach().numpy(), other(x).detach().numpy())
    assert not other.training and isinstance(other[0].weight, nn.Parameter)
    with ingot.no_grad():
        other[0].weight.zero_()
    assert m[0].weight.detach().numpy().any()


def test_deepcopy_keeps_sharing():
    m = nn.Module()
    m.a = nn.Linear(2, 2)
    m.b = m.a
    other = copy.deepcopy(m)
    assert other.a is other.b and other.a is not m.a


def test_repr_shows_the_tree():
    m = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(inplace=True)))
    assert repr(m) == ("Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): Sequential(\n"
                       "    (0): ReLU(inplace=True)\n  )\n)")
    assert [repr(nn.EmbeddingBag(5, 3, padding_idx=i)) for i in (None, 2)] == [
        "EmbeddingBag(5, 3, mode='mean')", "EmbeddingBag(5, 3, mode='mean', padding_idx=2)"]


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


def test_what_classes_that_derive_from_containers_call():
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
    m.kept = nn.Buffer(ingot.ones(1))
    m.passing = nn.Buffer(ingot.ones(1), persistent=False)
    assert names(m.named_buffers()) == ["kept", "passing"] and list(m.state_dict()) == ["kept"]


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
def test_lazy_modules_are_kept_as_they_are(again):
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


def test_classes_have_the_paths_that_scripts_know():
    assert nn.modules.linear.Linear is nn.Linear
    assert nn.modules.batchnorm.BatchNorm2d is nn.BatchNorm2d
    assert importlib.import_module("ingot.nn.modules.conv").Conv2d is nn.Conv2d


def test_changes_of_structure_are_counted():
    m = nn.Sequential(nn.Linear(1, 1))
    for change in (lambda: setattr(m[0], "weight", nn.Parameter(ingot.ones(1, 1))), lambda: m.eval(),
                   lambda: m.append(nn.ReLU()), lambda: m.double(), lambda: delattr(m[0], "bias"),
                   lambda: m[0].register_buffer("b", None)):
        before = Structure.version
        change()
        assert Structure.version > before
    m[0].note = "an attribute that a function may have looked for before it was there"
    assert Structure.version > before
    before = Structure.version
    m.state_dict()
    assert Structure.version == before


LAYERS = {"Linear": (nn.Linear(3, 2), "input"), "Embedding": (nn.Embedding(3, 2), "input"), "ReLU": (nn.ReLU(), "input"),
          "BatchNorm1d": (nn.BatchNorm1d(3), "input"), "LSTM": (nn.LSTM(3, 2), "input"), "GRUCell": (nn.GRUCell(3, 2), "input"),
          "Flatten": (nn.Flatten(), "input"), "Upsample": (nn.Upsample(scale_factor=2), "input"),
          "MSELoss": (lambda x: nn.MSELoss()(ingot.ones(2), x), "target"),
          "CrossEntropyLoss": (lambda x: nn.CrossEntropyLoss()(ingot.ones(1, 2), x), "target")}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("given", "said"), [(None, "got None; did the layer before"),
                                             ([[1.0]], "got a list; make it a tensor")])
def test_layers_say_that_they_take_tensors(name, given, said):
    layer, argument = LAYERS[name]
    with pytest.raises(TypeError, match=f"{name} takes a tensor as {argument}, {said}"):
        layer(given)


def test_arrays_are_said_with_dtype_and_shape():
    with pytest.raises(TypeError, match=r"Linear takes a tensor as input, got a numpy array float32\[1, 3\]"):
        nn.Sequential(nn.Linear(3, 2))(np.ones((1, 3), "f"))


def test_errors_of_modules_of_ones_own_stay_as_they_are():
    class Own(nn.Module):
        def forward(self, x):
            return x.missing

    for given in (None, [1.0]):
        with pytest.raises(AttributeError, match="missing"):
            Own()(given)
    with pytest.raises(TypeError, match="positional argument"):
        nn.Linear(3, 2)()
    with pytest.raises(IndexError):      # not because of None, which stands for an initial state
        nn.LSTM(4, 8)(ingot.ones(3, 2, 4), ingot.ones(1, 2, 8))


@pytest.mark.parametrize("use", [lambda m: ingot.optim.SGD(m, 0.1), lambda m: nn.utils.clip_grad_norm_(m, 1.0)])
def test_a_module_is_no_list_of_parameters(use):
    with pytest.raises(TypeError, match=r"got Linear; pass its \.parameters\(\)"):
        use(nn.Linear(2, 2))


def test_losses_take_their_tensors_by_name():
    x, y = ingot.randn(4, 3), ingot.tensor([0, 1, 2, 0])
    want = nn.CrossEntropyLoss()(x, y)
    assert ingot.equal(nn.CrossEntropyLoss()(input=x, target=y), want)
    assert ingot.equal(nn.CrossEntropyLoss()(x, target=y), want)
    triplet = nn.TripletMarginLoss()
    assert ingot.equal(triplet(anchor=x, negative=x + 2, positive=x + 1), triplet(x, x + 1, x + 2))
    for wrong in ({"input": x}, {"input": x, "target": y, "labels": y}, {"input": x, "labels": y}):
        with pytest.raises(TypeError, match="CrossEntropyLoss takes the tensors input, target"):
            nn.CrossEntropyLoss()(**wrong)


def _noted(state_dict, *rest):
    state_dict["0.weight"] = state_dict.pop("w")


def test_modules_with_hooks_of_loading_are_pickled():
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    net._register_load_state_dict_pre_hook(_noted)
    again = pickle.loads(pickle.dumps(net))
    again.load_state_dict({"w": ingot.full((1, 1), 3.0)})
    assert again[0].weight.item() == 3
