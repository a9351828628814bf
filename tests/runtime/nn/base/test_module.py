"""Module: attributes, traversal, state dicts, copies, structure."""

import copy
import importlib
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import ingot
from ingot import nn
from ingot.runtime.state.structure import Structure
from small_modules import Block, names


def test_registration_hooks_receive_parameters_and_modules():
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
    with pytest.raises(TypeError, match="must be a Module"):
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
    message = str(e.value)
    assert 'Missing key(s) in state_dict: "scale"' in message
    assert 'Unexpected key(s) in state_dict: "linear.more"' in message
    assert "size mismatch for linear.bias" in message and "[5]" in message and "[2]" in message
    del state["linear.bias"]
    found = m.load_state_dict(state, strict=False)
    assert found.missing_keys == ["scale", "linear.bias"] and found.unexpected_keys == ["linear.more"]


@pytest.mark.parametrize("around, message", [
    (lambda state: {"epoch": 3, "model": state}, "state_dict['model']"),
    (lambda state: {"module." + k: v for k, v in state.items()}, "{k.removeprefix('module.'): v for k"),
    (lambda state: {"net.0." + k: v for k, v in state.items()}, "k.removeprefix('net.0.')"),
])
def test_a_state_under_other_names_is_found(around, message):
    m = Block()
    with pytest.raises(RuntimeError) as e:
        m.load_state_dict(around(m.state_dict()))
    assert message in str(e.value)
    with pytest.raises(RuntimeError) as e:
        m.load_state_dict({"a.scale": ingot.ones(2), "b": {"c": 1}})
    assert "removeprefix" not in str(e.value) and "load that" not in str(e.value)


def test_missing_attributes_raise_errors_with_suggestions():
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
            return {"seen": self.count}

        def set_extra_state(self, state):
            self.count = state["seen"]

    a, b = Counted(1, 1), Counted(1, 1)
    a.count = 7
    a.register_state_dict_post_hook(lambda m, state, prefix, local: state.__delitem__("bias"))
    b.register_load_state_dict_pre_hook(lambda m, state, *_: state.__setitem__("bias", ingot.ones(1)))
    b.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    b.load_state_dict(a.state_dict())
    assert b.count == 7 and b.bias.item() == 1


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
    assert Structure.version == before      # a copy with the mode changes nothing that traced functions check


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
@pytest.mark.parametrize(("value", "message"), [(None, "got None; did the layer before"),
                                             ([[1.0]], "got list; make it a tensor")])
def test_layers_refuse_other_arguments_than_tensors(name, value, message):
    layer, argument = LAYERS[name]
    with pytest.raises(TypeError, match=f"{name} takes a tensor as {argument}, {message}"):
        layer(value)


def test_errors_show_dtype_and_shape_of_arrays():
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
    with pytest.raises(ingot.IngotError, match=r"the states \(h_0, c_0\), got 1"):     # None is not the reason
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


def _record_keys(state_dict, *rest):
    state_dict["0.weight"] = state_dict.pop("w")


def test_modules_with_hooks_of_loading_are_pickled():
    net = nn.Sequential(nn.Linear(1, 1, bias=False))
    net._register_load_state_dict_pre_hook(_record_keys)
    again = pickle.loads(pickle.dumps(net))
    again.load_state_dict({"w": ingot.full((1, 1), 3.0)})
    assert again[0].weight.item() == 3


def test_new_parameters_have_no_attributes_to_copy():
    for p in (nn.Linear(2, 3).weight, nn.Parameter(ingot.zeros(2)), nn.Parameter(ingot.zeros(2).detach(), requires_grad=False)):
        assert vars(p) == {} and type(p)(p.detach().clone(), **vars(p), requires_grad=False).shape == p.shape
    part = nn.Parameter(ingot.arange(6.0)[4:6])
    assert part.storage_offset() == 4
