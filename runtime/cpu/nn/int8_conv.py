"""Convolutions of bytes (`ir/ops/quantized/int8_conv.py`)."""

import functools
from math import prod
from typing import NamedTuple

import numpy as np

from ....ir.ops.quantized import int8_conv as ops
from ....ir.ops.quantized.int8_conv import BLOCK, GROUP, window_counts_of
from ....ir.target import host
from ....passes.codegen.llvm.conv import int8_conv as dense_code
from ....passes.codegen.llvm.conv import int8_depthwise as depthwise_code
from ....passes.layout.plain_operands import ROWS
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import JobsPlan, one_job
from ..compiler.compile import task_of
from ..memory import alloc

_KEPT = 1024
_BLOCK_BYTES = 1 << 17          # bytes of images of an item, which it sweeps panel by panel
_FEWER = 8                      # byte products that take as long as one multiply-add of floats
_ITEMS = 4                      # items of a thread, at least
_ROW_TILES = 8                  # tiles of a row of pixels, for windows of one pixel
KINDS = {np.dtype(np.uint8): "u8", np.dtype(np.float32): "f32"}


class Where(NamedTuple):
    """The layout of an array: sizes, and bytes from element to element of each dim; the last one is contiguous."""

    shape: tuple
    strides: tuple


def where_of(array) -> Where | None:
    """Return the layout of a NumPy array, or of an operand of a step."""
    return None if array is None else Where(tuple(array.shape), tuple(array.strides))


def _plan_of(x, w, added, y, params) -> JobsPlan:
    """Return the plan for arrays, or for operands of a step."""
    return plan(where_of(x), w.shape, where_of(added), where_of(y), KINDS[y.dtype], tuple(sorted(params.items())),
                pool.get_num_threads())


def conv(x, w, start, factor, to_add, *, dtype, **params):
    """Return the convolution of arrays, by the parameters of `conv_int8` or `depthwise_int8`."""
    x, w, start, factor = _with_whole_pixels(x), alloc.dense(w), alloc.dense(start), alloc.dense(factor)
    depthwise = w.ndim == 3
    window = w.shape[:2] if depthwise else w.shape[1:3]
    counts = window_counts_of("convolution", x, window, params["stride"], params["dilation"])
    out = alloc.empty((x.shape[0], *counts, w.shape[2] if depthwise else params["outs"]), dtype.np)
    if not out.size:
        return out
    to_add = None if to_add is None else _with_whole_pixels(to_add)
    _plan_of(x, w, to_add, out, params)(x, w, start, factor, x if to_add is None else to_add, out)
    return out


def _with_whole_pixels(a):
    """Return an array whose pixels have contiguous channels."""
    good = type(a) is np.ndarray and a.flags.aligned and a.strides[-1] == 1 and min(a.strides) >= 0
    return a if good else np.ascontiguousarray(a)


@functools.lru_cache(_KEPT)
def plan(x: Where, weight: tuple, added: Where | None, y: Where, kind: str, params: tuple, threads: int) -> JobsPlan:
    """Return the job on (x, w, start, factor, added, y); weights and numbers of channels are in C order."""
    how = dict(params)
    words = _distances(x, added, y, how)
    if len(weight) == 3:
        return _depthwise_plan(x, weight, added, y, kind, how, words, threads)
    return _dense_plan(x, weight, added, y, kind, how, words, threads)


def _distances(x, added, y, how):
    """Return the words of strides between images, rows and pixels, and the numbers of the last steps."""
    _, row, pixel = x.strides[:3]
    stride, dilation = how["stride"], how["dilation"]
    words = {"x_image": x.strides[0], "x_row": stride[0] * row, "x_pixel": stride[1] * pixel, "tap_h": dilation[0] * row,
             "tap_w": dilation[1] * pixel}
    for name, array in (("y", y), ("beside", added)):
        if array is not None:
            words |= dict(zip((f"{name}_image", f"{name}_row", f"{name}_pixel"), array.strides))
    return words | {name: float(how[name]) for name in ("zero", "low", "high", "beside_zero", "beside_scale")}


def _follows(array, dims) -> bool:
    """Whether dims (in order, before the last) merge into one."""
    return array is None or all(array.shape[d] == 1 or array.strides[d - 1] == array.strides[d] * array.shape[d]
                                for d in dims)


