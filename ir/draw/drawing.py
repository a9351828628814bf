"""The parts of a drawing of a graph, as SVG: boxes by kind, lines with branches, types, shaded groups, the legend."""

from html import escape

from ..graph.graph import Node, Value
from ..graph.printer import format_node, format_param, format_place, value_names
from ..opdef.op import Composite, Host, Reduce, Scalar, Template, View
from ..ops.core.shape import full
from .layout import Box, Layout

# Kinds of boxes: name in the legend, fill, line.
KINDS = {
    "input": ("input", "#f1f5f9", "#64748b"),
    "elementwise": ("elementwise", "#dbeafe", "#3b82f6"),
    "reduction": ("reduction", "#ffedd5", "#f97316"),
    "template": ("contraction, gather, scan", "#ede9fe", "#8b5cf6"),
    "composite": ("composite", "#ccfbf1", "#14b8a6"),
    "view": ("view", "#f8fafc", "#94a3b8"),
    "fill": ("constant", "#fefce8", "#ca8a04"),
    "random": ("random", "#fce7f3", "#ec4899"),
    "host": ("host step", "#fee2e2", "#ef4444"),
    "output": ("output", "#dcfce7", "#16a34a"),
    "update": ("update", "#fef3c7", "#d97706"),
    "tag": ("continued", "#ffffff", "#94a3b8"),
}
_WAYS = {Scalar: "elementwise", Reduce: "reduction", View: "view", Composite: "composite", Template: "template", Host: "host"}
ROUND = frozenset(("input", "output", "update", "fill", "tag"))
LATE = frozenset(("input", "fill", "tag"))   # stand just above their first reader
GROUP_COLOURS = ("#6366f1", "#10b981", "#f59e0b", "#ef4444", "#06b6d4", "#a855f7", "#84cc16", "#ec4899")


def kind_of(node: Node) -> str:
    """Return the kind of a node's box."""
    if "random" in node.op.traits:
        return "random"
    return "fill" if node.op.lower == full.lower else _WAYS[type(node.op.lower)]


class Item:
    """A box before it is placed: its kind and words, the values that lead in and out, and its node.

    `anchor` is its name in the file, `link` the one it points to.
    """

    def __init__(self, kind, title, detail="", tip="", reads=(), makes=(), node=None, anchor="", link=""):
        self.kind, self.title, self.detail, self.tip = kind, title, detail, tip
        self.reads, self.makes, self.node = tuple(reads), tuple(makes), node
        self.anchor, self.link = anchor, link


def items_of(graph) -> list:
    """Return all boxes of the graph, in topological order."""
    names = value_names(graph)
    items = [Item("input", v.name, tip=f"{names[v]}: {v.aval!r}", makes=(v,), anchor=names[v]) for v in graph.inputs]
    for n in graph.nodes:
        tip = format_node(n, names) + (f"\n{format_place(n.line)}" if n.line else "")
        title, detail = (format_param(n.params["value"]), "") if n.op is full else (n.op.name, _detail(n))
        reads = [x for x in n.inputs if type(x) is Value]
        items.append(Item(kind_of(n), title, detail, tip, reads, n.outputs, n, anchor=names[n.outputs[0]] if n.outputs else ""))
    for u in graph.updates:
        tip = f"writes {names[u.value]} into {names[u.target]}"
        items.append(Item("update", f"update {u.target.name}", tip=tip, reads=(u.value,)))
    for i, v in enumerate(graph.outputs):
        items.append(Item("output", f"output {i}" if len(graph.outputs) > 1 else "output", tip=names[v], reads=(v,)))
    return items


_DETAIL = 34   # letters of parameters that a box shows


def _detail(node) -> str:
    literal = any(type(x) is not Value and x is not None for x in node.inputs)
    words = ["(" + ", ".join("·" if type(x) is Value else format_param(x) for x in node.inputs) + ")"] if literal else []
    words += [f"{k}={format_param(v)}".replace(", ", ",") for k, v in sorted(node.params.items())]
    text = " ".join(words)
    return text if len(text) <= _DETAIL else text[: _DETAIL - 1] + "…"


# Pieces of SVG.

