"""The schedule of consecutive convolutions, some rows at a time (`passes/networks/chain_convs.py`).

Intermediate images stay in the cache of the core that works on an image. An item is an image, or a part of its rows if threads
would be idle. It goes through its rows in *bands*: for those of the last result, each convolution makes the rows of its result
that the next one reads and that are still missing. Between them are buffers, one for each thread, of as many rows as a band
needs; rows that the next band reads again are moved to the beginning. `conv_chain.py` writes its native call.
"""

from dataclasses import dataclass, replace
from typing import Any

from ..memory import cache_sizes
from . import conv_depthwise, conv_few_channels, conv_fused, conv_plan
from .conv_plan import Geometry, Window

_HEIGHT = 1                         # the dim that is cut: depth, height, width
_KEPT = 3 / 4                       # of a core's cache, for what a band reads and writes
_DEPTH_SHARE = 4                    # a panel of weights is at most such a part of that cache
_MOST_PARTS = 4                     # of an image for each thread
_MOST_BESIDE = 8                    # epilogue arrays of a layer of a chain
_LONGEST = 8                        # layers of a chain
_BETWEEN = 1 / 4                    # bytes of a core's cache that hold a layer's result for the next one
# Costs in multiply-adds of float32: a byte from or to the last cache, one of a core's own, the end of a
# step for which threads wait, the call of a kernel.
_FAR_BYTE, _NEAR_BYTE, _STEP, _CALL = 2, 1, 1 << 18, 1 << 15


