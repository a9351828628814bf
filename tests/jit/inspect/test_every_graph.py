"""Every graph that the tests have, drawn in every form: random graphs and programs, texts of passes, examples, benchmarks."""

import ast
import importlib
from pathlib import Path

import numpy as np
import pytest

import ingot
from drawn_forms import check_graph, check_traced
from graphs import graph_of, random_graph
from ingot import jit, nn, optim
from ingot.benchmarks import groups, vision
from ingot.benchmarks.harness import Case, Plan
from ingot.jit.inspect.page import kernel_groups
from ingot.jit.tracing.trace import Traced
from ingot.runtime.cpu.graph.program import CompiledGraph, kernel_of
from random_programs import RandomProgram

F = nn.functional
ROOT = Path(ingot.__file__).parent
EXAMPLES = ("actor_critic", "dcgan", "gpt", "graph_network", "language_model", "mnist_cnn", "resnet", "sentence_pairs",
            "style_transfer", "super_resolution", "text_generation", "time_series", "vae")
PASSES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "passes").rglob("test_*.py"))
PROCESSES = {"import", "chain_compile", "peak_memory"}     # workloads that trace in processes of their own
WORKLOADS = [f"{g}/{w}" for g, w in groups.chosen([]) if g not in ("gpu", "distributed", "loading") and w not in PROCESSES]


def normal(*shape):
    return ingot.randn(*shape, generator=ingot.Generator().manual_seed(len(shape)))


def training_step(net, optimizer=optim.SGD):
    opt = optimizer(net.parameters(), lr=0.1)

    def step(x):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        return loss

    return step


def branching(x):
    return x.exp() if x.sum() > 0 else (x * 2).sin() + 1


FUNCTIONS = {       # each raised KeyError when a page was written
    "softmax": lambda: (lambda x: F.softmax(x, -1), (4, 8)),
    "layer norm": lambda: (lambda x: F.layer_norm(x, (8,)), (4, 8)),
    "elementwise": lambda: (lambda x: (x * 2).sin() + 1, (4, 8)),
    "step": lambda: (training_step(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3))), (4, 8)),
    "adam": lambda: (training_step(nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3)), optim.Adam), (4, 8)),
    "attention": lambda: (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval(), (2, 4, 16)),
    "convolution": lambda: (training_step(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())), (2, 3, 8, 8)),
    "recurrent": lambda: (nn.LSTM(8, 4), (4, 8)),
    "branches": lambda: (branching, (4, 8)),
}


@pytest.mark.drawn
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, tmp_path):
    function, shape = FUNCTIONS[name]()
    traced = jit.trace(function)
    for scale in (1, 1, -1, 1):
        traced(normal(*shape).abs() * scale)
    check_traced(traced, tmp_path)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed):
    g = random_graph(np.random.default_rng([11, seed]), (5, 20, 60, 200)[seed % 4])
    check_graph(g, {"all": g.nodes, "first": g.nodes[:3], "twice": (*g.nodes[:1], *g.nodes[:1])})
    plan = CompiledGraph(g, kernel_of).plan
    check_graph(plan.graph, kernel_groups(plan))


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed, tmp_path):
    program = RandomProgram(seed)
    traced = jit.trace(program.__call__, dynamic=(None, True)[seed % 2])
    with ingot.no_grad():
        for call in range(3):
            traced(*program.arguments(seed + call))
    check_traced(traced, tmp_path)


def texts(file) -> list:
    """Return the texts of graphs in a test file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is str]
    return [text for text in found if text.strip().startswith("graph ") and text.strip().endswith("}")]


@pytest.mark.drawn
@pytest.mark.parametrize("file", [file for file in PASSES if texts(file)])
def test_graphs_of_passes(file):
    for text in texts(file):
        try:
            g = graph_of(text)
        except ingot.IngotError:        # a text that its test completes, or which is wrong on purpose
            continue
        check_graph(g, {"half": g.nodes[::2]} if g.nodes else None)


@pytest.fixture
def traced_functions(monkeypatch):
    """Return the list of traced functions that are made from now on."""
    made, init = [], Traced.__init__

    def noted(self, *args, **kwargs):
        init(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(Traced, "__init__", noted)
    return made


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", EXAMPLES)
def test_steps_of_examples(name, traced_functions, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    importlib.import_module(name).main(["--quick", "--trace"])
    assert traced_functions
    for traced in traced_functions:
        check_traced(traced, tmp_path)


def test_every_example_is_here():
    shared = {"options", "digits", "shapes", "cartpole", "hogwild"}      # the last one traces in processes
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} - shared == set(EXAMPLES)


@pytest.mark.drawn(runs=105)        # a row takes up to 9 s
@pytest.mark.parametrize("workload", WORKLOADS)
def test_workloads_of_benchmarks(workload, traced_functions, monkeypatch, tmp_path):
    group, name = workload.split("/")
    build = vision.resnet
    monkeypatch.setattr(vision, "resnet", lambda lib, depths, *args, **options: build(lib, [1] * len(depths), *args, **options))
    for case in groups.GROUPS[group].WORKLOADS[name](Plan(threads=2, quick=True, tiny=True, peers=())):
        if isinstance(case, Case):
            for _ in range(3):
                for call in case.calls.values():
                    call()
        for traced in traced_functions:
            check_traced(traced, tmp_path)
        traced_functions.clear()
