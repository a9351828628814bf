"""Mistakes of users: the error is of its class, names what came and what is needed, and is short."""

import inspect
import re
import traceback

import numpy as np
import pytest

import ingot
import mistakes
from ingot import distributions, nn, optim
from ingot.ir.errors import IngotError
from ingot.nn import functional as F
from ingot.utils import data
from mistakes import MISTAKES


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
def test_the_message_tells_what_came_and_what_is_needed(mistake, tmp_path, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(mistake.error) as caught:
        mistakes.run(mistake, str(tmp_path))
    text = mistakes.shown(caught.value)
    assert [word for word in mistake.words if word not in text] == [], text
    assert [word for word in mistake.absent if word in text] == [], text
    assert text.count("\n") < mistake.lines, text


def test_names_are_different():
    assert len({m.name for m in MISTAKES}) == len(MISTAKES) >= 62


# A wrong keyword.

SPACES = {"nn": nn, "optim": optim, "optim.lr_scheduler": optim.lr_scheduler, "distributions": distributions, "data": data}
NOT_MADE = frozenset((     # classes that take any keyword, or say why they cannot be made
    "Identity", "LazyModule", "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"))
CLASSES = {f"{space}.{name}": value for space, module in SPACES.items() for name, value in sorted(vars(module).items())
           if isinstance(value, type) and value.__module__.startswith("ingot.") and name[0] != "_" and name not in NOT_MADE
           and not issubclass(value, Exception) and inspect.isfunction(value.__init__)}


@pytest.mark.parametrize("name", CLASSES)
def test_a_constructor_shows_its_signature(name):
    cls = CLASSES[name]
    parameters = [*inspect.signature(cls.__init__).parameters.values()][1:]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    with pytest.raises(TypeError) as caught:
        cls(no_such_option=1)
    text = str(caught.value)
    first = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL][:1]
    assert f"{cls.__name__}() got an unexpected keyword argument 'no_such_option'" in text, text
    assert text.count("\n") == 1 and all(f"{cls.__name__}({n}" in text for n in first), text


# Saved states.

def _optimizers():
    for name in optim.__all__:
        cls = getattr(optim, name)
        if isinstance(cls, type) and issubclass(cls, optim.Optimizer) and cls is not optim.Optimizer:
            yield name, lambda cls=cls: cls([ingot.ones(2, 2, requires_grad=True)], lr=0.1)


def _optimizer():
    return optim.SGD([ingot.ones(2, requires_grad=True)], lr=0.1, momentum=0.9)


def _in_turn():
    opt = _optimizer()
    return optim.lr_scheduler.SequentialLR(opt, [optim.lr_scheduler.ConstantLR(opt), optim.lr_scheduler.StepLR(opt, 1)], [1])


LOADERS = {
    **dict(_optimizers()), "Linear": lambda: nn.Linear(2, 2), "GradScaler": lambda: ingot.amp.GradScaler("cpu"),
    "StepLR": lambda: optim.lr_scheduler.StepLR(_optimizer(), 1), "SequentialLR": _in_turn,
    "LambdaLR": lambda: optim.lr_scheduler.LambdaLR(_optimizer(), lambda n: 1),
    "CyclicLR": lambda: optim.lr_scheduler.CyclicLR(_optimizer(), 0.1, 0.2),
    "ReduceLROnPlateau": lambda: optim.lr_scheduler.ReduceLROnPlateau(_optimizer()),
    "AveragedModel": lambda: optim.swa_utils.AveragedModel(nn.Linear(2, 2)),
}
NEEDED_BY_SCHEDULERS = "lr_lambdas", "_schedulers"      # they keep what else a state lacks, as PyTorch's do


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LOADERS)
def test_a_state_that_does_not_fit_says_why(name):
    loader = LOADERS[name]()
    state = loader.state_dict()
    wrong = [(s, ("load_state_dict", type(s).__name__)) for s in (None, 3, [1], "text")]
    wrong += [({k: v for k, v in state.items() if k != key}, (key,)) for key in state
              if key in NEEDED_BY_SCHEDULERS or not hasattr(loader, "get_last_lr")]
    if "param_groups" in state:
        wrong += [({**state, "param_groups": groups}, words) for groups, words in (
            (4, ("param_groups", "int")), ([3], ("int",)), ([{}], ("params",)), ([{"params": 3}], ("params", "int")))]
        wrong += [({**state, "state": "text"}, ("'state'", "str"))]
    for given, words in wrong:
        with pytest.raises(IngotError) as caught:
            LOADERS[name]().load_state_dict(given)
        assert [word for word in words if word not in str(caught.value)] == [], caught.value
        assert not isinstance(caught.value, KeyError) or "lacks" in str(caught.value)


# Wrong arguments of every function: texts write dtypes and shapes in one way.

LEFT_OUT = ("set_", "use_", "_", "manual_seed", "seed", "load", "save", "compile", "from_file", "clear_", "autocast", "cond",
            "initial_seed", "fork", "share_memory", "vmap", "get_file_path", "boolean_dispatch", "handle_torch_function",
            "while_loop")


