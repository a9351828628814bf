"""Plans of direct convolutions from shapes alone: panels, tiles, borders, items."""

import functools
import itertools
from bisect import bisect_right
from dataclasses import dataclass, replace
from math import gcd, prod

from ....ir.target import host
from ....passes.codegen.llvm.contract.microkernel import Precision
from ....passes.codegen.llvm.conv import conv as codegen
from ....passes.codegen.llvm.conv import conv_tile
from ....passes.codegen.llvm.conv.conv_epilogue import Usual
from ....passes.codegen.llvm.pool.tasks import WORD
from ..calls.plan import OPERANDS, share
from ..compiler.compile import task_of
from ..memory import cache_sizes
from . import conv_few_channels
from .conv_layout import Blocks, Filters, window_words

MAX_DIMS = 3                        # spatial dims
_PANEL_BYTES = 512 << 10            # of a panel of weights that stays in the second-level cache beside the next
_NEAR_BYTES = 900_000               # of weights that stay there as a whole
_DEPTH_SHARE = 4                    # a range of channel blocks has at most such a part of that cache in a panel
_FAR_BYTES = 256 << 10              # bytes of weights that have left a core's caches when they are read again
_LINE = 64                          # bytes of a cache line
_ROWS_BYTES = 192 << 10             # rows of x that stay in it beside a panel
_PANEL_PIXELS = 3                   # of a tile that take as long as reading its panel of weights from the second-level cache
_FLAT_WIDTH = 128                   # pixels to which the rows of a 1x1 convolution are joined
_TALL_ROWS = 8                      # pixels of the largest tile from which a kernel has only the requested tiles
_MOST_HEIGHTS = 3                   # heights of a kernel of its own; plans with more heights share one with all of them
_FEW_INPUTS = 4
_ELEMENTS = {4: "float", 8: "double"}


