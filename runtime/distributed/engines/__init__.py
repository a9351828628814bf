"""Engines: each connects the ranks of a run, by shared memory, MPI or TCP. Channels: collectives of a group on an engine.

Way in: `engine.Engine`, `engine.Channel`; engines enter themselves into `engine.ENGINES`. Each message names its collective;
ranks with different ones raise an error. Results are written into the memory that callers give. The room knows no tensor.

`nccl_engine.NCCLEngine` stands beside one of them, for arrays on GPUs. `nccl_library` alone knows NCCL's C interface.
"""
