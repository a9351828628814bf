"""Mistakes of users: the error is of its class, names what came and what is needed, and is short."""

import functools
import inspect
import random
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
from seeds import seeds


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


# A wrong keyword of a function, a method or a constructor: the message that a program prints.

PUBLIC = {"ingot": ingot, "F": F, "linalg": ingot.linalg, "fft": ingot.fft, "special": ingot.special, "nn.init": nn.init,
          "nn.utils": nn.utils, "x": ingot.ones(2, 2, dtype=ingot.complex64), "nn": nn, "optim": optim}
TAKES_ANY = {"nn.Identity", "nn.ParameterDict",
             "nn.utils.skip_init", "ingot.load"}        # keywords of a constructor, and `pickle_load_args`


def _public_callables(space):
    owner = PUBLIC[space]
    for name in sorted(getattr(owner, "__all__", dir(owner))):
        if name[0] != "_" and f"{space}.{name}" not in TAKES_ANY:
            value = getattr(owner, name)
            if space == "nn.init" and getattr(value, "__module__", "") != nn.init.__name__:     # it has no list of its names
                continue
            is_class = isinstance(value, type)
            if callable(value) and is_class == (space in ("nn", "optim")) and not inspect.ismodule(value):
                yield name, value


def _printed(source) -> str:
    """Return the message of the error of a call, as a program prints it."""
    try:
        eval(source, {**PUBLIC})
    except TypeError as error:
        return "".join(traceback.format_exception_only(error)).removeprefix("TypeError: ").rstrip()
    return f"{source} raises no error"


def _signature_in(text, name) -> str:
    return text.rpartition("\n")[2] if f"\n{name}(" in text else ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", PUBLIC)
def test_a_wrong_keyword_lists_the_signature(space):
    wrong, tried, suggested = [], 0, 0
    for name, value in _public_callables(space):
        tensors = _tensors_that_come_first(space, value)
        text = _printed(f"{space}.{name}({tensors}no_such_option=1)")
        refused = rf"{name}\(\) got an unexpected keyword argument 'no_such_option'(; did you mean '\w+'\?)?\n{name}\("
        if not re.match(refused, text):
            wrong.append(text)
        tried += 1
        keyword = _longest_keyword(_signature_in(text, name))
        if keyword:
            text = _printed(f"{space}.{name}({tensors}{keyword + keyword[-1]}=1)")
            suggested += 1
            if f"; did you mean {keyword!r}?" not in text:
                wrong.append(text)
    assert not wrong, "\n\n".join(wrong)
    assert tried >= LEAST[space] and suggested >= tried * 0.6, (tried, suggested)


LEAST = {"ingot": 690, "F": 130, "linalg": 40, "fft": 22, "special": 50, "nn.init": 15, "nn.utils": 16, "x": 540, "nn": 160,
         "optim": 15}


def _tensors_that_come_first(space, fn) -> str:
    """Return the arguments of a function that takes any keyword: without them, it would miss one first."""
    if space in ("nn", "optim", "x"):
        return ""
    if fn.__name__[-1] == "_":
        return "x, "
    parameters = inspect.signature(fn).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        return ""
    return "x, " * sum(p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)


def _longest_keyword(signature) -> str | None:
    inside = signature.partition("(")[2].rpartition(")")[0].rpartition("/")[2]
    names = re.findall(r"(?:^|, )(\w\w+)(?==|,|$)", inside)
    return max(names, key=len, default=None)


