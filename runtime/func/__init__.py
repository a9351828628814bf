"""Functions of functions: vmap, grad, jvp, vjp, Jacobians, cond and while_loop.

Way in: `vmap.vmap`, `transforms`, `control_flow.cond`. Under vmap a tensor stands for a batch (a DeviceArray of that kind).
`vmap_level.py` is the mechanism, and `ir/opdef/batch_rules.py` says how each operator runs on batches. It knows no module.
"""
