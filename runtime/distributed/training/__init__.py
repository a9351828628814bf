"""Training over ranks: communication hooks, PowerSGD, local SGD, sharded optimizer state, uneven inputs.

Way in: `register_comm_hook`, `ZeroRedundancyOptimizer`, `Join`.
"""
