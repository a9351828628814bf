"""Every program in examples/ learns in a short run, and learns the same with its training step traced."""

import ast
import importlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot import jit

FOLDER = Path(ingot.__file__).parent / "examples"
SHARED = {"options", "digits", "shapes", "cartpole"}     # modules imported by several programs


@dataclass(frozen=True)
class Expected:
    """The goals of a short run.

    falls      the last losses (mean of the last tenth) are at most this share of the first (mean of the first tenth)
    result     a condition on what main() returns beside the losses
    compiles   the most recordings that the traced functions may need together
    exact      whether every traced loss is the same bit for bit. Blocked convolutions of few channels add products in another
               order: there the first losses must agree, and the rest is learned
    """

    falls: float
    result: object
    compiles: int = 3
    exact: bool = True


PROGRAMS = {
    "mnist_cnn": Expected(0.5, lambda right: right > 0.8),
    "language_model": Expected(0.8, lambda perplexity: perplexity < 45),
    "gpt": Expected(0.8, lambda loss: loss < 2.9),
    "text_generation": Expected(0.8, lambda loss: loss < 3.0, compiles=3),
    "resnet": Expected(0.6, lambda right: right > 0.6, exact=False),
    "dcgan": Expected(2.0, lambda distance: distance[-1] < 0.4 * distance[0], exact=False),
    "vae": Expected(0.7, lambda loss: loss < 29),
    "super_resolution": Expected(0.5, lambda db: db[0] > db[1] + 1),
    "style_transfer": Expected(0.7, lambda left: left < 0.5, exact=False),
    "actor_critic": Expected(3.0, lambda steps: steps[1] > 1.7 * steps[0], compiles=6),
    "sentence_pairs": Expected(0.6, lambda right: right > 0.6),
    "time_series": Expected(0.1, lambda error: error < 0.05),
    "graph_network": Expected(0.4, lambda right: right > 0.85),
}


@pytest.fixture
def load(monkeypatch):
    """Return a function that imports a program by name."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.fixture
def traced_functions(monkeypatch):
    """Return the list of functions that a program traced."""
    made, trace = [], jit.trace

    def recorded_trace(fn):
        made.append(trace(fn))
        return made[-1]

    monkeypatch.setattr(jit, "trace", recorded_trace)
    return made


def fell(losses) -> float:
    """Return the last tenth of the losses as a share of the first tenth."""
    n = max(1, len(losses) // 10)
    return float(np.mean(losses[-n:]) / np.mean(losses[:n]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_learns_and_does_the_same_when_traced(name, load, traced_functions):
    expected, program = PROGRAMS[name], load(name)
    losses, result = program.main(["--quick"])
    assert not traced_functions
    assert np.isfinite(losses).all(), losses
    assert fell(losses) < expected.falls, (fell(losses), losses)
    assert expected.result(result), result
    traced_losses, traced_result = program.main(["--quick", "--trace"])
    stats = [f.stats() for f in traced_functions]
    assert stats and all(s["calls"] > 1 for s in stats), stats
    assert sum(s["compiles"] for s in stats) <= expected.compiles, [s["misses"] for s in stats]
    if not expected.exact:
        np.testing.assert_allclose(traced_losses[:8], losses[:8], rtol=1e-5)
        assert fell(traced_losses) < expected.falls and expected.result(traced_result), traced_result
        return
    differs = [(i, e, t) for i, (e, t) in enumerate(zip(losses, traced_losses, strict=True)) if e != t]
    assert not differs, f"from step {differs[0][0]} on the losses differ: eager {differs[0][1]!r}, traced {differs[0][2]!r}"
    assert traced_result == result


@pytest.mark.parametrize("arguments", [["--quick"], ["--quick", "--trace"]], ids=["eager", "traced"])
def test_hogwild_learns_in_two_processes(load, arguments):
    losses, right = load("hogwild").main(arguments)
    assert len(losses) == 4
    assert losses[1] < losses[0] and losses[3] < losses[2], losses
    assert right > 0.7, right


def test_every_program_is_listed_and_says_what_it_shows():
    programs = {path.stem: path for path in FOLDER.glob("*.py") if path.stem not in SHARED}
    assert set(programs) == {*PROGRAMS, "hogwild"}
    for name, path in programs.items():
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 130, name
        assert len(ast.get_docstring(ast.parse(text))) > 150, f"{name} does not say what it shows"
