"""Layout of drawings: layers from top to bottom, few crossings, straight long lines.

Boxes stand in topological order. A net leads from one box to all that read it and is one line with branches: between
layers it runs through bends, one for each layer it passes, shared by all its readers.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass, field

_ORDER_SWEEPS = 10
_PLACE_SWEEPS = 24
_WORK = 240_000       # vertices that all sweeps visit: drawings of thousands of boxes get fewer sweeps,
_FEWEST_SWEEPS = 4    # but so many
_STRAIGHT_ROUNDS = 3
_BEND = 10.0          # room that a passing line takes
_STRAIGHT = 6.0       # how much more a line wants to be straight than a box to be centred


@dataclass
class Box:
    """A rectangle to place; x and y are its centre once it is placed."""

    width: float
    height: float
    late: bool = False    # stands just above its first reader instead of as high as possible
    x: float = 0.0
    y: float = 0.0
    layer: int = 0


@dataclass
class Net:
    """A line from a box to its readers. `bends` maps each layer it passes to the vertex there."""

    source: int
    targets: list
    bends: dict = field(default_factory=dict)


@dataclass
class Layout:
    """Placed boxes and nets, the x of every vertex (boxes, then bends), the extent of each layer, the size of the whole."""

    boxes: list
    nets: list
    x: list
    tops: list
    bottoms: list
    width: float
    height: float


def arrange(boxes: list, nets: list, *, column_gap: float = 26, layer_gap: float = 44) -> Layout:
    """Place the boxes, changed in place, and return the layout."""
    assign_layers(boxes, nets)
    layers, up, down = _vertices(boxes, nets)
    _order(layers, up, down)
    widths = [b.width for b in boxes] + [_BEND] * (len(up) - len(boxes))
    x = _place(layers, up, down, widths, len(boxes), column_gap)
    tops, bottoms, y = [], [], 0.0
    for layer in layers:
        height = max((boxes[v].height for v in layer if v < len(boxes)), default=0.0)
        tops.append(y)
        bottoms.append(y + height)
        y += height + layer_gap
    for v, b in enumerate(boxes):
        b.x, b.y = x[v], (tops[b.layer] + bottoms[b.layer]) / 2
    width = max((x[v] + widths[v] / 2 for v in range(len(x))), default=0.0)
    return Layout(boxes, nets, x, tops, bottoms, width, bottoms[-1] if bottoms else 0.0)


# Layers.


def assign_layers(boxes: list, nets: list):
    """Give each box its layer: below all it reads, and near its readers where that shortens lines."""
    by_source: dict = {}
    incoming = [0] * len(boxes)
    for net in nets:
        by_source.setdefault(net.source, []).append(net)
        for t in net.targets:
            incoming[t] += 1
    for s, b in enumerate(boxes):
        for net in by_source.get(s, ()):
            for t in net.targets:
                boxes[t].layer = max(boxes[t].layer, b.layer + 1)
    for s in reversed(range(len(boxes))):
        readers = [boxes[t].layer for net in by_source.get(s, ()) for t in net.targets]
        if readers and (boxes[s].late or incoming[s] <= len(by_source[s])):
            boxes[s].layer = max(boxes[s].layer, min(readers) - 1)
    top = min((b.layer for b in boxes), default=0)
    for b in boxes:
        b.layer -= top


def _vertices(boxes, nets):
    """Add the bends; return the vertices of each layer and each vertex's neighbours above and below."""
    layers = [[] for _ in range(1 + max((b.layer for b in boxes), default=-1))]
    for v, b in enumerate(boxes):
        layers[b.layer].append(v)
    up, down = [[] for _ in boxes], [[] for _ in boxes]

    def join(a, b):
        down[a].append(b)
        up[b].append(a)

    for net in nets:
        at = net.source
        first = boxes[net.source].layer + 1
        for layer in range(first, max((boxes[t].layer for t in net.targets), default=first)):
            net.bends[layer] = len(up)
            layers[layer].append(len(up))
            up.append([])
            down.append([])
            join(at, net.bends[layer])
            at = net.bends[layer]
        for t in net.targets:
            join(net.bends.get(boxes[t].layer - 1, net.source), t)
    return layers, up, down


