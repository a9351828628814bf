"""`__torch_function__` of classes that do not derive from Tensor, and modes: order, functions, and start of dispatch."""

import inspect
import pickle
import subprocess
import sys
import threading

import pytest

import ingot
import ingot.nn.functional as F
import private_names  # noqa: F401
from ingot import jit, nn, overrides
from ingot.overrides import BaseTorchFunctionMode, TorchFunctionMode

HANDLED: dict = {}


@overrides.asks
class Stands:
    """Tensor-like: answers from a table, or returns what it was called with."""

    def __init__(self, value=2.0):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in HANDLED:
            return HANDLED[func](*args, **(kwargs or {}))
        return func, types, args, kwargs


class Refuses:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Reflects(Refuses):
    def __radd__(self, other):
        return "reflected"


class ByInstance:
    """Tensor-like with an instance method, as in old programs."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self


X, S = ingot.ones(2, 2), Stands()
CALLS = {       # the call, and the function that overrides receive
    "first": (lambda: ingot.mean(S), ingot.mean),
    "second": (lambda: ingot.matmul(X, S), ingot.matmul),
    "keyword": (lambda: ingot.add(X, other=S), ingot.add),
    "list": (lambda: ingot.cat([X, S]), ingot.cat),
    "list in a list": (lambda: ingot.block_diag(X, S), ingot.block_diag),
    "method": (lambda: X.add(S), ingot.Tensor.add),
    "late method": (lambda: X.addcmul(S, X), ingot.Tensor.addcmul),
    "in place": (lambda: X.mul_(S), ingot.Tensor.mul_),
    "+": (lambda: X + S, ingot.Tensor.add),
    "@": (lambda: X @ S, ingot.Tensor.matmul),
    "reflected": (lambda: S - X, ingot.Tensor.__rsub__),
    "+=": (lambda: X.__iadd__(S), ingot.Tensor.add_),
    "/": (lambda: X / S, ingot.Tensor.div),
    "index": (lambda: X[S], ingot.Tensor.__getitem__),
    "==": (lambda: X == S, ingot.Tensor.eq),
    "functional": (lambda: F.linear(X, S), F.linear),
    "module": (lambda: nn.Softmax(-1)(S), F.softmax),
    "module of a function": (lambda: nn.ReLU()(S), F.relu),
    "linalg": (lambda: ingot.linalg.solve(X, S), ingot.linalg.solve),
    "fft": (lambda: ingot.fft.fft(S), ingot.fft.fft),
    "special": (lambda: ingot.special.expit(S), ingot.special.expit),
    "twin": (lambda: ingot.dropout(S, 0.5, True), ingot.dropout),
}


@pytest.mark.parametrize("name", CALLS)
def test_handlers_get_the_called_function(name):
    call, function = CALLS[name]
    asked, types, args, kwargs = call()
    assert asked is function and types == (Stands,)
    assert any(S is a for a in (*args, *kwargs.values(), *(args[0] if isinstance(args[0], list) else ())))
    HANDLED[function] = lambda *args, **kwargs: "handled"
    try:
        assert call() == "handled"
    finally:
        HANDLED.clear()


def test_order_of_handlers():
    class Finer(Stands):
        pass

    assert ingot.add(S, Finer())[1] == (Finer, Stands) and ingot.add(Finer(), S)[1] == (Finer, Stands)
    assert ingot.add(Refuses(), S)[1] == (Refuses, Stands)
    kept = ingot.ones(2).as_subclass(type("Kept", (ingot.Tensor,), {}))
    assert (kept + S)[1] == (type(kept), Stands) and ingot.add(kept, S)[1] == (type(kept), Stands)
    one = ByInstance()
    assert ingot.relu(one) is one


def test_error_if_every_handler_declines():
    with pytest.raises(TypeError, match="no class among Refuses knows mean"):
        ingot.mean(Refuses())
    with pytest.raises(TypeError, match="unsupported operand"):
        X * Refuses()
    assert X + Reflects() == "reflected"
    with pytest.raises(TypeError, match="takes a class with a __torch_function__, got 3"):
        overrides.asks(3)


def test_disabled_dispatch_calls_no_handler():
    with ingot._C.DisableTorchFunctionSubclass(), pytest.raises((TypeError, AttributeError)):
        ingot.exp(S)
    assert ingot.is_tensor(S) is False and overrides.is_tensor_like(S) and overrides.has_torch_function((S,))


def test_dispatching_functions_keep_their_identity():
    assert list(inspect.signature(ingot.mean).parameters)[:2] == ["input", "dim"] and ingot.mean.__name__ == "mean"
    assert pickle.loads(pickle.dumps(ingot.mean)) is ingot.mean and pickle.loads(pickle.dumps(F.linear)) is F.linear
    assert ingot.mean.__doc__ and ingot.sum(X, axis=0).shape == (2,)


UNSEEN = """
import ingot
class Stands:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked"
for call in (lambda: ingot.add(Stands(), 1), lambda: ingot.matmul(Stands(), ingot.ones(2))):
    try:
        call()
    except TypeError as error:
        assert "write @ingot.overrides.asks over Stands" in str(error), error
    else:
        raise AssertionError