def _dense_plan(x, weight, added, y, kind, how, words, threads):
    groups, outs = how["groups"], how["outs"]
    blocks, (taps_h, taps_w, steps) = weight[0] // groups, weight[1:4]
    images, rows, width = y.shape[:3]
    pixels = rows * width
    if words["tap_w"] == steps * GROUP and groups == 1:          # adjacent taps have adjacent bytes
        steps, taps_w = steps * taps_w, 1
    if taps_h == taps_w == 1 and how["stride"] == (1, 1) and all(_follows(a, (1, 2)) for a in (x, added, y)) \
            and weight[1:3] == (1, 1):
        images, pixels = 1, images * pixels
        panel, most = _best_panel(host(), blocks, pixels)
        width = min(pixels, _ROW_TILES * most)
        rows = -(-pixels // width)
        words |= {"x_row": width * words["x_pixel"], "y_row": width * words["y_pixel"]}
        if added is not None:
            words["beside_row"] = width * words["beside_pixel"]
    else:
        panel, most = _best_panel(host(), blocks, width)
    widths = {width, pixels - (rows - 1) * width}
    most = max(-(-n // -(-n // most)) for n in widths)
    heights = {size for n in widths for size in (n // -(-n // most), -(-n // -(-n // most)))}
    task = _dense_task(panel, tuple(sorted(heights)), kind, added is not None)
    panels = blocks // panel
    row_blocks = min(rows, max(1, -(-abs(words["x_row"]) * rows // _BLOCK_BYTES)))
    row_blocks, shares = _shared_out(images * groups, rows, row_blocks, panels, threads)
    items, work = images * groups * row_blocks * shares, 2 * prod(y.shape[:3]) * outs * prod(weight[1:4]) * GROUP // _FEWER
    return one_job(dense_code, task, work, items, threads, groups=groups, row_blocks=row_blocks, shares=shares, panels=panels,
                   rows=rows, width=width, pixels=pixels, channels=outs // groups, x_group=weight[3] * GROUP, taps_h=taps_h,
                   taps_w=taps_w, steps=steps, w_block=prod(weight[1:4]) * BLOCK * GROUP, **words)


def _shared_out(others, rows, row_blocks, panels, threads):
    """Return (blocks of rows, shares of panels) that give each thread enough items."""
    wanted = _ITEMS * threads if threads > 1 else 1
    if others * row_blocks < wanted:
        row_blocks = min(rows, -(-wanted // others))
    shares = 1
    if others * row_blocks < wanted:
        shares = min(panels, -(-wanted // (others * row_blocks)))
    return row_blocks, shares


def _best_panel(target, blocks, width):
    """Return the cheapest (blocks of a panel, pixels of a tile) for rows of so many pixels."""
    def cost(panel):
        most = dense_code.tile_pixels(target, panel)
        tiles = -(-width // most)
        return blocks // panel * (max(width * panel / 2, 5 * tiles) + tiles * (panel + 1) + width / 2)

    fitting = [n for n in (4, 3, 2, 1) if blocks % n == 0 and dense_code.tile_pixels(target, n)]
    panel = min(fitting, key=cost)
    return panel, dense_code.tile_pixels(target, panel)


def _depthwise_plan(x, weight, added, y, kind, how, words, threads):
    images, rows, width, channels = y.shape
    work = 2 * prod(y.shape) * prod(weight[:2]) // _FEWER
    row_blocks = min(rows, max(1, -(-_ITEMS * threads // images))) if threads > 1 else 1
    window, step = (), 0
    if depthwise_code.goes_wide(host(), weight[:2], channels):
        window, step = weight[:2], how["stride"][1] if how["dilation"][1] == 1 else 0
    task = _depthwise_task(kind, added is not None, window, step)
    return one_job(depthwise_code, task, work, images * row_blocks, threads, row_blocks=row_blocks, rows=rows, width=width,
                   channels=channels, taps_h=weight[0], taps_w=weight[1], **words)


@functools.lru_cache(None)
def _dense_task(panel, heights, kind, added):
    return task_of(dense_code.Int8ConvKernel(host(), panel, heights, kind, added))


@functools.lru_cache(None)
def _depthwise_task(kind, added, window, step):
    return task_of(depthwise_code.Int8DepthwiseKernel(host(), kind, added, window, step))


def _conv_step(node, operands, results):
    x, w, start, factor, added = operands
    params = {name: value for name, value in node.params.items() if name != "dtype"}
    if any(a.size and not a.is_plain for a in (w, start, factor)) or min((*x.strides, 0)) < 0:
        return None
    return _plan_of(x, w, added, results[0], params).native([0, 1, 2, 3, None if added is None else 4, 5])


OPERATORS = dict.fromkeys((ops.conv_int8, ops.depthwise_int8), OperatorKernel(conv, _conv_step, ROWS))
