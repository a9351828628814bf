"""Operators of blocked channels as steps of a native call."""

from ....ir.ops.packed import blocked as blocked_ops
from ....ir.ops.packed import blocked_grad as grad_ops
from ....passes.codegen.llvm.conv.batch_norm import OPERANDS as NORM_OPERANDS
from ..calls import pool
from ..calls.conv_steps import EXTRA, FACTORS, OPERANDS, W, X, Y
from ..calls.lowering_rules import native
from ..calls.step_list import At
from . import batch_norm_blocked, blocked, conv, conv_blocked_grad, conv_chain, conv_fused, pooling
from .native_conv import pixels


def _blocked(*ops):
    """`native` for operators of blocks, which only exist for this machine's lanes."""
    def mark(maker):
        def checked(node, operands, results):
            there = blocked.fits(blocked.lanes_of(node.op, operands[0], node.params), operands[0].dtype.itemsize)
            return maker(node, operands, results) if there else None

        native(*ops)(checked)
        return maker

    return mark


@_blocked(blocked_ops.conv_blocked)
def conv_blocked(node, operands, results):
    """A convolution with a packed weight and what follows it."""
    made = blocked.planned(operands[0], blocked.shapes_beside(operands, node.params), node.params)
    return _with_operands(made, len(operands), node.params)


def _with_operands(made, count, params):
    """The call of a convolution for its operands."""
    beside, taps = blocked.operands_of([At(i) for i in range(count)], params)
    slots = {X: At(0), W: At(1), Y: At(count)} | dict(zip((EXTRA, FACTORS), taps))
    return made.plan.native(slots, made.after.block(beside))


@_blocked(blocked_ops.conv_chain_blocked)
def conv_chain_blocked(node, operands, results):
    """Convolutions one after the other, some rows at a time."""
    layers = blocked.planned_chain(operands[0], operands[1:], node.params)
    return conv_chain.native(tuple(layers), node.params["beside"], operands[0].shape[0], pool.get_num_threads())


@_blocked(blocked_ops.pack_filters)
def pack_filters(node, operands, results):
    """A weight in the order in which its kernel reads it."""
    algorithm, groups, in_blocks, _ = node.params["kernel"]
    plan, _ = conv_fused.weight_plan(operands[0].shape, operands[0].dtype.itemsize, groups, in_blocks,
                                     blocked.ALGORITHMS[algorithm], pool.get_num_threads(), len(operands) > 1)
    return plan.native({W: At(0), FACTORS: At(1), Y: At(2)} if len(operands) > 1 else {W: At(0), Y: At(1)})


@_blocked(blocked_ops.to_blocked)
def to_blocked(node, operands, results):
    """Channels in blocks."""
    x, = operands
    plan = conv_fused.block_plan(x.shape[0], x.shape[1], pixels(x.shape[2:]), x.dtype.itemsize, False, pool.get_num_threads())
    return plan.native({X: At(0), Y: At(1)}) if x.dtype in conv.DTYPES else None


@_blocked(blocked_ops.from_blocked)
def from_blocked(node, operands, results):
    """Channels apart again."""
    x, y = operands[0], results[0]
    plan = conv_fused.block_plan(y.shape[0], y.shape[1], pixels(y.shape[2:]), x.dtype.itemsize, True, pool.get_num_threads())
    return plan.native({X: At(0), Y: At(1)}) if x.dtype in conv.DTYPES else None


# Gradients of convolutions.


@_blocked(grad_ops.pack_turned)
def pack_turned(node, operands, results):
    """A weight as the gradient of the input reads it."""
    plan, _ = conv_blocked_grad.pack_plan(*blocked.turned_plan(operands[0], node.params), pool.get_num_threads())
    return plan.native({W: At(0), Y: At(1)})


@_blocked(grad_ops.conv_input_grad_blocked)
def conv_input_grad(node, operands, results):
    """The gradient of a convolution's input and what follows it."""
    made = blocked.planned_input_grad(operands[0], blocked.shapes_beside(operands, node.params), node.params)
    return _with_operands(made, len(operands), node.params)


@_blocked(grad_ops.conv_weight_grad_blocked)
def conv_weight_grad(node, operands, results):
    """The gradient of a convolution's weight."""
    return blocked.planned_weight_grad(operands[0], node.params).plan.native({X: At(0), W: At(1), Y: At(2)})


# Batch normalisation.


def _norm(kind, x, params):
    return batch_norm_blocked.plan(kind, x.shape[0], params["channels"], pixels(x.shape[2:-1]), float(params["eps"]),
                                   x.dtype.itemsize, params["relu"], pool.get_num_threads())


def _named(names, first=0):
    return {name: At(first + i) for i, name in enumerate(names)}


@_blocked(grad_ops.batch_norm_train_blocked)
def batch_norm_train(node, operands, results):
    """Normalisation by the statistics of the batch."""
    places = {name: At(i) for i, name in ((1, "weight"), (2, "bias")) if operands[i] is not None} | _named(("mean", "var"), 4)
    plan = _norm(batch_norm_blocked.TRAIN, operands[0], node.params)
    return plan.native({X: At(0), W: At(0), Y: At(3)}, [places.get(name, 0) for name in NORM_OPERANDS])


@_blocked(grad_ops.batch_norm_grad_blocked)
def batch_norm_grad(node, operands, results):
    """The gradients of input, weight and bias."""
    places = _named(("g_mean", "g_var"), 2) | _named(("mean", "var"), 6) | _named(("g_weight", "g_bias"), 9)
    places |= {"weight": At(5)} if operands[5] is not None else {}
    plan = _norm(batch_norm_blocked.GRAD, operands[0], node.params)
    slots = {X: At(4), W: At(0), Y: At(8)} | ({EXTRA: At(1)} if node.params["relu"] else {})
    return plan.native(slots, [places.get(name, 0) for name in NORM_OPERANDS])


# Pools.


@_blocked(blocked_ops.max_pool_blocked, blocked_ops.avg_pool_blocked, grad_ops.avg_pool_grad_blocked)
def pool_blocked(node, operands, results):
    """Pools of blocked planes."""
    plan, _ = _POOLS[node.op](operands[0].shape, operands[0].dtype, **node.params)
    return plan.native({X: At(0), Y: At(1)})


@_blocked(grad_ops.max_pool_places_blocked)
def max_pool_places(node, operands, results):
    """The largest elements and their places."""
    plan, _ = pooling.max_pool_places_plan(operands[0].shape, operands[0].dtype, **node.params)
    return plan.native({X: At(0), Y: At(1), OPERANDS: At(2)})


@_blocked(grad_ops.max_pool_grad_blocked)
def max_pool_grad(node, operands, results):
    """Values put where the largest elements were."""
    plan, _ = pooling.max_pool_grad_plan(operands[0].shape, operands[0].dtype, **node.params)
    return plan.native({X: At(0), OPERANDS: At(1), Y: At(2)})


_POOLS: dict = {blocked_ops.max_pool_blocked: pooling.max_pool_blocked_plan,
                blocked_ops.avg_pool_blocked: pooling.avg_pool_blocked_plan,
                grad_ops.avg_pool_grad_blocked: pooling.avg_pool_grad_blocked_plan}
