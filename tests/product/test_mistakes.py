"""Mistakes of users: the error is of its class, names what came and what is needed, and is short."""

import inspect

import pytest

import ingot
import mistakes
from ingot import distributions, nn, optim
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


def _functions():
    ingot.zeros(1)
    assert ingot.__all__
    for space, module in (("ingot", ingot), ("F", F), ("Tensor", ingot.Tensor)):
        for name, value in sorted(vars(module).items()):
            if inspect.isfunction(value) and name[0] != "_" and (value.__module__ or "").startswith("ingot"):
                yield f"{space}.{name}", value


FUNCTIONS = dict(_functions())
