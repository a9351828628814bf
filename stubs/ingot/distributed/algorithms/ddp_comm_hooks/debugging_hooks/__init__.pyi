"""`ingot.distributed.algorithms.ddp_comm_hooks`: gradient combination functions for `register_comm_hook`."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.algorithms.ddp_comm_hooks import DDPCommHookType as DDPCommHookType
from ingot.distributed.algorithms.ddp_comm_hooks import allreduce_hook as allreduce_hook
from ingot.distributed.algorithms.ddp_comm_hooks import bf16_compress_hook as bf16_compress_hook
from ingot.distributed.algorithms.ddp_comm_hooks import bf16_compress_wrapper as bf16_compress_wrapper
from ingot.distributed.algorithms.ddp_comm_hooks import fp16_compress_hook as fp16_compress_hook
from ingot.distributed.algorithms.ddp_comm_hooks import fp16_compress_wrapper as fp16_compress_wrapper
from ingot.distributed.algorithms.ddp_comm_hooks import noop_hook as noop_hook
from ingot.distributed.algorithms.ddp_comm_hooks import register_ddp_comm_hook as register_ddp_comm_hook