def _sweeps(most: int, vertices: int) -> int:
    """Return the number of sweeps over so many vertices."""
    return max(_FEWEST_SWEEPS, min(most, _WORK // max(1, vertices)))


# Order within layers.


def _order(layers, up, down):
    position: dict = {}

    def number(layer):
        position.update((v, i) for i, v in enumerate(layer))

    for layer in layers:
        number(layer)
    best, fewest = [list(layer) for layer in layers], _crossings(layers, down, position)
    for sweep in range(_sweeps(_ORDER_SWEEPS, sum(map(len, layers)))):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            neighbours = up if downwards else down
            layer.sort(key=lambda v: _mean([position[u] for u in neighbours[v]], position[v]))
            number(layer)
        crossings = _crossings(layers, down, position)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
        if not fewest:
            break
    for layer, good in zip(layers, best):
        layer[:] = good


def _mean(numbers, otherwise):
    return sum(numbers) / len(numbers) if numbers else otherwise


def _crossings(layers, down, position) -> int:
    total = 0
    for layer in layers:
        seen: list[int] = []
        for v in layer:
            ends = sorted(position[u] for u in down[v])
            total += sum(len(seen) - bisect_left(seen, e + 1) for e in ends)
            for e in ends:
                insort(seen, e)
    return total


# Columns.


def _place(layers, up, down, widths, boxes, gap):
    """Return the x of every vertex: near its neighbours, and never too near to the next."""
    x = [0.0] * len(up)
    for layer in layers:
        at = 0.0
        for v in layer:
            x[v] = at + widths[v] / 2
            at += widths[v] + gap
    sweeps = _sweeps(_PLACE_SWEEPS, len(x))
    for sweep in range(sweeps):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            _settle(layer, x, _wishes(layer, x, up, down, boxes, downwards, 2 * sweep >= sweeps), widths, gap)
    for _ in range(_STRAIGHT_ROUNDS):
        _straighten(layers, up, down, x, widths, gap)
    left = min((x[v] - widths[v] / 2 for v in range(len(x))), default=0.0)
    return [c - left for c in x]


def _wishes(layer, x, up, down, boxes, downwards, is_late):
    """Return (wanted x, weight) of each vertex of a layer. Late sweeps look at the neighbours on both sides."""
    wishes = []
    for v in layer:
        near, far = (up[v], down[v]) if downwards else (down[v], up[v])
        at = total = 0.0
        for u in near + far if is_late or not near else near:
            pull = _STRAIGHT if v >= boxes and u >= boxes else 2.0 if v >= boxes or u >= boxes else 3.0
            at += x[u] * pull
            total += pull
        wishes.append((at / total if total else x[v], total or 0.1))
    return wishes


def _settle(layer, x, wishes, widths, gap):
    """Return the positions nearest to the wishes that keep order and distance: colliding neighbours share one shift."""
    blocks: list = []    # (weighted mean, weight, count), over positions with all distances taken away
    offset, offsets = 0.0, []
    for i, v in enumerate(layer):
        if i:
            offset += (widths[layer[i - 1]] + widths[v]) / 2 + gap
        offsets.append(offset)
        block = (wishes[i][0] - offset, wishes[i][1], 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, weight, count = blocks.pop()
            total = weight + block[1]
            block = ((mean * weight + block[0] * block[1]) / total, total, count + block[2])
        blocks.append(block)
    i = 0
    for mean, _, count in blocks:
        for _ in range(count):
            x[layer[i]] = mean + offsets[i]
            i += 1


# Straight lines.


def _straighten(layers, up, down, x, widths, gap):
    """Align chains of consecutive vertices on as few vertical lines as their neighbours leave room for."""
    neighbours = {v: (layer[i - 1] if i else None, layer[i + 1] if i + 1 < len(layer) else None)
              for layer in layers for i, v in enumerate(layer)}

    def room(v):
        left, right = neighbours[v]
        low = float("-inf") if left is None else x[left] + (widths[left] + widths[v]) / 2 + gap
        high = float("inf") if right is None else x[right] - (widths[right] + widths[v]) / 2 - gap
        return low, high

    for chain in sorted(_chains(up, down, x), key=len, reverse=True):
        run, low, high = [], float("-inf"), float("inf")
        for v in chain:
            a, b = room(v)
            if max(low, a) > min(high, b):
                _line_up(run, low, high, x)
                a, b = room(v)
                run, low, high = [], a, b
            run.append(v)
            low, high = max(low, a), min(high, b)
        _line_up(run, low, high, x)


def _line_up(run, low, high, x):
    if len(run) > 1 and low <= high:
        wanted = sorted(x[v] for v in run)[len(run) // 2]
        for v in run:
            x[v] = min(max(wanted, low), high)


def _chains(up, down, x):
    """Return chains of vertices in which each is the other's nearest neighbour."""
    def nearest(v, candidates):
        return min(candidates, key=lambda u: abs(x[u] - x[v]))

    follows = {v: u for v in range(len(x)) if down[v] for u in [nearest(v, down[v])] if nearest(u, up[u]) == v}
    starts = set(follows) - set(follows.values())
    for v in sorted(starts):
        chain = [v]
        while chain[-1] in follows:
            chain.append(follows[chain[-1]])
        yield chain
