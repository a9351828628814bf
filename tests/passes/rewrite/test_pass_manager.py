"""The pass manager: order, verification, printing, dumps, fuel, errors."""

import gc

import numpy as np
import pytest

import ingot  # noqa: F401  (fills the table of operators)
from graph_interpreter import interpret
from graphs import arrays_for, check_same_meaning, graph_of, random_graph
from ingot.ir import config
from ingot.ir.errors import GraphError
from ingot.ir.graph.graph import Graph, Node
from ingot.ir.graph.text import parse
from ingot.passes.pipelines import PIPELINE
from ingot.passes.rewrite import pass_manager
from ingot.passes.rewrite.pass_manager import Fuel, Step, run
from ingot.passes.rewrite.rewrite import rebuild
from ingot.passes.simplify.cse import cse
from ingot.passes.simplify.dce import dce
from ingot.passes.simplify.decompose import decompose

TEXT = """
    graph g(%x: f32[2,3]) {
      %0: f32[2,3] = softmax(%x, dim=1)    # net.py:9
      %1: f32[2,3] = exp(%x)
      %2: f32[2,3] = exp(%x)
      %3: f32[2,3] = add(%1, %2)
      %4: f32[2,3] = neg(%x)
      return %0, %3
    }"""


def test_every_pass_is_a_step_and_the_graph_ends_decomposed():
    steps = []
    g = graph_of(TEXT)
    after = run(g, PIPELINE, steps=steps)
    assert [s.name for s in steps] == [p.__name__ for p in PIPELINE]
    assert all(isinstance(s, Step) and s.seconds >= 0 for s in steps) and steps[-1].graph is after
    assert [s.name for s in steps[:6] if s.changed] == ["cse", "dce"]
    a = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    for p, q in zip(interpret(g, [a]).outputs, interpret(after, [a]).outputs):
        np.testing.assert_allclose(p, q, rtol=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_the_whole_pipeline_keeps_the_meaning(seed):
    g = random_graph(np.random.default_rng([4, seed]), 30)
    check_same_meaning(g, run(g, PIPELINE), seed)


def test_a_graph_that_is_fine_comes_back_itself():
    g = graph_of("graph g(%x: f32[2]) {\n  %0: f32[2] = exp(%x)\n  return %0\n}")
    assert run(g, PIPELINE) is g


def test_a_wrong_pass_is_caught_and_named():
    def drops_outputs(g):
        return Graph(g.name, g.inputs, g.nodes[1:], g.outputs)

    with pytest.raises(GraphError, match=r"(?s)pass drops_outputs made a wrong graph.*breaks.*graph g"):
        run(graph_of(TEXT), (drops_outputs,))
    with config.override(verify=False):
        run(graph_of(TEXT), (drops_outputs,))


def test_a_failing_pass_is_one_error_that_names_it():
    def stumbles(g):
        raise KeyError("shoe")

    with pytest.raises(GraphError, match="pass stumbles failed on graph g: 'shoe'"):
        run(graph_of(TEXT), (stumbles,))


def test_a_broken_graph_never_enters():
    g = graph_of(TEXT)
    with pytest.raises(GraphError, match="before it is defined"):
        run(Graph("bad", g.inputs, g.nodes[2:], g.outputs), PIPELINE)


def test_changed_graphs_are_printed_as_asked(capsys):
    with config.override(print="cse, nothing", debug=0):
        run(graph_of(TEXT), (dce, cse, cse))
    printed = capsys.readouterr().err
    assert printed.count("graph g after cse") == 1 and "after dce" not in printed
    with config.override(debug=4):
        run(graph_of(TEXT), (dce, cse))
    printed = capsys.readouterr().err
    assert "pass cse" in printed and "after dce" in printed and "after all passes" in printed


def test_dumps_parse_back(tmp_path):
    with config.override(dump=str(tmp_path / "dumps")):
        after = run(graph_of(TEXT), (dce, cse))
    files = sorted((tmp_path / "dumps").iterdir())
    assert [f.name.split("_", 1)[1] for f in files] == ["g_input.txt", "g_dce.txt", "g_cse.txt"]
    assert parse(files[-1].read_text()) == after


def test_fuel_stops_optional_passes_and_bisects():
    def count(limit):
        fuel = Fuel()
        with config.override(fuel=limit):
            return run(graph_of(TEXT), (dce, cse, decompose), fuel=fuel), fuel.spent

    assert count(0)[1] == 0 and count(1)[1] == 1 and count(-1)[1] == 2
    none, one = count(0)[0], count(1)[0]
    assert len(one) < len(none), "dce alone ran"
    assert all(n.op.name != "softmax" for n in none.nodes), "what later stages rely on runs without fuel"


def test_rebuilding_is_the_only_way_passes_touch_graphs():
    g = random_graph(np.random.default_rng(9), 15)
    before = str(g)
    run(g, PIPELINE)
    interpret(g, arrays_for(g, np.random.default_rng(0)))
    assert str(g) == before and rebuild(g, lambda *_: None) is g


def test_graphs_that_passes_leave_behind_are_freed_while_collections_are_off(monkeypatch):
    def copied(graph):
        return rebuild(graph, lambda b, node, operands: b.append(node.op, operands, node.params))

    def alive():
        return sum(type(x) is Node for x in gc.get_objects())

    g = graph_of(TEXT)
    monkeypatch.setattr(pass_manager, "_MOST_NEW", 500)
    gc.collect()
    before = alive()
    gc.disable()
    try:
        run(g, [copied] * 200)
        left = alive() - before
    finally:
        gc.enable()
    assert left < 60 * len(g.nodes), f"{left} nodes are left of 200 graphs of {len(g.nodes)}"
