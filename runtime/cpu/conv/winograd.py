"""Winograd convolutions (`passes/codegen/llvm/conv/winograd.py`): when they pay, and their steps on blocked operands."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import ClassVar

from ....ir import config
from ....ir.target import host
from ....passes.codegen.llvm.contract.epilogue import Identity
from ....passes.codegen.llvm.conv import winograd as codegen
from ....passes.codegen.llvm.conv import winograd_half as half_code
from ....passes.codegen.llvm.conv.conv_epilogue import Usual
from ..calls.plan import OPERANDS, WORKSPACE, share
from ..compiler.compile import compile_module, task_of
from ..compiler.ir_cache import text_of
from ..memory import cache_sizes
from . import conv_layout
from .conv_layout import Filters
from .conv_plan import Geometry

_CACHE_SHARE = 3 / 4                # of a second-level cache: V and M of a block of tiles, beside the weights that stream
_LEAST_TILES, _MOST_TILES = 6, 36    # of a block that stays in cache
_MOST_FAR_TILES = 64                # of one that does not
_FEW_TILES = range(7, 17)           # that wait for far weights: no usual register tile takes them all, and they hide no time
_LINE = 64                          # bytes of a cache line
_APART = 192                        # bytes between planes, so that those of a tile do not all meet in one set of a cache
# Cycles: of a vector multiply-add with its loads, of moving a vector through a transform, of a vector of streamed weights (and
# what of it does not hide behind products), of making one, and of making one where they are too many to stay in cache until
# they are used.
_DIRECT, _PRODUCT, _TRANSFORM, _STREAM, _WAIT, _FILTER, _FAR_FILTER = 1.05, 1.08, 5.5, 6.0, 3.0, 8.0, 20.0
_SLOW_STREAM = 34.0
_WORTH = 0.93                       # of the direct kernel's time: what saves less is not worth a larger weight
_NEAR_BYTES = 6 << 20
_WINDOW = 9                         # taps
_FLIPPED = list(range(_WINDOW - 1, -1, -1))
_LARGE_CHIP = 2 << 20               # bytes of a second-level cache from which on a core is one of many, far from memory


def _stream(size: int) -> float:
    """Return the cost of a vector of so many bytes of streamed weights, in multiply-adds. Cores of large chips have a slow path
    to memory, and do two vector multiply-adds where others do one."""
    slow = cache_sizes.second_level() >= _LARGE_CHIP and size > _NEAR_BYTES
    return _SLOW_STREAM if slow else _STREAM


@dataclass(frozen=True)
class Algorithm:
    """F(rows x columns, 3 x 3) for windows with a stride; `half`: with half-transformed weights (`winograd_half.py`)."""

    rows: int
    columns: int
    half: bool = False
    stride: int = 1

    planes: ClassVar[bool] = False  # it reads x in blocks

    @property
    def tile(self) -> tuple[int, int]:
        """Results of a tile, down and along."""
        return self.rows, self.columns

    @property
    def tile_pixels(self) -> int:
        """Pixels of an input tile: the products for each pair of channels."""
        return _code(self).tile_pixels

    @property
    def weight_planes(self) -> int:
        """Numbers of the transformed weight for each pair of channels."""
        return _code(self).weight_planes

    def filter_bytes(self, g: Geometry) -> int:
        if self.half:
            return self.weight_planes * filters_of(g, self).panels * g.inputs * filters_of(g, self).step
        return self.weight_planes * _filter_words(g, self)["u_plane"]

    def add_weight(self, steps, g: Geometry, weight: "PlainWeight", u):
        """Add the steps that transform a plain weight, packing as many panels at a time as stay in a cache."""
        filters, (output, _) = filters_of(g, self), weight.strides(g)
        panels = max(1, min(filters.panels, cache_sizes.second_level() // filters.panel))
        packed = WORKSPACE, steps.room(panels * filters.panel)
        for panel in range(0, filters.panels, panels):
            first = panel * filters.columns
            part = dataclasses.replace(filters, outputs=min(g.outputs - first, panels * filters.columns))
            source = weight.location[0], weight.location[1] + first * output
            if weight.flipped:
                conv_layout.pack_flipped_weight(steps, source, packed, 1, part, _FLIPPED, g.outputs)
            else:
                conv_layout.pack_weight(steps, source, packed, 1, part)
            factors = weight.factors and (weight.factors[0], weight.factors[1] + first * g.item)
            _add_filter(steps, g, self, part, packed, factors, u, panel)

    def add(self, steps, g: Geometry, x, weight: "PlainWeight", u, y, operands=(OPERANDS, 0), epilogue=None):
        """Add the step of the convolution on a blocked x; `u` is the transformed weight."""
        task, code = _kernel(self, epilogue or Usual("float")), _code(self)
        threads, tile_pixels = steps.threads, self.tile_pixels
        cut, filters, pixel = tiling(g, self, threads), filters_of(g, self), g.lanes * g.item
        height, width = g.dims[1:]
        v_blocks = codegen.DEPTH // g.lanes if self.half else g.x_blocks.count
        x_plane, y_plane, y_blocks = g.pixels * pixel, g.out_pixels * pixel, -(-g.outputs // g.lanes)
        along, items = cut.block * pixel, cut.blocks * cut.shares
        v_plane, m_plane = v_blocks * along + _APART, cut.share_panels * filters.columns // g.lanes * along + _APART
        m_start = tile_pixels * v_plane
        scratch = -(-(m_start + tile_pixels * m_plane) // 4096) * 4096 + 512
        chunks = share(g.work, items, threads)
        words = {
            "scratch_bytes": scratch, "items": items, "chunks": chunks, "blocks": cut.blocks, "share_panels": cut.share_panels,
            "tiles": cut.tiles, "block_tiles": cut.block, "tile_rows": cut.rows, "tile_columns": cut.columns,
            "height": height.size, "width": width.size,
            "out_height": height.out, "out_width": width.out, "pad_h": height.low, "pad_w": width.low, "inputs": g.inputs,
            "x_blocks": g.x_blocks.count, "x_image": g.x_blocks.count * x_plane, "x_block": x_plane,
            "x_row": width.size * pixel, "y_blocks": y_blocks, "y_image": y_blocks * y_plane, "y_block": y_plane,
            "y_row": width.out * pixel, "panels": filters.panels, "v_plane": v_plane, "v_tile": pixel, "v_block": along,
            "m_plane": m_plane, "m_vector": along, "m_start": m_start, "v_share": _prefetched_bytes(g, cut, filters),
            "whole_rows": height.out // self.rows, "whole_columns": width.out // self.columns,
            } | _filter_words(g, self) | weight.words(g)
        room = WORKSPACE, steps.room(scratch * (threads if chunks > 1 else 1))
        steps.add(task, chunks, code.words, words,
                  {"x": x, "u": u, "y": y, "w": weight.first(g), "operands": operands, "scratch": room} | weight.slots())


F2, F2X4, F4 = Algorithm(2, 2), Algorithm(2, 4), Algorithm(4, 4)
STRIDED = Algorithm(2, 2, stride=2)
HALF, HALF2X4 = (dataclasses.replace(algorithm, half=True) for algorithm in (F2, F2X4))
# The channels from which on each may be chosen. The root mean square error of F2 and STRIDED is then no larger than the direct
# kernel's, that of F2X4 up to 1.7 times, of F4, which is for numerics="fast", up to three times as large.
_LEAST_CHANNELS = {F2: 16, F2X4: 32, STRIDED: 16}
_LEAST_CHANNELS_FAST = _LEAST_CHANNELS | {F4: 32}


def _code(algorithm, epilogue=Identity()):
    kind = half_code.HalfKernel if algorithm.half else codegen.WinogradKernel
    return kind(host(), algorithm.tile, epilogue, stride=algorithm.stride)


@functools.lru_cache(None)
def _kernel(algorithm, epilogue):
    return task_of(_code(algorithm, epilogue))


@functools.lru_cache(None)
def _filter_task(algorithm):
    made = _code(algorithm)
    return compile_module(text_of(made, "filter_text"), [made.filter_symbol])[made.filter_symbol]


@dataclass(frozen=True)
class Tiling:
    """Output tiles in blocks, and output channels in shares of some panels."""

    algorithm: Algorithm
    rows: int
    columns: int
    tiles: int
    block: int
    shares: int = 1
    share_panels: int = 1

    @property
    def blocks(self) -> int:
        return -(-self.tiles // self.block)


def filters_of(g: Geometry, algorithm: Algorithm = F2) -> Filters:
    """Return the packing of the weight for its transform."""
    return Filters(g.x_blocks, g.outputs, _code(algorithm).vectors, _WINDOW)


def tiling(g: Geometry, algorithm: Algorithm, threads: int) -> Tiling:
    """Return blocks that stay in cache, equally many for each thread. If tiles are few beside the weights, threads share out
    channels, so that not all read all weights."""
    cuts = [_cut(g, algorithm, threads, shares) for shares in range(1, threads + 1)
            if threads % shares == 0 and shares <= filters_of(g, algorithm).panels]
    panel = filters_of(g, algorithm).columns
    return min(cuts, key=lambda cut: -(-cut.blocks * cut.shares // threads) * _item_cycles(g, cut, panel))


def _cut(g, algorithm, threads, shares):
    """Return the blocks that move fewer bytes beyond the cache, since each block reads all weights of its share. Either all of
    V and M of a block stays in cache, or, for larger blocks, a plane of V beside panels of weights."""
    height, width = g.dims[1:]
    filters, weight, tile_pixels = filters_of(g, algorithm), algorithm.filter_bytes(g), algorithm.tile_pixels
    rows, columns = -(-height.out // algorithm.rows), -(-width.out // algorithm.columns)
    share_panels = -(-filters.panels // shares)
    tiles, each = g.images * rows * columns, threads // shares

    def of_at_most(most):
        blocks = -(-tiles // most)
        blocks = min(tiles, -(-blocks // each) * each)
        return Tiling(algorithm, rows, columns, tiles, -(-tiles // blocks), -(-filters.panels // share_panels), share_panels)

    room = int(_CACHE_SHARE * cache_sizes.second_level())
    tile_bytes = tile_pixels * (g.inputs + share_panels * filters.columns) * g.item
    near = of_at_most(max(_LEAST_TILES, min(_MOST_TILES, room // tile_bytes)))
    far = of_at_most(max(_LEAST_TILES, min(_MOST_FAR_TILES, (room - 2 * g.inputs * filters.step) // (g.inputs * g.item))))
    weights = weight * share_panels // filters.panels
    spilled = 2 * tile_bytes * far.block if far.block > near.block else 0
    return far if (weights + spilled) * far.blocks < weights * near.blocks else near


def _prefetched_bytes(g, cut, filters):
    """Return the bytes of the next plane of V to prefetch with each panel: none if all planes stay in cache."""
    near = cut.algorithm.tile_pixels * cut.block * (g.inputs + cut.share_panels * filters.columns) * g.item
    if near <= cache_sizes.second_level():
        return 0
    return -(-g.inputs * cut.block * g.item // (_LINE * cut.share_panels)) * _LINE


def _item_cycles(g, cut, panel):
    """Return about how long one block of tiles takes with one share of the channels, in panels of so many."""
    columns, tile_pixels = cut.share_panels * panel, cut.algorithm.tile_pixels
    vectors = tile_pixels * g.inputs * columns / g.lanes
    return (vectors * (max(_PRODUCT * cut.block, _STREAM) + _WAIT)
            + _TRANSFORM * tile_pixels * cut.block * (g.inputs + columns) / g.lanes)


def choose(g: Geometry, prepared: bool = False) -> Algorithm | None:
    """Return the algorithm that pays, or None for the direct kernel. `prepared` weights are transformed already."""
    depth, height, width = g.dims
    numerics = config.current().numerics
    if (g.item != 4 or g.groups != 1 or depth.taps != 1 or depth.size != 1 or depth.out != 1 or not host().fma
            or any(d.taps != 3 or d.stride != height.stride or d.dilation != 1 or d.low < 0 for d in (height, width))
            or numerics == "strict"):
        return None
    lanes = g.lanes
    direct = max(g.work / lanes * _DIRECT, _WINDOW * g.inputs * g.outputs / lanes * _stream(filters_of(g).group))
    best, fastest = None, direct * _WORTH
    unprepared = (F2X4 if min(g.inputs, g.outputs) >= _LEAST_CHANNELS[F2X4] else F2, F4)      # few modules to compile
    for algorithm, least in (_LEAST_CHANNELS_FAST if numerics == "fast" else _LEAST_CHANNELS).items():
        if min(g.inputs, g.outputs) < least or algorithm.stride != height.stride or not (prepared or algorithm in unprepared):
            continue
        cut, whole = tiling(g, algorithm, 1), algorithm.filter_bytes(g)
        if algorithm.rows == 2 and algorithm.stride == 1 and _waits(g, cut):
            algorithm = dataclasses.replace(algorithm, half=True)
        tile_pixels, weight_planes, filters = algorithm.tile_pixels, algorithm.weight_planes, filters_of(g, algorithm)
        vectors = g.inputs * filters.panels * filters.columns / lanes
        product = vectors * max(_PRODUCT * tile_pixels * cut.tiles, weight_planes * _stream(whole) * cut.blocks)
        transform = _TRANSFORM * tile_pixels * cut.tiles * (g.inputs + g.outputs) / lanes
        making = 0 if prepared else _FILTER if whole <= _NEAR_BYTES else _FAR_FILTER
        time = product + transform + making * weight_planes * vectors
        if time < fastest:
            best, fastest = algorithm, time
    return best


def _waits(g, cut):
    """Whether products of so few tiles would wait for their weights, and a register tile has room for four planes."""
    return (cut.tiles in _FEW_TILES and cut.algorithm.filter_bytes(g) > cache_sizes.second_level()
            and host().vector_registers >= 32)


@dataclass(frozen=True)
class PlainWeight:
    """The plain weight of a convolution at (slot, offset), with an optional factor for each of its output channels. `flipped`:
    the weight is that of the convolution whose gradient this one computes."""

    location: tuple
    factors: tuple | None = None
    flipped: bool = False

    def strides(self, g: Geometry) -> tuple:
        """Return bytes from an output channel to the next, and from an input channel to the next."""
        window = _WINDOW * g.item
        return (window, window * g.outputs) if self.flipped else (window * g.inputs, window)

    def words(self, g: Geometry) -> dict:
        (output, input_), step = self.strides(g), -g.item if self.flipped else g.item
        return {"outputs": g.outputs, "w_output": output, "w_input": input_, "w_row": 3 * step, "w_column": step}

    def slots(self) -> dict:
        return {"factors": self.factors} if self.factors else {}

    def first(self, g: Geometry) -> tuple:
        slot, offset = self.location
        return slot, offset + (_WINDOW - 1) * g.item * self.flipped


def _add_filter(steps, g, algorithm, filters, packed, factors, u, first):
    """Add the step that transforms some packed panels, from `first` on."""
    items = filters.panels * g.inputs
    chunks = share(items * filters.columns * algorithm.tile_pixels, items, steps.threads)
    words = {"items": items, "chunks": chunks, "panels": filters.panels, "inputs": g.inputs, "width": filters.blocks.width,
             "panel": filters.panel, "block": filters.block, "tap": filters.tap, "step": filters.step,
             "outputs": filters.outputs, "first_panel": first} | _filter_words(g, algorithm)
    slots = {"source": packed, "target": u} | ({"factors": factors} if factors else {})
    steps.add(_filter_task(algorithm), chunks, codegen.FILTER_WORDS, words, slots)


def _filter_words(g, algorithm):
    filters, vector = filters_of(g, algorithm), g.lanes * g.item
    if algorithm.half:
        return {"u_vector": half_code.TAPS * vector, "range_inputs": codegen.DEPTH, "all_panels": filters.panels}
    return {"u_vector": g.inputs * vector, "u_panel": g.inputs * filters.step,
            "u_plane": filters.panels * g.inputs * filters.step + _APART}