def _functions():
    assert ingot.__all__        # loads the late ones
    for space, module in (("ingot", ingot), ("F", F), ("Tensor", ingot.Tensor), ("linalg", ingot.linalg), ("fft", ingot.fft),
                          ("special", ingot.special)):
        for name, value in sorted(vars(module).items()):
            if inspect.isfunction(value) and not name.startswith(LEFT_OUT) and (value.__module__ or "").startswith("ingot"):
                yield f"{space}.{name}", value


def _wrong_calls():
    """Return (positional arguments, keywords) that few functions take."""
    a, b, n, z = ingot.ones(2, 3), ingot.ones(3, 4, 5), ingot.tensor([1, 7, -9]), ingot.ones(())
    d, e, c = ingot.ones(2, 3, dtype=ingot.float64), ingot.ones(0, 3), ingot.ones(2, 2, dtype=ingot.complex64)
    return [((a, b), {}), ((n, n), {}), ((z, z), {}), ((a, d), {}), ((e, e), {}), ((c, a), {}), (((a, b), 5), {}),
            ((a, "x"), {}), ((a, (7, 9)), {}), ((a, b, n), {}), ((a, 0, b), {}), ((a, 5, n, b), {}), ((b, (5, 6), (1,)), {}),
            ((b, b, a), {}), ((b,), {}), ((c,), {}), ((a,), {"dim": 9}), ((a, a), {"reduction": "men"})]


# Values that are no tensor, as the first argument of every function.

SPACES_OF_FUNCTIONS = {"ingot": ingot, "F": F, "linalg": ingot.linalg, "fft": ingot.fft, "special": ingot.special,
                       "init": nn.init, "nn.utils": nn.utils, "autograd": ingot.autograd, "func": ingot.func}
TAKES_OTHERS = "einsum", "gradgradcheck", "sym_", "promote_types", "can_cast", "empty_strided", "range", "rfftfreq"
NO_TENSORS = [3, None, "text", [1.0, 2.0], np.ones((2, 3), np.float32)]


@pytest.mark.filterwarnings("ignore")
def test_an_argument_that_is_no_tensor_is_named():
    assert ingot.__all__
    leaks, tried = set(), 0
    for space, module in SPACES_OF_FUNCTIONS.items():
        for name in getattr(module, "__all__", vars(module)):
            fn = getattr(module, name)
            is_public = hasattr(module, "__all__") or getattr(fn, "__module__", "") == module.__name__
            if not inspect.isfunction(fn) or not is_public or name.startswith((*LEFT_OUT, *TAKES_OTHERS)):
                continue
            needed = [p for p in inspect.signature(fn).parameters.values()
                      if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            for x in NO_TENSORS:
                tried += 1
                try:
                    fn(x, *[ingot.ones(2, 3)] * (len(needed) - 1))
                except Exception as error:
                    if isinstance(error, (AttributeError, KeyError)) or hasattr(error, "__notes__"):
                        leaks.add(f"{space}.{name}({type(x).__name__}): {type(error).__name__}: {error}")
    assert not leaks, "\n".join(sorted(leaks))
    assert tried > 3000


@pytest.mark.parametrize("call, words", [
    (lambda: F.relu(3), "relu takes a tensor as input, got int"),
    (lambda: ingot.square(None), "square takes a tensor as input"),
    (lambda: ingot.ceil("a"), "ceil takes a tensor as input, got str"),
    (lambda: F.softmax(np.ones(2), 0), "softmax takes a tensor, got numpy.ndarray"),
    (lambda: nn.init.zeros_(3), "zeros_ takes a tensor as tensor"),
    (lambda: nn.utils.clip_grad_norm_(3, 1.0), "clip_grad_norm_ does not take int as parameters: 'int' object is not iterable"),
    (lambda: nn.utils.spectral_norm(3), "spectral_norm does not take int as module")])
def test_the_error_names_function_argument_and_type(call, words):
    with pytest.raises(TypeError) as caught:
        call()
    assert words in str(caught.value)
    assert [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)][1:] == ["<lambda>"]


_IR_TEXT = re.compile(r"(?<![\w%'])(?:f16|f32|f64|bf16|i8|i16|i32|i64|u8|u16|u32|u64|c64|c128)\[|"
                      r"(?:float|int|bool|complex)\d*\[\d+,\d")
_SIZE = re.compile(r"\bSize\(")
_TUPLE = re.compile(r"\bshapes?\b[^.;(]{0,25}(?<!\w)\(\d*,? ?[\d, ]*\)")
_LONG_DTYPE = re.compile(r"(?<![(=.\w])(?:ingot|torch)\.(?:float|int|uint|bool|bfloat|complex)\d*\b")
_LAYOUT = re.compile(r"\((?:N|B|T|C|\*|\.\.\.), [A-Z*.\w, ]+\)")
OLD = _IR_TEXT, _SIZE, _TUPLE, _LONG_DTYPE, _LAYOUT


@pytest.mark.filterwarnings("ignore")
def test_messages_write_dtypes_and_shapes_in_one_way():
    told, texts = set(), 0
    for name, fn in _functions():
        for args, keywords in _wrong_calls():
            try:
                fn(*args, **keywords)
            except IngotError as error:
                texts += 1
                text = str(error)
                if any(pattern.search(text) for pattern in OLD):
                    told.add(f"{name}: {text[:300]}")
            except Exception:
                continue
    assert not told, "\n".join(sorted(told))
    assert texts > 4000
