"""Steps between plain arrays and the blocked layouts of convolutions.

activation  [image][group][channel block][pixel][block channels] weight      [group][panel][channel block][tap][block
channels][panel columns]
"""

import functools
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.conv import conv_reorder as reorder
from ..calls import call
from ..calls.plan import EXTRA, FACTORS, WORKSPACE, W, X, Y, share
from ..calls.step_list import At, NativeCall, Table
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_by

_RUN = 512                          # pixels that one item of a copy moves
_ROWS = 64                          # rows that one item of a copy moves without transposing them


@dataclass(frozen=True)
class Blocks:
    """Channels of one group cut into blocks of `width`: all lanes, or fewer if there are no more channels than that. `full`
    blocks have all lanes however few the channels; `single` ones have one channel: planes, one after the other."""

    channels: int
    lanes: int
    item: int
    full: bool = False
    single: bool = False

    @property
    def width(self) -> int:
        return 1 if self.single else self.lanes if self.full else min(self.channels, self.lanes)

    @property
    def count(self) -> int:
        """Blocks, the last of which may be partial."""
        return -(-self.channels // self.width)

    @property
    def whole(self) -> int:
        return self.channels // self.width

    @property
    def rest(self) -> int:
        """Channels of the last block if it is partial."""
        return self.channels % self.width

    @property
    def pixel(self) -> int:
        return self.width * self.item


@dataclass(frozen=True)
class Filters:
    """A packed weight: `panels` of `columns` output channels over blocks of input channels and taps."""

    blocks: Blocks
    outputs: int
    vectors: int
    taps: int

    @property
    def columns(self) -> int:
        return self.vectors * self.blocks.lanes

    @property
    def panels(self) -> int:
        return -(-self.outputs // self.columns)

    @property
    def step(self) -> int:
        """Bytes of one input channel at one tap."""
        return self.columns * self.blocks.item

    @property
    def tap(self) -> int:
        return self.blocks.width * self.step

    @property
    def block(self) -> int:
        return self.taps * self.tap

    @property
    def panel(self) -> int:
        return self.blocks.count * self.block

    @property
    def group(self) -> int:
        return self.panels * self.panel


def blocked_bytes(images: int, blocks: Blocks, pixels: int) -> int:
    """Return the size of a blocked activation; `images` counts groups separately."""
    return images * blocks.count * pixels * blocks.pixel


@functools.lru_cache(None)
def _task(variant, element):
    name = reorder.symbol(variant, element)
    return compile_module(text_by(reorder.reorder_text, host(), element, variant), [name])[name]


def _element(item):
    return "float" if item == 4 else "double"


def window_words(dims) -> dict:
    """Return the words of the windows along each dim of a kernel's loops: depth, height, and perhaps width."""
    return {f"{word}_{name}": number for name, dim in zip("dhw", dims) for word, number in (
        ("taps", dim.taps), ("stride", dim.stride), ("pad", dim.low), ("dilation", dim.dilation))}


def _add(steps, variant, item, words, slots):
    words = {"outer": 1, "row_chunks": 1, "column_chunks": 1, "extra": 1} | words
    items = prod(words[name] for name in ("outer", "row_chunks", "column_chunks", "extra"))
    work = items * words["rows"] * words["columns"]
    chunks = share(work, items, steps.threads)
    steps.add(_task(variant, _element(item)), chunks, reorder.WORDS, words | {"items": items, "chunks": chunks}, slots)


def pack_activation(steps, source, target, images: int, blocks: Blocks, pixels: int):
    """Copy [image][channel][pixel] into blocks; `source` and `target` are (slot, offset)."""
    run = min(pixels, _RUN)
    _add(steps, "plain", blocks.item, {
        "outer": images, "source_outer": blocks.channels * pixels * blocks.item,
        "target_outer": blocks.count * pixels * blocks.pixel,
        "rows": blocks.width, "rows_total": blocks.channels, "row_chunks": blocks.count, "row_stride": pixels * blocks.item,
        "source_row_chunk": blocks.width * pixels * blocks.item, "target_row_chunk": pixels * blocks.pixel,
        "columns": run, "columns_total": pixels, "column_chunks": -(-pixels // run), "source_column_chunk": run * blocks.item,
        "target_column_chunk": run * blocks.pixel, "column_step": blocks.pixel, "width": blocks.width, "fill": 1,
    }, {"source": source, "target": target})


def into_blocks(steps, slot: int, images: int, blocks: Blocks, pixels: int) -> tuple:
    """Copy the plain array of a slot into blocks in the workspace; return their location."""
    target = WORKSPACE, steps.room(blocked_bytes(images, blocks, pixels))
    pack_activation(steps, (slot, 0), target, images, blocks, pixels)
    return target


def unpack_activation(steps, source, target, images: int, blocks: Blocks, pixels: int):
    """Copy blocks of all lanes back to [image][channel][pixel]."""
    run, pixel = min(-(-pixels // blocks.lanes) * blocks.lanes, _RUN), blocks.lanes * blocks.item
    count = -(-blocks.channels // blocks.lanes)
    _add(steps, "plain", blocks.item, {
        "outer": images, "source_outer": count * pixels * pixel, "target_outer": blocks.channels * pixels * blocks.item,
        "rows": run, "rows_total": pixels, "row_chunks": -(-pixels // run), "row_stride": pixel,
        "source_row_chunk": run * pixel, "target_row_chunk": run * blocks.item, "group_step": pixel,
        "columns": blocks.lanes, "columns_total": blocks.channels, "column_chunks": count,
        "source_column_chunk": pixels * pixel, "target_column_chunk": blocks.lanes * pixels * blocks.item,
        "column_step": pixels * blocks.item, "width": blocks.lanes,
    }, {"source": source, "target": target})


def pack_weight(steps, source, target, groups: int, filters: Filters):
    """Copy [group][output][input][tap] into panels."""
    blocks, taps = filters.blocks, filters.taps
    item, per_output = blocks.item, blocks.channels * taps * blocks.item
    table = [(q % taps) * filters.tap + q // taps * filters.step for q in range(blocks.width * taps)]
    _add(steps, "scatter", item, {
        "outer": groups, "source_outer": filters.outputs * per_output, "target_outer": filters.group,
        "rows": filters.columns, "rows_total": filters.outputs, "row_chunks": filters.panels, "row_stride": per_output,
        "source_row_chunk": filters.columns * per_output, "target_row_chunk": filters.panel,
        "group_step": blocks.lanes * item, "columns": blocks.width * taps, "columns_total": blocks.channels * taps,
        "column_chunks": blocks.count, "source_column_chunk": blocks.width * taps * item, "target_column_chunk": filters.block,
        "width": blocks.lanes, "fill": 1, "column_table": steps.table(table),
    }, {"source": source, "target": target})


def unpack_weight(steps, source, target, groups: int, filters: Filters):
    """Copy panels back to [group][output][input][tap]."""
    blocks, taps = filters.blocks, filters.taps
    item, per_output = blocks.item, blocks.channels * taps * blocks.item
    table = [(q % taps) * filters.tap + q // taps * filters.step for q in range(blocks.width * taps)]
    _add(steps, "gather", item, {
        "outer": groups, "source_outer": filters.group, "target_outer": filters.outputs * per_output,
        "rows": blocks.width * taps, "rows_total": blocks.channels * taps, "row_chunks": blocks.count,
        "source_row_chunk": filters.block, "target_row_chunk": blocks.width * taps * item, "group_step": blocks.lanes * item,
        "columns": filters.columns, "columns_total": filters.outputs, "column_chunks": filters.panels,
        "source_column_chunk": filters.panel, "target_column_chunk": filters.columns * per_output,
        "column_step": per_output, "width": blocks.lanes, "row_table": steps.table(table),
    }, {"source": source, "target": target})


def pack_flipped_weight(steps, source, target, groups: int, filters: Filters, tap_positions, outputs: int = 0):
    """Copy [group][input][output][tap] (a forward weight seen from its gradient) into panels of some taps.
    `filters` describes the result: its inputs are the forward outputs; its outputs may be the first of so many `outputs`.
    `tap_positions[tap]` is the tap's position in it, or -1."""
    blocks, all_taps = filters.blocks, len(tap_positions)
    item = blocks.item
    if tap_positions == [0]:
        _pack_flipped_points(steps, source, target, groups, filters)
        return
    per_input = (outputs or filters.outputs) * all_taps * item
    table = steps.table([-1 if position < 0 else position * filters.tap for position in tap_positions])
    for group in range(groups):
        for first, count, width in ((0, blocks.whole, blocks.width), (blocks.whole, int(blocks.rest > 0), blocks.rest)):
            if not count:
                continue
            start = (group * blocks.channels + first * blocks.width) * per_input
            _add(steps, "scatter", item, {
                "outer": count, "source_outer": blocks.width * per_input, "target_outer": filters.block,
                "extra": width, "source_extra": per_input, "target_extra": filters.step,
                "rows": filters.columns, "rows_total": filters.outputs, "row_chunks": filters.panels,
                "row_stride": all_taps * item, "source_row_chunk": filters.columns * all_taps * item,
                "target_row_chunk": filters.panel, "group_step": blocks.lanes * item,
                "columns": all_taps, "columns_total": all_taps, "width": blocks.lanes, "fill": 1, "column_table": table,
            }, {"source": (source[0], source[1] + start),
                "target": (target[0], target[1] + group * filters.group + first * filters.block)})


def _pack_flipped_points(steps, source, target, groups: int, filters: Filters):
    """Pack for windows of one pixel, whose outputs are adjacent already."""
    blocks = filters.blocks
    per_input = filters.outputs * blocks.item
    _add(steps, reorder.STRAIGHT, blocks.item, {
        "outer": groups, "source_outer": blocks.channels * per_input, "target_outer": filters.group,
        "rows": _ROWS, "rows_total": blocks.channels, "row_chunks": -(-blocks.channels // _ROWS), "row_stride": per_input,
        "source_row_chunk": _ROWS * per_input, "target_row_chunk": _ROWS * filters.step, "column_step": filters.step,
        "columns": filters.columns, "columns_total": filters.outputs, "column_chunks": filters.panels,
        "source_column_chunk": filters.columns * blocks.item, "target_column_chunk": filters.panel,
    }, {"source": source, "target": target})


def pack_depthwise_weight(steps, source, target, blocks: Blocks, tap_positions, inputs: int = 1):
    """Copy [channel][input of its group][tap] to [block][tap][input][block channels]. `tap_positions[tap]` is the
    tap's position in the result, or -1."""
    taps = len(tap_positions)
    used = sum(position >= 0 for position in tap_positions)
    table = [-1 if position < 0 else (position * inputs + number) * blocks.pixel
             for number in range(inputs) for position in tap_positions]
    _add(steps, "scatter", blocks.item, {
        "rows": blocks.width, "rows_total": blocks.channels, "row_chunks": blocks.count,
        "row_stride": inputs * taps * blocks.item, "source_row_chunk": blocks.width * inputs * taps * blocks.item,
        "target_row_chunk": used * inputs * blocks.pixel, "columns": inputs * taps, "columns_total": inputs * taps,
        "width": blocks.width, "fill": 1, "column_table": steps.table(table),
    }, {"source": source, "target": target})


class Bias:
    """Each group's bias padded to whole vectors; zeros where there is none."""

    def __init__(self, groups: int, outputs: int, lanes: int, dtype):
        self.groups, self.outputs, self.dtype = groups, outputs, dtype
        self.width = -(-outputs // lanes) * lanes
        self.nothing = self._words(np.zeros((groups, self.width), dtype))

    def __call__(self, b):
        """Return (objects to hold during the call, operand words)."""
        if b is None:
            return self.nothing
        if self.width == self.outputs and b.flags.c_contiguous:
            return self._words(b)
        padded = np.zeros((self.groups, self.width), self.dtype)
        padded[:, :self.outputs] = b.reshape(self.groups, self.outputs)
        return self._words(padded)

    @staticmethod
    def _words(array):
        return array, np.array([call.address_of(array), 0, 0], np.int64)         # no array, no ReLU (`Usual`)


class PlannedConv:
    """A convolution of plain arrays, or a gradient of one, as one plan that makes y of a shape from x and w.

    bias     the bias that is added; None for gradients of weights
    repeats  the channels that each channel of x is repeated to
    sums     the adjacent channels of y that are summed afterwards
    """

    def __init__(self, plan, shape: tuple, bias: Bias | None = None, repeats: int = 1, sums: int = 1):
        self.plan, self.shape, self.bias, self.repeats, self.sums = plan, shape, bias, repeats, sums

    def __call__(self, x, w, b=None):
        if self.repeats > 1:
            x = np.repeat(x, self.repeats, axis=1)
        if self.bias is None:
            return self.plan.new(self.shape, x, w)
        _bias, words = self.bias(b)       # the words hold its address
        out = self.plan.new(self.shape, x, w, call.address_of(words))
        return out if self.sums == 1 else out.reshape(len(out), -1, self.sums, *out.shape[2:]).sum(axis=2)

    def native(self, x, w, *bias) -> NativeCall | None:
        """Return the plan as a step of a graph, for operands like these. None if the plan alone is not all."""
        if not self.repeats == self.sums == 1:
            return None
        words: tuple = ()
        if self.bias is not None:
            zeros, _ = self.bias.nothing
            words = (Table(np.zeros(-(-zeros.nbytes // 8), np.int64)),)
            if bias not in ((), (None,)):
                if self.bias.width != self.bias.outputs:
                    return None
                words = (At(2),)
        return self.plan.native({X: At(0), W: At(1), Y: At(2 + len(bias))}, words)


class FusedPlan:
    """A convolution or gradient with a packed weight and an epilogue, for fixed shapes.

    shape, dtype  of the result, in blocks or planes
    weight_bytes  size of the packed weight
    after         the epilogue (`Following`); OPERANDS points to its words
    plan          makes y from x and the packed weight; EXTRA and FACTORS are what a transformed weight was made of
    """

    plan: Any
    weight_bytes: Any

    def __init__(self, shape: tuple, dtype, after):
        self.shape, self.dtype, self.after = shape, dtype, after

    def with_plan(self, plan, weight_bytes: int) -> "FusedPlan":
        self.plan, self.weight_bytes = plan, weight_bytes
        return self

    def reads(self, w) -> bool:
        """Whether a packed weight has the size that the plan reads."""
        return w.shape == (-(-self.weight_bytes // w.dtype.itemsize),)

    def native(self, count: int, arrays, sources) -> NativeCall:
        """Return the plan as a step of a graph with so many operands. `arrays` and `sources` are the locations of the
        epilogue's arrays, and of the plain weight and factors that a transformed weight was made of."""
        slots = {X: At(0), W: At(1), Y: At(count)} | dict(zip((EXTRA, FACTORS), sources))
        return self.plan.native(slots, self.after.block(arrays))