@dataclass(frozen=True)
class Window:
    """One spatial dim: sizes of x and y, taps, stride, dilation. `low` is the padding before it (negative cuts)."""

    size: int
    out: int
    taps: int = 1
    stride: int = 1
    low: int = 0
    dilation: int = 1

    def taps_seen(self, first: int, count: int, tap: int) -> tuple:
        """Return the range of `count` results from `first` on that meet x at a tap."""
        origin = tap * self.dilation - self.low
        low = max(0, -(origin // self.stride) - first) if origin < 0 else 0
        high = min(count, (self.size - 1 - origin) // self.stride + 1 - first)
        return (low, high) if low < high else (0, 0)

    def changes(self) -> list:
        """Return the results from which on other taps meet x, and both ends."""
        return sorted({0, self.out, *itertools.chain(*[self.taps_seen(0, self.out, tap) for tap in range(self.taps)])})


@dataclass(frozen=True)
class Geometry:
    """A convolution of one dtype over three spatial dims; channels are those of one group. `x_full`: x is in blocks of all
    lanes however few its channels; `x_plain`: in planes, one after the other. `x_plane` and `y_plane` are the pixels from plane
    to plane if x and y are some rows of larger ones."""

    images: int
    groups: int
    inputs: int
    outputs: int
    dims: tuple                     # Window of depth, height, width
    item: int
    x_full: bool = False
    x_plain: bool = False
    x_plane: int = 0
    y_plane: int = 0

    @property
    def lanes(self) -> int:
        return host().lanes(self.item)

    @property
    def taps(self) -> int:
        return prod(d.taps for d in self.dims)

    @property
    def pixels(self) -> int:
        return prod(d.size for d in self.dims)

    @property
    def out_pixels(self) -> int:
        return prod(d.out for d in self.dims)

    @property
    def x_blocks(self) -> Blocks:
        return Blocks(self.inputs, self.lanes, self.item, self.x_full, self.x_plain)

    @property
    def y_blocks(self) -> Blocks:
        """The channel blocks of y, always of all lanes."""
        return Blocks(self.outputs, self.lanes, self.item, full=True)

    @property
    def work(self) -> int:
        """Multiply-adds."""
        return self.images * self.groups * self.inputs * self.outputs * self.taps * self.out_pixels


@dataclass(frozen=True)
class Scatter:
    """The target of results that are some of the pixels of y: pixels of its rows, steps and first pixel for each dim."""

    sizes: tuple
    steps: tuple
    first: tuple


def geometry_of(x_shape, w_shape, stride, padding, dilation, groups, item) -> Geometry:
    """Return the geometry of a convolution of shapes; missing spatial dims in front have size 1."""
    dims: list[Window] = []
    for size, taps, step, (low, high), gap in zip(x_shape[2:], w_shape[2:], stride, padding, dilation):
        out = (size + low + high - gap * (taps - 1) - 1) // step + 1
        dims.append(Window(size, out, taps, step, low, gap))
    missing = (Window(1, 1),) * (MAX_DIMS - len(dims))
    return Geometry(x_shape[0], groups, w_shape[1], w_shape[0] // groups, (*missing, *dims), item)


def every_pixel(geometry: Geometry) -> Scatter:
    """Return the target of results that are all pixels of y."""
    return Scatter(tuple(d.out for d in geometry.dims), (1, 1, 1), (0, 0, 0))


def few_inputs(geometry: Geometry) -> bool:
    """Whether a convolution should read few channels from their planes instead of a copy."""
    return geometry.inputs <= _FEW_INPUTS


def filters_of(geometry: Geometry) -> Filters:
    """Return the packing of the weight: the panel width that wastes least, narrow if a panel would not stay in cache."""
    lanes, count = geometry.lanes, -(-geometry.outputs // geometry.lanes)
    widths = (4, 3, 5, 2) if host().vector_registers >= 32 else (2, 3)
    wide = geometry.taps * geometry.inputs * 4 * lanes * geometry.item > _PANEL_BYTES and host().vector_registers >= 32
    vectors = 1 if count == 1 else 2 if wide else min(widths, key=lambda v: (-(-count // v) * v, widths.index(v)))
    return Filters(geometry.x_blocks, geometry.outputs, vectors, geometry.taps)


@functools.lru_cache(None)
def _kernel(item: int, vectors: int, epilogue, narrow: bool, written: int, heights: tuple) -> int:
    epilogue = epilogue or Usual(_ELEMENTS[item])
    return task_of(codegen.ConvKernel(host(), Precision.of(_ELEMENTS[item]), vectors, epilogue, narrow, written, heights))


def _heights(segments, most: int, written: int) -> tuple:
    """Return the heights of tiles that a kernel is made with for these segments. LLVM is slow for all heights if tiles may be
    tall or have unrolled steps (as in first layers), so widths are cut into tiles of one or two heights."""
    found = sorted({pixels for _, pixels, *_ in segments})
    is_large = most >= _TALL_ROWS or written > 0
    return tuple(found) if is_large and len(found) <= _MOST_HEIGHTS else ()


def flattened(geometry: Geometry) -> Geometry:
    """Return a 1x1 convolution without borders over rows joined to a good length; others unchanged."""
    if any(d.taps != 1 or d.stride != 1 or d.low != 0 or d.size != d.out for d in geometry.dims):
        return geometry
    width, rows = geometry.dims[2].size, prod(d.size for d in geometry.dims[:2])
    joined = max(k for k in range(1, rows + 1) if rows % k == 0 and (k == 1 or k * width <= _FLAT_WIDTH))
    dims = (Window(1, 1), Window(rows // joined, rows // joined), Window(joined * width, joined * width))
    return replace(geometry, dims=dims)


def add_direct(steps, geometry: Geometry, filters: Filters, x, w, y, operands=(OPERANDS, 0), epilogue=None,
               scatter: Scatter | None = None):
    """Add the step of a direct convolution on blocked operands, each given as (slot, offset)."""
    if scatter is None:
        geometry = flattened(geometry)
        scatter = every_pixel(geometry)
    few = conv_few_channels.pays(geometry)
    if few:
        kernel = conv_few_channels.kernel(geometry, epilogue)
        filters, w = conv_few_channels.add_reordered(steps, geometry, filters, w)
    most = kernel.rows if few else codegen.tile_rows(host(), filters.vectors)
    depth, height, _ = geometry.dims
    threads = steps.threads
    rows, groups, images = depth.out * height.out, geometry.groups, geometry.images
    row_blocks = _row_blocks(geometry, filters, rows, threads)
    items = images * groups * row_blocks * filters.panels
    depths = _depths(geometry, filters, most)
    runs = list((whole_tiles_of if few else tiles_of)(geometry.dims[2], most))
    part_table, segments, parts, visits = _parts(steps, geometry, filters, runs, depths, items, threads)
    if few:
        task = conv_few_channels.task(kernel, _heights(segments, most, kernel.written))
    else:
        written = _written(geometry)
        task = _kernel(geometry.item, filters.vectors, epilogue, _is_narrow(geometry, filters), written,
                       _heights(segments, most, written))
    items *= parts
    chunks = share(geometry.work, items, threads)
    panel_first = _panels_first(geometry, filters, row_blocks)
    shares = images * row_blocks * parts if panel_first else 1
    y_start, y_words = result_words(geometry, scatter)
    words = operand_words(geometry, filters) | y_words | {
        "items": items, "chunks": chunks, "groups": groups, "row_blocks": row_blocks, "panels": filters.panels,
        "panel_first": panel_first, "out_rows": rows,
        "ask_shares": shares, "ask_lines": _prefetched_lines(filters, rows // row_blocks * visits * shares),
        "out_height": height.out, "part_table": part_table, "parts": parts,
        "depths": len(depths), "blocks": -(-geometry.outputs // geometry.lanes)}
    steps.add(task, chunks, codegen.WORDS, words,
              {"x": x, "w": w, "y": (y[0], y[1] + y_start), "operands": operands})


def _prefetched_lines(filters, visits):
    """Return the lines of the next panel to prefetch at each of so many visits of a tile to a channel block."""
    if filters.panels == 1 or filters.group < _FAR_BYTES:
        return 0
    return -(-filters.panel // (_LINE * max(1, visits)))


def _written(geometry):
    """Return the unrolled steps of a kernel: those of a row of taps if channels are few, 0 if loops have enough to do."""
    width = geometry.dims[2]
    steps = geometry.x_blocks.width * (width.taps if width.dilation == 1 else 1)
    return steps if steps < geometry.lanes else 0


def _is_narrow(geometry, filters):
    """Whether the only panel ends in a vector with an unused upper half."""
    last = geometry.outputs % geometry.lanes
    return filters.panels == 1 and geometry.outputs > filters.columns - geometry.lanes and 0 < last <= geometry.lanes // 2


def operand_words(geometry, filters) -> dict:
    """Return the words of x and of a packed weight."""
    depth, height, width = geometry.dims
    pixel = geometry.x_blocks.pixel
    plane = (geometry.x_plane or geometry.pixels) * pixel
    group = geometry.x_blocks.count * plane
    words = {"x_image": geometry.groups * group, "x_group": group, "x_block": plane,
             "x_slice": height.size * width.size * pixel,
             "x_row": width.size * pixel, "x_pixel": width.stride * pixel, "x_tap_w": width.dilation * pixel,
             "w_group": filters.group, "w_panel": filters.panel, "w_block": filters.block, "w_tap_w": filters.tap,
             "w_tap_h": width.taps * filters.tap, "w_tap_d": height.taps * width.taps * filters.tap,
             "w_output": getattr(filters, "output", 0)}
    return words | window_words((depth, height)) | {"depth": depth.size, "height": height.size}


def result_words(geometry, scatter):
    """Return (offset of the first pixel, words) of y."""
    pixel = geometry.lanes * geometry.item
    slice_, row = scatter.sizes[1] * scatter.sizes[2] * pixel, scatter.sizes[2] * pixel
    block = (geometry.y_plane or prod(scatter.sizes)) * pixel
    group = -(-geometry.outputs // geometry.lanes) * block
    start = scatter.first[0] * slice_ + scatter.first[1] * row + scatter.first[2] * pixel
    return start, {"y_image": geometry.groups * group, "y_group": group, "y_block": block, "y_slice": scatter.steps[0] * slice_,
                   "y_row": scatter.steps[1] * row, "y_pixel": scatter.steps[2] * pixel}


def _row_blocks(geometry, filters, rows, threads):
    """Return the number of items of an image's rows: each stays in cache, and there are enough for all threads. Threads that
    share an image get equal numbers of rows."""
    height, width = geometry.dims[1:]
    row_bytes = width.size * geometry.inputs * geometry.item * height.stride
    block = max(1, min(rows, _ROWS_BYTES // max(1, row_bytes)))
    images = geometry.images * geometry.groups
    if threads > 1:
        while block > 1 and images * filters.panels * -(-rows // block) < 4 * threads:
            block = -(-block // 2)
    blocks = -(-rows // block)
    if images % threads and filters.group <= _NEAR_BYTES:
        blocks = min(rows, -(-blocks // threads) * threads)
    return blocks


def _panels_first(geometry, filters, row_blocks):
    """Whether weights are read once and x again for each panel, rather than the other way round."""
    weights = filters.group
    if weights <= _NEAR_BYTES:
        return 0
    x = geometry.images * geometry.pixels * geometry.inputs * geometry.item
    return int(x * filters.panels < weights * row_blocks * geometry.images)


def tiles_of(width: Window, most: int):
    """Return (first pixel, pixels, tiles) of the tiles of a row of at most so many pixels. Adjacent tiles whose pixels all see
    the same taps are one entry, so wide borders are few."""
    tiles = -(-width.out // most)
    base, extra = divmod(width.out, tiles)
    changes = width.changes()
    number = at = 0
    while number < tiles:
        pixels, alike = (base + 1, extra - number) if number < extra else (base, tiles - number)
        count = max(1, min(alike, (changes[bisect_right(changes, at)] - at) // pixels))
        yield at, pixels, count
        number, at = number + count, at + count * pixels


def whole_tiles_of(width: Window, most: int):
    """Return (first pixel, pixels, tiles) of tiles whose pixels all see the same taps."""
    for at, end in itertools.pairwise(width.changes()):
        tiles = -(-(end - at) // most)
        base, extra = divmod(end - at, tiles)
        for pixels, count in ((base + 1, extra), (base, tiles - extra)):
            if count:
                yield at, pixels, count
            at += count * pixels


def _depths(geometry, filters, most):
    """Return ranges of channel blocks of x of which a panel's weights stay in cache while all rows of an item read them."""
    count = geometry.x_blocks.count
    if geometry.out_pixels <= most:
        return [(0, count)]
    ranges = min(count, max(1, -(-filters.panel // (cache_sizes.second_level() // _DEPTH_SHARE))))
    return [(count * i // ranges, count * (i + 1) // ranges) for i in range(ranges)]


def _parts(steps, geometry, filters, runs, depths, items, threads):
    """Return (table of parts, all segments in it, number of parts, channel blocks that a row of the first goes through). The
    tiles of a row are cut into parts that balance threads. Each part reads its panel of weights anew."""
    total = sum(tiles for _, _, tiles in runs)
    extra = _PANEL_PIXELS * total / geometry.dims[2].out
    wanted = min(range(1, min(total, 4 * threads) + 1 if threads > 1 else 2),
                 key=lambda n: -(-items * n // threads) * (-(-total // n) + extra))
    parts, done = [[]], 0
    for at, pixels, tiles in runs:
        while tiles:
            if done == total * len(parts) // wanted:
                parts.append([])
            count = min(tiles, total * len(parts) // wanted - done)
            parts[-1].append((at, pixels, count))
            at, tiles, done = at + count * pixels, tiles - count, done + count
    visits = sum(count * segment[-2] for depth in depths for at, pixels, count in parts[0]
                 for segment in _segments(geometry, filters, at, pixels, depth)[0])
    return *_part_table(steps, geometry, filters, parts, depths), len(parts), visits


def _part_table(steps, geometry, filters, parts, depths):
    """Return (table, all segments): parts for each depth, then their runs, then segments, named by bytes from the table's
    start."""
    runs_at = WORD * len(codegen.PART) * len(parts) * len(depths)
    segments_at = runs_at + WORD * len(codegen.RUN) * sum(map(len, parts)) * len(depths)
    heads, runs, segments, made = [], [], [], {}
    for depth, part in itertools.product(depths, parts):
        heads += [runs_at + WORD * len(runs), len(part)]
        for at, pixels, count in part:
            found, clear = _segments(geometry, filters, at, pixels, depth)
            if found not in made:
                made[found] = segments_at + WORD * len(segments)
                segments += [word for segment in found for word in segment]
            runs += [at, pixels, count, made[found], len(found), int(clear)]
    return steps.table([*heads, *runs, *segments]), [segment for found in made for segment in found]


def _segments(geometry, filters, at, pixels, depth):
    """Return (segments, whether y must be cleared first) of a tile of `pixels` pixels from `at` on, for a range of channel
    blocks."""
    spans = [geometry.dims[2].taps_seen(at, pixels, tap) for tap in range(geometry.dims[2].taps)]
    groups: list = []                                     # [first tap, taps, span] of taps that the same pixels meet
    for tap, span in enumerate(spans):
        if groups and groups[-1][2] == span and span[1]:
            groups[-1][1] += 1
        elif span[1]:
            groups.append([tap, 1, span])
    whole = [g for g in groups if g[2] == (0, pixels)]
    parts = [part for g in (*whole[:-1], *(g for g in groups if g not in whole), *whole[-1:])
             for part in _tap_segments(geometry, filters, depth, *g)]
    if not whole:
        parts.append([0, pixels, 0, 0, 0, 0, 0, 0, 0])
    again, last = depth[0] > 0, depth[1] == geometry.x_blocks.count
    clear = not again and parts[0][:2] != [0, pixels]
    for number, part in enumerate(parts):
        part[-1] = ((conv_tile.ACCUMULATE if number or clear or again else 0)
                    | (conv_tile.LAST if last and number == len(parts) - 1 else 0))
    return tuple(map(tuple, parts)), clear


def _tap_segments(geometry, filters, depth, tap, taps, span):
    """Return the segments of a range of taps: all whole blocks of a range of channels, and the rest with them or apart."""
    width, blocks, (first, end) = geometry.dims[2], geometry.x_blocks, depth
    block = (geometry.x_plane or geometry.pixels) * blocks.pixel
    x, w = (tap * width.dilation - width.low) * blocks.pixel + first * block, tap * filters.tap + first * filters.block
    joined, pixels = width.dilation == 1, span[1] - span[0]
    whole, rest = min(end, blocks.whole) - first, blocks.rest if end > blocks.whole else 0
    if whole and rest and taps == 1:
        return [[span[0], pixels, x, w, 1, blocks.width, rest, whole + 1, 0]]
    parts = []
    if whole:
        steps = blocks.width * (taps if joined else 1)
        parts.append([span[0], pixels, x, w, 1 if joined else taps, steps, steps, whole, 0])
    if rest:
        parts.append([span[0], pixels, x + whole * block, w + whole * filters.block, taps, rest, rest, 1, 0])
    return parts


def phases(window: Window) -> list:
    """Return the transposed window as one stride-1 window for each phase: [(phase, Window, taps of the forward window)].
    `window` is the forward one: its x is the result here, its y the input. A phase without taps has an empty list."""
    found = []
    for phase in range(min(window.stride, window.size)):
        taps = [t for t in reversed(range(window.taps)) if (phase + window.low - t * window.dilation) % window.stride == 0]
        count = -(-(window.size - phase) // window.stride)
        low = -((phase + window.low - taps[0] * window.dilation) // window.stride) if taps else 0
        step = window.dilation // gcd(window.dilation, window.stride)
        found.append((phase, Window(window.out, count, len(taps), 1, low, step), taps))
    return found


def tap_positions(forward, chosen):
    """Return the position of each tap of the forward weight among the taps `chosen` for each dim, -1 for those left out."""
    counts = [len(taps) for taps in chosen]
    positions = []
    for tap in itertools.product(*(range(d.taps) for d in forward.dims)):
        at = [taps.index(t) if t in taps else -1 for t, taps in zip(tap, chosen)]
        positions.append(-1 if -1 in at else (at[0] * counts[1] + at[1]) * counts[2] + at[2])
    return positions