@dataclass(frozen=True, eq=False)
class Layer:
    """A convolution of a chain: of one image, with its kernel."""

    fused: Any                      # conv_fused.FusedConv
    geometry: Geometry

    @property
    def height(self) -> Window:
        return self.geometry.dims[_HEIGHT]

    @property
    def row(self) -> int:
        """Bytes of a row of a plane of the result."""
        return self.geometry.dims[2].out * self.lanes * self.geometry.item

    @property
    def lanes(self) -> int:
        return self.geometry.lanes

    @property
    def blocks(self) -> int:
        return -(-self.fused.channels // self.lanes)

    @property
    def x_row(self) -> int:
        """Bytes of a row of a plane of x."""
        return self.geometry.dims[2].size * self._x_blocks.pixel

    @property
    def x_rows(self) -> int:
        """Bytes of a row of all planes of x."""
        g = self.geometry
        return self.x_row * self._x_blocks.count * (1 if self.fused.depthwise else g.groups)

    @property
    def _x_blocks(self):
        return conv_depthwise.blocks_of(self.geometry) if self.fused.depthwise else self.geometry.x_blocks

    @property
    def weight_bytes(self) -> int:
        return conv_fused.weight_bytes(self.geometry, 0)

    @property
    def multiplied(self) -> int:
        """Multiply-adds of a row of the result."""
        g = self.geometry
        return g.work // max(1, self.height.out)

    def reads(self, first: int, end: int) -> tuple:
        window = self.height
        low = first * window.stride - window.low
        high = (end - 1) * window.stride - window.low + (window.taps - 1) * window.dilation + 1
        low = min(max(low, 0), window.size)
        return low, max(low, min(high, window.size))


def layer_of(fused) -> Layer | None:
    """Return a layer of a chain, or None if its kernel takes whole images only."""
    g = replace(fused.inner, images=1)
    if fused.algorithm or g.dims[0] != Window(1, 1) or not (fused.x_blocked or (g.x_plain and not fused.depthwise)):
        return None
    if len(fused.lines.kinds) > _MOST_BESIDE:
        return None
    if not fused.depthwise and conv_few_channels.pays(g):      # it reorders its weights first, for a whole image
        return None
    if not fused.depthwise and conv_plan.filters_of(g).panel * _DEPTH_SHARE > cache_sizes.second_level():
        return None
    return Layer(fused, g)


@dataclass
class Band:
    """The work for some rows of the last result.

    rows    for each layer the rows that it makes
    bases   for each buffer the row that its first row holds
    reused  for each buffer the rows that stay from the band before: (position, count)
    """

    rows: list
    bases: list
    reused: list


def bands_of(layers, first: int, end: int, count: int) -> tuple:
    """Return (bands, rows of each buffer) of rows first to end of the last result, cut into so many bands."""
    last, total = len(layers) - 1, end - first
    have, base = [0] * last, [0] * last
    bands, most = [], [1] * last
    for number in range(count):
        rows: list = [(0, 0)] * len(layers)
        reused: list = [(0, 0)] * last
        rows[last] = first + total * number // count, first + total * (number + 1) // count
        for k in range(last, 0, -1):
            if rows[k][0] == rows[k][1]:
                break
            low, high = layers[k].reads(*rows[k])
            rows[k - 1] = min(max(low, have[k - 1]), max(high, have[k - 1])), max(high, have[k - 1])
            if low < have[k - 1]:
                reused[k - 1] = low - base[k - 1], have[k - 1] - low
            else:
                rows[k - 1] = low, max(low, high)
            base[k - 1], have[k - 1] = low, rows[k - 1][1]
            most[k - 1] = max(most[k - 1], have[k - 1] - low)
        bands.append(Band(rows, list(base), reused))
    return bands, most


def cut(layers, parts: int) -> tuple:
    """Return (as few bands of a part as possible, whether its buffers and weights stay in a core's cache)."""
    height = -(-layers[-1].height.out // parts)
    low, high = 1, height
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _bytes_near(layers, height, middle) <= _room() else (middle + 1, high)
    return low, _bytes_near(layers, height, low) <= _room()


def _room():
    return cache_sizes.second_level() * _KEPT


def _bytes_near(layers, height, count):
    """Return the bytes that are read and written repeatedly while the rows of a part are done in so many bands."""
    middle = min(height, layers[-1].height.out - height // 2)
    _, most = bands_of(layers, max(0, middle - height), middle, count)
    rows = -(-height // count)
    first = sum(layer.row * layer.blocks * n for layer, n in zip(layers, most))
    return (first + layers[-1].row * layers[-1].blocks * rows + sum(layer.weight_bytes for layer in layers)
            + layers[0].x_rows * most[0] * layers[0].height.stride)


def parts_of(layers, images: int, threads: int) -> int:
    """Return the number of parts of an image's rows that balances threads; rows at the border of two parts are made twice."""
    if images % threads == 0:
        return 1
    rows = layers[-1].height.out
    whole = sum(layer.multiplied * layer.height.out for layer in layers)

    def time(parts):
        turns = -(-images * parts // threads)
        return turns * (_part_work(layers, -(-rows // parts)) if parts > 1 else whole)

    return min(range(1, max(1, min(rows, _MOST_PARTS * threads)) + 1), key=time)


def _part_work(layers, rows):
    """Return the multiply-adds of a part of so many rows, borders included."""
    middle = layers[-1].height.out // 2
    first = max(0, middle - rows // 2)
    (band,), _ = bands_of(layers, first, min(first + rows, layers[-1].height.out), 1)
    return sum(layer.multiplied * (end - start) for layer, (start, end) in zip(layers, band.rows))


# Choice of chains.


def pieces(layers, images: int, threads: int) -> list:
    """Return the ranges of consecutive layers (None for those that no chain takes) that become chains: those that save most."""
    best: list = [(0, [])]           # for the first so many layers: (saved work, ranges)
    for end in range(1, len(layers) + 1):
        found = best[end - 1]
        for start in range(max(0, end - _LONGEST), end - 1):
            saved = best[start][0] + _saved(layers[start:end], images, threads)
            if saved > found[0]:
                found = saved, [*best[start][1], (start, end)]
        best.append(found)
    return best[-1][1]


def _saved(layers, images, threads) -> float:
    """Return about how many multiply-adds of a thread a chain saves. It saves the time of writing intermediate images to a
    farther cache and reading them from there, and of waiting at the end of each layer, less a chain's own overhead."""
    if None in layers:
        return -1.0
    parts = parts_of(layers, images, threads)
    count, fits = cut(layers, parts)
    if not fits:
        return -1.0
    item, rows = layers[0].geometry.item, layers[-1].height.out
    shares = [layer.row * layer.blocks * layer.height.out * images / threads for layer in layers[:-1]]
    far = sum(2 * max(0.0, share - cache_sizes.second_level() * _BETWEEN) for share in shares)
    bands, _ = bands_of(layers, 0, -(-rows // parts), count)
    reused = sum(2 * n * layer.row * layer.blocks for band in bands for layer, (at, n) in zip(layers, band.reused) if at)
    turns = -(-images * parts // threads)
    work = sum(layer.multiplied * layer.height.out for layer in layers)
    done = turns * (_part_work(layers, -(-rows // parts)) if parts > 1 else work)
    again = (count - 1) * sum(layer.weight_bytes for layer in layers)
    return (far * _FAR_BYTE * 4 / item + len(shares) * _STEP * (threads > 1) - (done - work * images / threads)
            - turns * ((reused + again) * _NEAR_BYTE * 4 / item + count * len(layers) * _CALL))