assert ingot.ones(2) + Stands() == "asked"
assert ingot.add(Stands(), 1) == ingot.matmul(Stands(), ingot.ones(2)) == "asked"
"""


def test_errors_name_the_decorator_for_unseen_classes():
    subprocess.run([sys.executable, "-c", UNSEEN], check=True)


FIRST = """
import ingot
from ingot import mean
from ingot.nn.functional import relu
table = {mean: "the mean", ingot.Tensor.matmul: "a product", relu: "relu"}
class Stands:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return table[func]
START
assert mean(Stands()) == ingot.mean(Stands()) == "the mean" and relu(Stands()) == "relu", mean(Stands())
assert ingot.ones(2, 2) @ Stands() == "a product"
"""


@pytest.mark.parametrize("start", [
    "ingot.overrides.asks(Stands)", "ingot.ones(2) @ Stands()", "ingot.ones(2).__matmul__(Stands())",
    "assert ingot.overrides.has_torch_function((Stands(),))", "type('Sub', (ingot.Tensor,), {})",
    "from ingot import fx; mean(fx.Proxy(fx.Graph().placeholder('x')))"])
def test_events_that_start_dispatch(start):
    """Functions imported earlier dispatch, too, and stay the same objects."""
    subprocess.run([sys.executable, "-c", FIRST.replace("START", start)], check=True)


def test_gradients_and_values_do_not_change():
    w = ingot.randn(3, 4, requires_grad=True)
    loss = (F.softmax(w @ w.T, -1) * 2).sum(0)[0] + w.mean()
    loss.backward()
    traced = jit.trace(lambda w: (F.softmax(w @ w.T, -1) * 2).sum(0)[0] + w.mean())
    assert traced(w).equal(loss) and traced(w).equal(loss) and w.grad.shape == (3, 4)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        ingot.mean(w, nothing=1)


def test_traces_hand_out_numbers_as_before():
    """Functions that read for a caller find it by its frame, which dispatching code does not change."""
    with BaseTorchFunctionMode():
        pass
    step = jit.trace(lambda x: ((x * 2).sum().item(), x.tolist()))
    for _ in range(5):
        x = ingot.randn(3)
        assert step(x) == ((x * 2).sum().item(), x.tolist())
    assert step.stats()["compiles"] == 1


# Modes.


class Notes(TorchFunctionMode):
    """Mode that logs the functions it receives, and calls them."""

    def __init__(self):
        self.names: list = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Zeros(BaseTorchFunctionMode):
    """Mode that turns ones into zeros."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return super().__torch_function__(ingot.zeros if func is ingot.ones else func, types, args, kwargs)


MODE_CALLS = {
    "operator": (lambda x: x + 1, ["add"]), "reflected": (lambda x: 2 - x, ["__rsub__"]),
    "method": (lambda x: x.sum(), ["sum"]),
    "function": (lambda x: ingot.add(x, x), ["add"]), "made": (lambda x: ingot.ones(2), ["ones"]),
    "made of data": (lambda x: ingot.tensor([1.0]), ["tensor"]), "random": (lambda x: ingot.rand(2), ["rand"]),
    "functional": (F.gelu, ["gelu"]), "module": (nn.Identity(), []),
    "layer": (lambda x: nn.ReLU()(x), ["relu"]), "in place": (lambda x: x.clone().add_(1), ["clone", "add_"]),
    "attribute": (lambda x: x.T, ["__get__"]), "two": (lambda x: -x * x, ["neg", "mul"]),
    "traced": (jit.trace(lambda x: ingot.relu(x) * 2), ["relu", "mul"]),
}


@pytest.mark.parametrize("name", MODE_CALLS)
def test_a_mode_intercepts_every_function(name):
    call, names = MODE_CALLS[name]
    x = ingot.ones(2, 2)
    for _ in range(3):
        want = call(x)
    with Notes() as notes:
        got = call(x)
    after = call(x)
    assert notes.names == names and got.shape == want.shape
    assert name == "random" or (got.equal(want) and after.equal(want))


def test_modes_stand_in_each_other():
    with Notes() as outer:
        with Zeros(), Notes() as inner:
            assert ingot.ones(2).tolist() == [0, 0]
        ingot.ones(1)
    ingot.ones(3)
    assert inner.names == ["ones", "tolist"] and outer.names == ["zeros", "tolist", "ones"]


def test_modes_come_before_classes_and_hold_for_their_thread():
    with Notes() as notes:
        assert ingot.mean(S)[0] is ingot.mean
        thread = threading.Thread(target=lambda: X + X)
        thread.start()
        thread.join()
    assert notes.names == ["mean"]

    class Passes(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(types)
            return NotImplemented

    seen: list = []
    with Passes():
        assert ingot.mean(S)[0] is ingot.mean and seen == [(Stands,)]
        with pytest.raises(TypeError, match="no class among Passes knows exp"):
            ingot.exp(X)
    with pytest.raises(NotImplementedError, match="TorchFunctionMode does not say what it does"), TorchFunctionMode():
        ingot.exp(X)
    assert ingot.exp(X).shape == (2, 2)


def test_redispatch_intercepts_inner_calls():
    def twice(x):
        if overrides.has_torch_function_unary(x):
            return overrides.handle_torch_function(twice, (x,), x)
        return ingot.add(x, x)

    class Inside(Notes):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            with self:
                return overrides.redispatch_function(func, types, args, kwargs)

    with Inside() as mode, overrides.enable_reentrant_dispatch():
        assert twice(X[:0]).shape == (0, 2)
    assert mode.names == ["getitem", "twice", "add"]


def test_tables_of_functions():
    found, testing = overrides.get_overridable_functions(), overrides.get_testing_overrides()
    assert ingot.add in found[ingot] and F.linear in found[F] and ingot.Tensor.__add__ in found[ingot.Tensor]
    kept = overrides.get_default_nowrap_functions()
    assert ingot.Tensor.grad.__get__ in kept and ingot.Tensor.T.__get__ not in kept
    assert testing[ingot.add](1, 2) == -1 and not set(testing) & overrides.get_ignored_functions()
    with pytest.raises(TypeError):
        testing[ingot.add](1)
    for function in [f for functions in (found[ingot], found[F]) for f in functions]:
        assert inspect.signature(function) is not None and overrides.resolve_name(function)
