"""The parts of a drawing of a graph, as SVG: boxes by kind, lines with branches, types, shaded groups, the legend."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from unicodedata import east_asian_width

from ..errors import GraphError
from ..graph.graph import Node, Value
from ..graph.printer import format_node, format_param, format_place, value_names
from ..opdef.op import Composite, Host, Reduce, Scalar, Template, View
from ..ops.core.shape import full
from .layout import Box, Layout
from .tables import clipped, markup


class Kind(NamedTuple):
    """A kind of box: its name in the legend, and its fill and line on light and on dark ground."""

    name: str
    fill: str
    line: str
    dark_fill: str
    dark_line: str


KINDS = {
    "input": Kind("input", "#f1f5f9", "#64748b", "#1e293b", "#94a3b8"),
    "elementwise": Kind("elementwise", "#dbeafe", "#3b82f6", "#1e3a5f", "#60a5fa"),
    "reduction": Kind("reduction", "#ffedd5", "#f97316", "#5a2e12", "#fb923c"),
    "template": Kind("contraction, gather, scan", "#ede9fe", "#8b5cf6", "#3b2a69", "#a78bfa"),
    "composite": Kind("composite", "#ccfbf1", "#14b8a6", "#134e4a", "#2dd4bf"),
    "view": Kind("view", "#f8fafc", "#94a3b8", "#172033", "#7b8ba3"),
    "fill": Kind("constant", "#fefce8", "#ca8a04", "#463908", "#eab308"),
    "random": Kind("random", "#fce7f3", "#ec4899", "#5c1f40", "#f472b6"),
    "host": Kind("host step", "#fee2e2", "#ef4444", "#5c1d1d", "#f87171"),
    "output": Kind("output", "#dcfce7", "#16a34a", "#14432a", "#4ade80"),
    "update": Kind("update", "#fef3c7", "#d97706", "#4d3009", "#fbbf24"),
    "tag": Kind("continued", "#ffffff", "#94a3b8", "#0f172a", "#7b8ba3"),
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

    `anchor` is its name in the file, `link` the one it points to. `groups` are the groups that its node belongs to.
    """

    def __init__(self, kind, title, detail="", tip="", reads=(), makes=(), node=None, anchor="", link="", groups=()):
        self.kind, self.title, self.detail, self.tip = kind, clipped(title, _TITLE_LETTERS), detail, tip
        self.reads, self.makes, self.node = tuple(reads), tuple(makes), node
        self.anchor, self.link, self.groups = anchor, link, tuple(groups)


class Group(NamedTuple):
    """A named set of nodes in one colour."""

    name: str
    colour: str


def groups_of(graph, groups: Mapping[str, Iterable[Node]]) -> dict:
    """Return {node: the groups it belongs to} for groups {name: nodes}; several kernels may compute a node again.

    Each box keeps its groups, so a drawing in several columns shades in each column the boxes that stand there.
    """
    found: dict = dict.fromkeys(graph.nodes, ())
    for i, (name, nodes) in enumerate(groups.items()):
        group = Group(name, GROUP_COLOURS[i % len(GROUP_COLOURS)])
        for n in dict.fromkeys(nodes):
            if n not in found:
                raise GraphError(f"the group {name!r} has a node that the graph {graph.name} lacks: {n!r}; take the nodes of "
                                 "the graph that is drawn, not of the one before or after a pass")
            found[n] += (group,)
    return found


def items_of(graph, groups: Mapping[str, Iterable[Node]] | None = None) -> list:
    """Return all boxes of the graph, in topological order."""
    names, members = value_names(graph), groups_of(graph, groups or {})
    items = [Item("input", v.name, tip=f"{names[v]}: {v.aval!r}", makes=(v,), anchor=names[v]) for v in graph.inputs]
    for n in graph.nodes:
        tip = format_node(n, names) + (f"\n{format_place(n.line)}" if n.line else "")
        title, detail = (format_param(n.params["value"]), "") if n.op is full else (n.op.name, _detail(n))
        reads = [x for x in n.inputs if type(x) is Value]
        items.append(Item(kind_of(n), title, detail, tip, reads, n.outputs, n, anchor=names[n.outputs[0]] if n.outputs else "",
                          groups=members[n]))
    for u in graph.updates:
        tip = f"writes {names[u.value]} into {names[u.target]}"
        items.append(Item("update", f"update {u.target.name}", tip=tip, reads=(u.value,)))
    for i, v in enumerate(graph.outputs):
        items.append(Item("output", f"output {i}" if len(graph.outputs) > 1 else "output", tip=names[v], reads=(v,)))
    return items


_DETAIL = 34            # letters of parameters that a box shows
_TITLE_LETTERS = 44     # letters of its title
_NAME_LETTERS = 60      # letters of the graph's name in the header


