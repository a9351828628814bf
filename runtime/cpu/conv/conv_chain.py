"""The native call of consecutive convolutions (`conv_chain_schedule.py`): lists of jobs for
`passes/codegen/llvm/pool/nested.py`.

The kernels are those of whole images (`conv_plan.py`, `conv_depthwise.py`), with x and y as rows of larger planes.
"""

import functools
import itertools
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ....ir.errors import GraphError
from ....ir.target import host
from ....passes.codegen.llvm.conv.conv_epilogue import Address
from ....passes.codegen.llvm.pool import nested
from ....passes.codegen.llvm.pool.tasks import WORD
from ..calls.plan import OPERANDS, SlotJobs, W, X, Y
from ..calls.step_list import At, Code, NativeCall, NativeStep, Scratch, Table
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_by
from .conv_chain_schedule import bands_of, cut, layer_of, parts_of

_OWN, _SCRATCH = map(nested.WORDS.index, ("own", "scratch"))
_LINE = 64                          # bytes of a cache line


@functools.lru_cache(256)
def native(fused: tuple, counts: tuple, images: int, threads: int) -> NativeCall:
    """Return the native call of a chain: operands are x, then for each layer its weight and `counts` arrays."""
    layers = list(map(layer_of, fused))
    parts = parts_of(layers, images, threads)
    return _Lists(layers, counts, images, parts, threads).call()


class _Job(NamedTuple):
    """A call of a kernel: its words, those that are addresses of the call, and those that are tables."""

    function: int
    template: int
    words: int
    patches: tuple
    tables: tuple