MARGIN, HEADER = 32, 84
_TITLE, _SMALL, _TYPE = 12.5, 10, 9.5      # font sizes
_LETTER = 0.605                            # width of a monospace letter, in font sizes

STYLE = """
text { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #0f172a }
.title { font-size: 12.5px; font-weight: 600; text-anchor: middle }
.detail { font-size: 10px; fill: #475569; text-anchor: middle }
.type { font-size: 9.5px; fill: #475569; text-anchor: middle }
.halo { fill: #ffffff; fill-opacity: .92 }
.net { fill: none; stroke: #94a3b8; stroke-width: 1.3 }
.head { fill: #94a3b8 }
.box { stroke-width: 1.2 }
.item:hover .box { stroke-width: 2.6 }
.line:hover .net { stroke: #0f172a; stroke-width: 2.2 }
.name { font-size: 17px; font-weight: 700 }
.note { font-size: 11px; fill: #64748b }
.group { font-size: 10.5px; font-weight: 700 }
"""


def box_of(item):
    """Return the box of an item, as large as its words and the types below it need."""
    words = max(len(item.title) * _TITLE * _LETTER, len(item.detail) * _SMALL * _LETTER) + 22
    types = sum(len(repr(v.aval)) * _TYPE * _LETTER + 10 for v in item.makes)
    return Box(max(words, types, 46), 40 if item.detail else 26, late=item.kind in LATE)


def draw_header(graph, items):
    """Return the name of the graph and its size."""
    numbers = (("node", graph.nodes), ("input", graph.inputs), ("output", graph.outputs), ("update", graph.updates))
    counts = ", ".join(f"{len(things)} {what}{'s' * (len(things) != 1)}" for what, things in numbers if things)
    yield f'<text class="name" x="{MARGIN}" y="34">{escape(graph.name)}</text>'
    yield f'<text class="note" x="{MARGIN + 17 * _LETTER * len(graph.name) + 14:.1f}" y="34">{counts}</text>'
    x = MARGIN
    for kind in _kinds_shown(items):
        name, fill, line = KINDS[kind]
        yield f'<rect x="{x:.1f}" y="49" width="11" height="11" rx="3" fill="{fill}" stroke="{line}" stroke-width="1.2"/>'
        yield f'<text class="note" x="{x + 17:.1f}" y="58.5">{name}</text>'
        x += _legend_step(name)


def _kinds_shown(items):
    there = {item.kind for item in items}
    return [k for k in KINDS if k in there]


def _legend_step(name):
    return 17 + 11 * _LETTER * len(name) + 18


def legend_width(items):
    """Return the width of the legend of the kinds that occur."""
    return sum(_legend_step(KINDS[k][0]) for k in _kinds_shown(items))


def draw_box(item, box):
    """Return the box of one item with its words."""
    _, fill, line = KINDS[item.kind]
    left, top = box.x - box.width / 2, box.y - box.height / 2
    radius = box.height / 2 if item.kind in ROUND else 7
    dash = ' stroke-dasharray="4 2.5"' if item.kind in ("view", "tag") else ""
    anchor = f' id="{escape(item.anchor[1:])}"' if item.anchor else ""
    if item.link:
        yield f'<a href="#{escape(item.link[1:])}">'
    yield f'<g class="item"{anchor}><title>{escape(item.tip)}</title>'
    yield (f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
           f'rx="{radius:.1f}" fill="{fill}" stroke="{line}"{dash}/>')
    middle = box.y + 4.3 if not item.detail else box.y - 3.5
    yield f'<text class="title" x="{box.x:.1f}" y="{middle:.1f}">{escape(item.title)}</text>'
    if item.detail:
        yield f'<text class="detail" x="{box.x:.1f}" y="{box.y + 11.5:.1f}">{escape(item.detail)}</text>'
    yield "</g></a>" if item.link else "</g>"


def _outlet(value, item, box):
    count = len(item.makes)
    return box.x + (value.index + 0.5 - count / 2) * box.width / count if item.node is not None else box.x


def _inlet(i, item, box, count):
    return box.x + (i + 0.5 - count / 2) * min(box.width * 0.7 / count, 26)


