"""Pictures of graphs: well-formed, complete, without overlaps; networkx and DOT."""

import itertools
import re
import subprocess
import sys
import time
from xml.etree import ElementTree

import numpy as np
import pytest

import ingot  # noqa: F401  (fills the table of operators)
from graphs import graph_of, random_graph
from ingot.ir import dtype as dt
from ingot.ir.draw.layout import Box, Net, arrange
from ingot.ir.draw.view import dot, save, stacked, svg, to_networkx
from ingot.ir.errors import GraphError
from ingot.ir.graph.graph import Builder, Graph
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew

SIZES = (5, 50, 300)
TEXT = """
    graph block(%x: f32[8,64], %w: f32[64,64], %b: f32[64]) {
      %0: f32[8,64] = matmul(%x, %w)               # model.py:12
      %1: f32[8,64] = expand(%b, shape=(8, 64))
      %2: f32[8,64] = add(%0, %1)                  # <model>.py:13
      %3: f32[64] = mul(%b, 0.5)
      update %b = %3
      return %2
    }"""


def words(text):
    return [t.text for t in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]


def test_a_drawing_shows_every_name_type_and_line():
    text = svg(graph_of(TEXT))
    shown = {"block", "x", "w", "b", "matmul", "expand", "add", "mul", "(·, 0.5)", "shape=(8,64)", "output", "update b"}
    assert shown <= set(words(text))
    assert words(text).count("f32[8,64]") == 4, "each value that is read says its type once"
    tips = [t.text for t in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}title")]
    assert "%0: f32[8,64] = matmul(%x, %w)\nmodel.py:12" in tips
    assert any("<model>.py:13" in t for t in tips), "names are escaped"
    assert {"elementwise", "view", "input"} <= set(words(text)) and "reduction" not in words(text), "a true legend"


@pytest.mark.parametrize("nodes, seed", list(itertools.product(SIZES, range(3))))
def test_every_graph_can_be_drawn(nodes, seed):
    g = random_graph(np.random.default_rng([5, seed]), nodes)
    text = svg(g)
    root = ElementTree.fromstring(text)
    assert svg(g) == text, "a drawing is the same every time"
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids)) == len(g.inputs) + len(g.nodes), f"seed {seed}: every input and node stands once"
    links = {e.get("href")[1:] for e in root.iter() if e.get("href")}
    assert links <= set(ids), "tags point to boxes"
    width, height = float(root.get("width")), float(root.get("height"))
    assert width > 0 and height > 0 and not re.search(r'="[^"]*\bnan\b', text.split("</style>")[1].replace("href", ""))


def test_tall_graphs_are_cut_into_columns():
    g = deep(40)
    root = ElementTree.fromstring(svg(g))
    assert float(root.get("height")) < 1.7 * float(root.get("width"))
    tags = [w for w in words(svg(g)) if w.startswith("%")]
    assert "continued" in words(svg(g)) and tags.count("%x") >= 1
    assert all(tags.count(t) == 2 for t in set(tags) - {"%x"}), "a tag has its twin"


def test_short_graphs_stay_in_one_column():
    root = ElementTree.fromstring(svg(deep(4)))
    assert "continued" not in words(svg(deep(4))) and float(root.get("height")) < 1000


def test_groups_are_shaded_and_named():
    g = graph_of(TEXT)
    groups = {"kernel 0": g.nodes[1:3], "kernel 1": g.nodes[3:]}
    assert {"kernel 0", "kernel 1"} <= set(words(svg(g, groups)))
    assert svg(g, groups).count('opacity="0.16"') == 2
    assert dot(g, groups).count("subgraph cluster_") == 2


def deep(length):
    """Return a graph too tall for one column."""
    b = Builder("deep")
    x = start = b.input("x", Aval((4,), dt.float32))
    for _ in range(length):
        x = ew.mul(ew.tanh(x), start)
    return b.finish([x])


def test_groups_are_shaded_in_every_column_that_has_a_part_of_them():
    g = deep(40)
    groups = {"first": g.nodes[:6], "across": g.nodes[6:70], "alone": g.nodes[75:76], "again": g.nodes[2:5]}
    text = svg(g, groups)
    columns = text.split('<g transform="translate(')[1:]
    assert len(columns) > 2, "a tall graph"
    here = [{t for t in words(text) if f">{t}</text>" in c} & groups.keys() for c in columns]
    assert set().union(*here) == groups.keys(), "also a group of nodes that another group has, as kernels compute values again"
    assert sum("across" in names for names in here) > 1 and sum("first" in names for names in here) == 1
    assert dot(g, groups).count("subgraph cluster_") == 3, "graphviz puts a node in one cluster"


def test_groups_of_another_graph_are_refused():
    g, other = deep(2), deep(2)
    for draw in (svg, dot):
        with pytest.raises(GraphError, match=r"the group .k. has a node that the graph deep lacks: <node .*tanh.*take"):
            draw(g, {"k": other.nodes})