@dataclass
class _Lists:
    layers: list
    counts: tuple
    images: int
    parts: int
    threads: int
    frame: dict = field(default_factory=dict)           # {content of a word of the frame: its number}
    templates: dict = field(default_factory=dict)       # {words: their place among all of them}
    jobs: dict = field(default_factory=dict)            # {(number of a layer, rows): _Job}
    tables: dict = field(default_factory=dict)          # {bytes: the table}

    def call(self) -> NativeCall:
        bands, height = [], self.layers[-1].height.out
        self.operands, self.most = 1 + sum(1 + count for count in self.counts), [1] * (len(self.layers) - 1)
        count, _ = cut(self.layers, self.parts)
        for part in range(self.parts):
            made, most = bands_of(self.layers, height * part // self.parts, height * (part + 1) // self.parts, count)
            bands.append(made)
            self.most = [max(pair) for pair in zip(self.most, most)]
        self.buffers, scratch_bytes = self._buffers()
        lists = [[step for band in made for step in self._band(band)] for made in bands]
        items = self.images * self.parts
        size = -(-(len(nested.WORDS) + len(self.frame)) // nested.WIDTH) * nested.WIDTH
        if size > nested.MOST_FRAME:
            raise GraphError(f"a chain of {size} words; at most {nested.MOST_FRAME} fit")
        head = {"items": items, "chunks": items, "parts": self.parts, "lists": Table(self._table(lists)), "scratch": Scratch(),
                "scratch_bytes": scratch_bytes, "words": size}
        words = [head.get(name, 0) for name in nested.WORDS] + list(self.frame)
        words += [0] * (size - len(words))
        task = compile_module(text_by(nested.nested_text, host()), [nested.NESTED])[nested.NESTED]
        return NativeCall((NativeStep(task, tuple(words), items),), scratch_bytes * self.threads)

    def _buffers(self):
        """Return ([(bytes from the start of a thread's scratch, bytes of a plane)], bytes of a thread's scratch)."""
        found, at = [], 0
        for layer, rows in zip(self.layers, self.most):
            plane = rows * layer.row + layer.row // layer.geometry.dims[2].out         # planes do not meet in one cache set
            found.append((at, plane))
            at += -(-layer.blocks * plane // _LINE) * _LINE
        return found, at + _LINE

    def _word(self, what) -> int:
        """Return the number of a word of the frame."""
        return self.frame.setdefault(what, len(nested.WORDS) + len(self.frame))

    def _band(self, band):
        operand = 1
        for k, layer in enumerate(self.layers):
            if k < len(self.buffers) and band.reused[k][0]:
                yield self._reuse(k, *band.reused[k])
            if band.rows[k][0] < band.rows[k][1]:
                yield self._layer(k, layer, band, operand)
            operand += 1 + self.counts[k]

    def _reuse(self, k, start, rows):
        at, plane = self.buffers[k]
        layer = self.layers[k]
        template = self._template((0, layer.blocks, plane, start * layer.row, rows * layer.row))
        task = compile_module(text_by(nested.keep_text, host()), [nested.KEEP])[nested.KEEP]
        return [self._word(Code(task)), template, 1, 0, _SCRATCH, at, 0]

    def _layer(self, k, layer, band, operand):
        """Return the words of a step that makes some rows of a layer's result."""
        (first, end), (low, high) = band.rows[k], layer.reads(*band.rows[k])
        above = low - (first * layer.height.stride - layer.height.low)         # rows of padding
        window = replace(layer.height, size=high - low, out=end - first, low=above)
        job = self._job(k, layer, window)
        slots = {W: (self._word(At(operand)), 0, 0), OPERANDS: (_OWN, WORD * job.words, 0)}
        if k:
            slots[X] = _SCRATCH, self.buffers[k - 1][0] + (low - band.bases[k - 1]) * layer.x_row, 0
        else:
            slots[X] = self._word(At(0)), low * layer.x_row, layer.height.size * layer.x_rows
        if k < len(self.buffers):
            slots[Y] = _SCRATCH, self.buffers[k][0] + (first - band.bases[k]) * layer.row, 0
        else:
            slots[Y] = self._like_result(At(self.operands), layer, first)
        patches = [(WORD * at, base, start + offset, image) for at, slot, offset in job.patches
                   for base, start, image in (slots[slot],)]
        patches += [(WORD * word, self._word(table), 0, 0) for word, table in job.tables]
        for i, word in enumerate(layer.fused.after.words):
            if isinstance(word, Address):
                array, full = At(operand + 1 + word.number), layer.fused.lines.kinds[word.number] == "full"
                place = self._like_result(array, layer, first) if full else (self._word(array), 0, 0)
                patches.append((WORD * (job.words + i), *place))
        return [self._word(Code(job.function)), job.template, len(patches), *itertools.chain(*patches)]

    def _like_result(self, what, layer, row):
        return self._word(what), row * layer.row, layer.height.out * layer.row * layer.blocks

    def _job(self, k, layer, window):
        """Return the call of a layer's kernel for the rows of a window."""
        if (k, window) not in self.jobs:
            g, size = layer.geometry, layer.geometry.item
            x_plane = self.buffers[k - 1][1] // (g.lanes * size) if k else g.pixels
            y_plane = self.buffers[k][1] // (g.lanes * size) if k < len(self.buffers) else g.out_pixels
            g = replace(g, dims=(g.dims[0], window, g.dims[2]), x_plane=x_plane, y_plane=y_plane)
            steps = SlotJobs(threads=1)
            layer.fused.add_kernel(steps, g, *((slot, 0) for slot in (X, W, Y)))
            (function, _, words, patches), = steps.jobs
            tables = [(i, self.tables.setdefault(x.array.tobytes(), x)) for i, x in enumerate(words) if type(x) is Table]
            after = [0 if isinstance(word, Address) else word for word in layer.fused.after.words]
            fixed = [0 if type(word) is Table else word for word in words] + after
            self.jobs[k, window] = _Job(function, self._template(fixed), len(words), tuple(patches), tuple(tables))
        return self.jobs[k, window]

    def _template(self, words) -> int:
        """Return the place of a template of these words among all of them."""
        words = (*words, *[0] * (-len(words) % nested.WIDTH))
        if len(words) > nested.MOST_JOB:
            raise GraphError(f"an inner job of {len(words)} words; at most {nested.MOST_JOB} fit")
        if words not in self.templates:
            self.templates[words] = sum(1 + len(template) for template in self.templates)
        return self.templates[words]

    def _table(self, lists) -> list:
        first = len(lists)
        templates_at = first + sum(1 + sum(map(len, steps)) for steps in lists)
        heads, body = [], []
        for steps in lists:
            heads.append(WORD * (first + len(body)))
            body.append(len(steps))
            for function, template, *rest in steps:
                body += [function, WORD * (templates_at + template), *rest]
        return [*heads, *body, *[word for template in self.templates for word in (len(template), *template)]]
