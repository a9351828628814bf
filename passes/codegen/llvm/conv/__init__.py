"""Convolutions and what runs between them, mostly in blocked channels: direct, depthwise, Winograd, int8, batch norm, pools,
reorders.

Each file is one kind of pool task with named job words. `runtime/cpu` chooses among them and fills the jobs.
"""
