"""Views of a graph: a networkx graph, DOT, and a drawing in SVG that needs no other tool."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from ..graph.graph import Graph, Node, Value
from .drawing import (
    HEADER,
    KINDS,
    LATE,
    MARGIN,
    STYLE,
    Item,
    box_of,
    draw_box,
    draw_groups,
    draw_header,
    draw_net,
    draw_type,
    header_width,
    items_of,
)
from .layout import Net, arrange
from .tables import html_text, markup

Groups = Mapping[str, Sequence[Node]] | None


def to_networkx(graph: Graph):
    """Return a networkx MultiDiGraph over the nodes of `graph`, with an edge for each operand (attribute `value`).

    Users search and measure graphs with it. The package itself does not need networkx, so it is loaded here.
    """
    import networkx as nx

    g, inside = nx.MultiDiGraph(name=graph.name), set(graph.nodes)      # (a node of another graph may make an input)
    g.add_nodes_from(graph.nodes)
    for n in graph.nodes:
        g.add_edges_from((x.node, n, {"value": x}) for x in n.inputs if type(x) is Value and x.node in inside)
    return g


# DOT.


def dot(graph: Graph, groups: Groups = None) -> str:
    """Return the graph for graphviz; `groups` (name to nodes) become clusters."""
    items = items_of(graph, groups)
    maker = {v: i for i, item in enumerate(items) for v in item.makes}
    clusters: dict = {}
    out = [f"digraph {_quoted(graph.name)} {{", '  node [shape=box style="rounded,filled" fontname="monospace" fontsize=11]',
           '  edge [fontname="monospace" fontsize=9 color="#64748b"]']
    for i, item in enumerate(items):
        _, fill, line, *_ = KINDS[item.kind]
        label = item.title + (f"\n{item.detail}" if item.detail else "")
        colours = f"fillcolor={_quoted(fill)} color={_quoted(line)}"
        out.append(f"  n{i} [label={_quoted(label)} tooltip={_quoted(item.tip)} {colours}]")
    for i, item in enumerate(items):
        out += [f"  n{maker[v]} -> n{i} [label={_quoted(repr(v.aval))}]" for v in item.reads]
        for group in item.groups[:1]:       # graphviz draws a node in one cluster alone
            clusters.setdefault(group, []).append(f"n{i}")
    for k, (group, members) in enumerate(clusters.items()):
        words = f"label={_quoted(group.name)} color={_quoted(group.colour)}; {'; '.join(members)}"
        out.append(f"  subgraph cluster_{k} {{ {words} }}")
    return "\n".join(out) + "\n}\n"


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# SVG.

_LOW = 900           # a drawing of this height is in one column;
_TALL = 1.7          # one that is higher, and taller than this many times its width, is cut into columns,
_SHAPE = 1.1         # as many as bring it to this ratio,
_MOST_COLUMNS = 40   # or this many
_COLUMN_GAP = 56


def svg(graph: Graph, groups: Groups = None, *, mark: str = "", has_style: bool = True) -> str:
    """Return a drawing of the graph. `groups` (name to nodes) are shaded; hovering shows the IR text and the user's line.

    A tall graph is drawn in columns: a value that goes on in a later column ends in a tag and begins there with its twin.
    Colours follow the reader's preference for light or dark. In a page with several drawings, `mark` begins all names in this
    one, and the page may hold the `STYLE` itself.
    """
    return Drawing(graph, groups).svg(mark, has_style)


class Drawing:
    """A graph with all boxes placed, and its size."""

    def __init__(self, graph: Graph, groups: Groups = None):
        self.graph, self.columns = graph, _columns(items_of(graph, groups))
        self.items = [item for c in self.columns for item in c.items]
        self.inner = _width(self.columns)
        self.width = max(self.inner, header_width(graph, self.items)) + 2 * MARGIN
        self.height = max(c.height for c in self.columns) + HEADER + 2 * MARGIN

    def svg(self, mark: str = "", has_style: bool = True, top: float = 0.0) -> str:
        """Return the drawing as an SVG element, `top` below the start of the one that holds it."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        out = [_open_svg(size + (f' y="{top:.0f}"' if top else ""), self.graph.name, has_style),
               '<rect class="ground" width="100%" height="100%" fill="#ffffff"/>', *draw_header(self.graph, self.items)]
        x = (self.width - self.inner) / 2
        for c in self.columns:
            out += [f'<g transform="translate({x:.1f} {HEADER + 8})">', *c.draw(mark), "</g>"]
            x += c.width + _COLUMN_GAP
        return "\n".join([*out, "</svg>"])


def _open_svg(size: str, name: str, has_style: bool) -> str:
    style = f"\n<style>{STYLE}</style>" if has_style else ""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="ingot-graph" role="img" aria-label="graph {markup(name)}" '
            f'{size}>{style}')


def stacked(drawings: Sequence[tuple[Graph, Groups]]) -> str:
    """Return drawings of several graphs (each with its groups) below each other, as one SVG."""
    if len(drawings) == 1:
        return svg(*drawings[0])
    placed = [Drawing(*each) for each in drawings]
    width, height = max((d.width for d in placed), default=0), sum(d.height for d in placed)
    out, top = [_open_svg(f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"',
                          ", ".join(d.graph.name for d in placed), True),
                '<rect class="ground" width="100%" height="100%" fill="#ffffff"/>'], 0.0
    for i, d in enumerate(placed):
        out.append(d.svg(f"g{i}-", False, top))
        top += d.height
    return "\n".join([*out, "</svg>"])