def draw_type(value, item, box):
    """Return the type of a value, below the box that makes it."""
    text = repr(value.aval)
    x, y = _outlet(value, item, box), box.y + box.height / 2 + 13
    w = len(text) * _TYPE * _LETTER + 8
    yield f'<rect class="halo" x="{x - w / 2:.1f}" y="{y - 8.5:.1f}" width="{w:.1f}" height="12" rx="4"/>'
    yield f'<text class="type" x="{x:.1f}" y="{y + 0.5:.1f}">{escape(text)}</text>'


def draw_net(value, net, items, layout: Layout):
    """Return one line with branches, each piece drawn once."""
    source = layout.boxes[net.source]
    at = {source.layer: (_outlet(value, items[net.source], source), source.y + source.height / 2)}
    pieces, heads = [], []
    for layer, bend in sorted(net.bends.items()):
        x = layout.x[bend]
        pieces.append(_curve(at[layer - 1], (x, layout.tops[layer])) + f" V{layout.bottoms[layer]:.1f}")
        at[layer] = (x, layout.bottoms[layer])
    for t in net.targets:
        box, reads = layout.boxes[t], items[t].reads
        for i, v in enumerate(reads):
            if v is value:
                end = (_inlet(i, items[t], box, len(reads)), box.y - box.height / 2)
                pieces.append(_curve(at[box.layer - 1], (end[0], end[1] - 4)))
                heads.append(f"M{end[0] - 3.4:.1f} {end[1] - 6:.1f} h6.8 l-3.4 6z")
    yield f'<g class="line"><title>{escape(repr(value.aval))}</title>'
    yield f'<path class="net" d="{" ".join(pieces)}"/><path class="head" d="{" ".join(heads)}"/></g>'


def _curve(a, b):
    (x0, y0), (x1, y1) = a, b
    if abs(x0 - x1) < 0.5:
        return f"M{x0:.1f} {y0:.1f} L{x1:.1f} {y1:.1f}"
    middle = (y0 + y1) / 2
    return f"M{x0:.1f} {y0:.1f} C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"


def draw_groups(items, layout, groups, net_of):
    """Return a shade for each group behind its boxes and the lines between them; other boxes are never inside."""
    index = {item.node: i for i, item in enumerate(items) if item.node is not None}
    for k, (name, nodes) in enumerate(groups.items()):
        colour, members = GROUP_COLOURS[k % len(GROUP_COLOURS)], {index[n] for n in nodes}
        yield f'<g opacity="0.16" fill="{colour}" stroke="{colour}" stroke-linejoin="round" stroke-linecap="round">'
        for i in sorted(members):
            b = layout.boxes[i]
            yield (f'<rect x="{b.x - b.width / 2 - 9:.1f}" y="{b.y - b.height / 2 - 9:.1f}" width="{b.width + 18:.1f}" '
                   f'height="{b.height + 18:.1f}" rx="14" stroke="none"/>')
        for i in sorted(members):
            for v in items[i].makes:
                yield from _group_lines(net_of[v], members, layout)
        yield "</g>"
        top = layout.boxes[min(members, key=lambda i: (layout.boxes[i].y, layout.boxes[i].x))]
        yield (f'<text class="group" x="{top.x - top.width / 2 - 4:.1f}" y="{top.y - top.height / 2 - 13:.1f}" '
               f'style="fill:{colour}">{escape(name)}</text>')


def _group_lines(net, members, layout):
    inside = [t for t in net.targets if t in members]
    if not inside:
        return
    source = layout.boxes[net.source]
    points = {source.layer: [(source.x, source.y)]}
    last = max(layout.boxes[t].layer for t in inside)
    for layer, bend in net.bends.items():
        if layer < last:
            points[layer] = [(layout.x[bend], layout.tops[layer]), (layout.x[bend], layout.bottoms[layer])]
    for layer in range(source.layer + 1, last):
        yield _thick(points[layer - 1][-1], points[layer][0]) + _thick(*points[layer])
    for t in inside:
        b = layout.boxes[t]
        yield _thick(points[b.layer - 1][-1], (b.x, b.y))


def _thick(a, b):
    return f'<path d="{_curve(a, b)}" fill="none" stroke-width="26"/>'
