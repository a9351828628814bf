"""Functions and modules as CUDA graphs: one graph of results and one of gradients, captured for arguments of one shape."""

from collections import deque
from functools import partial
from itertools import starmap
from operator import call

from ....ir.errors import ArgumentError
from ...autograd.backward import grad
from ...autograd.function import Function
from ...autograd.grad_mode import enable_grad
from ...core.tensor import Tensor
from ...nn.base.module import Module
from ...pytree.pytree import tree_flatten, tree_leaves, tree_unflatten
from ...state.structure import Structure
from ..driver import context as contexts
from ..driver import streams
from ..memory import pools
from ..replay.graphs import CUDAGraph, capture


class _Graphed:
    """One function with the memory that its graphs work on: arguments are copied there, results out of there.

    inputs   the arguments as the graphs read them, then the parameters, which stay where they are
    """

    def __init__(self, function, args, parameters):
        self.function, self.args = function, args
        leaves, self.arrangement = tree_flatten(args)
        if not all(isinstance(t, Tensor) and t.is_cuda for t in leaves):
            raise ArgumentError("make_graphed_callables: sample arguments are tensors on a CUDA device, nothing else")
        self.arg_count, self.inputs = len(leaves), (*leaves, *parameters)
        self.wanted = [t for t in self.inputs if t.requires_grad]
        self.forward_graph, self.backward_graph = CUDAGraph(), CUDAGraph()

    def warm_up(self, times, allow_unused):
        """Run forward and backward, so that everything is compiled and loaded."""
        for _ in range(times):
            outs = [t for t in tree_leaves(self.function(*self.args)) if t.requires_grad]
            if outs and self.wanted:
                grad(outs, self.wanted, [t.detach().clone() for t in outs], allow_unused=allow_unused)

    def capture_forward(self, pool, stream):
        run = lambda: tree_flatten(self.function(*self.args))
        self.results, self.result_arrangement = capture(self.forward_graph, run, stream, pool)

    def capture_backward(self, pool, stream, allow_unused):
        """Capture the graph of gradients, which reads values left by that of results."""
        taped = [t for t in self.results if t.requires_grad]
        self.seeds = [t.detach().clone().zero_() if t.requires_grad else None for t in self.results]
        self.gradients: list = [None] * len(self.inputs)
        if taped and self.wanted:
            seeds = [s for s in self.seeds if s is not None]
            find = partial(grad, taped, self.wanted, seeds, allow_unused=allow_unused)
            found = iter(capture(self.backward_graph, find, stream, pool))
            self.gradients = [next(found) if t.requires_grad else None for t in self.inputs]
        self.results = [t.detach() for t in self.results]

    def __call__(self, *args):
        leaves, arrangement = tree_flatten(args)
        if len(leaves) != self.arg_count or arrangement != self.arrangement:
            raise ArgumentError("a graphed function takes its arguments in the order and structure of sample_args")
        for new, old in zip(leaves, self.inputs):
            if not isinstance(new, Tensor) or new.shape != old.shape or new.dtype is not old.dtype:
                raise ArgumentError(f"a graphed function was made for an argument {old.aval}, and is given "
                                    f"{new.aval if isinstance(new, Tensor) else new!r}")
        results = _Replayed.apply(self, *leaves, *self.inputs[self.arg_count:])
        return tree_unflatten(list(results), self.result_arrangement)


class _Replayed(Function):
    """Autograd function of a graphed function."""

    @staticmethod
    def forward(ctx, graphed, *inputs):
        """Replay the graph of results on arguments."""
        ctx.graphed = graphed
        for old, new in zip(graphed.inputs[:graphed.arg_count], inputs):
            if old.data_ptr() != new.data_ptr():
                old.detach().copy_(new.detach())
        graphed.forward_graph.replay()
        results = tuple([t.clone() for t in graphed.results])
        ctx.mark_non_differentiable(*[r for r, s in zip(results, graphed.seeds) if s is None])
        return results

    @staticmethod
    def backward(ctx, *gradients):
        """Replay the graph of gradients, for the last call."""
        graphed = ctx.graphed
        for seed, g in zip(graphed.seeds, gradients):
            if seed is not None:
                seed.copy_(g)
        if any(g is not None for g in graphed.gradients):
            graphed.backward_graph.replay()
        return (None, *[None if g is None else g.clone() for g in graphed.gradients])


def make_graphed_callables(callables, sample_args, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool=None):
    """Functions or modules (one, or a tuple of them with a tuple of arguments for each) that run as CUDA graphs, forward and
    backward, with gradients as before. Modules are given back with another forward, which is taken while they are in the mode
    (training or not) in which they were captured.

    Arguments are tensors of the shapes and dtypes of `sample_args`, gradients go through the last call alone, and what is done
    on the host is done once. `jit.trace` asks for less: whole steps become graphs, for any shapes.
    """
    several = isinstance(callables, tuple)
    functions, samples = (callables, sample_args) if several else ((callables,), (sample_args,))
    graphed = []
    for f, args in zip(functions, samples, strict=True):
        if isinstance(f, Module) and (f._forward_hooks or f._forward_pre_hooks or f._backward_hooks):
            raise ArgumentError("make_graphed_callables: modules must have no hooks when they are captured")
        parameters = tuple(f.parameters()) if isinstance(f, Module) else ()
        graphed.append(_Graphed(f.forward if isinstance(f, Module) else f, tuple(args), parameters))
    stream, before = streams.Stream(contexts.current()), streams.current()
    pool = pools.new_number() if pool is None else pool
    stream.wait_stream(before)
    with enable_grad():
        for one in graphed:
            streams.run_in(stream, partial(one.warm_up, num_warmup_iters, allow_unused_input))
        for one in graphed:
            one.capture_forward(pool, stream)
        for one in reversed(graphed):
            one.capture_backward(pool, stream, allow_unused_input)
    before.wait_stream(stream)
    found = tuple([f if isinstance(f, Module) else one for f, one in zip(functions, graphed)])
    _replace_forwards([(f, _forward_of(f, one)) for f, one in zip(functions, graphed) if isinstance(f, Module)])
    return found if several else found[0]


def _forward_of(module, graphed):
    """Return the new forward of a module, which takes the old one in the other mode."""
    plain, training = module.forward, module.training

    def forward(*args):
        return graphed(*args) if module.training == training else plain(*args)

    return forward


def _replace_forwards(replaced):
    """Replace the forwards of all modules in one instruction: an interrupt comes before that or after."""
    writes = [(object.__setattr__, module, "forward", forward) for module, forward in replaced]
    deque(starmap(call, [*writes, (setattr, Structure, "version", Structure.version + 1)]), 0)