@pytest.mark.parametrize("call, line", [
    ("ingot.relu(x, inplce=True)", "relu(input, *, out=None)"),
    ("F.relu(x, inplce=True)", "relu(input, inplace=False)"),
    ("x.relu(x, x)", "relu(input, *, out=None)"),
    ("(x + x).clone(memory=1)", "clone(input, *, memory_format)"),
    ("[x][0].clone(memory=1)", "clone(input, *, memory_format)"),
    ("nn.Identity()(x).relu(memory=1)", "relu(input, *, out=None)"),
    ("ingot.relu(*[x], **{'memory': 1})", "relu(input, *, out=None)"),
    ("ingot.arcsin(x, memory=1)", "arcsin(input, *, out=None)"),
    ("ingot.clip(x, mim=1)", "clip(input, min=None, max=None, *, out=None)"),
    ("x.clamp_(mim=1)", "clamp_(input, min=None, max=None)"),
    ("x.clamp_(0, out=x)", "clamp_(input, min=None, max=None)"),
    ("x.abs_(out=x)", "abs_(input)"),
    ("F.relu_(x, inplace=True)", "relu_(input)"),
    ("x.narrow_copy(dims=1)", "narrow_copy(input, dim, start, length)"),
    ("x.dim(out=1)", "dim()"),
    ("ingot.matmul(x)", "matmul(input, other, *, out=None)"),
    ("rename(x, memory=1)", "relu(input, *, out=None)"),
    ("holder.act(x, memory=1)", "relu(input, inplace=False)"),
    ("nn.Linear(3, 4)(x, mask=1)", "Linear.forward(input)"),
    ("nn.Parameter(daat=x)", "Parameter(data=None, requires_grad=True)"),
    ("nn.Softmax2d(dim=1)", "Softmax2d()"),
    ("(lambda fn: fn(x, memory=1))(ingot.abs)", "abs(input, *, out=None)"),
    ("x\\\n  .abs()\\\n  .add(\n  x, alpa=1)", "add(input, other, *older, alpha=1, out=None)"),
])
def test_a_refused_call_is_told_by_the_name_in_the_program(call, line, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("holder = lambda: 3\nholder.act = F.relu\nrename = ingot.relu\n" + call)
    space = {**PUBLIC}
    with pytest.raises(TypeError) as caught:
        exec(compile(program.read_text(), str(program), "exec"), space)
    text = "".join(traceback.format_exception_only(caught.value)).splitlines()
    assert line in text, text
    assert text[0].startswith(f"TypeError: {line.partition('(')[0]}() "), text


class Mine:
    """Functions of a user with names of ingot's."""

    def clone(self):
        """Return nothing."""

    relu = staticmethod(lambda y: y)


def relu(y):
    """Return nothing."""


@pytest.mark.parametrize("call", [
    lambda: relu(ingot.ones(2), inplace=True), lambda: Mine().clone(memory_format=1), lambda: Mine.relu(1, inplace=True),
    lambda: [Mine()][0].clone(memory_format=1), lambda: functools.partial(relu, inplace=True)(1)])
def test_refused_calls_of_users_functions_keep_the_text_of_python(call):
    with pytest.raises(TypeError) as caught:
        call()
    before = str(caught.value)
    assert traceback.format_exception_only(caught.value) == [f"TypeError: {before}\n"] and "\n" not in before


def test_an_error_inside_of_ingot_is_not_told_as_the_users(monkeypatch):
    monkeypatch.setattr("ingot.runtime.nn.functional.loss.ops.cross_entropy", lambda x: x)
    with pytest.raises(TypeError) as caught:
        F.cross_entropy(ingot.ones(2, 3), ingot.tensor([0, 1]))
    assert "\ncross_entropy(" not in "".join(traceback.format_exception_only(caught.value))


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


# Errors that arise inside a function name the function that the program called.

NOT_NAMED = {"ingot.get_autocast_dtype", "ingot.is_autocast_available",    # they speak of `autocast`, which takes the argument
             "ingot.gru_cell", "ingot.lstm_cell", "ingot.rnn_relu_cell", "ingot.rnn_tanh_cell",     # of their modules
             "ingot.lobpcg", "ingot.empty_strided",     # of `finfo`, and of `len()` of a tensor in place of a size
             "ingot.embedding_renorm_"}                 # of a value of the index, as in replays


def _arguments():
    """Return operands that few functions take in all places: of many shapes and dtypes."""
    x, y = ingot.ones(2, 3), ingot.ones(2, 3, 4, 5)
    return {"i": x.long(), "x": x, "c": x.to(ingot.complex64), "b": x > 0, "y": y, "yi": y.long(), "n": ingot.ones(()),
            "e": ingot.ones(0, 3), "z": ingot.ones(3, 4, 5), "zi": ingot.ones(3, 4, 5).long()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", seeds(1, 8))
@pytest.mark.parametrize("space", ["ingot", "F", "linalg", "fft", "special"])
def test_an_error_names_the_function_that_was_called(space, seed):
    operands, unnamed, refused = _arguments(), set(), set()
    for name, fn in _public_callables(space):
        if name.startswith(LEFT_OUT) or f"{space}.{name}" in NOT_NAMED or not inspect.isfunction(fn):
            continue
        draw = random.Random(f"{seed} {name}")
        required = [p for p in inspect.signature(fn).parameters.values()
                    if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        for _ in range(12):
            arguments = [draw.choice([*operands]) for _ in required] + draw.choice([[], [], ["3"]])
            call = f"{space}.{name}({', '.join(arguments)})"
            try:
                eval(call, {**PUBLIC, **operands})
            except IngotError as error:
                refused.add(name)
                if name.strip("_") not in str(error) and not error.is_of_values:
                    unnamed.add(f"{call}: {error}")
            except (TypeError, ValueError, IndexError, RuntimeError):       # of Python: a tensor in place of a list
                pass
    assert not unnamed, "\n".join(sorted(unnamed))
    assert len(refused) > 15, refused


@pytest.mark.parametrize("name", ["l1_loss", "mse_loss", "huber_loss", "smooth_l1_loss", "soft_margin_loss",
                                  "binary_cross_entropy", "binary_cross_entropy_with_logits", "poisson_nll_loss"])
def test_a_second_backward_names_a_function_that_programs_call(name):
    loss = getattr(F, name)(ingot.full((3,), 0.5, requires_grad=True), ingot.full((3,), 0.25))
    loss.backward()
    with pytest.raises(IngotError, match="a second time") as caught:
        loss.backward()
    named = re.search(r"through (\w+) a second", str(caught.value))[1]
    assert hasattr(F, named) or hasattr(ingot, named), caught.value


class _Pair(nn.Module):
    def forward(self, a, b):
        return a + b


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [
    "nn.summary(pair, x)", "checkpoint(pair, x, use_reentrant=False)", "func.functional_call(pair, {}, (x,))",
    "func.vmap(pair)(x)", "func.grad(pair)(x)", "func.jacrev(pair)(x)", "nn.DataParallel(pair)(x)", "jit.trace(pair)(x)",
    "ingot.compile(pair)(x)", "pair(x)", "checkpoint(pair, x, c=x, use_reentrant=False)", "func.vmap(pair)(x, c=x)",
    "checkpoint(F.linear, x, use_reentrant=False)", "func.vmap(F.linear)(x)", "func.jacrev(F.linear)(x)",
    "func.functional_call(nn.Linear(2, 2), {}, ())", "nn.summary(nn.Linear(2, 2))"])
def test_a_refused_call_of_the_users_function_keeps_its_name(call):
    space = {**PUBLIC, "pair": _Pair(), "x": ingot.ones(2), "checkpoint": ingot.utils.checkpoint.checkpoint,
             "func": ingot.func, "jit": ingot.jit}
    with pytest.raises(TypeError) as caught:
        eval(call, space)
    text = "".join(traceback.format_exception_only(caught.value))
    called = "Linear.forward" if "Linear" in call else "linear" if "linear" in call else "_Pair.forward"
    assert text.startswith(f"TypeError: {called}() "), text


def test_a_hint_names_no_argument_that_the_function_lacks():
    ints = ingot.ones(2, 3).long()
    with pytest.raises(IngotError, match=r"^mse_loss takes floating point types, got int64\[2, 3\]; cast with \.to\(\)$"):
        F.mse_loss(ints, ints)
    with pytest.raises(IngotError, match=r"^mean takes .* or pass dtype=$"):
        ints.mean()


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