def test_long_wide_and_strange_names_fit():
    b = Builder("名" * 50 + "<&\">\x1b" + "long" * 50)
    g = b.finish([ew.tanh(b.input("x", Aval((4,), dt.float32)))])
    root = ElementTree.fromstring(svg(g))
    name = next(t for t in root.iter() if t.get("class") == "name")
    note = next(t for t in root.iter() if t.get("class") == "note")
    right = float(note.get("x")) + 6.6 * len(note.text)
    assert len(name.text) <= 60 and float(name.get("x")) + 17 * 0.6 * 2 * 50 < float(note.get("x"))
    assert right < float(root.get("width")), "nothing is cut off"


def test_a_drawing_of_two_thousand_nodes_is_quick():
    start = time.process_time()
    root = ElementTree.fromstring(svg(deep(1000)))
    assert time.process_time() - start < 10, "about a second"
    assert float(root.get("height")) < 1.7 * float(root.get("width"))


def test_several_graphs_in_one_drawing():
    graphs = [graph_of(TEXT), deep(3), graph_of(TEXT)]
    root = ElementTree.fromstring(stacked([(g, {"k": g.nodes[:1]}) for g in graphs]))
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids)) == sum(len(g.inputs) + len(g.nodes) for g in graphs)
    inner = [e for e in root if e.tag.endswith("svg")]
    assert float(root.get("height")) == pytest.approx(sum(float(e.get("height")) for e in inner), abs=2)
    assert ElementTree.fromstring(stacked([])).get("width") == "0"


def test_dot_names_every_box_and_edge():
    text = dot(graph_of(TEXT))
    assert text.startswith('digraph "block" {') and text.count("[label=") == 3 + 4 + 1 + 1 + text.count("->")
    assert len(re.findall(r"n\d+ -> n\d+", text)) == 2 + 1 + 2 + 1 + 1 + 1
    assert text.count("{") == text.count("}")


def test_networkx_has_an_edge_for_each_operand():
    g = graph_of(TEXT)
    nx_graph = to_networkx(g)
    matmul, expand, add, mul = g.nodes
    assert list(nx_graph.nodes) == [matmul, expand, add, mul]
    edges = [(a, b, d["value"]) for a, b, d in nx_graph.edges(data=True)]
    assert edges == [(matmul, add, matmul.output), (expand, add, expand.output)]


def test_networkx_has_the_nodes_of_the_graph_alone():
    whole = deep(4)
    tail = Graph("tail", (whole.nodes[1].outputs[0],), whole.nodes[2:], whole.outputs)
    assert [*to_networkx(tail)] == [*tail.nodes]


def test_networkx_is_not_imported_for_drawing():
    code = "import sys, ingot.ir.draw.view; print('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_save_writes_svg_and_dot(tmp_path):
    g = graph_of(TEXT)
    save(g, tmp_path / "g.svg")
    save(g, tmp_path / "g.dot")
    assert (tmp_path / "g.svg").read_text(encoding="utf-8") == svg(g)
    assert (tmp_path / "g.dot").read_text(encoding="utf-8") == dot(g)


# The layout by itself.


def random_layout(seed, count=60):
    rng = np.random.default_rng([6, seed])
    boxes = [Box(float(rng.integers(30, 160)), float(rng.integers(20, 50)), late=bool(rng.random() < 0.2))
             for _ in range(count)]
    nets = [Net(s, sorted({int(t) for t in rng.integers(s + 1, min(count, s + 12), size=int(rng.integers(1, 4)))}))
            for s in range(count - 1)]
    return arrange(boxes, nets)


@pytest.mark.parametrize("seed", range(8))
def test_boxes_never_overlap_and_lines_lead_down(seed):
    layout = random_layout(seed)
    for a, b in itertools.combinations(layout.boxes, 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, f"seed {seed}: {a} over {b}"
    for net in layout.nets:
        for t in net.targets:
            assert layout.boxes[t].layer > layout.boxes[net.source].layer
        for layer, bend in net.bends.items():
            for box in layout.boxes:
                assert box.layer != layer or abs(box.x - layout.x[bend]) > box.width / 2, f"seed {seed}: a line through {box}"


def test_a_chain_is_a_straight_line_and_a_bypass_too():
    boxes = [Box(60, 20) for _ in range(12)]
    nets = [Net(0, [1, 11])] + [Net(i, [i + 1]) for i in range(1, 11)]
    layout = arrange(boxes, nets)
    assert len({round(b.x, 3) for b in boxes[1:11]}) == 1
    assert len({round(layout.x[v], 3) for v in nets[0].bends.values()}) == 1


def test_an_empty_graph_can_be_drawn():
    assert arrange([], []).height == 0
    assert "<svg" in svg(graph_of("graph nothing() {\n  return\n}"))