def _detail(node) -> str:
    literal = any(type(x) is not Value and x is not None for x in node.inputs)
    words = ["(" + ", ".join("·" if type(x) is Value else format_param(x) for x in node.inputs) + ")"] if literal else []
    words += [f"{k}={format_param(v)}".replace(", ", ",") for k, v in sorted(node.params.items())]
    return clipped(" ".join(words), _DETAIL)


# Pieces of SVG.

MARGIN, HEADER = 32, 84
_TITLE, _SMALL, _TYPE, _NAME, _NOTE = 12.5, 10, 9.5, 17, 11      # font sizes
_LABEL, _LABEL_ROOM = 10.5, 24       # of a group's name, and how much wider than its box it may be
_LETTER = 0.605                            # width of a monospace letter, in font sizes


def _both(name, light, dark) -> str:
    """Return a colour for light and dark ground; viewers that do not know `light-dark` keep the first."""
    return f"{name}: {light}; {name}: light-dark({light}, {dark})"


def _style() -> str:
    """Return the rules of all drawings. They are confined to drawings, which pages and notebooks hold beside other things.

    A drawing follows the reader's preference. JupyterLab and VS Code have themes of their own, which they write on the body.
    """
    plain: str = f"""
.ingot-graph {{ color-scheme: light dark;
  font-family: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace }}
[data-jp-theme-light="true"] .ingot-graph, .vscode-light .ingot-graph {{ color-scheme: light }}
[data-jp-theme-light="false"] .ingot-graph, .vscode-dark .ingot-graph {{ color-scheme: dark }}
.ingot-graph text {{ {_both("fill", "#0f172a", "#e2e8f0")} }}
.ingot-graph .ground {{ {_both("fill", "#ffffff", "#0f172a")} }}
.ingot-graph .title {{ font-size: 12.5px; font-weight: 600; text-anchor: middle }}
.ingot-graph .detail {{ font-size: 10px; {_both("fill", "#475569", "#a9b8cc")}; text-anchor: middle }}
.ingot-graph .type {{ font-size: 9.5px; {_both("fill", "#475569", "#a9b8cc")}; text-anchor: middle }}
.ingot-graph .halo {{ {_both("fill", "#ffffff", "#0f172a")}; fill-opacity: .92 }}
.ingot-graph .net {{ fill: none; {_both("stroke", "#94a3b8", "#64748b")}; stroke-width: 1.3 }}
.ingot-graph .head {{ {_both("fill", "#94a3b8", "#64748b")} }}
.ingot-graph .box {{ stroke-width: 1.2 }}
.ingot-graph .item:hover .box, .ingot-graph a:focus-visible .box {{ stroke-width: 2.6 }}
.ingot-graph .line:hover .net {{ {_both("stroke", "#0f172a", "#f1f5f9")}; stroke-width: 2.2 }}
.ingot-graph .name {{ font-size: 17px; font-weight: 700 }}
.ingot-graph .note {{ font-size: 11px; {_both("fill", "#64748b", "#94a3b8")} }}
.ingot-graph .group {{ font-size: 10.5px; font-weight: 700 }}
"""
    for name, k in KINDS.items():
        plain += f".ingot-graph .k-{name} {{ {_both('fill', k.fill, k.dark_fill)}; {_both('stroke', k.line, k.dark_line)} }}\n"
    return plain


STYLE = _style()


