"""`ingot.utils.flop_counter`: FLOPs of contractions by module.

Products, convolutions, attention and recurrent layers count; elementwise operators count nothing, as in PyTorch. Counts go by
the names of operator records ("linear", "conv", "conv_weight_grad" ...).
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ...ir.errors import ArgumentError
from ...ir.opdef.op import OPS, Op
from ...ir.symbols.substitute import at_hint
from ..core.node import Output
from ..core.op_observers import OpObserver
from ..core.tensor import Tensor
from ..nn.base.hooks import GLOBAL
from ..pytree.pytree import tree_map
from ..state.mode import COUNTERS, tls

__all__ = ["FlopCounterMode", "register_flop_formula"]

_SUFFIXES = ("", "K", "M", "B", "T")
_HEAD = ("Module", "FLOP", "% Total")
FORMULAS: dict[str, Callable] = {}      # of users, by operator name


def register_flop_formula(targets, get_raw=False):
    """Register the decorated function as the FLOP formula of an operator: one of the module `library`, a record or its name, or
    a list of them.

    The formula gets the arguments of the operator, and `out_shape`, with tensors replaced by their shapes. With `get_raw` they
    stay tensors, and the keyword is `out_val`.
    """
    names = [_name_of(t) for t in (targets if isinstance(targets, (list, tuple)) else (targets,))]

    def register(formula):
        FORMULAS.update(dict.fromkeys(names, _on_values(formula, get_raw)))
        return formula

    return register


def _name_of(target) -> str:
    if getattr(target, "namespace", None) == "aten":            # PyTorch's operator or overload
        target = target.__name__.partition(".")[0]
    name = target.name if isinstance(target, Op) else target.name() if callable(getattr(target, "name", None)) else target
    if not isinstance(name, str) or ("::" not in name and name not in OPS):
        raise ArgumentError(f"a formula is for an operator registered with the module library, or for one of ingot's by the "
                            f"name of its record (such as 'matmul' or 'conv'), got {target!r}")
    return name


def _on_values(formula, get_raw=False):
    """Return a formula of (arguments, keywords, result)."""
    if get_raw or getattr(formula, "_get_raw", False):
        return lambda args, kwargs, out: formula(*args, **kwargs, out_val=out)

    def on_shapes(args, kwargs, out):
        args, kwargs, shape = tree_map(lambda x: x.shape if isinstance(x, Tensor) else x, (tuple(args), kwargs, out))
        return formula(*args, **kwargs, out_shape=shape)

    return on_shapes


class _Counts(defaultdict):
    """FLOPs by operator name, 0 by default."""

    def __init__(self):
        super().__init__(int)

    def __missing__(self, key):
        if not isinstance(key, str):
            here = ", ".join(map(repr, self)) or "none"
            raise KeyError(f"{key!r}: counts are by the names of ingot's operators, here {here}")
        return super().__missing__(key)


class _Modules:
    """The modules that a thread is calling, by path below the outermost one ("Net.layer1.0")."""

    def __init__(self):
        self.names: WeakKeyDictionary = WeakKeyDictionary()
        self.open: list[str] = []
        self.thread = 0

    def start(self):
        self.thread = threading.get_ident()
        self.open.clear()
        if not COUNTERS:
            GLOBAL.forward_pre[_KEY], GLOBAL.forward[_KEY] = _enter_module, _leave_module
            GLOBAL.always.add(_KEY)

    def leave(self):
        if not COUNTERS:
            del GLOBAL.forward_pre[_KEY], GLOBAL.forward[_KEY]
            GLOBAL.always.discard(_KEY)

    def entered(self, module):
        if module not in self.names:
            for path, inner in module.named_modules():
                self.names.setdefault(inner, ".".join(filter(None, (type(module).__name__, path))))
        self.open.append(self.names[module])


# The same two global hooks for every counter, so that a recording made under one is valid under the next.
_KEY = "flop_counter"


def _enter_module(module, args):
    for counter in _of_this_thread():
        counter.modules.entered(module)


def _leave_module(module, args, result):
    for counter in _of_this_thread():
        if counter.modules.open:
            counter.modules.open.pop()


def _of_this_thread():
    here = threading.get_ident()
    return [c for c in COUNTERS if c.modules.thread == here]


class FlopCounterMode(OpObserver):
    """A context that counts the FLOPs of this thread, forward and backward, eager and compiled.

        with FlopCounterMode() as counted:
            model(x).sum().backward()
        counted.get_total_flops(), counted.get_flop_counts()["Global"]["linear"]

    Compiled code counts for the modules around the call, and a gradient for the modules of its forward. A table is printed at
    the end, unless `display` is False, with `depth` levels of modules. `custom_mapping` holds formulas for this counter (see
    `register_flop_formula`). `mods` is ignored: every module that runs is counted. `skip_unsupported` is ignored: there are no
    operators without a count.
    """

    observes_rules = sees_whole_batches = True

    def __init__(self, mods=None, depth: int | None = 2, display: bool = True,
                 custom_mapping: dict[Any, Callable] | None = None, skip_unsupported: bool = False):
        super().__init__()
        self.depth, self.display = depth, display
        own = {_name_of(target): _on_values(formula) for target, formula in (custom_mapping or {}).items()}
        self._own_formulas = own
        self.flop_counts: dict[str, dict[str, int]] = {}
        self.modules = _Modules()
        self._modules_of_node: WeakKeyDictionary = WeakKeyDictionary()     # history node -> modules that were running
        self._backward_of: tuple = ()                              # modules of the node in backward

    # The context.

    def __enter__(self):
        if tls.m.recorder is not None:
            tls.m.recorder.refuse("it counts operations", "open FlopCounterMode outside of the function")
        self.flop_counts = defaultdict(_Counts)
        self.modules.start()
        COUNTERS.append(self)
        self.open()
        return self

    def __exit__(self, *exc):
        COUNTERS.remove(self)
        self.close()
        self.modules.leave()
        self._modules_of_node.clear()
        if self.display:
            print(self.get_table(self.depth))

    # Results.

    def get_total_flops(self) -> int:
        """Return the sum of all counts."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Return the counts by module ("Global" for all), then by operator."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_unsupported_ops(self) -> Counter:
        """Return nothing: operators without a formula consist of others, or contract nothing."""
        return Counter()

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as a table of `depth` levels of modules."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        unit = max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))

        def rows_of(module, indent):
            counts = self.flop_counts[module]
            pad = " " * indent
            return [(pad + name, f"{n / 1000 ** unit:.3f}{_SUFFIXES[unit]}", f"{n / total:.2%}" if total else "0%")
                    for name, n in ((module, sum(counts.values())), *[(f" - {op}", n) for op, n in counts.items()])]

        shown = [m for m in sorted(self.flop_counts) if m != "Global" and (depth is None or m.count(".") < depth)]
        whole = any(sum(self.flop_counts[m].values()) >= total for m in shown)
        rows = [row for m in shown for row in rows_of(m, m.count(".") + (not whole))]
        if "Global" in self.flop_counts and not whole:
            rows = rows_of("Global", 0) + rows
        rows = rows or [("Global", "0", "0%")]
        widths = [max(len(head) + 2, *[len(row[i]) for row in rows]) for i, head in enumerate(_HEAD)]
        lines = ["  ".join((name.ljust(widths[0]), count.rjust(widths[1]), share.rjust(widths[2]))).rstrip()
                 for name, count, share in (_HEAD, tuple("-" * w for w in widths), *rows)]
        return "\n".join(lines)

    # Observation.

    def observe(self, op, args, params):
        out = super().observe(op, args, params)
        outs = out if type(out) is tuple else (out,)
        if tls.m.grad:
            self._note_nodes(outs)
        formula = self._formula(op.name)
        if formula is not None:
            self._count(op.name, formula(args, params, out))
        elif op.flops is not None:
            avals = [a.aval if isinstance(a, Tensor) else a for a in args]
            self._count(op.name, op.flops(avals, [t.aval for t in outs], {k: at_hint(v) for k, v in params.items()}))
        return out

    def around_operator(self, op, run, args, kwargs):
        """Count an operator of users by its formula, or else the operators that it runs."""
        formula = self._formula(op.name())
        if formula is None:
            return super().around_operator(op, run, args, kwargs)
        out = self.unobserved(super().around_operator, op, run, args, kwargs)
        self._count(op.name(), formula(args, kwargs, out))
        return out

    def around_backward(self, through):
        through = super().around_backward(through)

        def counted(node, g):
            before, self._backward_of = self._backward_of, self._modules_of_node.get(node, ())
            try:
                return through(node, g)
            finally:
                self._backward_of = before

        return counted

    def ran(self, job, compiled):
        """Count the contractions of compiled code, if this thread runs it."""
        if threading.get_ident() == self.modules.thread:
            for name, flops in job.contractions(compiled):
                self._count(name, flops)

    def _formula(self, name):
        return self._own_formulas.get(name) or FORMULAS.get(name)

    def _note_nodes(self, outs):
        """Record the modules that computed these results, for their gradients."""
        where = (*self.modules.open, *self._backward_of)
        if where:
            for t in outs:
                node = t._node
                if node is not None:
                    self._modules_of_node.setdefault(node.source if type(node) is Output else node, where)

    def _count(self, name, flops):
        for module in dict.fromkeys(("Global", *self.modules.open, *self._backward_of)):
            self.flop_counts[module][name] += int(flops)