class _Column:
    """Some items, placed."""

    def __init__(self, items):
        self.items = items
        self.values = [v for item in items for v in item.makes]
        nets = {v: Net(i, []) for i, item in enumerate(items) for v in item.makes}
        for i, item in enumerate(items):
            for v in dict.fromkeys(item.reads):
                nets[v].targets.append(i)
        self.nets = nets
        self.layout = arrange([box_of(item) for item in items], [n for n in nets.values() if n.targets])
        self.width, self.height = self.layout.width, self.layout.height

    def draw(self, mark):
        boxes = self.layout.boxes
        yield from draw_groups(self.items, self.layout, self.nets)
        for v in self.values:
            if self.nets[v].targets:
                yield from draw_net(v, self.nets[v], self.items, self.layout)
        for item, box in zip(self.items, boxes):
            yield from draw_box(item, box, mark)
        for v in self.values:
            source = self.nets[v].source
            yield from draw_type(v, self.items[source], boxes[source])


def _columns(items):
    """Lay all items out in one column, or in as many as make the drawing about as wide as high."""
    whole = _Column(items)
    if whole.height <= max(_LOW, _TALL * whole.width):
        return [whole]
    columns, count = [whole], max(2, int(math.sqrt(whole.height / _SHAPE / (whole.width + _COLUMN_GAP))))
    while count <= _MOST_COLUMNS:
        columns = [_Column(part) for part in _cut(items, whole, count)]
        if max(c.height for c in columns) <= _SHAPE * _width(columns):
            break
        count += 1 + count // 8
    return columns


def _width(columns):
    return sum(c.width for c in columns) + _COLUMN_GAP * (len(columns) - 1)


def _cut(items, whole, count):
    """Return the items of each of `count` columns, tags included."""
    layers = [box.layer for box in whole.layout.boxes]
    bounds = _bounds(items, whole, layers, count)
    for i, item in enumerate(items):    # what stands just above its first reader must not be parted from it
        readers = [t for v in item.makes for t in whole.nets[v].targets]
        if item.kind in LATE and readers:
            layers[i] = min(layers[t] for t in readers)
    parts = [[item for item, layer in zip(items, layers) if low <= layer < high] for low, high in pairwise(bounds)]
    return [_with_tags(part, items) for part in parts if part]


def _bounds(items, whole, layers, count):
    """Return the starts of the columns: near equal heights, where few lines are cut."""
    depth = max(layers) + 1
    crossed = [0] * (depth + 1)
    for net in whole.nets.values():
        if net.targets and items[net.source].kind != "input":
            for layer in range(layers[net.source] + 1, max(layers[t] for t in net.targets) + 1):
                crossed[layer] += 1
    bounds, reach = [0], max(1, depth // (6 * count))
    for k in range(1, count):
        middle = round(k * depth / count)
        near = range(max(bounds[-1] + 1, middle - reach), min(depth, middle + reach) + 1)
        bounds.append(min(near, key=lambda c: (crossed[c], abs(c - middle)), default=bounds[-1] + 1))
    return [*bounds, depth + 1]


def _with_tags(part, items):
    """Return a column's items, with a tag for each value that comes from another column or goes on to one."""
    here = set(map(id, part))
    made = {v: item for item in items for v in item.makes}
    readers: dict = {}
    for item in items:
        for v in item.reads:
            readers.setdefault(v, []).append(item)
    coming = dict.fromkeys(v for item in part for v in item.reads if id(made[v]) not in here)
    before = [Item("tag", _tag_name(made[v], v), tip=made[v].tip, makes=(v,), link=made[v].anchor) for v in coming]
    going = [(item, v) for item in part if item.kind != "input" for v in item.makes
             if any(id(r) not in here for r in readers.get(v, ()))]
    after = [Item("tag", _tag_name(item, v), tip=f"read further on: {item.tip}", reads=(v,)) for item, v in going]
    return before + part + after


def _tag_name(item, value):
    return item.anchor if len(item.makes) == 1 else f"{item.anchor}.{value.index}"


# Notebooks.

MOST_DRAWN = 120      # nodes of a graph that a notebook shows as a drawing; a larger one is text


def html(graph: Graph) -> str:
    """Return the HTML of a graph for a notebook: the `_repr_html_` of graphs. Drawings of one page need different names."""
    if len(graph.nodes) > MOST_DRAWN:
        return html_text(str(graph), "print(graph)", repr(graph))
    drawn = svg(graph, mark=f"g{id(graph):x}-")
    return f"<div role='figure' aria-label='{markup(repr(graph))}' style='overflow: auto; max-height: 40em'>{drawn}</div>"


Graph._repr_html_ = html      # type: ignore[attr-defined]    # graphs lie below drawings


def save(graph: Graph, path, groups: Groups = None):
    """Write the drawing to a file: SVG, or DOT if the name ends in .dot."""
    path = Path(path)
    path.write_text(dot(graph, groups) if path.suffix == ".dot" else svg(graph, groups), encoding="utf-8")