def width_of(text: str, size: float) -> float:
    """Return the width of a text; letters of East Asia are twice as wide."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text) * size * _LETTER


def box_of(item):
    """Return the box of an item, as large as its words and the types below it need."""
    words = max(width_of(item.title, _TITLE), width_of(item.detail, _SMALL)) + 22
    types = sum(width_of(repr(v.aval), _TYPE) + 10 for v in item.makes)
    return Box(max(words, types, 46), 40 if item.detail else 26, late=item.kind in LATE)


def _counts(graph) -> str:
    numbers = (("node", graph.nodes), ("input", graph.inputs), ("output", graph.outputs), ("update", graph.updates))
    return ", ".join(f"{len(things)} {what}{'s' * (len(things) != 1)}" for what, things in numbers if things)


def _name_width(graph) -> float:
    return width_of(clipped(graph.name, _NAME_LETTERS), _NAME) + 14


def draw_header(graph, items):
    """Return the name of the graph and its size."""
    yield (f'<g><title>{markup(graph.name)}</title>'
           f'<text class="name" x="{MARGIN}" y="34">{markup(clipped(graph.name, _NAME_LETTERS))}</text></g>')
    yield f'<text class="note" x="{MARGIN + _name_width(graph):.1f}" y="34">{_counts(graph)}</text>'
    x = MARGIN
    for kind in _kinds_shown(items):
        k = KINDS[kind]
        yield (f'<rect class="k-{kind}" x="{x:.1f}" y="49" width="11" height="11" rx="3" fill="{k.fill}" stroke="{k.line}" '
               'stroke-width="1.2"/>')
        yield f'<text class="note" x="{x + 17:.1f}" y="58.5">{k.name}</text>'
        x += _legend_step(k.name)


def header_width(graph, items) -> float:
    """Return the width of the name with the size, or of the legend."""
    legend = sum(_legend_step(KINDS[k].name) for k in _kinds_shown(items))
    return max(legend, _name_width(graph) + width_of(_counts(graph), _NOTE))


def _kinds_shown(items):
    there = {item.kind for item in items}
    return [k for k in KINDS if k in there]


def _legend_step(name):
    return 17 + width_of(name, _NOTE) + 18


def draw_box(item, box, mark=""):
    """Return the box of one item with its words. Names in the file begin with `mark`."""
    _, fill, line, *_ = KINDS[item.kind]
    left, top = box.x - box.width / 2, box.y - box.height / 2
    radius = box.height / 2 if item.kind in ROUND else 7
    dash = ' stroke-dasharray="4 2.5"' if item.kind in ("view", "tag") else ""
    anchor = f' id="{mark}{markup(item.anchor[1:])}"' if item.anchor else ""
    if item.link:
        yield f'<a href="#{mark}{markup(item.link[1:])}">'
    yield f'<g class="item"{anchor}><title>{markup(item.tip)}</title>'
    yield (f'<rect class="box k-{item.kind}" x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
           f'rx="{radius:.1f}" fill="{fill}" stroke="{line}"{dash}/>')
    middle = box.y + 4.3 if not item.detail else box.y - 3.5
    yield f'<text class="title" x="{box.x:.1f}" y="{middle:.1f}">{markup(item.title)}</text>'
    if item.detail:
        yield f'<text class="detail" x="{box.x:.1f}" y="{box.y + 11.5:.1f}">{markup(item.detail)}</text>'
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
    w = width_of(text, _TYPE) + 8
    yield f'<rect class="halo" x="{x - w / 2:.1f}" y="{y - 8.5:.1f}" width="{w:.1f}" height="12" rx="4"/>'
    yield f'<text class="type" x="{x:.1f}" y="{y + 0.5:.1f}">{markup(text)}</text>'


def draw_net(value, net, items, layout: Layout):
    """Return one line with branches, each piece drawn once."""
    source = layout.boxes[net.source]
    start = _outlet(value, items[net.source], source), source.y + source.height / 2
    at = {source.layer: start}
    trunk, heads, branches = _Path(start), [], []
    for layer, bend in sorted(net.bends.items()):
        x = layout.x[bend]
        trunk.curve((x, layout.tops[layer]))
        trunk.curve((x, layout.bottoms[layer]))
        at[layer] = (x, layout.bottoms[layer])
    for t in net.targets:
        box, reads = layout.boxes[t], items[t].reads
        for i, v in enumerate(reads):
            if v is value:
                end = (_inlet(i, items[t], box, len(reads)), box.y - box.height / 2)
                branches.append(_curve(at[box.layer - 1], (end[0], end[1] - 4)))
                heads.append(f"M{end[0] - 3.4:.1f} {end[1] - 6:.1f} h6.8 l-3.4 6z")
    pieces = [*trunk.pieces(), *branches]
    yield f'<g class="line"><title>{markup(repr(value.aval))}</title>'
    yield f'<path class="net" d="{" ".join(pieces)}"/><path class="head" d="{" ".join(heads)}"/></g>'


_STRAIGHT = 0.5     # two ends this near each other are joined by a straight line


class _Path:
    """A line through points, from top to bottom. Straight pieces below each other are one."""

    def __init__(self, start):
        self.last, self._pieces = start, [f"M{start[0]:.1f} {start[1]:.1f}"]
        self._down = None       # the end of a vertical piece that is not written yet

    def curve(self, end):
        """Go on to a point."""
        (x0, y0), (x1, y1) = self.last, end
        if abs(x0 - x1) >= _STRAIGHT:
            self._write()
            middle = (y0 + y1) / 2
            self._pieces.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}")
            self.last = end
        else:
            self._down, self.last = y1, (x0, y1)

    def _write(self):
        if self._down is not None:
            self._pieces.append(f"V{self._down:.1f}")
            self._down = None

    def pieces(self) -> list:
        """Return the pieces of the path; none of a line that goes nowhere."""
        self._write()
        return self._pieces if len(self._pieces) > 1 else []


def _curve(a, b):
    path = _Path(a)
    path.curve(b)
    return " ".join(path.pieces())


def draw_groups(items, layout, net_of):
    """Return a shade for each group behind its boxes and the lines between them; other boxes are never inside."""
    members_of: dict = {}
    for i, item in enumerate(items):
        for group in item.groups:
            members_of.setdefault(group, set()).add(i)
    for (name, colour), members in members_of.items():
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
        letters = int((top.width + _LABEL_ROOM) / (_LABEL * _LETTER))       # (labels of neighbours must not meet)
        yield (f'<g><title>{markup(name)}</title><text class="group" x="{top.x - top.width / 2 - 4:.1f}" '
               f'y="{top.y - top.height / 2 - 13:.1f}" style="fill:{colour}">{markup(clipped(name, letters))}</text></g>')


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
