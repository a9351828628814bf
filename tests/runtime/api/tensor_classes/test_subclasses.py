"""Subclasses of Tensor: classes of results, dispatch, histories, copies, traces, errors."""

import copy
import pickle

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
import private_names  # noqa: F401
from ingot import jit, nn, overrides

Tensor = ingot.Tensor


class Kept(Tensor):
    """Subclass without members."""


class Finer(Kept):
    """Subclass of a subclass."""


class Noted(Tensor):
    """Subclass with an attribute, and a log of calls."""

    calls: list = []
    handled: dict = {}

    @staticmethod
    def __new__(cls, data, note, *args, **kwargs):
        return super().__new__(cls, data, *args, **kwargs)

    def __init__(self, data, note):
        self.note = note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func.__name__, types))
        if func in cls.handled:
            return cls.handled[func](*args, **(kwargs or {}))
        found = super().__torch_function__(func, types, args, kwargs)
        if isinstance(found, Noted):
            found.note = next((a.note for a in args if isinstance(a, Noted)), None)
        return found


class Silent(Tensor):
    """Subclass whose operators return plain tensors."""

    __torch_function__ = ingot._C._disabled_torch_function_impl


class Refusing(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


def randn_of_class(*shape):
    return ingot.randn(*shape).as_subclass(Kept)


RESULTS = {
    "+": lambda a, x: a + x,
    "number +": lambda a, x: 2 + a,
    "plain +": lambda a, x: x + a,
    "@": lambda a, x: a @ x.T,
    "-": lambda a, x: -a,
    "plain @": lambda a, x: x @ a.T,
    "==": lambda a, x: x == a,
    "method": lambda a, x: a.sum(0),
    "method of a plain one": lambda a, x: x.sub(a),
    "late method of a plain one": lambda a, x: x.addcmul(a, x),
    "function": lambda a, x: ingot.add(x, a),
    "keyword": lambda a, x: ingot.add(x, other=a),
    "list": lambda a, x: ingot.stack([x, a]),
    "functional": lambda a, x: F.softmax(a, 1),
    "linalg": lambda a, x: ingot.linalg.norm(a),
    "late": lambda a, x: a.cumsum(0),
    "index": lambda a, x: a[0, :2],
    "T": lambda a, x: a.T,
    "in place": lambda a, x: a.add_(1),
    "property": lambda a, x: a.data,
    "clone": lambda a, x: a.clone(),
    "unpacked": lambda a, x: list(a)[1],
    "several": lambda a, x: a.split(1)[0],
    "named": lambda a, x: a.max(0).indices,
    "twin": lambda a, x: ingot.dropout(a, 0.5, True),
    "module": lambda a, x: nn.LayerNorm(4)(a),
    "module of a function": lambda a, x: nn.Sequential(nn.ReLU(), nn.Dropout(0.5), nn.Softmax(-1))(a),
    "detach": lambda a, x: a.detach(),
    "contiguous": lambda a, x: a.contiguous(),
    "to": lambda a, x: a.to(ingot.float64),
    "fft": lambda a, x: ingot.fft.fft(a).real,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_of_the_class_and_have_the_values(name):
    a, x = randn_of_class(3, 4), ingot.randn(3, 4)
    plain = a.as_subclass(Tensor).clone()
    assert type(plain) is Tensor
    ingot.manual_seed(1)
    got = RESULTS[name](a, x)
    ingot.manual_seed(1)
    want = RESULTS[name](plain, x)
    assert type(got) is Kept and type(want) is Tensor and np.array_equal(got.numpy(force=True), want.numpy(force=True))


def test_results_that_are_no_tensors_keep_their_type():
    a = randn_of_class(2, 3)
    assert a.shape == (2, 3) and type(a.tolist()) is list and type(a.sum().item()) is float and a.dtype is ingot.float32
    assert type(a.numpy()) is np.ndarray and type(ingot.tensor(a)) is Tensor and ingot.is_tensor(a) and isinstance(a, Tensor)
    assert type(a.max(0)) is type(ingot.ones(2, 3).max(0))


def test_the_finest_class_wins():
    a, b = randn_of_class(3), ingot.randn(3).as_subclass(Finer)
    assert type(a + b) is type(b + a) is type(ingot.add(a, b)) is type(ingot.stack([a, b])) is Finer


def test_histories_go_through():
    w = ingot.randn(3, 4, requires_grad=True)
    a = w.as_subclass(Kept)
    loss = (a * a).sum()
    assert type(loss) is Kept and not a.is_leaf
    loss.backward()
    assert type(w.grad) is Tensor and w.grad.allclose(2 * w)
    leaf = randn_of_class(3).requires_grad_()
    (leaf * 3).sum().backward()
    assert leaf.is_leaf and type(leaf.grad) is Kept and leaf.grad.tolist() == [3, 3, 3]
    found, = ingot.autograd.grad((leaf ** 2).sum(), leaf)
    assert found.allclose(2 * leaf)


def test_a_view_shares_memory_and_history():
    x = ingot.zeros(3)
    a = x.as_subclass(Kept)
    a += 1
    assert x.tolist() == [1, 1, 1] and type(x) is Tensor
    y = ingot.zeros(3).add_(ingot.ones(3, requires_grad=True))
    b = y.as_subclass(Kept)
    b.mul_(3)
    assert y.tolist() == [3, 3, 3] and y.grad_fn is not None


def test_functions_dispatch_to_the_class():
    Noted.calls.clear()
    a = Noted([1.0, 2.0], "mine")
    assert a.tolist() == [1, 2] and a.note == "mine" and repr(a) == "Noted([1., 2.])"
    Noted.calls.clear()
    assert (a + 1).note == (ingot.ones(2) * a).note == F.relu(a).note == ingot.exp(a).note == "mine"
    assert [name for name, _ in Noted.calls] == ["add", "mul", "relu", "exp"]
    assert {types for _, types in Noted.calls} == {(Noted,)}
    Noted.handled[ingot.exp] = lambda x: "handled"
    try:
        assert ingot.exp(a) == a.exp() == "handled" and type(ingot.log(a)) is Noted
        Noted.handled[Tensor.add] = lambda x, y: "added"        # the same as ingot.add
        assert ingot.ones(2).add(a) == a.add(1) == ingot.add(a, 1) == a + 1 == "added" and type(ingot.sub(a, 1)) is Noted
    finally:
        Noted.handled.clear()
    with ingot._C.DisableTorchFunctionSubclass():
        assert type(a + 1) is Tensor and not overrides.has_torch_function((a,))
    assert overrides.has_torch_function((a,)) and not overrides.has_torch_function((ingot.ones(1),))


def test_methods_may_be_replaced():
    class Doubled(Tensor):
        def add(self, other):
            return super().add(other) * 2

    a = ingot.ones(2).as_subclass(Doubled)
    assert a.add(1).tolist() == [4, 4] and type(a.add(1)) is Doubled and isinstance(a, Tensor)


def test_other_answers():
    silent, refusing = ingot.ones(2).as_subclass(Silent), ingot.ones(2).as_subclass(Refusing)
    assert type(silent + 1) is type(F.relu(silent)) is type(ingot.stack([silent, silent])) is Tensor
    with pytest.raises(TypeError, match="no class among Refusing knows relu"):
        F.relu(refusing)


def test_a_function_of_the_users_hands_over():
    def twice(x):
        if overrides.has_torch_function_unary(x):
            return overrides.handle_torch_function(twice, (x,), x)
        assert not overrides.has_torch_function_unary(x)
        return ingot.add(x, x)

    assert type(twice(randn_of_class(3))) is Kept and type(twice(ingot.ones(3))) is Tensor


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
def test_copies_keep_class_and_attributes(make):
    a = Noted([1.0, 2.0], "mine")
    b = make(a)
    assert type(b) is Noted and b.note == "mine" and b.tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(F.relu)) is not None and pickle.loads(pickle.dumps(ingot.exp))(ingot.zeros(1)).item() == 1


def test_make_subclass():
    class Weight(nn.Parameter):
        pass

    x = ingot.ones(3)
    a, w = Tensor._make_subclass(Kept, x), Tensor._make_subclass(Weight, x, True)
    assert type(a) is Kept and not a.requires_grad and type(w) is Weight and w.requires_grad and w.is_leaf
    assert type(w + 1) is Tensor
    net = nn.Linear(3, 1)
    net.scale = w
    assert "scale" in dict(net.named_parameters())
    x.zero_()
    assert a.tolist() == w.tolist() == [0, 0, 0]


def test_parameter_classes_may_dispatch():
    class Scaled(nn.Parameter):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with ingot._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    seen: list = []
    net = nn.Linear(3, 2)
    net.weight = Scaled(ingot.ones(2, 3))
    w = net.weight
    assert type(w) is Scaled and isinstance(w, nn.Parameter) and w.requires_grad and "weight" in dict(net.named_parameters())
    assert type(w * 2) is type(w.sum()) is type(net(ingot.ones(1, 3))) is Tensor and seen == ["mul", "sum", "linear"]
    net(ingot.ones(1, 3)).sum().backward()
    assert w.grad.tolist() == [[1] * 3] * 2 and type(copy.deepcopy(w)) is Scaled


OWNED = {"parameter": nn.Parameter, "buffer": nn.Buffer}


@pytest.mark.parametrize("owned", OWNED.values(), ids=OWNED)
@pytest.mark.parametrize("kind", [Kept, Finer])
def test_parameters_and_buffers_keep_their_class(owned, kind):
    data = ingot.ones(2, 2).as_subclass(kind)
    x = owned(data)
    again = owned(x)
    for y in (x, again, copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert isinstance(y, owned) and isinstance(y, kind) and y.requires_grad == (owned is nn.Parameter)
        assert type(y).__name__ == kind.__name__ and y.tolist() == [[1, 1], [1, 1]] and y.is_leaf
    for made in (x * 2, 2 * x, x.detach(), x.clone(), x[0], ingot.stack([x, x]), F.linear(ingot.ones(1, 2), x), x.data):
        assert type(made) is kind and not isinstance(made, owned)
    assert x.data_ptr() == again.data_ptr() == data.data_ptr() and x.T.shape == (2, 2)


def test_modules_train_parameters_of_a_class():
    net = nn.Linear(2, 2)
    net.weight = nn.Parameter(ingot.ones(2, 2).as_subclass(Kept))
    opt = ingot.optim.SGD(net.parameters(), 0.5)
    out = net(ingot.ones(1, 2))
    out.sum().backward()
    opt.step()
    assert type(out) is Kept and net.weight.tolist() == [[0.5, 0.5]] * 2 and len(list(net.parameters())) == 2
    for changed in (net.double(), net.float(), copy.deepcopy(net)):
        assert isinstance(changed.weight, nn.Parameter) and isinstance(changed.weight, Kept) and changed.weight.requires_grad
    net.load_state_dict({"weight": ingot.zeros(2, 2), "bias": ingot.zeros(2)})
    assert isinstance(net.weight, Kept) and not net.weight.any()


def test_dispatch_gets_the_class_of_a_parameter():
    w = nn.Parameter(Noted(ingot.ones(2), "n"))
    Noted.calls.clear()
    found = (w + 1).sum()
    assert [name for name, _ in Noted.calls] == ["add", "sum"] and all(types == (Noted,) for _, types in Noted.calls)
    assert w.note == found.note == "n" and type(found) is Noted


def test_a_parameter_needs_a_class_that_keeps_itself():
    class Leaving(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with ingot._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match=r"detach\(\) that gives one"):
        nn.Parameter(ingot.ones(2).as_subclass(Leaving))


def test_traces_take_no_classes():
    fn = jit.trace(lambda t: t * 2)
    x = ingot.ones(3)
    assert fn(x).tolist() == fn(x).tolist() == [2, 2, 2]
    with pytest.raises(jit.TraceError, match="makes a tensor of the class Kept"):
        fn(randn_of_class(3))
    inner = jit.trace(lambda t: t.as_subclass(Tensor) * 2)
    a = randn_of_class(3)
    for _ in range(3):
        assert inner(a).equal(a.as_subclass(Tensor) * 2)
    assert inner.stats()["compiles"] == 1 and fn(x).tolist() == [2, 2, 2]


@pytest.mark.parametrize("call, kind, words", [
    (lambda: ingot.ones(2).as_subclass(int), TypeError, "takes Tensor or a class that derives from it"),
    (lambda: ingot.ones(2).as_subclass(3), TypeError, "got 3"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_tensors_of_a_class_stand_in_sets():
    a, b = randn_of_class(2), randn_of_class(2)
    assert {a, b, a} == {b, a} and {a: 1}[a] == 1 and hash(a) != hash(b) and a._cdata != b._cdata


def test_slots_are_refused():
    class Slotted(Tensor):
        __slots__ = ("extra",)

    with pytest.raises(TypeError, match="has no __slots__"):
        ingot.ones(2).as_subclass(Slotted)


def test_a_class_with_torch_dispatch_warns():
    with pytest.warns(UserWarning, match="Low.__torch_dispatch__ is never asked"):
        class Low(ingot.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                raise AssertionError

    assert type(ingot.ones(2).as_subclass(Low) + 1) is Low


class Measured(Silent):
    """Subclass with its own constructor, which also takes keywords."""

    def __new__(cls, data, *, unit="m", requires_grad=False):
        made = Tensor._make_subclass(cls, Tensor(data), requires_grad)
        made.unit = unit
        return made


class MeasuredWeight(Measured, ingot.nn.Parameter):
    def __new__(cls, data, unit):
        return Measured.__new__(cls, data, unit=unit, requires_grad=True)


def test_a_class_without_dispatch_constructs_itself():
    length = Measured([1.0, 2.0], unit="km")
    assert type(length) is Measured and length.unit == "km" and length.tolist() == [1.0, 2.0]
    assert type(length * 2) is Tensor and type(ingot.stack([length])) is Tensor
    layer = ingot.nn.Module()
    layer.weight = MeasuredWeight([3.0], "s")
    optimizer = ingot.optim.SGD(layer.parameters(), lr=1.0)
    (layer.weight * length).sum().backward()
    optimizer.step()
    assert [type(p) for p in layer.parameters()] == [MeasuredWeight] and layer.weight.unit == "s"
    assert layer.weight.tolist() == [0.0]
