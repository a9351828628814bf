"""`ingot.distributed.algorithms.ddp_comm_hooks`: gradient combination functions for `register_comm_hook`.

Each takes its state and a bucket, and returns the future of the bucket's combined gradients.
"""

from enum import Enum
from functools import partial

from ....ir import dtype as dt
from ..collectives.collectives import all_reduce
from ..groups.futures import Future
from ..groups.world import the_group
from . import power_sgd

__all__ = ["DDPCommHookType", "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
           "fp16_compress_wrapper", "noop_hook", "register_ddp_comm_hook"]


def _average(group, buffer) -> Future:
    group = the_group(group)
    buffer.div_(group.size())
    return all_reduce(buffer, group=group, async_op=True).get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group, bucket) -> Future:
    """Return the average over the group."""
    return _average(process_group, bucket.buffer())


def noop_hook(_, bucket) -> Future:
    """Return the gradients of this process."""
    found: Future = Future()
    found.set_result(bucket.buffer())
    return found


def _compressed(dtype, process_group, bucket) -> Future:
    buffer = bucket.buffer()
    return _average(process_group, buffer.to(dtype)).then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group, bucket) -> Future:
    """Return the average over the group, sent as float16."""
    return _compressed(dt.float16, process_group, bucket)


def bf16_compress_hook(process_group, bucket) -> Future:
    """Return the average over the group, sent as bfloat16."""
    return _compressed(dt.bfloat16, process_group, bucket)


def _wrapper(dtype, hook):
    def compresses(state, bucket) -> Future:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda done: buffer.copy_(done.value()))

    return compresses


def fp16_compress_wrapper(hook):
    """Return a hook that receives gradients as float16."""
    return _wrapper(dt.float16, hook)


def bf16_compress_wrapper(hook):
    """Return a hook that receives gradients as bfloat16."""
    return _wrapper(dt.bfloat16, hook)


def _register(hook, model, state):
    model.register_comm_hook(state, hook)


def _register_power(model, state, hook=power_sgd.powerSGD_hook, rank=1):
    model.register_comm_hook(power_sgd.PowerSGDState(process_group=state, matrix_approximation_rank=rank), hook)


class DDPCommHookType(Enum):
    """Hooks by name, for programs that configure one."""

    ALLREDUCE = partial(_register, allreduce_hook)
    FP16_COMPRESS = partial(_register, fp16_compress_hook)
    BF16_COMPRESS = partial(_register, bf16_compress_hook)
    POWER_SGD = partial(_register_power)
    POWER_SGD_RANK2 = partial(_register_power, rank=2)
    BATCHED_POWER_SGD = partial(_register_power, hook=power_sgd.batched_powerSGD_hook)
    BATCHED_POWER_SGD_RANK2 = partial(_register_power, hook=power_sgd.batched_powerSGD_hook, rank=2)
    NOOP = partial(_register, noop_hook)


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """Register one of the hooks on a DistributedDataParallel; the state is the process group."""
    comm_hook_type.value(model=model, state=state)
